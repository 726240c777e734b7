"""Which declarations are named where they are true of no step."""

import pytest

from plaudit import DefinitionError, Field, Reward, bounds, fact, term
from plaudit.checks.ask import Solver
from plaudit.checks.contradiction import Contradiction, contradiction
from plaudit.checks.subject import Subject


@term
def climb(prev, curr):
    return curr.level - prev.level


@term
def drive(speed):
    return speed / 30


@fact
def sinks(prev, curr):
    return curr.level < prev.level


@fact
def leaps(prev, curr):
    return curr.level > prev.level + 2


@fact
def fast(speed):
    return speed > 50


@fact
def quick(speed):
    return speed > 20


@fact
def slow(speed):
    return speed < 10


@fact
def crawls(speed):
    return speed < 5


SPEED = Field("speed", low=0, high=30)
LEVEL = Field("level", low=0, high=99, monotone="up", step=1)


def reward(*facts, fields=(SPEED, LEVEL)):
    return Reward("r", version="1", terms=[climb, drive], fields=fields, facts=facts)


def contradicted(*facts, **options):
    return contradiction(Subject(reward(*facts, **options)), Solver())


@pytest.mark.parametrize("facts", [(), (quick,), (slow, crawls)])
def test_facts_that_can_all_be_true(facts):
    assert contradicted(*facts) is False


@pytest.mark.parametrize(
    ("facts", "guilty"),
    [
        ((slow, fast), Contradiction(("fast",))),
        ((slow, quick), Contradiction(("slow", "quick"))),
        ((slow, crawls, quick), Contradiction(("crawls", "quick"))),
        ((slow, sinks), Contradiction(("sinks",), ("level only rises",))),
        ((leaps, slow), Contradiction(("leaps",), ("level changes by at most 1 in a step",))),
    ],
)
def test_only_what_is_guilty_is_named(facts, guilty):
    assert contradicted(*facts) == guilty


def test_a_field_that_changes_freely_contradicts_nothing():
    assert contradicted(sinks, leaps, fields=[SPEED, Field("level", low=0, high=99)]) == Contradiction(
        ("sinks", "leaps")
    )
    assert contradicted(sinks, fields=[SPEED, Field("level", low=0, high=99)]) is False


def test_a_fact_that_cannot_be_told_is_true_of_no_step():
    @fact
    def halves(speed):
        return 1 / (speed - speed) > 0

    assert contradicted(halves) == Contradiction(("halves",))


def test_among_very_many_declarations_all_are_named(monkeypatch):
    monkeypatch.setattr("plaudit.checks.contradiction.MOST_DECLARED", 3)
    assert contradicted(slow, fast).facts == ("slow", "fast")


def test_the_sentence_names_them():
    assert str(Contradiction(("a",))) == "no step that the declared ranges allow makes the fact 'a' true"
    assert str(Contradiction(("a", "b"), ("level only rises",))) == (
        "no step that the declared ranges allow makes the facts 'a' and 'b' true at once, given that level only rises"
    )


def test_there_are_no_bounds_of_what_cannot_happen():
    with pytest.raises(DefinitionError, match="'r' has no bounds: no step that the declared ranges allow makes the"):
        bounds(reward(slow, quick), facts=True)
    assert bounds(reward(slow, quick)).total.high == 100


def test_a_reward_that_was_loaded_contradicts_itself_as_well():
    loaded = Reward.from_json(reward(slow, quick).to_json())
    assert contradiction(Subject(loaded), Solver()) == Contradiction(("slow", "quick"))
