"""Kills re-scorings and imports at a random moment and starts them again until they are done.

kill_jobs.py FOLDER ROUNDS RECORDS SEED (rescore | import)
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from plaudit.ledger.exchange import imports
from plaudit.ledger.rescore import rescore
from support.ledgers import REWARD, columns, verified

BLOCK = 5
OTHER = REWARD.with_params(comfort={"harsh": 5.0}).with_version("killed")


def source(path, records):
    """Write the ledger that is re-scored or exported: many small blocks, in two runs."""
    with Ledger(path) as ledger:
        for start in range(0, records, BLOCK):
            steps = range(start, start + BLOCK)
            ledger.record_batch(
                REWARD, columns(start, start + BLOCK), run=f"run {start % 2}", step=steps, episode=start
            )


def until_killed(work, wait):
    """Do `work` in a forked process and kill it after `wait` seconds; return whether it was done before."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    end = time.monotonic() + wait
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            assert status == 0, "the work failed; see above"
            return True
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status == 0


def content(ledger, job):
    """Return what a re-scoring wrote, by the record it came from."""
    return [(r.origin, r.run, r.episode, r.step, r.at, r.signal.to_dict()) for r in ledger.history(job=job)]


def kill_rescore(folder, rounds, records, draw):
    """Re-score copies of a ledger, killed and picked up until done, and compare each with one left in peace."""
    rescore._BATCH = 40
    source(folder / "source.db", records)
    for name in ("first.db", "peace.db"):  # the first one compiles what a forked process need not
        shutil.copy(folder / "source.db", folder / name)
        with Ledger(folder / name) as ledger:
            begun = time.monotonic()
            expected = ledger.rescore(OTHER, run="run 1")
            took = time.monotonic() - begun
            wanted = content(ledger, expected.job)
    kills = 0
    for number in range(rounds):
        path = folder / f"killed {number}.db"
        shutil.copy(folder / "source.db", path)

        def work(path=path):
            with Ledger(path) as ledger:
                ledger.rescore(OTHER, run="run 1")

        tries = 0
        while not until_killed(work, draw.random() * took * (0.1 + tries / 4)):  # a busy machine takes longer
            tries += 1
        kills += tries
        with Ledger(path) as ledger:
            again = ledger.rescore(OTHER, run="run 1")
            assert again.scored == 0, f"{again.scored} records were scored twice"
            assert again.records == expected.records
            assert again.changes.to_dict() == expected.changes.to_dict()
            found = content(ledger, again.job)
            assert [row[0] for row in found] == sorted({row[0] for row in found}), "scored twice, or out of order"
            assert found == wanted, "not what a re-scoring in peace writes"
            assert ledger.history().count() == records, "the old records changed"
            verified(ledger)
        path.unlink()
    return {"kills": kills, "records": len(wanted) * rounds}


def kill_import(folder, rounds, records, draw):
    """Import a file, killed and begun again until done: all of it is there, or nothing."""
    imports._BATCH = 100
    source(folder / "source.db", records)
    with Ledger(folder / "source.db") as ledger:
        ledger.export(folder / "records.jsonl")
        wanted = [(r.run, r.episode, r.step, r.at, r.signal.to_dict()) for r in ledger.history()]
    for name in ("first.db", "peace.db"):  # the first one compiles what a forked process need not
        begun = time.monotonic()
        with Ledger(folder / name) as ledger:
            ledger.import_file(folder / "records.jsonl")
        took = time.monotonic() - begun
    kills = 0
    for number in range(rounds):
        path = folder / f"killed {number}.db"

        def work(path=path):
            with Ledger(path) as ledger:
                ledger.import_file(folder / "records.jsonl")

        done, tries = False, 0
        while not done:
            done = until_killed(work, draw.random() * took * (0.1 + tries / 4))  # the first one is early
            tries += 1
            kills += not done
            with Ledger(path) as ledger:
                count = ledger.history().count()
                assert count in (0, records), f"{count} of {records} records are there"
                assert not done or count == records
        with Ledger(path) as ledger:
            assert ledger.import_file(folder / "records.jsonl") == 0
            assert [(r.run, r.episode, r.step, r.at, r.signal.to_dict()) for r in ledger.history()] == wanted
            verified(ledger)
        path.unlink()
    return {"kills": kills, "records": records * rounds}


if __name__ == "__main__":
    folder, rounds, records, seed, job = sys.argv[1:]
    kill = {"rescore": kill_rescore, "import": kill_import}[job]
    print(json.dumps(kill(Path(folder), int(rounds), int(records), random.Random(int(seed)))))
