"""Shared parts of all plots: axes, a color-blind-safe palette, and labels."""

import textwrap
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from plaudit.errors import MissingExtra
from plaudit.terminal import escape_line

if TYPE_CHECKING:
    import matplotlib.axes

Axes: TypeAlias = "matplotlib.axes.Axes"

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""The color-blind-safe palette of Okabe and Ito; the total is black."""
TOTAL = "#000000"
FAINT = "#999999"
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)))
_HATCHES = ("", "///", "...")
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_NOTE = 56, 90, 300
"""Characters of a text; longer ones are cut."""
_PER_INCH = 12.5
"""Characters of a note per inch."""


class Style(NamedTuple):
    """The style of one term: a color, and a dash or a hatch once the colors are used up."""

    color: str
    dash: Any
    hatch: str


def choose_style(position: int) -> Style:
    """Return the style of the term at a position in its reward: the same in every plot.

    >>> choose_style(0).color, choose_style(7)
    ('#0072B2', Style(color='#0072B2', dash=(0, (4, 1.5)), hatch='///'))
    """
    cycle = position // len(COLORS) % len(_DASHES)
    return Style(COLORS[position % len(COLORS)], _DASHES[cycle], _HATCHES[cycle])


def open_axes(ax: "Axes | None", *, width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the given axes, or new ones in their own figure.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        pyplot: Any = import_module("matplotlib.pyplot")
    except ImportError as error:
        raise MissingExtra("plots need matplotlib. Install it: pip install 'plaudit[plot]'") from error
    made: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return made


def clean(text: object, most: int = _LONGEST_NAME) -> str:
    r"""Return a name that matplotlib shows as plain text, keeps in a legend, and that is not too long.

    >>> clean("$x$"), clean("_hidden"), clean("a\n")
    ('\\$x\\$', ' _hidden', 'a\\n')
    """
    plain = escape_line(str(text))
    plain = plain if len(plain) <= most else f"{plain[: most - 1]}…"
    return (f" {plain}" if plain.startswith("_") else plain).replace("$", r"\$")


def label_axis(name: str, unit: str = "") -> str:
    """Return the label of an axis.

    >>> label_axis("distance", "m"), label_axis("steps")
    ('distance (m)', 'steps')
    """
    return f"{clean(name)} ({clean(unit)})" if unit else clean(name)


def draw_zero(ax: Axes, *, vertical: bool = False) -> None:
    """Draw a line at zero, and include zero in the limits."""
    (ax.axvline if vertical else ax.axhline)(0.0, color=TOTAL, linewidth=0.6, zorder=1)


def finish(ax: Axes, *, title: str = "", note: str = "", legend: bool = False, below: bool = False) -> Axes:
    """Add a title, a note and a legend beside or `below` the axes, and remove unused spines."""
    ax.spines[["top", "right"]].set_visible(False)
    lines = textwrap.wrap(clean(note, _LONGEST_NOTE), max(int(ax.bbox.width / ax.figure.dpi * _PER_INCH), 20))
    ax.set_title(clean(title, _LONGEST_TITLE), loc="left", fontsize="medium", pad=6 + 11 * len(lines))
    if lines:
        said = ax.annotate("\n".join(lines), (0, 1), (0, 4), "axes fraction", "offset points", va="bottom")
        said.set(fontsize="small", color="#555555", in_layout=False)
    if legend and below:
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, -0.16), borderaxespad=0)
    elif legend:
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return ax
