"""What `check` found in a definition, and what came of it in a history."""

import sys

import numpy as np

from plaudit import Field, Ledger, Reward, Task, check, term
from plaudit.analysis import audit
from plaudit.checks.finding import Failed
from support.histories import record_episodes

RNG = np.random.default_rng(0)
DISTANCE = Field("distance", low=0, high=100)


@term(weight=-1.0, kind="penalty")
def hurry(speed):
    """Do not hurry; a mistake pays below 5."""
    return speed - 5.0


@term
def zones(distance):
    """Keep away: a slip leaves out 20 itself."""
    if distance < 20:
        return -1.0
    if distance > 20:
        return -1.0
    return 3.0


@term(high=0.3)
def cost(tokens):
    """Cost."""
    return tokens / 10.0


def tell(tmp_path, reward, code, *episodes):
    """Return the finding of `check` as it is told with a history."""
    checked = check(reward, only=code, z3=False)
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, episodes)
        report = audit(ledger, reward, checked=checked, only=code)
    (finding,) = report.by_code(code)
    assert finding.message.startswith(checked.by_code(code)[0].message)
    return finding


def test_how_often_a_penalty_paid_and_what(tmp_path):
    reward = Reward("car", version="1", terms=[hurry], fields=[Field("speed", low=0, high=30)])
    slow, fast = {"speed": np.full(10, 3.0)}, {"speed": np.full(30, 20.0)}
    finding = tell(tmp_path, reward, "wrong-sign", fast, slow)
    told = "In the ledger this happened in 10 of 40 steps (25.0 %), in 1 of 2 episodes (night/1); 'hurry' paid 20 in these steps."
    assert finding.message.endswith(told)
    assert finding.witness[-1].record == 31


@term
def closer(prev, curr):
    """Come closer; a way back costs nothing."""
    return max(0.0, prev.cells - curr.cells)


CELLS = Field("cells", low=0, high=9)
MAZE = Reward("maze", version="1", terms=[closer], fields=[CELLS], task=Task(max_change={"cells": 1}))


def test_how_many_laps_were_walked_and_what_they_earned(tmp_path):
    there, back = np.tile([4.0, 3.0], 10), np.tile([3.0, 4.0], 10)
    straight = {"prev.cells": np.arange(9.0, 0.0, -1.0), "curr.cells": np.arange(8.0, -1.0, -1.0)}
    finding = tell(tmp_path, MAZE, "loop-that-pays", straight, {"prev.cells": there, "curr.cells": back})
    # the first step leads to 3, and of the 18 steps to the last time there 9 pay 1
    assert finding.message.endswith(
        "In the ledger, cycles that paid took 18 of 29 steps (62.1 %), in 1 of 2 episodes (night/1), and earned 9."
    )
    assert finding.witness[-1].record == 11


def test_a_lap_that_nobody_walked_is_said_to_be_none(tmp_path):
    finding = tell(tmp_path, MAZE, "loop-that-pays", {"prev.cells": [9.0, 8.0], "curr.cells": [8.0, 7.0]})
    assert finding.message.endswith(
        "No episode went around a cycle like this often enough to count, in 2 recorded steps."
    )


def test_what_has_not_happened_is_said(tmp_path):
    reward = Reward("car", version="1", terms=[hurry], fields=[Field("speed", low=0, high=30)])
    finding = tell(tmp_path, reward, "wrong-sign", {"speed": np.full(10, 20.0)})
    assert finding.message.endswith("This did not happen in 10 recorded steps.")
    assert all(step.record is None for step in finding.witness)


def test_a_single_value_between_zones_counts_where_it_was_met(tmp_path):
    reward = Reward("car", version="1", terms=[zones], fields=[DISTANCE])
    finding = tell(tmp_path, reward, "zone-gap", {"distance": [19.5, 20.0, 20.5, 20.0]})
    assert "happened in 2 of 4 steps (50.0 %)" in finding.message


