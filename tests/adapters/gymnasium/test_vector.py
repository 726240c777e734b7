"""Many environments at once: each is paid as if it were alone, whenever it begins anew, by one call for all."""

import functools
import math
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Ledger, OutOfRange, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper, VectorRewardWrapper
from plaudit.errors import MissingField, NotFinite, ShapeMismatch, WrongType
from support import walks
from support.examples import examples

PLAIN, HELD = walks.reward(), walks.reward(low=-0.5, high=1.0)
MODES = list(AutoresetMode)
NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


@pytest.fixture(params=["numpy", "numba"])
def target(request, monkeypatch):
    """Let few environments be scored as many are."""
    if request.param == "numba":
        monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", 1)
    return request.param


def walking(starts, mode, **options):
    return SyncVectorEnv([functools.partial(walks.Walk, start, **options) for start in starts], autoreset_mode=mode)


def expected(starts, actions, reward, mode, autoreset):
    """Return, for each step and environment, what a plain loop over single environments gives."""
    envs = [RewardWrapper(walks.Walk(start), reward, walks.features, mode=mode) for start in starts]
    for env in envs:
        env.reset()
    over = [False] * len(envs)
    steps = []
    for row in actions:
        results = []
        for at, (env, action) in enumerate(zip(envs, row, strict=True)):
            if over[at]:
                env.reset()
                over[at] = False
                if autoreset is NEXT:
                    results.append(None)
                    continue
            results.append(env.step(int(action)))
            over[at] = results[-1][2] or results[-1][3]
        steps.append(results)
    return steps


def batches(most=4):
    """Return starts and actions for a few environments over a few episodes."""
    return st.integers(1, most).flatmap(
        lambda count: st.tuples(
            st.lists(st.sampled_from([-2.0, 0.0, 1.0, 2.0]), min_size=count, max_size=count),
            st.lists(st.lists(st.integers(0, 2), min_size=count, max_size=count), min_size=1, max_size=20),
        )
    )


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("reuse", [False, True], ids=["copy", "reuse"])
@given(batch=batches(), held=st.booleans(), mode=st.sampled_from(["replace", "add"]))
@examples(0.2)
def test_each_environment_is_paid_as_if_it_were_alone(autoreset, reuse, batch, held, mode):
    starts, actions = batch
    reward = HELD if held else PLAIN
    many = walking(starts, autoreset, reuse=reuse and autoreset is not SAME)  # Gymnasium's `final_obs` would be lost
    many.copy = not reuse  # the same array at every step
    compare(RewardWrapper(many, reward, walks.features, mode=mode), starts, actions, reward, mode, autoreset)


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("mode", ["replace", pytest.param("add", marks=pytest.mark.slow)])
def test_machine_code_pays_as_if_each_were_alone(autoreset, mode, monkeypatch):
    monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", 1)
    starts = [-2.0, 0.0, 1.0, 2.0, 0.0]
    actions = np.random.default_rng(0).integers(0, 3, (60, len(starts)))
    many = walking(starts, autoreset)
    compare(RewardWrapper(many, HELD, walks.features, mode=mode), starts, actions, HELD, mode, autoreset)


def compare(env, starts, actions, reward, mode, autoreset):
    """Step many environments and hold every number against the ones of the same environments alone."""
    env.reset()
    for row, results in zip(actions, expected(starts, actions, reward, mode, autoreset), strict=True):
        _, paid, terminated, truncated, info = env.step(np.array(row))
        ended = terminated | truncated
        components, mask = info["reward_components"], info["_reward_components"]
        assert paid.shape == mask.shape == (len(starts),)
        np.testing.assert_allclose(sum(components.values()), paid, atol=1e-12)
        for at, result in enumerate(results):
            if result is None:
                assert paid[at] == 0
                assert not mask[at]
                assert {column[at] for column in components.values()} == {0.0}
                continue
            assert mask[at]
            assert paid[at] == result[1]
            assert {name: column[at] for name, column in components.items()} == result[4]["reward_components"]
            assert info["original_reward"][at] == result[4]["original_reward"]
            assert ended[at] == ("episode_reward_components" in result[4])
            if ended[at]:
                assert info["_episode_reward_components"][at]
                sums = {name: column[at] for name, column in info["episode_reward_components"].items()}
                assert sums == pytest.approx(result[4]["episode_reward_components"])
        assert ("episode_reward_components" in info) == ended.any()
        if autoreset is DISABLED and ended.any():
            env.reset(options={"reset_mask": ended})
    env.close()


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("shape", ["dict", "tuple"])
def test_observations_with_parts_end_where_they_ended(shape, autoreset):
    def place(obs):
        return obs["place"][:, 0] if shape == "dict" else obs[0][:, 0]

    def features(obs, action, next_obs, info):
        return {"before": place(obs), "after": place(next_obs), "moved": action - 1}

    starts, actions = [0.0, 1.0, -2.0], np.random.default_rng(1).integers(0, 3, (40, 3))
    env = RewardWrapper(walking(starts, autoreset, shape=shape), PLAIN, features)
    compare(env, starts, actions, PLAIN, "replace", autoreset)


