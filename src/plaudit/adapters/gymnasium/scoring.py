"""What a step of one environment or of many is paid, and what `info` tells of it."""

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.components import COMPONENTS, has_clamp, list_components
from plaudit.adapters.gymnasium.states import BatchStates
from plaudit.errors import DefinitionError, ShapeMismatch, WrongType, did_you_mean
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.targets.array import gather
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.dtypes import Dtypes
from plaudit.targets.inputs import collect_columns as flatten
from plaudit.targets.inputs import find_dtypes
from plaudit.targets.numpy import convert_column

if TYPE_CHECKING:
    from plaudit.adapters.gymnasium.numba import NumbaBatch

Features = Callable[[Any, Any, Any, dict[str, Any]], Mapping[str, Any]]
"""From (obs, action, next_obs, info) to the reward's inputs by name."""
Floats = NDArray[np.float64]
Mode = Literal["replace", "add"]
OWN = "original_reward"
OWN_COMPONENTS = "original_reward_components"
"""Where components that the environment itself gives are kept."""
ORIGINAL = "original.reward"
"""The component that the environment's own reward is, where it is added to; no term can be called this."""
_OUTCOMES = {OWN: 0, "terminal": 1, "terminated": 1, "truncated": 2}
"""The inputs that every step of an environment has, and which of its outcomes each is."""
MANY = 256
"""From how many environments on compiling for a second pays."""


