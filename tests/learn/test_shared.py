"""A learner that processes share through a ledger."""

import dataclasses
import sys
import threading
import time
from pathlib import Path

import pytest

from plaudit import Ledger, learn
from plaudit.errors import InputError, KeyConflict, NotFinite, ShapeMismatch, SpecError, UnknownCategory, WrongType
from plaudit.learn import Decision, SharedLearner
from support.bandits import ACTIONS, ARMS, BANDIT, REWARD, X, same, shared
from support.forking import PythonProcess


def start_crediting(place, *, seed, count):
    """Start a process that shares the learner, and chooses and credits so many times."""
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from support.bandits import credit_often
credit_often({str(place)!r}, {seed}, {count})
"""
    return PythonProcess([sys.executable, "-c", script])


@pytest.fixture
def place(tmp_path):
    return tmp_path / "rewards.db"


def test_what_was_credited_is_known_to_whoever_opens_the_ledger(place):
    with Ledger(place) as ledger:
        one = shared(ledger)
        for step in range(5):
            one.credit(one.choose(X), REWARD.score(delta=step / 10), run="r", step=step)
        other = shared(ledger, seed=9)
        assert same(other.state, one.state)
        assert one.state.decisions == 5
        record = ledger.history(run="r").first()
        assert Decision.from_dict(record.context["decision"]).context == X


def test_crediting_twice_is_recorded_and_learnt_once(place):
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        decision = bandit.choose(X)
        first = bandit.credit(decision, REWARD.score(delta=0.5))
        assert bandit.credit(decision, REWARD.score(delta=0.5)) == first
        with pytest.raises(KeyConflict):
            bandit.credit(decision, REWARD.score(delta=0.6))
        assert bandit.state.pulls.count(1) == 1
        bandit.credit(decision, REWARD.score(delta=1.0), again=True)
        assert (sum(bandit.state.pulls), bandit.state.decisions) == (2, 1)


def test_what_is_blocked_is_recorded_with_its_reason_and_not_learnt(place):
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        number = bandit.credit(bandit.choose(X), REWARD.score(delta=0.5), blocked="the judge was down")
        assert bandit.state.decisions == 0
        assert ledger[number].context["blocked"] == "the judge was down"


def test_a_snapshot_saves_the_replay_and_changes_nothing(place, tmp_path):
    file = tmp_path / "bandit.json"
    with Ledger(place) as ledger:
        one = shared(ledger, snapshot=file)
        for _ in range(3):
            one.credit(one.choose(X), REWARD.score(delta=0.5))
        one.save()
        one.credit(one.choose(X), REWARD.score(delta=-0.5))
        resumed = shared(ledger, snapshot=file)
        assert resumed.last == one.last
        assert same(resumed.state, one.state)
        with pytest.raises(SpecError, match="saved with features"):
            shared(ledger, learn.linucb(ACTIONS, 5), snapshot=file)
        with pytest.raises(SpecError, match="not a snapshot of the decision class"):
            SharedLearner(ledger, BANDIT, decision_class="other", snapshot=file)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"action": "ring"}, UnknownCategory),
        ({"context": (1.0,)}, ShapeMismatch),
        ({"context": (1.0, float("nan"), 0.0)}, NotFinite),
    ],
)
def test_what_cannot_be_learnt_is_refused_before_it_is_recorded(place, change, error):
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        with pytest.raises(error):
            bandit.credit(bandit.choose(X)._replace(**change), REWARD.score(delta=0.5))
        with pytest.raises(WrongType, match="not a Signal"):
            bandit.credit(bandit.choose(X), 0.5)
        assert ledger.history().count() == 0
        assert bandit.state.decisions == 0


def test_a_record_that_others_left_and_that_does_not_fit_is_named(place):
    with Ledger(place) as ledger:
        ledger.record(REWARD.score(delta=0.1), decision_class="topology", context={"decision": {"action": "ring"}})
        with pytest.raises(UnknownCategory, match="ring") as caught:
            shared(ledger)
        assert "record 1 of the decision class 'topology'" in "".join(caught.value.__notes__)


def test_a_reward_is_credited_to_what_ran(place):
    with Ledger(place) as ledger:
        noted = {"decision": {"action": "chain", "executed": "stay", "x": list(X)}}
        ledger.record(REWARD.score(delta=0.5), decision_class="topology", context=noted)
        assert shared(ledger).state.pulls == (1, 0, 0, 0)


def test_a_reward_of_another_version_is_refused_before_it_is_recorded(place):
    other = REWARD.with_weights(gain=2.0).with_version("2")
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        bandit.credit(bandit.choose(X), REWARD.score(delta=0.5))
        with pytest.raises(InputError, match="gain@1 and gain@2, which are not comparable"):
            bandit.credit(bandit.choose(X), other.score(delta=0.5))
        assert ledger.history().count() == 1
        bandit.credit(bandit.choose(X), REWARD.score(delta=0.5))


def test_rewards_of_two_versions_are_learnt_from_together_only_if_that_is_meant(place, tmp_path):
    other = REWARD.with_weights(gain=2.0).with_version("2")
    with Ledger(place) as ledger:
        bandit = shared(ledger, snapshot=tmp_path / "bandit.json")
        bandit.credit(bandit.choose(X), REWARD.score(delta=0.5))
        bandit.save()
        mixed = shared(ledger, mixed=True)
        number = mixed.credit(mixed.choose(X), other.score(delta=0.5))
        for options in ({}, {"snapshot": tmp_path / "bandit.json"}):
            with pytest.raises(InputError, match="not comparable"):
                shared(ledger, **options)
        assert mixed.state.decisions == 2
        assert shared(ledger, skip={number}).state.decisions == 1


def test_threads_that_share_one_count_nothing_twice(place):
    with Ledger(place) as ledger:
        bandit = shared(ledger)

        def work():
            for _ in range(10):
                bandit.credit(bandit.choose(X), REWARD.score(delta=0.1))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert bandit.state.decisions == ledger.history().count() == 40
        assert same(bandit.state, learn.fit(ledger, BANDIT, decision_class="topology"))


def test_a_record_that_does_not_fit_stops_learning_before_anything_else_is_recorded_and_can_be_left_out(place):
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        decision = bandit.choose(X)
        bad = ledger.record(
            REWARD.score(delta=0.1), decision_class="topology", context={"decision": {"action": "ring"}}
        )
        with pytest.raises(UnknownCategory):
            bandit.credit(decision, REWARD.score(delta=0.5))
        assert ledger.history().count() == 1
        patient = shared(ledger, skip={bad})
        patient.credit(decision, REWARD.score(delta=0.5))
        assert patient.state.decisions == 1
        assert same(patient.state, learn.fit(ledger, BANDIT, decision_class="topology", skip={bad}))


def test_a_snapshot_of_another_ledger_is_refused(place, tmp_path):
    with Ledger(place) as ledger:
        bandit = shared(ledger, snapshot=tmp_path / "bandit.json")
        bandit.credit(bandit.choose(X), REWARD.score(delta=0.5))
        bandit.save()
    with Ledger(tmp_path / "other.db") as other:
        with pytest.raises(SpecError, match="snapshot of another ledger"):
            shared(other, snapshot=tmp_path / "bandit.json")
        other.record(REWARD.score(delta=0.5), decision_class="topology")
        with pytest.raises(SpecError, match="snapshot of another ledger"):
            shared(other, snapshot=tmp_path / "bandit.json")


def test_several_further_rewards_have_names(place):
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        decision = bandit.choose(X)
        bandit.credit(decision, REWARD.score(delta=0.5))
        for name in ("bonus", "bonus", "late"):
            bandit.credit(decision, REWARD.score(delta=0.2), again=name)
        assert (sum(bandit.state.pulls), bandit.state.decisions) == (3, 1)


def test_the_same_id_may_be_decided_about_in_two_classes(place):
    with Ledger(place) as ledger:
        for decided in ("topology", "model_tier"):
            bandit = SharedLearner(ledger, BANDIT, decision_class=decided)
            bandit.credit(bandit.choose(X, id="m/1"), REWARD.score(delta=0.5))
            assert bandit.state.decisions == 1


def test_learners_of_one_seed_do_not_all_draw_the_same(place):
    with Ledger(place) as ledger:
        random = learn.epsilon_greedy(ACTIONS, start=1.0, end=1.0)
        drawn = {SharedLearner(ledger, random, decision_class="c").choose().action for _ in range(40)}
        assert len(drawn) > 1
        again = [SharedLearner(ledger, random, decision_class="c", seed=3).choose(id="m/1") for _ in range(2)]
        assert again[0] == again[1]


@pytest.mark.parametrize("said", [None, "the judge was down"])
def test_only_a_reason_blocks(place, said):
    with Ledger(place) as ledger:
        noted = {"decision": {"action": "star", "x": list(X)}, "blocked": said, "again": "false"}
        ledger.record(REWARD.score(delta=0.5), decision_class="topology", context=noted)
        assert shared(ledger).state.decisions == (1 if said is None else 0)


def test_what_cannot_be_learnt_from_can_be_recorded_as_blocked(place):
    with Ledger(place) as ledger:
        bandit = shared(ledger)
        bandit.credit(bandit.choose(X)._replace(action="ring"), REWARD.score(delta=0.5), blocked="an unknown action")
        assert bandit.state.decisions == 0


def test_a_class_is_a_name(place):
    with Ledger(place) as ledger, pytest.raises(WrongType, match="decision_class=None"):
        SharedLearner(ledger, BANDIT, decision_class=None)


def test_records_of_other_things_are_passed_over(place):
    with Ledger(place) as ledger:
        ledger.record(REWARD.score(delta=0.1), decision_class="topology")
        ledger.record(REWARD.score(delta=0.1), decision_class="model_tier", context={"decision": {"action": "ring"}})
        assert shared(ledger).state.decisions == 0


@pytest.mark.parametrize("kept", ["in a file", "on a server"])
def test_processes_that_share_a_learner_lose_nothing(kept, tmp_path, request):
    place = tmp_path / "rewards.db" if kept == "in a file" else request.getfixturevalue("postgres_url")
    Ledger(place).close()
    workers = [start_crediting(place, seed=seed, count=6) for seed in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    with Ledger(place) as ledger:
        state = shared(ledger, ARMS["ucb1"]).state
        assert (state.decisions, sum(state.pulls)) == (12, 12)


def test_a_process_that_is_killed_leaves_all_that_it_recorded(place):
    Ledger(place).close()
    worker = start_crediting(place, seed=1, count=10_000)
    with Ledger(place) as ledger:
        end = time.monotonic() + 300
        while ledger.history().count() < 5 and time.monotonic() < end:
            time.sleep(0.02)
        worker.kill()
        worker.wait()
        recorded = ledger.history().count()
        assert recorded >= 5
        assert shared(ledger, ARMS["ucb1"]).state.decisions == recorded


def test_there_is_nothing_to_save_without_a_name(place):
    with Ledger(place) as ledger, pytest.raises(ValueError, match="name a file"):
        shared(ledger).save()


def test_a_snapshot_from_before_there_were_intercepts_is_passed_over_and_the_records_are_replayed(place, tmp_path):
    file = tmp_path / "tier.json"
    with Ledger(place) as ledger:
        before = shared(ledger, dataclasses.replace(BANDIT, intercept=False), snapshot=file)
        before.credit(before.choose(X), REWARD.score(delta=0.5))
        before.save()
        now = shared(ledger, snapshot=file)
        assert now.learner.intercept
        assert now.state.decisions == 1
        assert same(now.state, shared(ledger).state)
