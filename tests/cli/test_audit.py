"""`plaudit audit` and `plaudit check --ledger`: what is printed, in every format, and with which exit code."""

import json

import numpy as np
import pytest

from plaudit import Ledger
from plaudit.plugins.arguments import find_reward
from support.histories import record_episodes

SOURCE = '''
from plaudit import Field, Reward, Task, term

@term(weight=0.05, kind="shaping")
def closer(prev, curr):
    """Come closer to the exit."""
    return max(0.0, prev.cells_left - curr.cells_left)

@term(weight=-0.01, kind="penalty")
def price():
    """A price for every step."""
    return 1.0

@term(kind="goal")
def exit(left):
    """Leave the maze."""
    if left:
        return 1.0
    return 0.0

def is_out(left):
    """Return whether the maze is left."""
    return left

cells = Field("cells_left", low=0, high=40)
task = Task(goal=is_out, states=["cells_left"], max_change={"cells_left": 1})
reward = Reward("maze", version="1", terms=[closer, price, exit], fields=[cells, Field("left", flag=True)], task=task)
'''


def walk(places, left):
    places = np.asarray(places, np.float64)
    last = np.arange(1, len(places)) == len(places) - 1
    return {"prev.cells_left": places[:-1], "curr.cells_left": places[1:], "left": last & left}


OUT = walk(np.arange(40, -1, -1), True)
ROUND = walk([10, *[9, 10] * 100], False)


@pytest.fixture
def maze(tmp_path):
    path = tmp_path / "maze.py"
    path.write_text(SOURCE)
    return f"{path}:reward"


@pytest.fixture
def ledger(tmp_path, maze):
    """A run that leaves the maze, and one that goes round."""
    path = tmp_path / "rewards.db"
    with Ledger(path) as opened:
        record_episodes(opened, find_reward(maze), [OUT] * 25, run="honest")
        record_episodes(opened, find_reward(maze), [ROUND] * 25, run="laps")
    return str(path)


def test_what_happened_is_told_with_records_that_can_be_opened(plaudit, ledger):
    done = plaudit("audit", ledger, "--run", "laps")
    assert done.exit_code == 1, done.stderr
    assert "warning  walked-laps  total" in done.stdout
    assert f"Read: 5,000 steps of 25 episodes in {ledger}." in done.stdout.replace("\n", " ")
    assert "branch-not-taken" in done.stdout
    found = json.loads(plaudit("audit", ledger, "--run", "laps", "--json").stdout)["rewards"][0]["findings"]
    number = next(each for each in found if each["code"] == "walked-laps")["witness"][0]["record"]
    why = plaudit("ledger", "why", ledger, str(number))
    assert why.exit_code == 0
    assert "run='laps'" in why.stdout


def test_an_honest_run_is_no_alarm(plaudit, ledger):
    done = plaudit("audit", ledger, "--run", "honest")
    assert done.exit_code == 0, done.stdout
    assert "no findings" in done.stdout


def test_a_check_is_told_what_came_of_its_findings(plaudit, maze, ledger):
    done = plaudit("check", maze, "--ledger", ledger, "--run", "laps", "--only", "loop-that-pays", "--json")
    (finding,) = json.loads(done.stdout)["rewards"][0]["findings"]
    assert (
        "In the ledger, cycles that paid took 4,950 of 5,000 steps (99.0 %), in 25 of 25 episodes" in finding["message"]
    )
    assert finding["witness"][-1]["record"] > 1000
    done = plaudit("check", maze, "--ledger", ledger, "--run", "honest", "--only", "loop-that-pays")
    text = " ".join(done.stdout.split())
    assert "No episode went around a cycle like this often enough to count, in 1,000 recorded steps." in text
    assert "walked-laps" not in text


def test_a_check_with_a_ledger_finds_what_only_a_history_shows(plaudit, maze, ledger):
    done = plaudit(
        "check", maze, "--ledger", ledger, "--run", "laps", "--only", "walked-laps", "--only", "one-term-paid"
    )
    assert done.exit_code == 1
    assert "walked-laps" in done.stdout
    assert "one-term-paid  closer" in done.stdout
    assert "loop-that-pays" not in done.stdout


