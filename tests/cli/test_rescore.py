"""`plaudit rescore`: a data set or a ledger, what changed, and nothing half-written."""

import json
import os
import signal
import time

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from support.command_line import built_in

pa = pytest.importorskip("pyarrow", reason="needs plaudit[data]")
import pyarrow.parquet as pq  # noqa: E402

ROWS = {
    "distance": [30.0, 12.0, 4.0, 50.0],
    "deceleration": [1.0, 3.5, 5.0, 0.0],
    "action": [0.0, 1.0, 3.0, 0.0],
    "kind": ["keep", "brake", "brake", None],
}
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture
def rows(tmp_path):
    pq.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    return "rows.parquet"


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    """A data set that takes a while."""
    path = tmp_path_factory.mktemp("many") / "rows.parquet"
    many = pa.concat_tables([pa.table(ROWS)] * 50_000).combine_chunks()
    with pq.ParquetWriter(path, many.schema) as writer:
        for _ in range(50):
            writer.write_table(many)
    return path


def totals(reward=None):
    reward = reward or built_in("roadsense")
    names = ("distance", "deceleration", "action")
    return [
        reward.score(**dict(zip(names, row, strict=True))).total for row in zip(*(ROWS[n] for n in names), strict=True)
    ]


def test_a_data_set_gets_the_rewards(plaudit, rows, tmp_path):
    done = plaudit("rescore", "roadsense", rows, "--output", "out.parquet")
    assert done.exit_code == 0
    assert done.stdout == "4 rows scored with roadsense@R0 and written to out.parquet.\n"
    assert pq.read_table(tmp_path / "out.parquet")["total"].to_pylist() == totals()


def test_the_output_is_named_after_the_source(plaudit, rows, tmp_path):
    assert plaudit("rescore", "roadsense", rows).exit_code == 0
    assert (tmp_path / "rows.rescored.parquet").exists()
    again = plaudit("rescore", "roadsense", rows)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert plaudit("rescore", "roadsense", rows, "--force").exit_code == 0


def test_what_changed_is_told(plaudit, rows):
    command = ("rescore", "roadsense", rows, "--set", "safety.weight=-1", "--against", "roadsense")
    done = plaudit(*command, "--decision-class", "kind", "--output", "o.csv")
    assert done.exit_code == 0
    assert "4 totals compared" in done.stdout
    assert "Rank correlation of steps (Spearman)" in done.stdout
    assert "brake" in done.stdout
    told = json.loads(plaudit(*command, "--output", "p.jsonl", "--json").stdout)
    assert told["rows"] == told["changes"]["records"] == 4
    assert told["changes"]["new"]["mean"] == pytest.approx(
        sum(totals(built_in("roadsense").with_weights(safety=-1))) / 4
    )


def test_a_column_of_old_totals_a_prefix_and_columns_to_keep(plaudit, rows, tmp_path):
    plaudit("rescore", "roadsense", rows, "--output", "one.parquet", "--scores")
    done = plaudit(
        "rescore",
        "roadsense",
        "one.parquet",
        "--against",
        "total",
        "--prefix",
        "new.",
        "--keep",
        "kind",
        "--output",
        "t.csv",
    )
    assert "4 of them unchanged to the bit" in done.stdout
    assert (tmp_path / "t.csv").read_text().splitlines()[0].startswith("kind,new.total,")


