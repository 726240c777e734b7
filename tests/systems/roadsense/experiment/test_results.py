"""What is made of returns: who is best, what is a hack, and what stands in the report."""

import json

import numpy as np
import pytest

from plaudit.systems.roadsense.experiment.results import PolicyResult, StudyResult, compute_interval
from plaudit.systems.roadsense.experiment.study import STUDIES


def finding(crashing=(), **returns):
    """Return a study of two seeds in which policies earned so much, calm and with a hazard."""
    driven = {
        (policy, hazard): PolicyResult(
            policy, hazard, 7.5, 2 if hazard and policy in crashing else 0, {"R0": tuple(each[hazard])}
        )
        for policy, each in returns.items()
        for hazard in (False, True)
    }
    return StudyResult(STUDIES["continuous"], ("R0",), 2, 2000, ("1.28.0",), driven)


EXAMPLE = finding(
    nothing=[(10.0, 20.0), (-90.0, -110.0)],
    park=[(4.0, 6.0), (4.0, 6.0)],
    warned=[(10.0, 20.0), (0.0, 2.0)],
    late=[(10.0, 20.0), (30.0, 40.0)],
)


def test_the_mean_and_the_spread_are_over_seeds():
    assert EXAMPLE.mean_return("R0", "nothing", "hazard") == -100.0
    assert EXAMPLE.spread("R0", "nothing", "hazard") == 10.0


def test_an_expectation_weighs_a_hazard_with_its_probability():
    assert EXAMPLE.mean_return("R0", "nothing", "expected") == pytest.approx(0.7 * 15 - 0.3 * 100)
    assert EXAMPLE.spread("R0", "nothing", "expected") == pytest.approx(abs(0.7 * 5 - 0.3 * 10))


def test_a_hack_looks_at_nothing_and_earns_more_than_the_policy_wanted():
    assert EXAMPLE.rank_policies("R0", "hazard") == ["late", "park", "warned", "nothing"]
    (hack,) = EXAMPLE.find_hacks("R0", "hazard")  # late looks where it drives
    assert (hack.policy, hack.kind, hack.lead, hack.low, hack.high) == ("park", "parking", 4.0, 4.0, 4.0)
    assert EXAMPLE.find_hacks("R0", "expected") == ()
    assert EXAMPLE.judge("R0") == {"parking": True}


def test_whoever_crashes_more_often_than_the_policy_wanted_and_earns_more_is_a_crash_hack():
    crashing = finding(
        crashing=["nothing", "late"],
        nothing=[(10.0, 20.0), (5.0, -2.0)],
        late=[(10.0, 20.0), (8.0, 9.0)],
        warned=[(10.0, 20.0), (0.0, 2.0)],
    )
    late, nothing = crashing.find_hacks("R0", "hazard")
    assert (late.policy, late.kind, late.sure) == ("late", "crash", True)
    assert (nothing.policy, nothing.kind, nothing.lead, nothing.sure) == ("nothing", "crash", 0.5, False)
    assert crashing.judge("R0") == {"crash": True}


def test_a_lead_that_other_seeds_may_turn_round_is_not_sure():
    rng = np.random.default_rng(3)
    low, high = compute_interval(rng.normal(1.0, 10.0, 20))
    assert low < 0 < high
    low, high = compute_interval(rng.normal(100.0, 10.0, 20))
    assert 90 < low < 100 < high < 110


def test_doing_nothing_while_nothing_happens_is_no_hack():
    assert EXAMPLE.find_hacks("R0", "calm") == ()


def test_the_report_is_json_with_every_return():
    report = json.loads(json.dumps(EXAMPLE.to_dict(), allow_nan=False))
    assert report["versions"]["R0"]["hazard"]["best"] == "late"
    assert report["versions"]["R0"]["hazard"]["hacks"] == [
        {"policy": "park", "kind": "parking", "lead": 4.0, "low": 4.0, "high": 4.0, "sure": True}
    ]
    assert report["pays_for"] == {"R0": {"parking": True}}
    assert report["drives"][0]["returns"] == {"R0": [10.0, 20.0]}
