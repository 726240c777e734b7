"""One environment, paid by a reward: what it is told, what it sums up, and what it refuses."""

import copy
import inspect
import math
import pickle
import re
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import Autoreset, RecordEpisodeStatistics, TimeLimit
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, Field, InputError, Ledger, OutOfRange, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper, VectorRewardWrapper
from plaudit.adapters.gymnasium.arguments import WrapperOptions
from plaudit.errors import MissingField, NotFinite, WrongType
from support import walks
from support.forking import run_python

PLAIN, HELD = walks.reward(), walks.reward(low=-0.5, high=1.0)
ACTIONS = st.lists(st.integers(0, 2), min_size=1, max_size=12)


def play(env, actions):
    """Return (action, result) of steps up to the end of an episode."""
    env.reset()
    steps = []
    for action in actions:
        steps.append((action, env.step(action)))
        if steps[-1][1][2] or steps[-1][1][3]:
            break
    return steps


@given(
    actions=ACTIONS,
    mode=st.sampled_from(["replace", "add"]),
    reward=st.sampled_from([PLAIN, HELD]),
    reuse=st.booleans(),
    pay=st.sampled_from([0.25, np.float32(-1.5), 2]),
)
def test_the_components_add_up_to_the_reward_and_their_sums_to_the_episode(actions, mode, reward, reuse, pay):
    env = RewardWrapper(walks.Walk(reuse=reuse, pay=pay), reward, walks.features, mode=mode)
    place, totals, sums = 0.0, 0.0, {}
    for action, (_, paid, terminated, truncated, info) in play(env, actions):
        components, after = info["reward_components"], place + action - 1.0
        by_hand = walks.wanted(place, action, after, terminated)
        assert {name: components[name] for name in by_hand} == pytest.approx(by_hand)
        assert list(components) == [
            *by_hand,
            *(["total.clamp"] if reward is HELD else []),
            *(["original.reward"] if mode == "add" else []),
        ]
        assert isinstance(paid, float)
        assert sum(components.values()) == pytest.approx(paid)
        total = sum(by_hand.values()) if reward is PLAIN else min(max(sum(by_hand.values()), -0.5), 1.0)
        assert paid == pytest.approx(total + (float(pay) if mode == "add" else 0))
        assert info["original_reward"] == pay
        totals += paid
        sums = {name: sums.get(name, 0.0) + value for name, value in components.items()}
        assert ("episode_reward_components" in info) == (terminated or truncated)
        if terminated or truncated:
            assert info["episode_reward_components"] == sums
            assert sum(sums.values()) == pytest.approx(totals)
        place = after


def test_an_episode_that_is_cut_off_has_its_sums_too_and_is_no_terminal_one():
    *_, (_, (_, _, terminated, truncated, info)) = play(
        RewardWrapper(walks.Walk(), PLAIN, walks.features), [1] * walks.LIMIT
    )
    assert (terminated, truncated) == (False, True)
    assert info["episode_reward_components"] == {"progress": 0.0, "effort": 0.0, "arrival": 0.0}


def test_a_reset_in_the_middle_of_an_episode_begins_the_sums_at_0():
    env = RewardWrapper(walks.Walk(), PLAIN, walks.features)
    play(env, [0, 2])
    *_, (_, result) = play(env, [2, 2, 2])
    assert result[4]["episode_reward_components"] == {"progress": 3.0, "effort": -0.375, "arrival": 2.0}


def test_what_the_last_step_was_paid_for_can_be_explained():
    env = RewardWrapper(walks.Walk(), PLAIN, walks.features)
    assert env.signal is None
    play(env, [2])
    assert "progress" in env.signal.explain()


def test_the_info_of_the_environment_is_left_alone():
    walk = walks.Walk(reuse=True)
    [(_, result)] = play(RewardWrapper(walk, PLAIN, walks.features), [2])
    assert walk._info == {"moved": 1.0}
    assert result[4]["moved"] == 1.0


