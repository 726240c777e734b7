"""Playing: every step is kept as it was, by every kind of policy, the same for a seed; what goes wrong is one message."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit.analysis.observe.play import plan_turns, play
from plaudit.errors import DefinitionError, EnvironmentFailed, InputError, NotFinite, WrongType
from support.gliders import DT, Glider, features, records


def run(env=None, given=None, *, steps=600, seed=0, max_steps=1000, idle=None):
    env = Glider() if env is None else env
    return play(env, "Glider", given, steps=steps, seed=seed, max_steps=max_steps, idle=idle)


def ends(found):
    """Return the last row of each episode."""
    return np.flatnonzero(np.append(found.first[1:], True))


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_rows_are_the_steps_of_the_environment():
    found = run()
    x, v, force = found.after["obs_0"], found.after["obs_1"], found.after["action"]
    assert np.allclose(v, found.before["obs_1"] + force)
    assert np.allclose(x, found.before["obs_0"] + DT * v)
    assert (found.before["obs_1"][found.first] == 0).all()
    inner = np.flatnonzero(~found.first)
    assert (found.before["obs_0"][inner] == x[inner - 1]).all()
    assert len(found) == 600
    assert found.source == f"Glider, 600 steps of {found.episode[-1] + 1} episodes, seed 0"


def test_an_environment_that_writes_over_its_observation_is_kept_as_it_was():
    for given in (None, features, records):
        one, other = run(Glider(reuse=True), given), run(Glider(), given)
        assert all((one.before[name] == other.before[name]).all() for name in one.before)
        assert all((one.after[name] == other.after[name]).all() for name in one.after)


def test_numbers_and_bools_of_info_are_fields_and_texts_are_not():
    found = run()
    assert set(found.after) == {"obs_0", "obs_1", "fuel", "over", "action"}
    assert found.after["over"].dtype == bool
    assert (found.after["over"] == found.terminated).all()
    assert found.unknown_first == {"fuel", "over"}
    assert not found.knows_before("fuel")[found.first].any()
    assert found.knows_before("obs_0").all()


def test_spaces_declare_what_is_finite():
    found = run()
    assert (found.declared["obs_0"].low, found.declared["obs_0"].high) == (-50, 50)
    assert set(found.declared) == {"obs_0", "action"}
    assert found.action_names == ("action",)


def test_features_name_the_fields_and_the_one_that_is_the_action_is_found():
    found = run(given=features)
    assert set(found.after) == {"x", "v", "fuel", "force"}
    assert found.action_names == ("force",)
    assert "force" not in found.before
    assert found.unknown_first == {"x", "v", "fuel"}
    assert (found.before["x"][found.first] == found.after["x"][found.first]).all()


def test_records_are_both_ends_of_a_step():
    found = run(given=records)
    assert found.unknown_first == {"fuel"}
    assert (found.before["v"][found.first] == 0).all()
    assert np.allclose(found.after["x"], found.before["x"] + DT * found.after["v"])


def test_features_may_take_the_environment_and_give_objects_flags_and_texts():
    class State:
        def __init__(self, x):
            self.x, self._hidden = x, 1

    def given(obs, action, next_obs, info, env):
        ends = {"prev": State(obs[0]), "curr": State(next_obs[0])}
        return {**ends, "far": abs(env.x) > 3, "side": "left" if env.x < 0 else "right", "wheels": np.array([env.x, 2])}

    found = run(given=given)
    assert {name: found.after[name].dtype.kind for name in found.after} == {
        "x": "f",
        "far": "b",
        "side": "U",
        "wheels": "f",
    }
    assert found.after["wheels"].shape == (600, 2)
    assert set(np.unique(found.after["side"])) == {"left", "right"}


def test_a_value_that_is_absent_in_some_steps_is_left_out_and_named():
    found = run(given=lambda obs, action, next_obs, info: {"x": next_obs[0], "gap": None if next_obs[0] > 0 else 1.0})
    assert set(found.after) == {"x"}
    assert found.source.endswith("without gap (missing in some steps)")


def test_what_an_environment_pays_is_not_a_field():
    class Paying(Glider):
        def step(self, action):
            *step, _ = super().step(action)
            return *step, {"reward_survive": 1.0, "dense_reward": 2.0, "rewarded_place": 3.0}

    assert set(run(Paying()).after) == {"obs_0", "obs_1", "rewarded_place", "action"}


def test_an_event_of_info_that_is_only_told_when_it_happens_is_false_otherwise():
    class Telling(Glider):
        def step(self, action):
            *step, _ = super().step(action)
            return *step, {"won": np.True_} if self.x > 2 else {}

    found = run(Telling())
    assert found.after["won"].dtype == bool
    assert (found.after["won"] == (found.after["obs_0"] > 2)).all()


# -- who plays ---------------------------------------------------------------------------------------------------------


def test_every_kind_of_policy_plays_its_share():
    found = run(steps=2000)
    kinds, counts = np.unique(found.policy, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {
        "idle": 300,
        "constant": 500,
        "random": 600,
        "smooth": 600,
    }
    assert (found.after["action"][found.policy == "idle"] == 0).all()
    assert (found.after["action"][found.policy == "random"] != 0).all()


def test_smooth_actions_change_slowly():
    found = run(steps=2000)
    change = np.abs(np.diff(found.after["action"]))[~found.first[1:]]
    by_kind = {kind: np.median(change[found.policy[1:][~found.first[1:]] == kind]) for kind in ("random", "smooth")}
    assert by_kind["smooth"] < by_kind["random"] / 2


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3),
        spaces.Discrete(3, start=5),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(3),
        spaces.Box(-1, 1, (2, 2)),
        spaces.Box(0, 5, (3,), np.int64),
        spaces.Box(-np.inf, np.inf, (1,)),
    ],
    ids=str,
)
def test_all_steps_are_shared_out_and_every_action_is_one_of_the_space(space):
    turns = plan_turns(space, 1000)
    assert sum(turn.steps for turn in turns) == 1000
    for turn in turns:
        act = turn.policy.start(7)
        assert all(space.contains(act(None, None)) for _ in range(30)), turn


def test_the_action_that_does_nothing_can_be_named():
    kinds = {turn.kind for turn in plan_turns(spaces.Discrete(3), 100)}
    assert kinds == {"constant", "random", "smooth"}
    turns = plan_turns(spaces.Discrete(3), 100, idle=1)
    assert [turn.policy.action for turn in turns if turn.kind == "idle"] == [1]
    assert [turn.policy.action for turn in turns if turn.kind == "constant"] == [0, 2]
    with pytest.raises(DefinitionError, match="idle=7 is not an action of Discrete"):
        plan_turns(spaces.Discrete(3), 100, idle=7)


def test_actions_that_are_masked_are_not_played():
    class Masked(Glider):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Discrete(3)

        def reset(self, **options):
            return super().reset(**options)[0], {"action_mask": np.array([1, 0, 1], np.int8)}

        def step(self, action):
            assert action != 1
            *step, info = super().step([int(action) - 1])
            return *step, {**info, "action_mask": np.array([1, 0, 1], np.int8)}

    assert set(np.unique(run(Masked()).after["action"])) == {0.0, 2.0}


def test_only_reset_and_step_are_called_and_the_environment_stays_open():
    env = Glider()
    run(env)
    assert set(env.calls) == {"reset", "step"}
    assert env.calls.count("step") == 600
    assert not env.closed


def test_the_same_seed_plays_the_same_and_another_does_not():
    one, same, other = run(), run(), run(seed=1)
    assert all(one.after[name].tobytes() == same.after[name].tobytes() for name in one.after)
    assert one.after["obs_0"].tobytes() != other.after["obs_0"].tobytes()


def test_what_the_spaces_were_seeded_with_does_not_matter():
    env = Glider()
    env.action_space.seed(99)
    env.action_space.sample()
    assert (run(env).after["action"] == run().after["action"]).all()


# -- how episodes end --------------------------------------------------------------------------------------------------


def test_an_end_is_terminated_a_limit_truncated_and_our_own_budget_neither():
    found = run(Glider(limit=25), steps=1000)
    last = ends(found)
    lengths = np.diff(np.append(-1, last))
    assert (found.after["over"][last] == found.terminated[last]).all()
    assert (lengths[found.truncated[last]] == 25).all()
    assert found.truncated.any()
    cut = last[~found.terminated[last] & ~found.truncated[last]]
    assert 1 <= len(cut) <= len({turn.policy.name for turn in plan_turns(Glider().action_space, 1000)})


def test_an_environment_that_never_ends_is_cut_off_without_a_flag():
    class Endless(Glider):
        def step(self, action):
            obs, *_ = super().step(action)
            return obs, 0.0, False, False, {}

    found = run(Endless(limit=None), steps=1000, max_steps=50)
    lengths = np.diff(np.append(-1, ends(found)))
    assert lengths.max() == 50
    assert not found.truncated.any()
    assert not found.terminated.any()


def test_a_limit_of_the_environment_itself_goes_over_ours():
    env = gymnasium.wrappers.TimeLimit(Glider(limit=None), 30)
    found = run(env, steps=400, max_steps=5)
    lengths = np.diff(np.append(-1, ends(found)))
    assert (lengths[found.truncated[ends(found)]] == 30).all()


# -- observations of every kind ----------------------------------------------------------------------------------------


class Shown(gymnasium.Env):
    """Shows whatever its space holds."""

    def __init__(self, space):
        self.observation_space, self.action_space = space, spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, bool(self.np_random.random() < 0.1), False, {}


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (spaces.Box(0, 1, (1,)), {"obs"}),
        (spaces.Box(0, 1, ()), {"obs"}),
        (spaces.Discrete(4), {"obs"}),
        (spaces.MultiBinary(2), {"obs_0", "obs_1"}),
        (spaces.Tuple([spaces.Discrete(4), spaces.Box(0, 1, (2,))]), {"obs_0", "obs_1_0", "obs_1_1"}),
        (
            spaces.Dict({"speed": spaces.Box(0, 9, (1,)), "arm": spaces.Dict({"a b": spaces.Box(0, 1, (2,))})}),
            {"speed", "arm_a_b_0", "arm_a_b_1"},
        ),
        (spaces.Dict({"total": spaces.Discrete(2), "action": spaces.Discrete(2)}), {"total_", "action"}),
    ],
    ids=lambda given: " ".join(sorted(given)) if isinstance(given, set) else str(given),
)
def test_parts_of_an_observation_are_fields_by_name(space, names):
    found = run(Shown(space), steps=60)
    assert set(found.after) - set(found.action_names) == names
    assert set(found.before) == names
    assert len(found.action_names) == 1


def test_texts_are_kept_whole():
    found = run(Shown(spaces.Text(8, min_length=8)), steps=60)
    assert {len(text) for text in found.after["obs"]} == {8}


def test_an_action_that_info_repeats_is_one_field_and_another_of_its_name_has_another():
    class Repeating(Glider):
        def step(self, action):
            *step, _ = super().step(action)
            return *step, {"done": float(action[0]), "action": self.at}

    found = run(Repeating())
    assert set(found.after) == {"obs_0", "obs_1", "action", "info_action"}
    assert found.action_names == ("action",)


def test_an_action_is_not_taken_for_what_an_observation_calls_so():
    inner = {"action": spaces.Discrete(3), "taken_action": spaces.Box(0, 1, ())}
    found = run(Shown(spaces.Dict(inner)))
    assert found.action_names == ("taken_taken_action",)
    assert found.declared["action"].values == (0, 1, 2)


def test_an_observation_that_tells_the_action_is_a_field():
    class Telling(Shown):
        def step(self, action):
            return int(action), *super().step(action)[1:]

    found = run(Telling(spaces.Discrete(3)))
    assert (found.after["obs"] == found.after["action"]).all()
    assert found.action_names == ("action",)


@pytest.mark.parametrize(("values", "seen"), [((True, 0), {0.0, 1.0}), ((10**400, 1), None)])
def test_info_that_is_now_one_kind_of_number_and_now_another_is_taken_as_it_can_be(values, seen):
    class Telling(Shown):
        def step(self, action):
            return *super().step(action)[:4], {"told": values[int(action)]}

    found = run(Telling(spaces.Discrete(3)))
    assert (set(found.after["told"]) if seen else found.after.get("told")) == seen


def test_what_a_space_declares_of_choices_and_switches():
    found = run(Shown(spaces.Dict({"gear": spaces.Discrete(3), "on": spaces.MultiBinary(1)})), steps=60)
    assert found.declared["gear"].values == (0, 1, 2)
    assert found.declared["on"].flag
    assert found.after["on"].dtype == bool
    assert found.integer == {"gear", "action"}


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 255, (64, 64, 3), np.uint8),
        spaces.Box(0, 1, (300,)),
        spaces.Dict({"camera": spaces.Box(0, 255, (8, 8), np.uint8)}),
        spaces.Sequence(spaces.Discrete(2)),
    ],
    ids=["image", "many", "image in a dict", "sequence"],
)
def test_images_and_what_has_no_names_need_features(space):
    reason = "(like an image|a part has 300 entries|a part is a Sequence)"
    with pytest.raises(DefinitionError, match=rf"{reason}\. Give features, a function of"):
        run(Shown(space), steps=20)


def test_images_with_features_are_played():
    found = run(
        Shown(spaces.Box(0, 255, (8, 8, 3), np.uint8)), lambda obs, action, next_obs, info: {"light": next_obs.mean()}
    )
    assert set(found.after) == {"light"}


def test_actions_that_no_policy_can_take_are_refused():
    class Odd(Glider):
        action_space = spaces.Tuple([spaces.Discrete(2)])

        def __init__(self):
            super().__init__()
            self.action_space = Odd.action_space

    with pytest.raises(DefinitionError, match="no simple policy for actions of Tuple"):
        run(Odd())


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_an_environment_that_raises_is_named_with_the_step():
    with pytest.raises(EnvironmentFailed, match=r"Glider failed in step 7 of 'idle' with seed 0.*simulator is gone"):
        run(Glider(fail_at=7))


def test_nan_of_an_environment_is_named_with_the_step():
    with pytest.raises(NotFinite, match=r"gave NaN as observation\[0\] in step 3 of 'idle' with seed 0"):
        run(Glider(nan_at=3))


def test_a_reward_that_is_not_a_number_is_the_environments_failure():
    class Unpaid(Glider):
        def step(self, action):
            obs, _, *rest = super().step(action)
            return obs, None, *rest

    with pytest.raises(EnvironmentFailed, match="paid None in step 1 of 'idle' with seed 0, which is not a number"):
        run(Unpaid())


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(-1, 1, (3,)), r"\]\), after a reset, is not in the observation space that .* declares: Box"),
        (spaces.Dict({"x": spaces.Box(-1, 1, (1,))}), r"is not in the observation space .*: Dict"),
    ],
    ids=["Box", "Dict"],
)
def test_observations_that_are_not_of_the_declared_space_are_the_environments_failure(space, message):
    with pytest.raises(EnvironmentFailed, match=message):
        run(Glider(space=space))


def test_an_environment_without_a_space_is_refused():
    class Spaceless(gymnasium.Env):
        pass

    with pytest.raises(DefinitionError, match="Glider has no action_space; give it one"):
        run(Spaceless())


def test_info_that_is_not_a_dictionary_is_the_environments_failure():
    class Silent(Glider):
        def step(self, action):
            *step, _ = super().step(action)
            return *step, None

    with pytest.raises(EnvironmentFailed, match="gave None as info in step 1 of 'idle' with seed 0"):
        run(Silent())


def fail(obs, action, next_obs, info):
    return {"x": info["missing"]}


def test_features_that_fail_are_named_with_the_step():
    with pytest.raises(DefinitionError, match="the features raised KeyError: 'missing'") as raised:
        run(given=fail)
    assert raised.value.__notes__ == ["This happened in step 1 of 'idle' with seed 0 in Glider."]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("x", DefinitionError, "features='x' is not a function"),
        (lambda obs, action: {}, DefinitionError, "raised TypeError"),
        (lambda *step: [1, 2], WrongType, r"must return a mapping from names to values, not \[1, 2\]"),
        (
            lambda *step: {"a b": 1},
            DefinitionError,
            "the features return 'a b'; a field name must be a plain identifier",
        ),
        (lambda *step: {"prev": 3, "curr": 4}, WrongType, "`prev` and `curr` must be mappings or objects"),
        (
            lambda *step: {"x": 1.0 if step[2][0] < 0 else float("nan")},
            NotFinite,
            "the features return NaN as 'x' in step",
        ),
        (lambda *step: {"x": object()}, WrongType, "the features return 'x', which must be a number, a bool"),
        (lambda *step: {"x": True if step[2][0] < 0 else 0.5}, WrongType, "the features return 'x', which must be"),
        (lambda *step: {"x": 10**400}, WrongType, "every step: it is 1000.* in step 1 of 'idle' with seed 0"),
        (
            lambda *step: {"x": np.zeros(2 if step[2][0] < 0 else 3)},
            WrongType,
            r"array\(\[0., 0.\]\) in the first step and array\(\[0., 0., 0.\]\) in step|0., 0.\]\) in the first step and array\(\[0., 0.\]\)",
        ),
        (
            lambda *step: {"x": 5.0, "prev": {"x": step[0][0]}, "curr": {"x": step[2][0]}},
            InputError,
            "'x' and 'curr.x' differ, but both mean 'x' after a step",
        ),
        (lambda *step: {}, InputError, "no field is known after a step"),
    ],
)
def test_features_that_are_not_what_they_should_be_are_one_message(given, error, message):
    with pytest.raises(error, match=message):
        run(given=given)


def test_features_that_change_their_names_are_refused():
    def given(obs, action, next_obs, info):
        return {"x": 1.0, **({"y": 2.0} if abs(next_obs[0]) > 1.5 else {})}

    with pytest.raises(DefinitionError, match=r"the features return x in the first step and x, y in step \d+ of"):
        run(given=given)
