"""Whole episodes: the order in which the reward puts them, and the odds at which an agent would gamble."""

import pytest

from asking import told
from plaudit import DefinitionError, Field, InputError, Reward, term
from plaudit.checks.check import check

RULES = ["outcome-order", "risk-tolerance"]


@term
def pay(x):
    return x


@term(terminal=True)
def end(won):
    return 10 if won else -10


def reward(**options):
    return Reward(
        "r", version="1", terms=[pay, end], fields=[Field("x", low=-5, high=5), Field("won", flag=True)], **options
    )


def episode(*xs, won=None):
    rows = [{"x": x, "won": bool(won), "terminal": False} for x in xs]
    return rows if won is None else [*rows[:-1], {**rows[-1], "terminal": True}]


def test_episodes_in_their_order_are_left_alone():
    outcomes = {"crash": episode(0, won=False), "idle": episode(0), "win": episode(0, won=True)}
    assert told(reward(), "outcome-order", outcomes=outcomes) == []


def test_neighbours_that_the_reward_ranks_otherwise_are_told():
    outcomes = {"crash": episode(0, won=False), "idle": episode(*[5] * 4), "win": episode(1, won=True)}
    (finding,) = told(reward(), "outcome-order", outcomes=outcomes)
    assert (finding.severity, finding.term) == ("warning", "total")
    assert finding.message == "'idle' earns 20, more than 'win' with 11, though it is the worse outcome."
    assert {step.total for step in finding.witness} == {5.0, 11.0}


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_earning_the_same_is_told_as_such(noise):
    outcomes = {"idle": episode(1), "win": episode(1 + noise)}
    (finding,) = told(reward(), "outcome-order", outcomes=outcomes)
    assert finding.message.startswith("'idle' earns 1, the same as 'win' with 1")


def test_returns_are_discounted():
    outcomes = {"idle": episode(*[1] * 3), "win": episode(2)}
    (finding,) = told(reward(), "outcome-order", outcomes=outcomes)
    assert "'idle' earns 3" in finding.message
    assert told(reward(discount=0.5), "outcome-order", outcomes=outcomes) == []  # 1.75


def test_the_odds_of_a_gamble_are_told():
    outcomes = {"crash": episode(0, won=False), "idle": episode(0), "win": episode(0, won=True)}
    (finding,) = told(reward(), "risk-tolerance", outcomes=outcomes)
    assert finding.severity == "advice"
    assert finding.message == (
        "rather than 'idle' an agent gambles on 'win' as long as 'crash' is less likely than 0.5 (returns -10, 0, 10)."
    )
    assert told(reward(), "risk-tolerance", outcomes={"a": episode(0), "b": episode(1)}) == []
    wrong = {"crash": episode(5), "idle": episode(0), "win": episode(0, won=True)}
    assert told(reward(), "risk-tolerance", outcomes=wrong) == []  # in another order the odds mean nothing


def test_without_episodes_the_rules_are_said_to_be_skipped():
    report = check(reward(), only=RULES)
    assert report.skipped == dict.fromkeys(RULES, "no outcome episodes were given")


def test_an_episode_without_a_step_earns_nothing():
    outcomes = {"crash": episode(0, won=False), "nothing": [], "win": episode(1)}
    assert told(reward(), "outcome-order", outcomes=outcomes) == []


def test_a_row_that_cannot_be_scored_is_an_error_that_names_it():
    with pytest.raises(InputError) as caught:
        check(reward(), only=RULES, outcomes={"idle": episode(0), "win": [*episode(0), {"x": 99, "won": True}]})
    assert caught.value.__notes__ == ["It is row 1 of the outcome 'win'."]
    with pytest.raises(DefinitionError, match="outcome 'win', row 0: 5 is not a mapping of inputs"):
        check(reward(), only=RULES, outcomes={"idle": episode(0), "win": [5]})
