"""False alarms of an audit: honest training runs of Gymnasium environments, from the first random step on.

`python bench/false_alarms.py [seeds]`. Agents that learn by the environment's own reward, cut into the terms that its
documentation names, are recorded from beginning to end and audited with all thresholds as they are: tabular
Q-learning on FrozenLake, CliffWalking and Taxi, cross-entropy search over linear policies on CartPole and Pendulum.
Every warning is a false alarm and is counted; advice is listed beside it.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from timing import QUICK, size, table

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.analysis import audit

Episode = dict[str, Any]
"""Columns by the names of inputs, with `original`: what the environment paid."""


@term(weight=-1.0, kind="penalty")
def price():
    """A price for every step."""
    return 1.0


@term(kind="goal")
def arrival(arrived):
    """Arrive."""
    return 1.0 if arrived else 0.0


@term(weight=-99.0, kind="penalty")
def fall(fallen):
    """Do not fall off the cliff."""
    return 1.0 if fallen else 0.0


@term(weight=21.0, kind="goal")
def delivery(delivered):
    """Set the passenger down where they want to go."""
    return 1.0 if delivered else 0.0


@term(weight=-9.0, kind="penalty")
def mistake(refused):
    """Do not pick up or set down elsewhere."""
    return 1.0 if refused else 0.0


@term
def alive():
    """Stay upright."""
    return 1.0


@term(weight=-1.0, kind="penalty")
def tilt(angle):
    """Stand upright."""
    return angle * angle


@term(weight=-0.1, kind="penalty")
def swing(velocity):
    """Do not swing."""
    return velocity * velocity


@term(weight=-0.001, kind="penalty")
def effort(torque):
    """Do not push."""
    return torque * torque


@term(weight=0.1, kind="bonus")
def centred(position):
    """Stay in the middle."""
    return 1.0 - abs(position) / 2.4


def has_arrived(arrived):
    """Return whether it has arrived."""
    return arrived


def has_delivered(delivered):
    """Return whether the passenger is there."""
    return delivered


@term(weight=0.0)
def place(cell):
    """Where the agent is: recorded, and not paid for."""
    return cell


@term(weight=0.0)
def choice(action):
    """What the agent did: recorded, and not paid for."""
    return action


def fields(states: int, actions: int, *flags: str) -> list[Field]:
    cell = Field("cell", values=tuple(range(states)))
    return [cell, Field("action", values=tuple(range(actions))), *map(flag, flags)]


def flag(name: str) -> Field:
    return Field(name, flag=True)


GRID = Task(states=["cell"], actions=["action"])


def learn_table(
    name: str, seed: int, episodes: int, measure: Callable[..., dict[str, Any]], **how: Any
) -> Iterator[Episode]:
    """Yield the episodes of Q-learning, from the first one, which knows nothing."""
    newest = max(each for each in gymnasium.registry if each.partition("-v")[0] == name)
    env = gymnasium.make(newest, **how)
    rng = np.random.default_rng(seed)
    values = np.zeros((env.observation_space.n, env.action_space.n))  # type: ignore[attr-defined]
    env.reset(seed=seed)
    for number in range(episodes):
        seen, _ = env.reset()
        explore = max(0.02, 1.0 - number / (0.6 * episodes))
        rows: list[dict[str, Any]] = []
        done = False
        while not done:
            best = np.flatnonzero(values[seen] == values[seen].max())
            action = int(rng.integers(values.shape[1]) if rng.random() < explore else rng.choice(best))
            after, paid, ended, cut, _ = env.step(action)
            done = ended or cut
            target = paid + (0.0 if ended else 0.99 * values[after].max())
            values[seen, action] += 0.2 * (target - values[seen, action])
            rows.append({"action": action, "cell": after, "original": paid, **measure(seen, after, paid, ended)})
            seen = after
        yield {key: np.array([row[key] for row in rows]) for key in rows[0]}


def search_policies(
    name: str, seed: int, rounds: int, act: Callable[..., Any], measure: Callable[..., dict[str, Any]]
) -> Iterator[Episode]:
    """Yield the episodes of a cross-entropy search over linear policies, in the order in which they were tried."""
    env = gymnasium.make(name)
    rng = np.random.default_rng(seed)
    width = env.observation_space.shape[0]  # type: ignore[index]
    mean, spread = np.zeros(width), np.ones(width) * 2.0
    env.reset(seed=seed)
    for _ in range(rounds):
        tried = rng.normal(mean, spread, (12, width))
        returns = []
        for weights in tried:
            seen, _ = env.reset()
            rows: list[dict[str, Any]] = []
            done = False
            while not done:
                action = act(weights, seen)
                after, paid, ended, cut, _ = env.step(action)
                done = ended or cut
                rows.append({"original": float(paid), **measure(seen, action, after)})
                seen = after
            returns.append(sum(row["original"] for row in rows))
            yield {key: np.array([row[key] for row in rows]) for key in rows[0]}
        elite = tried[np.argsort(returns)[-4:]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.1


def measure_pendulum(seen: Any, action: Any, after: Any) -> dict[str, Any]:
    return {"angle": np.arctan2(seen[1], seen[0]), "velocity": seen[2], "torque": action[0]}


RUNS: dict[str, tuple[Reward, Callable[[int, int], Iterator[Episode]]]] = {
    "FrozenLake": (
        Reward(
            "lake",
            version="1",
            terms=[arrival, place, choice],
            fields=fields(16, 4, "arrived"),
            task=GRID.evolve(goal=has_arrived),
        ),
        lambda seed, many: learn_table(
            "FrozenLake", seed, 60 * many, lambda s, t, paid, end: {"arrived": paid > 0}, is_slippery=False
        ),
    ),
    "CliffWalking": (
        Reward("cliff", version="1", terms=[price, fall, place, choice], fields=fields(48, 4, "fallen"), task=GRID),
        lambda seed, many: learn_table(
            "CliffWalking", seed, 15 * many, lambda s, t, paid, end: {"fallen": paid < -1}, max_episode_steps=200
        ),
    ),
    "Taxi": (
        Reward(
            "taxi",
            version="1",
            terms=[price, delivery, mistake, place, choice],
            fields=fields(500, 6, "delivered", "refused"),
            task=GRID.evolve(goal=has_delivered),
        ),
        lambda seed, many: learn_table(
            "Taxi", seed, 50 * many, lambda s, t, paid, end: {"delivered": paid > 0, "refused": paid < -1}
        ),
    ),
    "CartPole-v1": (
        Reward(
            "pole",
            version="1",
            terms=[alive, centred],
            fields=[Field("position", low=-5, high=5)],
            task=Task(states=["position"]),
        ),
        lambda seed, many: search_policies(
            "CartPole-v1",
            seed,
            max(3, many // 3),
            lambda weights, seen: int(weights @ seen > 0),
            lambda seen, action, after: {"position": after[0]},
        ),
    ),
    "Pendulum-v1": (
        Reward(
            "pendulum",
            version="1",
            terms=[tilt, swing, effort],
            fields=[
                Field("angle", low=-3.2, high=3.2),
                Field("velocity", low=-8, high=8),
                Field("torque", low=-2, high=2),
            ],
            task=Task(states=["angle", "velocity"], actions=["torque"]),
        ),
        lambda seed, many: search_policies(
            "Pendulum-v1",
            seed,
            max(3, many // 3),
            lambda weights, seen: np.clip([2.0 * float(weights @ seen)], -2, 2).astype(np.float32),
            measure_pendulum,
        ),
    ),
}


def record(ledger: Ledger, reward: Reward, episodes: list[Episode]) -> None:
    """Record a whole run as a wrapper would have done."""
    lengths = [len(each["original"]) for each in episodes]
    said = [{"original_reward": paid} for each in episodes for paid in each["original"].tolist()]
    for last in (np.cumsum(lengths) - 1).tolist():
        said[last]["terminated"] = True
    ledger.record_batch(
        reward,
        {name: np.concatenate([each[name] for each in episodes]) for name in reward.inputs},
        run="honest",
        episode=np.repeat(np.arange(len(episodes)), lengths).tolist(),
        step=np.concatenate([np.arange(length) for length in lengths]).tolist(),
        context=said,
    )


def count_alarms(name: str, seed: int, many: int) -> tuple[int, int, Counter[str], Counter[str]]:
    """Return how many episodes and steps a run has, and the codes of its warnings and of its advice."""
    reward, run = RUNS[name]
    episodes = list(run(seed, many))
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "rewards.db") as ledger:
        record(ledger, reward, episodes)
        report = audit(ledger, reward)
    warnings = Counter(each.code for each in report.at_least("warning"))
    advice = Counter(each.code for each in report if each.severity == "advice")
    return len(episodes), sum(len(each["original"]) for each in episodes), warnings, advice


def main(seeds: int) -> None:
    rows: list[tuple[str, ...]] = [("environment", "runs", "episodes", "steps", "warnings", "advice")]
    for name in RUNS:
        found = [count_alarms(name, seed, 1 if QUICK else 20) for seed in range(seeds)]
        warnings: Counter[str] = sum((each[2] for each in found), Counter())
        advice: Counter[str] = sum((each[3] for each in found), Counter())
        told = [" ".join(f"{code} {count}" for code, count in each.items()) or "0" for each in (warnings, advice)]
        counts = (f"{sum(each[at] for each in found):,}" for at in (0, 1))
        rows.append((name, str(seeds), *counts, *told))
    table(rows)
    assert all(row[4] == "0" for row in rows[1:]), "a warning on an honest run is a false alarm"


if __name__ == "__main__":
    main(size(5, quick=1))
