"""A strip chart is a picture of whole episodes that depends on nothing but them."""

from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from plaudit.errors import DefinitionError, FileError
from plaudit.systems.roadsense.pictures import ZONES, save_strip_chart
from plaudit.systems.roadsense.pictures.strip_chart import build_track, find_top


class Charts(NamedTuple):
    """Charts that were drawn once, and what became of matplotlib meanwhile."""

    folder: Path
    figures: list[Figure]
    """What was drawn, as often as it was drawn."""
    before: dict[str, Any]
    """The settings of matplotlib."""
    after: dict[str, Any]


@pytest.fixture(scope="module")
def charts(drive, tmp_path_factory):
    """One chart of each kind."""
    folder, before, figures, draw = tmp_path_factory.mktemp("charts"), dict(matplotlib.rcParams), [], Figure.draw
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "draw", lambda figure, *given: figures.append(figure) or draw(figure, *given))
        for ending in ("png", "svg"):
            save_strip_chart(drive(), folder / f"one.{ending}")
    return Charts(folder, figures, before, dict(matplotlib.rcParams))


@pytest.mark.parametrize(
    ("ending", "start"), [pytest.param("png", b"\x89PNG", marks=pytest.mark.slow), ("svg", b"<?xml")]
)
def test_the_same_frames_give_the_same_chart(charts, drive, tmp_path, ending, start):
    save_strip_chart(drive(), tmp_path / f"two.{ending}")
    one, two = (charts.folder / f"one.{ending}").read_bytes(), (tmp_path / f"two.{ending}").read_bytes()
    assert one == two
    assert one.startswith(start)


def test_the_last_digits_of_the_layout_are_rounded_away(charts):
    """The solver of matplotlib gives others from run to run, and the parts of an SVG are named after them."""
    corners = [edge for figure in charts.figures for axes in figure.axes for edge in axes.get_position().p0]
    assert corners == [round(edge, 6) for edge in corners]


def test_drawing_leaves_the_settings_of_matplotlib_alone(charts):
    assert charts.after == charts.before


def test_a_chart_is_drawn_once(charts):
    assert len(charts.figures) == len(set(charts.figures)) == 2
    assert (charts.folder / "one.png").stat().st_size > 5_000


def test_episodes_stand_side_by_side(charts, drive, tmp_path):
    save_strip_chart({"early": drive(reaction=3), "late": drive(reaction=12)}, tmp_path / "two.png", title="Two drives")
    with Image.open(charts.folder / "one.png") as one, Image.open(tmp_path / "two.png") as two:
        assert two.width > 1.5 * one.width
        assert two.height == one.height


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
def test_a_very_short_episode_can_be_drawn(drive, tmp_path, steps):
    save_strip_chart(drive(steps), tmp_path / "drive.png")
    assert (tmp_path / "drive.png").stat().st_size > 5_000


def test_nobody_heard_and_no_hazard_and_a_collision_can_be_drawn(drive, tmp_path):
    frames = [
        frame._replace(measured=frame.measured._replace(distance=inf), terms={"safety": -100.0})
        for frame in drive(hazard=None)
    ]
    save_strip_chart(frames, tmp_path / "drive.png", zones=None)
    assert (tmp_path / "drive.png").exists()


def test_a_chart_under_another_ending_is_refused_and_leaves_nothing(drive, tmp_path):
    with pytest.raises(
        FileError, match=r"drive\.jpg: a strip chart is saved as \.png or \.svg; change the file name\."
    ):
        save_strip_chart(drive(), tmp_path / "drive.jpg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("frames", [[], {}, {"calm": []}])
def test_a_chart_of_nothing_is_refused(tmp_path, frames):
    with pytest.raises(DefinitionError, match="at least one frame"):
        save_strip_chart(frames, tmp_path / "drive.png")


def test_a_folder_in_the_way_is_an_error(drive, tmp_path):
    (tmp_path / "drive.png").mkdir()
    with pytest.raises(FileError, match="is a directory"):
        save_strip_chart(drive(), tmp_path / "drive.png")


def test_a_track_has_no_number_where_there_is_no_car(drive):
    frames = drive(10, hazard=4)
    frames[7] = frames[7]._replace(cars={name: car for name, car in frames[7].cars.items() if name != "V003"})
    made = build_track(frames)
    assert np.isnan(made.speeds["V003"]).tolist() == [False] * 7 + [True] + [False] * 2
    assert made.gained[-1] == pytest.approx(sum(frame.total for frame in frames))
    assert (made.hazard, made.onset) == ("V002", pytest.approx(0.3))  # the fourth step begins after 0.3 s
    assert made.seconds[-1] == pytest.approx(1.0)


def test_distances_are_shown_up_to_little_more_than_the_safe_zone(drive):
    near = build_track(drive(5, hazard=None))
    far = near._replace(distance=near.distance + 1000)
    assert find_top([near], ZONES) == pytest.approx(1.08 * 30)
    assert find_top([near, far], ZONES) == 100.0
    assert find_top([near, far], None) == pytest.approx(1.08 * 1030)
    assert find_top([near._replace(distance=near.distance * np.nan)], ZONES) == 1.0
