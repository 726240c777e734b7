"""Logged decisions: columns that can carry an estimate, or an error that says which cannot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.learn.off_policy import LoggedDecisions

GOOD = {
    "actions": ("stay", "star"),
    "chosen": [0, 1, 1],
    "probabilities": [0.5, 0.5, 0.25],
    "rewards": [1.0, 0.0, 2.0],
    "contexts": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    "episodes": ["a", "a", "b"],
}


def log(**changes):
    return LoggedDecisions(**GOOD | changes)


def test_columns_become_arrays():
    made = log()
    assert len(made) == 3
    assert made.features == 2
    assert made.chosen.dtype == np.intp
    assert made.episodes.tolist() == [0, 0, 1]


@given(st.lists(st.sampled_from(["stay", "star", "flat"]), min_size=1))
def test_names_and_positions_are_the_same_log(names):
    actions = ("stay", "star", "flat")
    columns = {"probabilities": [0.5] * len(names), "rewards": [0.0] * len(names)}
    by_name = LoggedDecisions(actions, names, **columns)
    by_position = LoggedDecisions(actions, [actions.index(name) for name in names], **columns)
    assert by_name.chosen.tolist() == by_position.chosen.tolist()
    assert [actions[at] for at in by_name.chosen] == names


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"chosen": [], "probabilities": [], "rewards": [], "contexts": None, "episodes": None},
            errors.NotEvaluable,
            "no decision",
        ),
        ({"chosen": [0, 1, 2]}, errors.UnknownCategory, "decision 2: there is no action 2"),
        ({"chosen": [0, -1, 1]}, errors.UnknownCategory, "no action -1"),
        (
            {"chosen": ["stay", "starr", "star"]},
            errors.UnknownCategory,
            "decision 1: action 'starr' is none of stay, star. Did you mean 'star'",
        ),
        ({"chosen": [0.0, 1.0, 1.0]}, errors.WrongType, "names of actions or their positions"),
        ({"chosen": [[0], [1], [1]]}, errors.ShapeMismatch, "single column"),
        ({"probabilities": [0.5, 0.0, 0.5]}, errors.OutOfRange, "decision 1: its probability is 0.0"),
        ({"probabilities": [0.5, 0.5, -0.1]}, errors.OutOfRange, "decision 2"),
        ({"probabilities": [0.5, 1.5, 0.5]}, errors.OutOfRange, "1.5"),
        (
            {"probabilities": [0.5, None, 0.5]},
            errors.NotEvaluable,
            "1 of 3 decisions have no probability, the first of them decision 1",
        ),
        ({"probabilities": [0.5, np.nan, 0.5]}, errors.NotEvaluable, "no probability"),
        ({"probabilities": [1.0, 1.0, 1.0]}, errors.NotEvaluable, "explores"),
        ({"probabilities": [0.5, 0.5]}, errors.ShapeMismatch, "probabilities"),
        ({"probabilities": ["much", 0.5, 0.5]}, errors.WrongType, "probabilities"),
        ({"rewards": [1.0, np.nan, 0.0]}, errors.NotFinite, "decision 1: rewards has nan"),
        ({"rewards": [1.0, np.inf, 0.0]}, errors.NotFinite, "inf"),
        ({"rewards": [1.0]}, errors.ShapeMismatch, "rewards"),
        ({"contexts": [[1.0, 2.0], [np.nan, 4.0], [5.0, 6.0]]}, errors.NotFinite, "decision 1: contexts"),
        ({"contexts": [[1.0], [2.0]]}, errors.ShapeMismatch, "contexts"),
        ({"contexts": [1.0, 2.0, 3.0]}, errors.ShapeMismatch, "contexts"),
        ({"contexts": [[1.0], [2.0, 3.0], [4.0]]}, errors.ShapeMismatch, "of the same length"),
        ({"episodes": ["a"]}, errors.ShapeMismatch, "episodes"),
        ({"actions": ()}, errors.DefinitionError, "must be names"),
        ({"actions": ("stay", "stay")}, errors.DefinitionError, "twice"),
    ],
)
def test_what_can_carry_no_estimate_is_refused(changes, error, words):
    with pytest.raises(error, match=words):
        log(**changes)


def test_episodes_may_be_any_mixture_of_names():
    assert log(episodes=np.array(["a", 7, "a"], dtype=object)).episodes.tolist() == [1, 0, 1]


def test_some_decisions_may_be_certain():
    assert len(log(probabilities=[1.0, 1.0, 0.5])) == 3