def test_bad_rows_are_told_and_make_the_exit_code_3(plaudit, tmp_path):
    pq.write_table(pa.table({**ROWS, "distance": [30.0, None, -1.0, 50.0]}), tmp_path / "rows.parquet")
    done = plaudit("rescore", "roadsense", "rows.parquet", "--output", "out.parquet")
    assert done.exit_code == 3
    assert "2 rows cannot be scored, and are written with NULL:\n  1 × distance is NULL\n" in done.stdout
    stopped = plaudit("rescore", "roadsense", "rows.parquet", "--output", "o2.parquet", "--on-bad", "raise")
    assert stopped.exit_code == 2
    assert "row 1 (the first is 0)" in stopped.stderr
    assert not (tmp_path / "o2.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["roadsense", "nothing.parquet"], "does not exist"),
        (["rows.parquet", "roadsense"], "the REWARD comes before the DATA: plaudit rescore roadsense rows.parquet"),
        (["rows.db", "roadsense"], "the REWARD comes before the DATA: plaudit rescore roadsense rows.db"),
        (["rodsense", "rows.parquet"], "Did you mean 'roadsense'"),
        (["roadsense", "rows.parquet", "--column", "distance"], "--column distance: write an input"),
        (["roadsense", "rows.parquet", "--run", "night"], "--run is for a ledger"),
        (["roadsense", "rows.parquet", "--decision-class", "kind"], "--against something"),
        (
            ["roadsense", "rows.parquet", "--engine", "ray", "--against", "roadsense"],
            "--against needs the local engine",
        ),
        (["roadsense", "rows.parquet", "--output", "rows.parquet"], "the file that the rows come from"),
        (["roadsense", "rows.db", "--keep", "kind"], "--keep is for a data set"),
        (["roadsense", "rows.db", "--engine", "spark"], "--engine is for data sets"),
    ],
)
def test_what_cannot_be_done_is_told(plaudit, rows, tmp_path, arguments, told):
    with Ledger(tmp_path / "rows.db"):
        pass
    done = plaudit("rescore", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr.replace("\n", " ")
    assert not (tmp_path / "rows.rescored.parquet").exists()


def test_data_that_lack_a_column_are_no_wrong_usage(plaudit, rows, tmp_path):
    done = plaudit("rescore", "roadsense@R8", "rows.parquet")
    assert done.exit_code == 2
    assert "lacks 'closing_rate'" in done.stderr
    assert not (tmp_path / "rows.rescored.parquet").exists()


def test_a_run_of_a_ledger_that_is_misspelt_is_guessed(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(built_in("roadsense").score(distance=5.0, deceleration=0.0, action=0), run="night-3")
    done = plaudit("rescore", "roadsense@R1", "rewards.db", "--run", "nihgt-3")
    assert (done.exit_code, done.stderr) == (2, "Error: No record was found. Did you mean --run night-3?\n")
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.jobs() == []


def test_inputs_may_lie_under_other_names(plaudit, tmp_path):
    names = ["gap_m", "deceleration", "action", "kind"]
    pq.write_table(pa.table(ROWS).rename_columns(names), tmp_path / "rows.parquet")
    assert plaudit("rescore", "roadsense", "rows.parquet", "--column", "distance=gap_m").exit_code == 0
    assert pq.read_table(tmp_path / "rows.rescored.parquet")["total"].to_pylist() == totals()


def test_a_ledger_gets_new_records_beside_the_old_ones(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(10):
            signal = built_in("roadsense").score(distance=5.0 * at, deceleration=0.0, action=0)
            ledger.record(signal, run="night" if at % 2 else "day", decision_class="keep")
    done = plaudit("rescore", "roadsense", "rewards.db", "--set", "safety.weight=-1", "--run", "night")
    assert done.exit_code == 2  # the label R0 is tied to another formula
    assert "--label on the command line" in done.stderr
    command = ("rescore", "tuned.json", "rewards.db", "--run", "night")
    tuned = built_in("roadsense").with_weights(safety=-1).with_version("flipped")
    (tmp_path / "tuned.json").write_text(tuned.to_json())
    done = plaudit(*command)
    assert done.exit_code == 0, done.output
    assert "5 records to score." in done.stderr
    assert "5 totals compared" in done.stdout
    again = plaudit(*command, "--json")
    assert "0 records to score.\n5 records were scored by an earlier run." in again.stderr
    told = json.loads(again.stdout)
    assert (told["records"], told["scored"]) == (5, 0)
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        assert ledger.history().count() == 10


def test_a_changed_reward_gets_a_label_and_is_found_by_its_job(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(built_in("roadsense").score(distance=5.0, deceleration=0.0, action=0))
    changed = ("--set", "safety.weight=-1", "--label", "flipped")
    done = plaudit("rescore", "roadsense", "rewards.db", "--reward", "roadsense", *changed)
    assert done.exit_code == 0, done.stderr
    assert "with roadsense@flipped" in done.stdout
    found = plaudit("ledger", "history", "rewards.db", "--version", "flipped")
    assert "No record was found. Re-scored records are shown with --job 1." in found.stderr
    assert "roadsense@flipped" in plaudit("ledger", "history", "rewards.db", "--job", "1").stdout


def test_records_that_lack_an_input_are_told_beforehand(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(built_in("roadsense").score(distance=5.0, deceleration=0.0, action=0))
    done = plaudit("rescore", "roadsense@R8", "rewards.db")
    assert done.exit_code == 2
    assert "1 record of roadsense@R0 lacks closing_rate; left out." in done.stderr


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_stopped_leaves_nothing(process, tmp_path, many_rows, number, code):
    os.link(many_rows, tmp_path / "rows.parquet")
    running = process("rescore", "roadsense", "rows.parquet", "--output", "out.parquet")
    while not any(path.name.endswith(".part") and path.stat().st_size for path in tmp_path.iterdir()):
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    running.send_signal(number)
    _, stderr = running.communicate()
    assert running.returncode == code, stderr
    assert b"Traceback" not in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_terminal_sees_a_bar(tmp_path, terminal):
    many = pa.concat_tables([pa.table(ROWS)] * 100_000).combine_chunks()
    pq.write_table(many, tmp_path / "rows.parquet")
    code, _, drawn = terminal("rescore", "roadsense", "rows.parquet")
    assert code == 0
    assert b"rows.parquet" in drawn
    assert b"400000" in drawn


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_engines_beyond_one_process_are_called(plaudit, rows, tmp_path, monkeypatch, engine):
    from plaudit.ledger.dataset import FileRescoring

    asked = {}

    def pretend(reward, source, target, **options):
        asked.update(options, source=source, target=target)
        return FileRescoring(f"{reward.name}@{reward.version}", "f", source, target, engine, rows=4)

    import importlib

    module = importlib.import_module(f"plaudit.adapters.{engine}")
    monkeypatch.setattr(module, f"rescore_with_{engine}", pretend)
    done = plaudit("rescore", "roadsense", rows, "--engine", engine, "--output", "out", "--keep", "kind")
    assert done.exit_code == 0
    assert asked["target"] == "out"
    assert asked["keep"] == ("kind",)


def test_a_ledger_is_rescored_as_recorded_or_in_float64(plaudit, tmp_path):
    @term
    def fast(speed):
        return speed if speed > 0.1 else 0.0

    reward = Reward("racing", version="1", terms=[fast], fields=[Field("speed", low=-1, high=1)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {"speed": np.array([0.5, 0.1], np.float32)}, target="torch")
    (tmp_path / "again.json").write_text(reward.with_version("again").to_json())
    done = plaudit("rescore", "again.json", "rewards.db", "--as-recorded", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["changes"]["unchanged"] == 2
    done = plaudit("rescore", "again.json", "rewards.db")
    assert "1 of them fell on the other side of a threshold: record 2." in done.stdout
    pq.write_table(pa.table({"speed": [0.5]}), tmp_path / "rows.parquet")
    done = plaudit("rescore", "again.json", "rows.parquet", "--as-recorded")
    assert done.exit_code == 2
    assert "--as-recorded is for a ledger, and this is a data set." in done.stderr