def test_wrapped_twice_the_outer_reward_is_paid_and_the_inner_one_kept():
    inner = RewardWrapper(walks.Walk(), PLAIN, walks.features)
    outer = RewardWrapper(inner, HELD, walks.features, mode="add")
    *_, (_, (_, paid, _, _, info)) = play(outer, [2, 2, 2])
    assert info["original_reward"] == 1 - 0.125 + 2.0
    assert info["original_reward_components"] == {"progress": 1.0, "effort": -0.125, "arrival": 2.0}
    assert info["reward_components"]["original.reward"] == info["original_reward"]
    assert paid == 1.0 + info["original_reward"]
    assert info["episode_reward_components"]["total.clamp"] == pytest.approx(-1.875)


def test_an_observation_that_is_written_over_is_still_the_one_before():
    def moved(env):
        env.reset()
        paid = []
        for action in (2, 0, 2):
            obs, reward, *_ = env.step(action)
            paid.append(reward)
            obs[:] = 9.0  # whoever gets it may do with it as they like
        return paid

    assert moved(RewardWrapper(walks.Walk(), PLAIN, walks.features)) == [0.875, -1.125, 0.875]


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize(
    ("shape", "place"), [("dict", lambda obs: obs["place"][0]), ("tuple", lambda obs: obs[0][0])], ids=["dict", "tuple"]
)
def test_observations_with_parts_are_kept_part_by_part(shape, place, reuse):
    def features(obs, action, next_obs, info):
        return {"before": place(obs), "after": place(next_obs), "moved": info["moved"]}

    env = RewardWrapper(walks.Walk(shape=shape, reuse=reuse), PLAIN, features)
    assert [result[1] for _, result in play(env, [2, 0, 2])] == [0.875, -1.125, 0.875]


def test_an_environment_that_begins_anew_by_itself_is_not_paid_for_it():
    env = RewardWrapper(TimeLimit(Autoreset(walks.Walk()), 100), PLAIN, walks.features)
    env.reset()
    results = [env.step(2) for _ in range(7)]
    assert [result[1] for result in results] == [0.875, 0.875, 2.875, 0.0, 0.875, 0.875, 2.875]
    assert "reward_components" not in results[3][4]
    assert results[6][4]["episode_reward_components"] == results[2][4]["episode_reward_components"]