def test_how_often_a_saturated_clamp_bound(tmp_path):
    reward = Reward("agent", version="1", terms=[cost], fields=[Field("tokens", low=0, high=1000)])
    finding = tell(tmp_path, reward, "saturated-clamp", {"tokens": [1.0, 2.0, 50.0, 60.0]})
    assert finding.message.endswith("In the ledger it bound in 2 of 4 steps (50.0 %).")


@term(low=0.001, high=0.3)
def held(tokens):
    """Cost, held at both ends."""
    return tokens / 10.0


def test_how_often_each_end_of_a_clamp_bound(tmp_path):
    reward = Reward("agent", version="1", terms=[held], fields=[Field("tokens", low=0, high=1000)])
    finding = tell(tmp_path, reward, "saturated-clamp", {"tokens": [0.0, 0.0, 0.0, 1.0, 50.0]})
    told = "In the ledger its floor bound in 3 of 5 steps (60.0 %), its cap bound in 1 of 5 steps (20.0 %)."
    assert finding.message.endswith(told)


@term
def switched(distance, *, strict=False):
    """Keep away, more or less strictly."""
    if strict:
        return 1.0 if distance < 5 else 0.0
    if distance > 200:
        return 2.0
    return 0.5


def test_a_branch_that_a_knob_switches_off_is_not_untaken(tmp_path):
    reward = Reward("car", version="1", terms=[switched], fields=[Field("distance", low=0, high=500)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, [{"distance": RNG.uniform(0, 100, 1500)}])
        assert not audit(ledger, reward, only="branch-not-taken").findings


def test_a_detector_that_fails_stops_no_other(tmp_path, monkeypatch):
    def fail(self, batch):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(sys.modules["plaudit.analysis.audit.clamps"].ClampCounts, "add", fail)
    reward = Reward("agent", version="1", terms=[cost], fields=[Field("tokens", low=0, high=1000)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, [{"tokens": RNG.uniform(10, 20, 1500)}])
        report = audit(ledger, reward)
    assert [(each.code, each.error.partition(" (")[0]) for each in report.failed] == [
        ("clamp-bound", "ZeroDivisionError: oh")
    ]
    assert isinstance(report.failed[0], Failed)
    assert not report.ok


def test_where_counting_failed_nothing_is_told_of_how_often(tmp_path, monkeypatch):
    def fail(self, batch):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(sys.modules["plaudit.analysis.audit.happened"].Happenings, "add", fail)
    reward = Reward("car", version="1", terms=[hurry], fields=[Field("speed", low=0, high=30)])
    checked = check(reward, only="wrong-sign", z3=False)
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, [{"speed": [1.0, 2.0]}])
        report = audit(ledger, reward, checked=checked, only="wrong-sign")
    assert report.findings == checked.findings
    assert [each.code for each in report.failed] == ["what-happened"]


@term(kind="bonus")
def treat(speed):
    """A treat that only ever costs."""
    return -speed


def test_how_often_a_bonus_cost(tmp_path):
    reward = Reward("car", version="1", terms=[treat], fields=[Field("speed", low=0, high=30)])
    finding = tell(tmp_path, reward, "wrong-sign", {"speed": [0.0, 2.0, 3.0]})
    assert (
        "this happened in 2 of 3 steps (66.7 %), in 1 of 1 episode (night/0); 'treat' paid -5 in these steps."
        in finding.message
    )


def test_an_audit_takes_a_label(tmp_path):
    reward = Reward("agent", version="1", terms=[cost], fields=[Field("tokens", low=0, high=1000)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, [{"tokens": [1.0, 2.0]}])
        record_episodes(ledger, reward.with_weights(cost=2.0).with_version("2"), [{"tokens": [1.0]}])
        assert audit(ledger, "agent@2").version == "2"
        assert audit(ledger, "agent@1").remarks[0].startswith("Read: 2 steps of 1 episode")
