"""What is made of returns: who is best, what is a hack, and what stands in the report."""

import json

import pytest

from plaudit.systems.roadsense.experiment.results import PolicyResult, StudyResult
from plaudit.systems.roadsense.experiment.study import STUDIES


def finding(**returns):
    """Return a study of two seeds in which policies earned so much, calm and with a hazard."""
    driven = {
        (policy, hazard): PolicyResult(policy, hazard, 7.5, 0, {"R0": tuple(each[hazard])})
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
    assert EXAMPLE.find_hacks("R0", "hazard") == ("park",)  # late looks where it drives
    assert EXAMPLE.find_hacks("R0", "expected") == ()


def test_doing_nothing_while_nothing_happens_is_no_hack():
    assert EXAMPLE.find_hacks("R0", "calm") == ()


def test_the_report_is_json_with_every_return():
    report = json.loads(json.dumps(EXAMPLE.to_dict(), allow_nan=False))
    assert report["versions"]["R0"]["hazard"]["best"] == "late"
    assert report["versions"]["R0"]["hazard"]["hacks"] == ["park"]
    assert report["drives"][0]["returns"] == {"R0": [10.0, 20.0]}
