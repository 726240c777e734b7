"""What a step of an environment is paid, what is done about one that cannot be scored, and what `info` tells of it."""

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
"""From (obs, action, next_obs, info) to the reward's inputs by name."""
Floats = NDArray[np.float64]
Mode = Literal["replace", "add"]
OWN = "original_reward"
OWN_COMPONENTS = "original_reward_components"
"""Where components that the environment itself gives are kept."""
ORIGINAL = "original.reward"
"""The component that the environment's own reward is, where it is added to; no term can be called this."""
CLIPPED = "clipped"
"""Under which name the context of a step says what numbers were, before they were held within their ranges."""
MAX_MASKED = 0.01
"""Which share of steps may be masked: a few in a night; a step among the first hundred is an error."""
_OUTCOMES = {OWN: 0, "terminal": 1, "terminated": 1, "truncated": 2}
"""The inputs that every step of an environment has, and which of its outcomes each is."""


class Scoring:
    """A reward, the function that reads its inputs off a step, and what is done about steps it cannot score."""

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
        """Keep them; DefinitionError where one is not what it should be.

        `num_envs` is how many environments take their steps side by side, where that is known.
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
        """How many steps had numbers that were held within their ranges."""
        self.num_envs = num_envs
        self.steps_taken = _validate_count("steps_taken", steps_taken, least=0)
        """How many steps all environments have taken: what schedules follow unless the features say otherwise."""
        self._frozen = False
        self._change(reward)
        self.components = self._list_components(reward)

    def _list_components(self, reward: Reward) -> tuple[str, ...]:
        return (*list_components(reward), *((ORIGINAL,) if self.adds else ()))

    def _change(self, reward: Reward) -> None:
        self.reward = reward
        counters = [name for name in reward.inputs if name in reward.program.counters and "." not in name]
        self._known = (*(name for name in _OUTCOMES if name in reward.inputs), *counters)
        """The inputs that are known without the features."""
        self._needed = frozenset(
            slot.column
            for slot in list_slots(reward.program)
            if not slot.record and slot.name not in self._known and find_default(reward.program, slot, False) is None
        )
        """The columns that the features have to give at every step, those of `prev` and `curr` apart."""
        weights = zip(reward.program.terms, reward._frame.weights, strict=True)
        self._moving = {name: weight for name, weight in weights if isinstance(weight, NumberInForce)}

    def change_reward(self, reward: Reward) -> None:
        """Pay by another reward from now on; DefinitionError where its total is made of other parts."""
        self.validate_change(reward)
        self._change(reward)

    def validate_change(self, reward: Reward) -> None:
        """Refuse a reward whose total is made of other parts, which the sums of running episodes do not have."""
        _validate_reward(reward)
        if self._list_components(reward) != self.components:
            raise DefinitionError(
                f"reward {reward.name!r} has the components {', '.join(self._list_components(reward))}, and the sums "
                f"of running episodes are of {', '.join(self.components)}; wrap the environment again."
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
        """Return what the reward reads of what the features give, and what is known anyway.

        That is the count of steps, and `outcomes`: the environment's own reward, and whether it terminated or was
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
        """Raise where a column is not given at all, neither whole nor entry by entry."""
        for column in list_columns(self.reward.program):
            if column.name in self._needed - given.keys() and not any(slot.name in given for slot in column.slots):
                raise make_missing_error(self.reward.name, column.name, given)

    def _warn_of_own_count(self) -> None:
        """Say once that schedules follow the steps of this environment alone."""
        self.num_envs = 1
        warnings.warn(
            f"reward {self.reward.name!r} follows a schedule, and this wrapper counts its own environment's steps. "
            "If several run side by side, give each RewardWrapper(num_envs=...), make them with "
            "plaudit.adapters.sb3.make_vec_env, or pass RewardTermsCallback() to model.learn().",
            stacklevel=4,
        )

    def sync_steps(self, steps_taken: int, num_envs: int) -> None:
        """Go on counting from a trainer's count of the steps of `num_envs` environments."""
        self.steps_taken, self.num_envs, self._frozen = steps_taken, num_envs, False

    def freeze_steps(self, steps_taken: int) -> None:
        """Stay at a count of steps."""
        self.steps_taken, self._frozen = _validate_count("steps_taken", steps_taken, least=0), True

    def count_steps(self, paid: int, envs: int = 1) -> None:
        """Count a step of `paid` of the `envs` environments that are wrapped together."""
        if not self._frozen:
            self.steps_taken += paid * (self.num_envs or envs) // envs

    def find_weights(self, fields: Mapping[str, Any], envs: int | None = None) -> dict[str, Any]:
        """Return the weights that follow a schedule, as they are in this step: numbers, or arrays of `envs` of them."""
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
        """Return the signal of a step of one environment, and what its record says besides.

        There is no signal where the step is masked. Wrong names are an error whatever `on_bad` says.
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
        """Return a step that cannot be scored as a record has it: NaN for what cannot be read."""
        return self.reward._compiled.convert_row(fields, lenient=True)

    def describe(self, fields: Mapping[str, Any], about: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what `info` tells of a step besides: weights that move, and whether it was scored as it was given."""
        told: dict[str, Any] = {f"reward_{name}": said for name, said in (about or {}).items()}
        if weights := self.find_weights(fields):
            told[WEIGHTS] = weights
        counts = {MASKED_STEPS: self.masked.masked, CLIPPED_STEPS: self.clipped}
        return told | {name: count for name, count in counts.items() if count}

    def mask(self, masked: int, seen: int, reason: str) -> None:
        """Count steps that cannot be scored; `reason` says why the first of them cannot.

        Raises:
            TooManyMasked: They are more than `max_masked` of all steps so far.
        """
        if not self.masked.masked:
            warnings.warn(f"a step is not paid for, since on_bad is 'mask': {reason}", stacklevel=4)
        self.masked.add(masked, seen, reason)


