"""The simulated missions: the same by the same seed, and a router that learns in them what no fixed choice knows."""

import math
from statistics import fmean

import numpy as np
import pytest

from plaudit.learn.alignment import ACTIONS
from plaudit.systems.deepthinker import RewardStore, reward, version
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.drift import SENSITIVE, DriftState, observe
from plaudit.systems.deepthinker.features import encode_features
from plaudit.systems.deepthinker.simulated import World, build_report, simulate
from plaudit.systems.deepthinker.simulated.report import judge_policies
from plaudit.systems.deepthinker.simulated.run import ROUTER, score_outcome
from plaudit.systems.deepthinker.simulated.world import PHASES, QUALITY

MISSIONS = 40


def learn_in_memory(seed):
    """Let the router learn through missions in memory, and return what it earned, what it could have, and what it knows.

    The second state is that of one that learnt from the same decisions by the repaired reward.
    """
    world, state, anew, repaired = World(seed), ROUTER.init(), ROUTER.init(), version("rescaled")
    earnings, possible = [], []
    for mission in range(MISSIONS):
        gains, drift, before = [], 0.0, DriftState()
        for step in range(len(PHASES)):
            outcomes = world.simulate_outcomes(mission, (None,) * (step + 1))
            before, point = observe(before, outcomes["SMALL"].similarity, SENSITIVE)
            decision = ROUTER.choose(state, seed, encode_features(world.build_phase(mission, gains, drift=drift)))
            chosen = outcomes[decision.action]
            possible.append([score_outcome(outcomes[tier], int(point.event)) for tier in TIERS])
            earnings.append(score_outcome(chosen, int(point.event)))
            state = ROUTER.update(state, decision, earnings[-1])
            anew = ROUTER.update(anew, decision, score_outcome(chosen, int(point.event), repaired))
            gains.append(chosen.score_delta)
            drift = point.drift
    return np.array(earnings), np.array(possible), state, anew


@pytest.fixture(scope="module", params=[4, pytest.param(6, marks=pytest.mark.slow)], ids=["four", "six"])
def lives(request):
    """Routers that learnt, by seed."""
    return [learn_in_memory(seed) for seed in range(request.param)]


def test_the_router_beats_the_best_fixed_choice_with_every_seed(lives):
    margins = [earnings.mean() - possible.mean(axis=0).max() for earnings, possible, *_ in lives]
    assert min(margins) > 0, margins
    assert fmean(margins) > 4 * np.std(margins, ddof=1) / math.sqrt(len(margins)), margins


def test_and_it_stays_below_what_only_hindsight_knows(lives):
    for earnings, possible, *_ in lives:
        types = possible.reshape(MISSIONS, len(PHASES), len(TIERS)).mean(axis=0).max(axis=1).mean()
        assert earnings.mean() < types + 0.02
        assert earnings.mean() < possible.max(axis=1).mean()


def test_what_it_learnt_is_to_choose_by_the_type_of_phase(lives):
    best = {phase: TIERS[int(np.argmax(qualities))] for phase, qualities in QUALITY.items()}
    right = []
    for seed, (*_, state, _) in enumerate(lives):
        for mission in range(100, 110):
            gains = []
            for phase in PHASES:
                right.append(
                    ROUTER.advise(state, encode_features(World(seed).build_phase(mission, gains))).candidate
                    == best[phase]
                )
                gains.append(0.1)
    assert fmean(right) > 0.8


