"""A deadline passes, and what is left until then is shared evenly."""

import math

import pytest

from plaudit import DefinitionError
from plaudit.checks.solver import deadline
from plaudit.checks.solver.deadline import NEVER, Deadline


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: now[0])
    return now


def test_a_deadline_passes(clock):
    end = Deadline.after(10)
    assert (end.left, end.passed) == (10.0, False)
    clock[0] = 110.0
    assert (end.left, end.passed) == (0.0, True)
    assert end.share(3) == end


def test_what_one_turn_saves_goes_to_those_that_follow(clock):
    given = []
    for took, end in Deadline.after(12).take_turns([4.0, 1.0, 0.0]):
        given.append(end.left)
        clock[0] += took
    assert given == [4.0, 4.0, 7.0]


def test_without_a_deadline_every_share_is_endless():
    assert NEVER.left == math.inf
    assert not NEVER.passed
    assert [end for _, end in NEVER.take_turns("ab")] == [NEVER, NEVER]


@pytest.mark.parametrize("timeout", [0, -1, math.inf, math.nan, "3", None, True])
def test_a_timeout_is_a_positive_number_of_seconds(timeout):
    with pytest.raises(DefinitionError, match="timeout=.* must be a positive, finite number of seconds"):
        Deadline.after(timeout)
