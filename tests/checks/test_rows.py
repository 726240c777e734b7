"""Rows aimed at the places where a reward changes."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.checks.rows import aimed_columns, as_column, can_matter
from plaudit.checks.subject import Subject
from written import reward_from

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
    subject = Subject(reward_from(TEXT, *FIELDS))
    columns = aimed_columns(subject.program.inputs, [subject.program], 50)
    assert {name: column.dtype.kind for name, column in columns.items()} == {
        "x": "f",
        "mood": "i",
        "lit": "b",
        **{f"force[{at}]": "f" for at in range(3)},
        "ahead": "f",
    }
    assert subject.reward.compile("numpy")(columns).ok.all()
    again = aimed_columns(subject.program.inputs, [subject.program], 50)
    assert all((columns[name] == again[name]).all() for name in columns)


def test_the_places_where_it_changes_are_among_them():
    subject = Subject(reward_from(TEXT, *FIELDS))
    columns = aimed_columns(subject.program.inputs, [subject.program], 400)
    assert {3.0, np.nextafter(3, 9)} <= set(columns["x"])
    assert np.inf in columns["ahead"]


@pytest.mark.parametrize(("field", "kind"), [(FIELDS[0], "f"), (FIELDS[1], "i"), (FIELDS[2], "b")])
def test_a_column_of_positions(field, kind):
    assert as_column(np.array([0.0, 1.0]), field).dtype.kind == kind


@pytest.mark.parametrize("name", ["x", "mood", "lit", "ahead"])
def test_what_matters_is_seen_to_matter(name):
    assert can_matter(Subject(reward_from(TEXT, *FIELDS)), [name])


def test_what_does_not_matter_is_never_said_to():
    @term
    def pay(x, y):
        return x + 0 * y

    reward = Reward("r", version="1", terms=[pay], fields=[Field("x", low=0, high=1), Field("y", low=0, high=1)])
    assert can_matter(Subject(reward), ["x"])
    assert not can_matter(Subject(reward), ["y"])