def shorten_error(error: InputError) -> str:
    """Return the first line of an error: what `info` and records tell of a step that cannot be scored."""
    return str(error).partition("\n")[0]


def join_reasons(reason: str | None, own: str) -> str:
    """Return what is wrong with a step whose `own` reward cannot be added to, and which may have no score either."""
    return own if reason is None else f"{reason} Also, {own}"


def to_float(value: Any) -> float:
    """Return a value as a number; NaN where it is none."""
    number = to_number(value)
    return math.nan if number is None else number


def _validate_reward(reward: object) -> None:
    if not isinstance(reward, Reward):
        raise DefinitionError(f"reward={reward!r:.60} is not a Reward.")


def _validate_features(features: object) -> None:
    """Refuse what cannot be called with (obs, action, next_obs, info)."""
    wanted = "a plain function of (obs, action, next_obs, info) to the reward's inputs by name"
    if not callable(features) or inspect.iscoroutinefunction(features):
        raise DefinitionError(f"features={features!r:.60} is not {wanted}.")
    try:
        signature = inspect.signature(features)
    except (TypeError, ValueError):  # some builtins do not say what they take
        return
    try:
        signature.bind("obs", "action", "next_obs", "info")
    except TypeError:
        name = getattr(features, "__name__", repr(features))
        raise DefinitionError(f"features={name}{signature} is not {wanted}.") from None


def _validate_count(name: str, count: object, *, least: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
        raise DefinitionError(f"{name}={count!r:.60} must be an integer from {least} up.")
    return int(count)


def extend_info(info: Mapping[str, Any], **ours: Any) -> dict[str, Any]:
    """Return `info` with what a wrapper has to tell; components that were there already are kept under another name.

    The environment's dictionary is left alone: it may be the same one at every step.
    """
    if COMPONENTS not in info:
        return {**info, **ours}
    kept = {f"{_}{OWN_COMPONENTS}": info[f"{_}{COMPONENTS}"] for _ in ("", "_") if f"{_}{COMPONENTS}" in info}
    return {**info, **kept, **ours}


def copy_observation(obs: Any) -> Any:
    """Return an observation that nobody else holds: environments may write over the one they gave."""
    if isinstance(obs, np.ndarray) and obs.dtype.kind != "O":
        return obs.copy()
    if type(obs) is dict:
        return {name: copy_observation(part) for name, part in obs.items()}
    if type(obs) is tuple:
        return tuple(map(copy_observation, obs))
    return deepcopy(obs)


def clip_columns(program: Program, fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of `fields` with numbers held within their ranges, and those that this changed as they were.

    What a reward does not refuse stays as it is: `clip_field` says which numbers can be held.
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
