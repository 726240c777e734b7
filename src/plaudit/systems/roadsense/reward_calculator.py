"""The reward R0 as a class of constants and methods: `calculate` returns the total and its breakdown."""

from functools import cache
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple

from plaudit import Reward
from plaudit.errors import DefinitionError, NotFinite, OutOfRange
from plaudit.systems.roadsense.versions import reward
from plaudit.targets.python import PythonReward

KNOBS = tuple(name for name in reward.params if not name.endswith(".weight"))
"""The knobs that are constants of the calculator: `safety.collision_dist` is `COLLISION_DIST`."""


class RewardCalculator:
    """Safety, comfort and appropriateness of one step behind the car ahead.

    The constants are the knobs of the reward R0; a subclass that changes one has another reward. A subclass may replace
    the three methods for the components too: then `calculate` adds up what they return.

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
        self._prepare()

    def _prepare(self) -> None:
        """Compile the reward with the constants, and see which methods are a subclass's own."""
        constants = tuple(getattr(self, knob.rpartition(".")[2].upper()) for knob in KNOBS)
        self._compiled = _compile(constants)
        self._replaced = tuple(name for name in _METHODS if getattr(type(self), name) is not _METHODS[name])
        self._function = self._compiled.whole.function
        self._components = itemgetter(self._compiled.whole.layout.total, *self._compiled.whole.layout.values)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is not compiled: another process compiles it again."""
        compiled = ("_compiled", "_replaced", "_function", "_components")
        return {name: value for name, value in vars(self).items() if name not in compiled}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, and compile."""
        vars(self).update(state)
        self._prepare()

    @property
    def reward(self) -> Reward:
        """The reward with these constants; DefinitionError where a subclass has a method that it does not know."""
        if self._replaced:
            raise DefinitionError(
                f"{type(self).__name__} calculates {', '.join(self._replaced)} itself, so it has no reward definition. "
                "Write a term and a reward that uses it."
            )
        return self._compiled.reward

    def _safety_reward(self, distance: float) -> float:
        return _run(self._compiled.safety, distance=distance)[0]

    def _comfort_penalty(self, deceleration: float) -> float:
        """Return the price of braking at `deceleration` m/s²: negative or zero."""
        return _run(self._compiled.comfort, deceleration=deceleration)[0]

    def _appropriateness_reward(self, distance: float, action: int) -> float:
        """Return the price of an action that does not fit the distance: negative or zero."""
        return _run(self._compiled.appropriateness, distance=distance, action=action)[0]

    def calculate(self, distance: float, action: int, deceleration: float) -> tuple[float, dict[str, Any]]:
        """Calculate the reward of one step.

        Args:
            distance: Distance to the nearest car ahead, in meters.
            action: The action, from 0 to 3.
            deceleration: The actual deceleration, in m/s².

        Returns:
            The reward, and its breakdown with the inputs.
        """
        if self._replaced:
            parts = self._add_up(distance, action, deceleration)
        elif type(distance) is float and type(deceleration) is float and type(action) is int and distance >= 0.0:
            parts = self._function(distance, deceleration, action)  # the usual types need no conversion
        else:
            outputs = _run(self._compiled.whole, distance=distance, action=action, deceleration=deceleration)
            parts = self._components(outputs)
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

    def _add_up(self, distance: float, action: int, deceleration: float) -> tuple[float, float, float, float]:
        """Return the total and the components as the methods give them, one of which a subclass replaced."""
        safety = self._safety_reward(distance)
        comfort = self._comfort_penalty(deceleration)
        appropriateness = self._appropriateness_reward(distance, action)
        total = safety + comfort + appropriateness
        if not isfinite(total):
            raise NotFinite(
                f"{type(self).__name__}: {safety!r} + {comfort!r} + {appropriateness!r} is not a finite reward."
            )
        return total, safety, comfort, appropriateness


_METHODS = {
    name: getattr(RewardCalculator, name) for name in ("_safety_reward", "_comfort_penalty", "_appropriateness_reward")
}
"""What a subclass may replace."""


class _Compiled(NamedTuple):
    """A reward and its compiled form, whole and each term alone."""

    reward: Reward
    whole: PythonReward
    safety: PythonReward
    comfort: PythonReward
    appropriateness: PythonReward


@cache
def _compile(constants: tuple[float, ...]) -> _Compiled:
    """Return the reward with these constants, then its compiled form and that of each term alone."""
    adjusted = reward.with_params(dict(zip(KNOBS, constants, strict=True)))
    parts = [adjusted, *(adjusted.select_terms(term.name) for term in adjusted.terms)]
    return _Compiled(adjusted, *(part.compile("python") for part in parts))


def _run(compiled: PythonReward, **inputs: Any) -> tuple[float, ...]:
    """Return the outputs for a step, the total first; cars that overlap (a distance below 0) count as touching."""
    try:
        return compiled.run(inputs)
    except OutOfRange:
        if not inputs.get("distance", 0.0) < 0:
            raise
        return compiled.run(inputs | {"distance": 0.0})
