"""A ledger on a PostgreSQL server that crashes, goes away and comes back."""

import os
import threading
import time

import psycopg
import pytest

from plaudit import Entry, Ledger
from plaudit.errors import InputError, LedgerBusy, LedgerError
from plaudit.ledger.backends import postgres, postgres_wait
from plaudit.ledger.exchange import imports
from support.ledgers import REWARD, Writing, check_kept, columns, signal, steps_by_run, verified
from support.postgres import Server


@pytest.fixture(scope="module")
def own_server(postgres):
    """A server of this module's own, to be crashed; `postgres` says whether there can be one."""
    server = Server()
    server.start()
    yield server
    server.stop()


def check_numbers(where):
    """Check that no two blocks claim the same number."""
    with psycopg.connect(where) as connection:
        spans = connection.execute("SELECT first, records FROM blocks ORDER BY first").fetchall()
    end = 0
    for first, records in spans:
        assert first >= end, f"numbers are given twice around {first}"
        end = first + records


@pytest.mark.parametrize(
    ("mode", "crashes"),
    [
        ("immediate", 1),
        pytest.param("fast", 1, marks=pytest.mark.slow),
        pytest.param("immediate", 5, marks=pytest.mark.slow),
        pytest.param("fast", 5, marks=pytest.mark.slow),
    ],
)
def test_writers_go_on_by_themselves_after_a_crash_of_the_server(own_server, mode, crashes, counted):
    where = own_server.new_database()
    Ledger(where).close()
    kinds = ["single", "keyed", "batch", "buffered"]
    writing = [Writing(where, kind, kind) for kind in kinds]
    try:
        for each in writing:
            each.wait_for(lambda w: w.acknowledged > 0)
        for _ in range(crashes):
            time.sleep(0.1)
            own_server.restart(mode)
            before = [each.acknowledged for each in writing]
            for each, count in zip(writing, before, strict=True):
                each.wait_for(lambda w, count=count: w.acknowledged > count + 3)
    finally:
        for each in writing:
            said = each.end()
            assert not any(line.startswith("error") for line in said), said[-3:]
    acknowledged = {kind: each.acknowledged for kind, each in zip(kinds, writing, strict=True)}
    found = check_kept(where, acknowledged)
    check_numbers(where)
    counted(
        f"server restarted in mid-write ({mode})", restarts=crashes, acknowledged=sum(acknowledged.values()), lost=0
    )
    assert found >= sum(acknowledged.values())


def test_a_server_that_stays_away_is_said_so_and_recording_goes_on_later(own_server):
    where = own_server.new_database()
    with Ledger(where, timeout=1) as ledger:
        ledger.record(signal(0), run="run", step=0)
        own_server._run("pg_ctl", "stop", "--wait", "--mode=immediate")
        with pytest.raises(LedgerBusy):
            ledger.record(signal(1), run="run", step=1)
        with pytest.raises(LedgerBusy):
            list(ledger.history())
        with pytest.raises(LedgerBusy):
            Ledger(where, timeout=1)
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={own_server.port} -c unix_socket_directories={own_server.folder}"
        )
        own_server._run("pg_ctl", "start", "--wait", f"--log={own_server.folder}/log", f"--options={options}")
        ledger.record(signal(1), run="run", step=1)
        assert ledger.history().count() == 2
    check_kept(where, {"run": 2}, most=0)


def hang_up(where):
    """End every other connection to a database, as a lost network does."""
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_record_that_is_tried_again_begins_its_chain_in_one_transaction(postgres_url, monkeypatch):
    """If not, the turn would end at once, and another that begins a chain meanwhile would not be counted."""
    with Ledger(postgres_url) as ledger:
        ledger.record(signal(0), run="run", step=0)
        backend, free = ledger._store.backend, []
        take_turn = backend.take_turn

        def taken(cursor, **how):
            take_turn(cursor, **how)
            with psycopg.connect(postgres_url) as other:
                free.append(other.execute("SELECT pg_try_advisory_xact_lock(%s)", (postgres._LOCK,)).fetchone()[0])

        monkeypatch.setattr(backend, "take_turn", taken)
        hang_up(postgres_url)
        ledger.record(signal(1), run="run", step=1)
        assert free == [False]
    check_kept(postgres_url, {"run": 2}, most=0)


