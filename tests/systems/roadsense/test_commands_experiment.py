"""`plaudit experiment roadsense`: what it prints, keeps and refuses, and what is left when it is stopped."""

import contextlib
import json
import os
import signal
import time

import pytest

from plaudit import Ledger, errors
from plaudit.file_lock import lock_folder
from plaudit.systems.roadsense.training.checkpoint import CheckpointInfo, save_policy
from plaudit.systems.roadsense.training.config import Config
from plaudit.systems.roadsense.training.network import build_network
from plaudit.systems.training.checkpoint import write_archive

SMALL = ("experiment", "roadsense", "--study", "discrete", "--policy", "caution", "--seeds", 2, "--only", "R0,R8")


@pytest.fixture
def driven(plaudit, lent_workers):
    """Run a small experiment; the second time in the same folder it drives nothing."""

    def run(*arguments):
        with lent_workers():
            return plaudit(*SMALL, *arguments)

    return run


def test_it_prints_what_was_earned_and_marks_the_hack(driven, tmp_path):
    done = driven("--workers", 1)  # each takes half a second to start
    assert done.exit_code == 0, done.stderr
    for text in (
        "Discrete actions on an assisted road: 3 policies × 2 situations × 2 seeds, 12,000 steps on SUMO 1.",
        "nearest m, hazard",
        "Without a hazard: mean return of an episode",
        "With a hazard in 30 % of episodes",
        "! a hack: it ignores what it sees and earns more than sensible or warned (discrete).",
        "Hacks that each version pays for",
        "caution !",
        "dominated-action: action 1 is at least as good as every other action",
        "distance beyond 40 m: 0.5 a step",
        "Written to runs/experiment-roadsense: rewards.db, report.json, plot.png.",
    ):
        assert text in done.stdout
    assert "driving: 12 of 12 episodes" in done.stderr
    assert "checking: 2 of 2 versions" in done.stderr
    kept = {path.name for path in (tmp_path / "runs" / "experiment-roadsense").iterdir()}
    assert {"rewards.db", "report.json", "plot.png"} <= kept


