"""Many writers on a server and a reader that comes back for more: it sees every record once, in one order."""

import os
import subprocess
import threading
import time
from collections import defaultdict

import psycopg
import pytest

from plaudit import Entry, Ledger, NotInLedger
from plaudit.errors import LedgerError
from plaudit.ledger.exchange import imports
from support.ledgers import REWARD, Writing, columns, signal, verified
from support.postgres import Server, binaries


@pytest.fixture(scope="module")
def large_server(postgres):
    """A server for a hundred writers; `postgres` says whether there can be one."""
    server = Server(connections=500)
    server.start()
    yield server
    server.stop()


class Tail:
    """A reader in a thread that continues after the last record it was shown, until it is told to end."""

    def __init__(self, where):
        self.seen = []
        self._over = threading.Event()
        self._failed = []
        self._thread = threading.Thread(target=self._read, args=(where,))
        self._thread.start()

    def _read(self, where):
        try:
            with Ledger(where, read_only=True) as ledger:
                after, over = 0, False
                while not over:
                    over = self._over.is_set()  # once more, for what was recorded last
                    for record in ledger.history(after=after):
                        self.seen.append((record.id, record.run, record.step))
                        after = record.id
        except BaseException as error:
            self._failed.append(error)

    def end(self):
        self._over.set()
        self._thread.join()
        assert not self._failed, self._failed
        return self.seen


def record_slowly(ledger, run, step, seconds):
    """Record a step in a transaction that stays open for a while."""
    packed = ledger._pack_entry(Entry(signal=signal(step), run=run, step=step))

    def work(cursor):
        numbers = ledger._store.writer.insert(cursor, [packed])
        cursor.execute("SELECT 1").fetchone()  # now it is there, and nobody sees it
        time.sleep(seconds)
        return numbers

    return ledger._store.writer.transact(work)


def write(where, me, rounds, acknowledged):
    """Record a run in one of five ways, and note the numbers."""
    run = f"w{me}"
    with Ledger(where, timeout=120) as ledger:
        for at in range(rounds):
            step = 4 * at
            steps = range(step, step + 4)
            if me % 5 == 0:
                found = [ledger.record(signal(n), run=run, step=n) for n in steps]
            elif me % 5 == 1:
                found = [ledger.record(signal(n), run=run, step=n, key=f"{run}/{n}") for n in steps]
            elif me % 5 == 2:
                found = ledger.record_batch(REWARD, columns(step, step + 4), run=run, step=steps)
            elif me % 5 == 3:
                with ledger.writer(max_delay=0.001) as writer:
                    receipts = [writer.record(signal(n), run=run, step=n) for n in steps]
                found = [receipt.wait() for receipt in receipts]
            else:
                found = [number for n in steps for number in record_slowly(ledger, run, n, 0.02)]
            assert [ledger[number].step for number in found] == list(steps), "acknowledged, and not found"
            acknowledged[run] += found


