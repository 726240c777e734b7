"""`plaudit run apex`: the example at the terminal."""

import json
import os
import signal
import time

import pytest

from plaudit.ledger.ledger import Ledger
from plaudit.systems.apex import DecisionRow, Switch
from plaudit.systems.apex.commands import _describe_switch
from plaudit.terminal import ExitCode

pytestmark = pytest.mark.usefixtures("remembered_runs")


def test_an_episode_is_shown_step_by_step_and_the_same_seed_shows_the_same(plaudit):
    done = plaudit("run", "apex")
    assert done.exit_code == 0, done.stderr
    for text in ("apex@explicit, seed 7", "switched", "10/10", "all tests pass", "for 10 advances"):
        assert text in done.stdout
    steps, again = (plaudit("run", "apex", "--steps", 2, *seed).stdout for seed in ((), ("--seed", 7)))
    assert again == steps  # 7 is the default
    assert "refused: dwell" in plaudit("run", "apex", "--seed", 3, "--steps", 2).stdout


def test_json_has_everything_but_times(plaudit):
    first, second = (plaudit("run", "apex", "--json", "--steps", 2, "--seed", 2) for _ in range(2))
    assert first.stdout == second.stdout
    data = json.loads(first.stdout)
    (episode,) = data["episodes"]
    assert data["seed"] == 2
    assert [step["decision"]["step"] for step in episode["steps"]] == [1, 2]
    assert not {"ms", "tick_ms"} & set(episode["steps"][0]["decision"])
    assert episode["steps"][0]["decision"]["probability"] > 0
    assert episode["earned"] == pytest.approx(
        sum(step["reward"]["r_step"] for step in episode["steps"]) + episode["end"]["r_step"]
    )
    assert episode["messages"][0]["sender"] == "system"


def test_a_folder_keeps_the_run_and_the_next_goes_on(plaudit, tmp_path):
    first = plaudit("run", "apex", "--steps", 2, "--output", "runs/a", "--messages")
    assert "learner.json trained on 2 decisions" in first.stdout
    assert "Make the tests pass" in first.stdout
    second = plaudit("run", "apex", "--steps", 2, "--output", "runs/a", "--episodes", 2)
    assert [line.split()[0] for line in second.stdout.splitlines()[4:6]] == ["2", "3"]
    assert "6 decisions" in second.stdout
    with Ledger(tmp_path / "runs" / "a" / "rewards.db") as ledger:
        assert {record.episode for record in ledger.history(run="coding")} == {"1", "2", "3"}
    wrong = plaudit("run", "apex", "--output", "runs/a", "--seed", 8)
    assert wrong.exit_code == ExitCode.FAILED
    assert wrong.stderr.startswith("Error: runs/a holds a run with seed 7, not 8.")


def test_denials_are_told(plaudit):
    shown = plaudit("run", "apex", "--budget", 300, "--steps", 5).stdout
    assert "denied: over the token budget" in shown
    assert "not done" in shown


@pytest.mark.slow  # a Ctrl-C leaves as little behind, and nobody is told anything here
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_run_that_is_terminated_leaves_nothing_behind(process, tmp_path):
    running = process("run", "apex", "--episodes", 50, "--output", "run", TMPDIR=str(tmp_path))
    until = time.monotonic() + 300
    while not (tmp_path / "run" / "artifacts" / "rewards.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    printed, told = running.communicate(timeout=300)
    assert (running.returncode, printed, told) == (ExitCode.TERMINATED, b"", b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_folder_without_a_name_is_refused(plaudit, tmp_path):
    done = plaudit("run", "apex", "--output", "")
    assert done.exit_code == ExitCode.FAILED
    assert "give a name, or omit the option" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_decision_has_taught(plaudit):
    assert "trained on 1 decision." in plaudit("run", "apex", "--steps", 1, "--output", "run").stdout


def test_numbers_are_never_cut(plaudit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = plaudit("run", "apex", "--steps", 2, "--budget", 5000).stdout
    assert "-0.0084" in shown
    assert "+0.2915" in shown


@pytest.mark.parametrize(
    ("error", "told"), [("dwell", "refused: dwell"), ("quiesce_timeout", "aborted: quiesce_timeout")]
)
def test_a_switch_that_was_called_off_was_not_refused(error, told):
    switch = Switch(attempted=True, committed=False, epoch=0, error=error)
    row = DecisionRow(step=1, topology="star", x=[0.0] * 8, action="chain", epsilon=0.2, ms=0.1, switch=switch)
    assert _describe_switch(row) == told


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_says_what_is_kept(process, tmp_path):
    running = process("run", "apex", "--episodes", 50, "--output", "run", TMPDIR=str(tmp_path))
    until = time.monotonic() + 300
    while not (tmp_path / "run" / "artifacts" / "rewards.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=300)
    assert running.returncode == ExitCode.INTERRUPTED
    assert told.strip() == b"Stopped: run keeps the results so far; run again to resume."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
