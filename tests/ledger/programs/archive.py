"""Records, archives to a lake and says so, again and again, until it is killed.

    archive.py LEDGER LAKE RUN

After each archiving it prints how many records of its run are durable.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from support.lakes import columns
from support.samples import following

EACH = 60


def main(path, lake, run):
    """Record until killed; every step goes to the lake soon."""
    with Ledger(path) as ledger:
        print(0, flush=True)
        step = 0
        while True:
            for part in range(3):
                ledger.record_batch(following, columns(EACH), run=f"{run}.{part}", step=range(EACH))
            step += 1
            print(step, flush=True)
            ledger.archive(lake)
            if step % 3 == 0:
                ledger.compact()


if __name__ == "__main__":
    main(*sys.argv[1:])
