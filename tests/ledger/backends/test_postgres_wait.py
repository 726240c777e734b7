"""`timeout=` is kept, whatever the server does: stands still, is held by another writer, or comes back late."""

import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import text

from plaudit import Ledger
from plaudit.errors import CommitUnknown, LedgerBusy
from plaudit.ledger.backends.postgres import _LOCK
from support.ledgers import REWARD, check_kept, columns, signal
from support.postgres import Server

TIMEOUT = 1.0
TOO_LONG = 6 * TIMEOUT
"""When a test stops waiting: a call that lasts as long does not keep its budget."""


@pytest.fixture(scope="module")
def server(postgres):
    """A server of this module's own, to be stopped; `postgres` says whether there can be one."""
    server = Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def url(server):
    return server.new_database()


@contextmanager
def stopped(server):
    """Stop the server; it goes on at the end, or when the test has waited too long."""
    over = threading.Event()
    inside = server.stopped()
    inside.__enter__()
    waker = threading.Thread(target=lambda: (over.wait(TOO_LONG), inside.__exit__(None, None, None)))
    waker.start()
    try:
        yield
        assert not over.is_set()
        assert waker.is_alive(), "the call ended only because the server went on"
    finally:
        over.set()
        waker.join()


def test_a_server_that_stands_still_is_an_error_and_recording_goes_on_later(server, url):
    with Ledger(url, timeout=TIMEOUT) as ledger:
        ledger.record(signal(0), run="run", step=0)
        with stopped(server):
            with pytest.raises(LedgerBusy, match=r"has not answered for 1 s.*Nothing was recorded") as caught:
                ledger.record(signal(1), run="run", step=1, key="k1")
            assert not isinstance(caught.value, CommitUnknown)
        ledger.record(signal(1), run="run", step=1, key="k1")
    check_kept(url, {"run": 2}, most=0)


def test_reading_from_a_server_that_stands_still_is_an_error(server, url):
    with Ledger(url, timeout=TIMEOUT) as ledger:
        ledger.record(signal(0), run="run", step=0)
        with stopped(server), pytest.raises(LedgerBusy, match="has not answered for 1 s"):
            list(ledger.history())
        assert ledger.history().count() == 1


def test_a_server_that_stands_still_cannot_be_opened(server, url):
    with stopped(server), pytest.raises(LedgerBusy, match="has not answered for 1 s"):
        Ledger(url, timeout=TIMEOUT)


def test_one_record_that_a_server_was_sent_before_it_stood_still_may_be_there(server, url):
    with Ledger(url, timeout=TIMEOUT) as ledger:
        ledger.record(signal(0), run="run", step=0)
        with stopped(server), pytest.raises(CommitUnknown, match="may be there, all of them, or not at all"):
            ledger.record(signal(1), run="run", step=1)  # one statement, which commits itself
        ledger.record(signal(2), run="run", step=2)
    check_kept(url, {"run": 3}, most=0)


@pytest.mark.parametrize("key", ["k1", pytest.param(None, marks=pytest.mark.slow)])
def test_a_server_that_stands_still_in_a_commit_may_have_recorded(server, url, key, monkeypatch):
    commit = psycopg.Pipeline.__exit__
    with Ledger(url, timeout=TIMEOUT) as ledger:
        ledger.record(signal(0), run="run", step=0)
        with monkeypatch.context() as patch:
            still = []

            def stop_and_commit(self, *error):
                if not still:
                    still.append(stopped(server))
                    still[0].__enter__()
                return commit(self, *error)

            patch.setattr(psycopg.Pipeline, "__exit__", stop_and_commit)
            with pytest.raises(CommitUnknown, match="may be there, all of them, or not at all"):
                ledger.record_batch(REWARD, columns(1, 2), run="run", step=[1], key=key and [key])
            still[0].__exit__(None, None, None)
        if key is None:  # the commit was on its way, and the server found it when it went on
            ledger.record(signal(2), run="run", step=2)
        else:
            number = ledger.record(signal(1), run="run", step=1, key=key)
            assert ledger.record(signal(1), run="run", step=1, key=key) == number
            ledger.record(signal(2), run="run", step=2)
    check_kept(url, {"run": 3}, most=0)


def test_a_ledger_is_not_made_while_another_process_is_at_it(url):
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        letting_go = threading.Timer(TOO_LONG, other.execute, ("SELECT pg_advisory_unlock_all()",))
        letting_go.start()
        with pytest.raises(LedgerBusy, match="another process has been writing"):
            Ledger(url, timeout=TIMEOUT)
        assert letting_go.is_alive(), "it waited until the other let go"
        letting_go.cancel()
    with Ledger(url, timeout=TIMEOUT) as ledger:
        ledger.record(signal(0), run="run", step=0)
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            ledger.record(signal(1), run="run", step=1)  # who adds blocks alone needs no turn
            refused = pytest.raises(LedgerBusy, match=r"writing to .* for 1 s.*Nothing was recorded")
            with Ledger(url, timeout=TIMEOUT) as newcomer, refused:
                newcomer.record(signal(2), run="run", step=2)
    check_kept(url, {"run": 2}, most=0)


def test_opening_and_reading_wait_for_a_server_that_restarts(server, url):
    with Ledger(url, timeout=60) as ledger:
        ledger.record(signal(0), run="run", step=0)
        for use in (lambda: ledger.history().count(), lambda: Ledger(url, timeout=60).close()):
            restarting = threading.Thread(target=server.restart, args=("fast",))
            restarting.start()
            while server.is_up() and restarting.is_alive():
                time.sleep(0.001)
            use()
            restarting.join()


def test_an_address_that_is_wrong_is_said_at_once(server, url):
    wrong = url.rpartition("/")[0] + "/no_such_database"
    before = time.monotonic()
    with pytest.raises(LedgerBusy, match=r"no_such_database.* does not exist"):
        Ledger(wrong, timeout=60)
    assert time.monotonic() - before < 30, "it was tried again and again"


def test_a_long_statement_is_waited_for_while_the_server_answers(server, url):
    with Ledger(url, timeout=TIMEOUT) as ledger:
        backend = ledger._store.backend
        backend._budget.seconds = 1.0
        with backend.snapshot() as connection:
            assert connection.execute(text("SELECT 1 FROM pg_sleep(1.5)")).scalar_one() == 1
        with pytest.raises(LedgerBusy), backend.transaction() as cursor:
            cursor.execute("SELECT pg_sleep(20)")