def test_observations_that_are_no_arrays_end_where_they_ended():
    @term
    def side(right):
        return 1 if right else -1

    sides = Reward("sides", version="1", terms=[side], fields=[Field("right", flag=True)])
    seen = []

    def features(obs, action, next_obs, info):
        seen.append((obs, next_obs))
        return {"right": np.array([text == ">" for text in next_obs])}

    env = RewardWrapper(walking([-2.0, 0.0], SAME, shape="text"), sides, features)
    env.reset()
    assert env.step(np.array([0, 0]))[1].tolist() == [-1, -1]
    env.step(np.array([0, 2]))
    assert seen == [(("<", ">"), ("<", "<")), (("<", "<"), ("<", ">"))]


@pytest.mark.parametrize("whole", [False, True], ids=["one by one", "as a batch"])
def test_environments_that_say_how_they_ended_as_a_batch_are_understood(whole):
    class Batched(SyncVectorEnv):
        def step(self, actions):
            obs, reward, terminated, truncated, info = super().step(actions)
            if whole and "final_obs" in info:
                final = np.zeros_like(obs)
                final[info["_final_obs"]] = np.stack(list(info["final_obs"][info["_final_obs"]]))
                info["final_obs"] = final
            return obs, reward, terminated, truncated, info

    env = RewardWrapper(Batched([walks.Walk] * 2, autoreset_mode=SAME), PLAIN, walks.features)
    env.reset()
    assert [env.step(np.array([2, 1]))[1].tolist() for _ in range(4)] == [
        [0.875, 0],
        [0.875, 0],
        [2.875, 0],
        [0.875, 0],
    ]


def test_what_the_last_step_told_is_what_the_features_see():
    told = []

    def features(obs, action, next_obs, info):
        told.append(info)
        return walks.features(obs, action, next_obs, info)

    env = RewardWrapper(walking([2.0, 0.0], SAME), PLAIN, features)
    env.reset()
    *_, info = env.step(np.array([2, 0]))
    assert told[0]["moved"].tolist() == [1.0, -1.0]
    assert told[0]["_moved"].tolist() == [True, True]
    assert told[0]["_began"].tolist() == [False, False]
    assert "final_info" not in told[0]
    assert info["moved"].tolist() == [0.0, -1.0]  # for others it is as Gymnasium has it
    assert info["final_info"]["moved"].tolist() == [1.0, 0.0]


def test_an_end_that_nobody_can_see_is_refused():
    class Silent(SyncVectorEnv):
        def step(self, actions):
            return *super().step(actions)[:4], {}

    env = RewardWrapper(Silent([functools.partial(walks.Walk, 2.0)], autoreset_mode=SAME), PLAIN, walks.features)
    env.reset()
    with pytest.raises(MissingField, match="SAME_STEP, and info has no 'final_obs'"):
        env.step(np.array([2]))


def test_some_environments_can_be_reset_by_themselves():
    env = RewardWrapper(walking([0.0, 0.0], NEXT), PLAIN, walks.features)
    env.reset()
    env.step(np.array([2, 2]))
    env.reset(options={"reset_mask": np.array([True, False])})
    env.step(np.array([2, 2]))
    *_, info = env.step(np.array([2, 2]))  # the second is at the edge
    assert info["_episode_reward_components"].tolist() == [False, True]
    assert info["episode_reward_components"]["progress"].tolist() == [0.0, 3.0]
    env.reset(options={"reset_mask": np.array([False, True])})
    _, paid, _, _, info = env.step(np.array([2, 2]))
    assert paid.tolist() == [2.875, 0.875]  # it was reset, so that this is its first step
    assert info["episode_reward_components"]["progress"].tolist() == [3.0, 0.0]


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_environments_in_processes_are_paid_alike(kind):
    make = [functools.partial(walks.Walk, start) for start in (0.0, 2.0)]
    env = RewardWrapper(kind(make, autoreset_mode=SAME), HELD, walks.features)
    try:
        env.reset()
        paid = [env.step(np.array([2, 2]))[1].tolist() for _ in range(3)]
    finally:
        env.close()
    assert paid == [[0.875, 1.0], [0.875, 1.0], [1.0, 1.0]]


