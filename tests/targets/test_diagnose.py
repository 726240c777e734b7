"""An error says which reward, term, field, row and value, shows the line, and says what to do."""

import math

import numpy as np
import pytest

from plaudit import Field, PlauditError, Reward, TargetError, term
from plaudit.errors import OutsideDomain, UnsupportedNode
from plaudit.language import nodes as n
from plaudit.targets.emit import Spelling, emit, format_literal

TABLE = (1.0, 2.0)
NAMES = (3.0, 4.0)


@term
def over(x):
    return 1 / x


@term
def floor_over(x):
    return 1 // x


@term
def modulo(x):
    return 1 % x


@term
def root(x):
    return math.sqrt(x - 1)


@term
def logarithm(x):
    return math.log(x)


@term
def logarithm_plus_one(x):
    return math.log1p(x - 1)


@term
def exponential(x):
    return math.exp(1000 - x)


@term
def exponential_less_one(x):
    return math.expm1(1000 - x)


@term
def power(x):
    return (x + 1e10) ** 40


@term
def item(x):
    return TABLE[math.floor(x) + 2]


@term
def place(x):
    return NAMES.index(x)


@term
def infinite_score(x):
    return x + math.inf


CASES = (
    (over, "divides by zero"),
    (floor_over, "divides by zero"),
    (modulo, "divides by zero"),
    (root, "square root"),
    (logarithm, "logarithm"),
    (logarithm_plus_one, "logarithm"),
    (exponential, "exponential"),
    (exponential_less_one, "exponential"),
    (power, "power beyond every float"),
    (item, "indexes a table of 2 outside it"),
    (place, "looks up a value that is not in its tuple"),
    (infinite_score, "scores a number that is not finite"),
)


@pytest.mark.parametrize(("bad", "words"), [pytest.param(t, w, id=t.name) for t, w in CASES])
def test_an_operation_outside_its_domain_names_term_reward_line_inputs_and_advice(bad, words):
    reward = Reward("tries", version="1", terms=[bad], fields=[Field("x")])
    with pytest.raises(OutsideDomain, match=words) as caught:
        reward.score(x=0.0)
    message = str(caught.value)
    assert f"term {bad.name!r} of reward 'tries'" in message
    assert "x=0.0" in message
    assert message.splitlines()[-1] == "Guard the operation with an `if`, or narrow the field's declared range."
    if bad is not infinite_score:
        assert "test_diagnose.py, line " in message
        assert "return " in message
    assert isinstance(caught.value, ArithmeticError | ValueError)
    with pytest.raises(OutsideDomain, match=f"term {bad.name!r} of reward 'tries' .*{words}.*, row 0"):
        reward.compile("numpy")({"x": np.zeros(2)})


def test_the_first_broken_term_is_named():
    both = Reward("both", version="1", terms=[logarithm, over], fields=[Field("x")])
    with pytest.raises(OutsideDomain, match="term 'logarithm'"):
        both.score(x=0.0)


def test_a_range_is_named_before_an_operation():
    with pytest.raises(PlauditError, match="field 'x'.*outside its declared range"):
        Reward("tries", version="1", terms=[over], fields=[Field("x", low=1)]).score(x=0.0)


def test_an_unknown_target_or_treatment_is_refused_with_the_known_ones():
    reward = Reward("tries", version="1", terms=[over], fields=[Field("x")])
    with pytest.raises(TargetError, match=r"no target 'nunpy'. Did you mean 'numpy'\? Targets: python, numba"):
        reward.compile("nunpy")
    with pytest.raises(TargetError, match="on_bad='skip' is not one of raise, mask, clip"):
        reward.compile("numpy", on_bad="skip")


def test_a_target_that_cannot_express_an_operation_names_it():
    reward = Reward("tries", version="1", terms=[root], fields=[Field("x")])
    poor = Spelling({n.Sub: "({0} - {1})", n.Mul: "({0} * {1})"}, {}, format_literal)
    with pytest.raises(UnsupportedNode, match="reward 'tries' uses Sqrt"):
        emit(reward.program, [reward.program.outputs["total"]], poor)
