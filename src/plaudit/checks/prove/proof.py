"""The result of comparing two rewards: equal, different and where, or undecided."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from plaudit.html import build_heading, build_name, build_note, build_table, join
from plaudit.terminal import escape_controls

Verdict = Literal["equal", "different", "undecided"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Inputs that two rewards score differently.

    >>> from plaudit import Field, Reward, prove, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> def closer(distance):
    ...     return 1 if distance <= 2 else 0
    >>> [found] = prove(reaching, closer).differences
    >>> found.term, found.inputs, found.left, found.right
    ('total', {'distance': 2.0}, 0.0, 1.0)
    """

    term: str
    """The term whose value differs, or "total"."""
    inputs: Mapping[str, float | bool | str]
    left: float | None
    """The score of the first reward; None if it cannot score them."""
    right: float | None
    largest: bool = False
    """Whether this is the largest difference for any inputs."""

    @property
    def size(self) -> float:
        """How far the two are apart; infinite where one of them cannot score the inputs."""
        return math.inf if self.left is None or self.right is None else abs(self.left - self.right)

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data.

        Returns:
            A dict that `json.dumps` accepts.
        """
        return {
            "term": self.term,
            "inputs": {name: _encode_number(value) for name, value in self.inputs.items()},
            "left": self.left,
            "right": self.right,
            "size": _encode_number(self.size),
            "largest": self.largest,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The result of `prove`.

    >>> from plaudit import Field, Reward, prove, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> def nearby(distance):
    ...     return 0 if distance >= 2 else 1
    >>> proof = prove(reaching, nearby)
    >>> proof.equal, proof.exactly, proof.rounding
    (True, True, 0.0)
    """

    left: str
    """The first reward: `roadsense@R0`."""
    right: str
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    """Where they differ: the total first, then each term that both have."""
    exactly: bool = False
    """Whether they are equal in exact (rational) arithmetic, not only up to `rounding`."""
    rounding: float = math.inf
    """The largest difference that float64 rounding can cause where both take the same branches."""
    unbounded: str = ""
    """Why `rounding` is infinite: "a divisor may come close to 0"."""
    tested: int = 0
    """If nothing could be proved, the number of rows that were compared and agreed up to rounding."""
    missing: tuple[str, ...] = ()
    """Terms that only one of the two has."""
    remarks: tuple[str, ...] = ()
    """Remarks: ranges that the two declare differently, why nothing could be proved."""

    @property
    def equal(self) -> bool:
        """Whether equality was proved."""
        return self.verdict == "equal"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data.

        Returns:
            A dict that `json.dumps` accepts.
        """
        return {
            "left": self.left,
            "right": self.right,
            "verdict": self.verdict,
            "exactly": self.exactly,
            "rounding": _encode_number(self.rounding),
            "unbounded": self.unbounded,
            "differences": [each.to_dict() for each in self.differences],
            "missing": list(self.missing),
            "tested": self.tested,
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        """Return the result as a few lines of text."""
        return escape_controls("\n".join(self._lines()))

    def _repr_html_(self) -> str:
        told, *others = self._lines(rows=False)
        rows = [
            (build_name(each.term), _format_side(each.left), _format_side(each.right), _format_row(each))
            for each in self.differences
        ]
        headers = ("term", self.left, self.right, "at")
        table = build_table(headers, rows, right=headers[1:3]) if rows else None
        return join(build_heading(told), table, *map(build_note, others))

    def _lines(self, *, rows: bool = True) -> list[str]:
        both = f"{self.left} and {self.right}"
        if self.verdict == "equal":
            how = "are equal in exact arithmetic" if self.exactly else "are equal up to rounding"
            lines = [f"{both} {how}, for every row within the declared ranges."]
            lines.append(f"In float64 {self._format_rounding()}.")
        elif self.verdict == "different":
            lines = [
                f"{both} differ.",
                *(line for each in self.differences if rows for line in _format_difference(each)),
            ]
        else:
            lines = [f"Undecided: {both} were neither proved equal nor shown to differ."]
            if self.tested:
                lines.append(
                    f"{self.tested:,} test rows near their thresholds agree up to rounding, but this is not a proof."
                )
        if self.missing:
            lines.append(f"Terms of only one of them: {', '.join(self.missing)}. Totals were compared.")
        return [*lines, *self.remarks]

    def _format_rounding(self) -> str:
        if math.isinf(self.rounding):
            return f"no bound on the rounding error is known, because {self.unbounded}"
        return f"they differ by at most {self.rounding:.2g} wherever both take the same branches"


def _format_difference(difference: Difference) -> list[str]:
    left, right = _format_side(difference.left), _format_side(difference.right)
    row = _format_row(difference)
    most = " (the largest difference)" if difference.largest else ""
    return [f"  {difference.term}: {left} vs {right}{most}", *([f"    at {row}"] if row else [])]


def _format_side(value: float | None) -> str:
    return "cannot be scored" if value is None else f"{value:.12g}"


def _format_row(difference: Difference) -> str:
    return ", ".join(f"{name} = {_format_input(value)}" for name, value in difference.inputs.items())


def _format_input(value: float | bool | str) -> str:
    return f"{value:.12g}" if isinstance(value, float) and not isinstance(value, bool) else str(value)


def _encode_number(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value
