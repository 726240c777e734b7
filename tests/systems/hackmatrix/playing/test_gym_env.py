"""The game under Gymnasium: its own checks, the same games as the pure functions, and what callers get wrong."""

import subprocess
import sys

import jax
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from plaudit import DefinitionError, OutOfRange, Reward  # noqa: E402
from plaudit.errors import ShapeMismatch, WrongType  # noqa: E402
from plaudit.systems.hackmatrix import reward, version  # noqa: E402
from plaudit.systems.hackmatrix.board_generation import new_game  # noqa: E402
from plaudit.systems.hackmatrix.observation import observe  # noqa: E402
from plaudit.systems.hackmatrix.playing import gym_env  # noqa: E402
from plaudit.systems.hackmatrix.playing.game import Game, compile_games  # noqa: E402
from plaudit.systems.hackmatrix.playing.gym_env import (  # noqa: E402
    ID,
    MOST_ATTACK,
    MOST_SIPHONS,
    HackMatrixEnv,
    HackMatrixVectorEnv,
    build_observation_space,
)
from plaudit.systems.hackmatrix.state import EnvState, Player  # noqa: E402
from plaudit.systems.hackmatrix.turns.legality import action_mask  # noqa: E402
from support.hackmatrix_model.steps import BATCH, look_at_all  # noqa: E402

GAMES = BATCH
"""How many games are played at once; as many as anywhere, so that a step is traced once."""
LENGTH = 6
"""After so many steps each of them ends."""
UP, DOWN, LEFT, RIGHT = range(4)


def played(env, *, seed, steps, policy=None):
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


def chosen(generator, masks):
    """Return a random action that is allowed for each game."""
    return np.array([generator.choice(np.flatnonzero(mask)) for mask in masks])


# -- one game -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flat", [False, True], ids=["three arrays", "one vector"])
def test_gymnasium_finds_nothing_wrong(flat):
    check_env(gymnasium.make(ID, flat=flat, render_mode="ansi").unwrapped)


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
    most = EnvState(player=Player(data_siphons=MOST_SIPHONS, attack=MOST_ATTACK, credits=1_000, energy=1_000), stage=8)
    assert np.array(observe(most).player) in space
    over = most.replace(player=Player(data_siphons=MOST_SIPHONS + 1))
    assert np.array(observe(over).player) not in space


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
        assert sum(info["reward_components"].values()) == pytest.approx(earned, abs=1e-5)


def test_the_mask_is_that_of_the_state():
    env = HackMatrixEnv()
    for _, (*_, info) in played(env, seed=3, steps=40):
        assert info["action_mask"].dtype == bool
        assert info["action_mask"].tolist() == action_mask(env.state).tolist() == env.action_masks().tolist()


def test_an_action_that_is_not_allowed_ends_the_game_and_earns_nothing():
    env = HackMatrixEnv()
    env.reset(options={"state": EnvState()})
    _, earned, terminated, truncated, info = env.step(LEFT)
    assert (earned, terminated, truncated, info["illegal"]) == (0.0, True, False, True)
    assert set(info["reward_components"].values()) == {0.0}


def test_a_game_goes_on_from_a_state_of_ones_own():
    env = HackMatrixEnv()
    state = EnvState(player=Player(row=5, col=4), stage=8)
    observation, info = env.reset(options={"state": state})
    assert observation["player"][:2].tolist() == pytest.approx([1.0, 0.8])
    _, earned, terminated, _, info = env.step(RIGHT)
    assert (terminated, info["won"], info["stage"]) == (True, True, 8)
    assert info["reward_components"]["victory"] == 500.0
    assert earned == pytest.approx(600.04, abs=1e-3)


