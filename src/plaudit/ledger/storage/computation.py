"""What computed a record: the target, the dtype it computed in, and the dtypes that the inputs came in.

A block says it in one short text, for all of its records: `numpy`, `python float32`, `numpy float32:action`,
`torch/float32 float32`. What is not said is float64, as it was before there were any dtypes on record.
"""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from numpy.typing import NDArray

from plaudit.errors import LedgerError
from plaudit.language.program import Program
from plaudit.reward.reward import Reward
from plaudit.targets.compiled import FLOATS, Scores
from plaudit.targets.dtypes import NARROW, Dtypes, find_rounded, round_array
from plaudit.targets.inputs import list_columns, list_slots

WIDE = "float64"
NATIVE = ("python", "numpy")
"""Targets that are always there, and compute in float64."""
LIBRARIES = ("jax", "torch")
"""Targets that compute in the dtype of the inputs."""

_TEXT = re.compile(r"(?P<target>[a-z]+)(?:/(?P<dtype>[a-z0-9]+))?(?: (?P<inputs>.+))?")

Columns = Mapping[str, NDArray[Any]]


class Computation(NamedTuple):
    """What computed a record."""

    target: str
    dtype: str = WIDE
    """What it computed in."""
    inputs: Dtypes = ()
    """The inputs that came as floats narrower than float64, with their dtypes."""

    @property
    def is_wide(self) -> bool:
        """Whether it computed in float64."""
        return self.dtype == WIDE

    @property
    def is_installed(self) -> bool:
        """Whether this machine can compute so."""
        return self.target not in LIBRARIES or find_spec(self.target) is not None

    def format(self, program: Program) -> str:
        """Return it as a block of a reward with this Program says it."""
        computed = self.target if self.is_wide else f"{self.target}/{self.dtype}"
        return " ".join([computed, *_format_inputs(program, self.inputs)])


def _list_numbers(program: Program) -> tuple[str, ...]:
    return tuple(column.name for column in list_columns(program) if column.slots[0].field.kind == "number")


def _format_inputs(program: Program, inputs: Dtypes) -> list[str]:
    """Return dtypes as text: one for all columns of numbers, or each with those that have it."""
    dtypes = dict(inputs)
    if set(dtypes) == set(_list_numbers(program)) and len(set(dtypes.values())) == 1:
        return [*dict.fromkeys(dtypes.values())]
    return [
        f"{dtype}:{','.join(name for name in dtypes if dtypes[name] == dtype)}"
        for dtype in dict.fromkeys(dtypes.values())
    ]


def parse_computation(text: str, program: Program) -> Computation:
    """Return what a block of a reward with this Program says; LedgerError where no plaudit wrote it.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def push(force):
    ...     return force
    >>> program = Reward("pushing", version="1", terms=[push], fields=[Field("force")]).program
    >>> parse_computation("torch/float32 float32", program)
    Computation(target='torch', dtype='float32', inputs=(('force', 'float32'),))
    """
    found = _TEXT.fullmatch(text)
    target, dtype, listed = found.group("target", "dtype", "inputs") if found else ("", None, None)
    known = target in (*NATIVE, *LIBRARIES) and (dtype is None or (dtype in FLOATS and target in LIBRARIES))
    inputs: dict[str, str] = {}
    places = {name for slot in list_slots(program) for name in (slot.name, slot.column)}
    for part in (listed or "").split():
        narrow, colon, names = part.partition(":")
        columns = names.split(",") if colon else _list_numbers(program)
        known = known and narrow in NARROW and all(name in places for name in columns)
        inputs |= dict.fromkeys(columns, narrow)
    if not known:
        raise LedgerError(f"the target {text!r:.80} is not known")
    return Computation(target, dtype or WIDE, tuple(inputs.items()))


def restore_columns(program: Program, columns: Columns, inputs: Dtypes) -> dict[str, NDArray[Any]]:
    """Return recorded columns as they came, in float64: rounded to their dtypes, and counted as a bound of `program`.

    A number that counted as a bound was recorded as that bound, which its dtype rounds to what came.
    """
    dtypes, found = dict(inputs), dict(columns)
    for slot in list_slots(program):
        dtype = dtypes.get(slot.name) or dtypes.get(slot.column)
        if dtype is not None and slot.name in found and slot.field.kind == "number":
            column = found[slot.name] = round_array(found[slot.name], dtype)
            for near, number in find_rounded(slot.field, dtype).items():
                column[column == near] = number
    return found


def score_in(computation: Computation, reward: Reward, columns: Columns) -> Scores:
    """Return what `computation` gives for columns of float64, bools and positions; NaN where a row is bad.

    Raises:
        MissingExtra: Its library is not installed.
    """
    if computation.target not in LIBRARIES:
        return reward.compile("numpy", on_bad="mask")(restore_columns(reward.program, columns, computation.inputs))
    dtypes = dict(computation.inputs)
    numbers = [slot for slot in list_slots(reward.program) if slot.field.kind == "number"]
    by_slot = {slot.name: dtypes.get(slot.name) or dtypes.get(slot.column, WIDE) for slot in numbers}
    compiled = reward.compile(computation.target, on_bad="mask", dtype=computation.dtype)
    scores: Scores = compiled.score_arrays(columns, by_slot)
    return scores
