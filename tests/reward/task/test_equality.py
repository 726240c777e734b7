"""When two tasks are the same."""

from plaudit import Field, Reward, Task, fact, term


@fact
def slow(speed):
    return speed < 10


@fact
def moving(speed):
    return speed > 0


@term
def drive(speed):
    return speed / 30


def test_the_order_in_which_things_are_said_makes_no_other_task():
    task = Task(facts=[slow, moving], better={"speed": "high"}, states=["speed"])
    loaded = Reward.from_json(Reward("r", version="1", terms=[drive], fields=[Field("speed")], task=task).to_json())
    assert [each.name for each in loaded.task.facts] == ["moving", "slow"]  # canonical JSON sorts names
    assert loaded.task == task == task.evolve(facts=[moving, slow])
    assert hash(loaded.task) == hash(task)
    assert task != task.evolve(facts=[slow])
    assert task != task.evolve(better={"speed": "low"})
