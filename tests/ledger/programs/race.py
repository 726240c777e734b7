"""Several processes that record the same keys at the same time, one by one and in groups of changing order.

race.py LEDGER WRITERS KEYS
"""

import json
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Entry, Ledger
from support.ledgers import signal


def entry(n):
    """Return what is recorded under a key."""
    return Entry(signal=signal(n), key=f"key {n}", run="race", step=n)


def write(where, me, keys, start):
    """Record every key, in an order of its own; return the numbers that it was told."""
    order = list(range(keys))
    random.Random(me).shuffle(order)
    told = {}
    with Ledger(where) as ledger:
        time.sleep(max(0, start - time.time()))
        while order:
            size = len(order) % 4 + 1
            part, order = order[:size], order[size:]
            numbers = ledger.record_many(entry(n) for n in part)
            told |= {f"key {n}": number for n, number in zip(part, numbers, strict=True)}
    return told


if __name__ == "__main__":
    where, writers, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    Ledger(where).close()
    start = time.time() + 0.3
    ears = []
    for me in range(writers):
        ear, mouth = os.pipe()
        if not os.fork():
            os.write(mouth, json.dumps(write(where, me, keys, start)).encode())
            os._exit(0)
        os.close(mouth)
        ears.append(ear)
    told = [json.loads(os.fdopen(ear).read() or "null") for ear in ears]
    assert all(each == told[0] for each in told), f"writers were told different numbers: {told}"
    print(json.dumps({"numbers": told[0]}))
