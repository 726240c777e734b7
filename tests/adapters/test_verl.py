"""A reward as verl calls it: a total and every term, and never a number for a sample that has no reward.

The calls in `recorded/verl.json` are those of verl's reward manager; `real_packages.py` made them.
"""

import asyncio
import inspect
import json
from pathlib import Path

import pytest

from plaudit import DefinitionError, Field, Ledger, OutOfRange, Reward, term
from plaudit.adapters.verl import compute_score
from plaudit.errors import Abstained, MissingField
from plaudit.llm import Scoring, feature
from plaudit.schedules import linear
from support import sums

CALLS = json.loads((Path(__file__).parent / "recorded" / "verl.json").read_text(encoding="utf-8"))["calls"]
CLAMPED = sums.reward(low=-0.25, high=1.0)
TOTALS = [max(total, -0.25) for total in sums.TOTALS[:3]]


async def awaited(completion, answer):
    await asyncio.sleep(0)
    return sums.features(completion, answer)


@pytest.mark.parametrize("features", [sums.features, awaited], ids=["plain", "async"])
def test_recorded_calls_are_scored_with_every_term(features):
    score = compute_score(Scoring(CLAMPED, features))
    assert inspect.iscoroutinefunction(score) == (features is awaited)  # as verl asks
    for call, total in zip(CALLS, TOTALS, strict=True):
        told = score(**call)
        told = asyncio.run(told) if features is awaited else told
        assert list(told) == ["score", "correct", "length", "form", "total.clamp"]
        assert told.pop("score") == total
        assert sum(told.values()) == pytest.approx(total)


def test_parts_of_a_sample_are_what_verl_hands_over():
    def features(text, answer, ground_truth, data_source, kind, reward_router_address):
        right = (text, answer, ground_truth, data_source, kind) == ("2", "2", "2", "sums", "sum")
        return {"right": right and reward_router_address == "here", "words": 0, "style": "bare"}

    score = compute_score(Scoring(sums.reward(), features))
    assert score(**CALLS[0], reward_router_address="here")["score"] == 1.0
    asks = compute_score(Scoring(sums.reward(), lambda completion: {"right": True, "words": 0, "style": "bare"}))
    assert asks("sums", "5", "5")["score"] == 1.0


def test_where_samples_are_recorded_they_are_scored_in_the_event_loop(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        score = compute_score(Scoring(CLAMPED, sums.features, ledger=ledger, run="sums"))
        assert asyncio.run(score(**CALLS[0]))["score"] == TOTALS[0]
        assert [record.signal.total for record in ledger.history(run="sums")] == [TOTALS[0]]


def test_a_sample_that_has_no_reward_is_an_error():
    def abstains(text):
        raise Abstained("no reference answer")

    with pytest.raises(Abstained, match="no reference answer"):
        compute_score(Scoring(CLAMPED, abstains))(**CALLS[0])
    with pytest.raises(OutOfRange, match="field 'words': -1"):
        compute_score(Scoring(CLAMPED, lambda text: {"right": True, "words": -1, "style": "bare"}))(**CALLS[0])


@pytest.mark.parametrize("features", [sums.features, awaited], ids=["plain", "async"])
def test_schedules_follow_the_step_of_the_policy_that_the_agent_loop_hands_over(features, tmp_path):
    reward = sums.reward().with_weights(correct=linear(0.0, 1.0, over=10), length=0.0, form=0.0)
    score = compute_score(Scoring(reward, features))

    def call(score, **extra):
        told = score(**{**CALLS[0], "extra_info": {**CALLS[0]["extra_info"], **extra}})
        return asyncio.run(told)["score"] if inspect.isawaitable(told) else told["score"]

    assert call(score, max_global_steps=5) == 0.5
    for extra in ({}, {"max_global_steps": None}):  # of an engine whose weights were never updated
        with pytest.raises(MissingField, match="follow 'step', and no step was given.*from a feature called 'step'"):
            call(score, **extra)
    assert call(compute_score(Scoring(sums.reward(), features)), max_global_steps=None) == sums.TOTALS[0]
    with Ledger(tmp_path / "rewards.db") as ledger:
        call(compute_score(Scoring(reward, features, ledger=ledger, run="r")), max_global_steps=7)
        assert [record.step for record in ledger.history(run="r")] == [7]


def test_what_may_leave_out_samples_is_refused_when_made():
    with pytest.raises(DefinitionError, match="on_bad='mask' leaves samples without a reward.*Choose on_bad='raise'"):
        compute_score(Scoring(CLAMPED, sums.features, on_bad="mask"))
    with pytest.raises(DefinitionError, match="applies= leaves samples without a reward"):
        compute_score(Scoring(CLAMPED, sums.features, applies=sums.is_sum))

    @feature(group=True)
    def style(text):
        return ["bare" for _ in text]

    with pytest.raises(DefinitionError, match="feature 'style' needs a group, but verl scores one sample at a time"):
        compute_score(Scoring(CLAMPED, [style]))

    @term
    def score(right):
        return 1 if right else 0

    named = Reward("sums", version="1", terms=[score], fields=[Field("right", flag=True)])
    with pytest.raises(DefinitionError, match="verl keeps the total as 'score': give the term 'score' another name"):
        compute_score(Scoring(named, lambda text: {"right": True}))
