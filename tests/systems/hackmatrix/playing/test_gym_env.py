"""One game under Gymnasium: its own checks, the rules of the game, and what callers get wrong."""

import sys

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

from plaudit import DefinitionError, Field, OutOfRange, Reward, term  # noqa: E402
from plaudit.envs import HACKMATRIX  # noqa: E402
from plaudit.errors import UnknownField, WrongType  # noqa: E402
from plaudit.systems.hackmatrix import reward  # noqa: E402
from plaudit.systems.hackmatrix.plain.legality import find_allowed  # noqa: E402
from plaudit.systems.hackmatrix.plain.observation import observe  # noqa: E402
from plaudit.systems.hackmatrix.plain.state import Enemy, Player, State  # noqa: E402
from plaudit.systems.hackmatrix.playing.game import Game  # noqa: E402
from plaudit.systems.hackmatrix.playing.gym_env import MOST_ATTACK, MOST_SIPHONS, HackMatrixEnv, build_observation_space  # noqa: E402
from support.forking import run_python  # noqa: E402

UP, DOWN, LEFT, RIGHT = range(4)


def played(env, *, seed, steps):
    """Yield what each step of a random player returns, with the mask it chose from; a game that ends begins anew."""
    choose = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    for _ in range(steps):
        allowed = np.flatnonzero(info["action_mask"])
        action = int(choose.choice(allowed))
        told = env.step(action)
        yield action, told
        info = told[4]
        if told[2] or told[3]:
            _, info = env.reset()


@pytest.mark.parametrize("flat", [False, True], ids=["three arrays", "one vector"])
def test_gymnasium_finds_nothing_wrong(flat):
    check_env(gymnasium.make(HACKMATRIX, flat=flat, render_mode="ansi").unwrapped)


@pytest.mark.slow  # PyTorch takes seconds to import
def test_stable_baselines_finds_nothing_wrong_and_learns_from_it():
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env as checked

    checked(HackMatrixEnv(flat=True))
    agent = sb3.PPO(
        "MlpPolicy", HackMatrixEnv(flat=True, max_steps=50), n_steps=64, batch_size=32, n_epochs=1, device="cpu"
    )
    agent.learn(128)
    assert agent.num_timesteps == 128


def test_observations_lie_within_their_space():
    env = HackMatrixEnv(max_steps=100)
    for _, (observation, *_) in played(env, seed=1, steps=120):
        assert observation in env.observation_space


def test_the_two_features_without_a_cap_have_a_bound_that_no_game_can_pass():
    space = build_observation_space()["player"]
    most = State(player=Player(data_siphons=MOST_SIPHONS, attack=MOST_ATTACK, credits=1_000, energy=1_000), stage=8)
    assert observe(most).player in space
    assert observe(State(player=Player(data_siphons=MOST_SIPHONS + 1))).player not in space


def test_one_vector_holds_the_three_arrays():
    apart, flat = HackMatrixEnv(), HackMatrixEnv(flat=True)
    three, _ = apart.reset(seed=5)
    one, _ = flat.reset(seed=5)
    assert one.dtype == np.float32
    assert one.tolist() == observe(apart.state).flat().tolist()
    assert one.tolist() == np.concatenate([three["player"], three["programs"], three["grid"].ravel()]).tolist()


def test_a_seed_makes_the_same_game_and_the_next_reset_another_one():
    def course(env):
        return [told[1:4] for _, told in played(env, seed=11, steps=60)]

    env = HackMatrixEnv()
    assert course(env) == course(HackMatrixEnv())
    first, _ = env.reset(seed=11)
    again, _ = env.reset(seed=11)
    other, _ = env.reset()
    assert (first["grid"] == again["grid"]).all()
    assert (first["grid"] != other["grid"]).any()


def test_an_action_earns_the_sum_of_its_components_in_the_order_of_the_rules():
    for _, (_, earned, _, _, info) in played(HackMatrixEnv(), seed=2, steps=60):
        assert isinstance(earned, float)
        assert list(info["reward_components"]) == [term.name for term in reward.terms]
        assert sum(info["reward_components"].values()) == pytest.approx(earned, abs=1e-12)


def test_the_mask_is_that_of_the_state():
    env = HackMatrixEnv()
    for _, (*_, info) in played(env, seed=3, steps=40):
        assert info["action_mask"].dtype == bool
        assert info["action_mask"].tolist() == find_allowed(env.state) == env.action_masks().tolist()


def test_an_action_that_is_not_allowed_ends_the_game_and_earns_nothing():
    env = HackMatrixEnv()
    env.reset(options={"state": State()})
    _, earned, terminated, truncated, info = env.step(LEFT)
    assert (earned, terminated, truncated, info["illegal"]) == (0.0, True, False, True)
    assert set(info["reward_components"].values()) == {0.0}


def test_a_game_goes_on_from_a_state_of_ones_own():
    env = HackMatrixEnv()
    state = State(player=Player(row=5, col=4), stage=8)
    observation, _ = env.reset(options={"state": state})
    assert observation["player"][:2].tolist() == pytest.approx([1.0, 0.8])
    _, earned, terminated, _, info = env.step(RIGHT)
    assert (terminated, info["won"], info["stage"]) == (True, True, 8)
    assert info["reward_components"]["victory"] == 500.0
    assert earned == pytest.approx(600.04, abs=1e-3)


