"""When two tasks are the same."""

from plaudit import Field, Ledger, Reward, Seen, Task, check, fact, prefer, term


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


def test_what_is_declared_is_another_task_than_what_was_only_seen(tmp_path):
    @fact
    def tied(x, y):
        return x == y

    @term
    def apart(x, y):
        return x - y

    fields = [Field("x", low=0, high=1), Field("y", low=0, high=1)]
    declared = Task("pair", facts=[tied])
    seen, often = (declared.evolve(seen={"facts.tied": Seen(count, count)}) for count in (400, 500))
    assert seen.fingerprint == often.fingerprint != declared.fingerprint
    rewards = [Reward("pair", version="1", terms=[apart], fields=fields, task=task) for task in (seen, declared)]
    assert rewards[0] != rewards[1]
    with Ledger(tmp_path / "rewards.db") as ledger:
        for each in rewards:
            ledger.record(each.score(x=0.5, y=0.5), run="night")
        kept = [each.reward for each in ledger.rewards()]
    assert [[each.code for each in check(reward)] for reward in kept] == [[], ["dead-term"]]


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
