"""The links of a mesh: who is in reach of whom, and what is remembered of broadcasts that were lost."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from plaudit.systems.roadsense.radio import PARAMETERS, RadioParameters
from plaudit.systems.roadsense.radio.channel import Channel, RandomDraws
from plaudit.systems.roadsense.radio.mesh import OUT, Links

SURE = RadioParameters(base_loss=0.0, middle_loss=0.0, far_loss=0.0, reach=50.0)
"""Loses nothing within 50 m."""
NEVER = replace(SURE, base_loss=1.0, middle_loss=1.0, far_loss=1.0)


def broadcast(links: Links, *north: float, parameters: RadioParameters = SURE, seed: int = 0) -> Links:
    """Let cars broadcast that are so far north; the last one listens."""
    channel = Channel(parameters, episode=parameters)
    poses = [(0.0, y, 0.0, 1.0) for y in north]
    links.broadcast(poses, channel, RandomDraws(np.random.default_rng(seed), channel))
    return links


def test_cars_within_reach_hear_each_other_and_the_others_do_not():
    links = broadcast(Links("abcd"), 120.0, 80.0, 40.0, 0.0)
    heard = {(one, other) for one, other in permutations(range(4), 2) if one < 3 and not links.lost[one][other]}
    assert heard == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3)}
    assert {pair for pair in permutations(range(3), 2) if links.to[pair[0]][pair[1]] is OUT} == {(0, 2), (2, 0)}


def test_nobody_hears_itself():
    links = broadcast(Links("abc"), 20.0, 10.0, 0.0)
    assert [links.lost[car][car] for car in range(3)] == [True] * 3


def test_only_cars_by_which_something_may_get_to_the_listener_pass_on():
    links = broadcast(Links("abcde"), 160.0, 120.0, 80.0, 40.0, 0.0)
    assert links.last == [3]
    assert links.relays == [[], [2], [3], [2]]


def test_who_is_in_reach_is_noticed_when_cars_move():
    links = broadcast(Links("abc"), 80.0, 40.0, 0.0)
    assert (links.last, links.relays) == ([1], [[1], [0]])
    broadcast(links, 45.0, 40.0, 0.0)
    assert (links.last, links.relays) == ([0, 1], [[1], [0]])
    broadcast(links, 200.0, 100.0, 0.0)
    assert (links.last, links.relays) == ([], [[], []])


@pytest.mark.parametrize("parameters", [NEVER, replace(SURE, reach=5.0)], ids=["lost", "out of reach"])
def test_what_was_lost_is_remembered_of_those_who_stay_and_forgotten_of_those_who_left(parameters):
    links = broadcast(Links("abc"), 20.0, 10.0, 0.0, parameters=parameters)
    assert all(links.lost[one][other] for one, other in permutations(range(3), 2) if one < 2)
    joined = links.restrict_to("bdac")
    lost = {(one, other) for one, other in permutations("bda", 2) if joined.lost["bda".index(one)]["bda".index(other)]}
    assert lost == {("b", "a"), ("a", "b")}
    assert [joined.lost[sender][-1] for sender in range(3)] == [True, False, True]
    assert not any(joined.restrict_to("de").lost[0][1:])


def test_after_a_loss_a_link_is_at_risk_and_after_none_it_is_not():
    bench = PARAMETERS["bench"]
    links = Links("ab")
    seen = set()
    for seed in range(200):
        before = links.lost[0][1]
        broadcast(links, 10.0, 0.0, parameters=bench, seed=seed)
        seen.add((before, round(links.to[0][1][0], 4)))
    assert seen == {(False, 0.19), (True, 0.19), (True, 0.9405)}
