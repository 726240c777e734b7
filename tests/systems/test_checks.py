"""The four rewards as they were specified have just the flaws they are known for; repaired, they have none."""

import math
from functools import cache

import pytest
from rewrites import rewritten, strict, without_a_zone

from plaudit import Reward, prove
from plaudit.checks.bounds import Bound, Ranges, bounds
from plaudit.checks.check import check
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.units import list_mismatches
from plaudit.checks.solver.solver import Solver
from plaudit.checks.solver.z3 import is_available
from plaudit.systems import BUILT_IN, load, system
from plaudit.systems.roadsense.task import CLOSING, PARKED, REACTION
from support.asking import really, told
from support.proofs import assert_real

pytestmark = pytest.mark.skipif(not is_available(), reason="z3 is not installed")


@cache
def _report(name, version):
    return check(load(name, version))


def report(name, version=None):
    """Return what is wrong with a built-in reward, checked once."""
    return _report(name, load(name, version).version)


def warnings(name, version=None):
    """Return the warnings of a built-in reward by code, each of which really scores what it claims."""
    found = {}
    for finding in report(name, version).at_least("warning"):
        really(load(name, version), finding)
        found.setdefault(finding.code, []).append(finding)
    return found


@pytest.mark.parametrize("name", BUILT_IN)
def test_nothing_is_left_undecided_or_allowed(name):
    assert report(name).undecided == ()
    assert report(name).suppressed == ()
    assert set(report(name).skipped) == {"outcome-order", "risk-tolerance"}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_witness_really_scores_what_it_claims(name):
    for finding in report(name):
        really(load(name), finding)


def test_hackmatrix_pays_for_stepping_back_and_forth():
    found = warnings("hackmatrix")
    assert set(found) == {"loop-that-pays"}
    (finding,) = found["loop-that-pays"]
    assert finding.term == "distance_shaping"
    assert "a 2-step cycle" in finding.message
    assert "earns 0.03 every time around" in finding.message
    assert sorted(step.total for step in finding.witness) == pytest.approx([-0.01, 0.04])
    assert "exit_distance changes by at most 1 in a step" in finding.facts


def test_apex_pays_for_going_round_the_phases():
    found = warnings("apex")
    assert set(found) == {"loop-that-pays"}
    short, long = found["loop-that-pays"]
    assert {short.term, long.term} == {"phase_advance"}
    assert "a 2-step cycle" in short.message
    assert "earns 0.3 every time around, as long as it costs fewer than 3,000 tokens" in short.message
    assert "a 5-step cycle" in long.message
    assert "earns 1.2 every time around, as long as it costs fewer than 12,000 tokens" in long.message
    assert sum(step.total for step in short.witness) == pytest.approx(0.3)
    assert sum(step.total for step in long.witness) == pytest.approx(1.2)
    assert "tokens_used only rises" in short.facts


def test_deepthinker_has_a_price_that_is_reached_at_once_and_a_clamp_that_is_not():
    found = warnings("deepthinker")
    assert set(found) == {"saturated-clamp", "clamp-never-binds"}
    (saturated,) = found["saturated-clamp"]
    assert saturated.term == "cost"
    assert "at its cap of 0.3 for cost_tokens from 31 (declared 0 to 100,000)" in saturated.message
    (clamp,) = found["clamp-never-binds"]
    assert clamp.term == "total"
    assert clamp.message == "the clamp of the total to [-1, 1] never binds: the value always lies in [-0.8, 0.7]."


def test_roadsense_has_actions_and_a_penalty_that_nobody_needs():
    found = warnings("roadsense")
    assert set(found) == {"dominated-action", "unreachable-branch"}
    (dominated,) = found["dominated-action"]
    assert dominated.message == (
        "action 1 is at least as good as every other action in every state and better in some: an agent never "
        "needs 0, 2 or 3."
    )
    assert dominated.facts == ("brakes",)
    (branch,) = found["unreachable-branch"]
    assert branch.term == "comfort"
    assert "`return penalty_harsh_brake`" in branch.message
    assert load("roadsense").params["comfort.penalty_harsh_brake"] == -10
    assert branch.facts == dominated.facts


def test_roadsense_pays_for_falling_behind():
    (staying,) = report("roadsense").by_code("pays-for-staying")
    assert staying.severity == "advice"
    assert "distance beyond 40 m: 0.5 a step" in staying.message
    (step,) = [step for step in staying.witness if "beyond 40" in step.note]
    assert step.inputs["distance"] > 40
    assert step.total == 0.5


def test_what_roadsense_pays_most_for_is_said_first():
    text = str(report("roadsense"))
    assert "0.5 a step: distance beyond 40 m (500 over 1,000 steps)" in text[: text.index("warning")]


@pytest.mark.parametrize(
    ("name", "first"), [("apex", "lap"), ("deepthinker", "event"), ("roadsense", "stay"), ("hackmatrix", "lap")]
)
def test_what_pays_most_was_really_paid(name, first):
    assert report(name).incentives[0].kind == first
    for each in report(name).incentives:
        really(load(name), each)


