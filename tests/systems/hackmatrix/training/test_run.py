"""Runs: what is kept, stopped and gone on with, and to the same bits."""

import json
from dataclasses import replace

import numpy as np
import pytest

from plaudit import FileError
from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.training import checkpoint, run
from plaudit.systems.hackmatrix.training.report import build_report, evaluate_run
from plaudit.systems.hackmatrix.training.run import train
from plaudit.systems.training.run import write_report
from support.hackmatrix_model.toy import QUICK, jax, small, toy
from support.interrupted import stopping_after

REWARD = hackmatrix.reward
POTENTIAL = hackmatrix.version("potential")
CONFIG = small(**QUICK)


@pytest.fixture
def started(tmp_path):
    """Return what trains in a folder; unless told otherwise, without TensorBoard."""

    def start(name="run", **options):
        options = {"tensorboard": False, "config": CONFIG, "reward": REWARD, "environment": toy(), **options}
        return train(
            options.pop("environment"), options.pop("config"), options.pop("reward"), tmp_path / name, **options
        )

    return start


def arrays(path):
    with np.load(path) as archive:
        return {name: archive[name].tobytes() for name in archive.files}


def test_a_run_that_was_stopped_comes_to_the_same_bits(started, tmp_path):
    whole = started("whole")
    stopping, rows = stopping_after(2)
    half = started("halves", **stopping)
    assert (half.update, half.complete, len(rows)) == (2, False, 2)
    halves = started("halves", resume=True)
    assert (halves.update, halves.complete) == (4, True)
    assert arrays(tmp_path / "halves" / "checkpoint.npz") == arrays(tmp_path / "whole" / "checkpoint.npz")
    assert arrays(tmp_path / "halves" / "policy.npz") == arrays(tmp_path / "whole" / "policy.npz")
    speed = {"seconds", "steps_per_second"}
    assert [{k: row[k] for k in row if k not in speed} for row in halves.rows] == [
        {k: row[k] for k in row if k not in speed} for row in whole.rows
    ]


def test_rows_that_were_logged_after_the_last_checkpoint_are_written_anew(started, tmp_path):
    stopping, _ = stopping_after(2)
    started(**stopping)
    with (tmp_path / "run" / "log.jsonl").open("a") as log:
        log.write(json.dumps({"update": 3, "seconds": 1, "steps_per_second": 1}) + "\n")
        log.write('{"update": 4, "ki')
    assert [row["update"] for row in started(resume=True).rows] == [1, 2, 3, 4]


def test_a_complete_run_that_is_gone_on_with_stays_as_it_is(started, tmp_path):
    started()
    before = arrays(tmp_path / "run" / "checkpoint.npz")
    again = started(resume=True)
    assert again.complete
    assert len(again.rows) == 4
    assert arrays(tmp_path / "run" / "checkpoint.npz") == before


def test_a_run_of_constant_settings_can_be_made_longer(started):
    constant = replace(CONFIG, decay=False)
    started(config=constant)
    assert started(config=replace(constant, steps=CONFIG.steps + CONFIG.batch), resume=True).update == 5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"config": {"learning_rate": 0.5}}, "was trained with learning_rate=0.003, not 0.5"),
        ({"config": {"seed": 9}}, "was trained with seed=0, not 9"),
        (
            {"config": {"steps": 10**6}},
            "was trained with steps=128, not 1000000. Its settings change over the run",
        ),
        ({"config": {"envs": 16}}, "was trained with envs=8"),
        ({"reward": POTENTIAL}, "was trained on hackmatrix@1.0.0 .* not on hackmatrix@potential"),
        (
            {"reward": REWARD.with_params({"kills.weight": 1.0})},
            "was trained on hackmatrix@1.0.0 .* not on hackmatrix@1.0.0",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_nothing_is_overwritten(started, tmp_path, changes, told):
    stopping, _ = stopping_after(1)
    started(**stopping)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    changed = {**changes, **({"config": replace(CONFIG, **changes["config"])} if "config" in changes else {})}
    with pytest.raises(FileError, match=told):
        started(resume=True, **changed)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_checkpoint_of_another_plaudit_is_refused(started, tmp_path, monkeypatch):
    stopping, _ = stopping_after(1)
    started(**stopping)
    monkeypatch.setattr(run, "__version__", "9.9.9")
    with pytest.raises(FileError, match=r"was written by plaudit .*, and this is 9.9.9"):
        started(resume=True)


def test_a_policy_is_no_run(started, tmp_path):
    started()
    (tmp_path / "run" / "policy.npz").replace(tmp_path / "run" / "checkpoint.npz")
    with pytest.raises(FileError, match="holds a policy, but resuming needs a run"):
        started(resume=True)


def test_a_run_that_ended_in_the_compiler_can_be_gone_on_with(started, monkeypatch):
    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run.ppo, "compile_update", killed)
        with pytest.raises(KeyboardInterrupt):
            started()
    assert started(resume=True).complete


def test_checkpoints_are_written_as_often_as_asked(started, tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(run, "save_run", lambda out, training, info: kept.append(int(training.update)))
    started(save_every=3)
    assert kept == [0, 3, 4]


def test_the_report_says_what_was_done_how_well_and_whether_it_was_healthy(started, tmp_path):
    done = started(reward=POTENTIAL)
    found = evaluate_run(done, POTENTIAL, lambda reward: toy(), episodes=16)
    write_report(tmp_path, build_report(done, POTENTIAL, found))
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["updates"], report["steps"]) == (4, 128)
    assert report["reward"]["fingerprint"] == POTENTIAL.fingerprint
    assert report["health"]["kl"]["verdict"] == "healthy"
    assert set(report["health"]) == {"kl", "clip_fraction", "entropy_share"}
    assert done.seconds == pytest.approx(report["seconds"])
    assert {version: list(each) for version, each in report["evaluation"].items()} == {
        "1.0.0": ["sampled", "greedy"],
        "potential": ["sampled", "greedy"],
    }


def test_what_a_checkpoint_holds_is_enough_for_the_policy(started, tmp_path):
    done = started()
    params, about = checkpoint.load(tmp_path / "run" / "policy.npz", done.params)
    assert about.kind == "policy"
    jax.tree.map(np.testing.assert_array_equal, params, done.params)
