"""`plaudit check` of the four built-in rewards with every rule, with and without z3; reader and intervals alone.

Budgets: all four in under 5 s in one process, z3 included; reader and interval bounds under 10 ms a reward.
"""

import time
from collections.abc import Callable

from timing import QUICK, compare, table

from plaudit import Report, Reward, check
from plaudit.language.intervals import bound_nodes
from plaudit.systems import BUILT_IN, load

ALL_SECONDS, READ_SECONDS = 5.0, 0.010
ROUNDS = 1 if QUICK else 3
PARTS = ("name", "version", "terms", "action", "low", "high", "doc", "facts", "discount", "prefer", "allow")


def main() -> None:
    rewards = {name: load(name) for name in BUILT_IN}
    checks(rewards)
    print()
    readings(rewards)


def checks(rewards: dict[str, Reward]) -> None:
    first, best = 0.0, dict.fromkeys(("with", "without"), 0.0)
    rows: list[tuple[str, ...]] = [
        ("check", "warnings", "advice", "undecided", "time", "undecided without z3", "time without z3")
    ]
    for name, reward in rewards.items():
        report, times = timed(lambda reward=reward: check(reward))
        bare, bare_times = timed(lambda reward=reward: check(reward, z3=False))
        first += times[0]
        best["with"] += min(times)
        best["without"] += min(bare_times)
        rows.append((name, *counts(report), ms(min(times)), str(len(bare.undecided)), ms(min(bare_times))))
    rows.append(("all four", "", "", "", ms(best["with"]), "", ms(best["without"])))
    table(rows)
    print(f"all four: {best['with'] / ALL_SECONDS:.2f}x the budget of {ALL_SECONDS:g} s, ", end="")
    print(f"{first / ALL_SECONDS:.2f}x the first time, when z3 is loaded")


def counts(report: Report) -> tuple[str, str, str]:
    warnings = len(report.at_least("warning"))
    return str(warnings), str(len(report) - warnings), str(len(report.undecided))


def timed(work: Callable[[], Report]) -> tuple[Report, list[float]]:
    """Return a report, and how long each of a few calls took."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        report = work()
        times.append(time.perf_counter() - start)
    return report, times


def readings(rewards: dict[str, Reward]) -> None:
    rows: list[tuple[str, ...]] = [("reader and interval bounds", "nodes", "read", "bounds", "of the budget")]
    for name, reward in rewards.items():
        made = {
            "read": lambda reward=reward: reread(reward),
            "bounds": lambda reward=reward: bound_nodes(reward.program),
        }
        best = compare(made, calls=1, rounds=20).best
        share = (best["read"] + best["bounds"]) / READ_SECONDS
        rows.append((name, str(len(reward.program.nodes)), ms(best["read"]), ms(best["bounds"]), f"{share:.2f}x"))
    table(rows)


def reread(reward: Reward) -> object:
    """Read every term of a reward again, from its syntax tree to one Program."""
    parts = {part: getattr(reward, part) for part in PARTS}
    return Reward(**parts, fields=reward.fields.values(), shared=reward.shared).program


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    main()
