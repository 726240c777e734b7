"""The PostgreSQL that tests run against: alone, durable, and gone when its tests are."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from support.postgres import Server

STARTS_ONE = """
import sys
from support.postgres import Server
server = Server()
server.start()
print(server.folder, server.url(), flush=True)
sys.stdin.read()
"""


def scalar(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]


def test_every_test_has_a_database_of_its_own(postgres, postgres_url):
    assert scalar(postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    other = postgres.new_database()
    assert scalar(postgres_url, "SELECT current_database()") != scalar(other, "SELECT current_database()")


def test_a_database_that_was_given_back_is_empty_and_used_again(postgres):
    url = postgres.new_database()
    left_open = psycopg.connect(url, autocommit=True)
    left_open.execute("CREATE TABLE kept (n int)")
    left_open.execute("CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    left_open.execute("BEGIN; LOCK TABLE kept")
    postgres.give_back(url)
    left_open.close()
    assert postgres.new_database() == url
    assert scalar(url, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == 0
    assert scalar(url, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace") == 0
    postgres.give_back(url)


@pytest.fixture(scope="module")
def own_server(postgres):
    """A server for these tests: others keep connections to the one they share."""
    server = Server()
    server.start()
    yield server
    server.stop()


def test_servers_listen_on_loopback_only_and_those_that_may_crash_sync_to_disk(postgres, own_server):
    for server, synced in ((postgres, "off"), (own_server, "on")):
        assert scalar(server.url(), "SHOW listen_addresses") == "127.0.0.1"
        assert scalar(server.url(), "SHOW fsync") == synced


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_keeps_what_was_committed(own_server, mode):
    url = own_server.new_database()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    started = scalar(url, "SELECT pg_postmaster_start_time()")
    own_server.restart(mode)
    assert scalar(url, "SELECT n FROM kept") == 7
    assert scalar(url, "SELECT pg_postmaster_start_time()") != started


def test_a_killed_test_run_leaves_no_server_behind(postgres):
    tests = Path(__file__).parent
    command = [sys.executable, "-c", STARTS_ONE]
    run = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(tests)}
    )
    assert run.stdout is not None
    folder, url = run.stdout.readline().split()
    assert scalar(url, "SELECT 1") == 1
    run.send_signal(signal.SIGKILL)
    run.communicate()
    patience = time.monotonic() + 30
    while Path(folder).exists() and time.monotonic() < patience:
        time.sleep(0.05)
    assert not Path(folder).exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=5)