def test_each_may_be_wrapped_before_they_are_put_together():
    make = functools.partial(RewardWrapper, reward=PLAIN, features=walks.features)
    env = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    env.close()
    env = SyncVectorEnv([lambda: make(walks.Walk(2.0)), lambda: make(walks.Walk())], autoreset_mode=NEXT)
    env.reset()
    *_, info = env.step(np.array([2, 0]))
    assert info["reward_components"]["arrival"].tolist() == [2.0, 0.0]
    assert info["episode_reward_components"]["progress"].tolist() == [1.0, 0.0]
    assert info["_episode_reward_components"].tolist() == [True, False]


@pytest.mark.parametrize("autoreset", [NEXT, SAME])
def test_what_gymnasium_counts_is_what_is_paid(autoreset):
    env = RecordEpisodeStatistics(RewardWrapper(walking([0.0, 1.0], autoreset), HELD, walks.features, mode="add"))
    env.reset()
    actions = np.random.default_rng(2).integers(0, 3, (50, 2))
    ended = 0
    for row in actions:
        *_, info = env.step(row)
        if "episode" in info:
            ended += 1
            np.testing.assert_allclose(info["episode"]["r"], sum(info["episode_reward_components"].values()))
    assert ended > 5


def test_the_info_can_be_taken_apart_again():
    env = DictInfoToList(RewardWrapper(walking([2.0, 0.0], NEXT), PLAIN, walks.features))
    env.reset()
    *_, infos = env.step(np.array([2, 0]))
    assert infos[0]["episode_reward_components"] == {"progress": 1.0, "effort": -0.125, "arrival": 2.0}
    assert "episode_reward_components" not in infos[1]
    *_, infos = env.step(np.array([2, 0]))
    assert "reward_components" not in infos[0]  # it only began anew
    assert infos[1]["reward_components"]["progress"] == -1.0


def test_wrapped_twice_the_outer_reward_is_paid_and_the_inner_one_kept():
    inner = RewardWrapper(walking([2.0, 0.0], NEXT), PLAIN, walks.features)
    outer = RewardWrapper(inner, HELD, walks.features, mode="add")
    outer.reset()
    _, paid, _, _, info = outer.step(np.array([2, 1]))
    assert info["original_reward"].tolist() == [2.875, 0.0]
    assert paid.tolist() == [3.875, 0.0]
    assert info["original_reward_components"]["arrival"].tolist() == [2.0, 0.0]
    assert info["_original_reward_components"].tolist() == [True, True]


def test_spaces_metadata_and_the_rest_are_those_of_the_environments():
    many = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    env = VectorRewardWrapper(many, PLAIN, walks.features)
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space", "num_envs"):
        assert getattr(env, name) == getattr(many, name)
    assert (env.metadata, env.spec, env.render_mode) == (many.metadata, many.spec, many.render_mode)
    env.close()
    assert env.closed


def test_it_can_be_sent_to_another_process(target):
    env = RewardWrapper(walking([0.0, 0.0], NEXT), HELD, walks.features)
    env.reset()
    env.step(np.array([2, 2]))
    other = pickle.loads(pickle.dumps(env))
    assert other.step(np.array([2, 2]))[1].tolist() == env.step(np.array([2, 2]))[1].tolist()


def test_environments_that_do_not_say_when_they_begin_anew_are_warned_about():
    many = walking([0.0], NEXT)
    del many.metadata["autoreset_mode"]
    with pytest.warns(UserWarning, match="does not declare metadata"):
        RewardWrapper(many, PLAIN, walks.features)


# -- columns --------------------------------------------------------------------------------------------------------------


def scored(reward, fields, count=3):
    """Return the rewards and the info of one step of `count` environments whose features are `fields`."""
    env = RewardWrapper(walking([0.0] * count, NEXT), reward, lambda *step: fields, on_bad="raise")
    env.reset()
    _, paid, _, _, info = env.step(np.ones(count, int))
    return paid, info