def write_and_read(where, writers, rounds):
    """Let writers write while one reads; return what was acknowledged, by run, and what the reader saw."""
    Ledger(where).close()
    acknowledged, failed = defaultdict(list), []

    def work(me):
        try:
            write(where, me, rounds, acknowledged)
        except BaseException as error:
            failed.append(error)

    tail = Tail(where)
    threads = [threading.Thread(target=work, args=(me,)) for me in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = tail.end()
    assert not failed, failed
    return acknowledged, seen


def check_seen(where, acknowledged, seen):
    """Check that a reader saw every record once, in the order in which the history has them now."""
    numbers = [number for number, _, _ in seen]
    assert len(set(numbers)) == len(numbers), "a record was seen twice"
    assert set(numbers) == {number for found in acknowledged.values() for number in found}, "not every record was seen"
    by_run = defaultdict(list)
    for number, run, _ in seen:
        by_run[run].append(number)
    assert by_run == acknowledged, "the records of a writer changed places"
    with Ledger(where) as ledger:
        assert [record.id for record in ledger.history()] == numbers
        assert [record.id for record in ledger.history().last(7)] == numbers[-7:]
        middle = numbers[len(numbers) // 2]
        for merged in (False, True):
            assert [record.id for record in ledger.history(after=middle)] == numbers[len(numbers) // 2 + 1 :], merged
            ledger.compact()
        assert [record.id for record in ledger.history()] == numbers, "merging changed the order"
        verified(ledger)


@pytest.mark.parametrize(
    ("writers", "rounds"),
    [
        (5, 4),
        pytest.param(5, 12, marks=pytest.mark.slow),
        pytest.param(32, 60, marks=pytest.mark.slow),
        pytest.param(100, 25, marks=pytest.mark.slow),
    ],
)
def test_a_reader_beside_many_writers_sees_every_record_once_and_in_one_order(large_server, writers, rounds, counted):
    where = large_server.new_database()
    acknowledged, seen = write_and_read(where, writers, rounds)
    assert len(seen) == writers * rounds * 4
    check_seen(where, acknowledged, seen)
    counted("a reader beside writers on a server", writers=writers, records=len(seen), missed=0, twice=0)


@pytest.mark.parametrize("lives", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_writers_that_are_killed_leave_no_hole(postgres_url, lives, counted):
    Ledger(postgres_url).close()
    tail = Tail(postgres_url)
    acknowledged = {}
    for life in range(lives):
        kinds = ("single", "keyed", "batch", "buffered")
        writing = {f"{kind} {life}": Writing(postgres_url, f"{kind} {life}", kind) for kind in kinds}
        for each in writing.values():
            each.wait_for(lambda w: w.acknowledged > 20)
        for run, each in writing.items():
            acknowledged[run] = max(int(line) for line in each.end() if line.isdigit())
    with Ledger(postgres_url) as ledger:
        last = ledger.record(signal(0), run="last", step=0)
        while ledger.history(after=0).find_last() != last:  # a server notices a moment later that a client is gone
            time.sleep(0.01)
        seen = tail.end()
        steps = defaultdict(list)
        for _, run, step in seen:
            steps[run].append(step)
        assert seen[-1][0] == last
        assert len({number for number, _, _ in seen}) == len(seen) == ledger.history().count()
        for run, count in acknowledged.items():
            assert steps[run] == list(range(len(steps[run])))
            assert len(steps[run]) >= count
        verified(ledger)
    counted("writers on a server killed beside a reader", kills=4 * lives, records=len(seen), missed=0)


def test_what_is_recorded_beside_a_slow_transaction_is_found_at_once_and_shown_to_who_continues_later(postgres_url):
    with Ledger(postgres_url) as ledger, Ledger(postgres_url) as slow:
        first = ledger.record(signal(0), run="fast", step=0)
        slow.register(REWARD)
        slow.record(signal(0), run="slow", step=0)
        entered, leave = threading.Event(), threading.Event()

        def stay(cursor):
            packed = slow._pack_entry(Entry(signal=signal(1), run="slow", step=1))
            numbers = slow._store.writer.insert(cursor, [packed])
            cursor.execute("SELECT 1").fetchone()
            entered.set()
            assert leave.wait(60)
            return numbers

        staying = threading.Thread(target=slow._store.writer.transact, args=(stay,))
        staying.start()
        assert entered.wait(60)
        numbers = [ledger.record(signal(step), run="fast", step=step) for step in (1, 2, 3)]
        assert [ledger[number].step for number in numbers] == [1, 2, 3]
        assert ledger.why(numbers[0]).record.step == 1
        assert [r.id for r in ledger.history(run="fast")] == [first, *numbers]
        assert ledger.history(run="fast").count() == 4
        assert [r.run for r in ledger.history(after=0)] == ["fast", "slow"]
        assert [r.id for r in ledger.history(run="fast").last(2)] == numbers[1:]
        assert ledger.history(after=first).find_last() not in numbers
        leave.set()
        staying.join()
        told = [(r.run, r.step) for r in ledger.history(after=0)]
        assert told == [("fast", 0), ("slow", 0), ("slow", 1), ("fast", 1), ("fast", 2), ("fast", 3)]
        assert [(r.run, r.step) for r in ledger.history(after=first)] == told[1:]


def test_a_history_is_what_was_there_when_reading_began(postgres_url, monkeypatch):
    """Also where it is read in several pages, and what was open meanwhile is of an earlier transaction."""
    with Ledger(postgres_url) as ledger, Ledger(postgres_url) as other:
        for step in range(40):
            ledger.record(signal(step), run="run", step=step)
        history = iter(ledger.history())
        next(history)
        for step in range(40):
            other.record(signal(step), run="other", step=step)
        assert {record.run for record in history} == {"run"}


def test_writers_that_only_add_blocks_wait_for_no_other(postgres_url):
    with Ledger(postgres_url, timeout=2) as ledger, Ledger(postgres_url) as slow:
        ledger.record(signal(0), run="run", step=0)
        slow.record(signal(0), run="slow", step=0)

        def work(cursor):
            slow._store.backend.take_turn(cursor)
            begun = time.monotonic()
            number = ledger.record(signal(1), run="run", step=1)
            ledger.record_batch(REWARD, columns(2, 5), run="run", step=range(2, 5))
            ledger.record(signal(5), run="run", step=5, key="k")
            ledger.record(signal(6), run="another run", step=6)  # a new scope needs no turn either
            assert time.monotonic() - begun < 2
            return number

        assert slow._store.writer.transact(work) == 2
        verified(ledger)


def test_gaps_in_the_numbers_are_right_and_a_block_that_is_gone_is_found(postgres_url, tmp_path):
    with Ledger(postgres_url) as first, Ledger(postgres_url) as second:
        for step in range(5):
            first.record(signal(step), run="one", step=step)
            second.record_batch(REWARD, columns(3 * step, 3 * step + 3), run="two", step=range(3 * step, 3 * step + 3))
        second.record_batch(REWARD, columns(15, 5000), run="two", step=range(15, 5000))
        verified(first)
        assert first.history().find_last() > first.history().count()
        with Ledger(first.backup(tmp_path / "copy.db")) as copy:
            verified(copy)
    with psycopg.connect(postgres_url) as connection:
        for name in ("summaries", "blocks"):
            connection.execute(
                f"DELETE FROM {name} WHERE first = (SELECT max(first) FROM blocks WHERE writer = 1)".encode()
            )
            connection.execute(
                f"DELETE FROM {name} WHERE first = (SELECT min(first) + 3 FROM blocks WHERE writer = 2)".encode()
            )
    with Ledger(postgres_url) as ledger:
        told = [problem.text for problem in ledger.verify().problems if problem.kind == "removed"]
    assert any("wrote 5 records; the last 1 of them are missing" in text for text in told)
    assert any("3 records before it are missing" in text for text in told)


def test_an_import_is_recognised_whatever_its_numbers(postgres_url, tmp_path, monkeypatch):
    """Also where others drew later numbers, and other imports had higher ones."""
    monkeypatch.setattr(imports, "_BATCH", 10)
    with Ledger(tmp_path / "source.db") as source:
        source.record_batch(REWARD, columns(0, 40), run="run", step=range(40))
        source.export(tmp_path / "all.jsonl")
        source.export(tmp_path / "first.jsonl", until=source[1].at)
    with Ledger(postgres_url) as early, Ledger(postgres_url) as late:
        early.record(signal(0), run="own", step=0)
        late.record(signal(0), run="own", step=0)

        def progress(done, total):
            late.record(signal(done), run="own", step=done)

        assert late.import_file(tmp_path / "first.jsonl") == 0
        assert early.import_file(tmp_path / "all.jsonl", progress=progress) == 40
        assert late.import_file(tmp_path / "all.jsonl") == 0
        verified(late)


@pytest.fixture
def newer_server(postgres):
    """A server that has counted few transactions."""
    server = Server(fsync=False)
    server.start()
    yield server
    server.stop()


def copy_by_dump(source, target, folder):
    """Dump a database with PostgreSQL's own program, and restore it elsewhere."""
    dump = folder / "ledger.sql"
    subprocess.run([binaries() / "pg_dump", f"--dbname={source}", f"--file={dump}"], check=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(
        [binaries() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={target}", f"--file={dump}"], **quiet
    )


def test_a_dump_that_is_restored_on_a_server_that_counted_fewer_transactions_goes_on(
    postgres_url, newer_server, tmp_path
):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
    with Ledger(postgres_url) as first, Ledger(postgres_url) as second:
        for step in range(6):
            first.record(signal(step), run="one", step=step)
            second.record(signal(step), run="two", step=step)
        wanted = [record.to_dict() for record in first.history(after=0)]
    where = newer_server.new_database()
    copy_by_dump(postgres_url, where, tmp_path)
    with pytest.raises(LedgerError, match="restored from a dump of another server.*Open it once for writing"):
        Ledger(where, read_only=True)
    with Ledger(where) as ledger:
        assert [record.to_dict() for record in ledger.history(after=0)] == wanted
        last = wanted[-1]["id"]
        number = ledger.record(signal(6), run="one", step=6)
        assert [record.id for record in ledger.history(after=last)] == [number]
        assert ledger.history().find_last() == number
        verified(ledger)
        with pytest.raises(NotInLedger):
            ledger[number + 1]
    with Ledger(where, read_only=True) as ledger:
        assert ledger.history(after=0).count() == 13


def test_a_sequence_that_was_set_back_is_seen(postgres_url):
    with Ledger(postgres_url) as ledger:
        ledger.record_batch(REWARD, columns(0, 40_000), run="run", step=range(40_000))
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SELECT setval('record_numbers', 1)")
    with Ledger(postgres_url) as ledger:
        assert any("'record_numbers' is behind" in problem.text for problem in ledger.verify().problems)


pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
