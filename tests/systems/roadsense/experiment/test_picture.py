"""The experiment as a picture: a real file of the kind asked for."""

from dataclasses import replace

import pytest

from plaudit import FileError
from plaudit.systems.roadsense.experiment import Experiment
from plaudit.systems.roadsense.experiment.picture import draw_figure, save_picture

STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml"}


@pytest.fixture(scope="module")
def experiment(found):
    return Experiment(found, {}, 0)


@pytest.mark.parametrize("kind", STARTS)
def test_the_ending_says_what_is_drawn(found, tmp_path, kind):
    two_versions = Experiment({"continuous": replace(found["continuous"], versions=("R0", "R8"))}, {}, 0)
    save_picture(two_versions, tmp_path / f"plot.{kind}")
    assert [path.name for path in tmp_path.iterdir()] == [f"plot.{kind}"]
    assert (tmp_path / f"plot.{kind}").read_bytes().startswith(STARTS[kind])


def test_another_ending_is_an_error(experiment, tmp_path):
    with pytest.raises(FileError, match="a plot is saved as .png or .svg"):
        save_picture(experiment, tmp_path / "plot.jpeg")


def test_every_hack_is_framed_and_every_return_written(experiment):
    figure = draw_figure(experiment)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    axes = panels["continuous actions on an assisted road"]
    result = experiment.studies["continuous"]
    hacks = [hack for version in result.versions for hack in result.find_hacks(version, "hazard")]
    assert len(axes.patches) == len(hacks) > 0
    assert len(axes.texts) == len(result.versions) * len(result.policies)
    assert "265" in {text.get_text() for text in axes.texts}
