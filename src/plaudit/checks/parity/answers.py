"""Answers to rows, and what a comparison of them found."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

from plaudit.errors import did_you_mean, shorten
from plaudit.language.codec import build_object
from plaudit.rows.row import Value

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


class NoAnswer(Exception):
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


def parse_line(line: bytes, terms: Sequence[str]) -> Answer:
    """Return the answer in a line of JSON.

    >>> parse_line(b'{"total": 1, "values": {"near": 1}}', ["near"])
    Answer(total=1.0, values={'near': 1.0})
    """
    try:
        found = json.loads(line.decode(), object_pairs_hook=partial(build_object, refuse=_refuse_doubled))
    except UnicodeDecodeError:
        raise NoAnswer("garbage", f"answered with bytes that are not UTF-8: {shorten_answer(line)}") from None
    except (ValueError, RecursionError):
        other = " Whatever is no answer belongs on standard error."
        raise NoAnswer("garbage", f"answered with something that is not JSON: {shorten_answer(line)}.{other}") from None
    return parse_answer(found, terms)


def parse_answer(found: Any, terms: Sequence[str]) -> Answer:
    """Return what a program returned as an answer: a number, a mapping, or an object with `total` and `values`."""
    if isinstance(found, Mapping):
        return _parse_mapping(found, terms)
    if hasattr(found, "total"):
        return Answer(_parse_number("total", found.total), _parse_values(getattr(found, "values", {}), terms))
    if not isinstance(found, bool) and isinstance(found, Real):
        return Answer(_parse_number("total", found))
    raise NoAnswer("wrong keys", f"answered with {shorten_answer(found)} instead of an object with a 'total'")


def _parse_mapping(found: Mapping[Any, Any], terms: Sequence[str]) -> Answer:
    for key in found:
        if key not in KEYS:
            near = did_you_mean(str(key), KEYS)
            wanted = "an answer holds 'total' and 'values', nothing else"
            raise NoAnswer("wrong keys", f"answered with the key {shorten_answer(key)}; {wanted}.{near}")
    if "total" not in found:
        raise NoAnswer("wrong keys", f"answered without a 'total': {shorten_answer(found)}")
    if "values" in found and "breakdown" in found:
        raise NoAnswer("wrong keys", "answered with both 'values' and 'breakdown', which are two names of the same")
    return Answer(
        _parse_number("total", found["total"]), _parse_values(found.get("values", found.get("breakdown")), terms)
    )


def _parse_values(found: Any, terms: Sequence[str]) -> dict[str, float]:
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise NoAnswer("wrong keys", f"answered with 'values' that are no object: {shorten_answer(found)}")
    for name in found:
        if name not in terms:
            near = did_you_mean(str(name), terms)
            raise NoAnswer("wrong keys", f"answered with a value of {shorten_answer(name)}, which is no term.{near}")
    return {name: _parse_number(name, found[name]) for name in terms if name in found}


def _parse_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise NoAnswer("no number", f"answered with {name} {shorten_answer(value)}, which is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise NoAnswer("no number", f"answered with {name} {number}, which no reward can be")
    return number


def _refuse_doubled(name: str) -> NoAnswer:
    return NoAnswer("wrong keys", f"answered with {shorten_answer(name)} twice")


def shorten_answer(value: object) -> str:
    r"""Return a value as a message repeats it: in Python's notation, cut where it gets long.

    >>> shorten_answer(b'{"total": NaN}\n')
    '\'{"total": NaN}\''
    """
    plain = value.rstrip(b"\r\n").decode(errors="backslashreplace") if isinstance(value, bytes) else value
    return shorten(plain, MOST_SHOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A row on which the two do not agree, or on which the program failed."""

    inputs: Mapping[str, Value]
    """By the names of a row: `distance`, `prev.phase`, `torque[0]`."""
    row: str
    """The row as the program gets it: one line of JSON."""
    expected: Answer
    """What the reward makes of it."""
    got: Answer | None
    """What the program answered; None where it failed."""
    terms: tuple[str, ...] = ()
    """The terms that differ; those that may be it where the program does not give their values; "total" where every
    value is right and the total is not; none where it failed."""
    kind: str = "different"
    """`different`, or how the program failed: `timeout`, `ended`, `garbage` …"""
    failure: str = ""
    """How the program failed, in a sentence without its subject: `ended with exit code 3`."""
    tolerance: float = 0.0
    """How far the numbers of this row may be apart."""
    breaks: tuple[str, ...] = ()
    """Declared facts that this row breaks."""
    simplest: bool = True
    """Whether simpler rows were tried; they are not where each would take the whole time limit."""
    line: int | None = None
    """The line of a file of recorded pairs."""
    note: str = ""
    """What else is odd about it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("kind", "inputs", "row", "expected", "got", "terms", "failure", "tolerance", "breaks", "simplest")
        found = {name: getattr(self, name) for name in (*names, "line", "note")}
        return {
            **found,
            "inputs": {name: _spell_infinity(value) for name, value in self.inputs.items()},
            "expected": _answer_to_dict(self.expected),
            "got": _answer_to_dict(self.got) if self.got else None,
            "terms": list(self.terms),
            "breaks": list(self.breaks),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityReport:
    """How a reward and another implementation of it compare."""

    reward: str
    version: str
    fingerprint: str
    against: str
    """The program, the function or the file."""
    tested: int
    """Rows that were compared until the two disagreed, or until the end."""
    refused: int = 0
    """Rows that the reward itself refuses: they are not compared."""
    aside: int = 0
    """Rows set aside: they stand so close to a boundary of an inexact number that rounding alone decides the side."""
    differing: int = 0
    """Of a file of recorded pairs, the lines that differ; else 1 where there is a mismatch."""
    mismatch: Mismatch | None = None
    tolerance: float | None = None
    """How far two numbers may be apart; None where each row says for itself (see `Mismatch.tolerance`)."""
    branches: int = 0
    """How many branches the reward has: the ways its decisions can go."""
    unreached: tuple[str, ...] = ()
    """Where the two agree, the branches that no row took: whether they agree there is not known."""
    unreachable: tuple[str, ...] = ()
    """Where the two agree, the branches that no row can take, given the declared ranges and facts."""

    @property
    def ok(self) -> bool:
        """Whether the two agree on every row that was compared."""
        return self.mismatch is None

    @property
    def reached(self) -> int:
        """How many branches were reached."""
        return self.branches - len(self.unreached) - len(self.unreachable)

    @property
    def complete(self) -> bool:
        """Whether every branch was reached, or shown to be out of reach."""
        return not self.unreached

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("reward", "version", "fingerprint", "against", "ok", "complete", "tested", "refused", "aside")
        found = {name: getattr(self, name) for name in (*names, "differing", "tolerance", "branches")}
        return {
            **found,
            "unreached": list(self.unreached),
            "unreachable": list(self.unreachable),
            "mismatch": self.mismatch.to_dict() if self.mismatch else None,
        }


def _answer_to_dict(answer: Answer) -> dict[str, Any]:
    return {"total": answer.total, "values": dict(answer.values)}


def _spell_infinity(value: Value) -> Value:
    return str(value) if value in (float("inf"), float("-inf")) else value


Progress = Callable[[int], None]
"""Told how many rows have been compared, before each one, and while a counterexample is made simpler."""
