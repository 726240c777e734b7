"""How good a radio is, in numbers that are checked, and the three sets of them that were used."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from plaudit.errors import DefinitionError
from plaudit.systems.roadsense.validate import validate_number, validate_pair

Range = tuple[float, float]


@dataclass(frozen=True)
class RadioParameters:
    """How late, how often and how exactly a packet arrives. Milliseconds, meters, m/s, m/s², degrees.

    A packet takes `base_latency + latency_per_metre × distance`, give or take `jitter`, and 1 ms at least. It is lost
    with the probability `base_loss` below `near` meters, rising from there in a line to `middle_loss` at `far`, and
    with `far_loss` from `far` on; where losses were measured, `bins` says so instead, `(20.0, 0.058)` for distances
    below 20 m. `bursts` and noise are described below.

    >>> RadioParameters(position_noise=33_310.0)
    Traceback (most recent call last):
    ...
    plaudit.errors.DefinitionError: position_noise=33310.0 m must be a number from 0 to 100 m.
    """

    base_latency: float = 15.0
    latency_per_metre: float = 0.1
    jitter: float = 8.0
    base_loss: float = 0.02
    near_loss: float = 0.05
    """As measured; below `near` it is `base_loss` that decides."""
    middle_loss: float = 0.15
    far_loss: float = 0.40
    near: float = 50.0
    far: float = 100.0
    bins: tuple[tuple[float, float], ...] = ()
    """Upper ends and losses, in order of distance; in an episode they rise and fall with its `base_loss`."""
    reach: float = inf
    """Beyond this distance nothing is heard."""
    bursts: bool = False
    """Whether losses come together."""
    burst_length: float = 1.0
    """After a loss, the next packet is at risk with the probability 1 − 1/`burst_length`."""
    burst_factor: float = 3.0
    """How many times as likely a packet at risk is lost."""
    burst_cap: float = 0.8
    """No more likely than this, though, if it was not already."""
    position_noise: float = 5.0
    """Standard deviations, of these and the next; in x and in y alike."""
    speed_noise: float = 0.5
    acceleration_noise: float = 0.2
    heading_noise: float = 3.0
    gyro_noise: float = 0.01
    """As measured, in rad/s; no message tells how fast a car turns."""
    latency_range: Range = (10.0, 80.0)
    """What `base_latency` is drawn from for each episode of a randomised radio; the next three likewise."""
    loss_range: Range = (0.0, 0.15)
    jitter_range: Range = (5.0, 12.0)
    position_range: Range = (2.0, 8.0)

    def __post_init__(self) -> None:
        for name, (low, high, unit) in _ALLOWED.items():
            validate_number(name, getattr(self, name), low, high, unit)
        for name, of in _DRAWN.items():
            validate_pair(name, getattr(self, name), *_ALLOWED[of])
        if not self.near < self.far:
            raise DefinitionError(f"near={self.near!r} m must be a number below far={self.far!r} m.")
        if not isinstance(self.bursts, bool):
            raise DefinitionError(f"bursts={self.bursts!r} must be True or False.")
        _validate_bins(self.bins)

    def sample(self, rng: np.random.Generator) -> "RadioParameters":
        """Draw the parameters of one episode: latency, loss, jitter and position noise from their ranges.

        Args:
            rng: The random generator.

        Returns:
            The parameters.
        """
        latency, loss, jitter, position = rng.random(len(_DRAWN)).tolist()
        return replace(
            self,
            base_latency=_interpolate(self.latency_range, latency),
            base_loss=_interpolate(self.loss_range, loss),
            jitter=_interpolate(self.jitter_range, jitter),
            position_noise=_interpolate(self.position_range, position),
        )


_DRAWN = {
    "latency_range": "base_latency",
    "loss_range": "base_loss",
    "jitter_range": "jitter",
    "position_range": "position_noise",
}
_ALLOWED: dict[str, tuple[float, float, str]] = {
    "base_latency": (0.0, 1000.0, "ms"),
    "latency_per_metre": (0.0, 10.0, "ms/m"),
    "jitter": (0.0, 500.0, "ms"),
    "base_loss": (0.0, 1.0, ""),
    "near_loss": (0.0, 1.0, ""),
    "middle_loss": (0.0, 1.0, ""),
    "far_loss": (0.0, 1.0, ""),
    "near": (0.0, 10_000.0, "m"),
    "far": (0.0, 10_000.0, "m"),
    "reach": (0.0, inf, "m"),
    "burst_length": (1.0, 1000.0, ""),
    "burst_factor": (1.0, 100.0, ""),
    "burst_cap": (0.0, 1.0, ""),
    "position_noise": (0.0, 100.0, "m"),
    "speed_noise": (0.0, 20.0, "m/s"),
    "acceleration_noise": (0.0, 20.0, "m/s²"),
    "heading_noise": (0.0, 180.0, "°"),
    "gyro_noise": (0.0, 10.0, "rad/s"),
}


def _interpolate(ends: Range, share: float) -> float:
    low, high = ends
    return min(low + (high - low) * share, high)


def _validate_bins(bins: Any) -> None:
    shaped = isinstance(bins, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in bins)
    if not shaped:
        raise DefinitionError(f"bins={bins!r} must be a tuple of pairs (upper end in m, loss).")
    ends = [end for end, _ in bins]
    for end, loss in bins:
        validate_number("bins", end, 0.0, 10_000.0, "m")
        validate_number("bins", loss, 0.0, 1.0)
    if ends != sorted(set(ends)):
        raise DefinitionError(f"bins={bins!r}: their upper ends must rise.")


PARAMETERS: Mapping[str, RadioParameters] = MappingProxyType(
    {
        "default": RadioParameters(),
        "bench": RadioParameters(
            base_latency=3.05,
            latency_per_metre=0.0,
            jitter=1.05,
            base_loss=0.19,
            near_loss=0.67,
            middle_loss=0.94,
            far_loss=1.0,
            bursts=True,
            burst_length=4.60,
            burst_factor=4.95,
            burst_cap=0.95,
            position_noise=5.49,
            speed_noise=0.067,
            acceleration_noise=0.088,
            latency_range=(1.5, 6.1),
            loss_range=(0.095, 0.38),
            jitter_range=(0.52, 2.1),
            position_range=(2.7, 11.0),
        ),
        "field": RadioParameters(
            base_latency=3.84,
            latency_per_metre=0.0,
            jitter=1.04,
            base_loss=0.058,
            near_loss=0.116,
            middle_loss=0.124,
            far_loss=0.186,
            bins=((20.0, 0.058), (50.0, 0.116)),
            reach=50.0,
            bursts=True,
            burst_length=1.606,
            burst_factor=2.5,
            burst_cap=0.186,
            position_noise=2.96,
            speed_noise=0.43,
            acceleration_noise=0.39,
            heading_noise=4.71,
            gyro_noise=0.023,
            latency_range=(1.9, 7.7),
            loss_range=(0.029, 0.25),
            jitter_range=(0.52, 2.09),
            position_range=(0.5, 4.44),
        ),
    }
)
"""The radio as first assumed, as measured on the bench, and as measured in the field."""
