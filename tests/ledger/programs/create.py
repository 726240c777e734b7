"""Processes that make one ledger: several at the same moment, or one after the other, each killed while it does.

create.py LEDGER race WRITERS | create.py FOLDER kill KILLS
"""

import json
import os
import random
import signal as signals
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from plaudit.ledger.storage.schema import metadata
from support.ledgers import signal, verified


def fork(work):
    """Run `work` in a process of its own; return the process and where what it says can be read."""
    ear, mouth = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(mouth, str(said).encode())
        os._exit(0)
    os.close(mouth)
    return child, os.fdopen(ear)


def open_and_record(where, start, step):
    """Open a ledger that others open too, and record in it."""
    time.sleep(max(0.0, start - time.time()))
    with Ledger(where) as ledger:
        ledger.record(signal(step), run=f"writer {step}", step=step)
    return "recorded"


def race(where, writers):
    """Let all writers begin at the same moment; return what they said and what is there."""
    start = time.time() + 0.3
    children = [fork(lambda step=step: open_and_record(where, start, step)) for step in range(writers)]
    said = [ear.read() for _, ear in children]
    for child, _ in children:
        os.waitpid(child, 0)
    with Ledger(where) as ledger:
        verified(ledger)
        return {"said": said, "steps": sorted(record.step for record in ledger.history())}


def kill(folder, kills, draw):
    """Kill processes that make a ledger, and use what they left; return how many of them had made no table yet."""
    unfinished = 0
    for life in range(kills):
        path = folder / f"{life}.db"
        child, ear = fork(lambda path=path: Ledger(path) and time.sleep(600))
        while not path.exists():
            time.sleep(0.0005)
        time.sleep(draw.random() * 0.05)
        os.kill(child, signals.SIGKILL)
        os.waitpid(child, 0)
        assert ear.read() == ""
        with closing(sqlite3.connect(path)) as left:
            tables = left.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]
        assert tables in (0, len(metadata.tables)), "some tables, and not all"
        unfinished += tables == 0
        with Ledger(path) as ledger:
            ledger.record(signal(life), step=life)
            verified(ledger)
    return {"kills": kills, "unfinished": unfinished}


if __name__ == "__main__":
    where, mode, count = sys.argv[1:]
    with tempfile.TemporaryDirectory() as warm:  # what every first ledger of a process costs
        Ledger(Path(warm, "ledger.db")).close()
    print(json.dumps(race(where, int(count)) if mode == "race" else kill(Path(where), int(count), random.Random(7))))
