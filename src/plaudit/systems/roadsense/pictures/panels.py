"""The panels of a strip chart: each draws one side of a drive over time on axes that it is given."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.track import Track
from plaudit.systems.roadsense.pictures.zones import Zones

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COMMON = 12.0
"""Values of terms beyond this, as of a collision, are drawn on a logarithmic scale."""


class Style(NamedTuple):
    """What panels need to know beside the drive."""

    ego: str
    zones: Zones | None
    top: float
    """The greatest distance that is shown."""


class Panel(NamedTuple):
    """A caption, how tall the panel is among the others, what draws it, and whether 0 is at its foot."""

    caption: str
    height: float
    draw: Callable[["Axes", Track, Style], None]
    from_zero: bool = True


def highest(drives: Iterable[Track], zones: Zones | None) -> float:
    """Return the greatest distance to show: the greatest there is, but not much more than the safe zone."""
    farthest = max((float(np.nanmax(drive.distance, initial=0.0)) for drive in drives), default=0.0)
    top = 1.08 * farthest or 1.0
    return top if zones is None else min(top, 2.5 * zones.safe_to)


def _distance(axes: "Axes", drive: Track, style: Style) -> None:
    if style.zones is not None:
        collision, unsafe, safe_from, safe_to = style.zones
        axes.axhspan(0.0, collision, color=colors.COLLISION, alpha=0.28, linewidth=0, label="collision")
        axes.axhspan(collision, unsafe, color=colors.UNSAFE, alpha=0.28, linewidth=0, label="unsafe")
        axes.axhspan(safe_from, safe_to, color=colors.SAFE, alpha=0.28, linewidth=0, label="safe")
    axes.plot(drive.seconds, drive.distance, color=colors.INK, linewidth=1.8)
    axes.set_ylim(0, style.top)
    farthest = np.nanmax(drive.distance, initial=0.0)
    if farthest > style.top:
        text = f"grows to {farthest:,.0f} m"
        axes.annotate(text, (0.98, 0.94), xycoords="axes fraction", ha="right", va="top", fontsize=9)


def _speeds(axes: "Axes", drive: Track, style: Style) -> None:
    for (name, values), color in zip(drive.speeds.items(), _repeated(len(drive.speeds)), strict=True):
        own = name == style.ego
        axes.plot(
            drive.seconds, values, color=color, linewidth=2.2 if own else 1.4, label=f"{name} (ego)" if own else name
        )


def _braking(axes: "Axes", drive: Track, style: Style) -> None:
    axes.fill_between(drive.seconds, drive.deceleration, step="pre", color=colors.LINES[0], alpha=0.35, linewidth=0)
    axes.plot(drive.seconds, drive.deceleration, drawstyle="steps-pre", color=colors.LINES[0], label="ego, as charged")
    if drive.hazard in drive.brakings:
        values = drive.brakings[drive.hazard]
        axes.plot(drive.seconds, values, color=colors.HAZARD, linewidth=1.4, label=f"{drive.hazard}, the hazard")


def _warning(axes: "Axes", drive: Track, style: Style) -> None:
    axes.fill_between(drive.seconds, drive.warning, color=colors.LINES[3], alpha=0.45, linewidth=0)
    axes.plot(drive.seconds, drive.warning, color=colors.LINES[3], linewidth=1.4)
    axes.set_ylim(0, 1.08)


def _terms(axes: "Axes", drive: Track, style: Style) -> None:
    for (name, values), color in zip(drive.terms.items(), _repeated(len(drive.terms)), strict=True):
        axes.plot(
            drive.seconds, values, drawstyle="steps-pre", color=color, linewidth=1.5, label=name.replace("_", " ")
        )
    if any(np.nanmax(np.abs(values), initial=0.0) > _COMMON for values in drive.terms.values()):
        axes.set_yscale("symlog", linthresh=_COMMON)


def _return(axes: "Axes", drive: Track, style: Style) -> None:
    axes.axhline(0, color=colors.FAINT, linewidth=0.8)
    axes.plot(drive.seconds, drive.gained, color=colors.INK, linewidth=1.8)
    axes.margins(y=0.3)
    total = drive.gained[-1]
    color = colors.GAIN if total >= 0 else colors.LOSS
    axes.annotate(
        f"{total:+,.0f}".replace("-", "−"),
        (drive.seconds[-1], total),
        xytext=(-4, 6 if total >= 0 else -5),
        textcoords="offset points",
        ha="right",
        va="bottom" if total >= 0 else "top",
        color=color,
        fontsize=12,
        fontweight="bold",
    )


def _repeated(count: int) -> list[str]:
    """Return as many colours as there are lines."""
    return [colors.LINES[at % len(colors.LINES)] for at in range(count)]


PANELS = (
    Panel("distance, m", 1.5, _distance),
    Panel("speed, m/s", 1.2, _speeds),
    Panel("braking, m/s²", 1.0, _braking),
    Panel("warning", 0.7, _warning),
    Panel("terms, a step", 1.2, _terms, from_zero=False),
    Panel("return so far", 1.2, _return, from_zero=False),
)
