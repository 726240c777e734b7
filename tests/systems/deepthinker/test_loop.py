"""The loop: a phase is chosen, run, rewarded, recorded and learnt from, once, whatever happens in between."""

import asyncio
import gc
import math
import multiprocessing
import os
import shutil
import signal
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from plaudit import errors
from plaudit.learn import Router, SharedLearner, epsilon_greedy, fit, linucb, load, save, ucb1
from plaudit.learn.alignment import ACTIONS, CAPS
from plaudit.learn.router import Guess
from plaudit.systems.deepthinker import RewardSignal, RewardStore, RewardWeights
from plaudit.systems.deepthinker.advisor import TIERS, guess_tier
from plaudit.systems.deepthinker.drift import DriftConfig
from plaudit.systems.deepthinker.features import CONTEXT, FEATURES, encode_context, encode_features
from plaudit.systems.deepthinker.loop import CORRECTION_CLASS, Loop
from plaudit.systems.deepthinker.phase import Outcome, Phase
from plaudit.systems.deepthinker.simulated.run import run_phase, simulate
from plaudit.systems.deepthinker.simulated.world import PHASES, World
from support.bandits import same

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
ROUTER = Router(linucb(TIERS, FEATURES), guess_tier, minimum=4)
CORRECTOR = epsilon_greedy(ACTIONS, start=1.0, end=1.0)
PHASE = Phase(name="research", objective="Survey the field", difficulty=0.5)
ALWAYS = DriftConfig(begin=0, low=0.99)
"""Every phase is an event of drift."""


def build_loop(store, *, correct=True, **options):
    router = SharedLearner(store.ledger, ROUTER, decision_class="model_tier")
    corrector = SharedLearner(store.ledger, CORRECTOR, decision_class=CORRECTION_CLASS) if correct else None
    return Loop(store, router, corrections=corrector, **options)


def outcome(phase, plan):
    return Outcome(score_delta=0.25, cost_tokens=1000, similarity=0.9, relevance=0.8)


# -- one phase --------------------------------------------------------------------------------------------------------


def test_a_phase_becomes_a_record_and_the_router_learns_from_it(store):
    loop = build_loop(store)
    seen = []
    step = loop.mission("m1").run(PHASE, lambda phase, plan: seen.append((phase, plan)) or outcome(phase, plan))
    [(phase, plan)] = seen
    assert (phase, plan.correction) == (PHASE, None)
    [record] = store.get_history(decision_class="model_tier")
    assert (record.id, record.mission_id, record.phase) == (step.record, "m1", "research")
    assert record.signal == step.signal
    assert record.signal.score_delta == 0.25
    assert record.key == step.decision.id == "m1/0/model_tier"
    decision = record.context["decision"]
    assert decision["action"] == plan.decision.action
    assert decision["probability"] == plan.decision.probability
    assert tuple(decision["x"]) == encode_features(PHASE)
    assert record.context["similarity"] == 0.9
    expected = ROUTER.update(ROUTER.init(), plan.decision, step.signal.reward)
    assert same(loop.router.state.ridge, expected.ridge)
    assert loop.router.state.squares == expected.squares


def test_an_event_of_drift_is_in_the_reward_and_brings_a_correction(store):
    loop = build_loop(store, drift=ALWAYS)
    mission = loop.mission("m1")
    step = mission.run(PHASE, outcome)
    assert step.point.event
    assert step.signal.components_raw["alignment_events"] == 1
    assert step.correction.action in ACTIONS
    plan = mission.plan(PHASE)
    assert plan.correction == step.correction.action


def test_a_phase_whose_similarity_nobody_measured_is_no_event(store):
    step = build_loop(store, drift=ALWAYS).mission("m1").run(PHASE, lambda phase, plan: Outcome(score_delta=0.1))
    assert (step.point, step.correction) == (None, None)
    assert step.signal.components_raw["alignment_events"] == 0


def test_a_phase_that_fails_leaves_nothing_behind(store):
    mission = build_loop(store).mission("m1")

    def fails(phase, plan):
        raise RuntimeError("the model is gone")

    with pytest.raises(RuntimeError, match="the model is gone"):
        mission.run(PHASE, fails)
    assert store.get_history() == []
    assert mission.run(PHASE, outcome).record == 1


