"""The experiment as a picture: a real file of the kind asked for."""

import pytest

from plaudit import FileError
from plaudit.systems.roadsense.experiment import Experiment
from plaudit.systems.roadsense.experiment.picture import drawn, save_picture

STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml"}


@pytest.fixture(scope="module")
def experiment(found):
    return Experiment(found, {}, 0)


@pytest.mark.parametrize("kind", STARTS)
def test_the_ending_says_what_is_drawn(experiment, tmp_path, kind):
    save_picture(experiment, tmp_path / f"plot.{kind}")
    assert [path.name for path in tmp_path.iterdir()] == [f"plot.{kind}"]
    assert (tmp_path / f"plot.{kind}").read_bytes().startswith(STARTS[kind])


def test_another_ending_is_told(experiment, tmp_path):
    with pytest.raises(FileError, match="a plot is saved as .png or .svg"):
        save_picture(experiment, tmp_path / "plot.jpeg")


def test_every_hack_is_framed_and_every_return_written(experiment):
    figure = drawn(experiment)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    axes = panels["continuous actions, with a hazard"]
    finding = experiment.studies["continuous"]
    hacks = [hack for version in finding.versions for hack in finding.hacks(version, "hazard")]
    assert len(axes.patches) == len(hacks) > 0
    assert len(axes.texts) == len(finding.versions) * len(finding.policies)
    assert "265" in {text.get_text() for text in axes.texts}
