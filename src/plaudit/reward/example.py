"""Fields from an example: names, shapes, kinds and ranges of a row, a batch, a data frame or spaces of Gymnasium."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from plaudit.errors import DefinitionError, shorten
from plaudit.language.field import RECORDS, TERMINAL, Field
from plaudit.language.parameters import find_vector_shapes
from plaudit.language.shapes import list_entries
from plaudit.reward.task.statements import Seen
from plaudit.reward.task.task import Task

_UNBOUNDED = 1e30
"""Bounds of a space beyond this are a way to say that there are none."""
_MOST_CHOICES = 32
"""Choices of a Discrete space that are listed one by one."""
_SPACES = ("Box", "Discrete", "MultiBinary", "MultiDiscrete", "Text", "Dict", "Tuple", "Graph", "Sequence", "OneOf")


@dataclass
class Example:
    """What an example says of the fields of a reward."""

    fields: dict[str, Field] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    """Why values that are there are no fields, by name."""
    columns: dict[str, Any] = field(default_factory=dict)
    """The values of fields as arrays of NumPy, with the rows along the first axis where there are several."""
    rows: int | None = None
    """How many rows there are; None for a single one."""

    @property
    def size(self) -> int | None:
        """How long the first axis of every value is, where that may be a batch that is not said to be one."""
        sizes = {column.shape[0] if column.ndim else 0 for column in self.columns.values()}
        return max(sizes) if self.rows is None and len(sizes) == 1 and max(sizes) > 1 else None

    def observe_ranges(self) -> Task:
        """Return a task with the range that each number without a declared one has in the rows, as seen.

        Raises:
            DefinitionError: There are no rows, or a single one.
        """
        if self.rows is None or self.rows < 2:
            raise DefinitionError("observed=True needs several rows in example=: a data frame, or a batch of them")
        ranges = dict(self._list_ranges())
        count = Seen(self.rows, self.rows, "rows")
        seen = {f"fields.{name}": count for name in ranges}
        return Task("example", fields=ranges.values(), seen=seen, source=f"{self.rows:,} rows of an example")

    def _list_ranges(self) -> Iterator[tuple[str, Field]]:
        for name, declared in self.fields.items():
            free = declared.kind == "number" and not declared.values and declared.low is None and declared.high is None
            if free and name in self.columns:
                numbers = self.columns[name].astype(float)
                numbers = numbers[abs(numbers) < math.inf]
                if numbers.size:
                    ends: dict[str, Any] = {"low": float(numbers.min()), "high": float(numbers.max())}
                    yield name, Field(name, shape=declared.shape, infinite=declared.infinite, **ends)


def read_example(given: object, *, batched: bool) -> Example:
    """Return what an example says of fields; with `batched` all its values have the rows along their first axis.

    Raises:
        DefinitionError: It is no example, or its values do not have the same number of rows.
    """
    example = Example()
    frame = _read_frame(given)
    values = dict(_flatten(given)) if frame is None else frame
    rows = batched or frame is not None
    for name, value in values.items():
        try:
            _add_field(example, name, value, rows)
        except DefinitionError as problem:
            example.problems[name] = str(problem)
    return example


def _read_frame(given: Any) -> dict[str, Any] | None:
    """Return the columns of a data frame, entries `torque[0]`, `torque[1]` as one; None for anything else."""
    names = getattr(given, "column_names", getattr(given, "columns", None))
    if isinstance(given, Mapping) or names is None or not hasattr(given, "__getitem__"):
        return None
    columns = {str(name): _read_values(str(name), given[name]) for name in names}
    shapes = find_vector_shapes(name for name in columns if "[" in name)
    for whole, shape in shapes.items():
        entries = [f"{whole}{entry}" for entry in list_entries(shape)]
        if all(entry in columns for entry in entries):
            parts = [columns.pop(entry) for entry in entries]
            columns[whole] = [_nest(row, shape) for row in zip(*parts, strict=True)]
    return columns


def _read_values(name: str, column: Any) -> Any:
    """Return a column of Polars, pandas or Arrow as a list; a field where it declares its categories."""
    if type(column.dtype if hasattr(column, "dtype") else None).__name__ in ("CategoricalDtype", "Enum"):
        return Field(name, values=tuple(map(str, column.dtype.categories)))
    for listed in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, listed):
            return getattr(column, listed)()
    return list(column)


def _nest(row: Iterable[Any], shape: tuple[int, ...]) -> Any:
    import numpy as np

    return np.array(list(row)).reshape(shape)


def _flatten(given: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the values of a row by the names of fields; of mappings inside it, `robot_pos`, `cars_0_pos`."""
    parts: Any = getattr(given, "spaces", None) if _is_space(given) else given
    if path and _is_list_of_rows(parts):
        parts = dict(enumerate(parts))
    if not isinstance(parts, Mapping):
        if path:
            yield "_".join(path), given
            return
        what = f"a {type(given).__name__}" if not _is_space(given) else f"the space {shorten(given, 60)}"
        raise DefinitionError(
            f"example= is {what}, and its values need names: a row, {{'distance': 3.0}}; spaces, "
            "{'obs': env.observation_space, 'action': env.action_space}; or a data frame"
        )
    for key, value in parts.items():
        inner = path if key in RECORDS and not path else (*path, re.sub(r"\W+", "_", str(key)))
        yield from _flatten(value, inner) if _has_parts(value) else [("_".join(inner), value)]


