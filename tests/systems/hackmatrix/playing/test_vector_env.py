"""Many games at once under Gymnasium: the same games as the pure functions, and what callers get wrong."""

import sys

import jax
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from plaudit import OutOfRange, Reward  # noqa: E402
from plaudit.envs import HACKMATRIX  # noqa: E402
from plaudit.errors import ShapeMismatch, WrongType  # noqa: E402
from plaudit.systems.hackmatrix import reward, version  # noqa: E402
from plaudit.systems.hackmatrix.playing import vector_env  # noqa: E402
from plaudit.systems.hackmatrix.playing.gym_env import HackMatrixEnv  # noqa: E402
from plaudit.systems.hackmatrix.playing.vector_env import HackMatrixVectorEnv, compile_games  # noqa: E402
from plaudit.systems.hackmatrix.state import EnvState  # noqa: E402
from support.forking import run_python  # noqa: E402
from support.hackmatrix_model.steps import BATCH, look_at_all  # noqa: E402

GAMES = BATCH
"""How many games are played at once; as many as anywhere, so that a step is traced once."""
LENGTH = 3
"""After so many steps each of them ends."""
UP, DOWN, LEFT, RIGHT = range(4)


def chosen(generator, masks):
    """Return a random action that is allowed for each game."""
    return np.array([generator.choice(np.flatnonzero(mask)) for mask in masks])


@pytest.fixture
def many():
    return HackMatrixVectorEnv(GAMES, max_steps=LENGTH)


def test_many_games_are_made_by_gymnasium_and_say_how_they_begin_anew():
    envs = gymnasium.make_vec(HACKMATRIX, num_envs=GAMES, max_episode_steps=20, reward=version("potential"))
    assert isinstance(envs, HackMatrixVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert (envs.num_envs, envs.single_action_space.n) == (GAMES, 28)
    observation, info = envs.reset(seed=1)
    assert observation in envs.observation_space
    assert info["action_mask"].shape == (GAMES, 28)


def test_many_games_give_arrays_for_all_of_them(many):
    generator = np.random.default_rng(0)
    _, info = many.reset(seed=4)
    for _ in range(LENGTH + 2):
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


def test_many_games_go_as_each_of_them_would_alone():
    many, alone = HackMatrixVectorEnv(GAMES), HackMatrixEnv()
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

    monkeypatch.setattr(vector_env, "compile_games", trace)
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
    ("actions", "error", "told"),
    [
        (np.zeros(GAMES + 1, int), ShapeMismatch, f"shape .{GAMES + 1},.; give one for each of {GAMES} games"),
        (0, ShapeMismatch, "shape .."),
        (np.zeros((GAMES, 1), int), ShapeMismatch, f"shape .{GAMES}, 1."),
        (np.zeros(GAMES), WrongType, "the actions are of float64; they must be integers from 0 to 27"),
        (np.zeros(GAMES, bool), WrongType, "the actions are of bool"),
        ([0] * (GAMES - 1) + [28], OutOfRange, f"action {GAMES - 1} is 28; it must be from 0 to 27"),
        ([-1] * GAMES, OutOfRange, "action 0 is -1"),
    ],
    ids=["one too many", "one for all", "a column", "floats", "flags", "too high", "negative"],
)
def test_actions_that_do_not_fit_are_refused(many, actions, error, told):
    many.reset(seed=1)
    with pytest.raises(error, match=told):
        many.step(actions)


def test_nothing_works_before_a_reset():
    envs = HackMatrixVectorEnv(GAMES, render_mode="ansi")
    for ask in (lambda: envs.step(np.zeros(GAMES, int)), envs.action_masks, envs.render):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) to start"):
            ask()


def test_the_number_of_games_is_checked():
    with pytest.raises(OutOfRange, match="num_envs=0 must be 1 or more"):
        HackMatrixVectorEnv(0)
    with pytest.raises(WrongType, match="num_envs='many'"):
        HackMatrixVectorEnv("many")
    with pytest.raises(OutOfRange, match="max_steps=0 must be 1 or more"):
        HackMatrixVectorEnv(max_steps=0)


def test_options_of_a_reset_are_checked(many):
    with pytest.raises(OutOfRange, match="no option 'state'. It takes none."):
        many.reset(options={"state": EnvState()})
    with pytest.raises(WrongType, match=r"seed=\[1, 2\] must be one integer"):
        many.reset(seed=[1, 2])


@pytest.mark.parametrize("lacking", ["gymnasium", "jax"])
def test_a_library_that_is_not_installed_is_named_with_the_extra_that_brings_it(lacking):
    script = f"import sys; sys.modules[{lacking!r}] = None; import plaudit.systems.hackmatrix.playing.vector_env"
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True)
    assert f"MissingExtra: many games at once need {lacking}. Install it: pip install 'plaudit[gym,jax]'" in done.stderr
