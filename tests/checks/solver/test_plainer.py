"""Rows of a witness in numbers that a person would write, of which the claim is still true."""

import math

import pytest

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.plainer import is_plain, simplify_numbers
from support.written import module, reward_from

JUST_ABOVE = math.nextafter(60.0, 61.0)


def total(model, row):
    return model.score(row).total


def gains(model):
    """Return the claim that the first of two rows earns more than the second."""
    return lambda rows: total(model, rows[0]) > total(model, rows[1])


@pytest.mark.parametrize(
    ("value", "low", "high", "plain"),
    [
        (JUST_ABOVE, 0, 200, 61.0),
        (0.5000000000000001, 0, 1, 0.6),
        (5e-324, 0, None, 1.0),
        (5e-324, 0, 1e-6, 1e-7),
        (4.5e226, 0, None, 100.0),
        (123456789.123, 1e8, 1e9, 1.2e8),
        (4.800000190734863, -4.800000190734863, 4.800000190734863, 4.8),
    ],
)
def test_a_number_beyond_an_edge_gets_few_digits_and_stays_in_its_range(value, low, high, plain):
    edge = {0.5000000000000001: 0.5, JUST_ABOVE: 60.0}.get(value, 0.0)
    field = Field("x", low=low, high=high)
    found = simplify_numbers({"x": value}, {"x": field}, lambda row: row["x"] > edge, near=True)
    assert found == {"x": pytest.approx(plain)}


def test_what_no_plainer_number_bears_out_stays_as_it_was():
    assert simplify_numbers({"x": JUST_ABOVE}, {"x": Field("x")}, lambda row: row["x"] == JUST_ABOVE) == {
        "x": JUST_ABOVE
    }


def test_numbers_that_only_fit_together_are_moved_together():
    fields = {name: Field(name, low=0, high=100) for name in "ab"}
    found = simplify_numbers({"a": 17.123456, "b": 18.123456}, fields, lambda row: row["b"] - row["a"] == 1)
    assert found["b"] - found["a"] == 1
    assert all(map(is_plain, found.values()))


def test_a_claim_about_two_rows_is_told_in_the_numbers_that_bear_it_out():
    hot = reward_from("def f(temp): return -0.12 if temp > 60 else 0", Field("temp", low=0, high=200))
    model = RewardModel(hot)
    rows = model.simplify_rows([{"temp": 17.123456}, {"temp": JUST_ABOVE}], gains(model))
    assert rows == [{"temp": 0.0}, {"temp": 61.0}]


def test_a_claim_that_scores_must_change_for_is_told_with_the_new_scores():
    model = RewardModel(reward_from("def f(x): return 0.3 * x", Field("x", low=0, high=9)))
    (row,) = model.simplify_rows([{"x": 7.123456789}], lambda rows: total(model, rows[0]) > 2)
    assert row == {"x": 7.1}
    assert model.simplify_rows([{"x": 7.123456789}]) == [{"x": 7.123456789}]


def test_a_field_that_a_step_leaves_as_it_is_stays_so_and_what_differs_stays_different():
    made = reward_from("def f(prev, curr): return prev.x + curr.x", Field("x", low=0, high=9))
    model = RewardModel(made)
    stay = {"prev.x": 3.3333333333, "curr.x": 3.3333333333}
    (row,) = model.simplify_rows([stay], lambda rows: total(model, rows[0]) > 6)
    assert row == {"prev.x": 3.3, "curr.x": 3.3}
    move = {"prev.x": 3.3333333333, "curr.x": 3.3333343333}
    (row,) = model.simplify_rows([move], lambda rows: rows[0]["prev.x"] < rows[0]["curr.x"])
    assert row["prev.x"] < row["curr.x"]
    assert all(map(is_plain, row.values()))


def test_facts_and_declared_changes_are_kept():
    @term
    def closer(prev, curr, push):
        return prev.x - curr.x + push

    @fact
    def strong(curr, push):
        return push <= curr.x

    fields = [Field("x", low=0, high=10), Field("push", low=0, high=10)]
    task = Task(facts=[strong], max_change={"x": 1})
    model = RewardModel(Reward("r", version="1", terms=[closer], fields=fields, task=task))
    row = {"prev.x": 4.7654321, "curr.x": 5.7654321, "push": 5.7654321}
    (found,) = model.simplify_rows([row], lambda rows: total(model, rows[0]) > 4)
    assert abs(found["curr.x"] - found["prev.x"]) <= 1
    assert found["push"] <= found["curr.x"]
    assert all(map(is_plain, found.values()))


def test_what_is_kept_is_not_touched_and_rows_that_cannot_be_scored_still_cannot():
    model = RewardModel(reward_from("def f(x, y): return x / y", Field("x"), Field("y")))
    row = {"x": 3.1234567, "y": 0.0}
    (found,) = model.simplify_rows([row], lambda rows: model.score(rows[0]) is None)
    assert found == {"x": 0.0, "y": 0.0}
    assert model.simplify_rows([row], lambda rows: model.score(rows[0]) is None, keep=["x"]) == [row]


def test_an_infinite_input_is_plain_and_listed_values_stay():
    fields = [Field("x", infinite=True), Field("level", values=(0.1234567, 0.5))]
    made = Reward(
        "r", version="1", terms=[term(module("def f(x, level): return level if x > 0 else 0")["f"])], fields=fields
    )
    model = RewardModel(made)
    row = {"x": math.inf, "level": 0.1234567}
    assert model.simplify_rows([row], lambda rows: True) == [row]