def test_a_game_is_truncated_after_max_steps_unless_it_ended():
    env = HackMatrixEnv(max_steps=3)
    env.reset(options={"state": EnvState()})
    ends = [env.step(action)[2:4] for action in (UP, DOWN, UP)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step(UP)
    env.reset(options={"state": EnvState()})
    env.step(UP)
    env.step(DOWN)
    assert env.step(LEFT)[2:4] == (True, False)


def test_a_board_is_rendered_as_text():
    env = HackMatrixEnv(render_mode="ansi")
    env.reset(seed=1)
    assert "Stage 1 of 8" in env.render()
    assert HackMatrixEnv().render() is None


def test_a_game_begins_as_its_seed_says():
    begun, again = Game(12).state, new_game(jax.random.key(12))
    assert all(
        (left == right).all() for left, right in zip(jax.tree.leaves(begun), jax.tree.leaves(again), strict=True)
    )
    with pytest.raises(OutOfRange, match="the seed is -1"):
        Game(-1)


# -- many games ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def many():
    return HackMatrixVectorEnv(GAMES, max_steps=LENGTH)


def test_many_games_are_made_by_gymnasium_and_say_how_they_begin_anew():
    envs = gymnasium.make_vec(ID, num_envs=GAMES, max_episode_steps=20, reward=version("potential"))
    assert isinstance(envs, HackMatrixVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert (envs.num_envs, envs.single_action_space.n) == (GAMES, 28)
    observation, info = envs.reset(seed=1)
    assert observation in envs.observation_space
    assert info["action_mask"].shape == (GAMES, 28)


def test_many_games_give_arrays_for_all_of_them(many):
    generator = np.random.default_rng(0)
    _, info = many.reset(seed=4)
    for _ in range(8):
        observation, rewards, terminated, truncated, info = many.step(chosen(generator, info["action_mask"]))
        assert observation in many.observation_space
        assert (rewards.shape, rewards.dtype) == ((GAMES,), np.float32)
        assert terminated.dtype == truncated.dtype == bool
        assert not (terminated & truncated).any()
        assert sum(
            info["reward_components"][name] for name in info["reward_components"] if name[0] != "_"
        ) == pytest.approx(rewards, abs=1e-4)
        assert info["action_mask"].tolist() == many.action_masks().tolist()


def test_a_game_that_ends_begins_anew_in_the_same_step_and_its_last_observation_is_kept(many):
    generator = np.random.default_rng(0)
    _, info = many.reset(seed=4)
    ends = 0
    for _ in range(2 * LENGTH + 1):
        observation, _, terminated, truncated, info = many.step(chosen(generator, info["action_mask"]))
        ended = terminated | truncated
        assert ("final_obs" in info) == ended.any()
        assert info["action_mask"].tolist() == look_at_all(many.state).mask.tolist()
        if not ended.any():
            continue
        ends += ended.sum()
        assert info["_final_obs"].tolist() == info["_final_info"].tolist() == ended.tolist()
        for at in range(GAMES):
            if not ended[at]:
                assert info["final_obs"][at] is None
                continue
            last = info["final_obs"][at]
            assert last in many.single_observation_space
            assert (last["grid"] != observation["grid"][at]).any()
            assert observation["player"][at][2] == 1.0  # all hit points
            assert info["final_info"]["died"][at] == (last["player"][2] == 0)
        new = np.asarray(many.state.turn)[ended]
        assert (new == 0).all()
    assert ends >= 2 * GAMES


def test_one_vector_a_game_holds_the_three_arrays_also_of_the_last_observation():
    apart, flat = (HackMatrixVectorEnv(GAMES, max_steps=1, flat=flat) for flat in (False, True))
    apart.reset(seed=4)
    flat.reset(seed=4)
    actions = np.argmax(apart.action_masks(), axis=1)
    three, *_, told = apart.step(actions)
    one, *_, info = flat.step(actions)
    assert one in flat.observation_space
    assert (
        one[3].tolist() == np.concatenate([three[name][3].ravel() for name in ("player", "programs", "grid")]).tolist()
    )
    last = told["final_obs"][3]
    assert (
        info["final_obs"][3].tolist()
        == np.concatenate([last[name].ravel() for name in ("player", "programs", "grid")]).tolist()
    )


def test_many_games_go_as_each_of_them_would_alone(many):
    alone = HackMatrixEnv()
    many.reset(seed=8)
    for action in (UP, RIGHT, DOWN, LEFT):
        before, masks = many.state, many.action_masks()
        actions = np.where(masks[:, action], action, np.argmax(masks, axis=1))
        observation, _, _, _, info = many.step(actions)
        for at in range(4):
            alone.reset(options={"state": jax.tree.map(lambda leaf: leaf[at], before)})  # noqa: B023
            seen, _, _, _, told = alone.step(actions[at])
            if told["stage_completed"] or told["died"]:  # another board
                continue
            assert seen["player"].tolist() == observation["player"][at].tolist()  # enemies may move in another order
            for name, value in told["reward_components"].items():
                assert info["reward_components"][name][at] == pytest.approx(value, abs=1e-6)


@pytest.mark.slow  # a step with another reward is another program
def test_another_version_of_the_reward_pays_otherwise():
    alone = [told[4]["reward_components"] for _, told in played(HackMatrixEnv(), seed=3, steps=60)]
    assert min(parts["distance_shaping"] for parts in alone) == 0.0
    many = HackMatrixVectorEnv(GAMES, reward="potential", max_steps=LENGTH)
    generator, shaping = np.random.default_rng(0), []
    _, info = many.reset(seed=3)
    for _ in range(10):
        *_, info = many.step(chosen(generator, info["action_mask"]))
        shaping.append(info["reward_components"]["distance_shaping"].min())
    assert min(shaping) == pytest.approx(-0.05)


def test_the_reward_that_was_chosen_pays(monkeypatch):
    """Its terms are in the step, which is traced here and not compiled."""

    def trace(*given):
        step = compile_games(*given)
        return lambda *now: jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(step, *now))

    monkeypatch.setattr(gym_env, "compile_games", trace)
    few = [term for term in reward.terms if term.name in ("step_penalty", "kills")]
    many = HackMatrixVectorEnv(GAMES, reward=Reward("few", version="1", terms=few, fields=[reward.fields["kills"]]))
    many.reset(seed=1)
    *_, info = many.step(np.zeros(GAMES, int))
    assert [name for name in info["reward_components"] if name[0] != "_"] == ["step_penalty", "kills"]


def test_a_seed_makes_the_same_games(many):
    def course(envs):
        generator = np.random.default_rng(9)
        _, info = envs.reset(seed=6)
        earned = []
        for _ in range(LENGTH + 2):
            _, rewards, _, _, info = envs.step(chosen(generator, info["action_mask"]))
            earned.append(rewards.tolist())
        return earned

    assert course(many) == course(HackMatrixVectorEnv(GAMES, max_steps=LENGTH))


def test_the_games_of_a_batch_differ(many):
    observation, _ = many.reset(seed=1)
    assert len({grid.tobytes() for grid in observation["grid"]}) == GAMES


def test_gymnasiums_statistics_count_whole_games(many):
    envs = RecordEpisodeStatistics(many)
    generator = np.random.default_rng(1)
    _, info = envs.reset(seed=2)
    lengths = []
    for _ in range(2 * LENGTH + 1):
        *_, info = envs.step(chosen(generator, info["action_mask"]))
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
    assert lengths
    assert max(lengths) == LENGTH


def test_what_is_handed_out_can_be_changed_without_changing_the_games(many):
    observation, info = many.reset(seed=1)
    observation["grid"][:] = 7
    info["action_mask"][:] = False
    assert many.action_masks().any()
    many.step(chosen(np.random.default_rng(0), many.action_masks()))


def test_many_games_are_rendered_as_texts():
    envs = HackMatrixVectorEnv(GAMES, render_mode="ansi")
    envs.reset(seed=1)
    pictures = envs.render()
    assert len(pictures) == GAMES
    assert all("Stage 1 of 8" in picture for picture in pictures)
    assert HackMatrixVectorEnv(GAMES).render() is None


# -- what callers get wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "error", "told"),
    [
        (28, OutOfRange, "the action is 28; it goes from 0 to 27"),
        (-1, OutOfRange, "the action is -1; it goes from 0 to 27"),
        (np.int64(99), OutOfRange, "the action is 99"),
        (1.0, WrongType, "the action is 1.0; an integer from 0 to 27 is needed"),
        ("up", WrongType, "the action is 'up'"),
        (True, WrongType, "the action is True"),
        (None, WrongType, "the action is None"),
        (np.array([1, 2]), WrongType, "an integer"),
        (np.array(0.5), WrongType, "an integer"),
    ],
)
def test_an_action_that_is_none_is_refused_and_nothing_happens(action, error, told):
    env = HackMatrixEnv()
    env.reset(options={"state": EnvState()})
    with pytest.raises(error, match=told):
        env.step(action)
    assert env.step(np.array(UP))[1] == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("actions", "error", "told"),
    [
        (np.zeros(GAMES + 1, int), ShapeMismatch, f"shape .{GAMES + 1},.; one for each of {GAMES} games"),
        (0, ShapeMismatch, "shape .."),
        (np.zeros((GAMES, 1), int), ShapeMismatch, f"shape .{GAMES}, 1."),
        (np.zeros(GAMES), WrongType, "the actions are of float64; integers from 0 to 27"),
        (np.zeros(GAMES, bool), WrongType, "the actions are of bool"),
        ([0] * (GAMES - 1) + [28], OutOfRange, f"action {GAMES - 1} is 28; it goes from 0 to 27"),
        ([-1] * GAMES, OutOfRange, "action 0 is -1"),
    ],
    ids=["one too many", "one for all", "a column", "floats", "flags", "too high", "negative"],
)
def test_actions_that_do_not_fit_are_refused(many, actions, error, told):
    many.reset(seed=1)
    with pytest.raises(error, match=told):
        many.step(actions)


