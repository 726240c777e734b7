"""Runs on real SUMO, tiny ones: what is logged, kept, stopped and gone on with."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from plaudit import FileError
from plaudit.adapters.sb3 import RewardTermsCallback
from plaudit.systems.roadsense import version
from plaudit.systems.roadsense.training.checkpoint import load_policy, load_run, read_info
from plaudit.systems.roadsense.training.config import build_config
from plaudit.systems.roadsense.training.envs import derive_seed, open_envs
from plaudit.systems.roadsense.training.run import build_learner, run_update, train
from support.interrupted import stopping_after

REWARD = version("R8")
TINY = {"envs": 1, "rollout": 128, "minibatch": 64, "epochs": 1, "steps": 512, "limit": 50}
CONFIG = build_config(REWARD, **TINY)


def arrays(path):
    with np.load(path) as archive:
        return {name: archive[name].tobytes() for name in archive.files if name != "about"}


@pytest.fixture(scope="module", autouse=True)
def running(lent_sumo):
    """Drive on a SUMO that runs already."""
    with lent_sumo():
        yield


@pytest.fixture(scope="module")
def halves(tmp_path_factory) -> Path:
    """Return the folder of a run of four updates that was stopped after the second one."""
    out = tmp_path_factory.mktemp("runs") / "halves"
    run = train(CONFIG, REWARD, out, tensorboard=False, **stopping_after(2)[0])
    assert (run.update, run.complete, run.steps) == (2, False, 256)
    return out


@pytest.fixture(scope="module")
def whole(halves):
    """Return the run, gone on with to its end."""
    with (halves / "log.jsonl").open("a") as log:  # as if it had been killed after its last checkpoint
        log.write(json.dumps({"update": 3, "seconds": 1, "steps_per_second": 1}) + "\n")
        log.write('{"update": 4, "ki')
    return train(CONFIG, REWARD, halves, tensorboard=True, resume=True)


def test_a_run_goes_on_where_its_checkpoint_is_and_repeats_no_row(halves, whole):
    assert (whole.update, whole.complete, whole.steps) == (4, True, 512)
    rows = [json.loads(line) for line in (halves / "log.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [1, 2, 3, 4]
    assert [row["steps"] for row in rows] == [128, 256, 384, 512]
    assert rows == whole.rows
    assert read_info(halves / "checkpoint.npz").steps == 512


def test_a_row_has_figures_for_every_term(whole):
    row = whole.rows[-1]
    assert {f"Episode_Reward/{term.name}" for term in REWARD.terms} < set(row)
    sums = [row[f"Episode_Reward/{term.name}"] for term in REWARD.terms]
    assert row["Train/mean_reward"] == pytest.approx(sum(sums))
    assert row["episodes"] >= 2
    assert row["length"] == 50
    assert {"kl", "clip_fraction", "entropy", "explained_variance", "std", "value_loss"} <= set(row)


def test_tensorboard_has_a_curve_for_every_term(halves, whole):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curves = EventAccumulator(str(halves / "tensorboard"))
    curves.Reload()
    for name in ("Episode_Reward/safety", "Episode_Reward/comfort", "Episode_Reward/appropriateness"):
        assert [each.step for each in curves.Scalars(name)] == [384, 512]
        assert curves.Scalars(name)[-1].value == pytest.approx(whole.rows[-1][name], rel=1e-6)
    assert "episode/return" in curves.Tags()["scalars"]


def test_the_policy_of_a_run_can_be_loaded_alone(halves, whole):
    alone = load_policy(halves / "policy.npz")
    for name, weights in whole.policy.state_dict().items():
        torch.testing.assert_close(alone.state_dict()[name], weights, rtol=0, atol=0)
    assert read_info(halves / "policy.npz").kind == "policy"
    with pytest.raises(FileError, match="does not fit this plaudit: its policy/log_std is nothing"):
        damaged = halves / "damaged.npz"
        from plaudit.systems.training.checkpoint import write_archive

        write_archive(damaged, read_info(halves / "policy.npz").to_json(), {})
        load_policy(damaged)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"learning_rate": 0.5}}, "was trained with learning_rate=0.0003, not 0.5"),
        ({"config": {"seed": 9}}, "was trained with seed=0, not 9"),
        ({"config": {"envs": 2}}, "was trained with envs=1, not 2"),
        ({"config": {"radio": "field"}}, "was trained with radio='ideal', not 'field'"),
        ({"reward": version("R7")}, "was trained on roadsense@R8 .* not on roadsense@R7"),
        (
            {"reward": REWARD.with_params({"comfort.weight": 2.0})},
            "was trained on roadsense@R8 .* not on roadsense@R8",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_nothing_is_overwritten(halves, changes, message):
    before = {path.name: path.read_bytes() for path in halves.iterdir() if path.is_file()}
    config = replace(CONFIG, **changes.get("config", {}))
    with pytest.raises(FileError, match=message):
        train(config, changes.get("reward", REWARD), halves, resume=True)
    assert {path.name: path.read_bytes() for path in halves.iterdir() if path.is_file()} == before


def test_a_new_run_does_not_overwrite_another(halves):
    with pytest.raises(FileError, match=r"already holds a run \(checkpoint.npz\). Resume it with --resume"):
        train(CONFIG, REWARD, halves)


def test_the_same_seed_comes_to_the_same_bits(tmp_path):
    reward = version("R0")
    config = build_config(reward, **{**TINY, "steps": 256, "seed": 3})
    for name in ("first", "second"):
        torch.randn(3)  # whatever was drawn before
        train(config, reward, tmp_path / name, tensorboard=False)
    assert arrays(tmp_path / "first" / "checkpoint.npz") == arrays(tmp_path / "second" / "checkpoint.npz")


def test_the_total_that_is_logged_is_the_total_that_is_trained_on():
    # no episode ends, so nothing is added to a reward for what would have come after it
    config = build_config(REWARD, **{**TINY, "limit": 500, "hazards": 0.0, "normalise": False})
    with open_envs(REWARD, config) as envs:
        model, terms = build_learner(config, envs), RewardTermsCallback()
        for update in (1, 2):
            row = run_update(model, update, terms)
            assert row["episodes"] == 0
            assert row["reward"] == pytest.approx(float(model.rollout_buffer.rewards.mean(dtype=np.float64)), rel=1e-6)


def test_everything_that_a_run_needs_comes_back(tmp_path, halves, whole):
    with open_envs(REWARD, CONFIG) as envs:
        model = build_learner(CONFIG, envs)
        load_run(halves / "checkpoint.npz", model)
        assert model.num_timesteps == 512
        scale = model.get_vec_normalize_env()
        assert scale.ret_rms.count > 512 - 1
        counts = {int(state["step"]) for state in model.policy.optimizer.state.values()}
        assert counts == {4 * 2}  # four updates of two minibatches
        np.testing.assert_array_equal(
            torch.cat([weights.flatten() for weights in model.policy.parameters()]).detach(),
            torch.cat([weights.flatten() for weights in whole.policy.parameters()]).detach(),
        )


def test_episodes_after_another_update_or_of_another_seed_are_others():
    seeds = {derive_seed(replace(CONFIG, seed=seed), update) for seed in range(5) for update in range(5)}
    assert len(seeds) == 25
