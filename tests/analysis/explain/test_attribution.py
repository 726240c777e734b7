"""What earned a run: shares of the return and of its variance, and what separates two episodes."""

import json
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Ledger, Reward, term
from plaudit.analysis import attribute, compare_episodes
from plaudit.errors import DefinitionError, InputError, NotInLedger
from plaudit.ledger.summary.episodes import Episode
from support.examples import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def build_episode(at, terms, total=None, **parts):
    earned = sum(terms.values()) if total is None else total
    given = {"run": "night", "actor": None, "reward": "moving", "version": "1", **parts}
    about = (given["run"], given["actor"], str(at), given["reward"], given["version"])
    return Episode(*about, earned, 1, terms, None, 0, 0, NOON, NOON, at, at)


amounts = st.floats(-100, 100, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3)


@given(
    rows=st.lists(st.tuples(amounts, amounts, amounts), min_size=2, max_size=12),
    clamped=st.booleans(),
)
@examples(1)
def test_shares_add_up_and_covariances_go_half_to_each(rows, clamped):
    """Checked against sums of fractions, from which nothing is rounded away."""
    listed = [
        build_episode(at, dict(zip("abc", row, strict=True)), min(sum(row), 50.0) if clamped else None)
        for at, row in enumerate(rows)
    ]
    found = attribute(listed, bins=1)
    whole = found.whole
    assert whole.mean == pytest.approx(np.mean([each.total for each in listed]), abs=1e-9)
    assert sum(each.mean for each in found.terms) == pytest.approx(whole.mean, abs=1e-9)
    if not np.isnan(found.terms[0].share):
        assert sum(each.share for each in found.terms) == pytest.approx(1, rel=1e-6)
    if whole.variance == 0:
        assert all(np.isnan(each.variance_share) for each in found.terms)
        return
    assert sum(each.variance_share for each in found.terms) == pytest.approx(1, abs=1e-9)
    assert all(each.own + each.shared == pytest.approx(each.variance_share, abs=1e-9) for each in found.terms)
    columns = {name: [Fraction(row[at]) for row in rows] for at, name in enumerate("abc")}
    if len(found.terms) > 3:
        columns["clamp"] = [Fraction(each.total) - sum(map(Fraction, each.terms.values())) for each in listed]
    for name, column in columns.items():
        halves = [covary(column, other) for each, other in columns.items() if each != name]
        expected = covary(column, column) + sum(halves)  # of 2 cov(a, b) in the variance of a sum, each takes one
        assert found[name].variance_share * whole.variance == pytest.approx(float(expected), abs=1e-6)
        assert found[name].own * whole.variance == pytest.approx(float(covary(column, column)), abs=1e-6)


def covary(one, other):
    means = sum(one) / len(one), sum(other) / len(other)
    return sum((a - means[0]) * (b - means[1]) for a, b in zip(one, other, strict=True)) / (len(one) - 1)


def test_a_term_that_levels_out_another_has_a_share_below_zero():
    listed = [build_episode(at, {"gain": 2.0 * at, "tax": -1.0 * at, "fixed": 1.0}) for at in range(5)]
    found = attribute(listed)
    assert [each.variance_share for each in found.terms] == pytest.approx([2, -1, 0])
    assert [each.own for each in found.terms] == pytest.approx([4, 1, 0])


def test_what_carries_a_run_is_seen_over_time():
    listed = [build_episode(at, {"early": 10.0 * (at < 4) + at % 2, "late": 10.0 * (at >= 4)}) for at in range(8)]
    found = attribute(listed, bins=2)
    assert [(each.first, each.last, each.episodes) for each in found.bins] == [("0", "3", 4), ("4", "7", 4)]
    assert [each["late"].mean for each in found.bins] == [0.0, 10.0]
    assert [each["early"].variance_share for each in found.bins] == [1.0, 1.0]
    columns = found.to_columns()
    assert columns["bin"] == [0, 0, 1, 1]
    assert columns["term"] == ["early", "late", "early", "late"]
    assert list(found.to_pandas()["mean"]) == columns["mean"]
    assert json.loads(json.dumps(found.to_dict()))["bins"][1]["terms"][1]["mean"] == 10.0
    assert "Share of the variance over time" in str(found)


