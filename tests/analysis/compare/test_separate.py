"""Means over everything that may follow: a total taken apart pays the same, and only what reads both sides is paired."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.analysis.compare.coverage import Block, Steps
from plaudit.analysis.compare.measures import Scorer
from plaudit.analysis.compare.separate import AFTER, BEFORE, BOTH, PairMean, separate
from plaudit.errors import InputError
from plaudit.targets.inputs import list_slots

FIELDS = [
    Field("x", low=-3, high=3),
    Field("joints", length=4, low=-1, high=1),
    Field("mood", values=("calm", "wild")),
    Field("lit", flag=True),
]


@term(weight=2.0)
def shaping(prev, curr, *, gamma=0.9):
    return -(gamma * abs(curr.x) - abs(prev.x)) / 2


@term
def effort(prev, curr):
    return sum(curr.joints) - 0.5 * sum(prev.joints)


@term
def mood(prev, curr, lit):
    if prev.mood == "wild" and curr.mood == "calm":
        return 1.0
    return 0.25 if lit else 0.0


@term
def near(prev, curr):
    return 1 if abs(curr.x - prev.x) < 1 else 0


@term
def ratio(prev, curr):
    return curr.x / prev.x


@term
def rooted(prev):
    return math.sqrt(prev.x)


def build(*terms, **parts):
    read = {name for each in terms for name in each.reads}
    used = [field for field in FIELDS if {field.name, f"prev.{field.name}", f"curr.{field.name}"} & read]
    return Reward("parts", version="1", terms=terms, fields=used, **parts)


def draw(reward, count, seed):
    """Return columns for everything that a reward reads."""
    rng = np.random.default_rng(seed)
    found = {}
    for slot in list_slots(reward.program):
        if slot.field.kind == "number":
            found[slot.plain] = rng.uniform(slot.field.low, slot.field.high, count).round(2)
        else:
            found[slot.plain] = rng.integers(0, 2, count) if slot.field.kind == "category" else rng.random(count) < 0.5
    return found


def score_pairs(reward, starts, follows):
    """Return what each start pays with each that follows, by plain Python; NaN where that cannot be scored."""
    rows, columns = len(starts["x"]), len(follows["x"])
    paid = np.full((rows, columns), np.nan)
    for i in range(rows):
        for j in range(columns):
            given = {}
            for slot in list_slots(reward.program):
                value = (starts if slot.record == "prev" else follows)[slot.plain][i if slot.record == "prev" else j]
                given[slot.name] = slot.field.labels[int(value)] if slot.field.labels else value.item()
            try:
                paid[i, j] = reward.score(**given).total
            except InputError:
                continue
    return paid


def average(paid):
    """Return the mean of each row over what could be scored, NaN where nothing could be."""
    return np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in paid])


EVERY = [
    pytest.param(build(shaping, effort, mood, near), id="sum"),
    pytest.param(build(shaping, effort, mood, near, high=1.5), id="clamped"),
    pytest.param(build(shaping, ratio), id="divided"),
    pytest.param(build(shaping, rooted), id="some cannot be scored"),
]


@pytest.mark.parametrize("reward", EVERY)
@pytest.mark.parametrize("size", [3, 40])
def test_the_canonical_reward_is_that_of_every_pair(reward, size, monkeypatch):
    monkeypatch.setitem(PairMean.compute.__globals__, "CHUNK", 16)  # so that starts are cut, or taken several at once
    before, after, means = (draw(reward, count, at) for at, count in enumerate((size, size, 5)))
    block = Block(Steps(before, after), Steps(draw(reward, 5, 7), means))
    found = Scorer(reward, guard=False).canonicalise(block, 0.9)
    raw = np.diag(score_pairs(reward, before, after))
    whole = [average(score_pairs(reward, starts, means)) for starts in (before, after, means)]
    assert found == pytest.approx(raw + 0.9 * whole[1] - whole[0] - 0.9 * np.nanmean(whole[2]), abs=1e-12, nan_ok=True)


def test_only_what_reads_both_sides_is_paired():
    def list_parts(*terms, **parts):
        found = separate(build(*terms, **parts).program.bind())
        return {side: {name for name in part.inputs if "[" not in name} for side, part in found.items()}

    assert list_parts(shaping, effort) == {BEFORE: {"prev.x"}, AFTER: {"curr.x"}}
    assert list_parts(shaping, near) == {BEFORE: {"prev.x"}, AFTER: {"curr.x"}, BOTH: {"prev.x", "curr.x"}}
    assert list_parts(shaping, high=1) == {BOTH: {"prev.x", "curr.x"}}


def test_shaping_costs_one_evaluation_for_each_start(monkeypatch):
    """Before, each start was scored with everything that follows."""
    reward = build(shaping, effort)
    counted = []
    unchanged = PairMean._average

    def count(self, arguments, rows, at_once, follows):
        counted.append((rows.stop - rows.start) * follows)
        return unchanged(self, arguments, rows, at_once, follows)

    monkeypatch.setattr(PairMean, "_average", count)
    block = Block(Steps(draw(reward, 100, 0), draw(reward, 100, 1)), Steps(draw(reward, 50, 2), draw(reward, 50, 3)))
    Scorer(reward, guard=False).canonicalise(block, 0.9)
    assert sum(counted) == 2 * 100 + 50 + 50  # the starts, and those that follow


@pytest.mark.parametrize("bad", ["before", "means"])
def test_steps_outside_declared_ranges_are_left_out_of_means(bad):
    reward = build(shaping, near)
    given = {"before": draw(reward, 30, 0), "after": draw(reward, 30, 1), "means": draw(reward, 6, 2)}
    given[bad]["x"][0] = 99.0
    block = Block(Steps(given["before"], given["after"]), Steps(draw(reward, 6, 3), given["means"]))
    found = Scorer(reward, guard=True).canonicalise(block, 0.9)
    raw = np.diag(score_pairs(reward, given["before"], given["after"]))
    kept = [average(score_pairs(reward, given[starts], given["means"])) for starts in ("before", "after", "means")]
    expected = raw + 0.9 * kept[1] - kept[0] - 0.9 * np.nanmean(kept[2])
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert np.isnan(found).sum() == (1 if bad == "before" else 0)
