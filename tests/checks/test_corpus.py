"""Known rewards: every bad one is caught, no good one is warned of, and the counts are printed at the end of the run."""

import math

import pytest

from checks.corpus import BAD, CASES, GOOD, Case
from plaudit.checks.check import check
from plaudit.checks.rules import RULES


def told(report):
    """Return what was found, for the message of a test that fails."""
    lines = [f"{found.severity} {found.code} ({found.term}): {found.message}" for found in report]
    return "\n".join([*lines, *(f"undecided {each.code} ({each.term}): {each.why}" for each in report.undecided)])


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_bad_reward_is_caught(case: Case, record_property):
    report = check(case.reward, outcomes=case.outcomes)
    found = {finding.code for finding in report.at_least(case.severity)}
    missed = [code for code in case.finds if code not in found]
    record_property("corpus", "missed" if missed else "caught")
    assert not missed, f"{case.story}\n{told(report)}"


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_a_good_reward_raises_no_alarm(case: Case, record_property):
    report = check(case.reward, outcomes=case.outcomes)
    record_property("corpus", "quiet" if report.ok else "alarm")
    assert report.ok, f"{case.story}\n{told(report)}"


def test_the_corpus_is_large_enough_to_mean_something():
    assert len(BAD) >= 20
    assert len(GOOD) >= 20


def test_every_case_says_where_it_comes_from_and_what_is_wrong():
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.source
        assert case.story.endswith(".")
        assert all(code in RULES for code in case.finds)


def test_the_episodes_of_the_corpus_can_be_scored():
    rows = [
        (case.reward, row)
        for case in CASES
        for episode in (case.outcomes or {}).values()
        for row in {repr(row): row for row in episode}.values()
    ]
    assert len(rows) > 20
    assert all(math.isfinite(reward.score(**row).total) for reward, row in rows)
