"""Rows of Python values as the columns that array targets take."""

import numpy as np


def as_inputs(row):
    """Return one row as the mapping that the `python` target takes: `prev` and `curr` nested."""
    nested = {}
    for column, value in row.items():
        end, _, name = column.rpartition(".")
        if end:
            nested.setdefault(end, {})[name] = value
        else:
            nested[column] = value
    return nested


def as_columns(case, rows, *, dtype=np.float64):
    """Return rows as columns: categories as positions (an unknown one beyond the last), absent values filled in."""
    named = {f.name: f for f in case.fields}
    return {
        column: _column(named.get(column.rpartition(".")[2]), [row[column] for row in rows], dtype)
        for column in rows[0]
    }


def _column(field, values, dtype):
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


def _position(field, value):
    value = field.other if value is not None and value not in field.labels else value
    return field.labels.index(value) if value in field.labels else len(field.labels)


def as_arguments(program, columns):
    """Return columns in the order of the inputs, numbers as float64, vectors entry by entry."""
    found = []
    for name in program.inputs:
        column, bracket, entry = name.partition("[")
        array = columns[column][:, int(entry[:-1])] if bracket else columns[column]
        found.append(array.astype(np.float64) if array.dtype.kind == "f" else array)
    return found