@pytest.mark.parametrize(
    "when", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow), 5]
)
def test_a_connection_lost_in_the_middle_of_a_group_writes_it_once(postgres_url, when, monkeypatch):
    with Ledger(postgres_url) as ledger:
        ledger.record(signal(0), run="run", step=0)
        calls = [0]
        reserve = ledger._store.backend.reserve

        def lost(cursor, count):
            calls[0] += 1
            if calls[0] == when:
                hang_up(postgres_url)
            return reserve(cursor, count)

        monkeypatch.setattr(ledger._store.backend, "reserve", lost)
        entries = [Entry(signal=signal(n), run="run", step=n, key=f"k{n}", phase=f"p{n}") for n in range(1, 5)]
        numbers = ledger.record_many(entries)
        assert [ledger[number].step for number in numbers] == [1, 2, 3, 4]
        assert ledger.record_many(entries) == numbers
    check_kept(postgres_url, {"run": 5}, most=0)


def test_an_import_whose_connection_is_lost_begins_again(postgres_url, tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "_BATCH", 100)
    with Ledger(tmp_path / "source.db") as source:
        source.record_batch(REWARD, columns(0, 250), run="run", step=range(250))
        source.export(tmp_path / "records.jsonl")
    told = []

    def progress(done, total):
        told.append(done)
        if len(told) == 1:
            hang_up(postgres_url)

    with Ledger(postgres_url) as ledger:
        ledger.import_file(tmp_path / "records.jsonl", progress=progress)
        assert ledger.import_file(tmp_path / "records.jsonl") == 0
    check_kept(postgres_url, {"run": 250}, most=0)


def test_recording_from_within_an_import_is_refused(where, tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "_BATCH", 100)
    with Ledger(tmp_path / "source.db") as source:
        source.record_batch(REWARD, columns(0, 250), run="run", step=range(250))
        source.export(tmp_path / "records.jsonl")
    refused = []
    with Ledger(where) as ledger:

        def progress(done, total):
            if done < total:
                with pytest.raises(LedgerError, match="middle of a write"):
                    ledger.record(signal(1))
                refused.append(done)

        ledger.import_file(tmp_path / "records.jsonl", progress=progress)
        assert refused
        ledger.record(signal(250), run="run", step=250)
    check_kept(where, {"run": 251}, most=0)


def is_block(given):
    """Return whether a statement, with its parameters, adds a block."""
    return "INSERT INTO appended" in given[0]


def is_end(given):
    """Return whether a pipeline ends without an error."""
    return given == (None, None, None)


def test_an_acknowledgement_that_is_lost_is_not_a_record_twice(postgres_url, monkeypatch):
    """The connection breaks after the server has committed and before it has said so."""
    with Ledger(postgres_url) as ledger:
        ledger.record(signal(0), run="run", step=0)
        for step in range(1, 6):
            broken = []

            def and_break(done, work, broken=broken):
                def do(self, *given, **options):
                    found = work(self, *given, **options)
                    if not broken and done(given):
                        broken.append(True)
                        raise psycopg.OperationalError("the connection is lost")
                    return found

                return do

            with monkeypatch.context() as patch:
                if step % 2:  # one statement, which commits itself
                    patch.setattr(psycopg.Cursor, "execute", and_break(is_block, psycopg.Cursor.execute))
                else:
                    patch.setattr(psycopg.Pipeline, "__exit__", and_break(is_end, psycopg.Pipeline.__exit__))
                number = ledger.record(signal(step), run="run", step=step, key=None if step % 2 else f"{step}")
            assert broken
            assert ledger[number].step == step
        batch = ledger.record_batch(REWARD, columns(6, 3006), run="run", step=range(6, 3006))
        assert len(batch) == 3000
    check_kept(postgres_url, {"run": 3006}, most=0)
    check_numbers(postgres_url)