def test_a_name_that_cannot_be_recorded_is_refused_before_the_phase_runs(store):
    for bad in ("", "a\0b", "\ud800", None):
        with pytest.raises(errors.InputError, match="name="):
            Phase(name=bad)
        with pytest.raises(errors.InputError, match="mission_id="):
            build_loop(store).mission(bad)


def test_a_relevance_without_a_similarity_is_kept(store):
    loop = build_loop(store)
    mission = loop.mission("m1")
    mission.run(PHASE, lambda phase, plan: Outcome(relevance=0.2))
    assert store.get_history("model_tier")[0].context["relevance"] == 0.2
    assert mission.state.relevance == loop.mission("m1").state.relevance == 0.2


# -- once -------------------------------------------------------------------------------------------------------------


def test_a_plan_is_carried_out_once(store):
    mission = build_loop(store).mission("m1")
    plan = mission.plan(PHASE)
    mission.finish(PHASE, plan, outcome(PHASE, plan))
    with pytest.raises(errors.InputError, match="each plan runs once"):
        mission.finish(PHASE, plan, outcome(PHASE, plan))
    assert len(store.get_history()) == 1


def test_a_phase_that_two_run_at_once_is_recorded_once(store):
    loop = build_loop(store)
    one, other, third = (loop.mission("m1") for _ in range(3))
    plan = one.plan(PHASE)
    assert plan == other.plan(PHASE)
    first = one.finish(PHASE, plan, outcome(PHASE, plan))
    assert other.finish(PHASE, plan, outcome(PHASE, plan)).record == first.record
    with pytest.raises(errors.KeyConflict):
        third.finish(PHASE, plan, Outcome(score_delta=-1.0))
    assert loop.router.state.decisions == 1


def test_what_cannot_be_learnt_from_is_refused_before_it_is_recorded(store):
    mission = build_loop(store).mission("m1")
    plan = mission.plan(PHASE)
    strange = plan._replace(decision=plan.decision.credit_to("HUGE"))
    with pytest.raises(errors.UnknownCategory, match="HUGE"):
        mission.finish(PHASE, strange, outcome(PHASE, plan))
    with pytest.raises(errors.NotFinite):
        mission.finish(PHASE, plan, Outcome(score_delta=float("nan")))
    assert store.get_history() == []
    assert mission.state.steps == 0


def test_what_really_ran_is_credited(store):
    loop = build_loop(store)
    mission = loop.mission("m1")
    plan = mission.plan(PHASE)
    other = next(tier for tier in TIERS if tier != plan.decision.action)
    mission.finish(PHASE, plan._replace(decision=plan.decision.credit_to(other)), outcome(PHASE, plan))
    assert loop.router.state.pulls[TIERS.index(other)] == 1
    assert "probability" not in store.get_history()[0].context["decision"]


# -- nothing is learnt where a rule forbids it ------------------------------------------------------------------------


def test_a_phase_that_is_blocked_is_recorded_with_the_reason_and_not_learnt_from(store):
    loop = build_loop(store, drift=ALWAYS)
    mission = loop.mission("m1")
    mission.run(PHASE, outcome)
    step = mission.run(PHASE, lambda phase, plan: Outcome(similarity=0.5, blocked="the judge was down"))
    assert step.blocked == "the judge was down"
    assert [record.context.get("blocked") for record in store.get_history("model_tier")] == [None, "the judge was down"]
    assert loop.router.state.decisions == 1
    [credit] = store.get_history(CORRECTION_CLASS)
    assert credit.context["blocked"] == "the judge was down"
    assert loop.corrections.state.decisions == 0
    mission.run(PHASE, outcome)
    assert (loop.router.state.decisions, loop.corrections.state.decisions) == (2, 1)


# -- corrections ------------------------------------------------------------------------------------------------------


