"""What changed between two sets of totals."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import ShapeMismatch
from plaudit.ledger.rescore import changes as module
from plaudit.ledger.rescore.changes import Changes, Flips, group_candidates
from plaudit.ledger.rescore.stored import load_changes, save_changes
from plaudit.ledger.summary.returns import Classes

NAN = float("nan")
totals = st.lists(st.tuples(*[st.sampled_from([-2.0, -1.0, 0.0, 1.0, 3.0, NAN])] * 2), max_size=60)


def changed(old, new, *more, **options):
    made = Changes(**options)
    made.add(old, new, *more)
    return made


def test_counts_means_and_extremes():
    found = changed([1.0, 2.0, -3.0], [1.0, 0.0, 4.0])
    assert (found.records, found.unchanged) == (3, 1)
    assert (found.old.mean, found.old.low, found.old.high) == (0.0, -3.0, 2.0)
    assert found.new.mean == pytest.approx(5 / 3)
    assert (found.difference.low, found.difference.high) == (-2.0, 7.0)


def test_unchanged_is_to_the_bit():
    assert changed([0.0, 0.1 + 0.2], [-0.0, 0.3]).unchanged == 0
    assert changed([0.1 + 0.2], [0.30000000000000004]).unchanged == 1


def test_a_sign_that_changes_flips_a_decision_and_zero_is_no_sign():
    found = changed([1, -1, 0, 1, -1, 1], [-1, 1, 1, 0, -2, 2], ["a", "a", "b", "b", "b", "b"])
    assert found.flips["a"] == Flips(records=2, to_rewarded=1, to_punished=1)
    assert found.flips["b"] == Flips(records=4)
    assert found.flipped == 2


def test_rows_without_a_total_are_counted_apart():
    found = changed([1.0, NAN, NAN, 2.0], [NAN, 1.0, NAN, 2.0], ["a", "b", "c", "d"])
    assert (found.records, found.lost, found.gained, found.without) == (1, 1, 1, 1)
    assert list(found.flips) == ["d"]


def test_one_class_for_all_none_and_numbers_as_classes():
    assert changed([1.0], [-1.0], "route").flips["route"].to_punished == 1
    assert changed([1.0], [-1.0]).flips[None].to_punished == 1
    assert changed([1.0, 1.0], [-1.0, 1.0], np.array([7, 8])).flips[7].to_punished == 1
    assert changed([1.0, 1.0], [-1.0, 1.0], Classes(["x", "y", "z"], np.array([1, 0]))).flips["y"].flipped == 1


def test_the_best_candidate_of_a_decision_may_change():
    old, new = [1.0, 2.0, 5.0, 4.0], [3.0, 2.0, 5.0, 1.0]
    found = changed(old, new, "route", [1, 1, 2, 2])
    assert found.by_class["route"].decisions == 2
    assert found.by_class["route"].best_changed == 1


def test_a_tie_in_which_the_best_stays_best_changes_nothing():
    assert changed([1.0, 1.0], [1.0, 2.0], None, [1, 1]).by_class[None].best_changed == 0
    assert changed([1.0, 0.0], [1.0, 1.0], None, [1, 1]).by_class[None].best_changed == 0
    assert changed([1.0, 0.0], [0.0, 1.0], None, [1, 1]).by_class[None].best_changed == 1


def test_rows_without_a_decision_are_no_candidates_for_one():
    found = changed([1.0, 0.0], [0.0, 1.0], None, [None, None])
    found.add([1.0, 0.0], [0.0, 1.0], None, [None, "a"])
    assert found.by_class[None].decisions == 0


def test_a_single_candidate_is_no_choice():
    assert changed([1.0, 1.0], [0.0, 2.0], None, ["a", "b"]).by_class[None].decisions == 0


def test_classes_stand_in_the_order_of_their_first_rows_that_have_both_totals():
    found = changed([1.0, 1.0, 1.0, 1.0], [1.0, NAN, 1.0, 1.0], ["a", "b", "c", "b"])
    assert list(found.by_class) == ["a", "c", "b"]


@given(totals, st.integers(1, 7), st.lists(st.integers(0, 4), min_size=60, max_size=60))
def test_batches_make_no_difference(pairs, step, marks):
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    decisions, classes = sorted(marks)[: len(pairs)], [f"c{mark}" for mark in marks[: len(pairs)]]
    whole, cut = changed(old, new, classes, decisions), Changes()
    for start in range(0, len(pairs), step):
        part = slice(start, start + step)
        cut.add(old[part], new[part], classes[part], decisions[part])
    assert json.dumps(whole.to_dict(), sort_keys=True) == json.dumps(cut.to_dict(), sort_keys=True)


@given(totals, st.lists(st.integers(0, 4), min_size=60, max_size=60))
def test_the_best_candidate_is_that_of_a_plain_search(pairs, marks):
    decisions = sorted(marks)[: len(pairs)]
    found = changed([a for a, _ in pairs], [b for _, b in pairs], None, decisions)
    known = [(d, a, b) for d, (a, b) in zip(decisions, pairs, strict=True) if a == a and b == b]
    moved = several = 0
    for decision in set(decisions):
        group = [(a, b) for d, a, b in known if d == decision]
        if len(group) > 1:
            several += 1
            best = max(a for a, _ in group), max(b for _, b in group)
            moved += best not in group
    flips = found.by_class.get(None, Flips())
    assert (flips.decisions, flips.best_changed) == (several, moved)


def test_beyond_the_stated_number_the_correlation_comes_from_a_sample_and_says_so():
    rng = np.random.default_rng(0)
    old = rng.normal(size=20_000)
    new = old + rng.normal(size=20_000)
    exact, sampled = changed(old, new), changed(old, new, ranked_at_most=2_000)
    assert (exact.ranked, sampled.ranked) == (20_000, 2_000)
    assert sampled.rank_correlation == pytest.approx(exact.rank_correlation, abs=0.05)
    assert "of a sample of 2,000" in str(sampled)
    assert "sample" not in str(exact)


@given(pairs=totals, decisions=st.lists(st.integers(0, 5), min_size=60, max_size=60), cuts=st.sets(st.integers(0, 60)))
def test_changes_of_parts_merge_to_those_of_the_whole(pairs, decisions, cuts, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "changes.npz"
    decisions = sorted(decisions)[: len(pairs)]
    columns = [a for a, _ in pairs], [b for _, b in pairs], ["odd" if d % 2 else "even" for d in decisions], decisions
    episodes = [(None, None, d // 2) for d in decisions]

    def count(start, end):
        made = Changes(first=start, ranked_at_most=20)
        labels = list(dict.fromkeys(episodes[start:end]))
        codes = np.array([labels.index(key) for key in episodes[start:end]], np.intp)
        made.add(*(column[start:end] for column in columns), episode=Classes(labels, codes), step=range(start, end))
        return made

    ends = [0, *sorted(cut for cut in cuts if cut < len(pairs)), len(pairs)]
    merged = Changes(ranked_at_most=20)
    for start, end in pairwise(ends):
        save_changes(count(start, end), path)
        merged.merge(load_changes(path))
    assert merged.to_dict() == count(0, len(pairs)).to_dict()  # sums of such numbers are exact


def test_too_many_classes_are_counted_together(monkeypatch):
    monkeypatch.setattr(module, "MOST_CLASSES", 3)
    found = changed([1.0] * 10, [-1.0] * 10, [f"c{i}" for i in range(10)])
    assert len(found.flips) == 4
    assert found.flips[module.FURTHER].records == 7
    assert found.flipped == 10


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ShapeMismatch, match="differ in length"):
        changed([1.0], [1.0, 2.0])
    with pytest.raises(ShapeMismatch, match="differ in length"):
        changed([1.0, 2.0], [1.0, 2.0], ["a"])
    with pytest.raises(ShapeMismatch, match="differ in length"):
        changed([1.0, 2.0], [1.0, 2.0], None, [1])


def test_nothing_compared_is_told_in_a_line():
    assert str(Changes()) == "0 totals compared, 0 of them bit-identical."
    assert changed([], []).to_dict()["old"] == {"mean": None, "min": None, "max": None}
    assert changed([NAN], [1.0]).to_dict()["rank_correlation"] is None


def test_it_is_told_in_a_table():
    assert str(changed([1.0, 2.0, -1.0], [2.0, -1.0, -1.0], ["route", "route", None], [1, 1, 2])) == "\n".join([
        "3 totals compared, 1 of them bit-identical.",
        "           old  new  difference",
        "────  ────────  ───  ──────────",
        "mean  0.666667    0   -0.666667",
        "min         -1   -1          -3",
        "max          2    2           1",
        "Rank correlation of steps (Spearman): 0.000000",
        "decision class  records  now rewarded  now punished  decisions  best changed",
        "──────────────  ───────  ────────────  ────────────  ─────────  ────────────",
        "route                 2             0             1          1             1",
        "-                     1             0             0          0             0",
    ])  # fmt: skip


def test_returns_are_added_up_by_episode_whatever_the_batches():
    changes = Changes()
    labels = [("night", None, "a"), ("night", None, "b"), ("night", None, None)]
    changes.add([1.0, 5.0, 9.0], [1.0, 2.0, 9.0], episode=Classes(labels, np.array([0, 1, 2])))
    changes.add([7.0, 1.0], [0.0, 1.0], episode=Classes(labels[1::-1], np.array([1, 0])))
    assert changes.episodes.keys == labels[:2]
    assert changes.episodes.old.tolist() == [8.0, 6.0]
    assert changes.episodes.new.tolist() == [1.0, 3.0]
    assert changes.episodes.rank_correlation == -1.0
    assert "2 episodes: mean return 7 → 2. Rank correlation of returns (Spearman): -1.000000" in str(changes)


def test_an_episode_with_a_step_that_has_no_total_has_no_return():
    changes = Changes()
    labels = [("night", None, "a"), ("night", None, "b")]
    changes.add([1.0, np.nan], [1.0, 2.0], episode=Classes(labels, np.array([0, 1])))
    assert changes.episodes.broken == labels[1:]
    assert changes.episodes.old.tolist() == [1.0]
    assert changes.to_dict()["episodes"]["compared"] == 1


def test_many_small_batches_cost_no_more_than_their_rows():
    returns = Changes().episodes
    for number in range(300):
        returns.add(Classes([("night", None, number)], np.zeros(1, np.intp)), np.ones(1), np.ones(1))
    assert len(returns) == 300
    assert returns._room.shape[1] <= 600, "room is doubled, not made anew for every batch"
    assert returns.old.tolist() == [1.0] * 300


def test_decisions_with_one_candidate_are_left_out_but_for_those_that_may_go_on():
    decision = np.array([1, 2, 3, 3, 4, 5])
    found = group_candidates(decision, Classes([None], np.zeros(6, np.intp)), np.arange(6.0), np.arange(6.0))
    assert [(each.decision, each.size) for each in found] == [(1, 1), (3, 2), (5, 1)]
