"""The zones that are drawn are those of the reward."""

import pytest

from plaudit import Field, Reward, term
from plaudit.systems.roadsense import VERSIONS, version
from plaudit.systems.roadsense.pictures import ZONES, find_zones


@pytest.mark.parametrize("label", VERSIONS)
def test_every_version_has_zones_that_lie_one_behind_the_other(label):
    zones = find_zones(version(label))
    assert 0 < zones.collision < zones.unsafe < zones.safe_from < zones.safe_to


def test_those_of_r0_are_the_default():
    assert find_zones(version("R0")) == ZONES


def test_zones_follow_the_knobs():
    assert find_zones(version("R0").with_params({"unsafe_dist": 18.0})).unsafe == 18.0


def test_a_reward_without_them_has_none():
    @term
    def near(distance):
        return -distance

    assert find_zones(Reward("other", version="1", terms=[near], fields=[Field("distance", low=0, high=100)])) is None