def test_a_correction_is_credited_with_the_reward_of_the_phase_after_it(store):
    loop = build_loop(store, drift=ALWAYS)
    mission = loop.mission("m1")
    first = mission.run(PHASE, lambda phase, plan: Outcome(similarity=0.6, relevance=0.9))
    second = mission.run(PHASE, lambda phase, plan: Outcome(score_delta=0.5, similarity=0.7, relevance=0.8))
    [credit] = store.get_history(CORRECTION_CLASS)
    assert credit.signal == second.signal
    assert credit.context["decision"] == first.correction.to_dict()
    assert credit.context["parts"] == pytest.approx(
        {"drift_before": 0.4, "drift_after": 0.3, "relevance_before": 0.9, "relevance_after": 0.8}
    )
    at = ACTIONS.index(first.correction.action)
    assert loop.corrections.state.pulls[at] == 1
    assert loop.corrections.state.totals[at] == second.signal.reward


def test_a_correction_may_be_credited_by_its_own_formula(store):
    loop = build_loop(store, drift=ALWAYS, credit="formula")
    mission = loop.mission("m1")
    mission.run(PHASE, lambda phase, plan: Outcome(similarity=0.6, relevance=0.9))
    mission.run(PHASE, lambda phase, plan: Outcome(score_delta=0.5, similarity=0.7, relevance=0.8))
    [credit] = store.ledger.history(decision_class=CORRECTION_CLASS)
    assert credit.signal.reward == "alignment_correction"
    assert credit.total == pytest.approx(0.1 + 0.5 * -0.1)
    assert credit.context["parts"] == pytest.approx(credit.signal.inputs)
    assert sum(loop.corrections.state.totals) == credit.total
    assert len(store.get_history()) == 2
    assert store.ledger.verify().ok


def test_a_correction_that_no_phase_follows_is_credited_with_nothing(store):
    loop = build_loop(store, drift=ALWAYS)
    loop.mission("m1").run(PHASE, outcome)
    assert store.get_history(CORRECTION_CLASS) == []
    assert loop.corrections.state.decisions == 0


def test_the_probability_of_a_correction_is_its_own_in_whatever_order_the_learner_has_the_actions(store):
    bandit = epsilon_greedy(ACTIONS[::-1], start=0.5, end=0.5)
    router = SharedLearner(store.ledger, ROUTER, decision_class="model_tier")
    corrections = SharedLearner(store.ledger, bandit, decision_class=CORRECTION_CLASS)
    mission = Loop(store, router, corrections=corrections, drift=ALWAYS).mission("m1")
    for _ in range(12):
        correction = mission.run(PHASE, outcome).correction
        assert correction.probability == correction.probabilities[bandit.actions.index(correction.action)] > 0
    assert mission.state.used["trigger_user_event_drift_confirmation"] == 1
    assert correction.probabilities[0] == 0, "what is used up has no chance"


def test_a_credit_that_failed_is_made_good_before_the_next_phase_runs(store, monkeypatch):
    loop = build_loop(store, drift=ALWAYS)
    mission, add, busy = loop.mission("m1"), store.add, [True]

    def fails_once(**arguments):
        if arguments["decision_context"]["decision_class"] == CORRECTION_CLASS and busy:
            busy.pop()
            raise errors.LedgerBusy("somebody else is writing")
        return add(**arguments)

    monkeypatch.setattr(store, "add", fails_once)
    mission.run(PHASE, outcome)
    with pytest.raises(errors.LedgerBusy):
        mission.run(PHASE, outcome)
    for _ in range(2):
        mission.run(PHASE, outcome)
    assert len(mission.steps) == 4
    credited = [record.context["decision"] for record in store.get_history(CORRECTION_CLASS)]
    assert credited == [step.correction.to_dict() for step in mission.steps[:3]]
    assert loop.corrections.state.decisions == 3


def test_every_credit_that_is_missing_is_made_good_when_a_mission_is_taken_up_again(store, monkeypatch):
    mission, add = build_loop(store, drift=ALWAYS).mission("m1"), store.add

    def loses_credits(**arguments):
        return 0 if arguments["decision_context"]["decision_class"] == CORRECTION_CLASS else add(**arguments)

    with monkeypatch.context() as patched:
        patched.setattr(store, "add", loses_credits)
        for _ in range(4):
            mission.run(PHASE, outcome)
    assert store.get_history(CORRECTION_CLASS) == []
    loop = build_loop(store, drift=ALWAYS)
    loop.mission("m1")
    assert loop.catch_up() == len(store.get_history(CORRECTION_CLASS)) == 3


