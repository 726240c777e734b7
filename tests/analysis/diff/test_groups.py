"""Of rollouts, a diff says what changes within groups, and nothing of episodes of one step."""

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.analysis import diff
from plaudit.llm import Scoring, feature, rescore_rollouts
from support.ranks import score_in_ranks


@feature
def right(text):
    return text.startswith("5")


@feature
def words(text):
    if text == "fails":
        raise ValueError("cannot be read")
    return len(text.split())


@term
def correct(right):
    return 1 if right else 0


@term(weight=-0.1)
def length(words):
    return words


REWARD = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
BRIEF = Reward("sums", version="2", terms=[correct, length], fields=[Field("right", flag=True), Field("words", low=0)])
GROUPS = {
    "gains": ["5", "5 it is", "5 now"],
    "flips": ["5 " + "word " * 30, "6", "5"],
    "stays": ["6", "6", "7"],
    "halved": ["5 yes", "fails", "6 no"],
}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as opened:
        scoring = Scoring(BRIEF, [right, words], ledger=opened, run="night", on_bad="mask", max_masked=1)
        scoring.score([{"prompt": prompt, "completion": text} for prompt in GROUPS for text in GROUPS[prompt]])
        yield opened


def test_groups_that_gain_a_gradient_and_advantages_that_change_sign_are_counted(ledger):
    effect = diff(REWARD, BRIEF, ledger=ledger, run="night").effect
    found = effect.groups
    assert (found.groups, found.gained, found.lost, found.partial) == (4, 1, 0, 0)
    assert found.flipped == 2  # the long answer that is right, and the wrong one
    back = diff(BRIEF, REWARD, ledger=ledger, run="night").effect
    assert (back.groups.gained, back.groups.lost) == (0, 1)
    assert effect.to_dict()["groups"] == {"groups": 4, "flipped": 2, "gained": 1, "lost": 0, "partial": 0}


def test_it_counts_what_a_rescoring_counts(ledger):
    done = rescore_rollouts(ledger, REWARD.with_version("3"), [right], run="night")
    effect = diff(BRIEF, REWARD, ledger=ledger, run="night").effect
    assert effect.groups.to_dict() == {name: getattr(done, name) for name in effect.groups.to_dict()}


def test_nothing_is_said_of_episodes_and_decision_classes(ledger):
    effect = diff(REWARD, BRIEF, ledger=ledger, run="night").effect
    for told in ("\n".join(effect.describe()), effect._repr_html_()):
        assert "of 4 groups, 1 gained a gradient, 0 lost it; 2 rollouts changed the sign of the advantage" in told
        assert "Features are as recorded" in told
        assert "Rank correlation of rollouts" in told
        assert not any(said in told for said in ("pisode", "decision class", "Rank correlation of steps"))
        assert "length" in told


def test_a_group_of_which_a_part_is_left_out_is_not_compared(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        parts = [[{"prompt": "?", "completion": text} for text in ("5", f"6 {rank}")] for rank in range(2)]
        score_in_ranks(ledger, BRIEF, [right, words], parts)
        assert diff(REWARD, BRIEF, ledger=ledger).effect.groups.groups == 1
        part = diff(REWARD, BRIEF, ledger=ledger, actor="rank 0").effect.groups
        assert (part.groups, part.partial) == (0, 1)


def test_steps_of_an_environment_have_no_groups(ledger):
    ledger.record_batch(BRIEF, {"right": [True, False], "words": [1.0, 2.0]}, run="walk", episode="1", step=range(2))
    for query in ({"run": "walk"}, {}):
        effect = diff(REWARD, BRIEF, ledger=ledger, **query).effect
        assert effect.groups is None
        assert "decision class" in "\n".join(effect.describe())