@pytest.mark.parametrize("form", ["sarif", "github"])
def test_every_format_has_the_findings(plaudit, ledger, form):
    done = plaudit("audit", ledger, "--run", "laps", "--format", form)
    assert done.exit_code == 1
    assert "walked-laps" in done.stdout
    if form == "sarif":
        (run,) = json.loads(done.stdout)["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        (result,) = [each for each in run["results"] if each["ruleId"] == "walked-laps"]
        assert rules[result["ruleIndex"]] == "walked-laps"
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("rewards.db")


def test_named_episodes_of_a_ledger_are_outcomes(plaudit, maze, ledger):
    given = f"{ledger}#laps/3=went round,{ledger}#honest/7=left"
    done = plaudit("check", maze, "--outcomes", given, "--only", "outcome-order")
    assert done.exit_code == 1
    assert "'went round' earns 3, more than 'left' with 2.6, although it is the worse outcome." in " ".join(
        done.stdout.split()
    )
    other = f"{ledger}#honest/7=left,{ledger}#laps/3=went round"
    assert plaudit("check", maze, "--outcomes", other, "--only", "outcome-order").exit_code == 0


def test_outcomes_that_are_not_there_are_said(plaudit, maze, ledger):
    done = plaudit("check", maze, "--outcomes", f"{ledger}#laps/99=a,{ledger}#honest/7=b")
    assert done.exit_code == 2
    assert "has no episode 'laps/99'. Did you mean 'laps/9'" in done.stderr
    done = plaudit("check", maze, "--outcomes", f"{ledger}#laps/9=a,{ledger}#honest/7=a")
    assert "'a' is given twice" in done.stderr
    done = plaudit("check", maze, "--outcomes", f"#laps/9=a,{ledger}#honest/7=b")
    assert "write an episode as LEDGER#run/episode=name" in done.stderr


def test_wrong_usage_is_said_before_anything_is_read(plaudit, maze, ledger, tmp_path):
    for arguments, message in (
        (("audit",), "name a SOURCE"),
        (("audit", ledger, "--run", "lap"), "Did you mean --run laps?"),
        (("audit", ledger, "--run", "typo"), "No matching records. The ledger has --run honest, laps."),
        (("audit", ledger, "--reward", maze), "No matching records. The ledger has --reward maze."),
        (("audit", ledger, "--threshold", "lap=3"), "there is no threshold 'lap'. Did you mean 'laps'"),
        (("audit", ledger, "--only", "jump"), "there is no rule 'jump'"),
        (("audit", str(tmp_path / "no.db")), "no.db"),
        (("check", maze, "--ledger", str(tmp_path / "no.db")), "no.db"),
        (("check", maze, "--run", "laps"), "--run selects records of a ledger"),
        (("check", maze, "--only", "walked-laps"), "walked-laps needs recorded steps"),
    ):
        done = plaudit(*arguments)
        assert done.exit_code == 2, (arguments, done.stdout)
        assert message in done.stderr


def test_a_threshold_is_set_on_the_command_line(plaudit, ledger):
    done = plaudit("audit", ledger, "--run", "laps", "--threshold", "laps=5000", "--only", "walked-laps")
    assert done.exit_code == 0


def test_rules_are_listed_and_explained(plaudit):
    listed = json.loads(plaudit("audit", "--rules", "--json").stdout)
    assert {"code": "spike", "severity": "warning"}.items() <= {each["code"]: each for each in listed}["spike"].items()
    assert "docs/reference/audit-rules/spike.md" in plaudit("audit", "--explain", "spike").stdout
    assert "docs/reference/audit-rules/spike.md" in plaudit("check", "--explain", "spike").stdout


def test_what_the_end_paid_counts_in_an_outcome(plaudit, tmp_path):
    path = tmp_path / "arm.py"
    path.write_text(
        "from plaudit import Field, Reward, term\n"
        "@term\n"
        "def push(force):\n"
        "    return force\n"
        "@term(terminal=True)\n"
        "def landing(landed):\n"
        "    return 10.0 if landed else -10.0\n"
        "fields = [Field('force', low=0, high=9), Field('landed', flag=True)]\n"
        "reward = Reward('arm', version='1', terms=[push, landing], fields=fields)\n"
    )
    reward = find_reward(f"{path}:reward")
    with Ledger(tmp_path / "arm.db") as ledger:
        for episode, landed in (("hit", False), ("down", True)):
            for step in range(3):
                signal = reward.score(force=1.0 if landed else 9.0, terminal=False)
                ledger.record(signal, run="r", episode=episode, step=step)
            ledger.record(reward.score_terminal(landed=landed), run="r", episode=episode, step=3)
        assert [each.total for each in ledger.episodes()] == [17.0, 13.0]
    named = f"{tmp_path / 'arm.db'}#r/hit=crash,{tmp_path / 'arm.db'}#r/down=landed"
    done = plaudit("check", f"{path}:reward", "--outcomes", named, "--only", "outcome-order")
    assert "'crash' earns 17, more than 'landed' with 13" in " ".join(done.stdout.split())
