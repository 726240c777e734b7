"""Boxes in parts: nothing is lost when they are cut."""

import math

import pytest

from asking import asked
from plaudit import Field
from plaudit.checks.parts import MOST_OPEN, halves, hull, nearest, whole
from plaudit.checks.subject import Subject
from plaudit.language.interval import Interval
from written import reward_from

LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize(
    "part",
    [
        Interval(0, 1),
        Interval(-3, 8),
        Interval(0, LARGEST),
        Interval(-LARGEST, LARGEST),
        Interval(5e7, 6e9),
        (1.0, 2.0, 5.0),
        (0.0, 1.0),
    ],
)
def test_two_halves_are_the_whole(part):
    first, second = halves(part)
    assert (first[0], second[-1]) == (part[0], part[-1])
    if isinstance(part, Interval):
        assert first.high == second.low
        assert part.low < first.high < part.high
    else:
        assert first + second == part


def test_a_point_or_what_reaches_to_infinity_is_not_cut():
    assert halves(Interval(3, 3)) == []
    assert halves(Interval(1, math.inf)) == []
    assert halves(Interval(1, math.nextafter(1, 2))) == []


def test_the_nearest_value_of_a_part():
    assert nearest(Interval(0, 5), 9) == 5
    assert nearest(Interval(0, 5), 3) == 3
    assert nearest((1.0, 4.0, 6.0), 4.9) == 4
    assert nearest((math.inf,), 3) == math.inf
    assert nearest((0.0, math.inf), math.inf) == math.inf
    assert hull((1.0, 4.0, 6.0)) == Interval(1, 6)


@pytest.mark.parametrize(("length", "boxes"), [(0, 1), (1, 2), (3, 8), (MOST_OPEN, 32), (MOST_OPEN + 2, 32)])
def test_what_is_declared_is_one_box_for_every_way_to_be_infinite(length, boxes):
    fields = [Field("y", low=0, high=1), *([Field("x", length=length, low=0, infinite=True)] if length else [])]
    text = "def f(y, x): return y + sum(0 if math.isinf(each) else 1 for each in x)" if length else "def f(y): return y"
    found = list(whole(asked(Subject(reward_from(text, *fields)).program, "total")))
    assert len(found) == boxes
    assert all(box["y"] == Interval(0, 1) for box in found)
    for name in (f"x[{at}]" for at in range(length)):
        assert any(box[name][-1] == math.inf for box in found)
        assert any(box[name][0] == 0 for box in found)
