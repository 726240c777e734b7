"""`plaudit score` on files that are as they should be, and on knobs, formats and streams."""

import csv
import json
import math
import os
import stat

import pytest

from plaudit import Field, Reward, term
from support import carrying
from support.command_line import built_in
from support.samples import EPISODES, SAMPLES

ROWS = [
    {"distance": 30.0, "deceleration": 1.0, "action": 0},
    {"distance": "inf", "deceleration": 0, "action": 1},
    {"distance": 4.0, "deceleration": 5.0, "action": 3},
]
TOTALS = [1.0, 0.5, -110.0]


def flat(row: dict) -> dict:
    """Return a row with `prev` and `curr` written out: `prev.phase`."""
    parts = {}
    for name, value in row.items():
        parts |= {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
    return parts


def plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return str(value) if isinstance(value, float) and math.isinf(value) else value


@pytest.mark.parametrize("form", ["nested", "flat", "csv", "python"])
@pytest.mark.parametrize("name", SAMPLES)
def test_every_form_gives_what_the_reward_gives_to_the_bit(plaudit, write, objects, name, form):
    reward, rows = SAMPLES[name], EPISODES[name]
    write("reward.json", reward.to_json())
    first = next(iter(reward.inputs)) if form in ("csv", "flat") else next(iter(rows[0]))
    if form == "csv":
        table = [flat(row) for row in rows]
        lines = [[str(row.get(column, "")) for column in reward.inputs] for row in table]
        write("rows.csv", ",".join(reward.inputs), *(",".join(line) for line in lines))
    elif form == "python":  # as Python's json writes it: Infinity
        write("rows.jsonl", *(json.dumps(row) for row in rows))
    else:
        write("rows.jsonl", *(plain(flat(row) if form == "flat" else row) for row in rows))
    source = "rows.csv" if form == "csv" else "rows.jsonl"
    done = plaudit("score", "reward.json", source, "--scores", "--output", "scores.jsonl", "--keep", first)
    assert done.exit_code == 0, done.output
    for row, scored in zip(rows, objects("scores.jsonl"), strict=True):
        signal = reward.score(**row)
        assert {**scored, first: None} == {first: None, "total": signal.total, **signal.to_row(), "ok": True}


def test_rows_keep_their_columns_and_get_total_values_scores_and_ok(plaudit, write, tmp_path):
    write("rows.jsonl", *ROWS)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.csv", "--scores")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "3 rows scored with roadsense@R0 and written to scores.csv.\n"
    assert (tmp_path / "scores.csv").read_bytes() == (
        b"distance,deceleration,action,total,safety,comfort,appropriateness,"
        b"safety.score,comfort.score,appropriateness.score,ok\n"
        b"30.0,1.0,0,1.0,1.0,0.0,0.0,1.0,0.0,0.0,true\ninf,0,1,0.5,0.5,0.0,0.0,0.5,0.0,0.0,true\n"
        b"4.0,5.0,3,-110.0,-100.0,-10.0,0.0,-100.0,-10.0,0.0,true\n"
    )


def test_knobs_come_from_a_file_and_from_the_command_line(plaudit, write, objects):
    write("rows.jsonl", ROWS[2])
    write("tuned.toml", "unsafe_dist = 16.0", "[comfort]", "weight = 2.0", "penalty_harsh_brake = -8.0")
    knobs = ["--scores", "--params", "tuned.toml", "--set", "comfort.weight=3", "--set", "safety.reward_collision=-50"]
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "s.jsonl", *knobs, "--json")
    [scored] = objects("s.jsonl")
    assert (scored["safety"], scored["comfort"], scored["appropriateness"]) == (-50.0, -24.0, 0.0)
    assert scored["comfort.score"] == -8.0
    tuned = built_in("roadsense").with_params(
        {"unsafe_dist": 16.0, "comfort.weight": 3.0, "comfort.penalty_harsh_brake": -8.0},
        safety={"reward_collision": -50.0},
    )
    assert json.loads(result.stdout)["fingerprint"] == tuned.fingerprint