@pytest.mark.parametrize("correct", [True, False], ids=["learnt", "by rule"])
def test_no_mission_goes_beyond_a_cap_and_the_next_begins_anew(store, correct):
    loop = build_loop(store, correct=correct, drift=ALWAYS)
    for name in ("m1", "m2"):
        mission = loop.mission(name)
        for _ in range(16):
            mission.run(PHASE, outcome)
        used = Counter(step.correction.action for step in mission.steps)
        assert used == mission.state.used
        assert all(used[action] <= cap for action, cap in CAPS.items())
        assert used[ACTIONS[0]] > 0
        assert used["trigger_user_event_drift_confirmation"] == 1


def test_without_a_learner_drift_is_answered_by_rule_and_the_credit_is_kept_all_the_same(store):
    mission = build_loop(store, correct=False, drift=ALWAYS).mission("m1")
    steps = [mission.run(PHASE, outcome) for _ in range(4)]
    assert [step.correction.action for step in steps] == list(ACTIONS[:4])
    assert [record.context["decision"]["action"] for record in store.get_history(CORRECTION_CLASS)] == list(ACTIONS[:3])


def test_any_learner_can_choose_on_any_features(store):
    bandit = linucb(TIERS, CONTEXT)
    loop = Loop(store, SharedLearner(store.ledger, bandit, decision_class="model_tier"))
    step = loop.mission("m1").run(PHASE, outcome)
    assert step.decision.context == encode_context(PHASE)
    plain = Loop(store, SharedLearner(store.ledger, epsilon_greedy(TIERS), decision_class="depth"))
    assert plain.mission("m1").run(PHASE, outcome).decision.context is None
    assert loop.catch_up() == 0


@dataclass(frozen=True)
class Shift:
    """A phase of somebody else's agent, with its own measurements."""

    name: str
    depth: float = 0.5
    urgent: bool = False


MINE = ("depth", "urgent")
OWN = Router(linucb(TIERS, MINE), lambda x: Guess("LARGE" if x[0] > 0.5 else "SMALL", 0.6, "by depth"), minimum=2)


def build_own_loop(store, router=OWN, **options):
    return Loop(store, SharedLearner(store.ledger, router, decision_class="model_tier"), **options)


@pytest.mark.parametrize(
    "features",
    [
        None,
        lambda phase: {"urgent": phase.urgent, "depth": phase.depth},
        lambda phase: (phase.depth, phase.urgent),
        lambda phase: np.array([phase.depth, phase.urgent]),
    ],
    ids=["attributes", "by name", "in order", "array"],
)
def test_a_mission_of_phases_of_your_own_is_run_learnt_from_and_watched_for_drift(store, features):
    loop = build_own_loop(store, features=features, drift=ALWAYS)
    mission = loop.mission("m1")
    steps = [mission.run(Shift("dig", depth=0.25 * n, urgent=n == 2), outcome) for n in range(4)]
    assert [step.decision.context for step in steps] == [(0.0, 0.0), (0.25, 0.0), (0.5, 1.0), (0.75, 0.0)]
    assert all(step.point.event and step.correction.action in ACTIONS for step in steps)
    assert loop.router.state.decisions == 4
    assert [record.phase for record in store.get_history("model_tier")] == ["dig"] * 4
    again = build_own_loop(store, features=features, drift=ALWAYS).mission("m1")
    assert (again.state, again.steps) == (mission.state, mission.steps)


def test_some_of_the_features_and_attributes_of_the_phase_may_be_mixed(store):
    @dataclass(frozen=True, kw_only=True)
    class Deep(Phase):
        depth: float

    bandit = linucb(TIERS, ("depth", "retries", "difficulty"))
    step = build_own_loop(store, bandit).mission("m1").run(Deep(name="dig", depth=3.0, retries=2), outcome)
    assert step.decision.context == (3.0, 0.4, 0.5), "retries as one of FEATURES, not as the attribute"


