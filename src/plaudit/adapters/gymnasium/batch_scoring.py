"""Rewards for many environments at once: a row for each, scored together."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.components import has_clamp
from plaudit.adapters.gymnasium.scoring import Floats, clip_columns, to_float
from plaudit.adapters.gymnasium.states import BatchStates
from plaudit.errors import InputError, MissingField, ShapeMismatch, WrongType
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.targets.array import gather
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.dtypes import Dtypes
from plaudit.targets.inputs import collect_columns as flatten
from plaudit.targets.inputs import encode_category, find_dtypes, list_columns, list_slots
from plaudit.targets.numpy import convert_column

if TYPE_CHECKING:
    from plaudit.adapters.gymnasium.numba import NumbaBatch

MANY = 256
"""Number of environments from which a second of compiling is worth it."""


class PaidSteps(NamedTuple):
    """The rewards of a step in many environments."""

    total: Floats
    block: Floats
    """A row for each term and, if the total has a clamp, one for its effect."""
    fields: Mapping[str, Any]
    """The inputs that were scored."""
    errors: Mapping[int, InputError] = MappingProxyType({})
    """Errors by environment for steps that could not be scored; they earn 0."""
    clipped: Mapping[int, Mapping[str, Any]] = MappingProxyType({})
    """Numbers by environment before they were clipped to their ranges."""


class BatchScorer:
    """Scores a row for each environment, except those that were just reset, whose rows may contain anything."""

    def __init__(self, reward: Reward, count: int, *, on_bad: str, spare: int = 0) -> None:
        """Prepare for `count` environments; blocks get `spare` rows after the others."""
        self._reward = reward
        self._on_bad = on_bad
        self._shape = (count,)
        self._terms = len(reward.program.terms)
        self._clamp = has_clamp(reward)
        self._size = (self._terms + self._clamp + spare, count)
        self._categories = [at for at, f in enumerate(reward.program.inputs.values()) if f.kind == "category"]
        self._numba = _build_numba_batch(reward, count) if count >= MANY else None
        self._score = self._numba or reward.compile("numpy", on_bad="mask")
        self._states = BatchStates(reward.program, count) if reward.states else None

    def __call__(self, fields: Mapping[str, Any], begun: NDArray[np.intp]) -> PaidSteps:
        """Return the rewards of the environments; 0 for those that were just reset (`begun`).

        States advance by a step, except in those environments and where a row cannot be scored.
        """
        if self._states is None:
            paid = self._pay(fields, begun)
        else:
            with self._states.stepping(begun):
                paid = self._pay(fields, begun)
                self._states.keep(list(paid.errors))
        total, block = paid.total, paid.block
        for unpaid in (begun, list(paid.errors)):
            if len(unpaid):
                total[unpaid] = 0.0
                block[:, unpaid] = 0.0
        if self._clamp:
            np.subtract(total, np.add.reduce(block[: self._terms]), out=block[self._terms])
        return paid

    def zeros(self) -> PaidSteps:
        """Return the rewards if all environments were just reset."""
        return PaidSteps(np.zeros(self._shape), np.zeros(self._size), {})

    def begin(self, which: NDArray[np.intp]) -> None:
        """Begin an episode in some environments with the initial states."""
        if self._states:
            self._states.begin(which)

    def _pay(self, fields: Mapping[str, Any], begun: NDArray[np.intp]) -> PaidSteps:
        try:
            total, block, ok = self._score_fields(fields)
        except (MissingField, WrongType):
            if self._on_bad != "mask":
                raise
            fields = self._drop_objects(fields)
            total, block, ok = self._score_fields(fields)
        if ok.all():
            return PaidSteps(total, block, fields)
        bad = np.setdiff1d(np.flatnonzero(~ok), begun)
        if not len(bad):
            return PaidSteps(total, block, fields)
        if self._on_bad != "clip":
            return PaidSteps(total, block, fields, self._explain(fields, bad))
        fields, clipped = self._clip(fields, bad)
        total, block, ok = self._score_fields(fields)
        self._explain(fields, np.setdiff1d(np.flatnonzero(~ok), begun))  # raises for anything else
        return PaidSteps(total, block, fields, clipped=clipped)

    def _drop_objects(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the columns with NaN for entries that are not numbers, such as None."""
        flat = self._flatten(fields)
        odd: dict[str, Any] = {}
        for slot in list_slots(self._reward.program):
            name = slot.name if slot.name in flat else slot.column
            if slot.field.kind == "number" and (column := np.asarray(flat[name])).dtype.kind == "O":
                odd[name] = np.array([to_float(each) for each in column.reshape(-1)]).reshape(column.shape)
        return {**fields, **odd}

    def _explain(self, fields: Mapping[str, Any], bad: NDArray[np.intp]) -> dict[int, InputError]:
        """Return the errors of rows that cannot be scored; raise the first unless they are masked."""
        if not len(bad):
            return {}
        arguments, exact = self._convert_inputs(self._encode(fields))
        program = self._reward.program.bind()
        errors: dict[int, InputError] = {}
        for env in bad.tolist():
            error = diagnose_first_bad(program, arguments, env, guard=True, exact=exact)
            errors[env] = type(error)(f"environment {env}: {error}")
            if self._on_bad != "mask":
                raise errors[env]
        return errors

    def _clip(
        self, fields: Mapping[str, Any], bad: NDArray[np.intp]
    ) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
        """Return the columns with numbers of some rows clipped to their ranges, and the original numbers by row."""
        program, flat = self._reward.program, self._flatten(fields)
        held, given = clip_columns(program, flat)
        vectors = {column.name: column.slots[0].field.shape for column in list_columns(program)}
        rows = np.isin(np.arange(*self._shape), bad)
        for name in given:
            shape = (*self._shape, *vectors.get(name, ()))  # one value, or one vector, may stand for all rows
            given[name] = np.broadcast_to(np.asarray(flat[name]), shape)
            inside = np.broadcast_to(held[name], shape)
            held[name] = np.where(rows.reshape(-1, *(1,) * (len(shape) - 1)), inside, given[name])
        states = {f"prev.{name}" for name in self._reward.states}
        kept = {name: column for name, column in held.items() if name.partition("[")[0] not in states}
        changed = {
            env: {name: given[name][env].tolist() for name in given if (given[name][env] != held[name][env]).any()}
            for env in bad.tolist()
        }
        return kept, changed

    def _score_fields(self, fields: Mapping[str, Any]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        total, block = np.empty(self._shape), np.empty(self._size)
        given = self._drop_states(self._encode(fields)) if self._categories else fields
        before, after = ((), ()) if self._states is None else (self._states.before, self._states.after)
        columns = self._numba and self._numba.take_columns(given, before)
        if self._numba and columns:
            ok = self._numba.write(columns, total, block, after)
        else:
            ok = self._write_scores(given, total, block)
        return total, block, ok

    def _write_scores(self, fields: Mapping[str, Any], total: Floats, block: Floats) -> NDArray[np.bool_]:
        """Write the totals and a row of `block` for each term from any columns; return which rows are valid."""
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
        """Return the rows, a column for each input of the reward in order, and their original dtypes."""
        flat = self._encode(fields)
        arguments, _ = self._convert_inputs(flat)
        rows = np.empty((*self._shape, len(arguments)))
        for at, argument in enumerate(arguments):
            rows[:, at] = argument
        for at in self._categories:
            rows[rows[:, at] < 0, at] = np.nan  # an unknown string
        return rows, find_dtypes(self._reward.program, flat)

    def _flatten(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a step under their full names, including states."""
        return flatten(self._reward.program, self._states.join(fields) if self._states else fields)

    def _encode(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same with categories as positions; with masking, -1 for an unknown string."""
        flat = self._flatten(fields)
        for slot in list_slots(self._reward.program):
            if slot.field.kind == "category":
                name = slot.name if slot.name in flat else slot.column
                lenient = self._on_bad == "mask"
                flat[name] = encode_category(self._reward.name, name, slot.field, flat[name], lenient=lenient)
        return flat

    def _drop_states(self, flat: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in flat.items() if name.removeprefix("prev.") not in self._reward.states}

    def _convert_inputs(self, flat: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        reward = self._reward

        def convert_field(name: str, field: Field, value: Any) -> tuple[Any, Any]:
            return convert_column(reward.name, name, field, value)

        arguments, exact, _ = gather(reward.program, flat, convert_field)
        return arguments, exact

    def _wrong_shape(self, fields: Mapping[str, Any]) -> ShapeMismatch:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in fields.items())
        return ShapeMismatch(
            f"the features of reward {self._reward.name!r} give {shapes}; give one value for each of "
            f"the {self._shape[0]} environments."
        )


def _build_numba_batch(reward: Reward, count: int) -> "NumbaBatch | None":
    """Return the reward compiled to machine code; None if Numba is not installed."""
    try:
        from plaudit.adapters.gymnasium.numba import NumbaBatch
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").partition(".")[0] == "plaudit":
            raise
        return None
    return NumbaBatch(reward.program, count)
