"""The PostgreSQL that tests run against: alone, durable, and gone when its tests are."""

import contextlib
import os
import signal as signals
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from plaudit import Entry, Ledger
from support.ledgers import REWARD, signal, verified
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


def test_a_ledger_that_was_given_back_has_nothing_in_it_and_is_used_again(postgres):
    lent = postgres.new_ledger()
    with Ledger(lent.url) as ledger:
        new = ledger.stats().head
        ledger.record_many([Entry(signal=signal(at), run="a", key=f"k{at}") for at in range(5)])
        ledger.rescore(REWARD.with_weights(comfort=2.0).with_version("2"))
    postgres.give_back_ledger(lent)
    assert postgres.new_ledger() is lent
    with Ledger(lent.url) as ledger:
        assert ledger.stats().head == new
        assert (ledger.history().count(), ledger.stats().rewards) == (0, {})
        assert ledger.record(signal(0), key="k0") == 1
        verified(ledger)
    postgres.give_back_ledger(lent)


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX blocks_by_writer",
        "CREATE TABLE other (n int)",
        "ALTER TABLE writers ADD COLUMN more int",
        "CREATE OR REPLACE FUNCTION append_block() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "DELETE FROM table_heads WHERE name = 'specs'",
        "UPDATE schema_revision SET number = 9999",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()",
    ],
    ids=lambda change: " ".join(change.split()[:4]),
)
def test_a_ledger_of_which_more_was_changed_is_made_anew(postgres, change):
    lent = postgres.new_ledger()
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(lent.url, autocommit=True) as connection:
        connection.execute(change.encode())  # the last of them ends itself too
    postgres.give_back_ledger(lent)
    assert lent.connection.closed
    assert postgres.new_database() == lent.url
    assert scalar(lent.url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    postgres.give_back(lent.url)


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
    run.send_signal(signals.SIGKILL)
    run.communicate()
    patience = time.monotonic() + 300
    while Path(folder).exists() and time.monotonic() < patience:
        time.sleep(0.05)
    assert not Path(folder).exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=5)
