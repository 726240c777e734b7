"""Several writers at once, in processes, threads and forks: everything is there, in each writer's order."""

import os
import signal as signals
import subprocess
import threading
import time

import pytest

from plaudit import Ledger
from plaudit.errors import LedgerBusy
from support.forking import PythonProcess
from support.ledgers import REWARD, Writing, check_kept, columns, command, run, signal, steps_by_run, verified

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def read_until(ledger, done):
    """Read a ledger again and again while others write; return how often."""
    times = seen = 0
    while not done():
        steps = steps_by_run(ledger)
        count = sum(map(len, steps.values()))
        assert count >= seen, "records went away"
        for name, found in steps.items():
            assert found == list(range(len(found))), f"{name}: a gap while it was read"
        times, seen = times + 1, count
    return times


def write_at_once(where, tmp_path, records, counted):
    """Let four processes write, each in its way, while this one reads and backs up."""
    Ledger(where).close()
    modes = ["single", "keyed", "batch", "buffered"]
    limits = {"single": records, "keyed": records, "batch": 8 * records, "buffered": 4 * records}
    writing = [Writing(where, mode, mode, f"limit={limits[mode]}") for mode in modes]
    backups = 0
    with Ledger(where) as ledger:
        while any(each.process.poll() is None for each in writing):
            read_until(ledger, lambda: True)
            if hasattr(ledger._store.backend, "checkpoint"):
                ledger._store.backend.checkpoint()
            read_until(ledger, iter([False, True]).__next__)
            copy = ledger.backup(tmp_path / f"copy {backups}.db")
            with Ledger(copy, read_only=True) as backup:
                verified(backup)
                for found in steps_by_run(backup).values():
                    assert found == list(range(len(found)))
            copy.unlink()
            backups += 1
    acknowledged = {mode: each.acknowledged for mode, each in zip(modes, writing, strict=True)}
    for mode, each in zip(modes, writing, strict=True):
        assert each.end()[-1] == "closed"
        assert acknowledged[mode] >= limits[mode]
    found = check_kept(where, acknowledged, most=0)
    counted("four writers at once", runs=1, acknowledged=found, lost=0, backups_meanwhile=backups)


def test_four_writers_lose_nothing_and_keep_their_order(where, tmp_path, counted):
    write_at_once(where, tmp_path, 10, counted)


@pytest.mark.slow
def test_four_writers_lose_nothing_of_much(where, tmp_path, counted):
    write_at_once(where, tmp_path, 5000, counted)


def test_four_writers_with_a_checkpoint_after_every_few_records(tmp_path, counted):
    path = tmp_path / "ledger.db"
    found = run("checkpoints", path, 4, 60)
    check_kept(path, {f"writer {n}": 60 for n in range(4)}, most=0)
    counted("four writers, forced checkpoints", records=240, checkpoints=found["checkpoints"], lost=0)


# -- a writer that holds the lock and dies or stands still -----------------------------------------------------------


