"""The page's picture of a recorded step: what was measured, to scale, in a picture that the page keeps as it is."""

import re

import pytest

from plaudit import Ledger
from plaudit.page.svg import clean_svg
from plaudit.plugins.registry import find_drawing
from plaudit.systems import roadsense
from plaudit.systems.roadsense.experiment.storage import drive_reward


@pytest.fixture
def draw(tmp_path):
    """Record a step, and return its picture."""

    def draw_recorded(reward=roadsense.reward, **row):
        with Ledger(tmp_path / f"{len(list(tmp_path.iterdir()))}.db") as ledger:
            ledger.record(reward.score(**row))
            return roadsense.draw_step(ledger.history().first(), reward)

    return draw_recorded


def find_fronts(picture):
    """Return where the cars end, ahead first."""
    cars = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="25" height="18"', picture)
    return [float(x) + 25 for x in cars]


def test_every_picture_of_the_small_episode_is_kept_as_it_is(draw):
    for row in roadsense.episode():
        picture = draw(**row)
        cleaned = clean_svg(picture)
        assert cleaned.left_out == frozenset()
        assert len(re.findall("<[a-z]", cleaned.markup)) == len(re.findall("<[a-z]", picture))


def test_the_car_ahead_is_drawn_at_its_distance(draw):
    for distance in (12.0, 31.0):
        ahead, own = find_fronts(draw(distance=distance, deceleration=0.0, action=0))
        assert ahead - own == pytest.approx(5 * distance)


def test_zones_are_those_of_the_reward(draw):
    wide, narrow = (draw(roadsense.version(each), **row) for each, row in (("R0", ROW), ("R8", {**ROW_8})))
    assert '<rect x="65" y="34" width="50"' in wide  # unsafe from 5 to 15 m
    assert '<rect x="65" y="34" width="25"' in narrow  # to 10 m


ROW = {"distance": 30.0, "deceleration": 0.0, "action": 0}
ROW_8 = {"distance": 30.0, "deceleration": 0.0, "closing_rate": 0.0}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**ROW, "distance": float("inf")}, "There is no car ahead, Maintain."),
        ({**ROW, "distance": 900.0}, "The car ahead is 900.0 m away, Maintain."),
        ({**ROW, "deceleration": 4.5, "action": 3}, "The car ahead is 30.0 m away, Emergency, brakes at 4.5 m/s²."),
        ({**ROW, "deceleration": -1.0}, "The car ahead is 30.0 m away, Maintain, speeds up at 1.0 m/s²."),
    ],
)
def test_the_title_says_what_is_seen(draw, row, said):
    assert f"<title>{said}</title>" in draw(**row)


def test_a_warning_and_speeds_are_drawn_where_a_version_reads_them(draw):
    row = {**ROW_8, "braking_received": 0.5, "fresh_braking": True, "ego_speed": 20.0}
    picture = draw(roadsense.version("R12b"), **row)
    assert "a warning was heard" in picture
    assert "20.0 m/s · closing at 0.0 m/s" in picture
    assert "warned" not in draw(roadsense.version("R12b"), **{**row, "braking_received": 0.0})


def test_drives_of_an_experiment_are_drawn_too():
    assert find_drawing(drive_reward.name) is roadsense.draw_step