@pytest.mark.parametrize("missions", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_fitted_anew_to_the_repaired_reward_it_spends_less_and_earns_more_by_it(lives, missions):
    gained, spent = [], []
    for seed, (*_, state, anew) in enumerate(lives):
        policies = {
            "as learnt": lambda phase, state=state: ROUTER.advise(state, encode_features(phase)).candidate,
            "anew": lambda phase, state=anew: ROUTER.advise(state, encode_features(phase)).candidate,
        }
        fresh = range(100, 100 + missions)
        as_learnt, fitted, best = judge_policies(World(seed), fresh, policies, (reward, version("rescaled")))
        gained.append(fitted.rewards["rescaled"] - as_learnt.rewards["rescaled"])
        spent.append(fitted.tokens / as_learnt.tokens)
        assert best.rewards["rescaled"] > max(as_learnt.rewards["rescaled"], fitted.rewards["rescaled"])
    assert fmean(gained) > 0, gained
    assert max(spent) < 1, spent


@pytest.fixture(scope="module", params=[[0], pytest.param([0, 1], marks=pytest.mark.slow)], ids=["one", "two"])
def reports(request, few_fresh_missions, tmp_path_factory):
    found = []
    for seed in request.param:
        with RewardStore(tmp_path_factory.mktemp("kb")) as store:
            calls = []
            loop, met = simulate(store, missions=20, seed=seed, on_mission=lambda *done: calls.append(done))  # noqa: B023
            assert calls == [(done, 20) for done in range(1, 21)]
            found.append((build_report(loop, met, missions=20, seed=seed), list(store.ledger.history())))
    return found


def test_the_loop_beats_the_best_fixed_choice_too(reports):
    for report, _ in reports:
        router, fixed, *others = report.policies
        assert router.policy == "the router, while learning"
        assert fixed.policy == f"best fixed choice: always {report.fixed}"
        assert report.margin == pytest.approx(router.reward - fixed.reward)
        assert report.margin > 0
        assert all(fixed.reward >= other.reward for other in others[:2])
        assert fixed.reward < others[-2].reward < others[-1].reward


def test_the_report_says_what_the_ledger_holds(reports):
    for report, records in reports:
        phases = [record for record in records if record.decision_class == "model_tier"]
        credits = [record for record in records if record.decision_class == "alignment_action"]
        assert report.policies[0].reward == pytest.approx(fmean(record.total for record in phases))
        assert sum(sum(row.times) for row in report.types) == len(phases) == 120
        mine = [r.total for r in phases if (r.phase, r.context["decision"]["action"]) == ("research", "LARGE")]
        [research] = [row for row in report.types if row.phase == "research"]
        assert research.rewards[2] == pytest.approx(fmean(mine))
        assert research.times[2] == len(mine)
        assert [row.action for row in report.corrections] == list(ACTIONS)
        assert sum(row.times for row in report.corrections) == len(credits) > 0
        assert min(record.total for record in phases) == next(r.total for r in phases if r.id == report.telling)
        assert all(0 < record.context["decision"]["probability"] <= 1 for record in phases)


def test_corrections_that_help_are_chosen_more_often(reports):
    for report, _ in reports:
        times = {row.action: row.times for row in report.corrections}
        assert max(times, key=times.get) == "switch_deepen_mode_to_evidence"


# -- the missions themselves ------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_missions_and_another_one_others():
    assert World(5).simulate_outcomes(3, (None,) * 4) == World(5).simulate_outcomes(3, (None,) * 4)
    assert World(5).build_phase(3, (0.1,)) == World(5).build_phase(3, (0.1,))
    assert World(5).simulate_outcomes(3, (None,) * 4) != World(6).simulate_outcomes(3, (None,) * 4)
    assert World(5).simulate_outcomes(3, (None,) * 4) != World(5).simulate_outcomes(4, (None,) * 4)


def test_numbers_of_a_seed_stay_what_they_are():
    found = World(7).simulate_outcomes(0, (None,))
    assert found["SMALL"].cost_tokens == 1812
    assert found["LARGE"].score_delta == pytest.approx(-0.0759925, abs=1e-6)


def test_a_correction_changes_the_course_and_nothing_else():
    before, after = (
        World(5).simulate_outcomes(3, (None, correction)) for correction in (None, "switch_deepen_mode_to_evidence")
    )
    assert all(after[tier].similarity > before[tier].similarity for tier in TIERS)
    assert all(after[tier].score_delta > before[tier].score_delta for tier in TIERS)
    assert all(after[tier].cost_tokens == before[tier].cost_tokens for tier in TIERS)


def test_similarities_are_cosines_of_vectors_as_far_apart_as_the_drift():
    for mission in range(20):
        for outcome in World(1).simulate_outcomes(mission, (None,) * 6).values():
            assert outcome.similarity == pytest.approx(outcome.relevance)
