"""Terminal terms: scored at the end alone, and what only they read is needed and checked there alone."""

import math

import pytest

from plaudit import DefinitionError, Field, InputError, OutOfRange, Reward, term
from plaudit.errors import MissingField, OutsideDomain
from support.written import module

SPACE = module(
    """
    def step(speed): return speed
    def bonus(success, time): return (10 if success else -10) / time
    def calm(speed): return -speed
    """
)
STEP, BONUS = term(SPACE["step"]), term(terminal=True, weight=2.0)(SPACE["bonus"])
FIELDS = [Field("speed", low=0), Field("success", flag=True), Field("time", low=0, high=100)]
REWARD = Reward("drive", version="1", terms=[STEP, BONUS], fields=FIELDS, high=50.0)


def test_a_terminal_term_scores_nothing_until_the_end():
    signal = REWARD.score(speed=3)
    assert signal.total == 3.0
    assert signal["bonus"] == ("bonus", 0.0, 0.0, 2.0, 0.0)
    assert signal.inputs["terminal"] is False


def test_a_terminal_term_scores_at_the_end():
    signal = REWARD.score(speed=3, terminal=True, success=True, time=2)
    assert signal.values == {"step": 3.0, "bonus": 10.0}
    assert signal.total == 13.0


@pytest.mark.parametrize("terminal", [True, 1, 1.0])
def test_what_only_the_end_reads_is_needed_at_the_end(terminal):
    with pytest.raises(MissingField, match=r"reward 'drive' needs '(success|time)'"):
        REWARD.score(speed=3, terminal=terminal)
    with pytest.raises(MissingField, match="reward 'drive' needs 'time'"):
        REWARD.score(speed=3, terminal=terminal, success=False)


@pytest.mark.parametrize("terminal", [False, 0, 0.0])
def test_what_only_the_end_reads_is_not_needed_before(terminal):
    assert REWARD.score(speed=3, terminal=terminal).total == 3.0


@pytest.mark.parametrize("time", [0, -5, 101, math.inf])
def test_what_only_the_end_reads_is_checked_there_alone(time):
    assert REWARD.score(speed=3, success=True, time=time).total == 3.0
    with pytest.raises(InputError):
        REWARD.score(speed=3, success=True, time=time, terminal=True)


def test_an_operation_of_a_terminal_term_is_reached_at_the_end_alone():
    assert REWARD.score(speed=3, success=True, time=0).total == 3.0
    with pytest.raises(OutsideDomain, match="term 'bonus' of reward 'drive' divides by zero"):
        REWARD.score(speed=3, success=True, time=0, terminal=True)


def test_the_end_alone_is_the_terminal_terms_alone():
    signal = REWARD.score_terminal(success=False, time=4)
    assert [t.name for t in signal.terms] == ["bonus"]
    assert signal.total == -5.0
    assert (signal.reward, signal.version) == ("drive", "1")
    assert (signal.fingerprint, signal.domain_fingerprint) == (REWARD.fingerprint, REWARD.domain_fingerprint)
    assert REWARD.score_terminal(success=True, time=0.01).total == 50.0


def test_the_end_alone_is_checked_too():
    with pytest.raises(MissingField, match="needs 'time'"):
        REWARD.score_terminal(success=True)
    with pytest.raises(OutOfRange, match="reward 'drive', field 'time'"):
        REWARD.score_terminal(success=True, time=101)


def test_a_field_that_every_step_reads_too_is_always_needed():
    both = Reward("both", version="1", terms=[STEP, term(terminal=True)(SPACE["calm"])], fields=FIELDS[:1])
    assert both.score(speed=2).total == 2.0
    assert both.score(speed=2, terminal=True).total == 0.0
    with pytest.raises(MissingField, match="needs 'speed'"):
        both.score(terminal=True)
    with pytest.raises(OutOfRange):
        both.score(speed=-1)


def test_a_reward_of_terminal_terms_alone_scores_zero_until_the_end():
    end = Reward("end", version="1", terms=[BONUS], fields=FIELDS[1:])
    assert end.score().total == 0.0
    assert end.score(terminal=True, success=True, time=5).total == 4.0


def test_a_reward_without_terminal_terms_has_no_end():
    steps = REWARD.select_terms("step")
    assert "terminal" not in steps.inputs
    with pytest.raises(InputError, match="does not read 'terminal'"):
        steps.score(speed=1, terminal=True)
    with pytest.raises(DefinitionError, match="has no terminal terms"):
        steps.score_terminal()


def test_clamps_hold_the_zero_of_a_terminal_term_too():
    clamped = term(terminal=True, low=0.5)(SPACE["bonus"])
    reward = Reward("low", version="1", terms=[STEP, clamped], fields=FIELDS)
    assert reward.score(speed=1)["bonus"].clamped == 0.5
