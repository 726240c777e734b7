"""Plots of findings: the total of every row of their witnesses."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plaudit.errors import InputError
from plaudit.plots.axes import COLORS, FAINT, Axes, clean, draw_zero, finish, open_axes
from plaudit.terminal import format_count

_COLORS = {"warning": COLORS[5], "advice": COLORS[0], "note": FAINT}
MOST_ROWS = 40


class WitnessRow(NamedTuple):
    """A row of a witness."""

    number: int
    """Number of its finding."""
    finding: str
    severity: str
    text: str
    total: float | None


def plot_witnesses(rows: Sequence[WitnessRow], *, title: str, ax: "Axes | None" = None) -> Axes:
    """Plot the total of each row as a bar, findings below one another, one color per severity."""
    if not rows:
        raise InputError("nothing to plot: no finding has a witness.")
    shown = rows[:MOST_ROWS]
    ax = open_axes(ax, width=7.2, height=max(2.0, 0.3 * len(shown) + 1.0))
    new = [True, *(row.number != before.number for before, row in pairwise(shown))]
    places = np.cumsum(np.where(new, 1.6, 1.0))
    colors = [_COLORS[row.severity] for row in shown]
    widths = [0.0 if row.total is None else row.total for row in shown]
    bars = ax.barh(places, widths, 0.7, color=colors, zorder=2)
    ax.bar_label(
        bars,
        ["cannot be scored" if row.total is None else f"{row.total:z,.5g}" for row in shown],
        padding=3,
        fontsize="small",
    )
    names = [row.finding if first else "" for row, first in zip(shown, new, strict=True)]
    labels = [clean(": ".join(filter(None, (name, row.text)))) for name, row in zip(names, shown, strict=True)]
    ax.set_yticks(places, labels, fontsize="small")
    ax.set_ylim(places[-1] + 0.7, places[0] - 0.7)
    draw_zero(ax, vertical=True)
    ax.margins(x=0.2)
    ax.set_xlabel("total of the row")
    for severity, color in _COLORS.items():
        if any(row.severity == severity for row in shown):
            ax.barh([np.nan], [0.0], color=color, label=severity)
    note = format_count(len(rows), "row")
    note = f"{len(shown)} of {note}" if len(shown) < len(rows) else note
    return finish(ax, title=title, note=note, legend=True)
