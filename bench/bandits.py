"""Bandits with 4 actions and 8 features: how long a decision and its reward take, and how much is lost by learning.

`python bench/bandits.py [--quick]`. Every contender meets the same rows and the same rewards. Goals: with Numba a 95th
percentile at least 3 times lower than the seed's algorithm written the obvious way, without it no higher, and lower
than that of every other library; a regret of LinUCB of at most 85 after 10,000 rounds, less than 2.2 times that after
1,000. What a library that is not installed would have shown is left out, and said to be.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from bandit_peers import ACTIONS, FEATURES, Contender, Make, Reference, Row, interpreted, ours, peers
from timing import QUICK, table

from plaudit.learn import epsilon_ridge, linear_thompson, linucb, squarecb

REFERENCE, FAST, PLAIN = "reference, NumPy by hand", "epsilon_ridge, Numba", "epsilon_ridge, no Numba"
GATE = "linucb, floor 0"
FASTER, REGRET, GROWTH = 3.0, 85.0, 2.2
NOISE = 0.5


@dataclass(frozen=True)
class Task:
    """What every contender meets: rows, and what each action would earn on each."""

    rows: list[Row]
    rewards: list[list[float]]
    lost: list[list[float]]
    """How much less than the best action each is worth."""


def task(seed: int, rounds: int) -> Task:
    """Return a linear task: rows and coefficients of length 1, drawn evenly from the sphere, and normal noise."""
    rng = np.random.default_rng(seed)
    weights, rows = unit(rng.standard_normal((ACTIONS, FEATURES))), unit(rng.standard_normal((rounds, FEATURES)))
    worth = rows @ weights.T
    rewards = worth + rng.normal(0.0, NOISE, worth.shape)
    lost = worth.max(axis=1, keepdims=True) - worth
    return Task([tuple(row) for row in rows.tolist()], rewards.tolist(), lost.tolist())


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main(quick: bool) -> None:
    others = peers()
    if find_spec("numba") is None:
        print("left out: ours in machine code, as Numba is not installed (pip install 'plaudit[fast]')")
    latency(others, rounds=2 if quick else 100, steps=100)
    print()
    regret(others, rounds=200 if quick else 10_000, seeds=2 if quick else 10, slow_seeds=1 if quick else 3)


# -- how long it takes -------------------------------------------------------------------------------------------------


def latency(others: dict[str, Make], *, rounds: int, steps: int) -> None:
    makes: dict[str, Make] = {REFERENCE: Reference}
    if find_spec("numba") is not None:
        makes |= {FAST: ours(epsilon_ridge), "linucb, Numba": ours(linucb)}
    makes |= {PLAIN: interpreted(epsilon_ridge), "linucb, no Numba": interpreted(linucb), **others}
    taken = interleaved({name: make(0) for name, make in makes.items()}, task(0, steps * (rounds + 1)), rounds, steps)
    print(f"Decide and learn, {ACTIONS} actions × {FEATURES} features, median of {rounds} rounds of {steps} in turns")
    rows: list[tuple[str, ...]] = [("what", "p50", "p95", "p99", "p50 against the reference", "p95")]
    for name, each in taken.items():
        ratios = (f"{taken[REFERENCE][at] / each[at]:.2f}x" for at in (0, 1))
        rows.append((name, *(f"{seconds * 1e6:,.1f} µs" for seconds in each), *ratios))
    table(rows)
    high = {name: each[1] for name, each in taken.items()}
    closest = min(others, key=high.__getitem__, default=None)
    for mine, times in ((FAST, FASTER), (PLAIN, 1.0)):
        if mine in high:
            goal(f"{mine}: p95 against the reference, at least {times:g}", high[REFERENCE] / high[mine], low=times)
        if mine in high and closest is not None:
            goal(f"{mine}: p95 against the closest, {closest}, at least 1", high[closest] / high[mine], low=1.0)


def interleaved(
    contenders: dict[str, Contender], data: Task, rounds: int, steps: int
) -> dict[str, tuple[float, float, float]]:
    """Return the median, over the rounds, of each one's 50th, 95th and 99th percentile, in seconds."""
    taken: dict[str, list[np.ndarray]] = {name: [] for name in contenders}
    for at in range(rounds + 1):
        part = slice(at * steps, (at + 1) * steps)
        for name, contender in contenders.items():
            times = timed(contender, data.rows[part], data.rewards[part])
            if at:  # the first round compiles, allocates and warms caches
                taken[name].append(np.percentile(times, (50, 95, 99)))
    return {name: tuple(np.median(each, axis=0).tolist()) for name, each in taken.items()}


