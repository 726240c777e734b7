"""What came of comparing two rewards: equal and how surely, different and where, or neither."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from plaudit.html import build_heading, build_name, build_note, build_table, join
from plaudit.terminal import escape_controls

Verdict = Literal["equal", "different", "undecided"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Inputs that two rewards score differently."""

    term: str
    """The term whose value differs, or "total"."""
    inputs: Mapping[str, float | bool | str]
    left: float | None
    """What the first reward makes of them; None where it cannot score them."""
    right: float | None
    largest: bool = False
    """Whether no other inputs differ more."""

    @property
    def size(self) -> float:
        """How far the two are apart; infinite where one of them cannot score the inputs."""
        return math.inf if self.left is None or self.right is None else abs(self.left - self.right)

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data for JSON."""
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
    """The outcome of `prove`."""

    left: str
    """The first reward: `roadsense@R0`."""
    right: str
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    """Where they differ: the total first, then each term that both have."""
    exactly: bool = False
    """Whether they are equal over the rationals, not only up to `rounding`."""
    rounding: float = math.inf
    """How far two float64 results that are equal over the rationals can be apart where both take the same branches."""
    unbounded: str = ""
    """Why no bound on the rounding is known, where `rounding` is infinite: "a divisor may come close to 0"."""
    tested: int = 0
    """How many rows were compared where nothing could be proved; they agreed up to rounding."""
    missing: tuple[str, ...] = ()
    """Terms that only one of the two has."""
    remarks: tuple[str, ...] = ()
    """What else is to be said: ranges that the two declare differently, why nothing could be proved."""

    @property
    def equal(self) -> bool:
        """Whether equality was proved."""
        return self.verdict == "equal"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data for JSON."""
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
        """Return the outcome in a few lines."""
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
            how = "are equal" if self.exactly else "differ by no more than rounding"
            lines = [f"{both} {how} over the rationals, for every row that the declared ranges allow."]
            lines.append(f"In float64 {self._format_rounding()}.")
        elif self.verdict == "different":
            lines = [
                f"{both} are different.",
                *(line for each in self.differences if rows for line in _format_difference(each)),
            ]
        else:
            lines = [f"Whether {both} are equal is undecided."]
            if self.tested:
                lines.append(
                    f"{self.tested:,} rows aimed at their boundaries agree up to rounding, which proves nothing."
                )
        if self.missing:
            lines.append(f"Only one of them has {', '.join(self.missing)}; totals were compared.")
        return [*lines, *self.remarks]

    def _format_rounding(self) -> str:
        if math.isinf(self.rounding):
            return f"no bound on their rounding is known, because {self.unbounded}"
        return f"they are at most {self.rounding:.2g} apart, wherever both take the same branches"


def _format_difference(difference: Difference) -> list[str]:
    left, right = _format_side(difference.left), _format_side(difference.right)
    row = _format_row(difference)
    most = " (nowhere more)" if difference.largest else ""
    return [f"  {difference.term}: {left} against {right}{most}", *([f"    at {row}"] if row else [])]


def _format_side(value: float | None) -> str:
    return "cannot be scored" if value is None else f"{value:.12g}"


def _format_row(difference: Difference) -> str:
    return ", ".join(f"{name} = {_format_input(value)}" for name, value in difference.inputs.items())


def _format_input(value: float | bool | str) -> str:
    return f"{value:.12g}" if isinstance(value, float) and not isinstance(value, bool) else str(value)


def _encode_number(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value
