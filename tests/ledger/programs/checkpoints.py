"""Several processes that write and move the log into the file after every few records.

checkpoints.py LEDGER WRITERS RECORDS
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from support.ledgers import signal


def write(path, me, records):
    """Record, with a checkpoint after every third."""
    with Ledger(path) as ledger:
        for step in range(records):
            ledger.record(signal(step), run=f"writer {me}", step=step)
            if (step + me) % 3 == 0:
                ledger._store.backend.checkpoint()


if __name__ == "__main__":
    path, writers, records = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    Ledger(path).close()
    children = []
    for me in range(writers):
        child = os.fork()
        if not child:
            write(path, me, records)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * writers, "a writer failed; see above"
    print(json.dumps({"checkpoints": writers * records // 3}))
