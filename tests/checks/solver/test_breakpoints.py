"""Breakpoints of an expression, the values worth trying, and rows drawn from them."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward, term
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.declared import has_effect
from plaudit.checks.solver.breakpoints import (
    find_breakpoints,
    list_numbers_to_try,
    list_values_to_try,
    sample_columns,
    to_column,
)
from plaudit.checks.solver.ranges import list_choices
from plaudit.language import nodes as n
from plaudit.reward.task.bound import TaskField
from support.asking import asked
from support.examples import examples
from support.written import plain, readable, reward_from

WIDE = Field("x", low=-100, high=100)


def program(text, *fields, **options):
    """Return the question about a reward that gives `text`, without the tests of its ranges."""
    names = ", ".join(field.name for field in fields)
    return asked(reward_from(f"def f({names}): return {text}", *fields, **options).program, "total")


@examples(0.2)
@given(case=readable())
def test_every_aim_is_a_value_that_the_field_allows(case):
    bound = case.reward.program.bind()
    found = list_values_to_try(bound)
    assert found.keys() == bound.inputs.keys()
    for name, field in bound.inputs.items():
        assert found[name]
        assert len(set(found[name])) == len(found[name])
        assert all(field.holds(value) for value in found[name]), name
        if field.kind == "number" and not field.numbers:
            assert field.at_rest in found[name]
            assert (math.inf in found[name]) is field.infinite
            assert {field.low, field.high} - {None} <= set(found[name])
        else:
            assert len(found[name]) == len(list_choices(field))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("x < 3", {3}),
        ("3 >= x", {3}),
        ("x - 2 > 1", {3}),
        ("2 - x > 1", {1}),
        ("x + 2 == 1", {-1}),
        ("2 * x + 1 <= 5", {2}),
        ("-x != 4", {-4}),
        ("x / 4 > 1", {4}),
        ("x / -4 > 1", {-4}),
        ("abs(x) > 3", {-3, 0, 3}),
        ("abs(2 * x - 1) >= 3", {-1, 0.5, 2}),
        ("min(x, 4) > 2", {2, 4}),
        ("max(3 * x, 6) > 12", {2, 4}),
        ("max(1, min(x, 4)) > 2", {1, 2, 4}),
        ("1 <= x < 7", {1, 7}),
        ("x in (1, 5)", {1, 5}),
        ("x > (7, 8, 9)[1]", {8}),
        ("x > (2 if x > 1 else 5)", {1, 2, 5}),
        ("2 * x > x + 6", {6}),
        ("x > 1000", set()),
        ("x * x > 9", set()),
        ("1 / (x - 5) if x > 50 else 0", {5, 50}),
    ],
)
def test_a_line_in_one_input_is_cut_where_it_is_compared(text, places):
    assert set(find_breakpoints(program(text, WIDE))["x"]) == places


def test_a_difference_of_two_inputs_cuts_neither():
    found = find_breakpoints(program("1 if x - y > 3 else y", WIDE, Field("y", low=0, high=1)))
    assert found == {"x": (), "y": ()}


def test_clamps_of_a_term_and_of_the_total_cut_too():
    @term(weight=2, low=1, high=6)
    def near(x):
        return 3 * x

    reward = Reward("clamped", version="1", terms=[near], fields=[WIDE], low=-4, high=10)
    assert {1 / 3, 2.0, 10 / 6} <= set(find_breakpoints(reward.program.bind())["x"])


def test_only_comparisons_that_are_asked_for_cut():
    text = "abs(x - 1) if x < 2 else min(x, 7)"
    assert set(find_breakpoints(program(text, WIDE))["x"]) == {1, 2, 7}
    assert find_breakpoints(program(text, WIDE), comparing=(n.Lt, n.Le)) == {"x": (2.0,)}


def test_a_scale_that_vanishes_is_no_obstacle():
    assert find_breakpoints(program("x * 1e-200 * 1e-200 > 1", Field("x"))) == {"x": ()}
    assert find_breakpoints(program("x / 1e-300 / 1e-300 > 1", Field("x")))["x"] in ((), (0.0,))


def lines(depth=3):
    """Return texts of simple expressions in x: shifted, scaled, folded at 0 and clipped."""
    numbers = st.sampled_from(["1", "2", "-3", "0.5", "7", "-1.25"])
    return st.recursive(
        st.just("x"),
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-"), numbers),
            st.builds("({} - {})".format, numbers, inner),
            st.builds("({} * {})".format, inner, numbers),
            st.builds("({} / {})".format, inner, numbers),
            st.builds("abs({})".format, inner),
            st.builds("-({})".format, inner),
            st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, numbers),
        ),
        max_leaves=depth,
    )


@examples(1.0)
@given(text=st.builds("{} {} {}".format, lines(), st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from("0123")))
def test_between_two_cuts_a_comparison_of_a_simple_term_never_changes(text):
    function = plain(f"def f(x): return {text}")
    found = find_breakpoints(program(text, WIDE))["x"]
    chance = random.Random(0)
    for low, high in pairwise([WIDE.low, *found, WIDE.high]):
        margin = (high - low) * 1e-6
        inside = [chance.uniform(low + margin, high - margin) for _ in range(12)]
        assert len({function(x) for x in inside if low < x < high}) <= 1, (text, low, high)


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({"low": 0, "high": 9}, {0, 9, 1.5, 3, 6}),
        ({"low": 1, "high": 9, "step": 0.5}, {1, 1.5, 2.5, 3, 3.5, 8.5, 9}),
        ({}, {-1e6, 0, 3, 1e6}),
        ({"low": 0, "infinite": True}, {0, 3, math.inf}),
        ({"low": 2.5, "high": 2.75}, {2.5, 2.75}),
        ({"low": -4, "high": -2}, {-4, -2}),
        ({"low": 0, "high": 9, "rest": 7}, {7}),
        ({"values": (5, 2)}, {2, 5}),
    ],
)
def test_ends_rest_neighbours_middles_and_steps_are_worth_trying(parts, wanted):
    field = TaskField("x", **parts)
    tried = list_numbers_to_try(field, [3.0] if field.holds(3.0) else [])
    assert wanted <= set(tried)
    assert tried == tuple(sorted(tried))
    if field.holds(3.0) and not field.numbers:
        assert {math.nextafter(3, -math.inf), math.nextafter(3, math.inf)} <= set(tried)


TEXT = """
    def f(x, mood, lit, force, ahead):
        if lit and mood == "wild":
            return max(force) + (0 if math.isinf(ahead) else 1)
        return 1 if x > 3 else 0
