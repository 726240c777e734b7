"""Plots of distances: a matrix of all pairs, and values with their intervals."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from plaudit.errors import InputError
from plaudit.plots.axes import COLORS, FAINT, Axes, clean, draw_zero, finish, open_axes

_WRITTEN = 20
"""Up to this many rows, each cell shows its number."""


def plot_matrix(
    names: Sequence[str],
    values: ArrayLike,
    *,
    title: str,
    signed: bool = False,
    note: str = "",
    ax: "Axes | None" = None,
) -> Axes:
    """Plot every pair as a cell; a pair without a number is left white.

    Colors range from the value of two equal rewards, 0 or 1, to that of the furthest pair.

    Args:
        names: Names of the rewards.
        values: A square table, one row and one column per name.
        title: Name of the measure.
        signed: Whether values range from -1 to 1, like correlations, rather than from 0 to 1.
        note: The sample they were measured on.
        ax: Axes to draw on; a new figure if omitted.
    """
    table = np.asarray(values, np.float64)
    size = len(names)
    ax = open_axes(ax, width=max(4.0, 0.5 * size + 2.0), height=max(3.2, 0.42 * size + 1.4))
    known = table[np.isfinite(table)]
    low, high = _round_ends(float(known.min(initial=1.0)), float(known.max(initial=0.0)), signed)
    drawn = ax.imshow(np.ma.masked_invalid(table), vmin=low, vmax=high, cmap="cividis")
    places, labels = range(size), [clean(name) for name in names]
    if max(map(len, labels)) > 3:
        ax.set_xticks(places, labels, rotation=45, ha="right", rotation_mode="anchor")
    else:
        ax.set_xticks(places, labels)
    ax.set_yticks(places, labels)
    if size <= _WRITTEN:
        for row, column in np.ndindex(size, size):
            value = table[row, column]
            dark = value == value and (value - low) / (high - low) < 0.6
            text = "–" if value != value else f"{value:z.2f}".replace("0.", ".") if size > 8 else f"{value:z.2f}"
            ax.text(column, row, text, ha="center", va="center", fontsize="small", color="white" if dark else "black")
    ax.figure.colorbar(drawn, ax=ax, label=title, shrink=0.8)
    return finish(ax, title=f"{title}, {size} rewards", note=note)


def plot_intervals(
    rows: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    title: str,
    measured: str,
    limits: tuple[float, float] | None = None,
    note: str = "",
    ax: "Axes | None" = None,
) -> Axes:
    """Plot a point and its interval for each row; undefined values are labeled.

    Args:
        rows: Name of each value.
        values: The values; NaN if undefined.
        lows: Lower ends of the intervals; NaN if there is none.
        highs: Upper ends of the intervals.
        title: Title of the plot.
        measured: Label of the axis.
        limits: Range of possible values, shown in full.
        note: The sample they were measured on.
        ax: Axes to draw on; a new figure if omitted.
    """
    if not rows:
        raise InputError("nothing to plot: no values.")
    ax = open_axes(ax, width=7.2, height=max(1.8, 0.42 * len(rows) + 1.2))
    for at, (value, low, high) in enumerate(zip(values, lows, highs, strict=True)):
        if np.isfinite(low) and np.isfinite(high):
            ax.plot([low, high], [at, at], color=COLORS[4], linewidth=9, solid_capstyle="butt", zorder=2)
        if np.isfinite(value):
            ax.plot(value, at, "o", color=COLORS[0], markersize=5, zorder=3)
            ax.annotate(f"{value:z.3g}", (value, at), (0, 6), textcoords="offset points", ha="center", fontsize="small")
        else:
            ax.text(0.02, at, "undefined", va="center", fontsize="small", color="#555555")
        ax.axhline(at, color=FAINT, linewidth=0.3, zorder=0)
    draw_zero(ax, vertical=True)
    ax.set_yticks(range(len(rows)), [clean(row) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    if limits is not None:
        room = 0.03 * (limits[1] - limits[0])
        ax.set_xlim(limits[0] - room, limits[1] + room)
    ax.set_xlabel(measured)
    return finish(ax, title=title, note=note)


def _round_ends(low: float, high: float, signed: bool) -> tuple[float, float]:
    """Return the ends of a scale that begins at the value of equal rewards; the other end is rounded outwards.

    >>> _round_ends(0.0, 0.087, False), _round_ends(0.983, 1.0, True)
    ((0.0, 0.09), (0.98, 1.0))
    """
    far = 1.0 - low if signed else high
    if far <= 0:
        return (0.0, 1.0)
    digit = 10.0 ** math.floor(math.log10(far))
    rounded = round(math.ceil(far / digit - 1e-9) * digit, 12)
    return (round(1.0 - rounded, 12), 1.0) if signed else (0.0, rounded)