def warned(env):
    """Return what Gymnasium's checks have to say about an environment that passes them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env, skip_render_check=True)
    return {re.sub(r"\(?<.*?>+\)?", "it", str(each.message)) for each in said}


@pytest.mark.parametrize("mode", ["replace", "add"])
@pytest.mark.parametrize("env", [lambda: gymnasium.make("CartPole-v1").unwrapped, walks.Walk], ids=["CartPole", "Walk"])
def test_it_passes_the_checks_of_gymnasium_as_the_environment_does(env, mode):
    @term
    def kept(place):
        return 1 - abs(place)

    upright = Reward("upright", version="1", terms=[kept], fields=[Field("place", low=-100, high=100)])
    wrapped = RewardWrapper(env(), upright, lambda obs, action, seen, info: {"place": seen[0]}, mode=mode)
    new = warned(wrapped) - warned(env())
    assert len(new) == 1
    assert "different from the unwrapped version" in new.pop()


def test_what_gymnasium_counts_is_what_is_paid():
    env = RecordEpisodeStatistics(RewardWrapper(walks.Walk(), HELD, walks.features, mode="add"))
    *_, (_, result) = play(env, [2, 1, 0, 2, 2, 2])
    assert result[4]["episode"]["r"] == pytest.approx(sum(result[4]["episode_reward_components"].values()))


def test_it_can_be_made_again_from_its_specification_and_copied_and_sent():
    env = RewardWrapper(gymnasium.make("CartPole-v1"), PLAIN, walks.features, mode="add", run="r")
    again = gymnasium.make(env.spec)
    assert isinstance(again, RewardWrapper)
    assert again.spec == env.spec
    walk = RewardWrapper(walks.Walk(), PLAIN, walks.features)
    play(walk, [2, 2])
    for other in (copy.deepcopy(walk), pickle.loads(pickle.dumps(walk))):
        *_, info = other.step(2)
        assert info["episode_reward_components"] == {"progress": 3.0, "effort": -0.375, "arrival": 2.0}


def test_around_many_environments_it_is_the_wrapper_of_many():
    many = gymnasium.vector.SyncVectorEnv([walks.Walk] * 2)
    env = RewardWrapper(many, PLAIN, features=walks.features, mode="add")
    assert isinstance(env, VectorRewardWrapper)
    assert isinstance(env, gymnasium.vector.VectorWrapper)


# -- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"before": 0.0, "after": math.nan, "moved": 1}, NotFinite, "reward 'walk', field 'after'"),
        ({"before": 0.0, "after": 99.0, "moved": 1}, OutOfRange, "field 'after'"),
        ({"before": 0.0, "moved": 1}, MissingField, "reward 'walk' needs 'after'"),
        ({"before": 0.0, "aftr": 1.0, "moved": 1}, MissingField, "'after', which was not given. Did you mean 'aftr'"),
        ({"before": 0.0, "after": np.zeros(2), "moved": 1}, WrongType, "field 'after'"),
        ([0.0, 1.0, 1], WrongType, "features of reward 'walk' must be a mapping"),
        (None, WrongType, "must be a mapping, not None"),
    ],
)
def test_features_that_cannot_be_scored_are_refused_by_name(fields, error, words):
    env = RewardWrapper(walks.Walk(), PLAIN, lambda *step: fields, on_bad="raise")
    env.reset()
    with pytest.raises(error, match=words):
        env.step(1)
    assert issubclass(error, InputError)


async def late(obs, action, next_obs, info):
    return {}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"reward": walks.progress}, DefinitionError, "is not a Reward"),
        ({"features": {"before": 0}}, DefinitionError, "features=.* is not a plain function"),
        ({"features": late}, DefinitionError, "is not a plain function"),
        ({"mode": "ad"}, DefinitionError, "mode='ad' is not one of replace, add. Did you mean 'add'"),
        ({"ledger": "rewards.db"}, WrongType, "ledger='rewards.db' is not a Ledger; pass"),
    ],
)
def test_what_the_wrapper_is_not_made_for_is_refused_at_once(options, error, words):
    with pytest.raises(error, match=words):
        RewardWrapper(walks.Walk(), **{"reward": PLAIN, "features": walks.features} | options)


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(ResetNeeded, match="reset"):
        RewardWrapper(walks.Walk(), PLAIN, walks.features).step(1)


def test_nothing_is_added_to_a_reward_that_is_no_number():
    env = RewardWrapper(walks.Walk(pay=math.nan), PLAIN, walks.features, mode="add", on_bad="raise")
    env.reset()
    with pytest.raises(NotFinite, match="own reward.* is nan"):
        env.step(1)
    [(_, result)] = play(RewardWrapper(walks.Walk(pay=math.nan), PLAIN, walks.features), [2])
    assert result[1] == 0.875  # it was to be replaced


# -- in a ledger -----------------------------------------------------------------------------------------------------------


def test_every_step_is_in_the_ledger_when_the_environment_is_closed(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), HELD, walks.features, ledger=ledger, run="night-3", actor="ppo")
        signals = []
        for actions in ([2, 2, 2], [], [0], [1, 2]):
            env.reset()
            for action in actions:
                env.step(action)
                signals.append(env.signal)
        env.close()
        records = list(ledger.history(run="night-3", actor="ppo"))
        assert [(each.episode, each.step) for each in records] == [
            *(("1", step) for step in (1, 2, 3)),
            ("2", 1),  # an episode without a step is none
            *(("3", step) for step in (1, 2)),
        ]
        assert [each.signal for each in records] == signals
        assert ledger.verify().ok
        env.close()
        assert ledger.history().count() == 6


def test_a_ledger_that_is_closed_first_loses_nothing(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), HELD, walks.features, ledger=ledger)
        other = pickle.loads(pickle.dumps(env))  # it opens the ledger for itself
        for each in (env, other):
            each.reset()
            each.step(2)
        other._record._ledger.close()
    env.close()
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.history().count() == 2


def test_texts_and_flags_are_recorded_as_they_were_scored(tmp_path):
    @term
    def side(where, odd):
        return (1 if where == "right" else 0) + (2 if odd else 0)

    sides = Reward(
        "sides", version="1", terms=[side], fields=[Field("where", values=("left", "right")), Field("odd", flag=True)]
    )

    def features(obs, action, seen, info):
        return {"where": "right" if seen[0] > 0 else "left", "odd": seen[1] % 2 == 1}

    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), sides, features, ledger=ledger)
        paid = [result[1] for _, result in play(env, [2, 2, 0, 0])]
        env.close()
        assert paid == [3.0, 1.0, 3.0, 0.0]
        assert [each.signal.inputs for each in ledger.history()][1] == {"where": "right", "odd": False}
        assert [each.total for each in ledger.history()] == paid


def test_a_program_that_ends_without_closing_loses_no_step(tmp_path):
    script = f"""
