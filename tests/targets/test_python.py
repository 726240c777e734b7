"""The python target: what one row may look like, and what is said of every row that cannot be scored."""

import math
from collections import UserDict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, InputError, OutOfRange, Reward, Scores, term
from plaudit.errors import (
    MissingField,
    NotFinite,
    ShapeMismatch,
    UnknownCategory,
    UnknownInput,
    UnknownParameter,
    WrongType,
)


@term
def same(x):
    return x


@term
def pays(mood, lit):
    return (1 if mood == "calm" else 2) if lit else 0


@term
def added(force):
    return sum(force)


@term
def step(prev, curr):
    return curr.place - prev.place


@term(terminal=True)
def inverse(steps, verdict):
    return 1 / steps if verdict == "won" else 0


NUMBER = Reward("number", version="1", terms=[same], fields=[Field("x", low=-10, high=10, unit="m")])
KINDS = Reward(
    "kinds", version="1", terms=[pays], fields=[Field("mood", values=("calm", "wild")), Field("lit", flag=True)]
)
VECTOR = Reward("vector", version="1", terms=[added], fields=[Field("force", length=3)])
MOVING = Reward("moving", version="1", terms=[step], fields=[Field("place")])
ENDING = Reward(
    "ending",
    version="1",
    terms=[same, inverse],
    fields=[Field("x"), Field("steps", low=1), Field("verdict", values=("won", "lost"))],
)


def test_the_batch_row_by_row_is_what_it_should_be(reward, batch, totals):
    labels = reward.fields["mood"].labels
    for i, total in enumerate(totals):
        row = {name: column[i] for name, column in batch.items()}
        row["mood"] = labels[row["mood"]]
        found = reward.compile("python")(row)
        assert isinstance(found, Scores)
        assert found.ok is True
        assert found.total == pytest.approx(total, rel=1e-15)
        assert isinstance(found.total, float)


def test_every_output_is_a_float_and_every_term_is_there(reward, batch):
    row = {name: column[0] for name, column in batch.items()} | {"mood": "wild"}
    found = reward.compile("python")(row)
    numbers = [found.total, *found.values.values(), *found.scores.values()]
    assert [*found.values] == [*found.scores] == [t.name for t in reward.terms]
    assert all(type(number) is float for number in numbers)


# -- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float64(2), np.float32(2), np.int8(2), np.uint64(2), np.array(2.0), np.array(2), Fraction(2)],
    ids=lambda v: f"{type(v).__name__}",
)
def test_whatever_is_a_number_is_taken(value):
    found = NUMBER.score(x=value)
    assert found.total == 2.0
    assert type(found.inputs["x"]) is float


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(True), "2", b"2", 2j, Decimal(2), [2.0], (2.0,), {}, object(), np.array([2.0]), np.array("2")],
    ids=lambda v: f"{type(v).__name__}",
)
def test_whatever_is_no_number_is_refused_by_name_value_and_type(value):
    with pytest.raises(WrongType, match="reward 'number', field 'x': .* a number is needed"):
        NUMBER.score(x=value)


def test_many_numbers_at_once_are_pointed_to_the_batch_targets():
    with pytest.raises(WrongType, match=r"reward\.compile\('numpy'\)"):
        NUMBER.score(x=np.array([1.0, 2.0]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(NotFinite, match="reward 'number', field 'x'"):
        NUMBER.score(x=value)


@pytest.mark.parametrize("value", [10.000001, -11, math.nextafter(10, 11), 2**53])
def test_a_number_outside_its_range_is_refused_with_value_range_and_unit(value):
    with pytest.raises(OutOfRange, match=r"reward 'number', field 'x': .* outside its declared range \[-10, 10\] m"):
        NUMBER.score(x=value)
    assert NUMBER.score(x=10).total == 10.0


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, -(2**53) - 1, 10**400, 10**5000, np.uint64(2**64 - 1), Fraction(10**400)],
    ids=["odd", "negative", "long", "longer than Python prints", "unsigned", "fraction"],
)
def test_a_number_that_no_float_holds_is_refused(value):
    open_ended = Reward("open", version="1", terms=[same], fields=[Field("x")])
    with pytest.raises(OutOfRange, match="reward 'open', field 'x'"):
        open_ended.score(x=value)
    assert open_ended.score(x=2**53).total == 2.0**53


