"""`observe`: what was seen of an environment, a ledger or a file becomes a task, the same for the same steps."""

import gymnasium
import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import observe, observe_file, observe_ledger
from plaudit.errors import DefinitionError, EnvironmentFailed, WrongType
from support.gliders import Glider, features, gliding, moved, records


def list_statements(task):
    """Return everything that is said with how often it was seen, functions by what they say."""
    data = task.to_dict()
    return {part: data[part] for part in data if part not in ("name", "source")}


def test_what_is_known_of_a_glider_is_learnt_from_it():
    task = Task.observe(Glider, features, steps=4000)
    assert task.rates["x"].rate == "v"
    assert task.rates["x"].dt == pytest.approx(0.5)
    assert task.monotone == {"fuel": "down"}
    assert task.horizon == 40
    assert task.actions == ("force",)
    assert task.find_basis("rates", "x") == "seen"
    assert task.name == "Glider"


def test_what_an_idle_agent_meets_of_a_vector_is_learnt_and_kept(tmp_path):
    @term
    def calm(push):
        """Do little."""
        return -(push[0] ** 2) - push[1] ** 2

    def given(obs, action, next_obs, info):
        return {"x": next_obs[0], "push": [float(action[0]), 2.0]}

    fields = [Field("push", shape=(2,))]
    reward = Reward("calm", version="1", terms=[calm], fields=fields, action="push")
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Glider(), reward, given, ledger=ledger)
        played = observe(env, given, steps=4000).task
        env.close()
        recorded = observe_ledger(ledger, idle=[0.0, 2.0]).task
    assert played.idle["push"] == [0.0, 2.0]
    assert recorded.idle["push"] == played.idle["push"]
    assert reward.with_task(played)._bound.idle == {"push[0]": 0.0, "push[1]": 2.0}


def test_the_same_seed_gives_the_same_file_byte_for_byte(tmp_path):
    one, same, other = (observe(Glider, steps=2000, seed=seed).task for seed in (3, 3, 4))
    assert one.to_json() == same.to_json()
    assert one.to_json() != other.to_json()
    assert "seed 3" in one.source


@pytest.mark.parametrize(("reward", "given"), [(gliding, features), (moved, records)], ids=["plain", "records"])
def test_a_ledger_of_recorded_episodes_gives_the_task_of_the_environment_that_made_it(tmp_path, reward, given):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Glider(), reward, given, ledger=ledger, run="night")
        played = observe(env, given, steps=5000).task
        env.close()
        recorded = observe_ledger(ledger, run="night").task
        ledger.export(tmp_path / "night.parquet")
    exported = observe_file(tmp_path / "night.parquet", action="force").task
    assert list_statements(recorded) == list_statements(played)
    assert list_statements(exported) == list_statements(played)
    assert (recorded.name, exported.name) == (reward.name, "night")


def test_a_limit_that_no_episode_reaches_is_what_the_environment_declares():
    task = observe("CartPole-v1", steps=500).task
    assert task.horizon == 500
    assert task.find_basis("horizon") == "declared"
    assert task.ends["timeout"].sign == "time"


def test_options_are_handed_on_and_named():
    task = observe(Glider, steps=300, make={"limit": 7}, name="gliding").task
    assert task.horizon == 7
    assert task.name == "gliding"
    assert task.source.startswith("Glider (limit=7), 300 steps of ")


def test_an_environment_that_was_made_here_is_closed_and_a_given_one_is_not():
    made = []

    def make():
        made.append(Glider())
        return made[-1]

    observe(make, steps=100)
    assert made[0].closed
    given = Glider()
    observe(given, steps=100)
    assert not given.closed


def test_progress_is_told():
    told = []
    observe(Glider, steps=1000, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert 10 <= len(told) <= 20
    assert told[-1][1] == 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps=0 must be an integer of at least 1"),
        ({"steps": 10.5}, "steps=10.5 must be an integer"),
        ({"seed": -1}, "seed=-1 must be an integer of at least 0"),
        ({"max_steps": 0}, "max_steps=0 must be an integer of at least 1"),
        ({"idle": "x"}, "idle='x' is not an action of Box"),
        ({"idle": [7.0]}, r"idle=\[7.0\] is not an action of Box"),
        ({"make": {"wings": 3}}, "the environment Glider cannot be made"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments, message):
    with pytest.raises((DefinitionError, EnvironmentFailed), match=message):
        observe(Glider, **arguments)


def test_what_is_not_an_environment_or_a_ledger_is_refused():
    with pytest.raises(DefinitionError, match="CartPole-v7"):
        observe("CartPole-v7")
    with pytest.raises(DefinitionError, match="is a vector environment; give a single one"):
        observe(gymnasium.make_vec("CartPole-v1", num_envs=2))
    with pytest.raises(WrongType, match="is not a Ledger"):
        observe_ledger("rewards.db")


def test_a_task_that_was_observed_is_saved_and_read(tmp_path):
    task = observe(Glider, records, steps=2000).task
    task.save(tmp_path / "task.json")
    assert Task.load(tmp_path / "task.json") == task
    assert len(task.seen) > 10


@pytest.mark.parametrize("env", ["Pendulum-v1", "MountainCar-v0", "FrozenLake-v1", "Blackjack-v1"])
def test_environments_of_gymnasium_are_observed(env):
    task = observe(env, steps=1500).task
    assert "action" in task.actions
    assert all(np.isfinite(float(each.low)) for each in task.fields.values() if each.low is not None)
