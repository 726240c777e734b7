"""`plaudit observe`: a table of what was seen, a file, JSON, recorded steps, exit codes and wrong usage."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plaudit import Ledger, Task
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import observe
from support.gliders import Glider, features, gliding

ENV = "support.gliders:Glider"
FEATURES = "support.gliders:features"


def test_what_was_seen_is_printed_and_written(plaudit, tmp_path):
    done = plaudit("observe", ENV, "--features", FEATURES, "--steps", 3000, "-o", "task.json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Glider, 3,000 steps of ")
    assert "changes by v × 0.5" in done.stdout
    assert "Written to task.json." in done.stdout
    assert Task.load("task.json").monotone == {"fuel": "down"}
    for part, name, _ in Task.load("task.json").list_statements():
        lines = [line for line in done.stdout.splitlines() if line.startswith(part.replace("_", " ")) and name in line]
        assert any(" of " in line or "declared" in line for line in lines), (part, name)


def test_what_somebody_declared_in_the_file_is_kept_when_it_is_written_again(plaudit):
    asked = ("observe", ENV, "--steps", 500, "-o", "task.json")
    plaudit(*asked)
    first = Task.load("task.json")
    first.evolve(better={"fuel": "high"}, horizon=7, version="2").save("task.json")
    done = plaudit(*asked)
    again = Task.load("task.json")
    assert (again.better, again.horizon, again.version) == ({"fuel": "high"}, 7, "2")
    assert (again.states, again.source, again.find_basis("horizon")) == (first.states, first.source, "declared")
    said = " ".join(done.stdout.split())
    assert said.endswith("Written to task.json. Its declarations are kept: horizon, better.")
    first.save("task.json")
    plaudit(*asked)
    assert Task.load("task.json").to_json() == first.to_json()
    Path("task.json").write_text("notes")
    assert plaudit(*asked).stderr.startswith("Error: task.json: ")
    assert Path("task.json").read_text() == "notes"


def test_the_same_seed_writes_the_same_file(plaudit):
    for name, seed in (("one", 5), ("same", 5), ("other", 6)):
        assert plaudit("observe", ENV, "--steps", 500, "--seed", seed, "-o", f"{name}.json").exit_code == 0
    one, same, other = (Path(f"{name}.json").read_bytes() for name in ("one", "same", "other"))
    assert one == same
    assert one != other


def test_the_file_does_not_depend_on_the_order_of_sets(plaudit):
    """Which is another one in every process."""
    asked = ("observe", "Acrobot-v1", "--steps", "300", "--json")
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    elsewhere = [sys.executable, "-m", "plaudit", *asked]
    there = subprocess.run(elsewhere, env=environment, capture_output=True, text=True, check=True)
    assert there.stdout == plaudit(*asked).stdout


def test_json_is_for_scripts(plaudit):
    done = plaudit("observe", ENV, "--steps", 800, "--make", "limit=9", "--name", "gliding", "--json")
    assert done.exit_code == 0, done.stderr
    task = Task.from_json(done.stdout)
    assert (task.name, task.horizon) == ("gliding", 9)


def test_recorded_steps_are_read_from_a_ledger_and_from_a_file(plaudit):
    with Ledger("rewards.db") as ledger:
        env = RewardWrapper(Glider(), gliding, features, ledger=ledger, run="night")
        played = observe(env, features, steps=2000).task
        env.close()
        ledger.export("steps.jsonl")
        ledger.export("steps.csv")
    done = plaudit("observe", "--ledger", "rewards.db", "--run", "night", "--json")
    assert Task.from_json(done.stdout).fingerprint == played.fingerprint
    done = plaudit("observe", "--ledger", "steps.csv", "--action", "force", "--json")
    assert Task.from_json(done.stdout).fingerprint == played.fingerprint
    done = plaudit("observe", "--ledger", "rewards.db", "--run", "nihgt")
    assert done.exit_code == 2
    assert "Did you mean run='night'?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name an environment, or recorded steps with --ledger"),
        ((ENV, "--ledger", "rewards.db"), "name an environment, or recorded steps with --ledger"),
        ((ENV, "--run", "night"), "--run needs --ledger"),
        ((ENV, "--action", "force"), "--action needs --ledger"),
        (("--ledger", "steps.csv", "--seed", "1"), "--seed needs ENV"),
        (("--ledger", "steps.csv", "--run", "night"), "--run needs a ledger"),
        (("--ledger", "rewards.db", "--features", FEATURES), "--features needs ENV"),
        (("--ledger", "rewards.db", "--action", "x"), "--action needs a file"),
        (("--ledger", "nothing.db"), "nothing.db"),
        (("--ledger", "nothing.csv"), "nothing.csv"),
        ((ENV, "--steps", "0"), "--steps"),
        ((ENV, "--make", "limit"), "--make limit: write NAME=VALUE"),
        ((ENV, "--features", "support.gliders:none"), "has no 'none'"),
        (("support.gliders:Nothing",), "Nothing"),
        ((ENV, "--make", "fail_at=50"), "failed in step 10 of 'idle'"),
        ((ENV, "--make", "nan_at=3"), "gave NaN as observation[0] in step 3 of 'idle' with seed 0"),
        ((ENV, "--idle", "[9]"), "idle=[9] is not an action of Box"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_2(plaudit, arguments, message):
    done = plaudit("observe", *arguments, "-o", "task.json")
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert not Path("task.json").exists()


def test_features_that_fail_are_one_message(plaudit, write):
    path = write("wrong.py", "def features(obs, action, next_obs, info):\n    return {'x': obs[7]}\n")
    done = plaudit("observe", ENV, "--features", path)
    assert done.exit_code == 2
    assert "the features raised IndexError" in done.stderr
    assert "in step 1 of 'idle' with seed 0" in done.stderr


def test_a_file_that_cannot_be_written_is_said(plaudit):
    done = plaudit("observe", ENV, "--steps", 200, "-o", "nowhere/task.json")
    assert done.exit_code == 2
    assert "nowhere" in done.stderr


def test_a_file_that_cannot_be_written_is_said_before_anything_is_played(plaudit, write):
    write("playing.py", "def make():\n    raise RuntimeError('played')\n")
    done = plaudit("observe", "playing.py:make", "-o", "missing/task.json")
    assert (done.exit_code, "there is no folder" in done.stderr) == (2, True)
    Path("kept.json").write_text("kept")
    assert plaudit("observe", "playing.py:make", "-o", "kept.json").exit_code == 2
    assert Path("kept.json").read_text() == "kept"
    assert not list(Path().glob(".kept*"))


def test_the_written_task_is_json_that_a_person_can_edit(plaudit):
    plaudit("observe", ENV, "--features", FEATURES, "--steps", 2000, "-o", "task.json")
    data = json.loads(Path("task.json").read_text())
    data["better"] = {"fuel": {"is": "high"}}
    Path("task.json").write_text(json.dumps(data))
    task = Task.load("task.json")
    assert task.find_basis("better", "fuel") == "declared"
    assert task.find_basis("rates", "x") == "seen"
