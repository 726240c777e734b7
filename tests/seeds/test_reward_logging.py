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


@pytest.fixture(params=["at the end", "step by step"])
def log(request, tmp_path):
    """The lines of the log as a reader finds them, written in one go or as the episode goes."""
    rows = apex.build_reward_rows(apex.scenario(), success=True)
    path = tmp_path / "artifacts" / "rewards.jsonl"
    if request.param == "at the end":
        path.parent.mkdir()
        apex.write_rewards(path, rows)
    else:
        with apex.Artifacts(tmp_path) as artifacts:
            for row in rows:
                artifacts.append_reward(row)
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


def test_the_sample_lines_are_spelt_as_they_are_printed(tmp_path):
    """Apart from the integer where the schema asks for a float, and digits that a double has and a print has not."""
    with apex.Artifacts(tmp_path) as artifacts:
        for sample in SAMPLES.strip().splitlines():
            artifacts.append_reward(json.loads(sample))
    written = (tmp_path / "artifacts" / "rewards.jsonl").read_text(encoding="utf-8")
    assert written.strip() == SAMPLES.strip().replace('"delta_pass_rate": 0,', '"delta_pass_rate": 0.0,')


DECISION = {
    "step": int,
    "topology": str,
    "x": list,
    "action": str,
    "epsilon": float,
    "ms": float,
    "switch": dict,
}


def test_decisions_and_latencies_have_the_fields_of_their_schemas(tmp_path):
    stay = apex.Switch(attempted=False, committed=False, epoch=0)
    refused = apex.Switch(attempted=True, committed=False, epoch=0, error="dwell")
    switched = apex.Switch(attempted=True, committed=True, epoch=1)
    with apex.Artifacts(tmp_path) as artifacts:
        for step, (action, switch) in enumerate([("stay", stay), ("chain", refused), ("chain", switched)], start=1):
            after = "chain" if switch.committed else None
            decision = apex.DecisionRow(
                step=step, topology="star", x=[1, 0, 0, 1, 0, 0, 0, 1], action=action, epsilon=0.2, ms=1,
                switch=switch, topology_after=after, tick_ms=2, requested=action, executed="stay", probability=0.85,
            )  # fmt: skip
            artifacts.append_decision(decision)
            artifacts.append_latency(apex.LatencyRow(i=step - 1, ms=1))
    folder = tmp_path / "artifacts"
    rows = [json.loads(line) for line in (folder / "controller_decisions.jsonl").read_text().splitlines()]
    for row in rows[:2]:
        assert {name: type(value) for name, value in row.items()} == DECISION
        assert list(row) == list(DECISION)
    assert list(rows[2]) == [*DECISION, "topology_after"]
    assert [type(number) for number in rows[0]["x"]] == [float] * 8
    assert [list(row["switch"]) for row in rows] == [
        ["attempted", "committed", "epoch"],
        ["attempted", "committed", "epoch", "error"],
        ["attempted", "committed", "epoch"],
    ]
    latencies = [json.loads(line) for line in (folder / "controller_latency.jsonl").read_text().splitlines()]
    assert latencies == [{"i": 0, "ms": 1.0}, {"i": 1, "ms": 1.0}, {"i": 2, "ms": 1.0}]


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
