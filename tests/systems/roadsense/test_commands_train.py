"""`plaudit train roadsense`: options, files, interruption, going on, reports; short runs on real SUMO."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from plaudit import Ledger
from plaudit.file_lock import lock_folder
from plaudit.systems import roadsense
from plaudit.systems.roadsense.commands import training_run
from support.forking import PythonProcess
from support.interrupted import ctrl_c_after

TINY = (
    *("--envs", 1, "--rollout", 32, "--minibatch", 16, "--epochs", 1, "--steps", 64, "--limit", 20),
    *("--episodes", 1, "--no-tensorboard"),
)

OWN = """
from plaudit import Field, Reward, term

@term
def near(distance: float) -> float:
    return -1.0 if distance < 15 else 0.0

reward = Reward("gap", version="2", terms=[near], fields=[Field("distance", low=0)])
"""


@pytest.fixture(autouse=True)
def short(monkeypatch, lent_sumo):
    """Cut evaluated episodes off after 5 steps, and drive on a SUMO that runs already."""
    monkeypatch.setattr(training_run, "evaluate_run", partial(training_run.evaluate_run, limit=5))
    with lent_sumo():
        yield


def train(plaudit, *arguments):
    return plaudit("train", "roadsense", *TINY, *arguments)


def test_a_run_prints_a_report_and_keeps_everything_in_its_folder(plaudit, tmp_path):
    done = train(plaudit, "--reward", "R8", "--seed", 3, "--ledger", "rewards.db", "--baselines")
    assert done.exit_code == 0, done.stderr
    assert "update 2 of 2: return" in done.stderr
    assert "steps/s" in done.stderr
    for text in ("15 episodes each, paid by roadsense@R8", "peers/rank", "5/3", "comfort", "64 steps"):
        assert text in done.stdout
    folder = tmp_path / "runs" / "roadsense-R8-3"
    assert sorted(os.listdir(folder)) == [".lock", "checkpoint.npz", "log.jsonl", "policy.npz", "report.json"]

    report = json.loads((folder / "report.json").read_text())
    assert (report["updates"], report["steps"]) == (2, 64)
    assert report["reward"]["fingerprint"] == roadsense.version("R8").fingerprint
    assert report["libraries"]["sumo"].startswith("1.")
    trained = report["evaluation"]["trained"]
    assert trained["all"]["episodes"] == len(trained["buckets"]) == 15
    assert set(trained["all"]["by_version"]) == set(roadsense.VERSIONS)
    assert trained["all"]["mean_return"] == pytest.approx(sum(trained["all"]["terms"].values()))
    assert trained["all"]["by_version"]["R8"] == pytest.approx(trained["all"]["mean_return"])
    assert {"exploring", "nothing", "park", "warned"} <= set(report["evaluation"])

    with Ledger("rewards.db", read_only=True) as ledger:
        assert ledger.verify().ok
        assert ledger.history(run="runs/roadsense-R8-3", actor="trained").count() == 15 * 5

    again = train(plaudit, "--output", folder, "--resume", "--json", "--quiet")
    assert again.exit_code == 0, again.stderr
    assert again.stderr == ""
    assert json.loads(again.stdout)["evaluation"]["trained"] == trained


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--resume",), "--resume needs the folder of the run"),
        (("--resume", "--output", "nowhere"), "nowhere/checkpoint.npz does not exist"),
        (("--reward", "R88"), "Did you mean 'R8'"),
        (("--reward", "hackmatrix@1.0.0"), "which the convoy does not measure"),
        (("--envs", 3), "does not divide into 3 equal parts"),
        (("--lr", "nan"), "learning_rate=nan must be above 0"),
        (("--radio", "loud"), "'loud' is not one of"),
        (("--hazards", 2), "hazards=2.0 must be between 0 and 1"),
        (("--output", "a/file/run"), "cannot be created"),
        (("--output", ""), "it is empty"),
        (("--ledger", " "), "it is empty"),
        (("--view", "player"), "No such option '--view'"),
    ],
)
def test_what_cannot_be_done_is_told_and_exits_with_2(plaudit, tmp_path, arguments, told):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("")
    done = train(plaudit, *arguments)
    assert done.exit_code == 2
    assert told in done.stderr.replace("No such option: --view", "No such option '--view'")
    assert "Traceback" not in done.stderr


def test_a_folder_in_which_another_run_is_at_work_is_left_alone(plaudit, tmp_path):
    with lock_folder(tmp_path / "busy"):
        done = train(plaudit, "--output", "busy")
    assert done.exit_code == 2
    assert "another run is writing to busy" in done.stderr
    assert os.listdir(tmp_path / "busy") == [".lock"]


def test_a_reward_of_ones_own_is_called_by_its_name(plaudit, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    done = train(plaudit, "--reward", "mine.py:reward", "--output", "run")
    assert done.exit_code == 0, done.stderr
    assert "paid by gap@2;" in done.stdout
    assert "roadsense@" not in done.stdout
    assert json.loads((tmp_path / "run" / "report.json").read_text())["reward"]["name"] == "gap"
    assert "your own reward '2': add --reward" in train(plaudit, "--output", "run", "--resume").stderr


def test_the_games_are_named_where_none_is(plaudit):
    assert {"hackmatrix", "roadsense"} <= set(plaudit("train", "--help").stdout.split())
    assert "No such command 'roadsens'" in plaudit("train", "roadsens").stderr


def test_a_ledger_in_which_the_label_means_another_formula_is_told_before_the_run(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.register(roadsense.version("R8").with_params({"comfort.weight": 2.0}))
    done = train(plaudit, "--reward", "R8", "--output", "run", "--ledger", "rewards.db")
    assert done.exit_code == 2
    assert "roadsense@R8 belongs to another formula" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.fixture
def endless(tmp_path):
    """Start a run without an end as a process group of its own; it has done two updates when it is returned."""
    started = []

    def start(*arguments):
        settings = (*TINY, "--output", "run", "--steps", 10**9, "--reward", "R0", *arguments)
        command = [sys.executable, "-m", "plaudit", "train", "roadsense", *map(str, settings)]
        running = PythonProcess(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
        started.append(running)
        log = tmp_path / "run" / "log.jsonl"
        while not log.exists() or log.read_text().count("\n") < 2:
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        return running

    yield start
    for running in started:
        running.kill()
        running.communicate()


def children(pid):
    """Return the processes that a process has started and that are still there."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(each) for each in listed.read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_soon(pids):
    end = time.monotonic() + 300
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(alive(pid) for pid in pids)


