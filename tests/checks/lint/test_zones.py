"""The edges of zones: a value that falls between two of them, and how far the score jumps."""

import math

import pytest

from asking import really, told
from plaudit import Field, Reward, fact, term
from written import reward_from

WIDE = Field("x", low=-10, high=10)


def zones(text, *fields, **options):
    return reward_from(
        f"def f(x{''.join(f', {field.name}' for field in fields)}): return {text}", WIDE, *fields, **options
    )


# -- gaps -------------------------------------------------------------------------------------------------------------


def test_a_value_that_neither_zone_takes_is_told():
    reward = zones("1 if x < 5 else 2 if x > 5 else -100")
    (finding,) = told(reward, "zone-gap")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert finding.message == "'f' is -100 at x = 5 alone: 1 just below it and 2 just above."
    assert really(reward, finding) == [1, -100, 2]
    below, here, above = (step.inputs["x"] for step in finding.witness)
    assert (below, here, above) == (math.nextafter(5, 0), 5, math.nextafter(5, 9))
    assert [step.note for step in finding.witness] == ["just below", "here", "just above"]


@pytest.mark.parametrize(
    "text",
    [
        "1 if x < 5 else 2",
        "1 if x <= 5 else 2 if x > 5 else 3",
        "1 if x > 0 else -1 if x < 0 else 0",  # the sign of x
        "abs(x - 5)",
        "1 if x < 5 else 7 if x == 5 else 2",  # 5 is named
        "7 if x in (2, 5) else 1 if x < 5 else 2",
        "1 if x == 5 else 0",
        "x if x < 5 else 5 if x > 5 else 5",
    ],
)
def test_zones_without_a_gap_are_left_alone(text):
    assert told(zones(text), "zone-gap") == []


def test_a_gap_that_only_some_settings_show():
    mood = Field("mood", values=("calm", "wild"))
    reward = zones('0 if mood == "calm" else 1 if x < 5 else 2 if x > 5 else 3', mood)
    (finding,) = told(reward, "zone-gap")
    assert {step.inputs["mood"] for step in finding.witness} == {"wild"}
    assert really(reward, finding) == [1, 3, 2]


def test_a_gap_of_a_scaled_or_clamped_input():
    (finding,) = told(zones("1 if 2 * x - 1 < 5 else 2 if 2 * x - 1 > 5 else 9"), "zone-gap")
    assert "at x = 3 alone" in finding.message
    both = told(zones("1 if abs(x) < 5 else 2 if abs(x) > 5 else 9"), "zone-gap")
    assert [finding.message.partition(" alone")[0] for finding in both] == ["'f' is 9 at x = -5", "'f' is 9 at x = 5"]


def test_a_gap_in_a_terminal_term():
    reward = zones("1 if x < 5 else 2 if x > 5 else 9", terminal=True)
    (finding,) = told(reward, "zone-gap")
    assert all(step.inputs["terminal"] for step in finding.witness)
    assert really(reward, finding) == [1, 9, 2]


def test_a_gap_at_the_very_end_of_the_range_or_among_listed_numbers_is_none():
    assert told(zones("1 if x < 10 else 2"), "zone-gap") == []
    levels = Field("level", values=(0, 5, 9))
    text = "def f(level): return 1 if level < 5 else 2 if level > 5 else 3"
    assert told(reward_from(text, levels), "zone-gap") == []


# -- jumps ------------------------------------------------------------------------------------------------------------


def test_the_largest_jump_is_told_with_how_many_others_there_are():
    reward = zones("-100 if x < 1 else -5 if x < 2 else 1 if x < 4 else 0.5")
    (finding,) = told(reward, "jump")
    assert (finding.severity, finding.term) == ("advice", "f")
    assert finding.message == (
        "the score of 'f' jumps by 95 at x = 1: from -100 just below to -5 just above. It jumps in 2 other places too."
    )
    assert really(reward, finding) == [-100, -5, -5]


@pytest.mark.parametrize(
    "text", ["abs(x)", "min(x, 3)", "x if x < 3 else 3", "x * x if x > 0 else 0", "2 * x + 1", "round(x)"]
)
def test_what_has_no_threshold_with_a_jump_is_left_alone(text):
    assert told(zones(text), "jump") == []


def test_one_other_place_is_one():
    (finding,) = told(zones("0 if x < 1 else 5 if x < 2 else 6"), "jump")
    assert finding.message.endswith("It jumps in 1 other place too.")


def test_a_jump_under_a_condition_on_another_input_is_found():
    lit = Field("lit", flag=True)
    reward = zones("(3 if x > 2 else 0) if lit else 0", lit)
    (finding,) = told(reward, "jump")
    assert all(step.inputs["lit"] for step in finding.witness)
    assert really(reward, finding) == [0, 0, 3]


def test_a_term_without_weight_may_jump():
    @term(weight=0)
    def watched(x):
        return 1 if x > 2 else 0

    @term
    def pay(x):
        return x

    assert told(Reward("r", version="1", terms=[watched, pay], fields=[WIDE]), "jump") == []


def test_a_jump_that_facts_rule_out_is_not_told():
    @term
    def step(prev, curr):
        return -5 if curr.x > 3 else prev.x

    @fact
    def low(curr):
        return curr.x < 2

    assert told(Reward("r", version="1", terms=[step], fields=[WIDE]), "jump")
    assert told(Reward("r", version="1", terms=[step], fields=[WIDE], facts=[low]), "jump") == []


def test_a_jump_to_what_cannot_be_scored_is_another_matter():
    assert told(zones("math.sqrt(x) if x >= 0 else math.sqrt(x)"), "jump") == []


def test_a_loaded_reward_jumps_too():
    reward = Reward.from_json(zones("1 if x < 5 else 2 if x > 5 else -100").to_json())
    assert [finding.place for finding in (*told(reward, "jump"), *told(reward, "zone-gap"))] == [None, None]


def test_a_value_that_stands_alone_is_a_gap_and_no_jump():
    alone = zones("1 if x < 5 else 1 if x > 5 else -100")
    assert len(told(alone, "zone-gap")) == 1
    assert told(alone, "jump") == []
    (finding,) = told(zones("1 if x < 5 else 4 if x > 5 else -100"), "jump")
    assert "jumps by 3 at x = 5: from 1 just below to 4 just above" in finding.message
