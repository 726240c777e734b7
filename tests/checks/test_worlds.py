"""Small worlds: in each a hack earns more under the flawed reward, and what checks say of both rewards is counted."""

import inspect
import math
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from trust import TOLD, check_world, list_warnings

from checks.worlds import WORLDS, World
from plaudit.adapters.gymnasium import RewardWrapper

BY_NAME = {world.name: world for world in WORLDS}
SEEDS = range(3)
KINDS = ("sound", "flawed")

every_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


@dataclass(frozen=True)
class Episode:
    """The inputs of each step, and what each step earned under either reward."""

    rows: list
    earned: dict

    def sum_up(self, which, discount):
        return sum(paid * discount**step for step, paid in enumerate(self.earned[which]))


def play(world, policy, seed):
    """Play an episode that both rewards score, one as the environment of the other; a step that one cannot score raises."""
    inner = RewardWrapper(world.make(), world.sound, world.features, on_bad="raise")
    env = RewardWrapper(inner, world.flawed, world.features, on_bad="raise")
    obs, _ = env.reset(seed=seed)
    rows, sound, flawed, over = [], [], [], False
    while not over:
        action, before = policy(obs), obs
        obs, paid, terminated, truncated, info = env.step(action)
        rows.append(world.features(before, action, obs, info))
        sound.append(info["original_reward"])
        flawed.append(paid)
        over = terminated or truncated
    env.close()
    return Episode(rows, {"sound": sound, "flawed": flawed})


@cache
def play_all(name, policy):
    world = BY_NAME[name]
    return [play(world, getattr(world, policy), seed) for seed in SEEDS]


def mean_return(world, policy, which):
    discount = world.task.discount or 1.0
    return np.mean([episode.sum_up(which, discount) for episode in play_all(world.name, policy)])


def holds(condition, row):
    """Return whether a condition of a task is true of a step."""
    values = {**row, **row.get("curr", {})}
    values |= {side: SimpleNamespace(**row.get(side, {})) for side in ("prev", "curr")}
    parameters = inspect.signature(condition.source.function).parameters.values()
    return bool(condition(*(values[each.name] for each in parameters if each.kind is not each.KEYWORD_ONLY)))


def reach_goal(world, policy):
    """Return the share of episodes that reach the goal, 0 where the task has none."""
    goal = world.task.goal
    if goal is None:
        return 0.0
    return np.mean([any(holds(goal, row) for row in each.rows) for each in play_all(world.name, policy)])


def meet_wishes(world, policy):
    """Return how well each wish of the task is met, the higher the better: the mean over episodes of means over steps."""

    def mean(field, score):
        steps = [[score(np.mean({**row, **row.get("curr", {})}[field])) for row in each.rows] for each in episodes]
        return np.mean([np.mean(each) for each in steps])

    episodes = play_all(world.name, policy)
    better = {
        field: mean(field, lambda x, sign=1 if way == "high" else -1: sign * x)
        for field, way in world.task.better.items()
    }
    return better | {field: mean(field, lambda x, best=best: -abs(x - best)) for field, best in world.task.aim.items()}


@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized space")
@every_world
def test_a_world_is_an_environment_of_gymnasium(world: World):
    check_env(world.make(), skip_render_check=True)


@every_world
def test_both_rewards_score_every_step(world: World):
    for episode in (*play_all(world.name, "good"), *play_all(world.name, "hack")):
        assert len(episode.rows) <= 300
        assert all(map(math.isfinite, (*episode.earned["sound"], *episode.earned["flawed"])))


@every_world
def test_the_hack_earns_more_under_the_flawed_reward(world: World):
    assert mean_return(world, "hack", "flawed") > mean_return(world, "good", "flawed")


@every_world
def test_what_is_wanted_earns_more_under_the_sound_reward(world: World):
    assert mean_return(world, "good", "sound") > mean_return(world, "hack", "sound")


@every_world
def test_the_hack_serves_the_task_worse(world: World):
    good, hack = reach_goal(world, "good"), reach_goal(world, "hack")
    wishes, met = meet_wishes(world, "good"), meet_wishes(world, "hack")
    assert good > hack or (good == hack and any(wishes[each] > met[each] for each in wishes)), (good, hack, wishes, met)


def test_most_flawed_rewards_are_warned_of_and_hardly_a_sound_one(record_property):
    told = {
        (how, which): {name for name, world in BY_NAME.items() if list_warnings(check_world(world, how, which))}
        for how in TOLD
        for which in KINDS
    }
    for (how, which), warned in told.items():
        for name in BY_NAME:
            record_property("worlds", f"{how} {which} {'warned' if name in warned else 'quiet'}")
    flawed, sound = (told["declared", which] | told["observed", which] for which in ("flawed", "sound"))
    assert len(BY_NAME) == len(WORLDS) == 20
    assert len(flawed) >= 12, sorted(set(BY_NAME) - flawed)
    assert len(sound) <= 1, sorted(sound)