def test_a_flag_is_set_by_true_or_false(plaudit, write):
    deltas = {"score_delta": 0.4, "consistency_delta": 0.1, "grounding_delta": 0.2, "alignment_events": 0}
    write("rows.jsonl", {**deltas, "cost_tokens": 1800, "cost_latency_ms": 4000, "time_budget_used_pct": 0.1})
    assert plaudit("score", "deepthinker", "rows.jsonl", "-o", "-", "--set", "time.overrun=true").exit_code == 0


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("comfort", "write NAME=VALUE"),
        ("=3", "write NAME=VALUE"),
        ("comfort.weight=much", "'much' is not a number, true, false"),
        ("comfort.weight=nan", "must be a finite number"),
        ("comfort.weight=true", "a number is needed"),
        ("comfort.wieght=2", "Did you mean 'comfort.weight'?"),
        ("comfrt.weight=2", "Did you mean 'comfort.weight'?"),
    ],
)
def test_a_setting_that_cannot_be_is_told(plaudit, write, tmp_path, setting, told):
    write("rows.jsonl", *ROWS)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.csv", "--set", setting)
    assert result.exit_code == 2
    assert told in result.stderr
    assert os.listdir(tmp_path) == ["rows.jsonl"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "tuned.toml cannot be read"),
        ("[comfort", "tuned.toml is not a TOML file"),
        ("comfort = 3", "has no parameter 'comfort'"),
        ("[comfort]\nweight = 'x'", "must be a finite number"),
    ],
)
def test_a_file_of_knobs_that_cannot_be_is_told(plaudit, write, content, told):
    write("rows.jsonl", *ROWS)
    if content:
        write("tuned.toml", content)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.csv", "--params", "tuned.toml")
    assert result.exit_code == 2
    assert told in result.stderr


def test_the_outcome_as_json(plaudit, write):
    write("rows.jsonl", *ROWS, "{}")
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.csv", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout) == {
        "reward": "roadsense@R0",
        "fingerprint": built_in("roadsense").fingerprint,
        "source": "rows.jsonl",
        "output": "scores.csv",
        "engine": "numpy",
        "rows": 4,
        "bad": 1,
        "reasons": {"distance is NULL": 1},
        "unreadable": 0,
        "bad_rows": "scores.bad.jsonl",
        "resumed": 0,
        "remarks": [],
        "changes": None,
    }


# -- standard input and output --------------------------------------------------------------------------------------


def test_standard_input_and_output(plaudit):
    rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    result = plaudit("score", "roadsense", "-", "-o", "-", stdin=rows)
    assert result.exit_code == 0
    assert [json.loads(line)["total"] for line in result.stdout.splitlines()] == TOTALS
    assert result.stderr == "3 rows scored with roadsense@R0.\n"


def test_the_format_of_a_stream_is_chosen(plaudit, write, objects):
    rows = "distance,deceleration,action\n30,1,0\n"
    result = plaudit("score", "roadsense", "-", "-o", "-", "--format", "csv", stdin=rows)
    assert result.stdout.splitlines()[1:] == ["30,1,0,1.0,1.0,0.0,0.0,true"]
    write("rows.log", *ROWS)
    assert plaudit("score", "roadsense", "rows.log", "-o", "s.out", "--format", "jsonl").exit_code == 0
    assert [row["total"] for row in objects("s.out")] == TOTALS


def test_an_ending_goes_before_the_chosen_format(plaudit, write):
    write("rows.NDJSON", *ROWS)
    result = plaudit("score", "roadsense", "rows.NDJSON", "-o", "-", "--format", "csv")
    assert result.stdout.startswith("distance,deceleration,action,total,")


