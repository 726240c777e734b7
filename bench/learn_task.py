"""What is learnt from steps of small worlds whose truth is known: statements found, missed and false.

`python bench/learn_task.py [seeds]`. 10,000 steps of each world are played by idle, constant, random and smooth
policies. A statement that must be found and is not is missed; one that is not true of the world is false. The last
rows are worlds that were written after the rules of learning were settled.
"""

import sys
import time
from pathlib import Path

from timing import QUICK, size, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from plaudit.analysis.observe.learn import learn_task
from support.simulated_worlds import HELD_BACK, SIMULATORS
from support.simulators import Simulator, play, score

STEPS = 2_000 if QUICK else 10_000


def count(simulator: Simulator, seeds: int) -> tuple[int, list[str], list[str], float]:
    """Return over all seeds how many statements were found, which were missed or false, and the slowest learning."""
    found, missed, false, slowest = 0, [], [], 0.0
    for seed in range(seeds):
        transitions = play(simulator, seed, STEPS)
        begun = time.perf_counter()
        task = learn_task(transitions, name="learnt")
        slowest = max(slowest, time.perf_counter() - begun)
        result = score(simulator, task)
        found, missed, false = found + len(result.hits), [*missed, *result.misses], [*false, *result.false]
    return found, missed, false, slowest


def main(seeds: int) -> None:
    rows: list[tuple[str, ...]] = [("world", "found", "missed", "false", "which", "learning")]
    totals = [0, 0, 0]
    for simulator in (*SIMULATORS, *HELD_BACK):
        found, missed, false, slowest = count(simulator, seeds)
        which = ", ".join(dict.fromkeys((*missed, *(each.partition("=")[0] for each in false))))
        counts = (found, len(missed), len(false))
        totals = [total + each for total, each in zip(totals, counts, strict=True)]
        rows.append((simulator.name, *map(str, counts), which, f"{1000 * slowest:.0f} ms"))
    rows.append(("all", *map(str, totals), "", ""))
    table(rows)
    print(f"{seeds} seeds, {STEPS:,} steps each")


if __name__ == "__main__":
    main(size(10, quick=1))