@pytest.mark.parametrize(
    ("phase", "features", "error", "message"),
    [
        (PHASE, None, errors.MissingField, "'research' has no 'depth', 'urgent', which the learner reads"),
        (Shift("dig", depth="far"), None, errors.WrongType, "feature 'depth'='far'"),
        (Shift("dig", depth=math.nan), None, errors.NotFinite, "feature 'depth'=nan"),
        (Shift(""), None, errors.WrongType, "name=''"),
        (0.5, None, errors.WrongType, "name=None"),
        (Shift("dig"), lambda phase: {"depth": 1}, errors.MissingField, "needs 'urgent'"),
        (Shift("dig"), lambda phase: {"depth": 1, "urgnt": 0}, errors.UnknownInput, "Did you mean 'urgent'"),
        (Shift("dig"), lambda phase: (1.0,), errors.ShapeMismatch, "returned 1 numbers for depth, urgent"),
        (Shift("dig"), lambda phase: None, errors.WrongType, "returned None, not numbers"),
    ],
)
def test_features_that_the_router_cannot_read_are_told_before_the_phase_runs(store, phase, features, error, message):
    mission = build_own_loop(store, features=features).mission("m1")
    with pytest.raises(error, match=message):
        mission.run(phase, lambda phase, plan: pytest.fail("it ran"))
    assert store.get_history() == []


@pytest.mark.parametrize("others", [("depth", "width"), ("urgent", "depth"), ("depth",), FEATURES, ()])
def test_what_was_learnt_on_other_features_is_one_clear_error(store, tmp_path, others):
    loop = build_own_loop(store)
    mission = loop.mission("m1")
    mission.run(Shift("dig"), lambda phase, plan: Outcome(blocked="the judge was down"))
    mission.run(Shift("dig"), outcome)
    bandit = linucb(TIERS, others) if others else ucb1(TIERS)
    with pytest.raises(errors.InputError, match="record 2 was decided on the features depth, urgent, but the learner"):
        SharedLearner(store.ledger, bandit, decision_class="model_tier")
    with pytest.raises(errors.InputError, match="record 2 was decided on the features depth, urgent"):
        fit(store.ledger, bandit, decision_class="model_tier")
    save(tmp_path / "router.json", OWN, loop.router.state)
    assert load(tmp_path / "router.json", fallback=OWN.fallback).learner.features == MINE
    with pytest.raises(errors.SpecError, match=r"router\.json cannot be loaded: it was saved with"):
        load(tmp_path / "router.json", expected=Router(bandit, OWN.fallback, minimum=2) if others else bandit)


# -- coroutines -------------------------------------------------------------------------------------------------------


async def reply(phase, plan):
    await asyncio.sleep(0)
    return outcome(phase, plan)


@pytest.mark.parametrize("execute", [reply, outcome, partial(reply), lambda *both: asyncio.ensure_future(reply(*both))])
def test_a_coroutine_is_run_recorded_and_learnt_from_like_a_function(store, empty_store, tmp_path, execute):
    mission = build_loop(store, drift=ALWAYS).mission("m1")

    async def run_all():
        return [await mission.arun(PHASE, execute) for _ in range(3)]

    steps = asyncio.run(run_all())
    with RewardStore(shutil.copytree(empty_store, tmp_path / "other")) as other:
        plain = build_loop(other, drift=ALWAYS).mission("m1")
        assert steps == [plain.run(PHASE, outcome) for _ in range(3)]
        assert story(store) == story(other)


def test_missions_run_side_by_side_on_one_event_loop(store):
    loop = build_loop(store, drift=ALWAYS)
    running, most = set(), 0

    async def execute(phase, plan):
        nonlocal most
        running.add(plan.decision.id)
        most = max(most, len(running))
        for _ in range(len(plan.decision.id) % 3 + 2):
            await asyncio.sleep(0)
        running.discard(plan.decision.id)
        return outcome(phase, plan)

    async def carry_out(name):
        mission = loop.mission(name)
        for _ in range(4):
            await mission.arun(PHASE, execute)
        return mission

    async def run_all():
        return await asyncio.gather(*(carry_out(f"m{n}") for n in range(5)))

    missions = asyncio.run(run_all())
    assert most == 5
    assert loop.router.state.decisions == 20
    assert loop.corrections.state.decisions == 15
    assert same(fit(store.ledger, ROUTER, decision_class="model_tier").ridge, loop.router.state.ridge)
    for mission in missions:
        again = loop.mission(mission.id)
        assert (again.state, again.steps) == (mission.state, mission.steps)
    assert store.ledger.verify().ok