def test_a_number_from_a_list_is_one_of_it():
    @term
    def pick(action):
        return (5.0, 6.0, 7.0)[action]

    listed = Reward("listed", version="1", terms=[pick], fields=[Field("action", values=(0, 1, 2))])
    assert [listed.score(action=value).total for value in (0, 1.0, np.int64(2))] == [5.0, 6.0, 7.0]
    for value in (3, -1, 0.5, 1e300):
        with pytest.raises(OutOfRange, match="field 'action': .* is not one of 0, 1, 2"):
            listed.score(action=value)
    with pytest.raises(InputError):
        listed.score(action=math.nan)
    with pytest.raises(WrongType):
        listed.score(action=True)


def test_a_declared_infinity_is_allowed_and_only_upwards():
    @term
    def headway(x):
        return 0 if math.isinf(x) else x

    reward = Reward("open", version="1", terms=[headway], fields=[Field("x", low=0, high=50, infinite=True)])
    assert reward.score(x=math.inf).total == 0.0
    with pytest.raises(NotFinite, match="-inf is not allowed"):
        reward.score(x=-math.inf)
    with pytest.raises(OutOfRange):
        reward.score(x=51)


def test_outside_says_whether_a_number_is_clipped_or_allowed():
    clip, allow = (
        Reward(way, version="1", terms=[same], fields=[Field("x", low=0, high=1, outside=way)])
        for way in ("clip", "allow")
    )
    assert [clip.score(x=x).total for x in (-3, 0.5, 3)] == [0.0, 0.5, 1.0]
    assert clip.score(x=3).inputs == {"x": 3.0}  # the record keeps what came in
    assert [allow.score(x=x).total for x in (-3, 0.5, 3)] == [-3.0, 0.5, 3.0]
    for reward in (clip, allow):
        with pytest.raises(NotFinite):
            reward.score(x=math.inf)


# -- flags and categories ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, np.bool_(True), np.int8(1), np.array(True)], ids=lambda v: type(v).__name__
)
def test_whatever_is_a_flag_is_taken(value):
    found = KINDS.score(mood="wild", lit=value)
    assert found.total == 2.0
    assert found.inputs["lit"] is True


@pytest.mark.parametrize("value", [2, -1, 0.5, math.nan, "True", None, [], np.array([True])], ids=repr)
def test_whatever_is_no_flag_is_refused(value):
    with pytest.raises((WrongType, MissingField), match="reward 'kinds', field 'lit'"):
        KINDS.score(mood="wild", lit=value)


@pytest.mark.parametrize("value", ["calm", np.str_("calm"), np.array("calm")], ids=lambda v: type(v).__name__)
def test_whatever_is_a_text_is_a_category(value):
    found = KINDS.score(mood=value, lit=True)
    assert found.total == 1.0
    assert found.inputs["mood"] == "calm"


@pytest.mark.parametrize(
    "value", [0, 1.0, True, b"calm", ["calm"], np.array(["calm", "wild"]), np.array(["calm"])], ids=repr
)
def test_whatever_is_no_text_is_no_category(value):
    with pytest.raises(WrongType, match="reward 'kinds', field 'mood': .*a string, one of calm, wild"):
        KINDS.score(mood=value, lit=True)


def test_an_unknown_category_is_refused_with_the_near_one_and_all_of_them():
    with pytest.raises(
        UnknownCategory, match=r"'clam' is not one of its values. Did you mean 'calm'\?\nIts values: calm, wild"
    ):
        KINDS.score(mood="clam", lit=True)


def test_other_and_missing_stand_in_for_what_is_unknown_and_absent():
    @term
    def told(mood, lit, x):
        return (1 if mood == "calm" else 2 if mood == "other" else 3) + 10 * lit + x

    fields = [
        Field("mood", values=("calm", "other", "wild"), other="other", missing="wild"),
        Field("lit", flag=True, missing=True),
        Field("x", missing=100),
    ]
    reward = Reward("told", version="1", terms=[told], fields=fields)
    assert reward.score(mood="martian", lit=False, x=0).total == 2.0
    assert reward.score(mood=None, lit=None, x=None).total == 113.0
    assert reward.score().total == 113.0
    assert reward.score().inputs == {"mood": "wild", "lit": True, "x": 100.0}
    with pytest.raises(WrongType):
        reward.score(mood=3, lit=False, x=0)


def test_none_without_a_stand_in_is_refused_with_what_to_do():
    with pytest.raises(MissingField, match=r"reward 'number', field 'x'.*None.*missing="):
        NUMBER.score(x=None)


# -- names and records ---------------------------------------------------------------------------------------------


