"""A whole episode as panels over time, and several side by side."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from plaudit.errors import DefinitionError, MissingExtra
from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.pictures.panels import PANELS, Style, highest
from plaudit.systems.roadsense.pictures.picture_file import Place, kind_of, save
from plaudit.systems.roadsense.pictures.track import Track, track
from plaudit.systems.roadsense.pictures.zones import ZONES, Zones
from plaudit.systems.roadsense.world import EGO, STEP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("png", "svg")
_SALT = {"svg.hashsalt": "plaudit", "svg.fonttype": "path"}
"""matplotlib names the parts of an SVG at random but for this, which it reads from nowhere else than its settings."""
_METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def strip_chart(
    frames: Sequence[Frame] | Mapping[str, Sequence[Frame]],
    path: Place,
    *,
    ego: str = EGO,
    zones: Zones | None = ZONES,
    title: str | None = None,
) -> None:
    """Write a chart, PNG or SVG, of an episode: distance, speeds, braking, warning, every term and the return.

    Of a mapping, each episode is a column under its name, all on the same scales. The same frames give the same bytes.
    """
    kind = kind_of(path, KINDS, what="a strip chart")
    episodes = frames if isinstance(frames, Mapping) else {"": frames}
    if not episodes or not all(len(episode) for episode in episodes.values()):
        raise DefinitionError("a strip chart needs at least one frame of each episode")
    matplotlib = _matplotlib()

    def write(file: BinaryIO) -> None:
        figure.savefig(file, format=kind, dpi=100, metadata=_METADATA[kind])

    with matplotlib.rc_context(_SALT):
        drives = {name: track(episode) for name, episode in episodes.items()}
        figure = _figure(drives, Style(ego, zones, highest(drives.values(), zones)), title)
        save(path, write)


def _figure(drives: Mapping[str, Track], style: Style, title: str | None) -> "Figure":
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
            _dress(axes, drive)
        grid[0, at].set_title(name, fontsize=12, fontweight="bold", color=colors.INK, loc="left", pad=20)
        _name_hazard(grid[0, at], drive)
        grid[-1, at].set_xlabel("seconds", fontsize=10, color=colors.FAINT)
    for panel, row in zip(PANELS, grid, strict=True):
        if panel.from_zero:
            row[0].set_ylim(bottom=0)
        row[0].set_ylabel(panel.caption, fontsize=10, color=colors.INK)
        _explain(row[-1])
    figure.align_ylabels(grid[:, 0])
    if title is not None:
        figure.suptitle(title, fontsize=14, color=colors.INK)
    _settle(figure)
    return figure


def _settle(figure: "Figure") -> None:
    """Lay the panels out and round where they are: the last digits of matplotlib's solver differ from run to run."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(float(edge), 6) for edge in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def _dress(axes: "Axes", drive: Track) -> None:
    """Give a panel its grid and ticks, and mark when the hazard begins."""
    axes.grid(color="#00000018", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlim(drive.seconds[0] - STEP, drive.seconds[-1])
    axes.tick_params(labelsize=9, colors=colors.FAINT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if drive.onset is not None:
        axes.axvline(drive.onset, color=colors.HAZARD, linestyle=(0, (4, 3)), linewidth=1.3)


def _name_hazard(axes: "Axes", drive: Track) -> None:
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


def _explain(axes: "Axes") -> None:
    """Put the names of a panel's lines beside it."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), fontsize=9, frameon=False, handlelength=1.4)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtra(f"a strip chart needs {error.name}. Install it: pip install 'plaudit[sumo]'") from None
    return matplotlib