@pytest.mark.parametrize("stop", [asyncio.CancelledError, RuntimeError])
def test_a_coroutine_that_is_cancelled_or_fails_leaves_nothing_behind_and_the_mission_goes_on(store, stop):
    loop = build_loop(store, drift=ALWAYS)
    mission = loop.mission("m1")
    plans = []

    async def stops(phase, plan):
        plans.append(plan)
        started.set()
        if stop is RuntimeError:
            raise RuntimeError("the model is gone")
        await asyncio.Event().wait()

    async def run_all():
        await mission.arun(PHASE, reply)
        before = story(store), mission.state
        task = asyncio.create_task(mission.arun(PHASE, stops))
        await started.wait()
        task.cancel()
        with pytest.raises(stop):
            await task
        assert (story(store), mission.state) == before
        return await mission.arun(PHASE, reply)

    started = asyncio.Event()
    step = asyncio.run(run_all())
    assert step.decision == plans[0].decision, "the phase is planned again as it was"
    assert (loop.router.state.decisions, loop.corrections.state.decisions) == (2, 1)
    assert loop.mission("m1").steps == mission.steps


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("execute", [reply, lambda *both: reply(*both), partial(reply)])
def test_a_coroutine_given_to_run_is_told_to_use_arun(store, execute):
    mission = build_loop(store).mission("m1")
    with pytest.raises(errors.WrongType, match=r"use `await mission\.arun\(phase, execute\)`"):
        mission.run(PHASE, execute)
    gc.collect()
    assert store.get_history() == []
    assert mission.run(PHASE, outcome).record == 1


def test_a_task_given_to_run_is_cancelled(store):
    mission, made = build_loop(store).mission("m1"), []

    async def run_all():
        with pytest.raises(errors.WrongType, match="arun"):
            mission.run(PHASE, lambda *both: made.append(asyncio.ensure_future(reply(*both))) or made[0])
        with pytest.raises(asyncio.CancelledError):
            await made[0]

    asyncio.run(run_all())
    assert store.get_history() == []


def test_a_mission_runs_one_phase_at_a_time(store):
    mission = build_loop(store).mission("m1")

    async def run_all():
        return await asyncio.gather(*(mission.arun(PHASE, reply) for _ in range(2)), return_exceptions=True)

    first, second = asyncio.run(run_all())
    assert first == mission.steps[0]
    assert isinstance(second, errors.InputError)
    assert "'m1' is still running" in str(second)
    with pytest.raises(errors.InputError, match="'m1' is still running"):
        mission.run(PHASE, lambda phase, plan: mission.run(phase, outcome))
    assert mission.run(PHASE, outcome).decision.id == "m1/1/model_tier"


@pytest.mark.parametrize("given", [None, {"score_delta": 0.1}, 0.1])
def test_what_is_not_an_outcome_is_refused(store, given):
    with pytest.raises(errors.WrongType, match=r"'research' returned .*, not an Outcome\. Nothing was recorded"):
        build_loop(store).mission("m1").run(PHASE, lambda phase, plan: given)
    assert store.get_history() == []


# -- a loop that is none ----------------------------------------------------------------------------------------------


def test_the_learners_are_of_the_store(store, tmp_path):
    with RewardStore(tmp_path / "other") as other:
        with pytest.raises(errors.DefinitionError, match="use the ledger of its store"):
            Loop(store, SharedLearner(other.ledger, ROUTER, decision_class="model_tier"))
        router = SharedLearner(store.ledger, ROUTER, decision_class="model_tier")
        with pytest.raises(errors.DefinitionError, match="alignment_action"):
            Loop(store, router, corrections=router)
        with pytest.raises(errors.DefinitionError, match="credit='both'"):
            Loop(store, router, credit="both")


def test_rewards_of_other_weights_are_not_learnt_from_together(store):
    build_loop(store).mission("m1").run(PHASE, outcome)
    with pytest.raises(
        errors.InputError, match="the recorded rewards of 'model_tier' are of deepthinker@1.0.0; the loop would add"
    ):
        build_loop(store, weights=RewardWeights(score_weight=0.5))