def test_an_unknown_ending_needs_a_format(plaudit, write):
    write("rows.txt", *ROWS)
    result = plaudit("score", "roadsense", "rows.txt", "-o", "-")
    assert result.exit_code == 2
    assert "set format= (--format)" in result.stderr


def test_without_a_file_for_them_bad_rows_go_to_stderr_every_one(plaudit):
    result = plaudit("score", "roadsense", "-", "-o", "-", stdin="{}\n" * 12)
    assert result.exit_code == 3
    assert [json.loads(line)["ok"] for line in result.stdout.splitlines()] == [False] * 12
    *bad, _, _, _ = result.stderr.splitlines()
    assert [json.loads(line)["line"] for line in bad] == list(range(1, 13))


def test_json_and_the_scores_cannot_both_go_to_stdout(plaudit):
    result = plaudit("score", "roadsense", "-", "-o", "-", "--json", stdin="")
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize("encoding", ["ascii", "utf-16", "cp1252"])
def test_scores_are_utf_8_whatever_the_terminal(process, encoding):
    running = process("score", "roadsense", "-", "-o", "-", PYTHONIOENCODING=encoding)
    printed, _ = running.communicate(json.dumps(ROWS[0]).encode())
    assert json.loads(printed.decode())["total"] == 1.0


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
def test_a_device_is_written_to_and_never_replaced(plaudit, write):
    write("rows.jsonl", *ROWS)
    assert plaudit("score", "roadsense", "rows.jsonl", "-o", "/dev/null", "--format", "csv").exit_code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# -- other shapes of rewards ------------------------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path):
    @term
    def effort(torque):
        return sum(each * each for each in torque)

    reward = Reward("effort", version="1", terms=[effort], fields=[Field("torque", length=3, missing=0.0)])
    (tmp_path / "effort.json").write_text(reward.to_json(), encoding="utf-8")


@pytest.mark.parametrize(
    "row",
    [{"torque": [1.0, 2, 0.0]}, {"torque[0]": 1, "torque[1]": 2, "torque[2]": 0}, {"torque[0]": 1, "torque[1]": 2}],
)
def test_a_vector_is_a_list_or_its_entries(plaudit, vectors, write, objects, row):
    write("rows.jsonl", row)
    assert plaudit("score", "effort.json", "rows.jsonl", "-o", "s.jsonl").exit_code == 0
    assert objects("s.jsonl")[0]["total"] == 5.0


def test_a_vector_in_csv_has_a_column_for_each_entry(plaudit, vectors, write, tmp_path):
    write("rows.csv", "torque[2],torque[0],torque[1]", "3,1,2", "3,,", ",,")
    assert plaudit("score", "effort.json", "rows.csv", "-o", "s.csv").exit_code == 0
    assert (tmp_path / "s.csv").read_text(encoding="utf-8") == (
        "torque[2],torque[0],torque[1],total,effort,ok\n3,1,2,14.0,14.0,true\n3,,,9.0,9.0,true\n,,,0.0,0.0,true\n"
    )


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"torque": [1, 2, 3], "torque[0]": 1}, "'torque' is given both as a list and entry by entry"),
        ({"torque": [1, 2]}, "3 values are needed"),
        ({"torque": 5}, "3 values are needed"),
        (
            {"torque": {"a": 1, "b": 2, "c": 3}},
            "torque",
        ),
        ({"torque": [1, [2], 3]}, "torque[1]"),
        ({"torque": "abc"}, "torque"),
    ],
)
def test_a_vector_that_cannot_be_is_told(plaudit, vectors, write, row, told):
    write("rows.jsonl", {"torque": [1, 2, 3]}, row)
    result = plaudit("score", "effort.json", "rows.jsonl", "-o", "s.jsonl")
    assert result.exit_code == 3
    assert told in result.stderr


