"""The reward log of a simulated episode of 25 states: one row a step, then one for the end."""

import json

import pytest

from plaudit.systems import apex

# What each transition earns, by the number of the state it reaches.
REWARDS = dict(
    enumerate(
        [
            -0.005, -0.005, -0.005, 0.295, 0.06, 0.05, 0.05, -0.07, 0.05, 0.04, 0.29, 0.06,
            0.055, 0.02, -0.035, 0.015, 0.29, -0.01, -0.001, -0.015, 0.001, 0.294, 0.001, 0.325,
        ],
        start=2,
    )
)  # fmt: skip

SAMPLES = """
{"step": 5, "delta_pass_rate": 0.0, "delta_tokens": 50, "phase_advance": true, "switch_committed": false, "r_step": 0.295}
{"step": 9, "delta_pass_rate": 0.0, "delta_tokens": 200, "phase_advance": false, "switch_committed": true, "r_step": -0.07}
{"step": 14, "delta_pass_rate": 0.1, "delta_tokens": 150, "phase_advance": false, "switch_committed": false, "r_step": 0.055}
{"step": 25, "delta_pass_rate": 0.05, "delta_tokens": 100, "phase_advance": true, "switch_committed": false, "r_step": 0.325}
{"step": 26, "delta_pass_rate": 0, "delta_tokens": 0, "phase_advance": false, "switch_committed": false, "r_step": 1.0, "terminal": true}
"""

FIELDS = {
    "step": int,
    "delta_pass_rate": float,
    "delta_tokens": int,
    "phase_advance": bool,
    "switch_committed": bool,
    "r_step": float,
}


@pytest.fixture
def log(tmp_path):
    """The lines of the log as a reader finds them."""
    path = tmp_path / "rewards.jsonl"
    apex.write_rewards(path, apex.reward_rows(apex.scenario(), success=True))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_log_has_24_steps_and_the_end(log):
    assert [row["step"] for row in log] == list(range(2, 27))
    assert [row["step"] for row in log if row.get("terminal")] == [26]


def test_every_row_has_the_fields_of_the_schema_in_order_and_their_types(log):
    *steps, end = log
    for row in steps:
        assert list(row) == list(FIELDS)
    assert list(end) == [*FIELDS, "terminal"]
    for row in log:
        assert {name: type(row[name]) for name in FIELDS} == FIELDS


def test_every_step_earns_what_the_formula_says(log):
    assert {row["step"]: row["r_step"] for row in log[:-1]} == pytest.approx(REWARDS, abs=1e-9)


@pytest.mark.parametrize("sample", SAMPLES.strip().splitlines(), ids=lambda line: line.partition(",")[0][1:])
def test_the_sample_lines_are_in_the_log(log, sample):
    expected = json.loads(sample)
    row = next(row for row in log if row["step"] == expected["step"])
    assert row == pytest.approx(expected, abs=1e-9)


def test_the_episode_is_the_one_described():
    states = apex.scenario()
    assert len(states) == 25
    assert (states[0]["test_pass_rate"], states[-1]["test_pass_rate"]) == (0.0, 1.0)
    assert (states[0]["tokens_used"], states[-1]["tokens_used"]) == (0, 3500)
    assert [at for at, state in enumerate(states, start=1) if state["switch_committed"]] == [9, 16]
    assert apex.count_phases(states) == apex.PhaseCounts(visits=7, changes=6, advances=5, repaid=1)


def test_the_whole_episode_earns_2_75(log):
    steps = sum(row["r_step"] for row in log[:-1])
    assert steps == pytest.approx(0.3 * 5 + 0.7 * 1.0 - 1e-4 * 3500 - 0.05 * 2, abs=1e-9)
    assert steps == pytest.approx(1.75, abs=1e-9)
    assert sum(row["r_step"] for row in log) == pytest.approx(2.75, abs=1e-9)


def test_the_printed_record_is_an_example_of_the_formula():
    """It is no line of this episode, in which step 7 reaches no new phase."""
    prev = {"phase": "planning", "test_pass_rate": 0.1, "tokens_used": 300}
    curr = {"phase": "coding", "test_pass_rate": 0.2, "tokens_used": 500}
    assert apex.RewardAccumulator().step_reward(prev, curr) == pytest.approx(0.35, abs=1e-9)