@pytest.mark.parametrize("credits", [("following", "formula"), ("formula", "following")], ids=" then ".join)
@pytest.mark.parametrize("correct", [True, False], ids=["learnt", "by rule"])
def test_corrections_are_credited_in_one_way_only(store, credits, correct):
    first, second = credits
    mission = build_loop(store, correct=correct, drift=ALWAYS, credit=first).mission("m1")
    for _ in range(2):
        mission.run(PHASE, outcome)
    before = story(store)
    with pytest.raises(errors.InputError, match=f"'alignment_action'.*credit='{second}'"):
        build_loop(store, correct=correct, drift=ALWAYS, credit=second)
    assert story(store) == before
    build_loop(store, drift=ALWAYS, credit=first).mission("m1").run(PHASE, outcome)


@pytest.mark.parametrize("bandit", [ucb1(ACTIONS[:3]), ucb1((*ACTIONS, "dance")), linucb(ACTIONS, 2)])
def test_a_learner_that_cannot_choose_corrections_is_refused_before_a_phase_runs(store, bandit):
    router = SharedLearner(store.ledger, ROUTER, decision_class="model_tier")
    with pytest.raises(errors.DefinitionError, match="the corrections"):
        Loop(store, router, corrections=SharedLearner(store.ledger, bandit, decision_class=CORRECTION_CLASS))


def test_corrections_that_cannot_be_learnt_from_are_told_before_a_phase_runs(store):
    mission = build_loop(store, drift=ALWAYS).mission("m1")
    strange = {"decision_class": CORRECTION_CLASS, "decision": {"action": "dance"}}
    store.add(mission_id="m2", phase="x", decision_context=strange, signal=RewardSignal.from_phase_outcome())
    with pytest.raises(errors.UnknownCategory, match="dance"):
        mission.run(PHASE, lambda phase, plan: pytest.fail("it ran"))


# -- a mission is taken up again --------------------------------------------------------------------------------------


def story(store):
    """Return all that is recorded, but for numbers, times and writers."""
    return sorted((r.key, r.phase, r.decision_class, r.context, r.signal.to_dict()) for r in store.ledger.history())


def test_a_mission_that_is_taken_up_again_stands_where_it_stood(store):
    loop = build_loop(store, drift=ALWAYS)
    mission = loop.mission("m1")
    for _ in range(4):
        mission.run(PHASE, outcome)
    again = build_loop(store, drift=ALWAYS).mission("m1")
    assert again.state == mission.state
    assert again.steps == mission.steps


def test_the_past_of_a_mission_stays_what_it_was_with_other_thresholds(store):
    mission = build_loop(store, drift=ALWAYS).mission("m1")
    for _ in range(3):
        mission.run(PHASE, outcome)
    again = build_loop(store, drift=DriftConfig(slack=1.0)).mission("m1")
    assert (again.state, again.steps) == (mission.state, mission.steps)
    assert not again.run(PHASE, outcome).point.event
    whole = build_loop(store, drift=ALWAYS).mission("m1")
    assert (whole.state, whole.steps) == (again.state, again.steps)


@pytest.mark.parametrize("drift", [{"lowest": 0.4}, {"low": 7}, "strict"])
def test_thresholds_on_record_that_are_none_are_told_with_the_record(store, drift):
    loop = build_loop(store)
    decided = {"action": "SMALL", "x": encode_features(PHASE)}
    context = {"decision_class": "model_tier", "step": 0, "decision": decided, "similarity": 0.5, "drift": drift}
    store.add(mission_id="m1", phase="x", decision_context=context, signal=RewardSignal.from_phase_outcome())
    with pytest.raises(errors.InputError, match="record 1.*drift"):
        loop.mission("m1")


def test_a_point_says_which_phase_of_the_mission_it_is_of(store):
    loop = build_loop(store, drift=DriftConfig(begin=1, low=0.95))
    mission = loop.mission("m1")
    steps = [mission.run(PHASE, made) for made in (lambda *_: Outcome(), outcome, lambda *_: Outcome(), outcome)]
    assert [step.point and step.point.phase for step in steps] == [None, 1, None, 3]
    assert [bool(step.point and step.point.event) for step in steps] == [False, False, False, True]
    assert loop.mission("m1").steps == steps


