"""Schedules by themselves: what is in force at a count, how they are written, and what cannot be one."""

import math

import pytest

from plaudit import DefinitionError
from plaudit.language.schedule import parse_schedule
from plaudit.schedules import cosine, exponential, linear, piecewise

SCHEDULES = {
    "linear": linear(0.1, 0.7, over=1000, begin=50),
    "cosine": cosine(-2, 3, over=7),
    "exponential": exponential(-1, -0.01, over=300),
    "piecewise": piecewise([-0.01, -0.1, 0.3], at=[10_000, 50_000], counter="epoch"),
}


@pytest.mark.parametrize("name", ["linear", "cosine", "exponential"])
def test_it_is_exactly_its_ends_before_and_after(name):
    schedule = SCHEDULES[name]
    begin, end = schedule.corners
    assert [schedule(count) for count in (0, begin)] == [schedule.start] * 2
    assert [schedule(count) for count in (end, end + 1, 1e12)] == [schedule.end] * 3
    low, high = schedule.span
    inside = [schedule(begin + (end - begin) * share / 16) for share in range(1, 16)]
    assert all(low < number < high for number in inside)
    assert inside == sorted(inside, reverse=schedule.end < schedule.start)


def test_what_is_in_force_in_between():
    assert linear(0, 1, over=100)(25) == 0.25
    assert linear(1, 0, over=100, begin=50)(75) == 0.75
    assert cosine(0, 1, over=100)(50) == pytest.approx(0.5)
    assert exponential(1, 0.01, over=100)(50) == pytest.approx(0.1)
    assert [piecewise([1, 2, 3], at=[5, 6])(count) for count in (4.99, 5, 6, 7)] == [1, 2, 3, 3]


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_it_is_written_as_data_and_read_again(schedule):
    assert parse_schedule("x", schedule.to_dict()) == schedule
    assert eval(repr(schedule)) == schedule
    assert hash(schedule) == hash(parse_schedule("x", schedule.to_dict()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: linear(0, 1, over=0), "over=0 must be above 0"),
        (lambda: linear(0, 1, over=-5), "over=-5 must be above 0"),
        (lambda: linear(0, math.nan, over=5), "end=nan must be a finite number"),
        (lambda: linear(math.inf, 1, over=5), "start=inf must be a finite number"),
        (lambda: linear(0, True, over=5), "end=True must be a number"),
        (lambda: linear(0, "1", over=5), "end='1' must be a finite number"),
        (lambda: linear(-1e308, 1e308, over=5), "beyond the range of a float"),
        (lambda: exponential(1e-300, 1e300, over=5), "beyond the range of a float"),
        (lambda: exponential(0, 1, over=5), "must both be above 0, or both below"),
        (lambda: exponential(-1, 1, over=5), "must both be above 0, or both below"),
        (lambda: linear(0, 1, over=5, counter="two words"), "must be the name of an input"),
        (lambda: linear(0, 1, over=5, counter="terminal"), "must be the name of an input"),
        (lambda: linear(0, 1, over=5, counter=3), "must be the name of an input"),
        (lambda: piecewise([1, 2], at=[]), "at=[] must be a list of numbers"),
        (lambda: piecewise([1], at=[5]), "one value more than counts is needed"),
        (lambda: piecewise([1, 2, 3], at=[5, 5]), "must rise from count to count"),
        (lambda: piecewise([1, math.nan], at=[5]), "values[1]=nan must be a finite number"),
        (lambda: piecewise(3, at=[5]), "values=3 must be a list of numbers"),
        (lambda: parse_schedule("a.weight", {}), "a.weight: a schedule is one of linear, cosine"),
        (lambda: parse_schedule("a.weight", {"linear": [0, 1], "cosine": [0, 1], "over": 1}), "a schedule is one of"),
        (lambda: parse_schedule("a.weight", {"linear": [0, 1]}), "linear needs 'over'"),
        (lambda: parse_schedule("a.weight", {"piecewise": [0, 1]}), "piecewise needs 'at'"),
        (lambda: parse_schedule("a.weight", {"linear": 1, "over": 3}), "linear goes from one number to another"),
        (lambda: parse_schedule("a.weight", {"linear": [0, 1], "ovr": 3, "over": 3}), "Did you mean 'over'?"),
    ],
)
def test_what_cannot_be_a_schedule_is_refused(make, message):
    with pytest.raises(DefinitionError) as caught:
        make()
    assert message in str(caught.value)
