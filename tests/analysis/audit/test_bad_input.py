"""Ledgers that say little: one clear message, and never a number that means nothing."""

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.analysis import Thresholds, audit
from plaudit.analysis.audit.audit import HISTORY_RULES
from plaudit.errors import DefinitionError, NotInLedger
from support.histories import record_episodes


@term
def near(distance):
    """Be near."""
    return 9.0 - distance


DISTANCE = Field("distance", low=0, high=9)
REWARD = Reward("reaching", version="1", terms=[near], fields=[DISTANCE], task=Task(states=["distance"]))
OTHER = REWARD.with_weights(near=-1.0).with_version("7")


@pytest.fixture
def ledger(tmp_path):
    """An empty ledger."""
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def draw(count, seed=0):
    return {"distance": np.random.default_rng(seed).uniform(0, 9, count)}


def test_an_empty_ledger_is_an_error(ledger):
    with pytest.raises(NotInLedger, match="has no record"):
        audit(ledger)
    with pytest.raises(NotInLedger, match="has no record"):
        audit(ledger, REWARD)


def test_a_run_that_is_not_there_is_an_error_with_a_guess(ledger):
    record_episodes(ledger, REWARD, [draw(10)])
    with pytest.raises(NotInLedger, match="Did you mean run='night'"):
        audit(ledger, REWARD, run="nigt")


def test_other_rewards_than_the_one_given_are_named(ledger):
    record_episodes(ledger, OTHER, [draw(10)])
    with pytest.raises(NotInLedger, match="has no records of reaching@1 .* only of reaching@7"):
        audit(ledger, REWARD)
    record_episodes(ledger, REWARD, [draw(10)])
    assert "Left out: 10 records of reaching@7." in audit(ledger, REWARD).remarks
    with pytest.raises(DefinitionError, match=r"records of several rewards: reaching@7, reaching@1\. Name one"):
        audit(ledger)
    assert audit(ledger, version="7").version == "7"


def test_another_formula_under_the_same_label_is_said(ledger, tmp_path):
    record_episodes(ledger, REWARD.with_weights(near=2.0), [draw(10)])
    with pytest.raises(NotInLedger, match="Records of reaching@1 were computed by another formula"):
        audit(ledger, REWARD)


def test_a_few_steps_of_one_episode_say_so_and_nothing_else(ledger):
    record_episodes(ledger, REWARD, [draw(10)])
    report = audit(ledger, REWARD)
    assert not report.findings
    assert report.skipped["spike"] == "at least 1,000 steps are needed; there are 10"
    assert report.skipped["length-paid"] == "at least 20 complete episodes are needed; there are 1"
    assert "Read: 10 steps of 1 episode in" in report.remarks[0]


def test_records_without_episodes_say_so(ledger):
    ledger.record_batch(REWARD, draw(2000))
    assert audit(ledger, REWARD).skipped["length-paid"] == "no record belongs to an episode"


def test_episodes_without_an_end_are_left_out_of_returns_where_others_of_their_run_end(ledger):
    record_episodes(ledger, REWARD, [draw(50, at) for at in range(30)])
    ledger.record_batch(REWARD, draw(50), run="night", episode="broken off", step=range(50))
    remarks = audit(ledger, REWARD).remarks
    assert remarks[1:] == (
        "1 episode has no recorded end and is excluded from the findings about returns: night/broken off.",
    )


def test_runs_in_which_no_episode_ends_count_whole_and_are_named(ledger):
    record_episodes(ledger, REWARD, [draw(50, at) for at in range(10)], run="ended")
    record_episodes(ledger, REWARD, [draw(50, at) for at in range(20)], run="by hand", ends=None)
    report = audit(ledger, REWARD)
    assert report.remarks[1:] == (
        "No record of by hand says how an episode ended; the last episode may be unfinished.",
    )
    assert "length-paid" not in report.skipped  # 30 whole episodes


def test_where_no_episode_ends_that_is_said(ledger):
    record_episodes(ledger, REWARD, [draw(50, at) for at in range(30)], ends=None)
    assert audit(ledger, REWARD).remarks[1].startswith("No record says how an episode ended")


def test_missing_step_numbers_are_named(ledger):
    record_episodes(ledger, REWARD, [draw(50, at) for at in range(30)])
    ledger.record_batch(REWARD, draw(3), run="holes", episode="a", step=[0, 1, 7], context={"terminated": True})
    found = [remark for remark in audit(ledger, REWARD).remarks if "step numbers" in remark]
    assert found == [
        "1 episode has missing step numbers and is excluded from the findings about returns, cycles and stays: holes/a."
    ]


def test_what_is_recorded_meanwhile_is_left_for_another_time(ledger, tmp_path):
    record_episodes(ledger, REWARD, [draw(5000, at) for at in range(4)])
    seen = []

    def write_more(done, total):
        seen.append(total)
        record_episodes(ledger, REWARD, [draw(5000)], run=f"later {done}")

    report = audit(tmp_path / "rewards.db", REWARD, progress=write_more)
    assert seen
    assert report.remarks[0].startswith("Read: 20,000 steps of 4 episodes in")


def test_an_unknown_rule_or_threshold_is_an_error(ledger):
    record_episodes(ledger, REWARD, [draw(10)])
    with pytest.raises(DefinitionError, match="there is no rule 'walked-lap'. Did you mean 'walked-laps'"):
        audit(ledger, REWARD, only="walked-lap")
    with pytest.raises(DefinitionError, match="there is no threshold 'laps_'. Did you mean 'laps'"):
        Thresholds().with_values({"laps_": 3})
    for name, value in (("laps", 0), ("laps", 2.5), ("one_term", 1.5), ("spike", -1)):
        with pytest.raises(DefinitionError, match=f"the threshold {name}="):
            Thresholds().with_values({name: value})


def test_only_the_rules_that_were_asked_for_are_spoken_of(ledger):
    record_episodes(ledger, REWARD, [draw(10)])
    assert set(audit(ledger, REWARD, only=["spike"]).skipped) == {"spike"}
    assert "spike" not in audit(ledger, REWARD, ignore="spike").skipped
    assert set(audit(ledger, REWARD).skipped) <= set(HISTORY_RULES)


def test_a_rescoring_is_audited_by_its_job(ledger):
    record_episodes(ledger, REWARD, [draw(50, at) for at in range(30)])
    job = ledger.rescore(OTHER).job
    assert audit(ledger, OTHER, job=job).remarks[0].startswith("Read: 1,500 steps of 30 episodes")
