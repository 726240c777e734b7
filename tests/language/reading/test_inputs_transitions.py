"""`prev` and `curr`: the values before and after a step."""

import pytest

from plaudit import Field, Reward, term
from plaudit.errors import MissingField, UnknownField
from support.written import module, reward_from

LEVEL = Field("level")
MOOD = Field("mood", values=("calm", "wild"))


def test_a_difference_between_the_ends_of_a_step():
    reward = reward_from("def f(prev, curr): return curr.level - prev.level", LEVEL)
    assert reward.inputs == ("curr.level", "prev.level")
    assert reward.score(prev={"level": 2}, curr={"level": 5}).total == 3.0


def test_one_end_alone_is_enough():
    reward = reward_from("def f(prev): return prev.level", LEVEL)
    assert reward.score(prev={"level": 2}).total == 2.0
    with pytest.raises(MissingField, match=r"needs 'prev.level'"):
        reward.score(curr={"level": 2})


def test_a_field_of_a_transition_read_plainly_is_its_value_after_the_step():
    space = module("def f(prev, curr): return curr.level - prev.level\ndef g(level): return 10 * level")
    reward = Reward("r", version="1", terms=[term(space["f"]), term(space["g"])], fields=[LEVEL])
    assert set(reward.inputs) == {"prev.level", "curr.level"}
    assert reward.score(prev={"level": 1}, curr={"level": 3}).values == {"f": 2.0, "g": 30.0}


def test_a_field_read_plainly_by_a_term_that_only_prev_reads_elsewhere_is_curr_too():
    space = module("def f(prev): return prev.level\ndef g(level): return 10 * level")
    reward = Reward("r", version="1", terms=[term(space["f"]), term(space["g"])], fields=[LEVEL])
    assert reward.score(prev={"level": 1}, curr={"level": 3}).total == 31.0


def test_plain_fields_stand_beside_records():
    reward = reward_from("def f(prev, curr, gain): return gain * (curr.level - prev.level)", LEVEL)
    assert reward.score(gain=2, prev={"level": 1}, curr={"level": 4}).total == 6.0


def test_categories_before_and_after_are_compared():
    reward = reward_from("def f(prev, curr): return prev.mood != curr.mood", MOOD)
    for before in MOOD.labels:
        for after in MOOD.labels:
            assert reward.score(prev={"mood": before}, curr={"mood": after}).total == (before != after)


def test_an_unknown_field_of_a_record_is_refused_with_the_near_one():
    with pytest.raises(UnknownField) as caught:
        reward_from("def f(curr): return curr.levle", LEVEL)
    assert "term 'f' reads 'levle', which the reward does not declare" in str(caught.value)
    assert "line 2:  def f(curr): return curr.levle" in str(caught.value)
    assert "Did you mean 'level'?" in str(caught.value)


def test_a_term_says_what_it_reads():
    made = term(module("def f(prev, curr, gain, *, k=1): return gain * k * (curr.a - prev.b) + curr.a")["f"])
    assert set(made.reads) == {"gain", "curr.a", "prev.b"}