def hold(path):
    """Return a process that is in the middle of a write."""
    process = PythonProcess(command("hold", path), stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "holding\n"
    return process


def ended(process):
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_killed_writer_lets_the_others_go_on(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger(path, timeout=20) as ledger:
        ledger.record(signal(0), run="run", step=0)
        holder = hold(path)
        threading.Timer(0.2, holder.kill).start()
        ledger.record(signal(1), run="run", step=1)
        ended(holder)
    check_kept(path, {"run": 2}, most=0)


def test_a_writer_that_stands_still_is_waited_for_and_then_said_so(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger(path, timeout=0.3) as ledger:
        ledger.record(signal(0), run="run", step=0)
        holder = hold(path)
        os.kill(holder.pid, signals.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(LedgerBusy, match="another process"):
            ledger.record(signal(1), run="run", step=1)
        assert time.monotonic() - begun > 0.25
        assert ledger.history().count() == 1, "readers need not wait"
        with pytest.raises(LedgerBusy):
            Ledger(path, timeout=0.1)
        os.kill(holder.pid, signals.SIGCONT)
        holder.kill()
        holder.wait()
        ledger.record(signal(1), run="run", step=1)
        ended(holder)
    check_kept(path, {"run": 2}, most=0)


def test_a_writer_that_was_stopped_goes_on_when_it_is_continued(tmp_path):
    path = tmp_path / "ledger.db"
    with Writing(path, "stopped", "single") as stopped, Writing(path, "other", "single", "limit=200") as other:
        stopped.wait_for(lambda w: w.acknowledged > 5)
        stopped.freeze()
        time.sleep(0.3)
        stopped.send(signals.SIGCONT)
        before = stopped.acknowledged
        stopped.wait_for(lambda w: w.acknowledged > before + 5)
        other.wait_for(lambda w: "closed" in w.lines())
        stopped.end()
        check_kept(path, {"stopped": stopped.acknowledged, "other": 200}, most=1)


# -- one process -----------------------------------------------------------------------------------------------------


def test_two_ledgers_of_one_process_lose_nothing_when_another_process_closes(tmp_path):
    path = tmp_path / "ledger.db"
    first = Ledger(path)
    first.record(signal(0), run="run", step=0)
    second = Ledger(path)
    second.record(signal(1), run="run", step=1)
    second.close()  # opening and closing the file here must not let go of the locks of the first
    with Writing(path, "other", "single", "limit=1") as other:
        other.wait_for(lambda w: "closed" in w.lines())
    for step in range(2, 20):
        first.record(signal(step), run="run", step=step)
    with Writing(path, "third", "single", "limit=1") as other:
        other.wait_for(lambda w: "closed" in w.lines())
    first.close()
    check_kept(path, {"run": 20, "other": 1, "third": 1}, most=0)


def test_two_ledgers_of_one_process_take_turns(where):
    with Ledger(where) as first, Ledger(where) as second:
        for step in range(0, 60, 3):
            first.record(signal(step), run="run", step=step)
            second.record(signal(step + 1), run="run", step=step + 1)
            first.record(signal(step + 2), run="run", step=step + 2)
        if isinstance(where, os.PathLike):  # a server hands out numbers in thousands
            assert [record.step for record in second.history()] == list(range(60))
        assert sorted(record.step for record in first.history()) == list(range(60))
        assert len({record.id for record in first.history()}) == 60
        verified(first)


def test_threads_share_a_ledger(where, counted):
    failed = []

    def work(ledger, me):
        try:
            for step in range(0, 20, 4):
                ledger.record(signal(step), run=f"thread {me}", step=step, key=f"{me}/{step}")
                ledger.record_batch(
                    REWARD, columns(step + 1, step + 4), run=f"thread {me}", step=range(step + 1, step + 4)
                )
                assert ledger[f"{me}/{step}"].step == step
        except BaseException as error:
            failed.append(error)

    with Ledger(where) as ledger:
        threads = [threading.Thread(target=work, args=(ledger, me)) for me in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
    check_kept(where, {f"thread {me}": 20 for me in range(6)}, most=0)
    counted("threads on one ledger", threads=6, acknowledged=120, lost=0)


def test_a_buffered_writer_is_shared_by_threads(where):
    with Ledger(where) as ledger, ledger.writer(max_records=7, max_delay=0.001) as writer:
        receipts = {}

        def work(me):
            receipts[me] = [writer.record(signal(step), run=f"thread {me}", step=step) for step in range(100)]
            writer.flush()
            assert all(receipt.durable for receipt in receipts[me])

        threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for mine in receipts.values():
            assert [ledger[receipt.id].step for receipt in mine[::10]] == list(range(0, 100, 10))
    check_kept(where, {f"thread {me}": 100 for me in range(4)}, most=0)


def test_a_forked_process_and_its_parent_both_record(where, counted):
    found = run("fork", where)
    check_kept(where, found["acknowledged"], most=0)
    counted("records around forks", acknowledged=sum(found["acknowledged"].values()), lost=0)


def test_ctrl_c_at_any_moment_leaves_a_ledger_that_goes_on(where, counted):
    found = run("interrupt", where, 40)
    check_kept(where, {"run": found["acknowledged"]})
    counted("interruptions (Ctrl-C)", times=found["interrupted"], acknowledged=found["acknowledged"], lost=0)
    assert found["interrupted"] >= 38, "Ctrl-C is swallowed"  # Python itself ignores one in a destructor
