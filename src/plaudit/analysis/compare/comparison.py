"""What `compare` returns: measures of every pair of rewards, as numbers, tables and JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import Coverage
from plaudit.analysis.compare.measures import CONFIDENCE
from plaudit.errors import DefinitionError
from plaudit.html import build_heading, build_note, build_table, join
from plaudit.terminal import escape_controls, format_table

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

Numbers = NDArray[np.float64]

TITLES = {
    "epic": "EPIC distance",
    "dard": "DARD distance",
    "starc": "STARC distance, by value",
    "starc-potential": "STARC distance, by potential",
    "starc-minimal": "STARC distance, minimal",
    "argmax": "best action differs",
    "pearson": "correlation of steps",
    "spearman": "rank correlation of steps",
    "pearson-returns": "correlation of returns",
    "spearman-returns": "rank correlation of returns",
}
"""Every measure, and what it is called in a table."""
_SIGNED = {"pearson", "spearman", "pearson-returns", "spearman-returns"}
"""Those that go from -1 to 1."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval; the ends are NaN if there is none.

    >>> print(Estimate(0.25, 0.2, 0.31))
    0.2500 (0.2000 to 0.3100)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "undefined"
        if math.isnan(self.low) or self.low == self.high:
            return f"{self.value:z.4f}"
        return f"{self.value:z.4f} ({self.low:z.4f} to {self.high:z.4f})"


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of every pair of rewards, with its interval.

    Example:
        ```python
        found = compare(first, second, third).measures["epic"]
        found.value[0, 2]                # the distance of the first and the third
        ```
    """

    name: str
    value: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Distances and correlations of rewards; `print` it for a table.

    Example:
        ```python
        found = compare(before, after)
        found["epic"].value              # 0: the same up to scale and shaping; 1: opposite
        found.matrix("epic")             # every pair
        ```
    """

    rewards: tuple[str, ...]
    """`maze@1`, as they were given."""
    discount: float
    coverage: Coverage
    measures: Mapping[str, Measure]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Measures that could not be computed, and why."""
    remarks: tuple[str, ...] = ()

    def __getitem__(self, measure: str) -> Estimate:
        """Return a measure of the first two rewards."""
        return self.get(measure, 0, 1)

    def get(self, measure: str, one: int, other: int) -> Estimate:
        """Return a measure of two of the rewards.

        Args:
            measure: The name of the measure, such as "epic".
            one: The position of one reward.
            other: The position of the other.

        Returns:
            The value and its interval.
        """
        found = self._find(measure)
        return Estimate(*(float(each[one, other]) for each in (found.value, found.low, found.high)))

    def matrix(self, measure: str = "epic") -> Numbers:
        """Return a measure of every pair of rewards.

        Args:
            measure: The name of the measure.

        Returns:
            A square matrix; NaN where the measure is undefined.
        """
        return self._find(measure).value.copy()

    def _find(self, measure: str) -> Measure:
        if measure not in self.measures:
            why = self.left_out.get(measure)
            known = f"Available: {', '.join(self.measures)}."
            raise DefinitionError(f"{measure!r} was not measured: {why or known}")
        return self.measures[measure]

    def plot(self, measure: str = "epic", *, ax: "Axes | None" = None) -> "Axes":
        """Plot every measure of two rewards with its interval, or one measure of more rewards as a matrix.

        Args:
            measure: The measure to plot for more than two rewards.
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            DefinitionError: It was not measured.
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.distances import plot_intervals, plot_matrix

        note = f"on {self.coverage.text}"
        if len(self.rewards) > 2:
            values, signed = self._find(measure).value, measure in _SIGNED
            names = _shorten(self.rewards)
            return plot_matrix(names, values, title=TITLES[measure], signed=signed, note=note, ax=ax)
        found = [self[name] for name in self.measures]
        low = -1.0 if self.measures.keys() & _SIGNED else 0.0
        return plot_intervals(
            [TITLES[name] for name in self.measures],
            [each.value for each in found],
            [each.low for each in found],
            [each.high for each in found],
            title=" and ".join(self.rewards),
            measured="identical rewards: distance 0, correlation 1",
            limits=(low, 1.0),
            note=note if self.coverage.exact else f"{note}; bars are {CONFIDENCE:.0%} intervals",
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values, with None instead of NaN.
        """
        return {
            "rewards": list(self.rewards),
            "discount": self.discount,
            "coverage": self.coverage.text,
            "exact": self.coverage.exact,
            "rejected": self.coverage.rejected,
            "confidence": CONFIDENCE,
            "measures": {
                name: {part: _to_plain(getattr(each, part)) for part in ("value", "low", "high")}
                for name, each in self.measures.items()
            },
            "left_out": dict(self.left_out),
            "remarks": [*self.coverage.remarks, *self.remarks],
        }

    def format(self, measure: str = "epic") -> str:
        """Format the comparison as text: every measure of two rewards, or one measure of more as a matrix.

        Args:
            measure: The measure to show for more than two rewards.

        Returns:
            The text, in several lines.
        """
        return escape_controls("\n".join(self._list_lines(measure)))

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        measure = next(iter(self.measures), "epic")
        headers, *rows = self._list_rows(measure)
        table = build_table(headers, rows, right=headers[1:])
        return join(build_heading(self._title(measure)), table, *map(build_note, self._list_notes()))

    def _list_lines(self, measure: str) -> Iterator[str]:
        yield self._title(measure)
        yield ""
        yield format_table(self._list_rows(measure))
        yield ""
        yield from self._list_notes()

    def _title(self, measure: str) -> str:
        pair = len(self.rewards) == 2
        what = " and ".join(self.rewards) if pair else f"{TITLES[measure]} of {len(self.rewards)} rewards"
        return f"{what}, discount {self.discount:g}"

    def _list_rows(self, measure: str) -> list[tuple[str, ...]]:
        """Return the rows of a table, the headers first: every measure of two rewards, or one of more."""
        if len(self.rewards) == 2:
            return [("measure", "value"), *((TITLES[name], str(self[name])) for name in self.measures)]
        values = self._find(measure).value
        cells = [[f"{value:z.3f}" if value == value else "-" for value in row] for row in values]
        names = _shorten(self.rewards)
        return [("", *names), *((name, *row) for name, row in zip(names, cells, strict=True))]

    def _list_notes(self) -> Iterator[str]:
        exactly = "" if self.coverage.exact else f"; {CONFIDENCE:.0%} intervals"
        yield f"On {self.coverage.text}{exactly}."
        if self.coverage.rejected:
            yield f"{self.coverage.rejected:.1%} of the draws broke a fact or cannot be scored and are excluded."
        yield from self.coverage.remarks
        yield from self.remarks
        for why in dict.fromkeys(self.left_out.values()):
            names = ", ".join(name for name, each in self.left_out.items() if each == why)
            yield f"Not measured: {names} ({why})."


def _shorten(names: Sequence[str]) -> list[str]:
    """Return labels alone where all are versions of one reward."""
    if len({name.rpartition("@")[0] for name in names}) == 1:
        return [name.rpartition("@")[2] for name in names]
    return list(names)


def _to_plain(table: Numbers) -> list[list[float | None]]:
    return [[None if value != value else float(value) for value in row] for row in table]
