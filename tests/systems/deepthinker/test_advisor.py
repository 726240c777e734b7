"""Advice for a phase: the weighted rule number by number, and a router of tiers, with rounds or without."""

from functools import partial
from types import SimpleNamespace

import pytest

from plaudit import errors
from plaudit.learn import squarecb
from plaudit.learn.alignment import ACTIONS
from plaudit.learn.decision import Decision
from plaudit.learn.router import Advice, Guess, Router
from plaudit.systems.deepthinker.advisor import (
    CANDIDATES,
    DECISIONS,
    TIERS,
    PhaseAdvice,
    advise,
    advise_by_rule,
    get_actions,
    guess_candidate,
    guess_tier,
    translate_advice,
)
from plaudit.systems.deepthinker.features import FEATURES, encode_features
from plaudit.systems.deepthinker.phase import Phase


def phase(**parts):
    return Phase(name="research", minutes_budget=60, **{"minutes_remaining": 60, **parts})


# tier score = .5 difficulty - .3 pressure + .2 retries/5 + .1 input/10000; rounds score = .4 difficulty - .5 pressure + .3 drift
RULE = [
    (phase(difficulty=0.1), "SMALL", 2, 0.515),  # 0.05, 0.04
    (phase(difficulty=0.2), "SMALL", 2, 0.53),  # 0.1 is not above 0.1
    (phase(difficulty=0.5), "MEDIUM", 2, 0.575),  # 0.25, 0.2
    (phase(difficulty=0.8), "MEDIUM", 3, 0.62),  # 0.4 is not above 0.4, 0.32
    (phase(difficulty=0.8, retries=5), "LARGE", 3, 0.68),  # 0.6
    (phase(difficulty=0.8, text="t" * 10_000), "LARGE", 3, 0.65),  # 0.5
    (phase(difficulty=1.0, minutes_remaining=0), "MEDIUM", 1, 0.56),  # 0.2, -0.1
    (phase(difficulty=0.5, minutes_remaining=15, drift_risk=1.0), "SMALL", 2, 0.5075),  # 0.025, 0.125
    (phase(difficulty=0.0, minutes_remaining=0), "SMALL", 1, 0.59),  # -0.3, -0.5
    (phase(difficulty=1.0, retries=9, text="t" * 99_999, drift_risk=1.0), "LARGE", 3, 0.74),  # 0.8, 0.7
]


@pytest.mark.parametrize(("given", "tier", "rounds", "confidence"), RULE)
def test_the_rule(given, tier, rounds, confidence):
    advice = advise_by_rule(encode_features(given))
    assert (advice.model_tier, advice.num_rounds) == (tier, rounds)
    assert advice.confidence == pytest.approx(confidence)
    assert advice.features == encode_features(given)
    assert guess_tier(encode_features(given)).candidate == tier
    assert guess_candidate(encode_features(given)).candidate == f"{tier}_{rounds}"


@pytest.mark.parametrize(
    ("objective", "council"),
    [("A literature review", "research"), ("Investigate", "research"), ("Debug it", "coder"), ("Hello", "standard")],
)
def test_the_council_goes_by_the_kind_of_task(objective, council):
    assert advise_by_rule(encode_features(phase(objective=objective))).council_set == council


def test_only_confident_advice_is_a_note():
    assert not PhaseAdvice("standard", "SMALL", 1, 0.6, "", ()).noted
    assert PhaseAdvice("standard", "SMALL", 1, 0.61, "", ()).noted


def test_a_router_of_tiers_and_rounds_advises_what_earned_most():
    router = Router(squarecb(CANDIDATES, FEATURES), guess_candidate, minimum=9)
    given = phase(difficulty=0.9)
    state = router.init()
    assert advise(router, state, given).model_tier == "LARGE"
    for at, candidate in enumerate(CANDIDATES):
        reward = 0.5 if candidate == "SMALL_3" else 0.01 * at
        state = router.update(state, Decision(candidate, None, None, encode_features(given), at), reward)
    found = advise(router, state, given)
    assert (found.model_tier, found.num_rounds) == ("SMALL", 3)
    assert found.rationale.startswith("SMALL_3 +0.")


