"""`plaudit ledger attribution`, and the branches of `plaudit ledger why`."""

import json

import pytest

from plaudit import Ledger
from plaudit.terminal import ExitCode
from support.command_line import DRIVE
from support.samples import following


@pytest.fixture
def two(rewards):
    """The ledger with a second episode of the same run."""
    with Ledger(rewards) as ledger:
        for step, row in enumerate(DRIVE[::-1]):
            ledger.record(following.score(**row), run="night-3", episode=8, step=step)
    return rewards


def test_shares_of_a_run_add_up(plaudit, two):
    found = json.loads(plaudit("ledger", "attribution", "rewards.db", "--run", "night-3", "--json").stdout)
    assert (found["episodes"], len(found["bins"])) == (2, 1)
    assert sum(each["share"] for each in found["terms"]) == pytest.approx(1)
    shown = plaudit("ledger", "attribution", "rewards.db", "--run", "night-3")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"following@{following.version}, 2 episodes: mean return ")


def test_two_episodes_are_laid_side_by_side(plaudit, two):
    asked = ("ledger", "attribution", "rewards.db", "--run", "night-3", "--between", "7", "8")
    found = json.loads(plaudit(*asked, "--json").stdout)
    assert [each["step"] for each in found["steps"]] == list(range(len(DRIVE)))
    assert sum(each["gap"] for each in found["steps"]) == pytest.approx(found["gap"], abs=1e-9)
    assert "The steps with the largest gaps:" in plaudit(*asked).stdout


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--run", "nigth-3"), ExitCode.FAILED, "night-3"),
        (("--between", "7", "9"), ExitCode.FAILED, "no record with episode='9'"),
        (("--bins", "0"), ExitCode.FAILED, "--bins"),
        (("--between", "7"), ExitCode.FAILED, "--between"),
    ],
)
def test_what_cannot_be_attributed_is_told(plaudit, two, options, code, told):
    result = plaudit("ledger", "attribution", "rewards.db", *options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


def test_why_tells_how_far_the_nearest_branch_is(plaudit, rewards):
    found = json.loads(plaudit("ledger", "why", "rewards.db", "13", "--branches", "--json").stdout)
    (safety, *_) = found["branches"]["terms"]
    assert safety["conditions"]
    assert all(each["to"] != each["from"] for each in safety["nearest"])
    assert ": it would pay " in plaudit("ledger", "why", "rewards.db", "13", "--branches").stdout
