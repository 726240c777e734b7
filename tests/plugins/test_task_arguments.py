"""The forms in which a task can be named, and what is said where there is none."""

import sys

import pytest

from plaudit import PlauditError, Task
from plaudit.plugins.arguments import find_reward, find_reward_or_task, find_task
from plaudit.systems import BUILT_IN, load

OWN = """
from plaudit import Field, Reward, Task, term

@term
def near(distance):
    return 1 if distance < 2 else 0

reach = Task("reach", better={"distance": "low"})
reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0)], task=reach)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("plaudit_file_", "own")):
            del sys.modules[name]


def refused(text, find=find_task):
    with pytest.raises(PlauditError) as caught:
        find(text)
    return str(caught.value)


@pytest.mark.parametrize("text", ["own.py:reach", "own.py", "own:reach", "own.py:reaching.task", "task.json"])
def test_a_task_is_found_in_a_file_a_module_and_a_reward(text):
    Task("reach", better={"distance": "low"}).save("task.json")
    assert find_task(text) == Task("reach", better={"distance": "low"})


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_system_has_a_task_by_its_name(name):
    assert find_task(name) == load(name).task
    assert not find_task(name).is_empty


def test_a_version_of_a_system_has_its_own_task():
    assert find_task("roadsense@R0") == load("roadsense", "R0").task


def test_what_is_not_there_is_named_with_what_is(here):
    assert "own.py has no 'rech'. Did you mean 'reach'?\nIts tasks: own.py:reach" in refused("own.py:rech")
    assert "there is no task 'roadsens'. Did you mean 'roadsense'?" in refused("roadsens")
    assert refused("none.json") == "none.json does not exist."
    (here / "bare.py").write_text("x = 1", encoding="utf-8")
    assert refused("bare.py") == "bare.py has no task.\nThere is no Task at the top level of bare.py."
    (here / "two.py").write_text(OWN + "\nother = Task(horizon=9)\n", encoding="utf-8")
    assert refused("two.py").endswith("name one.\nIts tasks: two.py:other, two.py:reach")


def test_what_is_not_a_task_is_said_to_be_what_it_is(here):
    said = refused("own.py:reaching")
    assert said.startswith("own.py:reaching is a Reward, not a Task. Its task is own.py:reaching.task.")
    assert "own.py:near is a Term, not a Task." in refused("own.py:near")
    (here / "reward.json").write_text(find_reward("own.py:reaching").to_json(), encoding="utf-8")
    assert refused("reward.json").startswith("reward.json is a Reward, not a Task.")
    (here / "old.json").write_text('{"task": 99}', encoding="utf-8")
    assert refused("old.json").startswith("old.json: this task was written in format 99")


def test_a_task_is_not_taken_for_a_reward():
    Task("reach", better={"distance": "low"}).save("task.json")
    assert refused("task.json", find_reward) == "task.json is a Task, not a Reward. Give it with --task."
    assert "own.py:reach is a Task, not a Reward." in refused("own.py:reach", find_reward)
    assert find_reward_or_task("task.json").name == "reach"
    assert find_reward_or_task("own.py:reaching").name == "reaching"
