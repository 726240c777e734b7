"""`plaudit run deepthinker`: the loop over simulated missions, told on the terminal and as JSON."""

import contextlib
import json
import os
import shutil
import signal
import time

import pytest
from click.testing import CliRunner

from plaudit import errors
from plaudit.cli import main
from plaudit.file_lock import lock_folder
from plaudit.learn import load
from plaudit.systems.deepthinker import RewardStore
from plaudit.systems.deepthinker.simulated.run import ROUTER

pytestmark = pytest.mark.usefixtures("few_fresh_missions")
SMALL = ("run", "deepthinker", "--missions", 3, "--seed", 3)


@pytest.fixture(scope="module")
def whole(few_fresh_missions, tmp_path_factory):
    """Return the folder of a run that was made once, and what was printed."""
    folder = tmp_path_factory.mktemp("runs") / "kb"
    texts = [str(each) for each in (*SMALL, "--output", folder, "--json")]
    return folder, CliRunner().invoke(main, texts, catch_exceptions=False).stdout


@pytest.fixture
def kept(whole, tmp_path):
    """Return the folder of a run, in the empty one in which commands run."""
    return shutil.copytree(whole[0], tmp_path / "kb")


def test_a_run_says_what_was_earned_against_which_baselines_and_why(plaudit, tmp_path):
    done = plaudit(*SMALL)
    assert done.exit_code == 0, done.output
    for text in (
        "deepthinker@1.0.0, seed 3: 3 missions of 6 phases",
        "the router, while learning",
        "best fixed choice: always",
        "best tier for each type of phase, in hindsight",
        "best tier in every single phase, in hindsight",
        "exploration included",
        "code_execution",
        "reanchor_internal",
        "router, refitted to rescaled",
        "The phase with the lowest reward:",
        "consistency_delta=",
    ):
        assert text in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_gives_the_same_report_in_json(plaudit, whole):
    first, again, other = whole[1], plaudit(*SMALL, "--json").stdout, plaudit(*SMALL[:-1], 4, "--json").stdout
    assert first == again != other
    report = json.loads(first)
    assert report["policies"][0]["policy"] == "the router, while learning"
    assert report["margin"] == pytest.approx(report["policies"][0]["reward"] - report["policies"][1]["reward"])
    assert set(report["telling"]) == {"record", "phase", "run", "context", "signal"}
    assert list(report["fresh"][0]["rewards"]) == ["1.0.0", "rescaled"]


def test_a_folder_keeps_rewards_router_and_report_and_is_gone_on_with(plaudit, kept):
    with RewardStore(kept, read_only=True) as store:
        assert len(store.get_history("model_tier")) == 18
    restored = load(kept / "router.json", expected=ROUTER)
    assert restored.state.decisions == 18
    report = json.loads((kept / "report.json").read_text())
    assert "Written to kb: rewards.db, router.json, report.json." in plaudit(*SMALL, "--output", "kb").stdout
    assert json.loads((kept / "report.json").read_text())["policies"] == report["policies"]
    longer = json.loads(plaudit("run", "deepthinker", "--missions", 4, "--seed", 3, "--output", "kb", "--json").stdout)
    at_once = json.loads(plaudit("run", "deepthinker", "--missions", 4, "--seed", 3, "--json").stdout)
    assert longer == at_once


@pytest.mark.parametrize(("missions", "seed"), [(3, 4), (2, 3)], ids=["another seed", "fewer missions"])
def test_a_folder_holds_one_run(plaudit, kept, missions, seed):
    before = {file.name: file.read_bytes() for file in kept.iterdir() if file.suffix == ".json"}
    done = plaudit("run", "deepthinker", "--missions", missions, "--seed", seed, "--output", "kb")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'seed 3, mission " in done.stderr
    assert f"not one of the {missions} missions of seed {seed}" in done.stderr
    assert {name: (kept / name).read_bytes() for name in before} == before
    with RewardStore(kept, read_only=True) as store:
        assert len(store.get_history("model_tier")) == 18


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--missions", 1), "2<=x<=100000"),
        (("--missions", "many"), "not a valid integer"),
        (("--seed", -1), "--seed"),
        (("--output", "file"), "file is a file"),
        (("--output", ""), "it is empty"),
        (("--speed", 3), "No such option"),
    ],
)
def test_what_cannot_be_done_is_told_and_exits_with_2(plaudit, tmp_path, arguments, told):
    (tmp_path / "file").write_text("x")
    done = plaudit("run", "deepthinker", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def wait_for_records(folder, count, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
        if (folder / "rewards.db").exists():
            with contextlib.suppress(errors.LedgerError), RewardStore(folder, read_only=True) as store:
                if store.ledger.history().count() >= count:
                    return
    raise AssertionError(f"not {count} records in {seconds} s")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped_keeps_what_it_has(process, plaudit, tmp_path, number, code):
    running = process("run", "deepthinker", "--missions", 500, "--output", "kb")
    wait_for_records(tmp_path / "kb", 5)
    running.send_signal(number)
    out, err = running.communicate(timeout=300)
    assert running.returncode == code, err
    assert b"Traceback" not in out + err
    with RewardStore(tmp_path / "kb") as store:
        assert store.ledger.verify().ok
        assert not (tmp_path / "kb" / "report.json").exists()


def test_help_has_an_example(plaudit):
    shown = plaudit("run", "deepthinker", "--help").stdout
    assert "Example: plaudit run deepthinker" in shown
    assert "one of three models" in shown


def test_a_folder_in_which_another_run_is_at_work_is_left_alone(plaudit, tmp_path):
    with lock_folder(tmp_path / "kb"):
        done = plaudit(*SMALL, "--output", "kb")
    assert done.exit_code == 2
    assert "another run is writing to kb" in done.stderr
    assert [path.name for path in (tmp_path / "kb").iterdir()] == [".lock"]
