"""`plaudit ledger export` and `import`."""

import csv
import json
import os
import signal
import time
from contextlib import suppress

import pytest

from plaudit import Ledger
from plaudit.terminal import ExitCode
from support.command_line import DRIVE
from support.ledgers import seal_export
from support.samples import EPISODES, following, research


def test_what_is_exported_can_be_imported_and_adds_nothing_a_second_time(plaudit, rewards, tmp_path):
    result = plaudit("ledger", "export", "rewards.db", "-o", "all.jsonl")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "13 records written to all.jsonl.\n")
    result = plaudit("ledger", "import", "copy.db", "all.jsonl")
    assert (result.exit_code, result.stderr) == (0, "13 records imported from all.jsonl into copy.db.\n")
    assert (
        plaudit("ledger", "import", "copy.db", "all.jsonl").stderr == "copy.db already had every record of all.jsonl.\n"
    )
    with Ledger(rewards, read_only=True) as ledger, Ledger(tmp_path / "copy.db", read_only=True) as copy:
        pairs = list(zip(ledger.history(), copy.history(), strict=True))
        assert all((a.signal, a.at, a.context) == (b.signal, b.at, b.context) for a, b in pairs)
        assert copy.verify().ok


def test_json_tells_the_outcome(plaudit, rewards):
    exported = json.loads(plaudit("ledger", "export", "rewards.db", "-o", "x.jsonl", "--run", "day-1", "--json").stdout)
    assert exported == {"ledger": "rewards.db", "output": "x.jsonl", "format": "jsonl", "records": 1}
    imported = json.loads(plaudit("ledger", "import", "copy.db", "x.jsonl", "--json").stdout)
    assert imported == {"ledger": "copy.db", "file": "x.jsonl", "records": 1, "quarantined": 0}


def test_parquet_has_columns(plaudit, rewards, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    result = plaudit("ledger", "export", "rewards.db", "-o", "x.table", "--format", "parquet", "--run", "night-3")
    assert result.stderr == "12 records written to x.table.\n"
    assert parquet.read_table(tmp_path / "x.table").num_rows == 12


def test_csv_has_the_columns_of_parquet_and_whole_numbers_are_written_whole(plaudit, rewards, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for file in ("x.csv", "x.parquet"):
        assert plaudit("ledger", "export", "rewards.db", "-o", file, "--run", "night-3").exit_code == 0
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = parquet.read_table(tmp_path / "x.parquet")
    assert list(rows[0]) == table.column_names
    assert [float(row["total"]) for row in rows] == table["total"].to_pylist()
    assert [row["record.step"] for row in rows] == [str(step) for step in range(12)]
    assert rows[0]["record.id"] == "1"


def test_parquet_holds_one_reward(plaudit, rewards, names):
    pytest.importorskip("pyarrow")
    with Ledger(rewards) as ledger:
        ledger.record(research.score(**EPISODES["research"][0]))
    result = plaudit("ledger", "export", "rewards.db", "-o", "x.parquet")
    assert result.exit_code == ExitCode.FAILED
    assert "several rewards" in result.stderr
    assert names() == ["rewards.db"]
    assert plaudit("ledger", "export", "rewards.db", "-o", "x.parquet", "--reward", "following").exit_code == 0


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("x.txt", "does not end in .jsonl, .csv or .parquet"),
        ("x", "--format"),
        ("-", "`plaudit ledger history --json` prints records"),
        ("no/x.jsonl", "there is no folder"),
        ("folder.jsonl", "is a directory"),
    ],
)
def test_what_cannot_be_written_is_told(plaudit, rewards, tmp_path, names, file, told):
    (tmp_path / "folder.jsonl").mkdir()
    result = plaudit("ledger", "export", "rewards.db", "-o", file)
    assert result.exit_code == ExitCode.FAILED
    assert told in result.stderr
    assert names() == ["folder.jsonl", "rewards.db"]


def test_where_options_choose_no_record_nothing_is_written(plaudit, rewards, names):
    result = plaudit("ledger", "export", "rewards.db", "-o", "x.jsonl", "--run", "nigth-3")
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr == "Error: No matching records. Did you mean --run night-3?\n"
    assert names() == ["rewards.db"]


