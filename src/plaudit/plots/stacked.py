"""Stacked plots of terms over steps or episodes: rewards above zero, costs below."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plaudit.errors import InputError
from plaudit.plots.axes import FAINT, TOTAL, Axes, choose_style, clean, draw_zero, finish, label_axis, open_axes
from plaudit.terminal import format_count

Numbers = NDArray[np.float64]
MOST_TERMS = 12
"""Terms that are shown separately; the others, those with the smallest values, are summed."""
MOST_BARS = 400
"""Maximum number of bars; more steps are summed in equal groups."""


def plot_stacked(
    terms: Mapping[str, ArrayLike],
    totals: ArrayLike,
    *,
    x: Sequence[float] | None = None,
    along: str = "step",
    measured: str = "value",
    title: str = "",
    ax: "Axes | None" = None,
) -> Axes:
    """Plot terms stacked, positive values above zero and negative ones below, with the total as a line.

    Args:
        terms: Value of each term at every position, in the order of the reward.
        totals: The total at every position.
        x: The positions; 0, 1, 2 … if omitted.
        along: What a position is: "step".
        measured: Label of the values, with their unit.
        title: Title of the plot.
        ax: Axes to draw on; a new figure if omitted.
    """
    whole = np.asarray(totals, np.float64)
    count = len(whole)
    if not count:
        raise InputError("nothing to plot: no steps.")
    group = -(-count // MOST_BARS)
    first = np.arange(0, count, group)
    places = np.arange(count, dtype=np.float64) if x is None else np.asarray(x, np.float64)
    edges, cells = _find_cells(places, first)
    ax = open_axes(ax, width=7.2)

    def fill(column: Numbers) -> Numbers:
        heights = np.full(len(edges) - 1, np.nan)  # where there is no step, nothing is drawn
        heights[cells] = np.add.reduceat(column, first)
        return heights

    above, below = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    for name, column, place in _choose_terms(terms):
        heights = fill(column)
        base = np.where(heights >= 0, above, below)
        color, hatch = (FAINT, "") if place is None else (choose_style(place).color, choose_style(place).hatch)
        ax.stairs(base + heights, edges, baseline=base, fill=True, color=color, hatch=hatch, label=name, zorder=2)
        above, below = above + np.fmax(heights, 0), below + np.fmin(heights, 0)
    ax.stairs(
        fill(whole),
        edges,
        baseline=None,
        color=TOTAL,
        linewidth=1.4 if len(first) < 100 else 0.7,
        label="total",
        zorder=4,
    )
    draw_zero(ax)
    ax.margins(x=0.01)
    ax.set_xlabel(label_axis(along))
    ax.set_ylabel(measured if group == 1 else f"{measured}, sum of {group:,} {along}s")
    return finish(ax, title=title, note=format_count(count, along), legend=True)


def plot_shares(
    edges: Sequence[float],
    shares: Mapping[str, ArrayLike],
    *,
    along: str,
    title: str = "",
    counts: int = 0,
    ax: "Axes | None" = None,
) -> Axes:
    """Plot the share of each term in every bin; negative shares are below the line.

    Args:
        edges: Edges of the bins.
        shares: Share of each term in every bin, in the order of the reward; 1 is the whole.
        along: What bins are of: "episode".
        title: Title of the plot.
        counts: Number of episodes or steps, shown in a note; 0 for none.
        ax: Axes to draw on; a new figure if omitted.
    """
    ends = np.asarray(edges, np.float64)
    if len(ends) < 2:
        raise InputError("shares need at least one bin.")
    ax = open_axes(ax, width=7.2)
    above, below = np.zeros(len(ends) - 1), np.zeros(len(ends) - 1)
    for at, (name, column) in enumerate(shares.items()):
        heights, style = np.nan_to_num(np.asarray(column, np.float64)), choose_style(at)
        base = np.where(heights >= 0, above, below)
        ax.bar(
            ends[:-1],
            heights,
            np.diff(ends),
            base,
            align="edge",
            color=style.color,
            hatch=style.hatch,
            label=clean(name),
            edgecolor="white",
            linewidth=0.4,
            zorder=2,
        )
        above, below = above + np.maximum(heights, 0), below + np.minimum(heights, 0)
    draw_zero(ax)
    ax.axhline(1.0, color=FAINT, linewidth=0.6, zorder=1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:z.0%}")
    ax.set_xlabel(label_axis(along))
    ax.set_ylabel("share")
    return finish(ax, title=title, note=format_count(counts, along) if counts else "", legend=True)


def _find_cells(places: Numbers, first: NDArray[np.intp]) -> tuple[Numbers, NDArray[np.intp]]:
    """Return the edges of cells, and which of them hold the groups that begin at `first`; others are gaps."""
    wide = float(np.diff(places).min(initial=math.inf))
    wide = wide if math.isfinite(wide) else 1.0
    starts = places[first] - wide / 2
    ends = places[np.append(first[1:], len(places)) - 1] + wide / 2
    edges = np.unique(np.round(np.concatenate([starts, ends]) / wide, 6)) * wide
    return edges, np.searchsorted(edges, starts - wide / 4)


def _choose_terms(terms: Mapping[str, ArrayLike]) -> list[tuple[str, Numbers, int | None]]:
    """Return the largest terms in the order of the reward, each with its position; then the sum of the others."""
    columns = [np.asarray(column, np.float64) for column in terms.values()]
    sizes = [float(np.abs(column).sum()) for column in columns]
    largest = set(sorted(range(len(columns)), key=lambda at: -sizes[at])[:MOST_TERMS])
    found: list[tuple[str, Numbers, int | None]] = [
        (clean(name), columns[at], at) for at, name in enumerate(terms) if at in largest and sizes[at]
    ]
    others = [column for at, column in enumerate(columns) if at not in largest and sizes[at]]
    if others:
        found.append((f"{len(others)} others", np.sum(others, axis=0), None))
    return found
