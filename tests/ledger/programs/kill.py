"""Starts writers of a ledger and kills them after a random moment, again and again; says what they acknowledged.

    kill.py LEDGER KILLS MODE SEED

Writers are forked from this process, which has imported everything and opened nothing. Each acknowledges on a pipe.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Entry, Ledger
from plaudit.ledger.storage import batch as batches
from plaudit.ledger.storage import moving
from support.ledgers import REWARD, check_kept, columns
from support.ledgers import signal as made

BATCH = 50


def single(ledger, run, say):
    """Record one by one, acknowledging each."""
    step = 0
    while True:
        ledger.record(made(step), run=run, step=step)
        step += 1
        say(step)


def keyed(ledger, run, say):
    """Record one by one with keys, each of them twice."""
    step = 0
    while True:
        ledger.record(made(step), run=run, step=step, key=f"{run}/{step}")
        if step:
            ledger.record(made(step - 1), run=run, step=step - 1, key=f"{run}/{step - 1}")
        step += 1
        say(step)


def many(ledger, run, say):
    """Record groups of signals of changing size, every other one with a key."""
    step, size = 0, 1
    while True:
        steps = range(step, step + size)
        ledger.record_many(Entry(signal=made(n), run=run, step=n, key=None if n % 2 else f"{run}/{n}") for n in steps)
        step, size = step + size, size % BATCH + 1
        say(step)


def batch(ledger, run, say):
    """Record batches."""
    step = 0
    while True:
        ledger.record_batch(REWARD, columns(step, step + BATCH), run=run, step=range(step, step + BATCH))
        step += BATCH
        say(step)


def buffered(ledger, run, say):
    """Record through a buffered writer, acknowledging what its receipts call durable."""
    step = 0
    waiting = deque()
    with ledger.writer(max_records=40, max_delay=0.002) as writer:
        while True:
            waiting.append((step, writer.record(made(step), run=run, step=step)))
            step += 1
            while waiting and waiting[0][1].durable:
                done, _ = waiting.popleft()
                say(done + 1)


def checkpoints(ledger, run, say):
    """Record one by one, moving the log into the file after every few."""
    step = 0
    while True:
        ledger.record(made(step), run=run, step=step)
        step += 1
        say(step)
        if step % 3 == 0:
            ledger._store.backend.checkpoint()


def segments(ledger, run, say):
    """Record batches in Parquet files, and join these now and then."""
    for module in (batches, moving):
        module.FEWEST = 10
    step = 0
    while True:
        ledger.record_batch(REWARD, columns(step, step + BATCH), run=run, step=range(step, step + BATCH))
        step += BATCH
        say(step)
        if step % (4 * BATCH + 1) == 4 * BATCH:
            ledger.record(made(step), run=run, step=step)
            step += 1
            say(step)
            ledger.compact()


MODES = {
    # How far a ledger may be ahead of what was acknowledged: what was under way when the writer was killed.
    "single": (single, 1),
    "keyed": (keyed, 1),
    "many": (many, BATCH),
    "batch": (batch, BATCH),
    "buffered": (buffered, None),
    "checkpoints": (checkpoints, 1),
    "segments": (segments, BATCH),
}


def warm_up():
    """Do once what every writer does first, and close it: forked writers then lose no time."""
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        ledger.record(made(0), run="warm", step=0, key="warm")
        ledger.record_batch(REWARD, columns(1, 3), run="warm", step=[1, 2])
        check_kept(ledger._store.backend.path, {})


def live(path, run, work, mouth):
    """Write until killed."""
    try:
        ledger = Ledger(path)
        os.write(mouth, b"0\n")
        work(ledger, run, lambda step: os.write(mouth, b"%d\n" % step))
    except BaseException as error:
        os.write(mouth, f"{type(error).__name__}: {error}\n".encode())
    os._exit(1)


def one_life(path, run, work, draw):
    """Return how many steps a writer acknowledged before it was killed; None if that was before it had opened."""
    ears, mouth = os.pipe()
    child = os.fork()
    if not child:
        os.close(ears)
        live(path, run, work, mouth)
    os.close(mouth)
    with os.fdopen(ears) as said:
        # Before it has opened the ledger, or from then on, or when it has acknowledged something: slow machines do too.
        told = [said.readline() for _ in range(draw.choice((0, 1, 1, 2, 2)))]
        assert told[:1] in ([], ["0\n"]), told
        time.sleep(draw.random() * 0.04)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        told += [line for line in said if line.endswith("\n")]
    assert not told or told[-1].strip().isdigit(), told[-1]
    return int(told[-1]) if told else 0


def main(path, kills, mode, seed):
    """Kill writers, and check now and then and at the end."""
    warm_up()
    draw = random.Random(int(seed))
    work, most = MODES[mode]
    acknowledged = {}
    for life in range(int(kills)):
        run = f"life {life}"
        acknowledged[run] = one_life(path, run, work, draw)
        if life == 20:
            check_kept(path, acknowledged, most=most)
    begun = time.monotonic()
    with Ledger(path):
        recovery = time.monotonic() - begun
    found = check_kept(path, acknowledged, most=most)
    total = sum(acknowledged.values())
    print(json.dumps({"kills": int(kills), "acknowledged": total, "found": found, "recovery": recovery}))


if __name__ == "__main__":
    main(*sys.argv[1:])
