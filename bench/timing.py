"""Timing two ways of doing the same thing against each other, in turns, so that both meet the same machine.

Every script takes `--quick`: it then runs at a size of seconds, to see that it works and not to measure.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

QUICK = "--quick" in sys.argv[1:]
Found = TypeVar("Found")


def size(full: int, quick: int) -> int:
    """Return the number that was given on the command line; else `full`, or `quick` with `--quick`."""
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    return int(given[0]) if given else quick if QUICK else full


@dataclass(frozen=True)
class Result:
    """The best time of each contender, in seconds a call."""

    best: dict[str, float]

    def ratio(self, name: str, peer: str) -> float:
        """Return how many times as fast `name` is as `peer`."""
        return self.best[peer] / self.best[name]


def compare(contenders: dict[str, Callable[[], object]], *, calls: int, rounds: int) -> Result:
    """Return the best time of each contender over `rounds`, taken in turns.

    Many short rounds find a quiet moment for each on a busy machine, where a few long ones would not.
    """
    best = dict.fromkeys(contenders, float("inf"))
    if QUICK:
        calls, rounds = 1, 1
    else:
        for contender in contenders.values():
            contender()  # first calls compile, allocate and warm caches
    for _ in range(rounds):
        for name, contender in contenders.items():
            start = time.perf_counter()
            for _ in range(calls):
                contender()
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    return Result(best)


def measure(work: Callable[[], Found], *, rounds: int = 1) -> tuple[Found, float]:
    """Return what `work` returned last, and the seconds of its fastest call."""
    best = float("inf")
    for _ in range(1 if QUICK else rounds):
        start = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - start)
    return found, best


def table(rows: list[tuple[str, ...]]) -> None:
    """Print rows as columns; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for at, row in enumerate(rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells))
        if at == 0:
            print("  ".join("-" * width for width in widths))
