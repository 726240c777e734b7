"""The four rewards as they were specified have just the flaws they are known for; repaired, they have none."""

from functools import cache

import pytest

from asking import really
from plaudit.checks.check import check
from plaudit.checks.smt import available
from plaudit.systems import BUILT_IN, load

pytestmark = pytest.mark.skipif(not available(), reason="z3 is not installed")


@cache
def report(name, version):
    return check(load(name, version))


def warnings(name, version=None):
    """Return the warnings of a built-in reward by code, each of which really scores what it claims."""
    found = {}
    for finding in report(name, version).at_least("warning"):
        really(load(name, version), finding)
        found.setdefault(finding.code, []).append(finding)
    return found


@pytest.mark.parametrize("name", BUILT_IN)
def test_nothing_is_left_undecided_or_allowed(name):
    assert report(name, None).undecided == ()
    assert report(name, None).suppressed == ()
    assert set(report(name, None).skipped) == {"outcome-order", "risk-tolerance"}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_witness_really_scores_what_it_claims(name):
    for finding in report(name, None):
        really(load(name), finding)


def test_hackmatrix_pays_for_stepping_back_and_forth():
    found = warnings("hackmatrix")
    assert set(found) == {"loop-that-pays"}
    (finding,) = found["loop-that-pays"]
    assert finding.term == "distance_shaping"
    assert "a lap of 2 steps" in finding.message
    assert "earns 0.03, time after time" in finding.message
    assert sorted(step.total for step in finding.witness) == pytest.approx([-0.01, 0.04])
    assert "exit_distance changes by at most 1 in a step" in finding.facts


def test_apex_pays_for_going_round_the_phases():
    found = warnings("apex")
    assert set(found) == {"loop-that-pays"}
    short, long = found["loop-that-pays"]
    assert {short.term, long.term} == {"phase_advance"}
    assert "a lap of 2 steps" in short.message
    assert "earns 0.3 as long as it costs fewer than 3,000 tokens" in short.message
    assert "a lap of 5 steps" in long.message
    assert "earns 1.2 as long as it costs fewer than 12,000 tokens" in long.message
    assert sum(step.total for step in short.witness) == pytest.approx(0.3)
    assert sum(step.total for step in long.witness) == pytest.approx(1.2)
    assert "tokens_used only rises" in short.facts


def test_deepthinker_has_a_price_that_is_reached_at_once_and_a_clamp_that_is_not():
    found = warnings("deepthinker")
    assert set(found) == {"saturated-clamp", "clamp-never-binds"}
    (saturated,) = found["saturated-clamp"]
    assert saturated.term == "cost"
    assert "at its cap of 0.3 from 31 of the declared 0 to 100,000 of cost_tokens" in saturated.message
    (clamp,) = found["clamp-never-binds"]
    assert clamp.term == "total"
    assert clamp.message == "the clamp of the total to [-1, 1] never binds: it always lies in [-0.8, 0.7]."


def test_roadsense_has_actions_and_a_penalty_that_nobody_needs():
    found = warnings("roadsense")
    assert set(found) == {"dominated-action", "unreachable-branch"}
    (dominated,) = found["dominated-action"]
    assert dominated.message == (
        "action 1 is at least as good as every other action in every state and better in some: 0, 2, 3 never need to be "
        "learnt."
    )
    assert dominated.facts == ("brakes",)
    (branch,) = found["unreachable-branch"]
    assert branch.term == "comfort"
    assert "`return penalty_harsh_brake`" in branch.message
    assert load("roadsense").params["comfort.penalty_harsh_brake"] == -10
    assert branch.facts == dominated.facts


def test_roadsense_pays_for_falling_behind():
    (staying,) = report("roadsense", None).coded("pays-for-staying")
    assert staying.severity == "advice"
    assert "distance beyond 40: 0.5 a step" in staying.message
    (step,) = [step for step in staying.witness if "beyond 40" in step.note]
    assert step.inputs["distance"] > 40
    assert step.total == 0.5


@pytest.mark.parametrize(
    ("name", "version"),
    [("hackmatrix", "potential"), ("apex", "high_water"), ("deepthinker", "rescaled"), ("roadsense", "graded")],
)
def test_a_repaired_version_is_warned_of_nothing(name, version):
    assert warnings(name, version) == {}
    assert report(name, version).undecided == ()