def timed(contender: Contender, rows: Sequence[Row], rewards: Sequence[Sequence[float]]) -> list[float]:
    """Return the seconds that each decision took together with its update."""
    decide, learn, clock = contender.decide, contender.learn, time.perf_counter
    times = []
    for x, earned in zip(rows, rewards, strict=True):
        start = clock()
        action = decide(x)
        learn(x, action, earned[action])
        times.append(clock() - start)
    return times


# -- what learning costs -----------------------------------------------------------------------------------------------


def regret(others: dict[str, Make], *, rounds: int, seeds: int, slow_seeds: int) -> None:
    makes: dict[str, Make] = {
        GATE: ours(linucb, floor=0.0),
        "linucb": ours(linucb),
        "greedy, floor 0": ours(linucb, alpha=0.0, floor=0.0),
        "epsilon_ridge": ours(epsilon_ridge),
        "reference, NumPy by hand": Reference,
        "linear_thompson, no propensity": ours(linear_thompson, propensity=False),
        "squarecb, floor 0": ours(squarecb, floor=0.0),
        "squarecb": ours(squarecb),
        **others,
    }
    tasks = [task(seed, rounds) for seed in range(seeds)]
    early = rounds // 10
    print(f"Regret after {early:,} and {rounds:,} rounds, mean and standard error, noise {NOISE:g}")
    rows: list[tuple[str, ...]] = [("what", "seeds", f"@{early:,}", f"@{rounds:,}", "growth")]
    uniform = np.array([np.mean(each.lost, axis=1).cumsum() for each in tasks])
    rows.append(summary("uniform, as expected", uniform, early))
    found = {}
    for name, make in makes.items():
        count = slow_seeds if name.startswith("MABWiser") else seeds
        found[name] = np.array([losses(make(seed), tasks[seed]) for seed in range(count)])
        rows.append(summary(name, found[name], early))
    table(rows)
    if any(len(each) == slow_seeds for each in found.values()):
        on_these = found[GATE][:slow_seeds, -1].mean()
        print(f"MABWiser is slow: the first seeds only, on which {GATE!r} has {on_these:.1f}")
    if rounds < 10_000:
        print("goals are for 10,000 rounds and 10 seeds: run without --quick")
        return
    middle = found[GATE].mean(axis=0)
    goal(f"{GATE}: regret, at most {REGRET:g}", middle[-1], high=REGRET)
    goal(f"{GATE}: growth, below {GROWTH:g}", middle[-1] / middle[early - 1], high=GROWTH)


def losses(contender: Contender, data: Task) -> np.ndarray:
    """Return what was lost up to each round."""
    lost = []
    for x, earned, each in zip(data.rows, data.rewards, data.lost, strict=True):
        action = contender.decide(x)
        contender.learn(x, action, earned[action])
        lost.append(each[action])
    return np.cumsum(lost)


def summary(name: str, found: np.ndarray, early: int) -> tuple[str, ...]:
    cells = []
    for lost in (found[:, early - 1], found[:, -1]):
        error = f" ± {lost.std(ddof=1) / len(lost) ** 0.5:.1f}" if len(lost) > 1 else ""
        cells.append(f"{lost.mean():,.1f}{error}")
    return name, str(len(found)), *cells, f"{found[:, -1].mean() / found[:, early - 1].mean():.2f}x"


def goal(what: str, figure: float, *, low: float = 0.0, high: float = float("inf")) -> None:
    print(f"{'met   ' if low <= figure <= high else 'MISSED'}  {what}: {figure:.2f}")


if __name__ == "__main__":
    main(QUICK)
