"""Which totals changed by rounding alone: one was computed in a narrower dtype than the other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.terminal import escape_controls, format_count

KEPT = 1000
"""Rows that are kept by their names; beyond that they are counted."""
SHOWN = 10

Numbers = NDArray[np.float64]


@dataclass(slots=True)
class Rounding:
    """Totals that changed, and would not have if they had been computed in the dtype that the old ones were.

    Almost every one of them moves by a few units in the last place. Those that move further flip: a number fell on the
    other side of a threshold, as float32 0.1 does of `x > 0.1`.
    """

    records: int = 0
    """Rows whose totals changed by rounding alone."""
    flips: int = 0
    """Those of them that moved further than rounding moves a sum."""
    flipped: list[int | str] = field(default_factory=list)
    """The first of these: the numbers of records, or which rows of which files."""
    unknown: int = 0
    """Rows of which this cannot be told, as what scored them is not installed here."""

    def add(self, name: Callable[[int], int | str], alone: NDArray[np.bool_], moved: Numbers, room: Numbers) -> None:
        """Add rows: which ones changed by rounding alone, how far they moved, and how far rounding moves a sum.

        `name` gives what the row at a position is called.
        """
        flips = np.flatnonzero(alone & (np.abs(moved) > room))
        self.records += int(alone.sum())
        self.flips += len(flips)
        self.flipped += [name(at) for at in flips[: KEPT - len(self.flipped)].tolist()]

    def merge(self, later: "Rounding") -> None:
        """Add what was counted of rows that come after these."""
        self.records += later.records
        self.flips += later.flips
        self.unknown += later.unknown
        self.flipped += later.flipped[: KEPT - len(self.flipped)]

    def __str__(self) -> str:
        """Return what rounding did, in a few lines; nothing where it did nothing."""
        lines = []
        if self.records:
            what = f"{format_count(self.records, 'total')} changed only by rounding: in the dtype of the old totals"
            lines.append(f"{what} they are the same.")
        if self.flips:
            shown = [f"record {name}" if isinstance(name, int) else name for name in self.flipped[:SHOWN]]
            more = ", …" if self.flips > len(shown) else ""
            lines.append(f"{self.flips:,} of them crossed a threshold: {', '.join(shown)}{more}.")
        if self.unknown:
            lines.append(
                f"For {format_count(self.unknown, 'record')} this is unknown: the target that scored them is not "
                "installed."
            )
        return escape_controls("\n".join(lines))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {"records": self.records, "flips": self.flips, "flipped": self.flipped, "unknown": self.unknown}
