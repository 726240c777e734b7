"""Short runs of the real game, which takes a minute to compile."""

import json

import numpy as np
import pytest

from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.training import Config, begin, build_games, compile_update
from plaudit.systems.hackmatrix.training.ppo import play
from support.hackmatrix_model.toy import jax, jnp

pytestmark = pytest.mark.slow


def test_episodes_of_the_game_are_cut_off_and_begin_anew():
    config = Config(envs=16, rollout=24, steps=1000, hidden=(8,), max_steps=10)
    game = build_games(hackmatrix.reward, max_steps=10)
    training, steps, _ = jax.jit(play, static_argnums=(0, 1))(config, game, begin(config, game))
    assert steps.truncated.any()
    ended = steps.terminated | steps.truncated
    since = jnp.zeros(16, int)
    for at in range(24):
        since = since + 1
        np.testing.assert_array_equal(steps.truncated[at], (since >= 10) & ~steps.terminated[at])
        since = jnp.where(ended[at], 0, since)
    np.testing.assert_array_equal(training.states.steps, since)
    assert (steps.final_value[steps.truncated] != 0).all()


def test_an_update_of_the_game_has_figures_for_every_term():
    config = Config(envs=16, rollout=64, steps=2048, hidden=(8,))
    game = build_games(hackmatrix.version("potential"))
    training, metrics = compile_update(config, game)(begin(config, game))
    assert {f"terms/{term.name}" for term in hackmatrix.reward.terms} <= set(metrics)
    total = sum(metrics[f"terms/{name}"] for name in game.terms)
    assert metrics["return"] == pytest.approx(float(total), abs=1e-3)
    assert metrics["episodes"] > 0
    assert all(jnp.isfinite(value) for value in metrics.values())
    assert int(training.update) == 1


def test_a_run_of_the_game_from_the_command_line(tmp_path):
    from click.testing import CliRunner

    from plaudit.cli import main

    small = "--envs 16 --rollout 16 --steps 512 --hidden 8 --episodes 32 --baselines --no-tensorboard --json --quiet"
    arguments = [*small.split(), "--output", str(tmp_path / "run"), "--ledger", str(tmp_path / "rewards.db")]
    done = CliRunner().invoke(main, ["train", "hackmatrix", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)["evaluation"]["1.0.0"]
    assert report["script"]["mean_return"] > report["random"]["mean_return"]
    assert CliRunner().invoke(main, ["ledger", "verify", str(tmp_path / "rewards.db")]).exit_code == 0
