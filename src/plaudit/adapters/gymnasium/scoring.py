"""Scoring the step of an environment: the reward, steps that cannot be scored, and the entries of `info`."""

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.components import CLIPPED_STEPS, COMPONENTS, MASKED_STEPS, WEIGHTS, list_components
from plaudit.errors import DefinitionError, InputError, UnknownInput, WrongType, did_you_mean
from plaudit.language.program import Program
from plaudit.ledger.storage.episode_parts import MASKED, to_number
from plaudit.reward.lower import clip_field
from plaudit.reward.reward import Reward
from plaudit.reward.schedules import NumberInForce
from plaudit.reward.signal import Signal
from plaudit.rows.on_bad import MaskCount, validate_on_bad
from plaudit.targets.inputs import collect_columns as flatten
from plaudit.targets.inputs import drop_unread, find_default, list_columns, list_slots, make_missing_error

Features = Callable[[Any, Any, Any, dict[str, Any]], Mapping[str, Any]]
"""A function of (obs, action, next_obs, info) that returns the reward's inputs by name."""
Floats = NDArray[np.float64]
Mode = Literal["replace", "add"]
OWN = "original_reward"
OWN_COMPONENTS = "original_reward_components"
"""Key for the environment's own components."""
ORIGINAL = "original.reward"
"""The environment's own reward as a component, with mode="add"; no term can have this name."""
CLIPPED = "clipped"
"""Key in the context of a step for numbers before they were clipped."""
MAX_MASKED = 0.01
"""Maximum share of masked steps; one among the first hundred is an error."""
_OUTCOMES = {OWN: 0, "terminal": 1, "terminated": 1, "truncated": 2}
"""The inputs that every step of an environment has, by the position of their outcome."""


