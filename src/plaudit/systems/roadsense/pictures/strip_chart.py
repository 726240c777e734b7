"""A whole episode as panels over time, and several side by side: each panel draws one side of a drive."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import DefinitionError, MissingExtra
from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import ZONES, Frame, Zones
from plaudit.systems.roadsense.pictures.picture_file import PicturePath, validate_kind, write_picture
from plaudit.systems.roadsense.world import EGO, STEP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("png", "svg")
_SETTINGS = {
    "svg.hashsalt": "plaudit",  # or the parts of an SVG are named at random
    "svg.fonttype": "path",
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,  # the panels are laid out once, by `_fix_layout`
}
"""What matplotlib reads from nowhere else than its settings, whatever they are."""
_METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
_COMMON = 12.0
"""Values of terms beyond this, as of a collision, are drawn on a logarithmic scale."""
Column = NDArray[np.float64]


class Track(NamedTuple):
    """A drive as columns, a number a step; NaN where a car is not on the road, or if no car ahead is heard."""

    seconds: Column
    distance: Column
    deceleration: Column
    warning: Column
    speeds: dict[str, Column]
    brakings: dict[str, Column]
    """How hard each car truly brakes, in m/s²; 0 where it does not."""
    terms: dict[str, Column]
    gained: Column
    """The return so far."""
    hazard: str | None
    onset: float | None
    """When the hazard began, in seconds."""


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


def save_strip_chart(
    frames: Sequence[Frame] | Mapping[str, Sequence[Frame]],
    path: PicturePath,
    *,
    ego: str = EGO,
    zones: Zones | None = ZONES,
    title: str | None = None,
) -> None:
    """Write a chart, PNG or SVG, of an episode: distance, speeds, braking, warning, every term and the return.

    Of a mapping, each episode is a column under its name, all on the same scales. The same frames give the same bytes.
    """
    kind = validate_kind(path, KINDS, what="a strip chart")
    episodes = frames if isinstance(frames, Mapping) else {"": frames}
    if not episodes or not all(len(episode) for episode in episodes.values()):
        raise DefinitionError("a strip chart needs at least one frame of each episode")
    matplotlib = _import_matplotlib()

    def write(file: BinaryIO) -> None:
        figure.savefig(file, format=kind, dpi=100, metadata=_METADATA[kind])

    with matplotlib.rc_context(_SETTINGS):
        drives = {name: build_track(episode) for name, episode in episodes.items()}
        figure = _build_figure(drives, Style(ego, zones, find_top(drives.values(), zones)), title)
        write_picture(path, write)


def _import_matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtra(f"a strip chart needs {error.name}. Install it: pip install 'plaudit[sumo]'") from None
    return matplotlib


def _build_figure(drives: Mapping[str, Track], style: Style, title: str | None) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = len(drives)
    figure = Figure(figsize=(2.2 + 4.4 * columns, 9.2), layout="constrained", facecolor=colors.PAPER)
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        len(PANELS),
        columns,
        sharex="col",
        sharey="row",
        squeeze=False,
        height_ratios=[panel.height for panel in PANELS],
    )
    for at, (name, drive) in enumerate(drives.items()):
        for panel, axes in zip(PANELS, grid[:, at], strict=True):
            panel.draw(axes, drive, style)
            _style_axes(axes, drive)
        grid[0, at].set_title(name, fontsize=12, fontweight="bold", color=colors.INK, loc="left", pad=20)
        _label_hazard(grid[0, at], drive)
        grid[-1, at].set_xlabel("seconds", fontsize=10, color=colors.FAINT)
    for panel, row in zip(PANELS, grid, strict=True):
        if panel.from_zero:
            row[0].set_ylim(bottom=0)
        row[0].set_ylabel(panel.caption, fontsize=10, color=colors.INK)
        _add_legend(row[-1])
    figure.align_ylabels(grid[:, 0])
    if title is not None:
        figure.suptitle(title, fontsize=14, color=colors.INK)
    _fix_layout(figure)
    return figure


def _fix_layout(figure: "Figure") -> None:
    """Lay the panels out and round where they are: the last digits of matplotlib's solver differ from run to run."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    figure.set_layout_engine(None)  # with any, even "none", it would be drawn twice to be saved
    for axes in figure.axes:
        left, bottom, width, height = (round(float(edge), 6) for edge in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def _style_axes(axes: "Axes", drive: Track) -> None:
    axes.grid(color="#00000018", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlim(drive.seconds[0] - STEP, drive.seconds[-1])
    axes.tick_params(labelsize=9, colors=colors.FAINT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if drive.onset is not None:
        axes.axvline(drive.onset, color=colors.HAZARD, linestyle=(0, (4, 3)), linewidth=1.3)


def _label_hazard(axes: "Axes", drive: Track) -> None:
    if drive.onset is not None:
        axes.annotate(
            f"{drive.hazard} brakes",
            (drive.onset, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            fontsize=9,
            color=colors.LOSS,
        )


def _add_legend(axes: "Axes") -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), fontsize=9, frameon=False, handlelength=1.4)


def build_track(frames: Sequence[Frame]) -> Track:
    """Return the columns of a drive."""
    measured = [frame.measured for frame in frames]
    names = sorted({name for frame in frames for name in frame.cars})
    terms = dict.fromkeys(name for frame in frames for name in frame.terms)
    first = next((frame for frame in frames if frame.hazard is not None), None)
    distance = _build_column([each.distance for each in measured])
    return Track(
        seconds=_build_column([frame.step * STEP for frame in frames]),
        distance=np.where(np.isinf(distance), np.nan, distance),
        deceleration=_build_column([each.deceleration for each in measured]),
        warning=_build_column([each.warned_fading for each in measured]),
        speeds={name: _read_car(frames, name, "speed") for name in names},
        brakings={name: np.maximum(0.0, -_read_car(frames, name, "acceleration")) for name in names},
        terms={name: _build_column([frame.terms.get(name, np.nan) for frame in frames]) for name in terms},
        gained=np.cumsum(_build_column([frame.total for frame in frames])),
        hazard=first.hazard if first else None,
        onset=max(0, first.step - 1) * STEP if first else None,  # a frame is the end of its step
    )


def _read_car(frames: Sequence[Frame], name: str, measure: str) -> Column:
    return _build_column([getattr(frame.cars[name], measure) if name in frame.cars else np.nan for frame in frames])


def _build_column(values: Sequence[float]) -> Column:
    return np.array(values, dtype=np.float64)


def find_top(drives: Iterable[Track], zones: Zones | None) -> float:
    """Return the greatest distance to show: the greatest there is, but not much more than the safe zone."""
    farthest = max((float(np.nanmax(drive.distance, initial=0.0)) for drive in drives), default=0.0)
    top = 1.08 * farthest or 1.0
    return top if zones is None else min(top, 2.5 * zones.safe_to)


def _draw_distance(axes: "Axes", drive: Track, style: Style) -> None:
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


def _draw_speeds(axes: "Axes", drive: Track, style: Style) -> None:
    for (name, values), color in zip(drive.speeds.items(), _cycle_colors(len(drive.speeds)), strict=True):
        own = name == style.ego
        axes.plot(
            drive.seconds, values, color=color, linewidth=2.2 if own else 1.4, label=f"{name} (ego)" if own else name
        )


def _draw_braking(axes: "Axes", drive: Track, style: Style) -> None:
    axes.fill_between(drive.seconds, drive.deceleration, step="pre", color=colors.LINES[0], alpha=0.35, linewidth=0)
    axes.plot(drive.seconds, drive.deceleration, drawstyle="steps-pre", color=colors.LINES[0], label="ego, as charged")
    if drive.hazard in drive.brakings:
        values = drive.brakings[drive.hazard]
        axes.plot(drive.seconds, values, color=colors.HAZARD, linewidth=1.4, label=f"{drive.hazard}, the hazard")


def _draw_warning(axes: "Axes", drive: Track, style: Style) -> None:
    axes.fill_between(drive.seconds, drive.warning, color=colors.LINES[3], alpha=0.45, linewidth=0)
    axes.plot(drive.seconds, drive.warning, color=colors.LINES[3], linewidth=1.4)
    axes.set_ylim(0, 1.08)


def _draw_terms(axes: "Axes", drive: Track, style: Style) -> None:
    for (name, values), color in zip(drive.terms.items(), _cycle_colors(len(drive.terms)), strict=True):
        axes.plot(
            drive.seconds, values, drawstyle="steps-pre", color=color, linewidth=1.5, label=name.replace("_", " ")
        )
    if any(np.nanmax(np.abs(values), initial=0.0) > _COMMON for values in drive.terms.values()):
        axes.set_yscale("symlog", linthresh=_COMMON)


def _draw_return(axes: "Axes", drive: Track, style: Style) -> None:
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


def _cycle_colors(count: int) -> list[str]:
    return [colors.LINES[at % len(colors.LINES)] for at in range(count)]


PANELS = (
    Panel("distance, m", 1.5, _draw_distance),
    Panel("speed, m/s", 1.2, _draw_speeds),
    Panel("braking, m/s²", 1.0, _draw_braking),
    Panel("warning", 0.7, _draw_warning),
    Panel("terms, a step", 1.2, _draw_terms, from_zero=False),
    Panel("return so far", 1.2, _draw_return, from_zero=False),
)