@pytest.mark.parametrize("file", ["rewards.db", "./rewards.db", "link.db", "rewards.db-wal", "rewards.db.lock"])
def test_an_export_never_replaces_the_ledger(plaudit, rewards, tmp_path, file):
    (tmp_path / "link.db").symlink_to(rewards)
    result = plaudit("ledger", "export", "rewards.db", "-o", file, "--format", "jsonl", "--force")
    assert result.exit_code == ExitCode.FAILED
    assert "is part of the ledger itself" in result.stderr
    assert plaudit("ledger", "verify", "rewards.db").exit_code == 0


def test_a_file_that_cannot_be_imported_is_told_and_changes_nothing(plaudit, rewards, write, tmp_path):
    plaudit("ledger", "export", "rewards.db", "-o", "all.jsonl")
    whole = (tmp_path / "all.jsonl").read_bytes()
    write("text.jsonl", "hello")
    (tmp_path / "cut.jsonl").write_bytes(whole[:-40])
    (tmp_path / "edited.jsonl").write_bytes(whole.replace(b'"step": 3', b'"step": 9'))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    for name in ("text.jsonl", "cut.jsonl", "edited.jsonl", "empty.jsonl", "rewards.db"):
        result = plaudit("ledger", "import", "rewards.db", name)
        assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
        assert f"Error: {name} is " in result.stderr
    with Ledger(rewards, read_only=True) as ledger:
        assert ledger.history().count() == 13


def test_a_file_that_is_not_there_makes_no_ledger(plaudit, rewards, names):
    result = plaudit("ledger", "import", "copy.db", "rewards.jsonl")
    assert result.exit_code == ExitCode.FAILED
    assert "rewards.jsonl does not exist" in result.stderr
    assert names() == ["rewards.db"]


def test_a_record_that_does_not_recompute_is_refused_or_kept_apart(plaudit, rewards, tmp_path):
    plaudit("ledger", "export", "rewards.db", "-o", "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text().splitlines()[:-1]
    forged = json.loads(lines[-1])
    forged["record"]["signal"]["total"] += 1
    (tmp_path / "all.jsonl").write_text(seal_export([*lines[:-1], json.dumps(forged)]))
    result = plaudit("ledger", "import", "copy.db", "all.jsonl")
    assert result.exit_code == ExitCode.FAILED
    assert f"all.jsonl, line {len(lines)}: the record from " in result.stderr
    assert plaudit("ledger", "quarantine", "copy.db").stderr == "No quarantined records.\n"
    result = plaudit("ledger", "import", "copy.db", "all.jsonl", "--quarantine")
    added = "12 records imported from all.jsonl into copy.db. 1 record quarantined: plaudit ledger quarantine copy.db\n"
    assert (result.exit_code, result.stderr) == (0, added)
    result = plaudit("ledger", "import", "copy.db", "all.jsonl", "--quarantine")
    assert result.stderr == "copy.db already had every record of all.jsonl.\n"
    result = plaudit("ledger", "quarantine", "copy.db")
    assert result.stdout.startswith(f"1  all.jsonl, line {len(lines)}: total is ")
    apart = json.loads(plaudit("ledger", "quarantine", "copy.db", "--json").stdout)
    assert apart["record"] == forged["record"]
    assert json.loads(plaudit("ledger", "stats", "copy.db", "--json").stdout)["quarantined"] == 1
    assert plaudit("ledger", "verify", "copy.db").exit_code == 0


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_what_is_no_file_is_refused_at_once_and_makes_no_ledger(plaudit, rewards, tmp_path, names):
    os.mkfifo(tmp_path / "pipe")
    for file in ("/dev/zero", "pipe"):
        result = plaudit("ledger", "import", "copy.db", file)
        assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
        assert f"{file} cannot be imported: it is not a regular file" in result.stderr
    assert names() == ["pipe", "rewards.db"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_an_export_that_is_stopped_leaves_nothing_behind(process, tmp_path, number, code):
    columns = {name: [row[name] for row in DRIVE] * 6_000 for name in DRIVE[0]}
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(following, columns)
    running = process("ledger", "export", "rewards.db", "-o", "all.jsonl")
    while not any(name.endswith(".part") for name in os.listdir(tmp_path)):
        assert running.poll() is None, running.communicate()
        time.sleep(0.005)
    running.send_signal(number)
    assert running.wait(timeout=300) == code
    for stream in (running.stdin, running.stdout, running.stderr):
        with suppress(BrokenPipeError):
            stream.close()
    assert not any(name.endswith((".part", ".jsonl")) for name in os.listdir(tmp_path))
