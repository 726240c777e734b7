"""A drive as columns over time, for charts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.world import STEP

Column = NDArray[np.float64]


class Track(NamedTuple):
    """A number a step; NaN where a car is not on the road, or where nobody ahead is heard."""

    seconds: Column
    distance: Column
    deceleration: Column
    warning: Column
    speeds: dict[str, Column]
    brakings: dict[str, Column]
    """How hard each car truly brakes, in m/s²; 0 where it does not."""
    terms: dict[str, Column]
    gained: Column
    """The return so far."""
    hazard: str | None
    onset: float | None
    """When the hazard began, in seconds."""


def track(frames: Sequence[Frame]) -> Track:
    """Return the columns of a drive."""
    measured = [frame.measured for frame in frames]
    names = sorted({name for frame in frames for name in frame.cars})
    terms = dict.fromkeys(name for frame in frames for name in frame.terms)
    first = next((frame for frame in frames if frame.hazard is not None), None)
    distance = _column([each.distance for each in measured])
    return Track(
        seconds=_column([frame.step * STEP for frame in frames]),
        distance=np.where(np.isinf(distance), np.nan, distance),
        deceleration=_column([each.deceleration for each in measured]),
        warning=_column([each.warned_fading for each in measured]),
        speeds={name: _of_car(frames, name, "speed") for name in names},
        brakings={name: np.maximum(0.0, -_of_car(frames, name, "acceleration")) for name in names},
        terms={name: _column([frame.terms.get(name, np.nan) for frame in frames]) for name in terms},
        gained=np.cumsum(_column([frame.total for frame in frames])),
        hazard=first.hazard if first else None,
        onset=max(0, first.step - 1) * STEP if first else None,  # a frame is the end of its step
    )


def _of_car(frames: Sequence[Frame], name: str, measure: str) -> Column:
    return _column([getattr(frame.cars[name], measure) if name in frame.cars else np.nan for frame in frames])


def _column(values: Sequence[float]) -> Column:
    return np.array(values, dtype=np.float64)