NUMBERS = [np.float16, np.float32, np.float64, ">f8", np.int8, np.int32, np.int64, np.uint64]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_columns_of_every_kind_of_number_give_the_same_bits_as_alone(target, dtype):
    @term
    def bent(x, y):
        return x * x * 0.1 + y / 3.0

    reward = Reward("bent", version="1", terms=[bent], fields=[Field("x", low=-100, high=100), Field("y")])
    x, y = np.array([1.1, 7.3, 42.7]).astype(dtype), np.array([[0.1, 9], [5.5, 9], [7.7, 9]])[:, 0]
    paid, _ = scored(reward, {"x": x, "y": y})
    assert paid.tolist() == [reward.score(x=a.item(), y=b.item()).total for a, b in zip(x, y, strict=True)]


def test_a_whole_number_that_no_float_can_hold_is_refused(target):
    @term
    def same(x):
        return x

    reward = Reward("same", version="1", terms=[same], fields=[Field("x")])
    with pytest.raises(OutOfRange, match="environment 1: .*'x'"):
        scored(reward, {"x": np.array([1, 2**53 + 1, 3])})


def test_one_value_stands_for_every_environment(target):
    assert scored(PLAIN, {"before": 0.0, "after": np.array([1.0, 2.0, 3.0]), "moved": 1})[0].tolist() == [
        0.875,
        1.875,
        2.875,
    ]
    paid, info = scored(PLAIN, {"before": 0.0, "after": 1.0, "moved": 1, "terminal": False})
    assert paid.tolist() == [0.875] * 3
    assert info["reward_components"]["progress"].tolist() == [1.0] * 3


def test_texts_vectors_and_two_states_are_columns_too(target):
    @term
    def turn(prev, curr):
        return curr.angle - prev.angle

    @term
    def place(where):
        return -1 if where == "left" else 1

    @term
    def pull(torque):
        return torque[0] - torque[1]

    @term
    def pull_again(torque):
        return torque[0] - torque[1]

    fields = [Field("angle"), Field("where", values=("left", "right")), Field("torque", length=2, low=-5, high=5)]
    reward = Reward("many", version="1", terms=[turn, place, pull, pull_again], fields=fields)
    columns = {
        "prev": {"angle": np.array([0.0, 1.0, 2.0])},
        "curr": {"angle": np.array([1.0, 1.0, 1.0])},
        "where": np.array(["left", "right", "left"]),
        "torque": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]]),
    }
    paid, info = scored(reward, columns)
    assert paid.tolist() == [-2.0, -1.0, 6.0]
    assert info["reward_components"]["pull_again"].tolist() == [-1.0, -1.0, 4.0]


def test_a_matrix_is_a_column_too(target):
    @term
    def impact(force):
        return sum(max(foot) for foot in force)

    reward = Reward("feet", version="1", terms=[impact], fields=[Field("force", shape=(2, 2), low=0, high=99)])
    paid, _ = scored(reward, {"force": np.arange(12.0).reshape(3, 2, 2)})
    assert paid.tolist() == [4.0, 12.0, 20.0]


def test_terms_that_are_the_same_are_both_told(target):
    @term
    def first(x):
        return 2.0 * x

    @term
    def second(x):
        return 2.0 * x

    reward = Reward("twins", version="1", terms=[first, second], fields=[Field("x")], high=5.0)
    paid, info = scored(reward, {"x": np.array([0.5, 1.0, 2.0])})
    assert paid.tolist() == [2.0, 4.0, 5.0]
    assert {name: column.tolist() for name, column in info["reward_components"].items()} == {
        "first": [1.0, 2.0, 4.0],
        "second": [1.0, 2.0, 4.0],
        "total.clamp": [0.0, 0.0, -3.0],
    }