def test_records_that_are_of_no_phase_are_passed_over(store):
    loop = build_loop(store)
    mission = loop.mission("m1")
    step = mission.run(PHASE, outcome)
    bonus = {"decision": step.decision.to_dict(), "again": True}
    for more in ({}, {"chosen": "LARGE", "step": 7}, bonus):
        context = {"decision_class": "model_tier", **more}
        store.add(mission_id="m1", phase="research", decision_context=context, signal=step.signal)
    assert loop.mission("m1").steps == [step]
    assert loop.mission("m1").run(PHASE, outcome).decision.id == "m1/1/model_tier"


def test_a_history_with_a_gap_is_no_mission(store):
    loop = build_loop(store)
    step = loop.mission("m1").run(PHASE, outcome)
    context = {"decision_class": "model_tier", "step": 5, "decision": step.decision.to_dict()}
    store.add(mission_id="m1", phase="research", decision_context=context, signal=step.signal)
    with pytest.raises(errors.InputError, match="record 2 is phase 5 of its mission, but phase 1 was expected"):
        loop.mission("m1")


MISSIONS = 3


def run_until_killed(folder, where, after):
    """Run simulated missions, and be killed before the `after`th time that a credit is recorded, or learnt from."""
    owner, name = {"credit": (RewardStore, "add"), "learn": (Loop, "catch_up")}[where]
    original, times = getattr(owner, name), iter(range(1, 10_000))

    def deadly(self, **arguments):
        counts = where == "learn" or arguments["decision_context"]["decision_class"] == CORRECTION_CLASS
        if counts and next(times) == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, **arguments)

    setattr(owner, name, deadly)
    with RewardStore(folder) as store:
        simulate(store, missions=MISSIONS, seed=3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What is recorded where nobody is killed."""
    with RewardStore(tmp_path_factory.mktemp("whole")) as store:
        simulate(store, missions=MISSIONS, seed=3)
        return story(store)


@posix
@pytest.mark.parametrize(
    ("where", "after"),
    [
        ("learn", 1),
        pytest.param("learn", 8, marks=pytest.mark.slow),
        pytest.param("learn", 13, marks=pytest.mark.slow),
        ("credit", 1),
        pytest.param("credit", 3, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_between_record_and_update_goes_on_as_if_nothing_had_happened(
    tmp_path, whole, where, after
):
    process = multiprocessing.get_context("fork").Process(target=run_until_killed, args=(tmp_path, where, after))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with RewardStore(tmp_path) as store:
        before = len(story(store))
        loop, _ = simulate(store, missions=MISSIONS, seed=3)
        assert 0 < before < len(whole)
        assert story(store) == whole
        assert loop.router.state.decisions == MISSIONS * len(PHASES)
        found = fit(store.ledger, loop.router.learner, decision_class="model_tier")
        assert same(found.ridge, loop.router.state.ridge)


# -- several processes ------------------------------------------------------------------------------------------------


def run_missions(folder, seed, count):
    with RewardStore(folder) as store:
        simulate(store, missions=count, seed=seed)


@posix
def test_two_processes_that_share_a_store_lose_nothing(tmp_path):
    RewardStore(tmp_path).close()
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=run_missions, args=(tmp_path, seed, 2)) for seed in (1, 2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with RewardStore(tmp_path) as store:
        records = list(store.ledger.history(decision_class="model_tier"))
        assert len(records) == len({record.key for record in records}) == 2 * 2 * len(PHASES)
        loop, _ = simulate(store, missions=2, seed=1)
        assert loop.router.state.decisions == len(records)
        assert loop.corrections.state.decisions == store.ledger.history(decision_class=CORRECTION_CLASS).count()
        assert same(fit(store.ledger, loop.router.learner, decision_class="model_tier").ridge, loop.router.state.ridge)
        numbers = {record.context["decision"]["number"] for record in records}
        assert max(numbers) > 2 * len(PHASES), "one of them saw what the other had learnt"


def test_a_learner_hears_of_what_others_record(store):
    one, other = build_loop(store), build_loop(store)
    run_phase(World(1), 0, one.mission("m1"))
    assert other.router.state.decisions == 0
    assert other.catch_up() == 1
    assert same(one.router.state.ridge, other.router.state.ridge)