class Scoring:
    """A reward, the function that extracts its inputs from a step, and the handling of unscorable steps."""

    def __init__(
        self,
        reward: Reward,
        features: Features,
        mode: str,
        *,
        on_bad: str = "mask",
        max_masked: float = MAX_MASKED,
        num_envs: int | None = None,
        steps_taken: int = 0,
    ) -> None:
        """Check and keep the arguments; DefinitionError if one is invalid.

        `num_envs` is the number of environments that run in parallel, if known.
        """
        _validate_reward(reward)
        _validate_features(features)
        validate_on_bad(on_bad)
        if mode not in get_args(Mode):
            known = get_args(Mode)
            raise DefinitionError(f"mode={mode!r} is not one of {', '.join(known)}.{did_you_mean(str(mode), known)}")
        if num_envs is not None:
            num_envs = _validate_count("num_envs", num_envs, least=1)
        self.features = features
        self.adds = mode == "add"
        self.on_bad = on_bad
        self.masked = MaskCount(reward.name, max_masked, unit="steps", per_batch=False)
        self.clipped = 0
        """Number of steps with clipped numbers."""
        self.num_envs = num_envs
        self.steps_taken = _validate_count("steps_taken", steps_taken, least=0)
        """Number of steps that all environments have taken; schedules follow it unless the features give a count."""
        self._frozen = False
        self._change(reward)
        self.components = self._list_components(reward)

    def _list_components(self, reward: Reward) -> tuple[str, ...]:
        return (*list_components(reward), *((ORIGINAL,) if self.adds else ()))

    def _change(self, reward: Reward) -> None:
        self.reward = reward
        counters = [name for name in reward.inputs if name in reward.program.counters and "." not in name]
        self._known = (*(name for name in _OUTCOMES if name in reward.inputs), *counters)
        """Inputs that are known without the features."""
        self._needed = frozenset(
            slot.column
            for slot in list_slots(reward.program)
            if not slot.record and slot.name not in self._known and find_default(reward.program, slot, False) is None
        )
        """Columns that the features must return at every step, except those of `prev` and `curr`."""
        weights = zip(reward.program.terms, reward._frame.weights, strict=True)
        self._moving = {name: weight for name, weight in weights if isinstance(weight, NumberInForce)}

    def change_reward(self, reward: Reward) -> None:
        """Use another reward from now on; DefinitionError if its components differ."""
        self.validate_change(reward)
        self._change(reward)

    def validate_change(self, reward: Reward) -> None:
        """Refuse a reward with other components than the sums of running episodes."""
        _validate_reward(reward)
        if self._list_components(reward) != self.components:
            raise DefinitionError(
                f"reward {reward.name!r} has the components {', '.join(self._list_components(reward))}, but running "
                f"episodes sum {', '.join(self.components)}. Wrap the environment again."
            )

    def read_fields(
        self,
        obs: Any,
        action: Any,
        next_obs: Any,
        info: dict[str, Any],
        outcomes: tuple[Any, Any, Any],
        *,
        envs: int | None = None,
    ) -> Mapping[str, Any]:
        """Return the reward's inputs: those from the features, and those that are known anyway.

        The latter are the step count and `outcomes`: the environment's own reward, and whether it terminated or was
        truncated.
        """
        given = self.features(obs, action, next_obs, info)
        if not isinstance(given, Mapping):
            raise WrongType(f"the features of reward {self.reward.name!r} must be a mapping, not {given!r:.60}")
        fields = drop_unread(self.reward.program, given)
        if not self._needed <= fields.keys():
            self._check_names(given)
        missing = [name for name in self._known if name not in fields]
        if not missing:
            return fields
        alone = self.num_envs is None and envs is None and not self._frozen
        if alone and self.reward.program.counters.intersection(missing):
            self._warn_of_own_count()
        count = self.steps_taken if envs is None else np.full(envs, float(self.steps_taken))
        return {**fields, **{name: outcomes[_OUTCOMES[name]] if name in _OUTCOMES else count for name in missing}}

    def _check_names(self, given: Mapping[str, Any]) -> None:
        """Raise if a column is missing, both whole and entry by entry."""
        for column in list_columns(self.reward.program):
            if column.name in self._needed - given.keys() and not any(slot.name in given for slot in column.slots):
                raise make_missing_error(self.reward.name, column.name, given)

    def _warn_of_own_count(self) -> None:
        """Warn once that schedules follow the steps of this environment only."""
        self.num_envs = 1
        warnings.warn(
            f"reward {self.reward.name!r} follows a schedule, and this wrapper counts only its own environment's "
            "steps. If several run in parallel, pass num_envs=... to each RewardWrapper, make them with "
            "plaudit.adapters.sb3.make_vec_env, or pass RewardTermsCallback() to model.learn().",
            stacklevel=4,
        )

    def sync_steps(self, steps_taken: int, num_envs: int) -> None:
        """Continue from a trainer's step count of `num_envs` environments."""
        self.steps_taken, self.num_envs, self._frozen = steps_taken, num_envs, False

    def freeze_steps(self, steps_taken: int) -> None:
        """Fix the step count."""
        self.steps_taken, self._frozen = _validate_count("steps_taken", steps_taken, least=0), True

    def count_steps(self, paid: int, envs: int = 1) -> None:
        """Count a step of `paid` of the `envs` environments in this wrapper."""
        if not self._frozen:
            self.steps_taken += paid * (self.num_envs or envs) // envs

    def find_weights(self, fields: Mapping[str, Any], envs: int | None = None) -> dict[str, Any]:
        """Return the current scheduled weights: numbers, or arrays of `envs` numbers."""
        if not self._moving:
            return {}
        given = {name: np.ravel(fields[name]) for name in self.reward.program.counters if name in fields}
        counts = {name: np.broadcast_to(column, envs or 1) for name, column in given.items()}
        apart = any((column != column[0]).any() for column in counts.values())
        rows = [
            [to_float(counts[name][env]) if name in counts else math.nan for name in self.reward.inputs]
            for env in range((envs or 1) if apart else 1)
        ]
        found = {name: [weight(row) for row in rows] for name, weight in self._moving.items()}
        if envs is None:
            return {name: weights[0] for name, weights in found.items()}
        return {name: np.broadcast_to(weights, envs).copy() for name, weights in found.items()}

    def score(self, fields: Mapping[str, Any]) -> tuple[Signal | None, Mapping[str, Any] | None]:
        """Return the signal of a step of one environment, and the rest of its record's context.

        The signal is None if the step is masked. Wrong names are an error whatever `on_bad` is.
        """
        try:
            signal = self.reward.score(**fields)
        except InputError as error:
            if self.on_bad == "raise" or isinstance(error, UnknownInput):
                raise
            if self.on_bad == "clip":
                held, given = clip_columns(self.reward.program, fields)
                signal = self.reward.score(**held)  # raises for anything else
                self.clipped += 1
                return signal, {CLIPPED: given}
            reason = shorten_error(error)
            self.mask(1, 1, reason)
            return None, {MASKED: reason}
        self.masked.seen += 1
        return signal, None

    def convert_row(self, fields: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the record row of a step that cannot be scored: NaN for values that cannot be read."""
        return self.reward._compiled.convert_row(fields, lenient=True)

    def describe(self, fields: Mapping[str, Any], about: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return further entries of `info`: scheduled weights, and whether the step was masked or clipped."""
        told: dict[str, Any] = {f"reward_{name}": said for name, said in (about or {}).items()}
        if weights := self.find_weights(fields):
            told[WEIGHTS] = weights
        counts = {MASKED_STEPS: self.masked.masked, CLIPPED_STEPS: self.clipped}
        return told | {name: count for name, count in counts.items() if count}

    def mask(self, masked: int, seen: int, reason: str) -> None:
        """Count steps that cannot be scored; `reason` is that of the first.

        Raises:
            TooManyMasked: More than `max_masked` of all steps so far are masked.
        """
        if not self.masked.masked:
            warnings.warn(f"a step could not be scored and earns 0 (on_bad='mask'): {reason}", stacklevel=4)
        self.masked.add(masked, seen, reason)


def shorten_error(error: InputError) -> str:
    """Return the first line of an error, for `info` and records."""
    return str(error).partition("\n")[0]


def join_reasons(reason: str | None, own: str) -> str:
    """Join the reason why a step has no score, if any, with the problem of its `own` reward."""
    return own if reason is None else f"{reason} Also, {own}"


def to_float(value: Any) -> float:
    """Return a value as a number; NaN if it is not one."""
    number = to_number(value)
    return math.nan if number is None else number


def _validate_reward(reward: object) -> None:
    if not isinstance(reward, Reward):
        raise DefinitionError(f"reward={reward!r:.60} is not a Reward.")


def _validate_features(features: object) -> None:
    """Refuse objects that cannot be called with (obs, action, next_obs, info)."""
    wanted = "a plain function of (obs, action, next_obs, info) that returns the reward's inputs by name"
    if not callable(features) or inspect.iscoroutinefunction(features):
        raise DefinitionError(f"features={features!r:.60} is not {wanted}.")
    try:
        signature = inspect.signature(features)
    except (TypeError, ValueError):  # some builtins have no signature
        return
    try:
        signature.bind("obs", "action", "next_obs", "info")
    except TypeError:
        name = getattr(features, "__name__", repr(features))
        raise DefinitionError(f"features={name}{signature} is not {wanted}.") from None


def _validate_count(name: str, count: object, *, least: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
        raise DefinitionError(f"{name}={count!r:.60} must be an integer of at least {least}.")
    return int(count)


def extend_info(info: Mapping[str, Any], **ours: Any) -> dict[str, Any]:
    """Return `info` with the entries of a wrapper; components that it already has are kept under another name.

    The environment's dictionary is not changed: it may be the same one at every step.
    """
    if COMPONENTS not in info:
        return {**info, **ours}
    kept = {f"{_}{OWN_COMPONENTS}": info[f"{_}{COMPONENTS}"] for _ in ("", "_") if f"{_}{COMPONENTS}" in info}
    return {**info, **kept, **ours}


def copy_observation(obs: Any) -> Any:
    """Return a copy of an observation: environments may overwrite the original."""
    if isinstance(obs, np.ndarray) and obs.dtype.kind != "O":
        return obs.copy()
    if type(obs) is dict:
        return {name: copy_observation(part) for name, part in obs.items()}
    if type(obs) is tuple:
        return tuple(map(copy_observation, obs))
    return deepcopy(obs)


def clip_columns(program: Program, fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of `fields` with numbers clipped to their ranges, and the originals of changed columns.

    Values that the reward accepts stay as they are: `clip_field` says which numbers can be clipped.
    """
    held = flatten(program, fields)
    given: dict[str, Any] = {}
    for column in list_columns(program):
        field = column.slots[0].field
        if field.outside != "raise" or clip_field(field) is field or column.slots[0].key in program.states:
            continue
        for name in {column.name, *(slot.name for slot in column.slots)} & held.keys():
            numbers = np.asarray(held[name])
            if numbers.dtype.kind not in "fiu":
                continue
            inside = np.clip(numbers, field.low, field.high)
            if ((inside != numbers) & (numbers == numbers)).any():
                held[name], given[name] = inside[()], numbers.tolist()
    return held, given
