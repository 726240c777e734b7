"""`plaudit ledger backup` and `compact`."""

import json

import pytest

from plaudit import Ledger
from plaudit.terminal import ExitCode


def test_a_backup_is_a_ledger_itself(plaudit, rewards):
    result = plaudit("ledger", "backup", "rewards.db", "-o", "copy.db")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("rewards.db copied to copy.db: ")
    assert "13 records" in plaudit("ledger", "verify", "copy.db").stdout


def test_a_backup_is_taken_while_others_write(plaudit, rewards):
    with Ledger(rewards) as ledger:
        record = ledger[13]
        ledger.record(record.signal)
        assert plaudit("ledger", "backup", "rewards.db", "-o", "copy.db").exit_code == 0
        ledger.record(record.signal)
    assert "14 records" in plaudit("ledger", "verify", "copy.db").stdout


def test_a_file_that_is_there_is_replaced_only_by_force(plaudit, rewards, write):
    write("copy.db", "precious")
    result = plaudit("ledger", "backup", "rewards.db", "-o", "copy.db")
    assert result.exit_code == ExitCode.FAILED
    assert "--force" in result.stderr
    found = json.loads(plaudit("ledger", "backup", "rewards.db", "-o", "copy.db", "--force", "--json").stdout)
    assert (found["ledger"], found["output"]) == ("rewards.db", "copy.db")
    assert plaudit("ledger", "verify", "copy.db").exit_code == 0


@pytest.mark.parametrize("file", ["rewards.db", ".", "no/copy.db"])
def test_a_backup_that_cannot_be_made_is_told(plaudit, rewards, file):
    result = plaudit("ledger", "backup", "rewards.db", "-o", file, "--force")
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert plaudit("ledger", "verify", "rewards.db").exit_code == 0


def test_compacting_changes_no_record(plaudit, rewards):
    with Ledger(rewards, read_only=True) as ledger:
        before = [record.to_dict() for record in ledger.history()]
    result = plaudit("ledger", "compact", "rewards.db")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("rewards.db: ")
    found = json.loads(plaudit("ledger", "compact", "rewards.db", "--json").stdout)
    assert found["bytes"] <= found["bytes_before"]
    with Ledger(rewards, read_only=True) as ledger:
        assert [record.to_dict() for record in ledger.history()] == before
        assert ledger.verify().ok
