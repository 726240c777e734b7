"""Pictures of two versions of a reward: what each paid for the same, against one another or side by side."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from plaudit.errors import InputError
from plaudit.plots.axes import COLORS, FAINT, Axes, clean, draw_zero, finish, open_axes
from plaudit.terminal import format_count

POINTS = 5000
"""Up to so many pairs each is a point of its own; of more, the density is drawn."""


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
    """Draw what one version pays over what the other pays, with the line on which nothing changed.

    Both axes have the same scale, so that a point above the line is one that is paid more now.

    Args:
        before: What the first version pays.
        after: What the second version pays for the same.
        names: The two versions.
        what: What is paid: "return" or "total".
        of: What a point is.
        among: How many there are, where these are a sample of them.
        ax: Where to draw; a new figure unless given.
    """
    old, new = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if not len(old):
        raise InputError(f"there are no {of}s to draw.")
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
    ax.set_xlabel(f"{what} by {clean(names[0])}")
    ax.set_ylabel(f"{what} by {clean(names[1])}")
    note = format_count(len(old) if among is None else among, of)
    note = note if among in (None, len(old)) else f"a sample of {len(old):,} of {note}"
    higher, lower = int((new > old).sum()), int((new < old).sum())
    ax.text(0.02, 0.98, f"{higher:,} paid more now", transform=ax.transAxes, va="top", fontsize="small")
    ax.text(0.98, 0.02, f"{lower:,} paid less now", transform=ax.transAxes, ha="right", fontsize="small")
    return finish(ax, title="Version against version", note=note)


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
    """Draw two bars from zero for each row, what was and what is; a bar that is missing has no number.

    Args:
        rows: What each pair of bars is of: a term, the total.
        before: What it was; None where there is no number.
        after: What it is.
        names: The two versions.
        measured: What the numbers are.
        title: What is shown.
        note: What else is to be said.
        ax: Where to draw; a new figure unless given.
    """
    if not rows:
        raise InputError("there is nothing to draw: the two do not differ.")
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
