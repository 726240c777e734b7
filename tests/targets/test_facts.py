"""`guard="facts"`: a row that breaks a fact is an error or masked, on every target; otherwise facts are ignored."""

import pickle

import numpy as np
import pytest

from plaudit import DefinitionError, Field, OutOfRange, Reward, TargetError, Task, fact, term
from support.running import BATCHES, SCORING, mark_numba_slow, need, options, scored
from support.samples import following
from support.written import module

COLUMNS = {
    "distance": np.array([30.0, 30.0, 3.0, 50.0]),
    "deceleration": np.array([0.0, 3.5, 5.0, 3.0]),
    "action": np.array([0, 2, 3, 2]),
}
KEPT = [True, False, True, True]


@pytest.mark.parametrize("target", SCORING)
def test_a_row_that_breaks_a_fact_is_masked(target):
    found = scored(following, target, COLUMNS, guard="facts")
    np.testing.assert_array_equal(found.ok, KEPT)
    np.testing.assert_array_equal(np.isnan(found.total), np.logical_not(KEPT))
    plain = scored(following, target, COLUMNS)
    assert plain.ok.all()
    np.testing.assert_array_equal(found.total[KEPT], plain.total[KEPT])


@pytest.mark.parametrize("target", BATCHES)
def test_float32_keeps_facts_about_numbers_that_it_holds(target):
    columns = {name: array.astype(np.float32) if array.dtype.kind == "f" else array for name, array in COLUMNS.items()}
    np.testing.assert_array_equal(scored(following, target, columns, guard="facts").ok, KEPT)


@pytest.mark.parametrize("target", mark_numba_slow(SCORING))
def test_parameters_handed_in_leave_the_facts_as_they_are(target):
    found = scored(following, target, COLUMNS, guard="facts", params={"gap.weight": 7.0})
    np.testing.assert_array_equal(found.ok, KEPT)
    assert found.total[0] == 7.0


@pytest.mark.parametrize("target", BATCHES)
def test_the_error_names_the_row_and_the_fact(target):
    with pytest.raises(
        OutOfRange, match=r"'following', row 1: the row breaks the fact 'brakes'\.\n  inputs: distance=30"
    ):
        scored(following, target, COLUMNS, guard="facts", on_bad="raise")


def test_the_error_of_one_row_names_the_fact():
    compiled = following.compile("python", guard="facts")
    with pytest.raises(OutOfRange, match="'following': the row breaks the fact 'brakes'"):
        compiled({"distance": 30.0, "deceleration": 3.5, "action": 2})
    again = pickle.loads(pickle.dumps(compiled))
    with pytest.raises(OutOfRange, match="breaks the fact 'brakes'"):
        again({"distance": 30.0, "deceleration": 3.5, "action": 2})


@pytest.mark.parametrize("target", SCORING)
def test_a_loaded_reward_is_guarded_as_well(target):
    again = Reward.from_json(following.to_json())
    np.testing.assert_array_equal(scored(again, target, COLUMNS, guard="facts").ok, KEPT)


@pytest.mark.parametrize("target", SCORING)
def test_declared_ranges_are_tested_first(target):
    bad = {"distance": np.array([-1.0]), "deceleration": np.array([9.0]), "action": np.array([0])}
    with pytest.raises(OutOfRange, match="declared range"):
        scored(following, target, bad, guard="facts", on_bad="raise")


SPACE = module("""
RATES = (1.0, 2.0)
def level(x, at): return x + at
def won(bonus): return bonus
def rated(x, at): return x <= RATES[at]
def paid(bonus, x): return bonus > x
""")
FIELDS = [Field("x"), Field("at"), Field("bonus")]


def made(*facts):
    terms = [term(SPACE["level"]), term(terminal=True)(SPACE["won"])]
    task = Task(facts=[fact(SPACE[name]) for name in facts])
    return Reward("r", version="1", terms=terms, fields=FIELDS, task=task)


@pytest.mark.parametrize("target", SCORING)
def test_a_fact_that_cannot_be_told_is_broken(target):
    columns = {"x": np.array([0.5, 0.5, 3.0]), "at": np.array([1.0, 7.0, 1.0]), "bonus": np.zeros(3)}
    np.testing.assert_array_equal(scored(made("rated"), target, columns, guard="facts").ok, [True, False, False])
    one = {name: array[1:2] for name, array in columns.items()}
    with pytest.raises(OutOfRange, match="the row indexes a table of 2 outside it in the fact 'rated'"):
        scored(made("rated"), target, one, guard="facts", on_bad="raise")


@pytest.mark.parametrize("target", mark_numba_slow(SCORING))
def test_a_fact_about_the_end_is_tested_there(target):
    columns = {
        "x": np.array([1.0, 1.0, 1.0]),
        "at": np.array([0.0, 0.0, 0.0]),
        "bonus": np.array([0.0, 0.0, 2.0]),
        "terminal": np.array([False, True, True]),
    }
    np.testing.assert_array_equal(scored(made("paid"), target, columns, guard="facts").ok, [True, False, True])


@pytest.mark.parametrize("target", SCORING)
def test_a_fact_about_what_no_row_holds_is_refused(target):
    need(target)
    space = module("def near(prev, curr): return curr.x >= prev.x")
    reward = Reward(
        "r", version="1", terms=[term(SPACE["level"])], fields=FIELDS[:2], task=Task(facts=[fact(space["near"])])
    )
    assert reward.score(x=1.0, at=0.0).total == 1.0
    with pytest.raises(DefinitionError, match=r"fact 'near': it reads 'prev\.x', which no term reads"):
        reward.compile(target, guard="facts", **options(target))


@pytest.mark.parametrize("target", SCORING)
def test_a_guard_of_another_kind_is_refused(target):
    need(target)
    with pytest.raises(TargetError, match="guard='fact' is not one of True, False, 'facts'"):
        following.compile(target, guard="fact")


def test_without_facts_it_is_the_plain_guard():
    reward = made()
    assert reward.compile("python", guard="facts").program == reward.compile("python").program
