"""`prove` on the built-in rewards: planted slips refuted, rewrites proved, each against its budget.

Budgets: a flipped sign, `<` for `<=` and a missing zone refuted within 100 ms; a restructured roadsense proved
within 1 s.
"""

from collections.abc import Callable
from typing import Any

from rewrites import rewritten, strict, without_a_zone
from timing import measure, table

from plaudit import Proof, Reward, prove
from plaudit.systems import BUILT_IN, load

REFUTE_SECONDS, PROVE_SECONDS = 0.1, 1.0


def main() -> None:
    prove(load("roadsense"), rewritten)  # z3 is loaded
    rows: list[tuple[str, ...]] = [("reward", "what", "verdict", "time", "of its budget")]
    for name in BUILT_IN:
        reward = load(name)
        times = [timed(reward, flipped(reward, term.name)) for term in reward.terms]
        proof, seconds = max(times, key=lambda each: each[1])
        rows.append(row(f"{name}", f"a sign flipped, slowest of {len(times)}", proof, seconds, REFUTE_SECONDS))
    roadsense = load("roadsense")
    for what, other, budget in (
        ("`<` for `<=`", strict, REFUTE_SECONDS),
        ("a zone is missing", without_a_zone, REFUTE_SECONDS),
        ("restructured", rewritten, PROVE_SECONDS),
    ):
        rows.append(row("roadsense", what, *timed(roadsense, other), budget))
    table(rows)


def flipped(reward: Reward, term: str) -> Reward:
    weight = next(each.weight for each in reward.terms if each.name == term)
    return reward.with_weights(**{term: -weight})


def timed(left: Reward, right: Reward | Callable[..., Any]) -> tuple[Proof, float]:
    """Return a proof and the shortest time of a few."""
    return measure(lambda: prove(left, right), rounds=5)


def row(name: str, what: str, proof: Proof, seconds: float, budget: float) -> tuple[str, ...]:
    return name, what, proof.verdict, f"{seconds * 1000:.0f} ms", f"{seconds / budget:.2f}x"


if __name__ == "__main__":
    main()
