from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from plaudit import InputError
from plaudit.analysis.observe.learn import learn_task
from plaudit.reward.task.functions import write_function
from plaudit.reward.task.task import Task
from support.held_back_worlds import HELD_BACK
from support.simulated_worlds import SIMULATORS
from support.simulators import play, score
from support.structureless_worlds import make_structureless

WORLDS = [*SIMULATORS, *HELD_BACK]
BY_NAME = {world.name: world for world in WORLDS}


@cache
def played(name):
    """Return steps of a world, played once for all tests of a process."""
    return play(BY_NAME[name])


@cache
def learnt(name):
    """Return what is learnt of a world."""
    return learn_task(played(name), name="learnt")


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(world, id=world.name, marks=() if at % 3 == 1 else pytest.mark.slow)
        for at, world in enumerate(WORLDS)
    ],
)
def test_what_is_learnt_is_complete_and_true_and_read_back_from_its_file(world, tmp_path):
    task = learnt(world.name)
    result = score(world, task)
    assert (result.misses, result.false) == ([], [])
    said = {f"{part}.{name}" if name else part for part, name, _ in task.list_statements()}
    assert said == set(task.seen)
    assert all(0 < each.count <= each.of for each in task.seen.values())
    task.save(tmp_path / "task.json")
    assert Task.load(tmp_path / "task.json") == task
    assert_holds(task, play(world, seed=77, steps=3000))


def assert_holds(task, others):
    """Hold what a task says against steps that it was not learnt from."""
    for fact in task.facts:
        code = {}
        exec(write_function(fact), code)
        columns = [others.after[name].tolist() for name in fact.reads]
        rows = [dict(zip(fact.reads, row, strict=True)) for row in zip(*columns, strict=True)]
        assert all(code[fact.name](**row) for row in rows), fact.name
    for name, direction in task.monotone.items():
        rows = others.knows_before(name)
        change = (others.after[name] - others.before[name])[rows]
        assert (change >= 0).all() if direction == "up" else (change <= 0).all()
    for name, most in task.max_change.items():
        rows = others.knows_before(name)
        assert np.abs(others.after[name] - others.before[name])[rows].max() <= most * (1 + 1e-6)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_nothing_is_found_where_nothing_holds(seed):
    world = make_structureless(seed)
    assert score(world, learn_task(play(world, seed, steps=3000), name="learnt")).false == []


@pytest.mark.parametrize("name", ["integrator", "coins", "walker", "battery", "traffic light", "tanks"])
def test_the_order_of_episodes_does_not_matter(name):
    transitions = played(name)
    starts = np.flatnonzero(transitions.first)
    parts = np.split(np.arange(len(transitions)), starts[1:])
    order = np.random.default_rng(5).permutation(len(parts))
    rows = np.concatenate([parts[at] for at in order])
    shuffled = replace(
        transitions,
        before={key: column[rows] for key, column in transitions.before.items()},
        after={key: column[rows] for key, column in reversed(transitions.after.items())},
        actions=transitions.actions[rows],
        episode=np.repeat(np.arange(len(parts)), [len(parts[at]) for at in order]),
        policy=transitions.policy[rows],
        terminated=transitions.terminated[rows],
        truncated=transitions.truncated[rows],
    )
    assert learn_task(shuffled, name="learnt").to_json() == learnt(name).to_json()


@pytest.mark.parametrize("name", ["integrator", "coins", "battery", "fight", "laps"])
def test_recorded_episodes_say_the_same_as_played_ones(name):
    transitions = played(name)
    recorded = replace(transitions, policy=np.where(transitions.policy == "idle", "idle", "recorded"))
    assert learn_task(recorded, name="learnt") == learnt(name)


def test_a_few_steps_say_nothing_beyond_what_was_seen():
    for world in WORLDS:
        task = learn_task(play(world, steps=40), name="learnt")
        assert not [
            part for part, *_ in task.list_statements() if part in ("rates", "monotone", "still", "facts", "events")
        ]
        assert task.fields


def test_without_steps_there_is_nothing_to_learn():
    some = play(BY_NAME["integrator"], steps=40)
    none = replace(some, before={}, after={}, actions=None, episode=some.episode[:0])
    with pytest.raises(InputError, match="no steps"):
        learn_task(none, name="nothing")