def _has_parts(value: object) -> bool:
    if isinstance(value, Mapping) or _is_list_of_rows(value):
        return True
    return _is_space(value) and isinstance(getattr(value, "spaces", None), Mapping)


def _is_list_of_rows(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _is_space(value: object) -> bool:
    """Return whether a value is a space of Gymnasium, which need not be installed."""
    kinds = type(value).__mro__
    return any(each.__name__ in _SPACES and each.__module__.partition(".")[0] in ("gym", "gymnasium") for each in kinds)


def _add_field(example: Example, name: str, value: Any, rows: bool) -> None:
    """Add what the example says of a field."""
    if name == TERMINAL.name:
        return  # which any term may read
    if isinstance(value, Field):
        example.fields[name] = value
    elif _is_space(value):
        example.fields[name] = _read_space(name, value)
    else:
        column = _read_column(name, value)
        if rows:
            _count_rows(example, name, column)
        declared = _describe(name, column, rows)
        example.fields[name], example.columns[name] = declared, column


def _count_rows(example: Example, name: str, column: Any) -> None:
    if not column.ndim:
        raise DefinitionError(
            f"example=: {name!r} is a single value, and with batched=True every value has the rows along its first "
            f"axis; if it never changes, give it in shared={{{name!r}: ...}}"
        )
    if example.rows not in (None, len(column)):
        other = next(iter(example.columns))
        raise DefinitionError(
            f"example=: {name!r} has {len(column):,} rows and {other!r} has {example.rows:,}: with batched=True every "
            "value has the rows along its first axis"
        )
    example.rows = len(column)


def _read_column(name: str, value: Any) -> Any:
    """Return a value, or the values of all rows, as an array of NumPy."""
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        column = np.asarray(value)
    except ValueError:
        raise DefinitionError(f"example=: {name!r} is {shorten(value, 60)}, whose entries differ in length") from None
    if column.dtype.kind == "O" and column.size and all(isinstance(each, str) for each in column.ravel()):
        column = column.astype(str)
    if column.dtype.kind not in "biufUS":
        empty = column.dtype.kind == "O" and any(each is None for each in column.ravel())
        why = "is None in some rows" if empty else f"is {shorten(value, 60)}"
        raise DefinitionError(
            f"example=: {name!r} {why}, and not a number, a bool, a string or an array; declare it in "
            f"fields=[Field({name!r}, ...)]{', with missing=' if empty else ''}"
        )
    return column


def _describe(name: str, column: Any, rows: bool) -> Field:
    """Return the field of a value, or of the values of all rows."""
    import numpy as np

    shape = column.shape[1:] if rows else column.shape
    if column.dtype.kind == "b":
        return Field(name, flag=True, shape=shape)
    if column.dtype.kind in "US":
        if not rows or shape:
            raise DefinitionError(
                f"example=: {name!r} is a string, and a category lists all that it can be: "
                f"fields=[Field({name!r}, values=({str(column.ravel()[0])!r}, ...))]"
            )
        return Field(name, values=tuple(np.unique(column).tolist()))
    numbers = column.astype(float)
    if np.isnan(numbers).any() or np.isneginf(numbers).any():
        raise DefinitionError(f"example=: {name!r} is NaN or minus infinity in the example, which no field allows")
    return Field(
        name, shape=shape, infinite=bool(np.isposinf(numbers).any()), integers=_find_integer_dtype(column.dtype)
    )


def _find_integer_dtype(dtype: Any) -> str:
    """Return the name of a dtype of integers; nothing for any other."""
    return str(dtype.name) if dtype.kind in "iu" else ""


def _read_space(name: str, space: Any) -> Field:
    """Return the field of a space; of a Box the widest range of its entries."""
    kind = next(each.__name__ for each in type(space).__mro__ if each.__name__ in _SPACES)
    ends: dict[str, Any]
    if kind == "Discrete":
        first, count = int(getattr(space, "start", 0)), int(space.n)
        if count <= _MOST_CHOICES:
            return Field(name, values=tuple(range(first, first + count)))
        return Field(name, low=first, high=first + count - 1, integers="int64")
    if kind == "MultiBinary":
        return Field(name, flag=True, shape=tuple(space.shape))
    if kind == "MultiDiscrete":
        starts = getattr(space, "start", 0 * space.nvec)
        ends = {"low": starts.min(), "high": (starts + space.nvec).max() - 1}
        return Field(name, shape=tuple(space.shape), integers=_find_integer_dtype(space.nvec.dtype), **ends)
    if kind != "Box":
        raise DefinitionError(f"example=: {name!r} is a {kind} space, which is no number; declare it in fields=")
    if space.dtype.kind == "b":
        return Field(name, flag=True, shape=tuple(space.shape))
    low, high = float(space.low.min()), float(space.high.max())
    ends = {"low": None if low <= -_UNBOUNDED else low, "high": None if high >= _UNBOUNDED else high}
    return Field(name, shape=tuple(space.shape), integers=_find_integer_dtype(space.dtype), **ends)
