"""When two tasks are the same."""

from plaudit import Field, Reward, Task, fact, prefer, term


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


def test_preferences_in_another_order_are_the_same_task():
    wishes = [prefer({"speed": 1}, over={"speed": 2}), prefer({"speed": 3}, over={"speed": 0.0}, because="so")]
    one, other = Task(prefer=wishes), Task(prefer=wishes[::-1])
    assert one == other
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != Task(prefer=wishes[:1]).fingerprint
    assert one != Task(prefer=[prefer({"speed": 2}, over={"speed": 1}), wishes[1]])


def test_tasks_that_are_equal_have_one_fingerprint():
    whole, same, flag = Task(idle={"speed": 0}), Task(idle={"speed": -0.0}), Task(idle={"speed": False})
    assert whole == same != flag
    assert whole.fingerprint == same.fingerprint != flag.fingerprint
