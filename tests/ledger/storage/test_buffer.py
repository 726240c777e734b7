"""The write buffer: nothing that it took is dropped in silence."""

import multiprocessing
import os
import sys
import threading
import time
from signal import SIGINT

import pytest

from plaudit import Ledger
from plaudit.errors import CommitUnknown, FileError, KeyConflict, LedgerError, VersionConflict
from plaudit.ledger.storage import buffer
from support.forking import run_python
from support.ledgers import REWARD, signal

SCRIPT = """
import sys
from plaudit import Ledger, Reward

signal = Reward.from_json(sys.argv[2]).score(distance=30.0, deceleration=0.0, action=0)
{opening}
for step in range(2500):
    writer.record(signal, step=step)
{ending}
"""
FORGOTTEN = "writer = Ledger(sys.argv[1]).writer(max_delay=60)"
INSIDE = "ledger = Ledger(sys.argv[1])\nwriter = ledger.writer(max_delay=60)"


@pytest.mark.parametrize(
    ("opening", "ending", "code"),
    [(FORGOTTEN, "", 0), (FORGOTTEN, "sys.exit(3)", 3), (FORGOTTEN, "1 / 0", 1), (INSIDE, "ledger.close()", 0)],
    ids=["the program ends", "it exits", "it fails", "the ledger is closed"],
)
def test_a_writer_that_nobody_closed_is_committed_when(tmp_path, opening, ending, code):
    script = SCRIPT.format(opening=opening, ending=ending)
    done = run_python(
        [sys.executable, "-c", script, tmp_path / "rewards.db", REWARD.to_json()], capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        assert ledger.history().count() == 2500


@pytest.mark.skipif(os.name == "nt", reason="needs fork")
def test_a_writer_is_committed_when_a_process_of_multiprocessing_ends(tmp_path):
    def record(ledger):
        ledger.writer(max_delay=60).record(signal())

    with Ledger(tmp_path / "rewards.db") as ledger:
        process = multiprocessing.get_context("fork").Process(target=record, args=(ledger,))
        process.start()
        process.join()
        assert process.exitcode == 0
        assert ledger.history().count() == 1


def test_a_ledger_that_cannot_be_closed_does_not_keep_others_from_being(tmp_path):
    ending = """
broken = Ledger("broken.db")
broken._close_store = lambda: 1 / 0
ledgers = [Ledger(f"{n}.db") for n in range(5)]
writers = [each.writer(max_delay=60) for each in ledgers]
for each in writers:
    each.record(signal)
"""
    script = SCRIPT.format(opening=FORGOTTEN, ending=ending)
    done = run_python(
        [sys.executable, "-c", script, tmp_path / "rewards.db", REWARD.to_json()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert "ZeroDivisionError" in done.stderr
    for n in range(5):
        with Ledger(tmp_path / f"{n}.db", read_only=True) as ledger:
            assert ledger.history().count() == 1


def test_closing_a_ledger_closes_its_writers(where):
    ledger = Ledger(where)
    writer = ledger.writer(max_delay=60)
    receipt = writer.record(signal())
    ledger.close()
    assert receipt.durable
    with pytest.raises(LedgerError, match="closed"):
        writer.record(signal())


def test_what_went_wrong_is_raised_by_the_next_record(where):
    edited = REWARD.with_weights(comfort=3.0)
    with Ledger(where) as ledger:
        ledger.record(signal())
        writer = ledger.writer(max_records=10, max_delay=0)
        row = {"distance": 30.0, "deceleration": 1.0, "action": 0}
        first = writer.record(edited.score(**row))
        with pytest.raises(VersionConflict):
            first.wait(300)
        with pytest.raises(VersionConflict):
            writer.record(signal())
        assert writer.record(signal()).wait(300)
        writer.close()
        assert ledger.history().count() == 2


def test_a_key_that_is_taken_fails_its_own_record(where):
    with Ledger(where) as ledger:
        ledger.record(signal(1), key="k")
        writer = ledger.writer(max_delay=60)
        receipts = [
            writer.record(signal(2), step=0),
            writer.record(signal(2), key="k"),
            writer.record(signal(3), step=2),
        ]
        with pytest.raises(KeyConflict):
            writer.flush()
        assert [receipt.state for receipt in receipts] == ["durable", "failed", "durable"]
        assert [ledger[receipt.id].step for receipt in receipts if receipt.durable] == [0, 2]
        assert receipts[1].id is None


def test_a_ledger_to_be_read_has_no_writer(tmp_path):
    Ledger(tmp_path / "rewards.db").close()
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger, pytest.raises(LedgerError, match="read_only"):
        ledger.writer()


def test_what_the_disk_refused_is_kept_and_written_with_the_next(where, monkeypatch):
    with Ledger(where) as ledger:
        write = ledger._write
        monkeypatch.setattr(ledger, "_write", lambda records: refusing(records) if refusing else write(records))
        refusing = refuse
        writer = ledger.writer(max_delay=60)
        first = writer.record(signal(), step=1)
        with pytest.raises(FileError, match=r"disk is full.* waiting to be recorded: 1"):
            writer.flush()
        with pytest.raises(FileError, match="disk is full"):
            first.wait(300)
        assert first.state == "buffered"
        refusing = None
        second = writer.record(signal(), step=2)
        writer.flush()
        assert [first.wait(), second.wait()] == [first.id, second.id]
        assert [record.step for record in ledger.history()] == [1, 2]


def refuse(records):
    raise FileError("the disk is full. Nothing was recorded; free some space and try again.")


@pytest.mark.parametrize("most", [0, 10], ids=["more than it keeps", "when it is closed"])
def test_what_the_disk_refuses_for_good_fails_and_its_loss_is_told(where, monkeypatch, most):
    monkeypatch.setattr(buffer, "MOST_WAITING", most)
    with Ledger(where) as ledger:
        monkeypatch.setattr(ledger, "_write", refuse)
        writer = ledger.writer(max_delay=60)
        receipt = writer.record(signal())
        with pytest.raises(FileError, match="not recorded: 1"):
            writer.close()
        assert receipt.state == "failed"
        with pytest.raises(FileError, match="disk is full"):
            receipt.wait()
        assert ledger.history().count() == 0


@pytest.mark.parametrize("failure", [CommitUnknown("whether it was recorded is not known."), SystemExit()], ids=repr)
def test_a_record_that_may_have_been_written_is_not_written_again(where, monkeypatch, failure):
    with Ledger(where) as ledger:
        write = ledger._write

        def lose_the_answer(records):
            write(records)
            raise failure

        monkeypatch.setattr(ledger, "_write", lose_the_answer)
        writer = ledger.writer(max_delay=60)
        receipt = writer.record(signal())
        with pytest.raises(type(failure)):
            writer.flush()
        writer.close()
        assert (receipt.state, ledger.history().count()) == ("failed", 1)


def test_record_waits_where_the_buffer_is_full(where, monkeypatch):
    with Ledger(where) as ledger:
        write, begun, go_on = ledger._write, threading.Event(), threading.Event()

        def take_long(records):
            begun.set()
            go_on.wait()
            return write(records)

        monkeypatch.setattr(ledger, "_write", take_long)
        writer = ledger.writer(max_records=3, max_delay=60)
        receipts = []

        def record():
            receipts.extend(writer.record(signal(), step=step) for step in range(20))

        recording = threading.Thread(target=record)
        recording.start()
        assert begun.wait(300)
        time.sleep(0.1)
        assert len(writer._receipts) <= 6
        assert recording.is_alive()
        go_on.set()
        recording.join()
        writer.close()
        assert [ledger[receipt.id].step for receipt in receipts] == list(range(20))


def test_whoever_records_while_it_is_closed_is_told_and_nothing_else_is_lost(where, monkeypatch):
    with Ledger(where) as ledger:
        writer = ledger.writer(max_delay=60)
        receipt = writer.record(signal())
        write = writer._write_aside

        def write_late(timeout):
            with pytest.raises(LedgerError, match="writer is closed"):
                writer.record(signal())
            write(timeout)

        monkeypatch.setattr(writer, "_write_aside", write_late)
        writer.close()
        assert (receipt.state, ledger.history().count()) == ("durable", 1)


@pytest.fixture
def slow(where, monkeypatch):
    """Return a ledger that begins to write when it is told to, its writer, a receipt and the event that tells it."""
    with Ledger(where) as ledger:
        write, begun, go_on = ledger._write, threading.Event(), threading.Event()

        def begin_late(records):
            begun.set()
            assert go_on.wait(300)
            return write(records)

        monkeypatch.setattr(ledger, "_write", begin_late)
        writer = ledger.writer(max_delay=60)
        yield ledger, writer, writer.record(signal()), begun, go_on


def test_a_ledger_is_not_closed_before_its_writer_that_another_thread_closes(slow):
    ledger, writer, receipt, begun, go_on = slow
    first, second = (threading.Thread(target=each.close) for each in (writer, ledger))
    first.start()
    assert begun.wait(300)
    second.start()
    time.sleep(0.1)
    go_on.set()
    first.join()
    second.join()
    assert receipt.state == "durable"


@pytest.mark.skipif(os.name == "nt", reason="needs SIGINT")
@pytest.mark.usefixtures("heed_ctrl_c")
def test_ctrl_c_while_a_ledger_is_closed_loses_nothing(slow):
    ledger, _, receipt, begun, go_on = slow

    def interrupt():
        assert begun.wait(300)
        os.kill(os.getpid(), SIGINT)
        time.sleep(0.1)
        go_on.set()

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        ledger.close()
    interrupting.join()
    assert receipt.state == "durable"


def test_a_loss_is_told_though_another_thread_was_told_why(where, monkeypatch):
    with Ledger(where) as ledger:
        monkeypatch.setattr(ledger, "_write", refuse)
        writer = ledger.writer(max_delay=60)
        receipt = writer.record(signal())
        write = writer._write_aside

        def write_and_tell(timeout):
            write(timeout)
            with pytest.raises(FileError, match="waiting to be recorded: 1"):
                writer._raise_failure()

        monkeypatch.setattr(writer, "_write_aside", write_and_tell)
        with pytest.raises(LedgerError, match="not recorded: 1"):
            writer.close()
        assert receipt.state == "failed"


def test_a_failure_without_a_message_is_named(where, monkeypatch):
    def lack_memory(records):
        raise MemoryError

    with Ledger(where) as ledger:
        monkeypatch.setattr(ledger, "_write", lack_memory)
        writer = ledger.writer(max_delay=60)
        writer.record(signal())
        with pytest.raises(LedgerError, match=r"MemoryError: .* not recorded: 1"):
            writer.close()
