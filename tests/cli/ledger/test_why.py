"""`plaudit ledger why`."""

import json

import pytest

from plaudit import Ledger
from plaudit.terminal import ExitCode
from support.command_line import DRIVE
from support.samples import following


@pytest.mark.parametrize("name", ["13", "crash"])
def test_one_reward_is_shown_from_its_inputs_to_its_total(plaudit, rewards, name):
    result = plaudit("ledger", "why", "rewards.db", name)
    assert result.exit_code == 0
    assert result.stdout.startswith("record 13, 2026-11-02T12:00:00.000Z, written by process ")
    assert "run='day-1', episode='last', step=4, phase='drive', decision_class='braking'" in result.stdout
    assert following.score(**DRIVE[0]).explain() in result.stdout
    assert "\x1b" not in result.stdout


def test_json_is_the_whole_record(plaudit, rewards):
    found = json.loads(plaudit("ledger", "why", "rewards.db", "13", "--json").stdout)
    assert (found["id"], found["key"], found["context"]) == (13, "crash", {"seed": 5})
    assert set(found["recorded_by"]) == {"host", "process", "made_with"}


def test_a_key_may_look_like_a_number(plaudit, rewards):
    with Ledger(rewards) as ledger:
        number = ledger.record(following.score(**DRIVE[1]), key="2")
    assert plaudit("ledger", "why", "rewards.db", "2").stdout.startswith("record 2, ")
    assert plaudit("ledger", "why", "rewards.db", "2", "--key").stdout.startswith(f"record {number}, ")


@pytest.mark.parametrize(
    ("name", "told"),
    [("99", "the number 99."), ("crsh", "the key 'crsh'. Did you mean 'crash'?"), (str(10**30), ""), ("", "")],
)
def test_a_record_that_is_not_there_is_told(plaudit, rewards, name, told):
    result = plaudit("ledger", "why", "rewards.db", name)
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr.startswith("Error: ")
    assert told in result.stderr
