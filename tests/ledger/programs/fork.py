"""Forks with a ledger open, in every order of closing; everyone who records says how much is durable.

fork.py LEDGER
"""

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from plaudit.errors import LedgerError
from support.ledgers import signal, verified

acknowledged = {}


def record(ledger, run, count):
    """Record some steps of a run, going on where it is."""
    for _ in range(count):
        step = acknowledged.get(run, 0)
        ledger.record(signal(step), run=run, step=step)
        acknowledged[run] = step + 1


def in_child(work):
    """Do work in a forked process; return how to let it go on, and how to wait for it."""
    go, start = os.pipe()
    said, mouth = os.pipe()
    child = os.fork()
    if not child:
        os.close(start)
        try:
            work(lambda: os.read(go, 1))
            os.write(mouth, b"fine")
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(go)
    os.close(mouth)

    def wait():
        os.close(start)
        answer = os.read(said, 10)
        os.waitpid(child, 0)
        assert answer == b"fine", "the child failed; see above"

    return lambda: os.write(start, b"."), wait


def child_outlives_parent_s_ledger(where):
    """The parent closes while the child goes on, and somebody else comes and goes."""
    ledger = Ledger(where)
    record(ledger, "a", 3)

    def work(turn):
        record(ledger, "b", 3)
        turn()
        record(ledger, "b", 10)
        ledger.close()

    go, wait = in_child(work)
    record(ledger, "a", 3)
    ledger.close()
    with Ledger(where) as other:
        record(other, "c", 3)
    go()
    wait()
    acknowledged["b"] = 13


def parent_outlives_child(where):
    """The child closes, or just ends, while the parent goes on."""
    ledger = Ledger(where)
    record(ledger, "d", 3)
    _, wait = in_child(lambda turn: (list(ledger.history()), verified(ledger), ledger.close()))  # which only reads
    wait()
    for run, closing in (("e", True), ("f", False)):

        def work(turn, run=run, closing=closing):
            record(ledger, run, 5)
            if closing:
                ledger.close()

        _, wait = in_child(work)
        wait()
        acknowledged[run] = 5
        with Ledger(where) as other:
            record(other, "g", 2)
        record(ledger, "d", 3)
    ledger.close()


def a_fork_while_threads_write(where):
    """Forks in the middle of other threads' writes."""
    ledger = Ledger(where)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            record(ledger, "h", 1)
            time.sleep(0.002)

    thread = threading.Thread(target=busy)
    thread.start()
    for number in range(5):

        def work(turn, number=number):
            record(ledger, f"i{number}", 3)
            assert ledger.history(run=f"i{number}").count() == 3

        _, wait = in_child(work)
        wait()
        acknowledged[f"i{number}"] = 3
    stop.set()
    thread.join()
    ledger.close()


def a_buffered_writer_in_a_child(where):
    """What waits is written once, by the parent; the child's own records are the child's."""
    ledger = Ledger(where)
    with ledger.writer(max_delay=5) as writer:
        receipts = [writer.record(signal(step), run="j", step=step) for step in range(5)]

        def work(turn):
            try:
                receipts[0].wait(300)
            except LedgerError:
                pass
            else:
                raise AssertionError("the child took what waits in the parent for its own")
            writer.flush()
            writer.record(signal(0), run="k", step=0)
            writer.close()

        _, wait = in_child(work)
        wait()
    assert all(receipt.durable for receipt in receipts)
    acknowledged.update(j=5, k=1)
    ledger.close()


if __name__ == "__main__":
    child_outlives_parent_s_ledger(sys.argv[1])
    parent_outlives_child(sys.argv[1])
    a_fork_while_threads_write(sys.argv[1])
    a_buffered_writer_in_a_child(sys.argv[1])
    print(json.dumps({"acknowledged": acknowledged}))
