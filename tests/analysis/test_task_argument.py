"""Every judgement goes by the task that it is given, as if the reward had brought it."""

import pytest

from plaudit import DefinitionError, Field, Ledger, Reward, Seen, Task, check, incentives, term
from plaudit.analysis import audit, compare, diff, probe, sweep
from support.corridors import Corridor, arrival, calm, corridor_reward, reaches_target, reader
from support.histories import record_episodes


@term
def far(distance):
    return distance


SPEED = Field("speed", low=0, high=9)
REWARD = Reward("following", version="1", terms=[far], fields=[Field("distance", low=0)])
TASK = Task(
    "convoy",
    better={"distance": "low"},
    fields=[Field("distance", low=0, high=50)],
    states=["distance"],
    idle={"distance": 7.0},
    discount=0.9,
)


def test_incentives_go_by_the_task_they_are_given():
    assert incentives(REWARD, task=TASK) == incentives(REWARD.with_task(TASK))
    assert "idle" in {each.kind for each in incentives(REWARD, task=TASK)} - {each.kind for each in incentives(REWARD)}


def test_a_sweep_runs_over_the_range_that_its_task_gives():
    with pytest.raises(DefinitionError):
        sweep(REWARD, "distance")
    assert sweep(REWARD, "distance", task=TASK).over[0].values[-1] == 50.0


def test_rewards_are_compared_by_one_task():
    other = REWARD.with_params({"far.weight": 2.0}).with_version("2").with_task(Task(discount=0.5))
    with pytest.raises(DefinitionError):
        compare(REWARD, other, samples=1000, fields="all")
    found = compare(REWARD, other, task=TASK, samples=1000)
    assert found.discount == 0.9


def test_a_comparison_says_that_it_draws_from_ranges_that_were_only_seen():
    other = REWARD.with_params({"far.weight": 2.0}).with_version("2")
    seen = TASK.evolve(seen={"fields.distance": Seen(9, 9)})
    assert "drawn from declared ranges" in str(compare(REWARD, other, task=TASK, samples=1000))
    assert "drawn from declared and seen ranges" in str(compare(REWARD, other, task=seen, samples=1000))
    named = compare(REWARD, other, task=seen, samples=1000, ranges={"distance": (0, 5)})
    assert "drawn from declared ranges" in str(named)


def test_a_diff_by_one_task_tells_only_what_is_paid():
    other = REWARD.with_task(TASK).with_version("2")
    assert diff(REWARD, other).definition
    assert not diff(REWARD, other, task=TASK).definition


def test_an_audit_goes_by_the_task_it_is_given_and_says_so(tmp_path):
    @term
    def speed_pays(speed):
        return speed

    task = Task("slow", better={"speed": "low"})
    reward = Reward("driving", version="1", terms=[speed_pays], fields=[SPEED])
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, [{"speed": [at / 30] * 5} for at in range(200)])
        assert "parted-from-goal" in audit(ledger, reward).skipped
        assert audit(ledger, reward).task is None
        found = audit(ledger, "driving", task=task)
    assert found.by_code("parted-from-goal")
    assert (found.task.name, found.task.fingerprint) == ("slow", task.fingerprint)


def test_a_probe_goes_by_the_task_it_is_given():
    reward = corridor_reward(arrival, calm)
    task = reward.task.evolve(goal=reaches_target)
    found = probe(Corridor, reward, reader(reward), task=task, steps=1500, seeds=3)
    assert found.compared == ("native", "goal")
    assert found.report.task.fingerprint == task.fingerprint


def test_a_report_names_its_task_and_none_where_nobody_said():
    bare = Reward("following", version="1", terms=[far], fields=[Field("distance", low=0)])
    assert check(bare).task is None
    assert str(check(bare, task=TASK).task) == f"task convoy@1 ({TASK.fingerprint[:12]})"
    assert "convoy@1" in check(bare, task=TASK)._repr_html_()


def test_the_name_of_a_file_is_not_a_task():
    with pytest.raises(
        DefinitionError, match=r"task='task.json' is not a Task; Task.load\('task.json'\) reads one from a file"
    ):
        check(REWARD, task="task.json")
