"""Worlds of random fields in which nothing holds, so that whatever is found there is false."""

import numpy as np

from support.simulators import Simulator

KINDS = ("slow", "noise", "flag", "sticky", "latch", "category", "integer", "count", "drift", "heavy")
FIRST = {"flag": False, "sticky": False, "latch": False, "category": "a", "integer": 0, "count": 5}


def make_structureless(seed: int) -> Simulator:
    """Return a world of random fields of all kinds, perhaps correlated, in which nothing holds but the step limit."""
    made = np.random.default_rng(seed)
    kinds = dict(enumerate(made.choice(KINDS, made.integers(3, 9)).tolist()))
    shares = made.uniform(0.05, 0.6, len(kinds))
    common = made.normal(size=len(kinds)) * (made.random(len(kinds)) < 0.4)
    ends, limit = float(made.choice([0, 0.005, 0.03])), int(made.choice([100, 600]))

    def step(row, action, rng):
        shared = rng.normal()
        noise = [float(rng.normal() + weight * shared) for weight in common]
        after = {f"f{at}": _draw(kind, row[f"f{at}"], noise[at], shares[at], action, rng) for at, kind in kinds.items()}
        return after, bool(rng.random() < ends)

    return Simulator(
        f"structureless {seed}", lambda rng: {f"f{at}": FIRST.get(kind, 0.0) for at, kind in kinds.items()}, step,
        actions=int(made.integers(2, 5)) if made.random() < 0.5 else None, limit=limit,
        may={"horizon": limit, "ends.timeout": None, **{f"events.f{at}": None for at, kind in kinds.items() if kind == "flag"}},
    )  # fmt: skip


def _draw(kind, value, noise, share, action, rng):
    """Return what a field is after a step that it was `value` before."""
    match kind:
        case "slow":
            return (1 - 0.5 * share) * value + noise + 0.3 * action
        case "noise":
            return noise
        case "flag":
            return bool(rng.random() < share)
        case "sticky":
            return value != bool(rng.random() < 0.2 * share)
        case "latch":
            return value or bool(rng.random() < 0.02 * share)
        case "category":
            return str(rng.choice(["a", "b", "c"])) if rng.random() < share else value
        case "integer":
            return int(rng.integers(4))
        case "count":
            return int(value + rng.poisson(2) - rng.poisson(2))
        case "drift":
            return value + 0.5 + noise
    return 0.9 * value + float(rng.standard_t(2))