class Scoring:
    """A reward, the function that reads its inputs off a step, and what becomes of the environment's own reward."""

    def __init__(self, reward: Reward, features: Features, mode: str, *, steps_taken: int = 0) -> None:
        """Keep them; DefinitionError where one is not what it should be."""
        _validate_reward(reward)
        count: object = steps_taken
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise DefinitionError(f"steps_taken={steps_taken!r:.60} must be an integer from 0 up.")
        if not callable(features) or inspect.iscoroutinefunction(features):  # type: ignore[redundant-expr]
            wanted = "a plain function of (obs, action, next_obs, info) to the reward's inputs"
            raise DefinitionError(f"features={features!r:.60} is not {wanted}.")
        if mode not in get_args(Mode):
            known = get_args(Mode)
            raise DefinitionError(f"mode={mode!r} is not one of {', '.join(known)}.{did_you_mean(str(mode), known)}")
        self.features = features
        self.adds = mode == "add"
        self.steps_taken = int(steps_taken)
        """How many steps were paid for, in all episodes: what schedules follow unless the features say otherwise."""
        self.reward = reward
        self.components = self._list_components(reward)
        self._known = self._list_known(reward)

    def _list_components(self, reward: Reward) -> tuple[str, ...]:
        return (*list_components(reward), *((ORIGINAL,) if self.adds else ()))

    def _list_known(self, reward: Reward) -> tuple[str, ...]:
        """Return the inputs that are known without the features."""
        said = (name for name in _OUTCOMES if name in reward.inputs)
        return (*said, *(name for name in reward.inputs if name in reward.program.counters and "." not in name))

    def change_reward(self, reward: Reward) -> None:
        """Pay by another reward from now on; DefinitionError where its total is made of other parts."""
        self.validate_change(reward)
        self.reward, self._known = reward, self._list_known(reward)

    def validate_change(self, reward: Reward) -> None:
        """Refuse a reward whose total is made of other parts, which the sums of running episodes do not have."""
        _validate_reward(reward)
        if self._list_components(reward) != self.components:
            raise DefinitionError(
                f"reward {reward.name!r} has the components {', '.join(self._list_components(reward))}, and the sums "
                f"of running episodes are of {', '.join(self.components)}; wrap the environment anew."
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
        """Return what the features give for a step, with what is known anyway: the count of steps and `outcomes`.

        These are the environment's own reward, and whether it terminated or was truncated.
        """
        fields = self.features(obs, action, next_obs, info)
        if not isinstance(fields, Mapping):
            raise WrongType(f"the features of reward {self.reward.name!r} must be a mapping, not {fields!r:.60}")
        missing = [name for name in self._known if name not in fields]
        if not missing:
            return fields
        count = self.steps_taken if envs is None else np.full(envs, float(self.steps_taken))
        return {**fields, **{name: outcomes[_OUTCOMES[name]] if name in _OUTCOMES else count for name in missing}}


def _validate_reward(reward: object) -> None:
    if not isinstance(reward, Reward):
        raise DefinitionError(f"{reward!r:.60} is not a Reward.")


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


class BatchScorer:
    """Scores a row for each environment, but for those that began anew, which may hold anything.

    What comes back is the total of each, and a block: a row for each term and, where the total has limits, one for
    what they add.
    """

    def __init__(self, reward: Reward, count: int, *, spare: int = 0) -> None:
        """Prepare for `count` environments; blocks get `spare` rows after the others."""
        self._reward = reward
        self._shape = (count,)
        self._terms = len(reward.program.terms)
        self._clamp = has_clamp(reward)
        self._size = (self._terms + self._clamp + spare, count)
        self._categories = any(field.kind == "category" for field in reward.program.inputs.values())
        self._numba = _build_numba_batch(reward, count) if count >= MANY else None
        self._score = self._numba or reward.compile("numpy", on_bad="mask")
        self._states = BatchStates(reward.program, count) if reward.states else None

    def __call__(self, fields: Mapping[str, Any], begun: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the totals and a block; all of it is 0 for environments that have `begun` anew.

        States go on by a step, but for those environments; where a row cannot be scored all of them stay.
        """
        if self._states is None:
            total, block = self._score_fields(fields, begun)
        else:
            with self._states.stepping(begun):
                total, block = self._score_fields(fields, begun)
        if len(begun):
            total[begun] = 0.0
            block[:, begun] = 0.0
        if self._clamp:
            np.subtract(total, np.add.reduce(block[: self._terms]), out=block[self._terms])
        return total, block

    def zeros(self) -> tuple[Floats, Floats]:
        """Return the totals and a block for environments that have all begun anew."""
        return np.zeros(self._shape), np.zeros(self._size)

    def begin(self, which: NDArray[np.intp]) -> None:
        """Begin an episode in some environments: their states are what they are initially."""
        if self._states:
            self._states.begin(which)

    def _score_fields(self, fields: Mapping[str, Any], begun: NDArray[np.intp]) -> tuple[Floats, Floats]:
        total, block = np.empty(self._shape), np.empty(self._size)
        given = self._encode(fields) if self._categories else fields
        before, after = ((), ()) if self._states is None else (self._states.before, self._states.after)
        columns = self._numba and self._numba.take_columns(given, before)
        if self._numba and columns:
            ok = self._numba.write(columns, total, block, after)
        else:
            ok = self._write_scores(given, total, block)
        if not ok.all():
            self._refuse(fields, ok, begun)
        return total, block

    def _write_scores(self, fields: Mapping[str, Any], total: Floats, block: Floats) -> NDArray[np.bool_]:
        """Write the totals and a row of `block` for each term, of any columns; return which rows count."""
        if self._states is None:
            scores = self._score(fields)
        else:
            scores, state = self._score.step(fields, self._states.list_before())
        if scores.total.shape not in ((), self._shape):
            raise self._wrong_shape(fields)
        if self._states is not None:
            self._states.write_after(state)
        total[:] = scores.total
        for at, values in enumerate(scores.values.values()):
            block[at] = values
        return np.broadcast_to(scores.ok, self._shape)

    def build_inputs(self, fields: Mapping[str, Any]) -> tuple[Floats, Dtypes]:
        """Return the rows themselves, a column for each input of the reward in order, and the dtypes they came in."""
        flat = self._flatten(fields)
        arguments, _ = self._convert_inputs(flat)
        rows = np.empty((*self._shape, len(arguments)))
        for at, argument in enumerate(arguments):
            rows[:, at] = argument
        return rows, find_dtypes(self._reward.program, flat)

    def _flatten(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a step under their whole names, states among them, categories as positions."""
        given = self._states.join(fields) if self._states else fields
        return flatten(self._reward.program, self._reward.encode(given))

    def _convert_inputs(self, flat: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        reward = self._reward

        def convert_field(name: str, field: Field, value: Any) -> tuple[Any, Any]:
            return convert_column(reward.name, name, field, value)

        arguments, exact, _ = gather(reward.program, flat, convert_field)
        return arguments, exact

    def _encode(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns with categories as positions, without the states."""
        if self._states is None:
            return self._reward.encode(fields)
        encoded = self._reward.encode(self._states.join(fields))
        return {name: value for name, value in encoded.items() if name.removeprefix("prev.") not in self._reward.states}

    def _wrong_shape(self, fields: Mapping[str, Any]) -> ShapeMismatch:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in fields.items())
        return ShapeMismatch(
            f"the features of reward {self._reward.name!r} give {shapes}; one value for each of the "
            f"{self._shape[0]} environments is needed."
        )

    def _refuse(self, fields: Mapping[str, Any], ok: NDArray[np.bool_], begun: NDArray[np.intp]) -> None:
        """Raise for the first environment whose row cannot be scored."""
        bad = np.setdiff1d(np.flatnonzero(~ok), begun)
        if len(bad):
            arguments, exact = self._convert_inputs(self._flatten(fields))
            error = diagnose_first_bad(self._reward.program.bind(), arguments, int(bad[0]), guard=True, exact=exact)
            raise type(error)(f"environment {bad[0]}: {error}")


def _build_numba_batch(reward: Reward, count: int) -> "NumbaBatch | None":
    """Return the reward compiled to machine code, or None where Numba is not installed."""
    try:
        from plaudit.adapters.gymnasium.numba import NumbaBatch
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").partition(".")[0] == "plaudit":
            raise
        return None
    return NumbaBatch(reward.program, count)