def test_a_game_is_truncated_after_max_steps_unless_it_ended():
    env = HackMatrixEnv(max_steps=3)
    env.reset(options={"state": State()})
    ends = [env.step(action)[2:4] for action in (UP, DOWN, UP)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step(UP)
    env.reset(options={"state": State()})
    env.step(UP)
    env.step(DOWN)
    assert env.step(LEFT)[2:4] == (True, False)


def test_a_board_is_rendered_as_text():
    env = HackMatrixEnv(render_mode="ansi")
    env.reset(seed=1)
    assert "Stage 1 of 8" in env.render()
    assert HackMatrixEnv().render() is None


def test_a_seed_out_of_range_is_refused_and_one_of_numpy_is_the_same_game():
    assert Game(np.int64(12)).state == Game(12).state
    for seed in (-1, 2**32):
        with pytest.raises(OutOfRange, match=f"the seed is {seed}; it must be from 0 to"):
            Game(seed)


def test_the_state_that_is_handed_out_can_be_changed_without_changing_the_game():
    env = HackMatrixEnv()
    env.reset(seed=1)
    state = env.state
    state.player.credits, state.owned = 99, {"WAIT"}
    assert env.state.player.credits < 99
    _, info = env.reset(options={"state": state})
    assert info["action_mask"][5:].any() == (state.player.energy > 0)
    state.player.credits = 1
    assert env.state.player.credits == 99


def test_another_reward_pays_with_its_own_terms():
    few = [each for each in reward.terms if each.name in ("step_penalty", "kills")]
    env = HackMatrixEnv(reward=Reward("few", version="1", terms=few, fields=[reward.fields["kills"]]))
    env.reset(options={"state": State(enemies=[Enemy("virus", 0, 3, hp=1)])})
    assert env.step(RIGHT)[4]["reward_components"] == {"step_penalty": -0.01, "kills": 0.3}
    assert (
        min(told[4]["reward_components"]["distance_shaping"] for _, told in played(HackMatrixEnv(), seed=3, steps=60))
        == 0
    )
    repaired = played(HackMatrixEnv(reward="potential"), seed=3, steps=60)
    assert min(told[4]["reward_components"]["distance_shaping"] for _, told in repaired) == pytest.approx(-0.05)


def test_a_reward_that_reads_what_the_game_does_not_measure_is_refused_with_what_it_does():
    @term(weight=1.0)
    def mood(mood):
        return mood

    env = HackMatrixEnv(reward=Reward("moody", version="1", terms=[mood], fields=[Field("mood", low=0, high=1)]))
    env.reset(options={"state": State()})
    with pytest.raises(
        UnknownField, match="reads 'mood', which the game does not measure. It measures: action, curr.credits"
    ):
        env.step(UP)


# -- what callers get wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "error", "told"),
    [
        (28, OutOfRange, "the action is 28; it must be from 0 to 27"),
        (-1, OutOfRange, "the action is -1; it must be from 0 to 27"),
        (np.int64(99), OutOfRange, "the action is 99"),
        (1.0, WrongType, "the action is 1.0; it must be an integer from 0 to 27"),
        ("up", WrongType, "the action is 'up'"),
        (True, WrongType, "the action is True"),
        (None, WrongType, "the action is None"),
        (np.array([1, 2]), WrongType, "an integer"),
        (np.array(0.5), WrongType, "an integer"),
    ],
)
def test_an_action_that_is_none_is_refused_and_nothing_happens(action, error, told):
    env = HackMatrixEnv()
    env.reset(options={"state": State()})
    with pytest.raises(error, match=told):
        env.step(action)
    assert env.step(np.array(UP))[1] == pytest.approx(0.04)


def test_nothing_works_before_a_reset():
    env = HackMatrixEnv(render_mode="ansi")
    for ask in (lambda: env.step(UP), env.action_masks, env.render, lambda: env.state):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) to start"):
            ask()


def test_a_step_after_the_end_is_refused():
    env = HackMatrixEnv()
    env.reset(options={"state": State(player=Player(row=5, col=4), stage=8)})
    env.step(RIGHT)
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step(LEFT)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"reward": "2.0"}, DefinitionError, "hackmatrix has no version '2.0'"),
        ({"render_mode": "human"}, OutOfRange, "render_mode='human' must be 'ansi', or None"),
        ({"max_steps": 0}, OutOfRange, "max_steps=0 must be 1 or more"),
        ({"max_steps": 1.5}, WrongType, "max_steps=1.5 must be an integer"),
    ],
)
def test_options_are_checked_when_it_is_made(options, error, told):
    with pytest.raises(error, match=told):
        HackMatrixEnv(**options)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"sate": 1}, OutOfRange, "no option 'sate'. Did you mean 'state'?"),
        ({"state": {}}, WrongType, r"options\['state'\] is a dict; it must be a State or an EnvState"),
        ({"state": State(player=Player(hp=7))}, OutOfRange, "player.hp is 7; it must be from 0 to 3"),
        ({"state": State(player=Player(row=2.5))}, WrongType, "player.row is 2.5; it must be an integer"),
        ({"state": State(stage=12)}, OutOfRange, "stage is 12; it must be from 1 to 8"),
        ({"state": State(exit=(2, 2))}, OutOfRange, r"exit is \(2, 2\); it must be a corner: \(0, 0\)"),
        ({"state": State(enemies=[Enemy("virus", 6, 0)])}, OutOfRange, "is off the board"),
        ({"state": State(cells={})}, OutOfRange, "cells must be the 36 of the board"),
    ],
)
def test_options_of_a_reset_are_checked(options, error, told):
    with pytest.raises(error, match=told):
        HackMatrixEnv().reset(options=options)


def test_a_game_is_made_and_played_without_jax():
    script = """if True:
        import sys
        sys.modules["jax"] = None
        import gymnasium
        env = gymnasium.make("plaudit.envs:plaudit/HackMatrix-v0", render_mode="ansi", max_episode_steps=9)
        env.reset(seed=1)
        env.step(env.unwrapped.action_masks().argmax())
        assert "Stage 1 of 8" in env.render()
    """
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
