"""Answers to rows, and the results of comparing them."""

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
"""The keys of an answer; `breakdown` is another name for `values`."""
MOST_SHOWN = 80
"""Characters of a wrong answer that a message shows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one row, of a reward or of another implementation.

    >>> Answer(-4.0, {"safety": -5.0, "comfort": 1.0}).total
    -4.0
    """

    total: float
    values: Mapping[str, float] = field(default_factory=dict)
    """The value of each term; a program may leave out some or all."""


class NoAnswer(Exception):
    """A program gave no answer. The text continues after "it": `ended with exit code 3`."""

    def __init__(self, kind: str, text: str, *, row_before: bool = False, slow: bool = False) -> None:
        super().__init__(text if text.endswith((".", "?")) or "\n" in text else f"{text}.")
        self.kind = kind
        """`timeout`, `ended`, `partial line`, `too long`, `extra output`, `garbage`, `wrong keys`, `no number` or
        `raised`."""
        self.row_before = row_before
        """Whether it is about the row before the one that was asked."""
        self.slow = slow
        """Whether to skip simpler rows: it took the whole time limit, or no single row causes the failure."""


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
        other = " Print anything else to standard error."
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
        raise NoAnswer(
            "wrong keys", "answered with both 'values' and 'breakdown', which are two names for the same thing"
        )
    return Answer(
        _parse_number("total", found["total"]), _parse_values(found.get("values", found.get("breakdown")), terms)
    )


def _parse_values(found: Any, terms: Sequence[str]) -> dict[str, float]:
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise NoAnswer("wrong keys", f"answered with 'values' that are not an object: {shorten_answer(found)}")
    for name in found:
        if name not in terms:
            near = did_you_mean(str(name), terms)
            raise NoAnswer(
                "wrong keys", f"answered with a value for {shorten_answer(name)}, which is not a term.{near}"
            )
    return {name: _parse_number(name, found[name]) for name in terms if name in found}


def _parse_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise NoAnswer("no number", f"answered with {name} {shorten_answer(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise NoAnswer("no number", f"answered with {name} {number}, which is not a finite number")
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
    """A row on which the two differ, or on which the program failed.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.checks.parity import parity
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> mismatch = parity(reaching, lambda distance: 1 if distance <= 2 else 0).mismatch
    >>> mismatch.row, mismatch.expected.total, mismatch.got.total
    ('{"distance": 2.0}', 0.0, 1.0)
    """

    inputs: Mapping[str, Value]
    """The inputs by name: `distance`, `prev.phase`, `torque[0]`."""
    row: str
    """The row as the program receives it: one line of JSON."""
    expected: Answer
    """The answer of the reward."""
    got: Answer | None
    """The answer of the program; None if it failed."""
    terms: tuple[str, ...] = ()
    """The terms that differ, or the candidates if the program gives no values for them. "total" if every value is
    right but the total is not. Empty if the program failed."""
    kind: str = "different"
    """`different`, or how the program failed: `timeout`, `ended`, `garbage` …"""
    failure: str = ""
    """How the program failed, as the end of a sentence: `ended with exit code 3`."""
    tolerance: float = 0.0
    """The largest allowed difference for this row."""
    breaks: tuple[str, ...] = ()
    """Declared facts that this row breaks."""
    simplest: bool = True
    """Whether simpler rows were tried. They are not if each would take the whole time limit."""
    line: int | None = None
    """The line number in a file of recorded pairs."""
    note: str = ""
    """A remark: the program keeps state between rows, or its answers are random."""

    def to_dict(self) -> dict[str, Any]:
        """Return the mismatch as plain data.

        Returns:
            A dict that `json.dumps` accepts.
        """
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
    """The result of comparing a reward with another implementation.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.checks.parity import parity
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> report = parity(reaching, lambda distance: distance < 2 and 1 or 0, examples=100)
    >>> report.ok, report.branches, report.complete
    (True, 2, True)
    """

    reward: str
    version: str
    fingerprint: str
    against: str
    """The program, the function or the file."""
    tested: int
    """Number of rows compared, up to the first mismatch or to the end."""
    refused: int = 0
    """Number of rows that the reward itself cannot score; they are not compared."""
    aside: int = 0
    """Number of rows set aside because rounding alone decides on which side of a threshold they are."""
    differing: int = 0
    """Number of lines that differ in a file of recorded pairs; otherwise 1 if there is a mismatch."""
    mismatch: Mismatch | None = None
    tolerance: float | None = None
    """The largest allowed difference; None if it is computed for each row (see `Mismatch.tolerance`)."""
    branches: int = 0
    """Number of branches of the reward: the outcomes of its decisions."""
    unreached: tuple[str, ...] = ()
    """If the two agree, the branches that no row took: they were not compared."""
    unreachable: tuple[str, ...] = ()
    """If the two agree, the branches that no row can take within the declared ranges and facts."""

    @property
    def ok(self) -> bool:
        """Whether the two agree on every row that was compared."""
        return self.mismatch is None

    @property
    def reached(self) -> int:
        """Number of branches that were reached."""
        return self.branches - len(self.unreached) - len(self.unreachable)

    @property
    def complete(self) -> bool:
        """Whether every branch was reached or shown to be unreachable."""
        return not self.unreached

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data.

        Returns:
            A dict that `json.dumps` accepts.
        """
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
"""Called with the number of rows compared so far, before each row and while a counterexample is simplified."""