@pytest.mark.parametrize(
    ("name", "version"),
    [("hackmatrix", "potential"), ("apex", "high_water"), ("deepthinker", "rescaled"), ("roadsense", "keep_gap")],
)
def test_a_repaired_version_is_warned_of_nothing(name, version):
    assert warnings(name, version) == {}
    assert report(name, version).undecided == ()


REPAIRED = {
    ("hackmatrix@1.0.0", "hackmatrix@potential"): {"loop-that-pays"},
    ("apex@explicit", "apex@high_water"): {"loop-that-pays"},
    ("deepthinker@1.0.0", "deepthinker@rescaled"): {"saturated-clamp", "clamp-never-binds"},
    ("roadsense@R0", "roadsense@keep_gap"): {"dominated-action", "unreachable-branch"},
}


@pytest.mark.parametrize(("pair", "flaws"), REPAIRED.items(), ids=[seed for seed, _ in REPAIRED])
def test_what_is_wrong_as_specified_is_gone_in_the_repaired_version(pair, flaws):
    seed, repaired = pair
    assert flaws <= set(warnings(*seed.split("@")))
    assert not warnings(*repaired.split("@"))


def inversions(version):
    """Return the preferences that a version of roadsense contradicts."""
    reward = load("roadsense", version)
    found = told(reward, "order-inversion")
    return {
        preference
        for preference in reward.task.prefer
        if any(f"({preference.because})" in finding.message for finding in found)
    }


def test_one_preference_is_contradicted_by_exactly_r1_to_r5():
    found = [label for label in system("roadsense").VERSIONS if CLOSING in inversions(label)]
    assert found == ["R1", "R2", "R3", "R4", "R5"]


def test_a_bonus_for_an_early_reaction_that_pays_for_speeding_up_is_found():
    (finding,) = told(load("roadsense", "R11"), "order-inversion")
    really(load("roadsense", "R11"), finding)
    assert "on a warning, braking is better than speeding up" in finding.message
    faster = load("roadsense", "R11").score(**dict(finding.witness[1].inputs))
    assert faster.inputs["deceleration"] == -1
    assert faster["early_reaction"].value == 2
    assert REACTION not in inversions("R8")


def test_one_step_of_graded_shows_that_parking_pays_and_one_of_the_others_does_not():
    assert set(warnings("roadsense", "graded")) == {"order-inversion"}
    assert inversions("graded") == {PARKED}
    assert (
        inversions("R0")
        == inversions("R6")
        == inversions("R8")
        == inversions("following")
        == inversions("keep_gap")
        == set()
    )


UNLIMITED = ["unbounded total", "missing-range total"]
STAYING = ["pays-for-staying total"]
JUMPS = ["jump safety", "jump appropriateness"]
INVERTED = ["order-inversion total"]
STEADY = INVERTED, STAYING, JUMPS
ADVANCES = ["loop-that-pays phase_advance"] * 2, UNLIMITED, ["not-potential-based phase_advance"]
KNOWN = {
    "apex@explicit": ADVANCES,
    "apex@role_share": ADVANCES,
    "apex@explicit_then_role": ADVANCES,
    "apex@high_water": ([], UNLIMITED, []),
    "deepthinker@1.0.0": (
        ["saturated-clamp cost", "clamp-never-binds total"],
        ["unused-field total", "missing-range total"],
        [],
    ),
    "deepthinker@rescaled": ([], [], []),
    "roadsense@R0": (["unreachable-branch comfort", "dominated-action total"], STAYING, JUMPS),
    "roadsense@R1": (INVERTED * 2, STAYING, JUMPS),
    "roadsense@R2": (INVERTED * 2, STAYING, JUMPS),
    "roadsense@R3": (INVERTED * 3, STAYING, [*JUMPS, "jump early_reaction"]),
    "roadsense@R4": (INVERTED * 3, STAYING, [*JUMPS, "jump early_reaction", "jump ignored_warning"]),
    "roadsense@R5": (INVERTED * 2, STAYING, JUMPS),
    "roadsense@R6": ([], STAYING, ["jump safety", "jump comfort", "jump appropriateness"]),
    "roadsense@R7": ([], STAYING, JUMPS),
    "roadsense@R8": ([], STAYING, JUMPS),
    "roadsense@R9": (INVERTED, STAYING, [*JUMPS, "jump early_reaction", "jump ignored_warning"]),
    "roadsense@R9L": (INVERTED, STAYING, [*JUMPS, "jump early_reaction", "jump ignored_warning"]),
    "roadsense@R10": (INVERTED, STAYING, [*JUMPS, "jump early_reaction"]),
    **dict.fromkeys((f"roadsense@{label}" for label in ("R11", "R12", "R12a2", "R12b2", "R12a", "R12b")), STEADY),
    "roadsense@graded": STEADY,
    "roadsense@following": ([], STAYING, JUMPS),
    "roadsense@keep_gap": ([], STAYING, ["dominated-term safety"]),
    "hackmatrix@1.0.0": (
        ["loop-that-pays distance_shaping"],
        [],
        ["not-potential-based distance_shaping", "dominated-term victory"],
    ),
    "hackmatrix@potential": ([], [], ["dominated-term victory"]),
}


