"""`plaudit ledger verify` and `stats`."""

import json
import sqlite3

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.ledger.storage import computation
from plaudit.terminal import ExitCode


def edit(path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE blocks SET steps = '[5]' WHERE first = 13")
    connection.close()


def test_a_ledger_that_nobody_touched_is_as_it_was_written(plaudit, rewards):
    result = plaudit("ledger", "verify", "rewards.db")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "rewards.db: 13 records in 2 blocks of 1 writer; 13 compared bit for bit.\nNo problems found.\n"
    )


def test_what_was_edited_is_shown_and_the_exit_code_says_so(plaudit, rewards):
    edit(rewards)
    result = plaudit("ledger", "verify", "rewards.db")
    assert result.exit_code == ExitCode.FOUND
    assert "1 problem:\n  edited  record 13: it changed after being written" in result.stdout


def test_json_lists_the_problems(plaudit, rewards):
    assert json.loads(plaudit("ledger", "verify", "rewards.db", "--json").stdout)["ok"] is True
    edit(rewards)
    result = plaudit("ledger", "verify", "rewards.db", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == ExitCode.FOUND
    assert (found["ok"], found["records"], found["found"]) == (False, 13, 1)
    assert [(problem["kind"], problem["id"]) for problem in found["problems"]] == [("edited", 13)]


def test_what_cannot_be_verified_has_another_exit_code(plaudit, write):
    write("damaged.db", "not a database")
    assert plaudit("ledger", "verify", "damaged.db").exit_code == ExitCode.FAILED
    assert plaudit("ledger", "verify", "reward.db").exit_code == ExitCode.FAILED


@pytest.mark.parametrize("command", [["verify"], ["stats"], ["export", "-o", "out.jsonl"], ["backup", "-o", "copy.db"]])
def test_a_terminal_sees_the_work_and_a_file_does_not(rewards, terminal, command):
    name, *rest = command
    code, printed, drawn = terminal("ledger", name, "rewards.db", *rest, "--json")
    assert code == 0
    assert b"\x1b" in drawn
    assert b"\x1b" not in printed
    assert json.loads(printed)


def test_stats_show_how_much_of_what_there_is(plaudit, rewards):
    result = plaudit("ledger", "stats", "rewards.db")
    assert result.exit_code == 0
    assert result.stdout.startswith("rewards.db: 13 records, ")
    assert "from 2026-11-01T12:00:00Z to 2026-11-02T12:00:00Z" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["following@1", "13", "-21.6154", "-103", "1"] in rows
    assert ["braking", "1", "1", "1", "1"] in rows
    with Ledger(rewards, read_only=True) as ledger:
        assert f"{ledger.stats().heads[0].checksum[:16]}…" in result.stdout


def test_stats_as_json_hold_the_ends_of_all_chains(plaudit, rewards):
    found = json.loads(plaudit("ledger", "stats", "rewards.db", "--json").stdout)
    assert (found["records"], found["jobs"], list(found["decision_classes"])) == (13, 0, ["braking"])
    assert [(len(head["checksum"]), head["records"]) for head in found["heads"]] == [(64, 13)]


def test_an_empty_ledger_has_stats_too(plaudit, tmp_path):
    Ledger(tmp_path / "empty.db").close()
    assert plaudit("ledger", "stats", "empty.db").stdout.startswith("empty.db: 0 records, ")
    assert json.loads(plaudit("ledger", "stats", "empty.db", "--json").stdout)["first"] is None
    assert plaudit("ledger", "verify", "empty.db").exit_code == 0
    assert plaudit("ledger", "history", "empty.db").stderr == "Error: No matching records.\n"


def test_stats_list_the_largest_classes_and_the_latest_writers(plaudit, rewards):
    from support.command_line import DRIVE
    from support.samples import following

    signal = following.score(**DRIVE[0])
    for at in range(25):
        with Ledger(rewards) as ledger:
            ledger.record(signal, decision_class=f"class {at}")
    shown = plaudit("ledger", "stats", "rewards.db").stdout
    assert "\n… and 6 others\n" in shown
    assert "\n… and 6 earlier writers\n" in shown


def test_what_cannot_be_recomputed_here_is_said_and_the_exit_code_too(plaudit, tmp_path, monkeypatch):
    @term
    def push(force):
        return force

    reward = Reward("pushing", version="1", terms=[push], fields=[Field("force")])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {"force": np.array([0.5, 0.25], np.float32)}, target="torch")
    assert plaudit("ledger", "verify", "rewards.db").exit_code == 0
    monkeypatch.setattr(computation, "find_spec", lambda name: None)
    result = plaudit("ledger", "verify", "rewards.db")
    assert result.exit_code == ExitCode.INCOMPLETE
    assert "2 records of the torch target not recomputed: it is not installed here." in result.stdout
