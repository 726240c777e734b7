"""Drives in a ledger: nothing of them is lost, and any version scores them later."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Ledger
from plaudit.systems.roadsense.experiment.driving import Drive
from plaudit.systems.roadsense.experiment.results import compute_returns
from plaudit.systems.roadsense.experiment.storage import drive_reward, load_drives, record_drive, split_columns
from plaudit.systems.roadsense.experiment.study import STUDIES, Case
from plaudit.systems.roadsense.measurement import Measurement, build_input_reader
from plaudit.systems.roadsense.versions import VERSIONS, version
from support.examples import examples

REWARDS = {label: version(label) for label in VERSIONS}
FLAG = st.sampled_from([0.0, 1.0])
STEP = st.tuples(
    st.floats(0, 200) | st.just(float("inf")),
    st.floats(0, 8),
    st.integers(0, 3).map(float),
    st.floats(-30, 30),
    st.floats(0, 50),
    FLAG,
    FLAG,
    FLAG,
    FLAG,
    FLAG,
    st.floats(0, 1),
    FLAG,
)
DRIVES = st.lists(STEP, min_size=1, max_size=12).map(lambda steps: np.array(steps, np.float64))


def drive(rows, **case):
    return Drive(Case(**{"study": "continuous", "policy": "park", "hazard": True, "seed": 3} | case), rows, "1.28.0")


@examples(0.1)
@given(st.lists(DRIVES, min_size=1, max_size=4))
def test_every_version_pays_for_a_drive_what_it_pays_for_its_steps(rows):
    paid = compute_returns(REWARDS, [drive(each, seed=seed) for seed, each in enumerate(rows)])
    for label, reward in REWARDS.items():
        inputs = build_input_reader(reward)
        by_hand = [sum(reward.score(**inputs(_measured(row))).total for row in steps) for steps in rows]
        assert paid[label] == pytest.approx(by_hand, abs=1e-9)


def _measured(row):
    numbers = dict(zip(Measurement._fields, row.tolist(), strict=True))
    flags = {name: bool(numbers[name]) for name in ("peer_braking", "fresh_braking", "collision")}
    return Measurement(**numbers | flags | {"action": int(numbers["action"])})


@examples(0.3)
@given(DRIVES)
def test_what_is_recorded_is_paid_by_r0_and_read_by_all(rows):
    totals = drive_reward.compile("numpy")(split_columns(rows)).total
    assert totals.sum() == pytest.approx(compute_returns({"R0": version("R0")}, [drive(rows)])["R0"][0])


def test_a_drive_comes_back_to_the_bit(tmp_path):
    rng = np.random.default_rng(5)
    rows = rng.uniform(0, 1, (700, len(Measurement._fields)))
    rows[:, [2, 5, 6, 7, 8, 9, 11]] = rng.integers(0, 2, (700, 7))
    rows[3, 0] = np.inf
    drives = [drive(rows), drive(rows[::-1], hazard=False), drive(rows[:1], policy="late", seed=12)]
    with Ledger(tmp_path / "rewards.db") as ledger:
        for each in drives:
            record_drive(ledger, each)
        found = list(load_drives(ledger, STUDIES["continuous"]))
        assert ledger.verify().ok
        assert list(load_drives(ledger, STUDIES["discrete"])) == []
    assert [(each.case, each.sumo) for each in found] == [(each.case, each.sumo) for each in drives]
    assert all(np.array_equal(one.rows, other.rows) for one, other in zip(found, drives, strict=True))


def test_a_step_in_the_ledger_explains_itself(tmp_path):
    row = np.array([[10.0, 0.8, 1.0, 2.0, 15.0, 1, 0, 1, 1, 1, 0.5, 0]])
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_drive(ledger, drive(row))
        why = str(ledger.why(1))
        again = ledger.rescore(version("R2"))
    assert "actor='park'" in why
    assert "warned_fading=0.5" in why
    assert again.records == 1  # a version that reads no warning can be applied to the ledger as it is
