"""Playing small simulators with known truth, and counting what was learnt of it: found, missed and false."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plaudit.analysis.observe.learn import learn_task
from plaudit.analysis.observe.transitions import Transitions
from plaudit.reward.task.functions import write_function
from plaudit.reward.task.task import Task

Row = dict[str, Any]
Step = Callable[[Row, Any, np.random.Generator], tuple[Row, bool]]


@dataclass(frozen=True)
class Simulator:
    """A world: how episodes begin and go on, and what is true of it.

    Statements are named as in `list_claims`; a value of None stands for any. What `must` be found counts as a miss
    where it is not; what `may` be found is true as well; everything else is false.
    """

    name: str
    reset: Callable[[np.random.Generator], Row]
    step: Step
    actions: int | None = None
    """How many; None for a number from -1 to 1."""
    idle: float = 0
    limit: Callable[[np.random.Generator], int] | int | None = 200
    single: bool = False
    """Whether numbers are handed out as float32."""
    must: Mapping[str, Any] = field(default_factory=dict)
    may: Mapping[str, Any] = field(default_factory=dict)


NUMBER = re.compile(r"[<>]=? (-?[\d.]+(?:e-?\d+)?)")
POLICIES = ("idle", "constant", "random", "smooth")


def play(simulator: Simulator, seed: int = 0, steps: int = 10_000) -> Transitions:
    """Return the steps of policies that take turns, each for as many steps."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {"policy": [], "episode": [], "terminated": [], "truncated": [], "action": []}
    before: list[Row] = []
    after: list[Row] = []
    budget = dict.fromkeys(POLICIES, steps // len(POLICIES))
    episode = 0
    while any(budget.values()):
        policy = POLICIES[episode % len(POLICIES)]
        if budget[policy] > 0:
            limit = simulator.limit(rng) if callable(simulator.limit) else simulator.limit
            row = simulator.reset(rng)
            choose = _make_policy(policy, simulator, rng)
            for position in range(1, min(1000, budget[policy]) + 1):
                action = choose(position)
                made, terminated = simulator.step(row, action, rng)
                made = {
                    name: np.float32(v) if simulator.single and isinstance(v, float) else v for name, v in made.items()
                }
                truncated = limit is not None and position >= limit and not terminated
                before.append(row)
                after.append(made)
                for name, value in zip(columns, (policy, episode, terminated, truncated, action), strict=True):
                    columns[name].append(value)
                row = {**row, **made}
                budget[policy] -= 1
                if terminated or truncated:
                    break
        episode += 1
    first = np.diff(np.array(columns["episode"]), prepend=-1) != 0
    unknown = frozenset(name for name in after[0] if name not in before[0])
    kept = {
        name: _to_column([row.get(name, made[name]) for row, made in zip(before, after, strict=True)])
        for name in after[0]
    }
    actions = np.array(columns["action"])
    return Transitions(
        before=kept,
        after={
            **{name: _to_column([row[name] for row in after]) for name in after[0]},
            "action": actions.astype(np.float64),
        },
        actions=actions,
        episode=np.array(columns["episode"]),
        policy=np.array(columns["policy"]),
        terminated=np.array(columns["terminated"]),
        truncated=np.array(columns["truncated"]),
        declared={},
        source=f"{simulator.name}, {len(first):,} steps of {first.sum():,} episodes, seed {seed}",
        unknown_first=unknown,
        action_names=("action",),
    )


def _to_column(values: list[Any]) -> np.ndarray:
    column = np.array(values)
    return column if column.dtype.kind in "bU" else column.astype(np.float64)


def _make_policy(policy: str, simulator: Simulator, rng: np.random.Generator) -> Callable[[int], Any]:
    def draw() -> Any:
        return int(rng.integers(simulator.actions)) if simulator.actions else float(np.float32(rng.uniform(-1, 1)))

    held = draw()

    def choose(position: int) -> Any:
        nonlocal held
        if policy == "idle":
            return int(simulator.idle) if simulator.actions else float(simulator.idle)
        if policy == "random" or (policy == "smooth" and rng.random() < 0.1):
            held = draw()
            if policy == "smooth" and rng.random() < 0.3:
                held = int(simulator.idle) if simulator.actions else float(simulator.idle)
        return held

    return choose


class Score(NamedTuple):
    """Statements that were found and must be, that must be and were not found, and that are false."""

    hits: list[str]
    misses: list[str]
    false: list[str]


def list_claims(task: Task) -> dict[str, Any]:
    """Return what a task claims of its world beyond what was directly seen (ranges, starts, what idling meets)."""
    claims: dict[str, Any] = {}
    claims |= {f"rates.{name}": (rate.rate, rate.dt) for name, rate in task.rates.items()}
    claims |= {f"max_change.{name}": value for name, value in task.max_change.items()}
    claims |= {f"monotone.{name}": value for name, value in task.monotone.items()}
    claims |= {f"still.{name}": True for name in task.still}
    for name, event in task.events.items():
        claims[f"events.{name}"] = True
        claims |= {f"events.{name}.{part}": value for part in ("at_most", "renews") if (value := getattr(event, part))}
    for name, end in task.ends.items():
        match = end.when and NUMBER.search(write_function(end.when))
        claims[f"ends.{name}"] = float(match[1]) if match else True
    if task.horizon is not None:
        claims["horizon"] = task.horizon
    claims |= {f"facts.{each.name}": write_function(each) for each in task.facts}
    return claims


def score(simulator: Simulator, task: Task) -> Score:
    """Compare what a task claims with the truth about a simulator."""
    claims = list_claims(task)
    claims.pop("ends.timeout" if "horizon" in simulator.must else "", None)
    misses = [key for key, value in simulator.must.items() if key not in claims or not _agree(key, value, claims[key])]
    truth = {**simulator.may, **simulator.must}
    false = [
        f"{key}={value}" for key, value in claims.items() if key not in truth or not _agree(key, truth[key], value)
    ]
    return Score([key for key in simulator.must if key not in misses], misses, false)


def _agree(key: str, truth: Any, claim: Any) -> bool:
    if truth is None:
        return True
    if key.startswith("ends.") and not isinstance(truth, bool):
        return abs(truth - claim) <= 0.01
    if isinstance(truth, tuple):
        return truth[0] == claim[0] and abs(truth[1] - claim[1]) <= 1e-6 * abs(truth[1])
    return bool(truth == claim) or (isinstance(truth, float) and abs(truth - claim) <= 1e-5 * abs(truth))


def learn(simulator: Simulator, seed: int = 0, steps: int = 10_000) -> Task:
    """Return what is learnt from playing a simulator."""
    return learn_task(play(simulator, seed, steps), name="observed")
