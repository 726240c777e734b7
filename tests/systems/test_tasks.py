"""What is wanted of each built-in system is said once, for every version of its reward."""

import pytest

from plaudit import Task
from plaudit.systems import BUILT_IN, load, system
from plaudit.systems.apex.reward import task as apex
from plaudit.systems.deepthinker.reward_signal import task as deepthinker
from plaudit.systems.hackmatrix.rewards import task as hackmatrix
from plaudit.systems.roadsense.task import CLOSING, HORIZON, PARKED, REACTION
from plaudit.systems.roadsense.task import task as roadsense

TASKS = {"apex": apex, "deepthinker": deepthinker, "roadsense": roadsense, "hackmatrix": hackmatrix}
VERSIONS = [f"{name}@{label}" for name in BUILT_IN for label in system(name).VERSIONS]


def get_bound(name):
    return load(*name.split("@"))._bound


@pytest.mark.parametrize("name", VERSIONS)
def test_every_version_says_what_is_wanted_and_nothing_that_was_only_seen(name):
    bound = get_bound(name)
    assert bound.task.name == name.partition("@")[0]
    assert bound.prefer or bound.goal or any(each.better for each in bound.fields.values()), (
        "let its task say a goal=, a prefer= or what is better="
    )
    assert not bound.task.seen


@pytest.mark.parametrize("name", ["apex", "deepthinker", "hackmatrix"])
def test_all_versions_of_a_system_have_one_task(name):
    assert {load(name, label).task for label in system(name).VERSIONS} == {TASKS[name]}


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_task_comes_back_from_its_file(name, tmp_path):
    TASKS[name].save(tmp_path / "task.json")
    again = Task.load(tmp_path / "task.json")
    assert (again, again.fingerprint) == (TASKS[name], TASKS[name].fingerprint)


@pytest.mark.parametrize("name", BUILT_IN)
def test_some_version_reads_each_field_that_a_task_speaks_of(name):
    read = {field for label in system(name).VERSIONS for field in load(name, label).fields}
    task = TASKS[name]
    assert {*task.states, *task.events, *task.actions, *task.better, *task.max_change, *task.monotone} <= read


def test_roadsense_ends_badly_with_a_collision_and_after_a_thousand_steps():
    assert {name: end.sign for name, end in roadsense.ends.items()} == {"collision": "bad"}
    assert roadsense.horizon == HORIZON == 1000


WARNINGS = {
    "R9": ("event", None),
    **dict.fromkeys(("R9L", "R10"), ("state", "up")),
    **dict.fromkeys(("R11", "R12", "R12a2", "R12b2", "R12a", "R12b"), ("state", None)),
}


@pytest.mark.parametrize("label", system("roadsense").VERSIONS)
def test_what_a_warning_is_depends_on_how_a_version_hears_it(label):
    bound = get_bound(f"roadsense@{label}")
    fields = load("roadsense", label).fields
    heard = bound.fields["braking_received"] if "braking_received" in fields else None
    assert (None if heard is None else (heard.role, heard.monotone)) == WARNINGS.get(label)
    warned = {"braking_received", "peer_braking"} & {*fields}
    assert bound.task.prefer == (CLOSING, PARKED, *([REACTION] if warned else []))


def test_the_wishes_of_the_others_are_about_results_and_costs():
    assert (apex.goal.name, hackmatrix.goal.name, deepthinker.goal) == ("task_is_done", "game_is_won", None)
    assert [name for name, wish in apex.better.items() if wish == "low"] == ["tokens_used", "switch_committed"]
    assert [name for name, wish in deepthinker.better.items() if wish == "low"] == ["cost_tokens", "alignment_events"]
    assert {name: end.sign for name, end in hackmatrix.ends.items()} == {"won": "good", "died": "bad"}
    assert (apex.monotone, hackmatrix.monotone) == ({"furthest": "up", "tokens_used": "up"}, {"stage": "up"})
    assert hackmatrix.max_change == {"exit_distance": 1}