def test_a_router_of_tiers_alone_leaves_the_rounds_to_the_rule():
    router = Router(squarecb(TIERS, FEATURES), guess_tier, minimum=0)
    found = advise(router, router.init(), phase(difficulty=0.9))
    assert (found.model_tier, found.num_rounds) == ("SMALL", 3)


def test_a_router_on_features_of_its_own_advises_by_its_own_rule_and_the_rest_by_the_phase():
    router = Router(squarecb(TIERS, ("retries", "tokens_used")), lambda x: Guess("SMALL", 0.7, "cheap"), minimum=9)
    found = advise(router, router.init(), phase(objective="Debug it", difficulty=0.9, retries=5, tokens_used=3))
    assert (found.model_tier, found.num_rounds, found.council_set) == ("SMALL", 3, "coder")
    assert found.features == (1.0, 3.0)
    own = advise(router, router.init(), phase(difficulty=0.9), features=lambda phase: {"retries": 0, "tokens_used": 7})
    assert own.features == (0.0, 7.0)


READ = ("difficulty", "time_pressure", "retries", "input_length", "drift_risk")


def test_the_rule_goes_by_the_names_of_features_of_your_own():
    names = ("task_code", *reversed(READ))
    x = (1.0, 1.0, 0.0, 0.0, 0.0, 0.9)
    advice = advise_by_rule(x, names)
    assert (advice.model_tier, advice.num_rounds, advice.council_set) == ("LARGE", 3, "coder")
    assert guess_tier(x, names).candidate == "LARGE"
    assert guess_candidate(x, names).candidate == "LARGE_3"
    with pytest.raises(errors.DefinitionError, match="the rule reads retries, input_length, drift_risk, which are not"):
        advise_by_rule(x[:2], READ[:2])


def test_a_phase_of_another_class_is_advised_on_by_what_the_router_reads():
    given = SimpleNamespace(name="dig", **dict.fromkeys(READ, 0.5), depth=2.0)
    router = Router(squarecb(TIERS, (*READ, "depth")), partial(guess_tier, names=(*READ, "depth")), minimum=9)
    found = advise(router, router.init(), given)
    assert (found.model_tier, found.num_rounds, found.council_set) == ("MEDIUM", 2, "standard")
    bare = Router(squarecb(CANDIDATES, ("depth",)), lambda x: Guess("SMALL_1", 0.6, "deep"), minimum=9)
    assert advise(bare, bare.init(), given).num_rounds == 1


@pytest.mark.parametrize("candidate", ["HUGE", "SMALL_4", "SMALL_x", ""])
def test_a_candidate_that_is_no_tier_is_refused(candidate):
    with pytest.raises(errors.UnknownCategory, match="neither a tier"):
        translate_advice(Advice(candidate, 0.5, "", (), (), 0, True), encode_features(phase()))


def test_the_rule_needs_all_features():
    with pytest.raises(errors.ShapeMismatch, match="30 are expected"):
        advise_by_rule((0.5,) * 29)
    with pytest.raises(errors.NotFinite):
        advise_by_rule((float("nan"),) * 30)


def test_the_decisions_are_plain_data():
    assert DECISIONS["alignment_action"] == ACTIONS
    assert get_actions("model_tier") == TIERS
    with pytest.raises(errors.UnknownCategory, match="Did you mean 'model_tier'"):
        get_actions("model_tiers")
    with pytest.raises(TypeError):
        DECISIONS["model_tier"] = ()


def test_every_council_that_is_advised_can_be_learnt_about():
    councils = {
        advise_by_rule(encode_features(phase(objective=text))).council_set
        for text in ("Investigate", "Debug it", "Hello")
    }
    assert councils <= set(get_actions("council_set"))