def test_what_has_no_number_says_so():
    (alone,) = attribute([build_episode(0, {"a": 1.0})]).bins
    assert np.isnan(alone.variance)
    cancelled = attribute([build_episode(0, {"a": 1.0, "b": -1.0}), build_episode(1, {"a": 1.0, "b": -1.0})])
    assert cancelled.to_dict()["terms"][0]["share"] is None
    assert cancelled.to_dict()["terms"][0]["variance_share"] is None


def test_episodes_of_several_rewards_or_none_are_refused():
    with pytest.raises(InputError, match=r"moving@1, moving@2.*version="):
        attribute([build_episode(0, {"a": 1.0}), build_episode(1, {"a": 1.0}, version="2")])
    with pytest.raises(InputError, match="no finished episodes"):
        attribute([])
    with pytest.raises(DefinitionError, match="bins=0"):
        attribute([build_episode(0, {"a": 1.0})], bins=0)


@term
def near(distance, *, reach=20.0):
    return 1.0 if distance < reach else 0.0


@term(weight=-0.1)
def haste(speed):
    return speed


FIELDS = [Field("distance", low=0, high=60), Field("speed", low=0, high=30)]
MOVING = Reward("moving", version="1", terms=[near, haste], fields=FIELDS, low=-1.5)


@pytest.fixture
def ledger(tmp_path):
    """Two episodes that part at step 3, where one is fast and then goes on for longer; and one of another run."""
    with Ledger(tmp_path / "rewards.db") as opened:
        slow = {"distance": np.full(5, 10.0), "speed": np.full(5, 1.0)}
        fast = {"distance": np.r_[np.full(5, 10.0), 30, 30], "speed": np.r_[np.ones(3), 29, 9, 9, 9]}
        opened.record_batch(MOVING, slow, run="night", episode="slow", step=range(5))
        opened.record_batch(MOVING, fast, run="night", episode="fast", step=range(7))
        opened.record_batch(MOVING, slow, run="day", episode="slow", step=range(5))
        yield opened


def test_two_episodes_are_told_apart_by_terms_and_steps(ledger):
    found = compare_episodes(ledger, "slow", "fast", run="night")
    assert found.gap == pytest.approx(sum(each.gap for each in found.terms))
    assert found.gap == pytest.approx(sum(each.gap for each in found.steps)) == pytest.approx(found.steps[-1].so_far)
    assert found.parts_at == 3
    assert [each.term for each in found.terms] == ["haste", "clamp", "near"]
    largest = found.largest(1)[0]
    assert (largest.step, largest.term, largest.first_record) == (3, "haste", 4)
    assert found.steps[5].first is None
    assert found.steps[5].second == pytest.approx(-0.9)
    assert "They diverge at step 3" in str(found)
    assert found.to_columns()["step"] == list(range(7))
    assert json.loads(json.dumps(found.to_dict()))["parts_at"] == 3


def test_the_clamp_of_the_total_separates_episodes_too(ledger):
    found = compare_episodes(ledger, "slow", "fast", run="night")
    clamped = {each.term: each.gap for each in found.terms}["clamp"]
    assert clamped == pytest.approx(0.4)  # 1 - 2.9 is held at -1.5


def test_a_name_of_several_episodes_is_asked_about(ledger):
    with pytest.raises(InputError, match=r"2 episodes called 'slow'.*run="):
        compare_episodes(ledger, "slow", "fast")
    with pytest.raises(NotInLedger, match="Did you mean episode='fast'"):
        compare_episodes(ledger, "slow", "fst", run="night")


def test_the_best_and_the_worst_episode_can_be_given_as_they_are_listed(ledger):
    listed = ledger.episodes(run="night")
    found = compare_episodes(ledger, listed.worst(1)[0], listed.best(1)[0])
    assert (found.first.episode, found.second.episode) == ("fast", "slow")
    assert found.gap > 0


def test_an_episode_without_a_score_is_not_compared(ledger):
    blank = build_episode(9, {}, total=float("nan"))
    with pytest.raises(InputError, match=r"night/9 has no score to compare; ledger.why\(9\) says why"):
        compare_episodes(ledger, blank, ledger.episodes(run="night")[0])
