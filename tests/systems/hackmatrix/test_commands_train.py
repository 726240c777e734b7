"""`plaudit train hackmatrix`: options, files, interruption, going on, reports. What is trained is a toy, which compiles quickly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plaudit import Ledger
from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.commands import training_run
from plaudit.systems.hackmatrix.training import begin, load, read_info
from support.forking import PythonProcess, kill_running
from support.hackmatrix_model.toy import jax, toy
from support.interrupted import ctrl_c_after

SMALL = (
    "--envs",
    8,
    "--rollout",
    4,
    "--steps",
    128,
    "--hidden",
    "4",
    "--epochs",
    1,
    "--lr",
    0.003,
    "--episodes",
    16,
    "--no-tensorboard",
)
"""The settings of test_run.py, so that both train with the same program."""


@pytest.fixture
def training(plaudit, monkeypatch):
    """Run `plaudit train hackmatrix` on a toy."""
    monkeypatch.setattr(training_run, "build_games", lambda reward, **options: toy())

    def run(*arguments, small=SMALL):
        return plaudit("train", "hackmatrix", *small, *arguments)

    return run


def test_a_run_prints_a_report_and_keeps_everything_in_its_folder(training, tmp_path):
    done = training("--output", "runs/first")
    assert done.exit_code == 0, done.stderr
    for text in (
        "sampled",
        "ended on stage",
        "siphon_death_penalty",
        "healthy",
        "16 episodes each, paid by hackmatrix@1.0.0",
        "128 steps",
    ):
        assert text in done.stdout
    folder = tmp_path / "runs" / "first"
    assert sorted(os.listdir(folder)) == [".lock", "checkpoint.npz", "log.jsonl", "policy.npz", "report.json"]
    report = json.loads((folder / "report.json").read_text())
    assert report["updates"] == 4
    assert report["evaluation"]["1.0.0"]["greedy"]["episodes"] == 16


def test_the_folder_is_named_for_the_reward_and_the_seed(training, tmp_path):
    assert training("--seed", 3, "--reward", "potential").exit_code == 0
    assert (tmp_path / "runs" / "hackmatrix-potential-3" / "report.json").exists()


def test_json_is_the_report(training, tmp_path):
    done = training("--output", "run", "--json", "--quiet")
    assert json.loads(done.stdout) == json.loads((tmp_path / "run" / "report.json").read_text())
    assert done.stderr == ""


def test_every_reward_is_also_evaluated_by_the_standard_one(training):
    report = json.loads(training("--reward", "potential", "--json").stdout)
    assert list(report["evaluation"]) == ["1.0.0", "potential"]
    assert report["reward"]["fingerprint"] == hackmatrix.version("potential").fingerprint


def test_a_reward_of_ones_own_can_pay(training, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from plaudit.systems import hackmatrix\n"
        "reward = hackmatrix.reward.with_params({'kills.weight': 1.0}).with_version('fierce')\n"
    )
    report = json.loads(training("--reward", "mine.py:reward", "--json").stdout)
    assert report["reward"]["version"] == "fierce"
    assert list(report["evaluation"]) == ["1.0.0", "fierce"]


def test_progress_is_told_in_lines_where_there_is_no_terminal(training):
    told = training().stderr
    assert "update 4 of 4: return" in told
    assert "steps/s" in told


def test_a_complete_run_can_be_reported_again(training):
    first = json.loads(training("--output", "run", "--json").stdout)
    again = training("--output", "run", "--resume", "--json", "--episodes", 16, small=())
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["evaluation"] == first["evaluation"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--resume",), "--resume needs the folder of the run"),
        (("--resume", "--output", "nowhere"), "nowhere/checkpoint.npz does not exist"),
        (("--resume", "--output", "run", "--preset", "cpu"), "--preset is for a new run"),
        (("--reward", "potentail"), "Did you mean 'potential'"),
        (("--reward", "roadsense@R0"), "reward 'roadsense' reads 'distance', which the game does not measure"),
        (("--hidden", "8;8"), "write integers separated by commas"),
        (("--minibatches", 5), "does not divide into 5 equal minibatches"),
        (("--lr", "nan"), "learning_rate=nan must be above 0"),
        (("--envs", 0), "x>=1"),
        (("--output", "a/file/run"), "cannot be created"),
    ],
)
def test_what_cannot_be_done_is_told_and_exits_with_2(training, tmp_path, arguments, told):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("")
    done = training(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_is_not_overwritten(training, tmp_path):
    training("--output", "run")
    before = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    done = training("--output", "run")
    assert done.exit_code == 2
    assert "already holds a run" in done.stderr
    assert (tmp_path / "run" / "checkpoint.npz").read_bytes() == before


@pytest.mark.parametrize("option", [("--lr", "0.1"), ("--seed", "5"), ("--reward", "potential"), ("--steps", 10**6)])
def test_a_run_goes_on_only_as_it_began(training, option):
    training("--output", "run")
    done = training("--output", "run", "--resume", *option, small=())
    assert done.exit_code == 2
    assert "was trained" in done.stderr


def test_a_damaged_checkpoint_is_told(training, tmp_path):
    training("--output", "run")
    path = tmp_path / "run" / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:-100])
    done = training("--output", "run", "--resume", small=())
    assert done.exit_code == 2
    assert "is damaged or not a checkpoint" in done.stderr


def test_steps_of_evaluated_episodes_go_into_a_ledger(training, plaudit):
    assert training("--output", "run", "--ledger", "rewards.db", "--reward", "potential").exit_code == 0
    with Ledger("rewards.db", read_only=True) as ledger:
        assert ledger.verify().ok
        steps = list(ledger.history(run="run", actor="greedy", phase="evaluation", reward="hackmatrix", episode="2"))
        assert [record.step for record in steps] == [1, 2, 3, 4]
        assert steps[0].context == {"trained_steps": 128}
        assert ledger.history(run="run").count() == 2 * 8 * 4
    why = plaudit("ledger", "why", "rewards.db", "1")
    assert "hackmatrix potential" in why.stdout
    assert "kills" in why.stdout


def test_a_ledger_in_which_the_label_means_another_formula_is_told_before_the_run(training, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.register(hackmatrix.reward.with_params({"kills.weight": 1.0}))
    done = training("--output", "run", "--ledger", "rewards.db")
    assert done.exit_code == 2
    assert "hackmatrix@1.0.0 belongs to another formula" in done.stderr
    assert not (tmp_path / "run").exists()


TOY = """
import sys
sys.path.insert(0, {tests!r})
from support.hasty_compiler import hasty_compiler
from support.hackmatrix_model.toy import toy
from plaudit.cli import main
from plaudit.systems.hackmatrix.commands import training_run
training_run.build_games = lambda reward, **options: toy()
with hasty_compiler():
    main()