GOOD = {"before": np.zeros(3), "after": np.ones(3), "moved": np.ones(3)}


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        (GOOD | {"after": np.array([1.0, 1.0, math.nan])}, NotFinite, "environment 2: reward 'walk', field 'after'"),
        (GOOD | {"moved": np.array([1.0, 7.0, 7.0])}, OutOfRange, "environment 1: reward 'walk', field 'moved'.* 7"),
        ({"before": np.zeros(3), "moved": np.ones(3)}, MissingField, "reward 'walk' needs 'after'"),
        ({**GOOD, "aftr": np.ones(3), "after": None}, MissingField, "'after': a value is None"),
        ({**GOOD, "after": np.ones(2)}, ShapeMismatch, r"differ in shape: .*after \(2,\)"),
        ({name: np.ones(2) for name in GOOD} | {"terminal": False}, ShapeMismatch, r"after \(2,\).* 3 environments"),
        ({name: np.ones((3, 1)) for name in GOOD} | {"terminal": False}, ShapeMismatch, r"after \(3, 1\)"),
        (GOOD | {"after": np.array(["a", "b", "c"])}, WrongType, "field 'after'"),
        (GOOD | {"after": [1.0, None, 1.0]}, MissingField, "field 'after': a value is None"),
        ([GOOD] * 3, WrongType, "features of reward 'walk' must be a mapping"),
    ],
)
def test_features_that_cannot_be_scored_are_refused_by_name(fields, error, words):
    with pytest.raises(error, match=words):
        scored(PLAIN, fields)


def test_machine_code_refuses_by_name_too(monkeypatch):
    monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", 1)
    with pytest.raises(NotFinite, match="environment 2: reward 'walk', field 'after'"):
        scored(PLAIN, GOOD | {"after": np.array([1.0, 1.0, math.nan])})
    assert scored(PLAIN, GOOD | {"aftr": np.ones(3)})[0].tolist() == scored(PLAIN, GOOD)[0].tolist()


def test_what_cannot_be_scored_in_an_environment_that_begins_anew_is_nobodys_business(target):
    def features(obs, action, next_obs, info):
        fields = walks.features(obs, action, next_obs, info)
        return fields | {"before": np.where(next_obs[:, 1] == 0, math.nan, fields["before"])}

    env = RewardWrapper(walking([2.0, 0.0], NEXT), PLAIN, features)
    env.reset()
    env.step(np.array([2, 1]))
    assert env.step(np.array([2, 2]))[1].tolist() == [0.0, 0.875]


def test_nothing_is_added_to_a_reward_that_is_no_number():
    env = RewardWrapper(walking([0.0, 0.0], NEXT, pay=math.inf), PLAIN, walks.features, mode="add", on_bad="raise")
    env.reset()
    with pytest.raises(NotFinite, match="environment 0: its own reward"):
        env.step(np.array([1, 1]))


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(ResetNeeded, match="reset"):
        RewardWrapper(walking([0.0], NEXT), PLAIN, walks.features).step(np.array([1]))


# -- in a ledger ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("autoreset", [NEXT, SAME])
def test_every_paid_step_is_in_the_ledger_under_its_environment_and_step(tmp_path, target, autoreset):
    starts, actions = [2.0, 0.0], np.random.default_rng(3).integers(0, 3, (25, 2))
    results = expected(starts, actions, HELD, "replace", autoreset)
    with Ledger(tmp_path / "rewards.db") as ledger:
        many = walking(starts, autoreset)
        many.copy = False
        env = RewardWrapper(many, HELD, walks.features, ledger=ledger, run="r", actor="a")
        env.reset()
        for row in actions:
            env.step(row)
        env.close()
        recorded = {}
        for record in ledger.history(run="r", actor="a"):
            env_of = (int(record.episode) - 1) % 2
            recorded.setdefault(env_of, []).append(record)
        for at in (0, 1):
            wanted = [step[at] for step in results if step[at] is not None]
            assert [each.total for each in recorded[at]] == [result[1] for result in wanted]
            places, episode, step = [], at + 1, 0
            for result in wanted:
                step += 1
                places.append((str(episode), step))
                if result[2] or result[3]:
                    episode, step = episode + 2, 0
            assert [(each.episode, each.step) for each in recorded[at]] == places
        assert ledger.verify().ok


def test_features_are_not_asked_where_all_environments_only_begin_anew(tmp_path):
    """What a step tells is not in the info of a reset."""

    def moved(obs, action, next_obs, info):
        return {**walks.features(obs, action, next_obs, info), "before": obs[:, 0] + 0.0 * info["moved"]}

    ledger = Ledger(tmp_path / "walks.db")
    envs = RewardWrapper(walking([0.0, 0.0], NEXT), PLAIN, moved, ledger=ledger)
    envs.reset()
    paid = [envs.step(np.array([2, 2]))[1].tolist() for _ in range(5)]
    envs.close()
    assert paid[3] == [0.0, 0.0]
    assert paid[4] == paid[0] != [0.0, 0.0]
    assert len(list(ledger.history())) == 8
    ledger.close()
