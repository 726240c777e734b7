"""The game as PPO plays it: the environment's own steps, and inputs from which the reward comes out again."""

import numpy as np
import pytest

from hackmatrix_model.toy import jax
from plaudit import Ledger
from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.training.evaluation import evaluator
from plaudit.systems.hackmatrix.training.games import BASELINES, games
from plaudit.systems.hackmatrix.training.ppo import init_network
from plaudit.systems.hackmatrix.training.recording import record_episodes

GAMES = 32


@pytest.fixture(scope="module")
def evaluated():
    """Return evaluations of all policies, and what the reward read in some episodes."""
    policies = {**BASELINES}
    evaluate = evaluator(games(hackmatrix.reward), episodes=GAMES, policies=policies, max_steps=200, keep=GAMES)
    params = init_network(jax.random.key(0), 2568, 28, (4,))
    return {name: evaluate(name, params, jax.random.key(5)) for name in policies}


def test_the_script_gets_further_than_a_random_walk_and_that_further_than_dice(evaluated):
    script, walk, dice = (evaluated[name].evaluation() for name in ("script", "random walk", "random"))
    assert script.mean_return > walk.mean_return > dice.mean_return
    assert script.mean_stage > 2.5 > walk.mean_stage
    assert all(each.unfinished == 0 for each in (script, walk, dice))


@pytest.mark.parametrize("policy", BASELINES)
def test_what_was_read_gives_the_rewards_again(evaluated, policy):
    found, episodes = evaluated[policy].evaluation(), evaluated[policy].inputs
    score = hackmatrix.reward.compile("numpy")
    scores = [score({name: column.astype(float) for name, column in episode.items()}) for episode in episodes]
    assert np.mean([each.total.sum() for each in scores]) == pytest.approx(found.mean_return, abs=1e-3)
    for name, mean in found.terms.items():
        assert np.mean([each.values[name].sum() for each in scores]) == pytest.approx(mean, abs=1e-3)
    assert np.mean([len(each.total) for each in scores]) == found.mean_length


def test_recorded_episodes_are_explained_and_rescored_by_the_ledger(evaluated, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        numbers = record_episodes(
            ledger, hackmatrix.reward, evaluated["script"].inputs[:3], run="run", actor="script", steps=0
        )
        assert ledger.verify().ok
        last = ledger.history(run="run", episode="3").last(1).first()
        assert last.signal.inputs["died"]
        assert last.id == numbers[-1]
        assert ledger.rescore(hackmatrix.version("potential")).records == len(numbers)
