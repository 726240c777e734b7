"""What a task claims, in the notation of the simulators' truth, and how many claims are true, false or missing."""

import re
from typing import Any, NamedTuple

from analysis.observe.simulators import Simulator, play
from plaudit.analysis.observe.learn import learn_task
from plaudit.reward.function_text import write_function
from plaudit.reward.task import Task

NUMBER = re.compile(r"[<>]=? (-?[\d.]+(?:e-?\d+)?)")


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
