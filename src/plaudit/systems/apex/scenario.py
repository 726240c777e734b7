"""A task that goes well, state by state."""

from itertools import pairwise
from typing import Any


def scenario() -> list[dict[str, Any]]:
    """Return the 25 states of a task that goes well: two switches, a round of critique, all tests passing."""
    names = ("phase", "test_pass_rate", "tokens_used", "switch_committed")
    states = [
        ("planning", 0.0, 0, False),
        ("planning", 0.0, 50, False),
        ("planning", 0.0, 100, False),
        ("planning", 0.0, 150, False),
        ("coding", 0.0, 200, False),
        ("coding", 0.1, 300, False),
        ("coding", 0.2, 500, False),
        ("coding", 0.3, 700, False),
        ("coding", 0.3, 900, True),
        ("coding", 0.4, 1100, False),
        ("coding", 0.5, 1400, False),
        ("testing", 0.5, 1500, False),
        ("testing", 0.6, 1600, False),
        ("testing", 0.7, 1750, False),
        ("testing", 0.75, 1900, False),
        ("testing", 0.8, 2100, True),
        ("testing", 0.85, 2300, False),
        ("critique", 0.85, 2400, False),
        ("critique", 0.85, 2500, False),
        ("critique", 0.87, 2650, False),
        ("coding", 0.87, 2800, False),
        ("coding", 0.9, 3000, False),
        ("testing", 0.92, 3200, False),
        ("testing", 0.95, 3400, False),
        ("done", 1.0, 3500, False),
    ]
    return [dict(zip(names, state, strict=True)) for state in states]


def episode() -> list[dict[str, Any]]:
    """Return the steps of `scenario`, each as keyword arguments of `reward.score`; the last one ends it."""
    steps: list[dict[str, Any]] = []
    for before, after in pairwise(scenario()):
        del before["switch_committed"]  # an event: the reward reads it of the state reached, and only there
        steps.append({"prev": before, "curr": dict(after)})
    steps[-1] |= {"terminal": True, "success": True}
    return steps