def test_an_absent_value_takes_its_default(plaudit, write, tmp_path):
    header = ",".join(name for name in built_in("apex").inputs if not name.endswith("phase"))
    write("rows.csv", header, *[",".join("0" for _ in header.split(","))] * 2)
    assert plaudit("score", "apex", "rows.csv", "-o", "s.csv").exit_code == 0


def test_flags_and_categories_in_csv(plaudit, write, objects, tmp_path):
    @term
    def both(ready, colour):
        return (10 if ready else 0) + (1 if colour == "dark, red" else 0)

    fields = [Field("ready", flag=True), Field("colour", values=("dark, red", "blue"))]
    reward = Reward("odd", version="1", terms=[both], fields=fields)
    (tmp_path / "odd.json").write_text(reward.to_json(), encoding="utf-8")
    cells = [("true", "blue"), ("FALSE", "dark, red"), ("1", "blue"), ("0", "blue"), (" True ", "blue")]
    with open(tmp_path / "rows.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("ready", "colour"), *cells, ("yes", "blue"), ("1", "Blue"), ("2", "blue")])
    result = plaudit("score", "odd.json", "rows.csv", "-o", "s.jsonl")
    assert [row["total"] for row in objects("s.jsonl")] == [10.0, 1.0, 10.0, 0.0, 10.0, None, None, None]
    assert "line 7: reward 'odd', field 'ready': 'yes' is not true, false, 1 or 0." in result.stderr
    assert "Did you mean 'blue'?" in result.stderr
    assert "line 9: reward 'odd', field 'ready': '2' is not true" in result.stderr


def test_a_matrix_is_a_list_of_lists_or_its_entries(plaudit, write, objects, tmp_path):
    @term
    def impact(force):
        return sum(sum(each * each for each in foot) for foot in force)

    reward = Reward("impact", version="1", terms=[impact], fields=[Field("force", shape=(2, 2))])
    (tmp_path / "impact.json").write_text(reward.to_json(), encoding="utf-8")
    names = ["force[0][0]", "force[1][1]", "force[0][1]", "force[1][0]"]
    write("rows.jsonl", {"force": [[1, 2], [3, 4]]}, dict(zip(names, [1, 4, 2, 3], strict=True)))
    assert plaudit("score", "impact.json", "rows.jsonl", "-o", "s.jsonl").exit_code == 0
    assert [row["total"] for row in objects("s.jsonl")] == [30.0, 30.0]
    write("rows.csv", ",".join(names), "1,4,2,3")
    assert plaudit("score", "impact.json", "rows.csv", "-o", "s.csv").exit_code == 0
    assert "\n1,4,2,3,30.0," in (tmp_path / "s.csv").read_text(encoding="utf-8")
    write("ragged.jsonl", {"force": [[1, 2], [3]]})
    refused = plaudit("score", "impact.json", "ragged.jsonl", "-o", "r.jsonl")
    assert refused.exit_code != 0
    assert "values of the shape (2, 2) are needed" in refused.output


def test_a_state_is_a_column_and_one_that_lacks_is_told_where_it_comes_from(plaudit, write, objects):
    reward = carrying.walking()
    write("reward.json", reward.to_json())
    found = reward.score(contact=[True, False, True, False], prev={"air_time": [0.3, 0.1, 0.0, 0.2]})
    write("rows.jsonl", json.dumps({"contact": [1, 0, 1, 0], "prev": {"air_time": [0.3, 0.1, 0.0, 0.2]}}) + "\n")
    assert plaudit("score", "reward.json", "rows.jsonl", "--output", "scores.jsonl").exit_code == 0
    assert objects("scores.jsonl")[0]["total"] == found.total
    write("rows.csv", ",".join(f"contact[{foot}]" for foot in range(4)) + "\n1,0,1,0\n")
    done = plaudit("score", "reward.json", "rows.csv", "--output", "scores.csv")
    assert done.exit_code == 2
    assert "lacks 'prev.air_time', which reward" in done.stderr
    assert "with columns 'episode' and 'step' it is computed" in done.stderr
