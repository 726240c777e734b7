"""What may happen to a car ahead in an episode, and the hazards that the versions of the reward were trained with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.systems.roadsense.validate import find_named, is_integer, validate_number, validate_pair, validate_switch

RANK = "rank:"
"""What the target `rank:2`, the second car ahead, begins with."""


@dataclass(frozen=True)
class Hazard:
    """A car ahead brakes: how likely, when, which one, how hard, for how long.

    >>> Hazard(first=80, last=30)
    Traceback (most recent call last):
    ...
    plaudit.errors.DefinitionError: first=80, last=30: the first step must not come after the last.
    """

    probability: float = 1.0
    first: int = 30
    """The step is drawn from `first` to `last`, both included."""
    last: int = 80
    kind: Literal["stop", "slow"] = "stop"
    """`stop` commands a standstill at once, for good; `slow` slows the car down over some time and holds it there."""
    seconds: tuple[float, float] = (2.0, 4.0)
    """What the length of a slow-down is drawn from."""
    decel: tuple[float, float] | None = None
    """What the deceleration of a slow-down is drawn from, in m/s²; None: what leads to
    a standstill in its time, as far as the car can."""
    target: str = "uniform"
    """`nearest` car ahead, one drawn from all ahead (`uniform`), the second ahead (`rank:2`), or a car by its name."""
    resolves: float = 0.0
    """The probability that the car is let go again."""
    after: tuple[int, int] = (20, 50)
    """What the steps from the end of the slow-down until then are drawn from, both included."""
    buckets: bool = False
    """Whether it waits, from `first` on, for the gap to the car to be in a bucket drawn for it, until `last`."""

    def __post_init__(self) -> None:
        validate_number("probability", self.probability, 0.0, 1.0)
        validate_number("resolves", self.resolves, 0.0, 1.0)
        for name in ("first", "last"):
            _validate_steps(name, getattr(self, name))
        if self.first > self.last:
            raise DefinitionError(f"first={self.first}, last={self.last}: the first step must not come after the last.")
        if self.kind not in ("stop", "slow"):
            raise DefinitionError(
                f"kind={self.kind!r} must be stop or slow.{did_you_mean(str(self.kind), ('stop', 'slow'))}"
            )
        validate_pair("seconds", self.seconds, 0.1, 60.0)
        if self.decel is not None:
            validate_pair("decel", self.decel, 0.0, 50.0)
        validate_pair("after", self.after, 0, 100_000)
        for steps in self.after:
            _validate_steps("after", steps)
        _validate_target(self.target)
        validate_switch("buckets", self.buckets)


def _validate_steps(name: str, value: Any) -> None:
    if not is_integer(value) or value < 0:
        raise DefinitionError(f"{name}={value!r} must be an integer of 0 or more.")


def _validate_target(target: Any) -> None:
    rank = target.removeprefix(RANK) if isinstance(target, str) and target.startswith(RANK) else "1"
    if not isinstance(target, str) or not target or not (rank.isdecimal() and int(rank) > 0):
        raise DefinitionError(f"target={target!r} must be nearest, uniform, rank:1, rank:2 …, or the name of a car.")


_SEED = Hazard(probability=0.3, target="nearest")
_LATER = Hazard(probability=0.5, first=150, last=350)
_GRADUAL = replace(_LATER, kind="slow")
_BRISK = Hazard(first=200, last=200, kind="slow", seconds=(0.5, 1.5))
_VARIED = replace(_BRISK, decel=(3.0, 10.0), resolves=0.4)

HAZARDS: Mapping[str, Hazard] = MappingProxyType(
    {
        "none": Hazard(probability=0.0),
        "seed": _SEED,  # R0
        "certain": replace(_SEED, probability=1.0),
        "anyone": replace(_SEED, target="uniform"),  # run 004
        "often": replace(_SEED, probability=0.5, target="uniform"),  # 005
        "later": _LATER,  # 011
        "gradual": _GRADUAL,  # 012, 015, 016
        "gradual_certain": replace(_GRADUAL, probability=1.0),  # 014
        "gradual_fixed": replace(_GRADUAL, probability=1.0, first=200, last=200),  # 017
        "brisk": _BRISK,  # 018 to 020
        "varied": _VARIED,  # 021
        "bucketed": replace(_VARIED, first=150, last=350, buckets=True),  # 023
        "evaluation": replace(_BRISK, first=150, last=350),
        "training": replace(_BRISK, first=50, last=250),
    }
)
"""Hazards by name: `none` and `certain`, those of the runs of the versions in their order, and the two of
`plaudit train roadsense`, whose hazards come sooner in training because episodes are shorter there."""


def find_hazard(given: Any) -> Hazard:
    """Return a hazard, or the one that goes by a name.

    >>> find_hazard("brisk").seconds
    (0.5, 1.5)
    """
    return find_named("hazard", given, Hazard, HAZARDS)
