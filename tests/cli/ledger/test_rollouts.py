"""Rollouts in the tables of `plaudit ledger`: those without a reward have none, and long texts are cut."""

import json

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import Abstained
from plaudit.llm import Scoring, feature

LONG = "begin " + "word " * 100_000 + "end"


@feature
def words(text):
    if text == "skip":
        raise Abstained("nothing to count")
    return len(text.split())


@term(weight=0.1)
def length(words):
    return words


@pytest.fixture
def rollouts(tmp_path, monkeypatch):
    """A ledger with a rollout that has a reward, one that a feature abstained from and one with a long text."""
    monkeypatch.chdir(tmp_path)
    reward = Reward("counted", version="1", terms=[length], fields=[Field("words", low=0)])
    with Ledger("rewards.db") as ledger:
        scoring = Scoring(reward, [words], ledger=ledger, run="a")
        scoring.score([{"prompt": "?", "completion": text} for text in ("a b", "skip", LONG)])


def test_a_rollout_without_a_reward_has_a_dash(plaudit, rollouts):
    history = plaudit("ledger", "history", "rewards.db").stdout.splitlines()
    assert [line.split()[3] for line in history[2:]] == ["0.2", "-", "10000.2"]
    episodes = plaudit("ledger", "episodes", "rewards.db").stdout
    assert "not scored" in episodes.splitlines()[3]
    assert [line.split()[0] for line in plaudit("ledger", "rank", "rewards.db").stdout.splitlines()[2:]] == ["1", "3"]
    listed = [json.loads(line) for line in plaudit("ledger", "episodes", "rewards.db", "--json").stdout.splitlines()]
    assert [each["total"] for each in listed] == [pytest.approx(0.2), None, pytest.approx(10000.2)]
    done = plaudit("ledger", "rank", "rewards.db", "--episode", "2")
    assert "No finished episodes to rank (0 unfinished, 1 without a score)." in done.stderr
    done = plaudit("ledger", "rank", "rewards.db", "--episode", "2", "--by", "step")
    assert "None of these records has a score; `plaudit ledger why rewards.db 2` says why." in done.stderr
    assert "nothing to count" in plaudit("ledger", "why", "rewards.db", "2").stdout


def test_the_middle_of_a_long_text_is_left_out(plaudit, rollouts):
    shown = plaudit("ledger", "why", "rewards.db", "3").stdout
    assert len(shown) < 20_000
    assert "begin word word" in shown
    assert "word word end" in shown
    assert f"{len(LONG) - 10_000:,} characters are left out" in shown
    whole = json.loads(plaudit("ledger", "why", "rewards.db", "3", "--json").stdout)
    assert LONG in whole["texts"]["rollout"]
