"""Made-up transitions: columns of random values, each within what its field allows."""

from typing import Any

import numpy as np

from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.targets.rows import places

UNBOUNDED = 100.0
"""How far a number goes from its one bound, or from 0, where no other is declared."""


def synthetic(reward: Reward, rows: int, generator: np.random.Generator) -> dict[str, Any]:
    """Return columns of `rows` random values for `reward.compile("numpy")`; categories are positions.

    >>> from plaudit.systems import load
    >>> sorted(synthetic(load("roadsense"), 3, np.random.default_rng(0)))
    ['action', 'deceleration', 'distance']
    """
    return {place.name: _column(place.field, rows, generator) for place in places(reward.program)}


def _column(field: Field, rows: int, generator: np.random.Generator) -> Any:
    if field.kind == "flag":
        return generator.random(rows) < 0.5
    if field.kind == "category":
        return generator.integers(len(field.labels), size=rows)
    if field.numbers:
        return generator.choice(field.numbers, rows)
    low = field.low if field.low is not None else (field.high or 0.0) - UNBOUNDED
    high = field.high if field.high is not None else low + UNBOUNDED
    return generator.uniform(low, high, rows)