def test_missing_and_unknown_inputs_are_named_with_the_near_one():
    with pytest.raises(MissingField, match="reward 'kinds' needs 'lit', which was not given"):
        KINDS.score(mood="calm")
    with pytest.raises(UnknownInput, match="reward 'kinds' does not read 'litt'. Did you mean 'lit'"):
        KINDS.score(mood="calm", lit=True, litt=True)
    with pytest.raises(UnknownInput, match="does not read 'terminal'"):
        NUMBER.score(x=1, terminal=True)


@dataclass
class State:
    place: float
    other: str = "not read"


@pytest.mark.parametrize(
    ("prev", "curr"),
    [
        ({"place": 1.0}, {"place": 3.0}),
        (UserDict(place=1.0), UserDict(place=3.0)),
        (SimpleNamespace(place=1.0), SimpleNamespace(place=3.0)),
        (State(1.0), State(3.0)),
        (np.array((1.0,), [("place", "f8")]), np.array((3.0,), [("place", "f8")])),
        ({"place": 1}, State(3)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_step_is_two_records_of_any_sort(prev, curr):
    assert MOVING.score(prev=prev, curr=curr).total == 2.0
    assert MOVING.score(prev=prev, curr=curr).inputs == {"curr.place": 3.0, "prev.place": 1.0}


def test_a_step_may_be_flat():
    assert MOVING.compile("python")({"prev.place": 1.0, "curr.place": 3.0}).total == 2.0
    assert MOVING.score(**{"prev.place": 1.0, "curr.place": 3.0}).total == 2.0


@pytest.mark.parametrize("prev", [None, 5, "text", [1.0], (1.0,), float])
def test_what_can_be_no_record_is_refused(prev):
    with pytest.raises(WrongType, match="mappings or objects"):
        MOVING.score(prev=prev, curr={"place": 1.0})


@pytest.mark.parametrize("prev", [{}, SimpleNamespace()], ids=repr)
def test_a_record_without_its_value_is_missing_it(prev):
    with pytest.raises(MissingField, match=r"needs 'prev\.place'"):
        MOVING.score(prev=prev, curr={"place": 1.0})


def test_a_record_with_a_value_nobody_declared_is_refused():
    with pytest.raises(UnknownInput, match=r"'prev\.plaice'. Did you mean 'prev\.place'"):
        MOVING.score(prev={"place": 1.0, "plaice": 2.0}, curr={"place": 1.0})


def test_a_field_read_plainly_is_its_value_after_the_step():
    @term
    def where(place):
        return 100 * place

    both = Reward("both", version="1", terms=[step, where], fields=[Field("place")])
    assert both.score(prev={"place": 1.0}, curr={"place": 3.0}).total == 302.0
    with pytest.raises(UnknownInput):
        both.score(prev={"place": 1.0}, curr={"place": 3.0}, place=3.0)


@pytest.mark.parametrize(
    "force", [(1, 2, 3), [1.0, 2.0, 3.0], np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3])], ids=repr
)
def test_a_vector_is_any_sequence_of_its_length(force):
    assert VECTOR.score(force=force).total == 6.0
    assert VECTOR.score(force=force).inputs == {"force[0]": 1.0, "force[1]": 2.0, "force[2]": 3.0}


@pytest.mark.parametrize("force", ["abc", (1, 2), (1, 2, 3, 4), (), 3.0, 3, np.ones((2, 3)), np.array(3.0)], ids=repr)
def test_a_vector_of_another_length_is_refused_with_both_lengths(force):
    with pytest.raises(ShapeMismatch, match="reward 'vector', field 'force': 3 values are needed"):
        VECTOR.score(force=force)


@pytest.mark.parametrize("force", [(1, None, 3), (1, "2", 3), (1, True, 3), np.ones((3, 2))], ids=repr)
def test_every_entry_of_a_vector_is_checked(force):
    with pytest.raises(InputError, match=r"field 'force\[\d\]'"):
        VECTOR.score(force=force)


def test_what_is_no_mapping_is_refused():
    for inputs in (5, [1.0], None):
        with pytest.raises(WrongType, match="inputs must be a mapping"):
            NUMBER.compile("python")(inputs)


# -- the end of an episode -----------------------------------------------------------------------------------------


def test_a_terminal_term_scores_nothing_before_the_end():
    assert ENDING.inputs == ("x", "terminal", "verdict", "steps")
    for inputs in ({}, {"terminal": False}, {"steps": 4, "verdict": "won"}, {"terminal": 0, "steps": 4}):
        found = ENDING.score(x=2, **inputs)
        assert found["inverse"].score == 0.0
        assert found.total == 2.0


def test_at_the_end_everything_is_needed_and_scored():
    assert ENDING.score(x=2, terminal=True, steps=4, verdict="won").total == 2.25
    with pytest.raises(MissingField, match="needs 'steps'"):
        ENDING.score(x=2, terminal=True, verdict="won")
    with pytest.raises(OutOfRange, match="field 'steps'"):
        ENDING.score(x=2, terminal=True, steps=0, verdict="won")


@pytest.mark.parametrize("steps", [0, 0.5, math.nan, math.inf, -1e300])
def test_before_the_end_a_range_that_only_the_end_reads_is_not_checked(steps):
    found = ENDING.score(x=2, terminal=False, steps=steps, verdict="lost")
    assert found.total == 2.0


def test_before_the_end_none_is_as_good_as_absent():
    assert ENDING.score(x=2, terminal=False, steps=None, verdict=None).total == 2.0


@pytest.mark.parametrize("before", [{"x": 1, "verdict": "martian"}, {"x": 1, "verdict": None}, {"x": 1}])
def test_before_the_end_a_part_of_the_state_that_only_the_end_reads_is_not_checked(before):
    @term
    def moved(prev, curr):
        return curr.x - prev.x

    @term(terminal=True)
    def won(prev):
        return prev.verdict == "won"

    reward = Reward("r", version="1", terms=[moved, won], fields=[Field("x"), Field("verdict", values=("lost", "won"))])
    assert reward.score(prev=before, curr={"x": 3}, terminal=False).total == 2.0
    with pytest.raises(InputError, match=r"prev\.verdict"):
        reward.score(prev=before, curr={"x": 3}, terminal=True)


def test_the_end_alone_can_be_scored():
    found = ENDING.score_terminal(steps=4, verdict="won")
    assert found.total == 0.25
    assert [t.name for t in found.terms] == ["inverse"]
    assert found.fingerprint == ENDING.fingerprint
    assert ENDING.score_terminal(steps=4, verdict="won", x=1) == found  # what the steps read may be there too
    with pytest.raises(UnknownInput):
        ENDING.score_terminal(steps=4, verdict="won", nobody=1)


# -- masks, guards, parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [{"x": math.nan}, {"x": 11}, {"x": "a"}, {}, {"x": 10**400}], ids=repr)
def test_a_masked_row_is_nan_throughout(row):
    found = NUMBER.compile("python", on_bad="mask")(row)
    assert found.ok is False
    assert all(math.isnan(number) for number in (found.total, found.values["same"], found.scores["same"]))


def test_a_wrong_name_is_no_bad_row():
    with pytest.raises(UnknownInput):
        NUMBER.compile("python", on_bad="mask")({"x": 1, "y": 2})


def test_without_guard_a_range_is_not_checked_and_domains_are():
    @term
    def ratio(x):
        return 1 / x

    reward = Reward("ratio", version="1", terms=[ratio], fields=[Field("x", low=1)])
    assert reward.compile("python", guard=False)({"x": -2.0}).total == -0.5
    with pytest.raises(ArithmeticError, match="divides by zero"):
        reward.compile("python", guard=False)({"x": 0.0})


def test_parameters_given_with_a_call_are_what_the_reward_would_have_been(reward, batch):
    row = {name: column[2] for name, column in batch.items()} | {"mood": "calm"}
    changed = {"near.reach": 40.0, "far": 10.0, "effort.weight": 3.0, "effort.high": 1.0, "total.low": -1.0}
    compiled = reward.compile("python")
    assert compiled(row, changed) == reward.with_params(changed).compile("python")(row)
    assert compiled(row, changed).total != compiled(row).total
    with pytest.raises(UnknownParameter, match="Did you mean 'near.reach'"):
        compiled(row, {"near.raech": 1.0})


def test_the_bare_function_takes_values_in_order_and_gives_the_total_and_every_value(reward):
    compiled = reward.compile("python")
    row = {"distance": 1.0, "far": 0}  # any mapping will do: the order is that of `inputs`
    values = {"distance": 1.0, "level": 1.0, "lit": True, "mood": 0, "force[0]": 0.0, "force[1]": 0.0}
    values |= {"prev.place": 0.0, "curr.place": 0.0, "terminal": False, "success": False}
    assert set(compiled.inputs) == set(values) != set(row)
    assert compiled.function(*(values[name] for name in compiled.inputs)) == (1.5, 1.0, 0.5, 0.0, -0.0, 0.0, 0.0)
