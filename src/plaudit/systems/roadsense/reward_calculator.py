"""The reward R0 as a class of constants and methods: `calculate` returns the total and its breakdown."""

from functools import cache
from operator import itemgetter
from typing import Any, final

from plaudit.errors import OutOfRange
from plaudit.systems.roadsense.versions import reward
from plaudit.targets.python import PythonReward

KNOBS = tuple(name for name in reward.params if not name.endswith(".weight"))
"""The knobs that are constants of the calculator: `safety.collision_dist` is `COLLISION_DIST`."""


class RewardCalculator:
    """Safety, comfort and appropriateness of one step behind the car ahead.

    The constants are the knobs of the reward R0; a subclass that changes one has another reward.

    >>> RewardCalculator().calculate(distance=30.0, action=0, deceleration=1.0)[0]
    1.0
    >>> class Careful(RewardCalculator):
    ...     UNSAFE_DIST = 18.0
    >>> Careful().calculate(distance=17.0, action=1, deceleration=1.0)[0]
    -5.0
    """

    # Distance thresholds (m)
    COLLISION_DIST = 5.0
    UNSAFE_DIST = 15.0
    SAFE_DIST_MIN = 20.0
    SAFE_DIST_MAX = 40.0

    # Reward values
    REWARD_COLLISION = -100.0
    REWARD_UNSAFE = -5.0
    REWARD_SAFE = +1.0
    REWARD_FAR = +0.5

    # Comfort thresholds (m/s²) and penalties
    HARSH_BRAKE_THRESHOLD = 4.5
    UNCOMFORTABLE_BRAKE_THRESHOLD = 3.0
    PENALTY_HARSH_BRAKE = -10.0
    PENALTY_UNCOMFORTABLE = -2.0

    # Appropriateness penalties
    PENALTY_UNNECESSARY_ALERT = -2.0
    PENALTY_MISSED_WARNING = -3.0

    def __init__(self) -> None:
        """Take the constants as they are now."""
        constants = tuple(getattr(self, knob.rpartition(".")[2].upper()) for knob in KNOBS)
        self.reward, self._whole, self._safety, self._comfort, self._appropriateness = _compile(constants)
        self._function = self._whole.function
        self._components = itemgetter(self._whole.layout.total, *self._whole.layout.values)

    @final
    def _safety_reward(self, distance: float) -> float:
        """Return the safety of a distance in metres."""
        return _run(self._safety, distance=distance)[0]

    @final
    def _comfort_penalty(self, deceleration: float) -> float:
        """Return the price of braking at `deceleration` m/s²: negative or zero."""
        return _run(self._comfort, deceleration=deceleration)[0]

    @final
    def _appropriateness_reward(self, distance: float, action: int) -> float:
        """Return the price of an action that does not fit the distance: negative or zero."""
        return _run(self._appropriateness, distance=distance, action=action)[0]

    @final
    def calculate(self, distance: float, action: int, deceleration: float) -> tuple[float, dict[str, Any]]:
        """Return the reward of one step and its breakdown, with the inputs as they were given."""
        if type(distance) is float and type(deceleration) is float and type(action) is int and distance >= 0.0:
            parts = self._function(distance, deceleration, action)  # the usual types need no conversion
        else:
            parts = self._components(_run(self._whole, distance=distance, action=action, deceleration=deceleration))
        total, safety, comfort, appropriateness = parts
        return total, {
            "reward_safety": safety,
            "reward_comfort": comfort,
            "reward_appropriateness": appropriateness,
            "reward_total": total,
            "distance": distance,
            "action": action,
            "deceleration": deceleration,
        }


@cache
def _compile(constants: tuple[float, ...]) -> tuple[Any, ...]:
    """Return the reward with these constants, then its compiled form and that of each term alone."""
    adjusted = reward.with_params(dict(zip(KNOBS, constants, strict=True)))
    parts = [adjusted, *(adjusted.only(term.name) for term in adjusted.terms)]
    return adjusted, *(part.compile("python") for part in parts)


def _run(compiled: PythonReward, **inputs: Any) -> tuple[float, ...]:
    """Return the outputs for a step, the total first; cars that overlap (a distance below 0) count as touching."""
    try:
        return compiled.run(inputs)
    except OutOfRange:
        if not inputs.get("distance", 0.0) < 0:
            raise
        return compiled.run(inputs | {"distance": 0.0})
