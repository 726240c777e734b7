"""Reading dates that are known when the term is read: `datetime(2024, 6, 1)`, `START.weekday()`."""

import ast
import datetime
import re

from plaudit.language.reading.context import Context
from plaudit.language.reading.expressions import read_constant, read_several
from plaudit.language.reading.values import Constant, Value, find_open

_CLASSES = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta)
_MAKERS = ("fromisoformat", "strptime")
_METHODS = ("weekday", "isoweekday", "date", "time", "toordinal", "total_seconds", "replace")

_WRITE = "Write the year, the month and the day."
COMPARE_PARTS = "Compare its parts: (month, day) < (6, 1), or month * 100 + day < 601."


def read_date_call(context: Context, called: object, node: ast.Call) -> Value | None:
    """Return the date that a call makes of constants, or what it says of one; None for any other call."""
    if not _is_read(called):
        return None
    values = read_several(context, node.args) + [context.read(keyword.value) for keyword in node.keywords]
    if (unknown := find_open(*values)) is not None:
        return unknown
    if not all(isinstance(value, Constant) for value in values):
        raise context.error(node, "a date made of what depends on the row cannot be read.", COMPARE_PARTS)
    known = [value.value for value in values if isinstance(value, Constant)]
    if _is_of_pandas(called) and known and isinstance(known[0], str) and not re.search(r"\d{4}", known[0]):
        raise context.error(node, "this may be another date tomorrow.", _WRITE)  # "today"
    count = len(values) - len(node.keywords)
    named = {str(keyword.arg): value for keyword, value in zip(node.keywords, known[count:], strict=True)}
    try:
        return read_constant(context, called(*known[:count], **named), node)  # type: ignore[operator]  # it is a class
    except (ArithmeticError, TypeError, ValueError) as error:
        raise context.error(node, f"this is no date: {error}.", _WRITE) from None


def is_date(value: object) -> bool:
    """Return whether a constant is a date or a time."""
    return _is_class(type(value))


def _is_read(called: object) -> bool:
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if _is_class(called):
        return True
    return (_is_class(owner) and name in _MAKERS) or (is_date(owner) and name in _METHODS)


def _is_class(kind: object) -> bool:
    return any(kind is each for each in _CLASSES) or _is_of_pandas(kind)


def _is_of_pandas(kind: object) -> bool:
    whole = f"{getattr(kind, '__module__', '')}.{getattr(kind, '__name__', '')}"
    return isinstance(kind, type) and whole.startswith("pandas.") and whole.endswith(".Timestamp")
