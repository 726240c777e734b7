"""An answer to a row: a total and, perhaps, the value of each term; anything else is a failure with a reason."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NoReturn

from plaudit.errors import did_you_mean

KEYS = ("total", "values", "breakdown")
"""What an answer may hold; `breakdown` is another name for `values`."""
MOST_SHOWN = 80
"""Characters of a wrong answer that are repeated in a message."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reward, or a program that claims to compute it, makes of one row."""

    total: float
    values: Mapping[str, float] = field(default_factory=dict)
    """By term; a program may leave some out, or all."""


class Failed(Exception):
    """A program that gave no answer. The text goes on after "it": `ended with exit code 3`."""

    def __init__(self, kind: str, text: str, *, row_before: bool = False, slow: bool = False) -> None:
        super().__init__(text if text.endswith((".", "?")) or "\n" in text else f"{text}.")
        self.kind = kind
        """`timeout`, `ended`, `partial line`, `too long`, `extra output`, `garbage`, `wrong keys`, `no number` or
        `raised`."""
        self.row_before = row_before
        """Whether it is about the row before the one that was asked."""
        self.slow = slow
        """Whether simpler rows are not worth trying: it took the whole time limit, or no single row is to blame."""


def decoded(line: bytes, terms: Sequence[str]) -> Answer:
    """Return the answer in a line of JSON.

    >>> decoded(b'{"total": 1, "values": {"near": 1}}', ["near"])
    Answer(total=1.0, values={'near': 1.0})
    """
    try:
        found = json.loads(line.decode(), object_pairs_hook=_no_doubles)
    except UnicodeDecodeError:
        raise Failed("garbage", f"answered with bytes that are not UTF-8: {clipped(line)}") from None
    except (ValueError, RecursionError):
        other = " Whatever is no answer belongs on standard error."
        raise Failed("garbage", f"answered with something that is not JSON: {clipped(line)}.{other}") from None
    return understood(found, terms)


def understood(found: Any, terms: Sequence[str]) -> Answer:
    """Return what a program returned as an answer: a number, a mapping, or an object with `total` and `values`."""
    if isinstance(found, Mapping):
        return _from_mapping(found, terms)
    if hasattr(found, "total"):
        return Answer(_number("total", found.total), _values(getattr(found, "values", {}), terms))
    if not isinstance(found, bool) and isinstance(found, Real):
        return Answer(_number("total", found))
    raise Failed("wrong keys", f"answered with {clipped(found)} instead of an object with a 'total'")


def _from_mapping(found: Mapping[Any, Any], terms: Sequence[str]) -> Answer:
    for key in found:
        if key not in KEYS:
            near = did_you_mean(str(key), KEYS)
            wanted = "an answer holds 'total' and 'values', nothing else"
            raise Failed("wrong keys", f"answered with the key {clipped(key)}; {wanted}.{near}")
    if "total" not in found:
        raise Failed("wrong keys", f"answered without a 'total': {clipped(found)}")
    if "values" in found and "breakdown" in found:
        raise Failed("wrong keys", "answered with both 'values' and 'breakdown', which are two names of the same")
    return Answer(_number("total", found["total"]), _values(found.get("values", found.get("breakdown")), terms))


def _values(found: Any, terms: Sequence[str]) -> dict[str, float]:
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise Failed("wrong keys", f"answered with 'values' that are no object: {clipped(found)}")
    for name in found:
        if name not in terms:
            near = did_you_mean(str(name), terms)
            raise Failed("wrong keys", f"answered with a value of {clipped(name)}, which is no term.{near}")
    return {name: _number(name, found[name]) for name in terms if name in found}


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Failed("no number", f"answered with {name} {clipped(value)}, which is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Failed("no number", f"answered with {name} {number}, which no reward can be")
    return number


def _no_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        _refuse_double(next(name for name in names if names.count(name) > 1))
    return found


def _refuse_double(name: str) -> NoReturn:
    raise Failed("wrong keys", f"answered with {clipped(name)} twice")


def clipped(value: object) -> str:
    r"""Return a value as a message repeats it: in Python's notation, cut where it gets long.

    >>> clipped(b'{"total": NaN}\n')
    '\'{"total": NaN}\''
    """
    text = repr(value.rstrip(b"\r\n").decode(errors="backslashreplace") if isinstance(value, bytes) else value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
