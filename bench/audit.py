"""An audit of recorded steps, against reading the same records in the same run.

`python bench/audit.py [steps]`. Episodes have 1,000 steps, of one environment and of 64 that take turns. Reading is
what any analysis has to do first: every block, the episode and the step of each record, its inputs and its outputs as
arrays. Arrow batches, which hold all of that and the contexts, are timed once beside it.
"""

import resource
import tempfile
from importlib.util import find_spec
from pathlib import Path

from episodes import ENVS, LENGTH, record
from timing import compare, measure, size, table

from plaudit import Ledger
from plaudit.analysis import audit
from plaudit.ledger.summary.returns import read_steps
from plaudit.systems import roadsense


def main(steps: int) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        for what, envs in (("one environment", 1), (f"{ENVS} environments at once", ENVS)):
            count = steps if envs == 1 else steps // 10
            with Ledger(Path(folder) / f"{envs}.db") as ledger:
                record(ledger, count, envs)
                print(f"{count:,} steps in episodes of {LENGTH:,}, {what}")
                run(ledger, count)


def read(ledger: Ledger) -> float:
    """Read every record as arrays; the sum is so that each of them is touched."""
    found = 0.0
    for page in ledger.history().pages():
        read_steps(page.row)
        found += page.inputs.sum() + page.outputs.sum()
    return found


def run(ledger: Ledger, steps: int) -> None:
    contenders = {"read": lambda: read(ledger), "audit": lambda: audit(ledger, roadsense.reward)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    audit(ledger, roadsense.reward)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    best = compare(contenders, calls=1, rounds=3).best
    if find_spec("pyarrow"):
        _, best["arrow"] = measure(lambda: sum(batch.num_rows for batch in ledger.history().arrow()))
    rows: list[tuple[str, ...]] = [("what", "s", "steps/s", "against reading")]
    names = {"read": "reading", "audit": "audit", "arrow": "Arrow batches"}
    for name, seconds in best.items():
        rows.append((names[name], f"{seconds:.3f}", f"{steps / seconds:,.0f}", f"{seconds / best['read']:.2f}x"))
    table(rows)
    print(f"peak memory of the audit: {grown:,.0f} MiB more than before\n")


if __name__ == "__main__":
    main(size(10_000_000, quick=2_000))
