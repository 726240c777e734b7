"""One line of a file becomes the inputs of one step: JSON as it is, CSV by the kind of each field."""

import csv
from collections.abc import Callable, Sequence
from typing import Any

from plaudit.cli.score.shape import Row, Shape
from plaudit.errors import FileError, InputError, WrongType, did_you_mean
from plaudit.language.field import Kind
from plaudit.ledger.dataset.cells import clipped, flag_cell, json_row, number_cell
from plaudit.targets.rows import default_of

Reader = Callable[[str], Row | None]
"""From a line to the inputs of a step; None where the line is blank."""


def json_rows(shape: Shape) -> Reader:
    """Return a reader of JSON objects, flat (`{"prev.phase": …}`) or nested (`{"prev": {"phase": …}}`)."""
    arranged = shape.arranged
    checked = False

    def read(line: str) -> Row | None:
        nonlocal checked
        if line.isspace():
            return None
        row = json_row(line)
        if not checked:
            shape.check(row)
            checked = True
        return arranged(row)

    return read


def csv_rows(shape: Shape, header: str) -> Reader:
    """Return a reader of lines of cells under the columns of `header`; an empty cell is an absent value."""
    names = [name.strip() for name in _cells(header)]
    _check_header(shape, names)
    columns = [
        (at, name, _CONVERT[shape.inputs[name].field.kind]) for at, name in enumerate(names) if name in shape.inputs
    ]
    width = len(names)

    def read(line: str) -> Row | None:
        if line.isspace():
            return None
        cells = _cells(line)
        if len(cells) != width:
            raise InputError(f"the row has {_counted(len(cells))}, the header {width}.")
        try:
            row = {name: convert(cells[at]) for at, name, convert in columns if cells[at]}
        except ValueError:
            raise _refusal(cells) from None
        return shape.arranged(row)

    def _refusal(cells: Sequence[str]) -> InputError:
        for at, name, convert in columns:
            try:
                convert(cells[at] or "0")
            except ValueError:
                needed = "a number" if convert is number_cell else "true, false, 1 or 0"
                given = clipped(cells[at])
                return WrongType(f"reward {shape.reward.name!r}, field {name!r}: {given} is not {needed}.")
        raise AssertionError("every cell can be converted")

    return read


def _check_header(shape: Shape, names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if not name and not shape.ignore_extra:
            raise FileError(f"column {at + 1} of the header has no name.")
        if name and name in names[:at]:
            raise FileError(f"the header has the column {clipped(name)} twice.")
    shape.check(names)
    for name, place in shape.inputs.items():
        if name not in names and default_of(shape.reward.program, place, False) is None:
            near = did_you_mean(name, names)
            raise FileError(f"the header has no column {name!r}, which reward {shape.reward.name!r} needs.{near}")


def _cells(line: str) -> list[str]:
    """Return the cells of one line; a quote that is not closed ends with its line, not with the file."""
    line = line.rstrip("\r\n")
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError(f"this is not a line of CSV: {error}.") from None


def _counted(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


_CONVERT: dict[Kind, Callable[[str], Any]] = {"number": number_cell, "flag": flag_cell, "category": str}