import sys; sys.path.insert(0, {str(Path(walks.__file__).parents[1])!r})
sys.modules.update(dict.fromkeys(("stable_baselines3", "tensorboard", "torch")))  # none of which is needed
from support import walks
from plaudit import Ledger
from plaudit.adapters.gymnasium import RewardWrapper
env = RewardWrapper(walks.Walk(), walks.reward(), walks.features, ledger=Ledger("rewards.db"))
env.reset()
env.step(1)
"""
    run_python([sys.executable, "-c", script], cwd=tmp_path, check=True)
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.history().count() == 1


@pytest.mark.parametrize(
    ("missing", "module", "says"),
    [
        ("gymnasium", "plaudit.adapters.gymnasium", "MissingExtra: the wrappers need gymnasium"),
        ("stable_baselines3", "plaudit.adapters.sb3", "MissingExtra: the callback needs stable_baselines3"),
    ],
)
def test_without_the_library_the_extra_is_named(missing, module, says):
    script = f"import sys; sys.modules[{missing!r}] = None; import {module}"
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True)
    assert says in done.stderr
    assert f"pip install 'plaudit[{'gym' if missing == 'gymnasium' else 'sb3'}]'" in done.stderr


@pytest.mark.parametrize(("kind", "wrapped"), [(RewardWrapper, "Env"), (VectorRewardWrapper, "VectorEnv")])
def test_the_signature_shows_every_parameter_and_the_documentation_says_what_it_is_for(kind, wrapped):
    signature = inspect.signature(kind)
    names = ["env", "reward", "features", *WrapperOptions.__annotations__]
    assert list(signature.parameters) == names
    assert signature.parameters["reward"].annotation is Reward
    assert wrapped in str(signature.parameters["env"].annotation)
    documentation = inspect.getdoc(kind) + (inspect.getdoc(kind.__init__) or "")
    assert all(f"    {name}: " in documentation for name in signature.parameters)
    assert "Args:" in documentation
    assert "Raises:" in documentation


def test_a_subclass_may_have_parameters_of_its_own():
    class Paid(RewardWrapper):
        def __init__(self, env, *, limit):
            super().__init__(TimeLimit(env, limit), PLAIN, walks.features)

    env = Paid(walks.Walk(), limit=1)
    env.reset()
    assert env.step(1)[3]
    assert type(copy.deepcopy(env)) is Paid
