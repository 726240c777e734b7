"""Pictures of what something is made of: what terms give upwards, what they take downwards, over steps or over time."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plaudit.errors import InputError
from plaudit.plots.axes import FAINT, TOTAL, Axes, choose_style, clean, draw_zero, finish, label_axis, open_axes
from plaudit.terminal import format_count

Numbers = NDArray[np.float64]
MOST_TERMS = 12
"""How many terms are told apart; the rest, those that pay least, is one."""
MOST_BARS = 400
"""How many bars stand side by side; more steps are added up in equal groups."""


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
    """Draw terms on top of one another, above zero what they give and below it what they take; the total is a line.

    Args:
        terms: What each term pays at every place, in the order of the reward.
        totals: The total at every place.
        x: Where the places are; 0, 1, 2 … unless given.
        along: What a place is.
        measured: What the numbers are, with their unit.
        title: What is shown.
        ax: Where to draw; a new figure unless given.
    """
    whole = np.asarray(totals, np.float64)
    count = len(whole)
    if not count:
        raise InputError("there is nothing to draw: no steps.")
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
    """Draw the share of each term in every bin; shares below zero hang below the line.

    Args:
        edges: Where bins begin, and where the last one ends.
        shares: The share of each term in every bin, in the order of the reward; 1 is all of it.
        along: What bins are of: "episode".
        title: What the shares are of.
        counts: How many episodes or steps they come from, to be said.
        ax: Where to draw; a new figure unless given.
    """
    ends = np.asarray(edges, np.float64)
    if len(ends) < 2:
        raise InputError("shares need one bin at least.")
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
    """Return the edges of cells, and which of them hold the groups that begin `first`; where steps lack, others lie."""
    wide = float(np.diff(places).min(initial=math.inf))
    wide = wide if math.isfinite(wide) else 1.0
    starts = places[first] - wide / 2
    ends = places[np.append(first[1:], len(places)) - 1] + wide / 2
    edges = np.unique(np.round(np.concatenate([starts, ends]) / wide, 6)) * wide
    return edges, np.searchsorted(edges, starts - wide / 4)


def _choose_terms(terms: Mapping[str, ArrayLike]) -> list[tuple[str, Numbers, int | None]]:
    """Return the terms that pay most, in the order of the reward, each with its place; then the sum of the others."""
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