def test_a_ctrl_c_keeps_the_run_and_says_how_to_go_on(plaudit, tmp_path):
    with ctrl_c_after(1, training_run):
        done = train(plaudit, "--reward", "R0", "--output", "run", "--save-every", 10**6)
    assert done.exit_code == 130, done.output
    assert "plaudit train roadsense --output run --resume" in done.stderr
    again = plaudit(
        *("train", "roadsense", "--output", "run", "--resume", "--episodes", 1, "--no-tensorboard", "--json")
    )
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["updates"] == 2
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [1, 2]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_a_run_that_is_stopped_is_kept_and_says_how_to_go_on(plaudit, endless, tmp_path):
    running = endless("--save-every", 10**6)
    simulators = children(running.pid)
    assert simulators
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: everybody in the group gets it
    _, told = running.communicate(timeout=300)
    assert running.returncode == 130, told
    assert "Stopping after this update" in told
    assert "plaudit train roadsense --output run --resume" in told
    assert "Traceback" not in told
    assert gone_soon(simulators)
    done = len((tmp_path / "run" / "log.jsonl").read_text().splitlines())
    again = plaudit(
        *("train", "roadsense", "--output", "run", "--resume", "--steps", 32 * (done + 1)),
        *("--episodes", 1, "--no-tensorboard", "--json"),
    )
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["updates"] == done + 1
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == list(range(1, done + 2))


@pytest.mark.slow  # that of hackmatrix keeps its checkpoint by the same code, and a SUMO ends with its parent
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_the_last_checkpoint_is_whole_and_no_simulator_is_left_however_a_run_ends(endless, tmp_path, number, code):
    from plaudit.systems.roadsense.training import load_policy, read_info

    running = endless("--save-every", 1)
    simulators = children(running.pid)
    assert simulators
    running.send_signal(number)
    running.communicate(timeout=300)
    assert running.returncode == code
    assert gone_soon(simulators)
    load_policy(tmp_path / "run" / "checkpoint.npz")
    assert read_info(tmp_path / "run" / "checkpoint.npz").update >= 1


@pytest.mark.parametrize("library", ["stable_baselines3", "torch"])
def test_without_the_libraries_the_extra_is_named(plaudit, monkeypatch, library):
    ours = (
        "plaudit.systems.roadsense.commands.training_run",
        "plaudit.systems.roadsense.training",
        "plaudit.adapters.sb3",
    )
    for name in [name for name in sys.modules if name.startswith((*ours, library))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    done = plaudit("train", "roadsense")
    assert done.exit_code == 2
    assert f"needs {library}. Install it: pip install 'plaudit[sumo,sb3,tensorboard]'" in done.stderr