"""


@pytest.fixture
def endless(tmp_path):
    """Start a run of the toy without an end, as a process of its own; it has done some updates when it is returned."""
    started = []

    def start(*arguments):
        tests = str(Path(__file__).parents[2])
        settings = (
            *("--output", "run", "--steps", 10**9, "--no-decay"),
            *("--envs", 8, "--rollout", 4, "--hidden", "4", "--epochs", 1),
        )
        texts = [str(each) for each in ("train", "hackmatrix", *settings, "--no-tensorboard", *arguments)]
        command = [sys.executable, "-c", TOY.format(tests=tests), *texts]
        running = PythonProcess(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        started.append(running)
        log = tmp_path / "run" / "log.jsonl"
        while not log.exists() or log.read_text().count("\n") < 5:
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        return running

    yield start
    kill_running(started)


def kept(tmp_path):
    """Return how many updates the checkpoint of a run has; one that is not whole raises."""
    path = tmp_path / "run" / "checkpoint.npz"
    load(path, jax.eval_shape(lambda: begin(read_info(path).config, toy())))
    return read_info(path).update


def test_a_ctrl_c_keeps_the_run_and_says_how_to_go_on(training, tmp_path):
    with ctrl_c_after(2, training_run):
        done = training("--output", "run", "--save-every", 10**6)
    assert done.exit_code == 130, done.output
    assert "plaudit train hackmatrix --output run --resume" in done.stderr
    assert kept(tmp_path) == len((tmp_path / "run" / "log.jsonl").read_text().splitlines()) == 2
    again = training("--output", "run", "--resume", small=("--episodes", 16, "--no-tensorboard", "--json"))
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["updates"] == 4


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_run_that_is_stopped_is_kept_and_says_how_to_go_on(training, endless, tmp_path):
    running = endless("--save-every", 10**6)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "Stopping after this update" in told
    assert "plaudit train hackmatrix --output run --resume" in told
    done = kept(tmp_path)
    assert len((tmp_path / "run" / "log.jsonl").read_text().splitlines()) == done >= 5
    more = ("--steps", 8 * 4 * (done + 1), "--episodes", 16, "--no-tensorboard", "--json")
    again = training("--output", "run", "--resume", small=more)
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["updates"] == done + 1


@pytest.mark.slow  # checkpoints are written by AtomicPath, whose writers are killed in test_atomic.py
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_the_last_checkpoint_is_whole_however_a_run_ends(endless, tmp_path, number, code):
    running = endless("--save-every", 1)
    running.send_signal(number)
    running.communicate(timeout=300)
    assert running.returncode == code
    assert kept(tmp_path) >= 4


def test_without_the_libraries_the_extra_is_named(plaudit, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("plaudit.systems.hackmatrix.commands.training_run")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("plaudit.systems.hackmatrix.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optax", None)
    done = plaudit("train", "hackmatrix")
    assert done.exit_code == 2
    assert "training needs optax. Install it: pip install 'plaudit[train]'" in done.stderr