ALIKE = KNOWN.keys() - {str(flaws): name for name, flaws in reversed(KNOWN.items())}.values()
"""Versions with the same flaws as one before them."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(version, marks=pytest.mark.slow if version in ALIKE else ())
        for version in (f"{name}@{label}" for name in BUILT_IN for label in system(name).VERSIONS)
    ],
)
def test_every_version_has_the_flaws_it_is_known_for_and_no_others(name):
    found = report(*name.split("@"))
    told = [
        [f"{each.code} {each.term}" for each in found if each.severity == of] for of in ("warning", "advice", "note")
    ]
    assert (*told, found.undecided, found.failed) == (*KNOWN[name], (), ())


def test_repaired_falling_far_behind_pays_nothing():
    (staying,) = report("roadsense", "graded").by_code("pays-for-staying")
    assert staying.severity == "advice"
    assert all(step.inputs["distance"] <= 40 for step in staying.witness if step.total and step.total > 0)


@pytest.mark.parametrize("name", [f"{name}@{label}" for name in BUILT_IN for label in system(name).VERSIONS])
def test_the_built_in_rewards_mix_no_units(name):
    assert list_mismatches(load(*name.split("@")).program) == []


# -- bounds

PROVING = [False, True]
GOLDEN = [
    ("roadsense", "R0", -113, 1),
    ("roadsense", "R8", -103, 4),
    ("roadsense", "R11", -108, 6),
    ("hackmatrix", None, -627.26, 101187.34),
    ("deepthinker", None, -0.80, 0.70),
]


@pytest.mark.parametrize("z3", PROVING)
@pytest.mark.parametrize(("name", "version", "low", "high"), GOLDEN)
def test_the_built_in_rewards_lie_where_they_are_known_to(name, version, low, high, z3):
    reward = load(name, version)
    total = Ranges(RewardModel(reward), Solver(z3=z3), facts=False).span("total").bound(RewardModel(reward))
    assert (total.low, total.high) == pytest.approx((low, high))
    assert total.exact
    for row, end in ((total.lowest, total.low), (total.highest, total.high)):
        assert reward.compile("python")(row).total == pytest.approx(end)


@pytest.mark.parametrize("z3", PROVING)
def test_apex_is_unbounded_above_but_for_the_fact_that_tokens_only_rise(z3):
    model = RewardModel(load("apex"))
    free = Ranges(model, Solver(z3=z3), facts=False).span("total")
    assert (free.low, free.high) == (-math.inf, math.inf)
    assert Ranges(model, Solver(z3=z3)).span("total").high == pytest.approx(2.0)


def test_facts_narrow_what_can_happen():
    assert bounds(load("roadsense")).total == Bound(-113.0, 1.0)
    assert bounds(load("roadsense"), facts=True).total == Bound(-103.0, 1.0)


# -- proofs


def test_a_restructured_reward_is_proved_equal_over_the_rationals():
    proof = prove(load("roadsense"), rewritten)
    assert proof.verdict == "equal"
    assert proof.exactly
    assert 0 < proof.rounding < 1e-12


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_reward_equals_itself_and_what_is_rebuilt_from_its_json(name):
    reward = load(name)
    proof = prove(reward, Reward.from_json(reward.to_json()))
    assert proof.equal
    assert proof.exactly


def test_equality_is_never_told_without_its_rounding():
    text = str(prove(load("roadsense"), rewritten))
    assert "in exact arithmetic" in text
    assert "In float64 they differ by at most" in text


def test_a_strict_comparison_is_refuted_at_the_very_edge():
    proof = prove(load("roadsense"), strict)
    assert proof.verdict == "different"
    (difference,) = proof.differences
    assert difference.inputs["distance"] == 20.0
    assert difference.size == 1.0


def test_a_missing_zone_is_refuted_inside_it():
    (difference,) = prove(load("roadsense"), without_a_zone).differences
    assert 5 <= difference.inputs["distance"] < 15
    assert difference.size == 5.0


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_flipped_sign_is_refuted_and_the_guilty_term_named(name, every):
    reward = load(name)
    for guilty in reward.terms[::every]:
        flipped = reward.with_weights(**{guilty.name: -guilty.weight})
        proof = prove(reward, flipped)
        assert_real(proof, reward, flipped)
        assert {each.term for each in proof.differences} == {"total", guilty.name}


def test_versions_differ_where_it_is_said():
    left, right = load("roadsense"), load("roadsense", "R1")
    proof = prove(left, right)
    assert_real(proof, left, right)
    assert "comfort" in {each.term for each in proof.differences}
