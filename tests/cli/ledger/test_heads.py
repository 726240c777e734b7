"""`plaudit ledger verify --heads`."""

import shutil

import pytest

from plaudit import Ledger
from support.command_line import DRIVE
from support.samples import following

SIGNALS = [following.score(**row) for row in DRIVE]


def recorded(path, signals):
    with Ledger(path) as ledger:
        ledger.record_many(signals)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"heads": [{}]}', '{"heads": [{"checksum": "xyz"}]}'])
def test_the_command_says_when_a_file_holds_no_heads(tmp_path, plaudit, text):
    recorded(tmp_path / "rewards.db", SIGNALS)
    (tmp_path / "heads.json").write_text(text)
    done = plaudit("ledger", "verify", str(tmp_path / "rewards.db"), "--heads", str(tmp_path / "heads.json"))
    assert done.exit_code == 2
    assert "holds no heads" in done.stderr


def test_the_command_takes_what_stats_printed(tmp_path, plaudit):
    recorded(tmp_path / "rewards.db", SIGNALS)
    (tmp_path / "heads.json").write_text(plaudit("ledger", "stats", str(tmp_path / "rewards.db"), "--json").stdout)
    asked = ("ledger", "verify", str(tmp_path / "rewards.db"), "--heads", str(tmp_path / "heads.json"))
    assert plaudit(*asked).exit_code == 0
    recorded(tmp_path / "better.db", SIGNALS[:1])
    shutil.move(tmp_path / "better.db", tmp_path / "rewards.db")
    assert plaudit(*asked).exit_code == 1
