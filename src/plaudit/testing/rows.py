"""Rows aimed at the places where a reward changes, as Python values and as the columns that array targets take."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from plaudit.checks.parity.candidates import list_odd_values
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.testing.cases import BAD, Case, Dtype

Row = dict[str, Any]
"""A value for each column: `prev.x` and `curr.x` by these names, strings for categories, a tuple for a vector."""
Columns = dict[str, Any]


def draw_rows(
    case: Case, seed: int, count: int, *, dtype: Dtype = np.float64, bad: float = 0.06, small: bool = False
) -> list[Row]:
    """Return rows as dicts from column to Python value, aimed at the constants of the reward and their neighbours.

    About `bad` of the values are outside what their field allows. With `small`, numbers are of normal size.
    """
    chance = random.Random(seed)
    program = case.reward.program
    named = {f.name: f for f in case.fields}
    columns = list(dict.fromkeys(name.partition("[")[0] for name in program.inputs))
    aims = _aims(program)
    found = []
    for _ in range(count):
        row: Row = {}
        for column in columns:
            if column == "terminal":
                row[column] = chance.random() < 0.5
                continue
            field = named[column.rpartition(".")[2]]
            values = [_value(field, chance, aims, dtype, bad, small) for _ in range(field.length or 1)]
            if column in program.terminal and field.missing is None and values[0] in (None, BAD):
                values = [
                    field.at_rest
                ]  # whether such a value is refused at a step that is not the end: see test_python
            row[column] = tuple(values) if field.length else values[0]
        found.append(row)
    return found


def _aims(program: Program) -> list[float]:
    found = [value for node in program.nodes if isinstance(node, n.Const) and not isinstance(value := node.value, bool)]
    found += [value for value in program.params.values() if not isinstance(value, bool)]
    return sorted({float(value) for value in found if math.isfinite(value)} | {0.0, 1.0, -1.0, 0.5, 3.0})


def _value(field: Field, chance: random.Random, aims: Sequence[float], dtype: Dtype, bad: float, small: bool) -> Any:
    wrong = chance.random() < bad
    if field.kind == "category":
        if not wrong:
            return chance.choice(field.labels)
        return chance.choice((BAD, None)) if field.length is None else BAD
    if field.kind == "flag":
        return None if wrong and field.length is None and field.missing is not None else chance.random() < 0.5
    if field.numbers:
        return int(chance.choice((7, -1, 4))) if wrong else int(chance.choice(field.numbers))
    if wrong:
        beyond = list_odd_values(field, single=dtype is np.float32)
        return chance.choice(beyond if field.length else [*beyond, None])
    if field.infinite and chance.random() < 0.2:
        return math.inf
    value = _aimed(chance, aims, dtype, small)
    low = -math.inf if field.low is None else field.low
    high = math.inf if field.high is None else field.high
    if field.outside != "raise" or low <= value <= high:
        return value
    inside = chance.uniform(max(low, -50.0), min(high, 50.0))
    return float(
        dtype(chance.choice((inside, low if low > -math.inf else inside, high if high < math.inf else inside)))
    )


def _aimed(chance: random.Random, aims: Sequence[float], dtype: Dtype, small: bool) -> float:
    if small:
        return chance.choice((chance.uniform(-4.0, 4.0), chance.randint(-8, 8) / 2, chance.choice(aims)))
    aim = dtype(chance.choice(aims))
    match chance.randrange(8):
        case 0 | 1:
            return float(aim)
        case 2 if aim:
            return float(np.nextafter(aim, dtype(math.inf)))
        case 3 if aim:
            return float(np.nextafter(aim, dtype(-math.inf)))
        case 4:
            return chance.choice((0.0, -0.0, 1e6, -1e6, 1e15, 1e300, -1e300, 1e-9))
        case 5:
            return float(dtype(chance.uniform(-1.0, 1.0)))
        case 6:
            return float(chance.randint(-6, 6))
    return float(dtype(chance.uniform(-12.0, 12.0)))


# -- as targets take them ------------------------------------------------------------------------------------------


def as_inputs(row: Row) -> dict[str, Any]:
    """Return one row as the mapping that the `python` target takes: `prev` and `curr` nested."""
    nested: dict[str, Any] = {}
    for column, value in row.items():
        end, _, name = column.rpartition(".")
        if end:
            nested.setdefault(end, {})[name] = value
        else:
            nested[column] = value
    return nested


def as_columns(case: Case, rows: Sequence[Row], *, dtype: Dtype = np.float64) -> Columns:
    """Return rows as columns: categories as positions (an unknown one beyond the last), absent values filled in."""
    named = {f.name: f for f in case.fields}
    return {
        column: _column(named.get(column.rpartition(".")[2]), [row[column] for row in rows], dtype)
        for column in rows[0]
    }


def _column(field: Field | None, values: list[Any], dtype: Dtype) -> Any:
    if field is None:  # terminal
        return np.array(values, bool)
    values = [field.missing if value is None else value for value in values]
    if field.kind == "category":
        return np.array([_position(field, value) for value in values])
    if field.kind == "flag":
        return np.array(values, bool)
    if field.length is None:
        values = [np.nan if value is None else value for value in values]
    with np.errstate(over="ignore"):
        return np.array(values, dtype)


def _position(field: Field, value: Any) -> int:
    value = field.other if value is not None and value not in field.labels else value
    return field.labels.index(value) if value in field.labels else len(field.labels)


def as_arguments(program: Program, columns: Columns) -> list[Any]:
    """Return columns in the order of the inputs, numbers as float64, vectors entry by entry."""
    found = []
    for name in program.inputs:
        column, bracket, entry = name.partition("[")
        array = columns[column][:, int(entry[:-1])] if bracket else columns[column]
        found.append(array.astype(np.float64) if array.dtype.kind == "f" else array)
    return found
