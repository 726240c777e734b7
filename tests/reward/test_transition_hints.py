"""A field that is read before and after a step, and given or read plainly: the error says how it is written."""

import numpy as np
import pytest

from plaudit import Field, PlauditError, Reward, Task, check, prefer, term
from plaudit.errors import UnknownField, did_you_mean

HINT = "Did you mean 'prev.x' or 'curr.x'?"


@term
def progress(prev, curr):
    return curr.x - prev.x


@pytest.fixture(scope="module")
def walking() -> Reward:
    return Reward("walking", version="1", terms=[progress], fields=[Field("x", low=0, high=10)])


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("x", ["prev.x", "curr.x"], HINT),
        ("x", ["curr.x", "y"], "Did you mean 'curr.x'?"),
        ("torque", ["prev.torque[0]", "prev.torque[1]", "curr.torque[0]"], "'prev.torque' or 'curr.torque'?"),
        ("prev.x", ["x", "y"], "Did you mean 'x'?"),
        ("prev_x", ["prev.x", "curr.x"], "Did you mean 'prev.x'?"),
    ],
)
def test_the_two_ends_of_a_step_are_near_to_the_plain_field(name, known, told):
    assert told in did_you_mean(name, known)


@pytest.mark.parametrize(("name", "known"), [("curr.position", ["prev.position"]), ("x", ["y", "prev.y"])])
def test_one_end_of_a_step_is_not_mistaken_for_the_other(name, known):
    assert did_you_mean(name, known) == ""


def test_a_row_a_batch_and_a_file(walking):
    given = (
        lambda: walking.score(x=1.0),
        lambda: walking.score(prev={"x": 1.0}, x=2.0),
        lambda: walking.compile("numpy")({"x": np.array([1.0])}),
    )
    for score in given:
        with pytest.raises(PlauditError) as caught:
            score()
        assert HINT in str(caught.value)


def test_preferences():
    wish = Task(prefer=[prefer({"x": 1}, over={"x": 2})])
    with pytest.raises(UnknownField) as caught:
        Reward("w", version="1", terms=[progress], fields=[Field("x")], task=wish)
    assert HINT in str(caught.value)


def test_outcomes(walking):
    with pytest.raises(PlauditError) as caught:
        check(walking, outcomes={"bad": [{"x": 1.0}], "good": [{"x": 2.0}]})
    assert HINT in str(caught.value)


def test_a_parameter_that_is_meant_for_a_part_of_prev():
    @term
    def lost(prev_x, x):
        return x - prev_x

    with pytest.raises(UnknownField, match=r"Did you mean 'prev\.x'\?"):
        Reward("w", version="1", terms=[lost], fields=[Field("x")])