def test_what_was_driven_is_scored_again_from_a_ledger_of_ones_own_and_json_is_the_report(
    driven, plaudit, tmp_path, monkeypatch
):
    own = ("--no-check", "--ledger", "mine.db", "--output", "here", "--workers", 1)
    first = driven(*own, "--quiet", "--json")
    assert first.stderr == ""
    again = driven(*own, "--json", "--plot", "convoy.svg")
    assert again.stderr == ""  # nothing was driven
    report = json.loads(again.stdout)
    assert (json.loads(first.stdout)["simulated"], report["simulated"]) == (12, 0)
    assert report["studies"] == json.loads(first.stdout)["studies"]
    assert report == json.loads((tmp_path / "here" / "report.json").read_text())
    assert report["studies"]["discrete"]["versions"]["R0"]["hazard"]["hacks"][0]["policy"] == "caution"
    assert report["studies"]["discrete"]["pays_for"] == {"R0": {"parking": True}, "R8": {}}
    assert (tmp_path / "convoy.svg").read_text().startswith("<?xml")
    monkeypatch.setenv("COLUMNS", "40")
    shown = driven(*own, "--spread").stdout.splitlines()
    assert {"policy", "version", "caution", "sensible", "R0", "R8"} <= {line.partition(" ")[0] for line in shown}
    assert "report.json, plot.png." in " ".join(shown)
    assert not (tmp_path / "here" / "rewards.db").exists()
    with Ledger("mine.db", read_only=True) as ledger:
        assert ledger.verify().ok
        assert ledger.history(actor="caution", phase="hazard", episode="0").count() == 1000
    assert "roadsense_drive" in plaudit("ledger", "stats", "mine.db").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--only", "R13"), "R13"),
        (("--policy", "brak"), "Did you mean 'brake'"),
        (("--plot", "plot.gif"), "a plot is saved as .png or .svg"),
        (("--plot", "no/plot.png"), "there is no folder"),
        (("--seeds", 0), "1<=x<=10000"),
        (("--workers", 0), "x>=1"),
        (("--study", "both"), "there is no study 'both'; choose from discrete, continuous, discrete-training"),
        (("--reward", "deepthinker"), "reads 'score_delta', which the convoy does not measure"),
        (("--reward", "mine"), "there is no reward 'mine'"),
        (("--policy", "no/run"), "no/run is not a run of `plaudit train roadsense`: no/run does not exist"),
        (("--policy", "./file"), "./file is not a run of `plaudit train roadsense`"),
        (("--output", ""), "it is empty"),
        (("--ledger", ""), "it is empty"),
        (("--only", ""), "it is empty"),
        (("--policy", "full"), "there is no policy 'full'; use brake"),
        (("--output", "file"), "file is a file"),
    ],
)
def test_what_cannot_be_done_is_told_and_exits_with_2(driven, tmp_path, arguments, told):
    (tmp_path / "file").write_text("x")
    done = driven(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["file"]  # nothing was made


MINE = """
from plaudit import Field, Reward, term

@term
def near(distance: float) -> float:
    \"\"\"Stay near the car ahead.\"\"\"
    return 1.0 if distance < 30 else 0.0

reward = Reward("mine", version="3", terms=[near], fields=[Field("distance", low=0, infinite=True)])
same = reward.with_weights(near=1.0)
other = reward.with_weights(near=2.0)

@term
def stay() -> float:
    \"\"\"Be there.\"\"\"
    return 1.0

always = Reward("always", version="1", terms=[stay], fields=[])
"""


def test_rewards_of_ones_own_are_scored_beside_the_versions_and_one_that_reads_nothing_pays_for_every_step(
    driven, tmp_path
):
    (tmp_path / "mine.py").write_text(MINE)
    own = ("--reward", "mine.py:reward", "--reward", "mine.py:always")
    done = driven(*own, "--seeds", 1, "--json", "--quiet", "--workers", 1)
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    versions = ["R0", "R8", "mine@3", "always@1"]
    assert list(report["studies"]["discrete"]["versions"]) == list(report["check"]) == versions
    assert report["studies"]["discrete"]["versions"]["mine@3"]["hazard"]["mean"]["sensible"] > 850
    assert report["studies"]["discrete"]["versions"]["always@1"]["calm"]["mean"]["sensible"] == 1000
    assert report["check"]["always@1"]["staying"] == ["any state: 1 a step"]


def test_two_different_rewards_of_one_name_are_an_error(driven, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    asked = ("--reward", "mine.py:reward", "--seeds", 1, "--json", "--quiet", "--workers", 1, "--no-check")
    assert driven(*asked, "--reward", "mine.py:same").exit_code == 0
    done = driven(*asked, "--reward", "mine.py:other")
    assert done.exit_code == 2
    assert "two different rewards are called mine@3" in done.stderr


@pytest.fixture
def run(tmp_path):
    """Return a folder with the policy of a run on some actions; its network was never trained."""

    def keep(actions):
        config = Config(actions=actions)
        info = CheckpointInfo("policy", "0.1.0", "R8", "0" * 64, 0, config)
        (tmp_path / actions).mkdir()
        save_policy(tmp_path / actions / "policy.npz", build_network(config.actions), info)
        return f"./{actions}"

    return keep


@pytest.mark.parametrize(
    "studies",
    [["continuous-training"], pytest.param(["continuous", "continuous-training"], marks=pytest.mark.slow)],
    ids=["one road", "both roads"],
)
def test_the_policy_of_a_run_drives_the_studies_of_its_actions(plaudit, run, studies):
    asked = (
        "experiment",
        "roadsense",
        "--only",
        "keep_gap",
        "--policy",
        run("continuous"),
        "--policy",
        "continuous/policy.npz",  # the same run, and not driven twice
        "--seeds",
        1,
        "--workers",
        1,
    )
    first = plaudit(*asked, "--no-check", "--json", "--quiet", "--study", ",".join(studies))
    assert first.exit_code == 0, first.stderr
    assert json.loads(first.stdout)["simulated"] == len(studies) * 2 * 2
    found = json.loads(first.stdout)["studies"]
    trained = {name: [each["policy"] for each in study["drives"]] for name, study in found.items()}
    assert list(trained) == studies
    for policies in trained.values():
        assert sum(policy.startswith("continuous@") for policy in policies) == 2
    again = plaudit(*asked, "--no-check", "--json", "--quiet", "--study", studies[0])
    assert json.loads(again.stdout)["simulated"] == 0


def test_a_run_with_other_actions_than_every_study_asked_for_is_an_error(driven, run):
    done = driven("--policy", run("continuous"))
    assert done.exit_code == 2
    assert "./continuous was trained with continuous actions, but discrete uses others" in done.stderr


def test_a_run_of_another_system_is_an_error(driven, tmp_path):
    write_archive(tmp_path / "policy.npz", json.dumps({"format": 1, "config": {"board": 6}}), {})
    done = driven("--policy", "policy.npz")
    assert done.exit_code == 2
    assert "policy.npz is not a run of `plaudit train roadsense`" in done.stderr


def test_a_folder_in_which_another_run_is_at_work_is_left_alone(driven, tmp_path):
    with lock_folder(tmp_path / "busy"):
        done = driven("--output", "busy")
    assert done.exit_code == 2
    assert "another run is writing to busy" in done.stderr


def wait_for_records(path, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.2)  # looking takes longer than a drive
        if path.exists():
            with contextlib.suppress(errors.LedgerError), Ledger(path, read_only=True) as ledger:
                if ledger.history().count():
                    return
    raise AssertionError(f"no record in {seconds} s")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped_keeps_whole_drives_and_goes_on(process, plaudit, lent_workers, tmp_path, number, code):
    running = process(
        "experiment", "roadsense", "--study", "discrete", "--seeds", 200, "--output", "run", "--workers", 1
    )
    wait_for_records(tmp_path / "run" / "rewards.db")
    running.send_signal(number)
    out, err = running.communicate(timeout=300)
    assert running.returncode == code, err
    assert b"Traceback" not in out + err
    assert not (tmp_path / "run" / "report.json").exists()
    with Ledger(tmp_path / "run" / "rewards.db", read_only=True) as ledger:
        assert ledger.verify().ok
        assert ledger.history().count() % 1000 == 0
    asked = ("--study", "discrete", "--policy", "maintain", "--seeds", 1, "--no-check", "--only", "R0", "--workers", 1)
    with lent_workers():
        again = json.loads(plaudit("experiment", "roadsense", *asked, "--output", "run", "--json").stdout)
    assert again["simulated"] < 6


def test_help_has_an_example(plaudit):
    shown = plaudit("experiment", "roadsense", "--help").stdout
    assert "Example: plaudit experiment roadsense" in shown
    assert "every version" in shown
