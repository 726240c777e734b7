"""Lets a hazard happen: commands, step by step, what a car ahead must do."""

from collections.abc import Callable, Mapping
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from plaudit.systems.roadsense.hazard import HAZARDS, RANK, Hazard
from plaudit.systems.roadsense.observation_builder import measure_forward
from plaudit.systems.roadsense.sumo import Command, speed_mode
from plaudit.systems.roadsense.world import STEP, CarState

Cars = Mapping[str, CarState]
ONSET_NAMES = ("gap_bucket", "gap_m", "closing_speed_mps", "peer_count", "trigger_step", "desired_rank_ahead")


class GapBucket(NamedTuple):
    """Gaps from `low` to below `high`, in meters along the heading from front bumper to front bumper."""

    name: str
    low: float
    high: float

    def contains(self, gap: float) -> bool:
        """Return whether a gap is in the bucket."""
        return self.low <= gap < self.high


CLOSE = GapBucket("close", 12.0, 22.0)
MEDIUM = GapBucket("medium", 22.0, 35.0)
FAR = GapBucket("far", 35.0, 55.0)
VERY_FAR = GapBucket("very far", 55.0, 85.0)


def list_gap_buckets(rank: int) -> tuple[GapBucket, ...]:
    """Return the gaps among which an episode draws, for the car of a rank ahead: 1 is the nearest.

    >>> [bucket.name for bucket in list_gap_buckets(2)]
    ['medium', 'far', 'very far']
    """
    if rank == 1:
        return CLOSE, MEDIUM, FAR
    return (MEDIUM, FAR, VERY_FAR) if rank == 2 else (FAR, VERY_FAR)


class Draws(NamedTuple):
    """All chance of a hazard, each from 0 to below 1; as many for every hazard, so that no other draw moves with it."""

    happens: float = 0.0
    step: float = 0.0
    target: float = 0.0
    bucket: float = 0.0
    seconds: float = 0.0
    decel: float = 0.0
    resolves: float = 0.0
    after: float = 0.0


