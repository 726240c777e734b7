"""Many writers of a ledger on a PostgreSQL server, against plain inserts of one row on the same server.

`python bench/writers.py [writers]`. The server is started here, in a temporary folder on the disk, and syncs every
commit. Each writer is a process; all of them write for a few seconds, in turns with those that they are compared with.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from timing import QUICK, size, table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from plaudit import Ledger
from plaudit.systems import roadsense
from support.postgres import NoServer, Server

SECONDS = 1.0 if QUICK else 8.0
ROUNDS = 1 if QUICK else 3
MAX_DELAY = 0.01
_PLAIN = "INSERT INTO plain (at, run, step, reward, inputs, outputs) VALUES (%s, %s, %s, %s, %s, %s)"

Work = Callable[[str, int, Callable[[], bool]], Any]
"""What a writer does, given the address, its number and whether there is still time; returns what it found."""


def insert_rows(url: str, me: int, goes_on: Callable[[], bool]) -> int:
    one = roadsense.reward.score(distance=30.0, deceleration=1.0, action=0)
    done = 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = on")
        while goes_on():
            row = (time.time_ns() // 1000, f"m{me}", done, one.fingerprint, bytes(24), bytes(56))
            connection.execute(_PLAIN, row)
            done += 1
    return done


def record(url: str, me: int, goes_on: Callable[[], bool]) -> int:
    done = 0
    with open_warm(url, me) as ledger:
        while goes_on():
            signal = roadsense.reward.score(distance=30.0, deceleration=1.0, action=0)
            ledger.record(signal, run=f"m{me}", step=done)
            done += 1
    return done


def group(url: str, me: int, goes_on: Callable[[], bool], pause: float) -> list[float]:
    """Record one after the other through a writer that groups, with a pause; return how long each took, in seconds."""
    waits: list[float] = []
    with open_warm(url, me) as ledger, ledger.writer(max_delay=MAX_DELAY) as writer:
        time.sleep(pause * me / 100)
        while goes_on():
            signal = roadsense.reward.score(distance=30.0, deceleration=1.0, action=0)
            start = time.perf_counter()
            receipt = writer.record(signal, run=f"m{me}", step=len(waits))
            receipt.wait()
            waits.append(time.perf_counter() - start)
            time.sleep(max(0.0, pause - waits[-1]))
    return waits


@contextmanager
def open_warm(url: str, me: int) -> Iterator[Ledger]:
    with Ledger(url, timeout=120) as ledger:
        ledger.record(roadsense.reward.score(distance=30.0, deceleration=1.0, action=0), run=f"m{me}")
        yield ledger


def run(url: str, writers: int, work: Work) -> list[Any]:
    """Return what each of some processes found that do the same at the same time."""
    start = time.time() + (0.5 if QUICK else 3 + writers / 25)

    def goes_on() -> bool:
        if (left := start - time.time()) > 0:  # the first question is asked when everything is open
            time.sleep(left)
        return time.time() < start + SECONDS

    ears = []
    for me in range(writers):
        ear, mouth = os.pipe()
        if not os.fork():
            os.write(mouth, json.dumps(work(url, me, goes_on)).encode())
            os._exit(0)
        os.close(mouth)
        ears.append(ear)
    found = [json.loads(os.fdopen(ear).read()) for ear in ears]
    for _ in ears:
        os.wait()
    return found


def main(writers: int) -> None:
    try:
        server = Server(connections=4 * writers + 20, on_disk=True)
    except NoServer as missing:
        print(f"0 writers: {missing}")
        return
    server.start()
    try:
        url = server.new_database()
        Ledger(url).close()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE plain (id bigserial PRIMARY KEY, at bigint, run text, step bigint, reward text, "
                "inputs bytea, outputs bytea)"
            )
        for count in dict.fromkeys((1, min(10, writers), writers)):
            rates(url, count)
        for count, pause in dict.fromkeys([(1, 0.0), (min(10, writers), 0.05), (writers, 0.5)]):
            waits(url, count, pause)
        with Ledger(url) as ledger:
            result = ledger.verify()
            assert result.ok, str(result)
            print(f"verify: {result.records:,} records of {result.writers:,} writers, no problems")
    finally:
        server.stop()


def rates(url: str, writers: int) -> None:
    """Print how many durable records a second writers write together."""
    contenders: dict[str, Work] = {"plain inserts of one row": insert_rows, "Ledger.record": record}
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            best[name] = max(best[name], sum(run(url, writers, work)) / SECONDS)
    peer = next(iter(best.values()))
    print(f"Durable records, {writers} writers at once")
    rows: list[tuple[str, ...]] = [("what", "records/s", "against the first")]
    table(rows + [(name, f"{rate:,.0f}", f"{rate / peer:.2f}x") for name, rate in best.items()])
    print()


def waits(url: str, writers: int, pause: float) -> None:
    """Print how long a grouped record takes to be durable, as a multiple of `max_delay`."""
    found = np.concatenate(run(url, writers, lambda url, me, goes_on: group(url, me, goes_on, pause)))
    about = "one after the other" if pause == 0 else f"one every {pause:g} s each"
    print(f"Grouped records, max_delay {1e3 * MAX_DELAY:g} ms, {writers} writers at once, {about}: {len(found):,}")
    rows: list[tuple[str, ...]] = [("what", "ms", "against max_delay")]
    for name, at in (("median", 50), ("p99", 99)):
        value = float(np.percentile(found, at))
        rows.append((name, f"{1e3 * value:,.1f}", f"{value / MAX_DELAY:.2f}x"))
    table(rows)
    print()


if __name__ == "__main__":
    assert threading.active_count() == 1, "processes are forked"
    main(size(100, quick=2))
