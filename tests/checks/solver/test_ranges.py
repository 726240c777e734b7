"""What an input can be, as the checker sees it."""

import math

import pytest

from plaudit import Field
from plaudit.checks.solver.ranges import (
    declared_range,
    decode_row,
    decode_value,
    encode_value,
    is_unlimited,
    limit_range,
    list_choices,
    list_plain_values,
    value_at_rest,
)
from plaudit.reward.task.bound import TaskField

MOOD = Field("mood", values=("calm", "busy", "wild"), other="wild", missing="busy")
LIT = Field("lit", flag=True)
LEVEL = Field("level", values=(5, 0, 2))
LARGEST = 1.7976931348623157e308


def test_what_can_be_counted():
    assert list_choices(MOOD) == (0, 1, 2)
    assert list_choices(LIT) == (0, 1)
    assert list_choices(LEVEL) == (0, 2, 5)
    assert list_choices(Field("x", low=0, high=1)) == ()


@pytest.mark.parametrize(
    ("parts", "ends"),
    [
        ({"low": -2, "high": 7}, (-2, 7)),
        ({"low": -2, "high": 7, "outside": "allow"}, (-2, 7)),
        ({"low": -2, "infinite": True}, (-2, LARGEST)),
        ({}, (-LARGEST, LARGEST)),
        ({"values": (5, 0, 2)}, (0, 5)),
        ({"flag": True}, (0, 1)),
        ({"values": ("a", "b", "c")}, (0, 2)),
    ],
)
def test_the_declared_range_counts(parts, ends):
    assert declared_range(Field("x", **parts)) == ends


@pytest.mark.parametrize("value", MOOD.labels)
def test_a_category_is_its_position(value):
    assert decode_value(MOOD, encode_value(MOOD, value)) == value


def test_a_row_as_a_person_gives_it():
    fields = {"mood": MOOD, "lit": LIT, "level": LEVEL}
    assert decode_row({"mood": 2.0, "lit": 1.0, "level": 5.0, "else": 3.0}, fields) == {
        "mood": "wild",
        "lit": True,
        "level": 5.0,
    }
    assert [value_at_rest(field) for field in fields.values()] == [0, 0, 0]
    assert value_at_rest(Field("x", low=3, high=9)) == 3


def test_a_bound_that_is_none():
    assert is_unlimited(math.inf)
    assert is_unlimited(-1e300)
    assert is_unlimited(math.nan)
    assert not is_unlimited(1e99)


@pytest.mark.parametrize(
    "field",
    [
        TaskField("x"),
        TaskField("x", low=5e8),
        TaskField("x", high=-5e8),
        TaskField("x", low=0, infinite=True, rest=math.inf, missing=math.inf),
        TaskField("x", rest=1e9, missing=-1e9),
        TaskField("x", high=3, step=0.5, monotone="up"),
    ],
)
def test_a_field_without_an_end_gets_one_that_is_near(field):
    limited = limit_range(field)
    assert limited.low < limited.high
    assert all(end is not None and abs(end) <= 1e9 for end in (limited.low, limited.high))
    assert field.holds(limited.low)
    assert field.holds(limited.high)
    assert (limited.step, limited.monotone, limited.infinite) == (field.step, field.monotone, field.infinite)


@pytest.mark.parametrize("field", [MOOD, LIT, LEVEL, Field("x", low=0, high=1e12)])
def test_a_field_that_has_its_ends_keeps_them(field):
    assert limit_range(field) == field


@pytest.mark.parametrize(
    ("parts", "values"),
    [
        ({"low": 0, "high": 8}, (0, 8, 4)),
        ({"low": 0, "high": 8, "step": 1}, (0, 1, 8, 7, 4, 5, 3)),
        ({"low": 2}, (2, 1e6, 500001.0)),
        ({"low": 0, "high": 8, "rest": 3}, (3, 0, 8, 4)),
    ],
)
def test_plain_values_come_first_at_rest_then_at_the_ends(parts, values):
    assert list_plain_values(TaskField("x", **parts)) == values


def test_plain_values_of_a_number_that_is_always_far_away_lie_in_its_range():
    field = Field("x", low=5e6, high=6e6)
    assert list_plain_values(field)
    assert all(field.holds(value) for value in list_plain_values(field))