def test_many_writers_of_large_batches_get_numbers_of_their_own(postgres_url):
    failed = []
    Ledger(postgres_url).close()

    def work(me):
        try:
            with Ledger(postgres_url) as ledger:
                for start in range(0, 2000, 1000):
                    numbers = ledger.record_batch(
                        REWARD, columns(start, start + 1000), run=f"w{me}", step=range(start, start + 1000)
                    )
                    assert numbers == sorted(set(numbers))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    check_kept(postgres_url, {f"w{me}": 2000 for me in range(3)}, most=0)
    check_numbers(postgres_url)


def test_a_backup_of_a_server_is_a_ledger_in_a_file(postgres_url, tmp_path):
    with Ledger(postgres_url) as ledger:
        for step in range(5):
            ledger.record(signal(step), run="run", step=step, key=f"k{step}", context={"é": "\0"})
        ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2"), run="run")
        for name, steps in (("a [1] *?#%20.db", 5), ("copy.db", 4200)):
            if steps > 5:  # more than one block
                ledger.record_batch(REWARD, columns(5, steps), run="run", step=range(5, steps))
            wanted = [record.to_dict() for choice in ({}, {"job": 1}) for record in ledger.history(**choice)]
            path = ledger.backup(tmp_path / name)
            with Ledger(path) as copy:
                assert [r.to_dict() for choice in ({}, {"job": 1}) for r in copy.history(**choice)] == wanted
                verified(copy)
                copy.record(signal(steps), run="run", step=steps)  # and it goes on
                assert steps_by_run(copy)["run"] == list(range(steps + 1))
    assert {found.name for found in tmp_path.iterdir() if not found.name.endswith(".lock")} == {
        "copy.db",
        "a [1] *?#%20.db",
    }


@pytest.mark.parametrize(
    "address", ["postgresql://", "postgresql://nobody@127.0.0.1:1/none", "mysql://x/y", "postgresql://[bad"]
)
def test_an_address_that_leads_nowhere_is_said_so(address, monkeypatch):
    monkeypatch.setattr(postgres_wait, "LEAST_WAIT", 0.1)
    with pytest.raises(LedgerError):
        Ledger(address, timeout=0.1)


def test_a_server_refuses_writes_of_a_ledger_that_was_opened_to_be_read(postgres_url):
    with Ledger(postgres_url) as ledger:
        ledger.record(signal(1))
    with Ledger(postgres_url, read_only=True) as ledger:
        with pytest.raises(LedgerError, match="read-only transaction"), ledger._store.backend.snapshot() as connection:
            connection.exec_driver_sql("DELETE FROM blocks")
        assert ledger.history().count() == 1


def test_a_password_is_never_shown(postgres):
    address = f"postgresql://postgres:secret-word@127.0.0.1:{postgres.port}/no_such_database"
    with pytest.raises(LedgerError) as caught:
        Ledger(address, timeout=1)
    assert "secret-word" not in str(caught.value)
    assert "no_such_database" in str(caught.value)
    assert "secret-word" not in os.environ.get("PGPASSWORD", "")


def test_tables_of_others_in_the_database_are_left_alone(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE notes (text text)")
    with Ledger(postgres_url) as ledger:
        ledger.record(signal(0))
        verified(ledger)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)
        connection.execute("DROP TABLE notes")


@pytest.mark.parametrize("table", ["blocks", "jobs", "schema_revision"])
def test_a_table_of_others_with_a_name_that_a_ledger_needs_is_refused_and_left_alone(postgres_url, table):
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"CREATE TABLE {table} (text text)".encode())
    with pytest.raises(LedgerError, match=f"tables with names that a ledger needs: {table}"):
        Ledger(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (1,)


@pytest.mark.parametrize("name", ["key", "run"])
def test_a_string_too_long_for_an_index_is_refused_at_once(postgres_ledger, name):
    long = "".join(map(chr, range(0x400, 0x400 + 4000)))  # which cannot be compressed much
    with Ledger(postgres_ledger) as ledger:
        with pytest.raises(InputError, match=r"index row .*put longer text into context="):
            ledger.record(signal(), **{name: long})
        assert ledger.record(signal(), context=long) == 1
        verified(ledger)
