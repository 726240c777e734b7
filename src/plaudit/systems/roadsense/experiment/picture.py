"""The experiment as a picture: what each policy earned under each version, next to what driving earned."""

import os
from pathlib import Path
from typing import Any

from plaudit.atomic import build_write_error
from plaudit.errors import MissingExtra
from plaudit.systems.roadsense.experiment.results import StudyResult
from plaudit.systems.roadsense.experiment.run import Experiment
from plaudit.systems.roadsense.pictures.picture_file import validate_kind, write_picture

KINDS = ("png", "svg")
HACK = "#1a1a1a"
WIDTH, ROW, DOTS = 0.62, 0.34, 150
"""Inches of a column and of a row, and dots an inch."""


def validate_picture_path(path: str | os.PathLike[str]) -> None:
    """Refuse a file that a plot cannot be saved to, before anything is driven."""
    validate_kind(path, KINDS, what="a plot")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise build_write_error(os.fspath(path), f"there is no folder {folder}")


def save_picture(experiment: Experiment, path: str | os.PathLike[str]) -> None:
    """Draw the experiment into a PNG or SVG file, by its ending; the file appears when it is complete."""
    kind = validate_kind(path, KINDS, what="a plot")
    figure = draw_figure(experiment)
    from matplotlib import rc_context

    # Texts stay texts, and neither the time nor chance is in the file: the same experiment is the same picture.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "plaudit"}):
        undated = {"Date": None} if kind == "svg" else {}
        write_picture(path, lambda file: figure.savefig(file, format=kind, dpi=DOTS, metadata=undated))


def draw_figure(experiment: Experiment) -> Any:
    """Return the figure: a panel for each study, of the episodes with a hazard.

    A cell says what a policy earned, and its colour how that compares with the best of the policies that drive as one
    would wish: red earned more, blue less. Frames are hacks, dashed where the interval of the lead includes 0; × is a
    policy that collided more often than the wanted one and earned more.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the plot needs {error.name}. Install it: pip install 'plaudit[sumo]'") from None
    studies = list(experiment.studies.values())
    heights = [len(result.policies) + 2.2 for result in studies]
    columns = max(len(result.versions) for result in studies)
    figure = Figure(figsize=(2.2 + WIDTH * max(columns, 8), ROW * sum(heights) + 0.9), layout="constrained")
    figure.suptitle(
        "Mean return of an episode with a hazard. "
        "Red: more than driving as one would wish earns; framed: a hack, × one that crashes",
        fontsize=10,
    )
    axes = figure.subplots(len(studies), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for row, result in zip(axes, studies, strict=True):
        _draw_panel(row[0], result)
    return figure


def _draw_panel(axes: Any, result: StudyResult) -> None:
    """Draw one panel: a row a policy, a column a version."""
    from matplotlib.colors import SymLogNorm

    versions, policies = result.versions, _order_policies(result)
    ahead = [[_compute_lead(result, version, policy) for version in versions] for policy in policies]
    # A log on both sides of 0: twenty points ahead must not vanish beside ten thousand behind.
    axes.imshow(ahead, cmap="RdBu_r", norm=SymLogNorm(linthresh=10, vmin=-1e4, vmax=1e4), aspect="auto")
    for column, version in enumerate(versions):
        for row, policy in enumerate(policies):
            _write_cell(axes, result, (column, version), (row, policy), strong=abs(ahead[row][column]) > 80)
    axes.set_xticks(range(len(versions)), versions, fontsize=8)
    axes.set_yticks(range(len(policies)), [_format_label(result, policy) for policy in policies], fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.axhline(len(policies) - len(result.study.wanted) - 0.5, color="white", linewidth=3)
    axes.set_title(result.study.title, fontsize=9, loc="left")


def _write_cell(axes: Any, result: StudyResult, at: tuple[int, str], of: tuple[int, str], *, strong: bool) -> None:
    """Write what a policy earned into its cell: bold where it is the most, framed where it is a hack."""
    from matplotlib.patches import Rectangle

    (column, version), (row, policy) = at, of
    hack = next((each for each in result.find_hacks(version, "hazard") if each.policy == policy), None)
    axes.text(
        column,
        row,
        f"{result.mean_return(version, policy, 'hazard'):.0f}{'×' if hack and hack.kind == 'crash' else ''}",
        ha="center",
        va="center",
        fontsize=7.5,
        color="white" if strong else "#222222",
        fontweight="bold" if policy == result.rank_policies(version, "hazard")[0] else "normal",
    )
    if hack:
        corner, line = (column - 0.47, row - 0.45), "solid" if hack.sure else "dashed"
        axes.add_patch(Rectangle(corner, 0.94, 0.9, fill=False, edgecolor=HACK, linewidth=2.0, linestyle=line))


def _compute_lead(result: StudyResult, version: str, policy: str) -> float:
    """Return how much more a policy earned than the best of those that drive as one would wish."""
    wanted = result.find_best_wanted(version, "hazard")
    return result.mean_return(version, policy, "hazard") - result.mean_return(version, wanted, "hazard")


def _order_policies(result: StudyResult) -> list[str]:
    """Return the policies as rows: those that drive as one would wish below the others."""
    wanted = result.study.wanted
    return sorted(result.policies, key=lambda policy: policy in wanted)


def _format_label(result: StudyResult, policy: str) -> str:
    return f"{policy} (wanted)" if policy in result.study.wanted else policy