@pytest.mark.parametrize(
    "env", [HackMatrixEnv(render_mode="ansi"), HackMatrixVectorEnv(GAMES, render_mode="ansi")], ids=["one", "many"]
)
def test_nothing_works_before_a_reset(env):
    for ask in (lambda: env.step(np.zeros(GAMES, int)), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match=r"reset\(\) begins"):
            ask()


def test_a_step_after_the_end_is_refused():
    env = HackMatrixEnv()
    env.reset(options={"state": EnvState(player=Player(row=5, col=4), stage=8)})
    env.step(RIGHT)
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step(LEFT)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"reward": "2.0"}, DefinitionError, "hackmatrix has no version '2.0'"),
        ({"render_mode": "human"}, OutOfRange, "render_mode='human': there is 'ansi', or None"),
        ({"max_steps": 0}, OutOfRange, "max_steps=0: at least 1 is needed"),
        ({"max_steps": 1.5}, WrongType, "max_steps=1.5: an integer"),
    ],
)
@pytest.mark.parametrize("kind", [HackMatrixEnv, HackMatrixVectorEnv])
def test_options_are_checked_when_it_is_made(kind, options, error, told):
    with pytest.raises(error, match=told):
        kind(**options)


def test_the_number_of_games_is_checked():
    with pytest.raises(OutOfRange, match="num_envs=0: at least 1"):
        HackMatrixVectorEnv(0)
    with pytest.raises(WrongType, match="num_envs='many'"):
        HackMatrixVectorEnv("many")


def test_options_of_a_reset_are_checked(many):
    env = HackMatrixEnv()
    with pytest.raises(OutOfRange, match="no option 'sate'. Did you mean 'state'?"):
        env.reset(options={"sate": 1})
    with pytest.raises(WrongType, match=r"options\['state'\] is a dict; an EnvState is needed"):
        env.reset(options={"state": {}})
    with pytest.raises(OutOfRange, match="no option 'state'. There are none."):
        many.reset(options={"state": EnvState()})
    with pytest.raises(WrongType, match=r"seed=\[1, 2\]: one integer is needed"):
        many.reset(seed=[1, 2])


@pytest.mark.parametrize("lacking", ["gymnasium", "jax"])
def test_a_library_that_is_not_installed_is_named_with_the_extra_that_brings_it(lacking):
    told = f"the environments need {lacking}. Install it: pip install 'plaudit[gym,jax]'"
    script = f"import sys; sys.modules[{lacking!r}] = None; import plaudit.systems.hackmatrix.playing.gym_env"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.strip().endswith(f"MissingExtra: {told}")
