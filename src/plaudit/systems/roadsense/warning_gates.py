"""Which gates of the reaction to a warning are open in a step, found by asking the reward itself.

A gate is what has to hold before a term pays at all. The reward is scored on the step with everything else as the term
would have it, and the gate is open where it pays: no threshold is written down a second time.
"""

from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import Any

from plaudit.reward.reward import Reward
from plaudit.systems.roadsense import fields
from plaudit.systems.roadsense.measurement import Measurement, build_scorer

EARLY, IGNORED = "early_reaction", "ignored_warning"
"""The terms that pay for the reaction to a warning."""
FIELDS = {
    *(fields.DISTANCE, fields.DECELERATION, fields.ACTION, fields.CLOSING_RATE, fields.EGO_SPEED),
    *(fields.PEER_BRAKING, fields.FRESH_BRAKING, fields.COLLISION),
    *(fields.WARNED_NOW, fields.WARNED_EVER, fields.PEER_WARNED_EVER, fields.WARNED_FADING),
}
"""What the versions declare: a reward over other fields may not take the steps that are asked about here."""
HEARD = slice(Measurement._fields.index("peer_braking"), Measurement._fields.index("collision"))
"""What a step says of warnings, six of what is measured."""
WARNED = (True, True, 1.0, 1.0, 1.0, 1.0)
"""All of it, when every warning there is has just arrived."""
FAST, CLOSING, HARD = (float(each.high or 0) for each in (fields.EGO_SPEED, fields.CLOSING_RATE, fields.DECELERATION))
"""The most that can be of own speed, of the rate at which a gap closes, and of braking."""

GateReader = Callable[[Measurement], dict[str, Any]]


def build_gate_reader(reward: Reward) -> GateReader:
    """Return the function from a measured step to its gates, under the names that `info` has for them.

    Those of a term that the reward does not have are not there.

    >>> from plaudit.systems.roadsense.versions import version
    >>> step = Measurement(30.0, 0.0, 0, 0.0, 15.0, False, False, 0.0, 0.0, 0.0, 0.5)
    >>> build_gate_reader(version("R8"))(step)
    {}
    >>> for name, value in build_gate_reader(version("R12a"))(step).items():
    ...     print(name, value)
    early_reaction_gate_active True
    ignoring_signal_active True
    ignoring_signal_strength 0.5
    ignoring_geometry_active False
    ignoring_penalty_suppressed_for_stop False
    """
    known, readers = FIELDS.issuperset(reward.fields.values()), list[GateReader]()
    reads = {term.name: set(term.reads) for term in reward.terms} if known else {}
    if EARLY in reads:
        readers.append(_build_early(_build_term(reward, EARLY)))
    if IGNORED in reads:
        readers.append(_build_ignored(_build_term(reward, IGNORED), reads[IGNORED]))
    if not readers:
        return lambda step: {}
    return lambda step: {name: value for read in readers for name, value in read(step).items()}


def _build_term(reward: Reward, name: str) -> Callable[[Measurement], float]:
    """Return the function from a measured step to what one term of a reward pays."""
    score = build_scorer(reward.select_terms(name))
    return lambda step: score(step)[1][name]


def _build_early(pay: Callable[[Measurement], float]) -> GateReader:
    @lru_cache(maxsize=1024)  # most steps hear what another one heard
    def read(heard: tuple[Any, ...]) -> dict[str, Any]:
        return {"early_reaction_gate_active": pay(Measurement(inf, HARD, 3, 0.0, FAST, *heard)) != 0.0}

    return lambda step: read(step[HEARD])


def _build_ignored(pay: Callable[[Measurement], float], reads: set[str]) -> GateReader:
    def pay_idle(distance: float, closing_rate: float, heard: tuple[Any, ...]) -> float:
        """Return what it costs a car that drives on to do nothing."""
        return pay(Measurement(distance, 0.0, 0, closing_rate, FAST, *heard))

    most = pay_idle(0.0, CLOSING, WARNED)
    near = bool(reads & {"distance", "closing_rate"})
    stops = "ego_speed" in reads

    @lru_cache(maxsize=1024)
    def find_strength(heard: tuple[Any, ...]) -> float:
        return abs(pay_idle(0.0, CLOSING, heard) / most) if most else 0.0  # no -0.0

    def read(step: Measurement) -> dict[str, Any]:
        strength = find_strength(step[HEARD])
        is_geometry = pay_idle(step.distance, step.closing_rate, WARNED) != 0.0 if near else most != 0.0
        may_stop = stops and is_geometry and strength != 0.0
        return {
            "ignoring_signal_active": strength != 0.0,
            "ignoring_signal_strength": strength,
            "ignoring_geometry_active": is_geometry,
            "ignoring_penalty_suppressed_for_stop": may_stop and pay(step) == 0.0 != pay(step._replace(ego_speed=FAST)),
        }

    return read
