"""Plots of a function: a curve over one input with its zones and the rows of findings, or a map over two."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plaudit.plots.axes import COLORS, FAINT, TOTAL, Axes, clean, draw_zero, finish, label_axis, open_axes

Numbers = NDArray[np.float64]


class Axis(NamedTuple):
    """One input of a plot."""

    name: str
    unit: str
    values: Numbers
    ticks: Sequence[str] = ()
    """Labels of its values, if they are categories or bools."""


class Mark(NamedTuple):
    """A row of a finding."""

    x: float
    y: float
    text: str
    exact: bool = True
    """Whether it lies on the plotted curve or map; otherwise the mark is hollow."""


def plot_curve(
    over: Axis,
    values: ArrayLike,
    *,
    measured: str,
    cuts: Sequence[float] = (),
    marks: Sequence[Mark] = (),
    title: str = "",
    note: str = "",
    style: int | None = None,
    ax: "Axes | None" = None,
) -> Axes:
    """Plot a curve, broken at jumps, with every second zone shaded, and marks on it.

    Args:
        over: The input along the x axis.
        values: The value at each point; NaN where it cannot be scored.
        measured: Label of the values.
        cuts: Boundaries between zones.
        marks: Points to label.
        title: Title of the plot.
        note: Values of the other inputs.
        style: Position of the term in its reward, which sets the color; None for the total.
        ax: Axes to draw on; a new figure if omitted.
    """
    numbers = np.asarray(values, np.float64)
    color = TOTAL if style is None else COLORS[style % len(COLORS)]
    ax = open_axes(ax, width=8.4 if marks else 6.4)
    draw_zero(ax)
    if over.ticks:
        bars = ax.bar(over.values, numbers, 0.6, color=color, zorder=2)
        ax.use_sticky_edges = False
        ax.bar_label(bars, ["none" if value != value else f"{value:z,.5g}" for value in numbers], padding=3)
        ax.set_xticks(over.values, [clean(each) for each in over.ticks])
    else:
        _shade_zones(ax, [float(over.values[0]), *cuts, float(over.values[-1])])
        for x, y in _split_jumps(over.values, numbers):
            ax.plot(x, y, "." if len(x) == 1 else "-", color=color, linewidth=2, solid_capstyle="butt", zorder=3)
    _draw_marks(ax, marks)
    ax.margins(y=0.12)
    ax.set_xlabel(label_axis(over.name, over.unit))
    ax.set_ylabel(clean(measured))
    return finish(ax, title=title, note=note, legend=bool(marks))


def plot_map(
    x: Axis,
    y: Axis,
    values: ArrayLike,
    *,
    measured: str,
    marks: Sequence[Mark] = (),
    title: str = "",
    note: str = "",
    ax: "Axes | None" = None,
) -> Axes:
    """Plot values over two inputs as colors; the scale is centered on zero if values have both signs.

    Args:
        x: The input along the x axis.
        y: The input along the y axis.
        values: A row for each value of `y`; NaN, left white, where it cannot be scored.
        measured: Label of the values.
        marks: Points to label: rows of findings.
        title: Title of the plot.
        note: Values of the other inputs.
        ax: Axes to draw on; a new figure if omitted.
    """
    table = np.ma.masked_invalid(np.asarray(values, np.float64))
    low, high = (float(table.min()), float(table.max())) if table.count() else (0.0, 1.0)
    both = low < 0 < high
    ends = (-max(-low, high), max(-low, high)) if both else (low, high)
    ax = open_axes(ax, width=7.2, height=4.6)
    drawn = ax.pcolormesh(
        _find_edges(x),
        _find_edges(y),
        table,
        vmin=ends[0],
        vmax=ends[1],
        cmap="PuOr" if both else "cividis",
        rasterized=True,
    )
    ax.figure.colorbar(drawn, ax=ax, label=clean(measured))
    _draw_marks(ax, marks)
    for axis, set_label, set_ticks in ((x, ax.set_xlabel, ax.set_xticks), (y, ax.set_ylabel, ax.set_yticks)):
        set_label(label_axis(axis.name, axis.unit))
        if axis.ticks:
            set_ticks(axis.values, [clean(each) for each in axis.ticks])
    return finish(ax, title=title, note=note, legend=bool(marks), below=True)


def _shade_zones(ax: Axes, ends: Sequence[float]) -> None:
    for at, (low, high) in enumerate(pairwise(ends)):
        if at % 2:
            ax.axvspan(low, high, color=FAINT, alpha=0.15, linewidth=0, zorder=0)
    for cut in ends[1:-1]:
        ax.axvline(cut, color=FAINT, linewidth=0.6, linestyle=":", zorder=1)


def _draw_marks(ax: Axes, marks: Sequence[Mark]) -> None:
    """Draw numbered diamonds; the legend explains them."""
    for number, mark in enumerate(marks, 1):
        face = COLORS[5] if mark.exact else "white"
        ax.plot(
            mark.x,
            mark.y,
            "D",
            color=COLORS[5],
            markerfacecolor=face,
            zorder=5,
            clip_on=False,
            linestyle="",
            label=f"{number}  {clean(mark.text)}",
        )
        ax.annotate(str(number), (mark.x, mark.y), (6, 5), textcoords="offset points", fontsize="small", zorder=6)


def _split_jumps(x: Numbers, y: Numbers) -> list[tuple[Numbers, Numbers]]:
    """Return the segments of a curve, split at missing values and at jumps between neighbors."""
    known = np.isfinite(y)
    filled = np.where(known, y, 0.0)
    close = np.diff(x) < 1e-9 * (x[-1] - x[0])
    jumps = close & (np.abs(np.diff(filled)) > 1e-9 * max(float(np.ptp(filled)), 1e-300))
    bounds = np.flatnonzero(jumps | (known[1:] != known[:-1])) + 1
    parts = zip(np.split(x, bounds), np.split(y, bounds), np.split(known, bounds), strict=True)
    return [(a, b) for a, b, is_known in parts if is_known[0]]


def _find_edges(axis: Axis) -> Numbers:
    """Return the edges of cells: midway between values, and as far beyond the outer ones."""
    values = axis.values
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])
