"""Contexts that are all laid out alike, read by the look of the first: no object is made of each.

Records that one program writes differ in their numbers and names, and in nothing else. A regular expression made from
the first context takes such a text apart several times as fast as JSON is parsed; where one record looks different, or
a name has a character that JSON escapes, there is no table, and the text is parsed.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.learn.decision import Decision

Numbers = NDArray[np.float64]

_NUMBER = r"-?[0-9][-+.0-9eE]*"
_TEXT = r'[^"\\]*'
_WANTED = ("action", "probability", "x", "id", "number", "step")


class Table(NamedTuple):
    """Columns of a text: what each decision says, as it is written."""

    columns: Mapping[str, list[str]]
    features: int

    def texts(self, name: str) -> list[str] | None:
        """Return a column as it is written; None where decisions do not say it."""
        return self.columns.get(name)

    def numbers(self, name: str) -> Numbers | None:
        """Return a column of numbers, or of lists of them, one after the other."""
        found = self.columns.get(name)
        return None if found is None else np.fromstring(",".join(found), sep=",")


def table(text: str, count: int) -> Table | None:
    """Return the decisions in a list of `count` contexts; None if they are not all laid out like the first.

    >>> found = table('[{"decision":{"action":"a","x":[1,2]}},{"decision":{"action":"b","x":[3,4.5]}}]', 2)
    >>> found.texts("action"), found.numbers("x").tolist()
    (['a', 'b'], [1.0, 2.0, 3.0, 4.5])
    """
    layout = _Layout()
    try:
        first, _ = json.JSONDecoder().raw_decode(text, 1)
        Decision.from_dict(first["decision"])
        pattern = layout.of(first, top=True)
    except (InputError, KeyError, TypeError, ValueError):  # whoever parses it says what is wrong
        return None
    if pattern is None:
        return None
    parts = re.split(pattern + r"(?:,|\]\Z)", text)
    width = len(layout.names) + 1
    if len(parts) != count * width + 1 or parts[0] != "[" or any(parts[width::width]):
        return None  # something between the records, or at the ends, is none of them
    columns = {name: parts[1 + at :: width] for at, name in enumerate(layout.names)}
    return Table(columns, len(first["decision"].get("x") or ()))


class _Layout:
    """Makes a regular expression of a value; the groups in it are what is wanted of a decision."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def of(self, value: Any, *, top: bool = False, group: str = "") -> str | None:
        """Return what texts of values like this one look like; None if that is not worth the trouble."""
        if isinstance(value, dict):
            return self._object(value, top, group == "decision")
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, str):
            return f'"{self._wanted(_TEXT, group)}"'
        if isinstance(value, list):
            return self._list(value, group)
        return self._wanted(_NUMBER, group)

    def _object(self, value: dict[str, Any], top: bool, decision: bool) -> str | None:
        parts = []
        for key, each in value.items():
            group = key if (top and key == "decision") or (decision and key in _WANTED) else ""
            pattern = self.of(each, group=group)
            if pattern is None:
                return None
            parts.append(f"{re.escape(json.dumps(key))}:{pattern}")
        return r"\{" + ",".join(parts) + r"\}"

    def _list(self, value: list[Any], group: str) -> str | None:
        if not all(type(each) in (int, float) for each in value):
            return None
        numbers = "" if not value else f"{_NUMBER}(?:,{_NUMBER}){{{len(value) - 1}}}"
        return rf"\[{self._wanted(numbers, group)}\]"

    def _wanted(self, pattern: str, group: str) -> str:
        if not group:
            return pattern
        self.names.append(group)
        return f"({pattern})"
