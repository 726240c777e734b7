"""An observed task has entries `obs_0`, `obs_1`; a reward that has the whole array gets what they say of it."""

import math

import numpy as np
import pytest

from plaudit import DefinitionError, Event, Field, Reward, Task, bounds, check, fact, term
from plaudit.errors import UnknownField
from plaudit.reward.task.statements import Seen

gymnasium = pytest.importorskip("gymnasium", reason="needs plaudit[gymnasium]")


def swing(obs, action):
    return -(np.arctan2(obs[1], obs[0]) ** 2 + 0.1 * obs[2] ** 2 + 0.001 * action[0] ** 2)


def push(action):
    return -(action[0] ** 2)


def balance(observation):
    return 1.0 - abs(observation[2]) - 0.1 * abs(observation[3])


def upright(obs):
    return 1.0 - abs(obs[2]) - 0.1 * abs(obs[3])


def features(obs, action, next_obs, info):
    return {"obs": next_obs, "action": action}


@pytest.fixture(scope="module")
def pendulum():
    return gymnasium.make("Pendulum-v1")


@pytest.fixture(scope="module")
def carts():
    env = gymnasium.make("CartPole-v1")
    return env, Task.observe(env, steps=500)


@pytest.mark.parametrize("given", [None, features], ids=["entries", "features"])
def test_an_action_of_one_number_is_observed_as_one(pendulum, given):
    example = {"obs": pendulum.observation_space, "action": pendulum.action_space}
    task = Task.observe(pendulum, given, steps=500)
    reward = Reward.from_functions({swing: 1.0}, example=example, task=task)
    assert reward.task.fields["action"] == Field("action", length=1, low=-2, high=2)
    assert reward.task.actions == ("action",)
    assert reward.task.find_basis("start", "obs[0]") == ("default" if given else "seen")
    assert not reward.task.facts
    assert bounds(reward).total.low > -20


def test_a_mountain_car_is_observed_too():
    env = gymnasium.make("MountainCarContinuous-v0")
    example = {"action": env.action_space}
    task = Task.observe(env, steps=300)
    reward = Reward.from_functions({push: 1.0}, example=example, task=task)
    assert reward.task.fields["action"].shape == (1,)


@pytest.mark.parametrize(("function", "name"), [(upright, "obs"), (balance, "observation")])
def test_the_ranges_of_the_entries_are_those_of_the_array(carts, function, name):
    env, task = carts
    reward = Reward.from_functions({function: 1.0}, example={name: env.observation_space}, task=task)
    lows = [task.fields[f"obs_{at}"].low for at in range(4)]
    assert reward._bound.fields[name].low == min(lows)
    assert reward._bound.fields[name].range_basis == "seen"
    assert reward.task.states == (name,)
    assert bounds(reward).total.low == -math.inf  # which rests on what is declared alone
    [staying] = [each for each in check(reward).findings if each.code == "pays-for-staying"]
    assert f"the range of {name}" in {ground.says for ground in staying.grounds if ground.basis == "seen"}
    assert Reward.from_functions({function: 1.0}, example={name: env.observation_space}).with_task(task) == reward
    assert reward.with_task(reward.task).task == reward.task


def observed(**said):
    fields = [Field("obs_0", low=0, high=2), Field("obs_1", low=-1, high=1)]
    seen = {f"fields.{each.name}": Seen(9, 9) for each in fields}
    return Task("seen", fields=fields, seen=seen, source="env", **said)


def pair(obs):
    return obs[0] + obs[1]


def fit(task, length=2):
    return Reward("pair", version="1", terms=[term(pair)], fields=[Field("obs", length=length)], task=task).task


def test_what_holds_for_each_entry_holds_for_the_array():
    task = fit(observed(max_change={"obs_0": 1, "obs_1": 3}, still=["obs_0"], start={"obs_1": 0.5}, horizon=9))
    assert task.max_change == {"obs": 3.0}
    assert task.still == ()
    assert dict(task.start) == {"obs[1]": 0.5}
    assert task.fields["obs"] == Field("obs", length=2, low=-1, high=2)
    assert task.seen == {"fields.obs": Seen(9, 9)}
    assert task.horizon == 9


@fact
def together(obs_0, obs_1):
    return obs_0 >= obs_1


SAID = {
    "a wish": {"better": {"obs_0": "low"}},
    "a fact": {"facts": [together]},
    "a rate": {"rates": {"obs_0": "obs_1"}},
    "an event": {"events": {"obs_0": Event(at_most=1)}},
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_what_somebody_declared_of_an_entry_is_not_left_out(said):
    with pytest.raises(UnknownField, match="they have no field in common") as caught:
        fit(observed(**said))
    assert "Did you mean" not in str(caught.value)


def test_a_task_that_was_not_observed_is_taken_at_its_word():
    with pytest.raises(DefinitionError, match="features that return what the reward gets"):
        fit(Task("mine", fields=[Field("obs", low=0, high=1)]))


def test_an_array_of_another_length_has_other_entries():
    with pytest.raises(UnknownField, match="they have no field in common"):
        fit(observed(), length=3)