"""
FIELDS = [
    Field("x", low=0, high=9),
    Field("mood", values=("calm", "wild")),
    Field("lit", flag=True),
    Field("force", length=3, low=-1, high=1),
    Field("ahead", low=0, infinite=True),
]


def test_columns_are_of_the_kind_that_a_compiled_reward_takes():
    model = RewardModel(reward_from(TEXT, *FIELDS))
    columns = sample_columns(model.program.inputs, [model.program], 50)
    assert {name: column.dtype.kind for name, column in columns.items()} == {
        "x": "f",
        "mood": "i",
        "lit": "b",
        **{f"force[{at}]": "f" for at in range(3)},
        "ahead": "f",
    }
    assert model.reward.compile("numpy")(columns).ok.all()
    again = sample_columns(model.program.inputs, [model.program], 50)
    assert all((columns[name] == again[name]).all() for name in columns)


def test_the_places_where_it_changes_are_among_them():
    model = RewardModel(reward_from(TEXT, *FIELDS))
    columns = sample_columns(model.program.inputs, [model.program], 400)
    assert {3.0, np.nextafter(3, 9)} <= set(columns["x"])
    assert np.inf in columns["ahead"]


@pytest.mark.parametrize(("field", "kind"), [(FIELDS[0], "f"), (FIELDS[1], "i"), (FIELDS[2], "b")])
def test_a_column_of_positions(field, kind):
    assert to_column(np.array([0.0, 1.0]), field).dtype.kind == kind


@pytest.mark.parametrize("name", ["x", "mood", "lit", "ahead"])
def test_what_matters_is_seen_to_matter(name):
    assert has_effect(RewardModel(reward_from(TEXT, *FIELDS)), [name])


def test_what_does_not_matter_is_never_said_to():
    @term
    def pay(x, y):
        return x + 0 * y

    reward = Reward("r", version="1", terms=[pay], fields=[Field("x", low=0, high=1), Field("y", low=0, high=1)])
    assert has_effect(RewardModel(reward), ["x"])
    assert not has_effect(RewardModel(reward), ["y"])
