"""Plots of two versions of a reward on the same data: one against the other, or side by side."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from plaudit.errors import InputError
from plaudit.plots.axes import COLORS, FAINT, Axes, clean, draw_zero, finish, open_axes
from plaudit.terminal import format_count

POINTS = 5000
"""Up to this many pairs, each is a point; for more, the density is plotted."""


def plot_pairs(
    before: ArrayLike,
    after: ArrayLike,
    *,
    names: tuple[str, str],
    what: str = "return",
    of: str = "episode",
    among: int | None = None,
    ax: "Axes | None" = None,
) -> Axes:
    """Plot one version against the other, with the line on which nothing changed.

    Both axes have the same scale: a point above the line is paid more by the second version.

    Args:
        before: Values under the first version.
        after: Values under the second version.
        names: The two versions.
        what: What the values are: "return" or "total".
        of: What a point is: "episode" or "step".
        among: Number of points in total, if these are a sample.
        ax: Axes to draw on; a new figure if omitted.
    """
    old, new = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if not len(old):
        raise InputError(f"nothing to plot: no {of}s.")
    ax = open_axes(ax, width=5.0, height=5.0)
    low, high = float(min(old.min(), new.min())), float(max(old.max(), new.max()))
    room = 0.05 * (high - low) or 1.0
    ends = (low - room, high + room)
    ax.plot(ends, ends, color=FAINT, linewidth=1, zorder=1, label="no change")
    if len(old) <= POINTS:
        ax.plot(old, new, "o", color=COLORS[0], markersize=4, alpha=0.5, markeredgewidth=0, zorder=2)
    else:
        drawn = ax.hexbin(old, new, gridsize=50, extent=(*ends, *ends), bins="log", mincnt=1, cmap="cividis", zorder=2)
        ax.figure.colorbar(drawn, ax=ax, label=f"{of}s", shrink=0.8)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    ax.set_xlabel(f"{what} under {clean(names[0])}")
    ax.set_ylabel(f"{what} under {clean(names[1])}")
    note = format_count(len(old) if among is None else among, of)
    note = note if among in (None, len(old)) else f"a sample of {len(old):,} of {note}"
    higher, lower = int((new > old).sum()), int((new < old).sum())
    ax.text(0.02, 0.98, f"{higher:,} higher", transform=ax.transAxes, va="top", fontsize="small")
    ax.text(0.98, 0.02, f"{lower:,} lower", transform=ax.transAxes, ha="right", fontsize="small")
    return finish(ax, title=f"{what.capitalize()} per {of} under both versions", note=note)


def plot_sides(
    rows: Sequence[str],
    before: Sequence[float | None],
    after: Sequence[float | None],
    *,
    names: tuple[str, str],
    measured: str,
    title: str,
    note: str = "",
    ax: "Axes | None" = None,
) -> Axes:
    """Plot two bars per row, before and after; a missing value has no bar.

    Args:
        rows: Name of each pair of bars: a term, or the total.
        before: Values before; None if missing.
        after: Values after.
        names: The two versions.
        measured: Label of the axis.
        title: Title of the plot.
        note: A note below the title.
        ax: Axes to draw on; a new figure if omitted.
    """
    if not rows:
        raise InputError("nothing to plot: the versions do not differ.")
    ax = open_axes(ax, height=max(1.6, 0.55 * len(rows) + 1.0))
    places = np.arange(len(rows), dtype=np.float64)
    for column, name, color, shift in zip((before, after), names, (COLORS[0], COLORS[1]), (-0.2, 0.2), strict=True):
        widths = np.array([np.nan if value is None else value for value in column], np.float64)
        bars = ax.barh(places + shift, np.nan_to_num(widths), 0.38, color=color, label=clean(name), zorder=2)
        ax.bar_label(
            bars, ["none" if width != width else f"{width:z,.5g}" for width in widths], padding=3, fontsize="small"
        )
    draw_zero(ax, vertical=True)
    ax.margins(x=0.3)
    ax.set_yticks(places, [clean(row) for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel(measured)
    return finish(ax, title=title, note=note, legend=True)
