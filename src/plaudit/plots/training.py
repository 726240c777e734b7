"""Plots of many episodes: returns and terms, in the order in which episodes began."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.plots.axes import TOTAL, Axes, choose_style, clean, draw_zero, finish, open_axes
from plaudit.terminal import format_count

Numbers = NDArray[np.float64]
POINTS = 5000
"""Up to this many episodes, each is a point."""
_PER_WINDOW = 50
"""The default window is all episodes divided by this."""


def plot_returns(groups: Mapping[str, Sequence[float]], *, window: int | None = None, ax: "Axes | None" = None) -> Axes:
    """Plot the return of each episode as a point and their moving mean as a line; one color per group.

    Args:
        groups: The returns of each run, in the order of its episodes.
        window: Episodes in the moving mean; a fiftieth of them if omitted.
        ax: Axes to draw on; a new figure if omitted.
    """
    count = sum(map(len, groups.values()))
    width = _choose_window(window, max(map(len, groups.values()), default=0))
    ax = open_axes(ax)
    for at, (name, returns) in enumerate(groups.items()):
        color = TOTAL if len(groups) == 1 else choose_style(at).color
        numbers = np.asarray(returns, np.float64)
        if len(numbers) <= POINTS:
            ax.plot(np.arange(1, len(numbers) + 1), numbers, ".", color=color, alpha=0.25, markersize=4, zorder=2)
        ax.plot(*_average(numbers, width), color=color, linewidth=1.8, label=clean(name), zorder=3)
    draw_zero(ax)
    ax.set_xlabel("episode")
    ax.set_ylabel("return")
    return finish(ax, title="Return per episode", note=_describe(count, width), legend=len(groups) > 1)


def plot_terms(
    terms: Mapping[str, Sequence[float | None]],
    totals: Sequence[float],
    *,
    window: int | None = None,
    ax: "Axes | None" = None,
) -> Axes:
    """Plot the sum of each term per episode as moving means, and the return in black.

    Args:
        terms: The sum of each term in every episode, in the order of the reward; None if it has no such term.
        totals: The return of every episode.
        window: Episodes in the moving means; a fiftieth of them if omitted.
        ax: Axes to draw on; a new figure if omitted.
    """
    width = _choose_window(window, len(totals))
    ax = open_axes(ax)
    for at, (name, column) in enumerate(terms.items()):
        style = choose_style(at)
        x, y = _average(np.array([np.nan if value is None else value for value in column], np.float64), width)
        ax.plot(x, y, color=style.color, linestyle=style.dash, linewidth=1.5, label=clean(name), zorder=3)
    ax.plot(*_average(np.asarray(totals, np.float64), width), color=TOTAL, linewidth=2, label="return", zorder=4)
    draw_zero(ax)
    ax.set_xlabel("episode")
    ax.set_ylabel("sum over the episode")
    return finish(ax, title="Return by term", note=_describe(len(totals), width), legend=True)


def _choose_window(window: int | None, count: int) -> int:
    if not count:
        raise InputError("nothing to plot: no episodes.")
    if window is not None and not 1 <= window <= count:
        raise InputError(f"window={window!r} must be between 1 and {count:,}, the number of episodes.")
    return max(1, count // _PER_WINDOW) if window is None else window


def _average(numbers: Numbers, width: int) -> tuple[Numbers, Numbers]:
    """Return the positions of a moving mean, at the end of its window, and its values; only full windows count."""
    width = min(width, len(numbers))
    sums = np.concatenate([[0.0], np.cumsum(np.where(np.isnan(numbers), 0.0, numbers))])
    known = np.concatenate([[0.0], np.cumsum(~np.isnan(numbers))])
    counts = known[width:] - known[:-width]
    means = (sums[width:] - sums[:-width]) / np.where(counts == 0, np.nan, counts)
    return np.arange(width, len(numbers) + 1, dtype=np.float64), means


def _describe(count: int, width: int) -> str:
    episodes = format_count(count, "episode")
    return episodes if width == 1 else f"{episodes}, moving mean over {width:,}"
