"""Witnesses are told in numbers that a person would write."""

import pytest

from plaudit import Field
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.ranges import is_plain, list_plainer_values
from plaudit.checks.solver.solver import simplify_row
from support.asking import asked
from support.written import reward_from

X = Field("x", low=-9, high=100)


@pytest.mark.parametrize(
    ("text", "given", "plain"),
    [
        ("3 - abs(x)", 5e-324, 0.0),
        ("1 if x > 40 else 0", 40.00000000000001, 41.0),
        ("1 if 40 < x < 40.5 else 0", 40.00000000000001, 40.1),
        ("1 if 40 < x < 40.02 else 0", 40.00000000000001, 40.01),
        ("x if x < 5 else 0", 4.999999999999999, 4.999),
        ("x * x", 100.0, 100.0),
        ("1 if x > 2 else 0", 17.0, 17.0),
        ("1 if x > -2 else 0", 17.0, 0.0),
        ("1 if x == 1 / 3 else 0", 1 / 3, 1 / 3),
    ],
)
def test_numbers_become_plain_where_that_costs_nothing_or_next_to_nothing(text, given, plain):
    program = asked(RewardModel(reward_from(f"def f(x): return {text}", X)).program, "total")
    row = simplify_row(program, {"x": given})
    assert row == {"x": plain}
    assert evaluate(program, row) >= evaluate(program, {"x": given}) * 0.999


def test_what_is_near_a_number_begins_at_rest_and_is_plain():
    values = list(list_plainer_values(X, 40.00000000000001))
    assert values[:4] == [0.0, 40.0, 41.0, 39.0]
    assert all(map(is_plain, values))