class HazardInjector:
    """The hazard of one episode. What it cannot do it says in `failed_reason`: on the road it raises nothing."""

    attempted: bool
    """Whether the hazard was tried."""
    failed_reason: str | None
    """Why no car could be found for it."""
    source: str | None
    """The car that it befell."""
    step: int | None
    """When it did."""
    rank_ahead: int | None
    """Which one ahead that car was: 1 is the nearest."""
    desired_decel: float | None
    """How hard it is to slow down, in m/s²; None for a stop at once."""
    target_speed: float | None
    """What it is to slow down to, in m/s."""
    resolved: bool
    """Whether it was let go again."""
    trigger_mode: str
    """What is waited for: a `step`, or a gap in a `bucket`; `none` where nothing will happen."""
    trigger_result: str | None
    """What came: the `step`, the `bucket`, the `deadline` before that; or it `failed`."""
    onset: dict[str, Any]
    """How things stood when it began; before that, all None."""

    def __init__(self) -> None:
        self._prepare(HAZARDS["none"], Draws(), "")

    def reset(self, hazard: Hazard, rng: np.random.Generator, ego_id: str) -> None:
        """Begin an episode, in which `ego_id` is the car that the hazard is ahead of."""
        self._prepare(hazard, Draws(*rng.random(len(Draws._fields)).tolist()), ego_id)

    def _prepare(self, hazard: Hazard, draws: Draws, ego_id: str) -> None:
        self._hazard, self._draws, self._ego_id = hazard, draws, ego_id
        self.attempted = self.resolved = False
        self.failed_reason = self.source = self.step = self.rank_ahead = None
        self.desired_decel = self.target_speed = self.trigger_result = None
        self.onset = dict.fromkeys(ONSET_NAMES)
        self._rank: int | None = None
        self._bucket: GapBucket | None = None
        self._due: float = inf
        self._stage: Callable[[int, Cars, CarState], list[Command]] = self._watch if hazard.buckets else self._begin
        self.trigger_mode = "none"
        if draws.happens < hazard.probability:
            self.trigger_mode = "bucket" if hazard.buckets else "step"
            self._due = hazard.first if hazard.buckets else _pick_integer(hazard.first, hazard.last, draws.step)

    def next_commands(self, step: int, cars: Cars, ego: CarState) -> list[Command]:
        """Return the commands to the simulator before it makes a step, mostly nothing; `step` counts those it has made.

        >>> car = CarState(0.0, 0.0, 15.0, 0.0, 0.0)
        >>> injector = HazardInjector()
        >>> injector.reset(Hazard(first=1, last=1), np.random.default_rng(1), "V001")
        >>> for step in range(3):
        ...     print(injector.next_commands(step, {"V001": car, "V002": car._replace(y=30.0)}, car))
        []
        [('speed', 'V002', 0.0)]
        []
        """
        return [] if step < self._due else self._stage(step, cars, ego)

    def _watch(self, step: int, cars: Cars, ego: CarState) -> list[Command]:
        """Begin when the gap to the car is in the bucket, and at the last step in any case."""
        ahead = self._list_ahead(cars, ego)
        if self._rank is None:
            self._rank = self._choose_rank(ahead)
        if self._rank is not None and self._bucket is None:
            choice = list_gap_buckets(self._rank)
            self._bucket = choice[_pick_integer(0, len(choice) - 1, self._draws.bucket)]
        if self._bucket and self._rank and self._rank <= len(ahead) and self._bucket.contains(ahead[self._rank - 1][0]):
            return self._inject(step, cars, ego, "bucket")
        return self._inject(step, cars, ego, "deadline") if step >= self._hazard.last else []

    def _begin(self, step: int, cars: Cars, ego: CarState) -> list[Command]:
        self._rank = self._choose_rank(self._list_ahead(cars, ego))
        return self._inject(step, cars, ego, "step")

    def _inject(self, step: int, cars: Cars, ego: CarState, result: str) -> list[Command]:
        self.attempted = True
        ahead = self._list_ahead(cars, ego)
        if self._rank is None or self._rank > len(ahead):
            return self._fail(len(ahead))
        gap, source = ahead[self._rank - 1]
        self.source, self.step, self.rank_ahead, self.trigger_result = source, step, self._rank, result
        bucket = None if self._bucket is None else self._bucket.name
        onset = (bucket, gap, ego.speed - cars[source].speed, len(cars) - 1, step, self._rank)
        self.onset = dict(zip(ONSET_NAMES, onset, strict=True))
        return self._brake(step, source, cars[source].speed)

    def _fail(self, ahead: int) -> list[Command]:
        self.trigger_result, self._due = "failed", inf
        if not ahead:
            self.failed_reason = "no car ahead"
        elif self._rank is None:
            self.failed_reason = f"{self._hazard.target} is not ahead"
        else:
            self.failed_reason = f"no car of rank {self._rank} ahead: there are {ahead}"
        return []

    def _brake(self, step: int, source: str, speed: float) -> list[Command]:
        hazard = self._hazard
        if hazard.kind == "stop":
            self.target_speed = 0.0
            return self._hold(step, source)
        seconds = _interpolate(*hazard.seconds, self._draws.seconds)
        self.desired_decel = speed / seconds if hazard.decel is None else _interpolate(*hazard.decel, self._draws.decel)
        self.target_speed = 0.0 if hazard.decel is None else max(0.0, speed - self.desired_decel * seconds)
        # SUMO slows a car down in every step that begins within `seconds`, and would let it go in the one after.
        self._due, self._stage = step + ceil(seconds / STEP), self._pin
        slow_down: Command = ("slow_down", source, self.target_speed, seconds)
        # SUMO would cap what was drawn at what the car does on its own.
        return [slow_down] if hazard.decel is None else [("speed_mode", source, speed_mode.ASSISTED), slow_down]

    def _pin(self, step: int, cars: Cars, ego: CarState) -> list[Command]:
        assert self.source is not None
        return self._hold(step, self.source) if self.source in cars else self._lose()

    def _hold(self, step: int, source: str) -> list[Command]:
        """Keep the car at its speed: one command holds until another one comes."""
        self._due = inf
        if self._draws.resolves < self._hazard.resolves:
            self._due, self._stage = step + _pick_integer(*self._hazard.after, self._draws.after), self._release
        return [("speed", source, self.target_speed)]

    def _release(self, step: int, cars: Cars, ego: CarState) -> list[Command]:
        if self.source not in cars:
            return self._lose()
        self.resolved, self._due = True, inf
        return [("speed", self.source, -1.0), ("speed_mode", self.source, speed_mode.ORIGIN)]

    def _lose(self) -> list[Command]:
        """Do no more: the car has left the road."""
        self._due = inf
        return []

    def _list_ahead(self, cars: Cars, ego: CarState) -> list[tuple[float, str]]:
        """Return the cars ahead with their distance along the heading, the nearest first."""
        gaps = [(measure_forward(ego, car), name) for name, car in cars.items() if name != self._ego_id]
        return sorted(gap for gap in gaps if gap[0] > 0)

    def _choose_rank(self, ahead: list[tuple[float, str]]) -> int | None:
        """Return which one ahead it is to be, there or not; None where that cannot be said."""
        target = self._hazard.target
        if not ahead:
            return None
        if target == "uniform":
            return _pick_integer(1, len(ahead), self._draws.target)
        if target == "nearest" or target.startswith(RANK):
            return 1 if target == "nearest" else int(target.removeprefix(RANK))
        return next((rank for rank, (_, name) in enumerate(ahead, 1) if name == target), None)


def _pick_integer(low: int, high: int, share: float) -> int:
    """Return the integer from `low` to `high`, both included, at a share of the way."""
    return low + int(share * (high - low + 1))


def _interpolate(low: float, high: float, share: float) -> float:
    return low + share * (high - low)


def describe_hazard(hazard: HazardInjector) -> dict[str, Any]:
    """Return what is known of the hazard of an episode, under the names that `info` has for it.

    Numbers are there once they are known: Gymnasium cannot put a number of one environment beside a None of another.
    """
    numbers = {
        "hazard_step": hazard.step,
        "hazard_source_rank_ahead": hazard.rank_ahead,
        "hazard_desired_decel": hazard.desired_decel,
        "hazard_target_speed": hazard.target_speed,
        **{f"hazard_onset_{name}": value for name, value in hazard.onset.items() if name != "gap_bucket"},
    }
    return {
        "hazard_injected": hazard.source is not None,
        "hazard_source_id": hazard.source,
        "hazard_injection_attempted": hazard.attempted,
        "hazard_injection_failed_reason": hazard.failed_reason,
        "hazard_resolved": hazard.resolved,
        "hazard_trigger_mode": hazard.trigger_mode,
        "hazard_trigger_result": hazard.trigger_result,
        "hazard_onset_gap_bucket": hazard.onset["gap_bucket"],
        **{name: value for name, value in numbers.items() if value is not None},
    }
