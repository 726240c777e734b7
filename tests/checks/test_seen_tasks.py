"""What was only seen of a world never says what cannot happen in it."""

import pytest

from plaudit import DefinitionError, Field, Reward, Task, check, term
from plaudit.reward.task.statements import Seen

OFTEN = Seen(10_000, 10_000)


@term
def alive(x):
    """Stay on the track."""
    return 1.0 if abs(x) < 2.4 else 0.0


@term
def near(x):
    """Close to the flag."""
    return 1 / (0.6 - x)


@term(kind="bonus")
def beyond(x):
    """Get beyond 5."""
    return x - 5


@term(high=1.0)
def held(x):
    """Small."""
    return 0.1 * x


@term
def refuelled(prev, curr):
    """Never run dry."""
    return 1.0 if curr.x > prev.x else 0.0


def judge(which, *, high=2, goal=None, **said):
    """Return the warnings of a term under a task of which everything was only seen."""
    seen = {f"{part}.x": OFTEN for part in said} | {"fields.x": OFTEN}
    task = Task("seen", fields=[Field("x", low=-1, high=high)], seen=seen, goal=goal, **said)
    report = check(Reward("r", version="1", terms=[which], fields=[Field("x")]), task=task)
    return {finding.code for finding in report if finding.severity == "warning"}


@pytest.mark.parametrize("which", [alive, beyond, held], ids=lambda each: each.name)
def test_a_range_that_was_only_seen_does_not_say_what_never_happens(which):
    assert judge(which) == set()


def test_a_range_that_was_only_seen_does_not_say_that_every_row_can_be_scored():
    assert judge(near, high=0.5) == {"may-divide-by-zero"}


def test_what_was_only_seen_to_fall_may_rise():
    assert judge(refuelled, monotone={"x": "down"}) == set()


def test_a_step_larger_than_any_that_was_seen_may_reach_the_goal():
    def leapt(prev, curr):
        return curr.x - prev.x > 1

    assert "unreachable-goal" not in judge(refuelled, max_change={"x": 0.5}, goal=leapt)


@pytest.mark.parametrize("values", [{"low": -1, "high": 1}, {"values": (0, 1)}], ids=["range", "values"])
def test_a_goal_that_was_never_seen_may_be_reached_by_a_field_that_no_term_reads(values):
    def fast(speed):
        return speed > 5

    task = Task("seen", fields=[Field("speed", **values)], goal=fast, seen={"fields.speed": OFTEN})
    reward = Reward("r", version="1", terms=[alive], fields=[Field("x")])
    assert "unreachable-goal" not in {finding.code for finding in check(reward, task=task)}
    with pytest.raises(DefinitionError, match="the goal 'fast' can never be true"):
        check(reward, task=task.evolve(fields=[Field("speed", low=-2, high=2)]))


def test_a_range_of_the_task_that_was_only_seen_counts_as_seen():
    def slow(speed):
        return speed < 0.5

    task = Task("seen", fields=[Field("speed", low=-1, high=1)], goal=slow, seen={"fields.speed": OFTEN})
    reward = Reward("r", version="1", terms=[alive], fields=[Field("x")], task=task)
    assert reward._bound.fields["speed"].range_basis == "seen"


def test_an_idle_life_in_which_a_field_varied_is_no_single_step():
    said = {"idle": {"push": 0.0}, "fields": [Field("x", low=-1, high=-0.4), Field("push", low=-1, high=1)]}
    seen = {"fields.x": OFTEN, "fields.push": OFTEN}
    task = Task("seen", seen={**seen, "idle.push": OFTEN}, **said)

    @term
    def close(x, push):
        """Near 0, without much effort."""
        return -abs(x) - push * push

    reward = Reward("r", version="1", terms=[close], fields=[Field("x"), Field("push")], task=task)
    assert reward._bound.idle is None
    assert reward.with_task(Task("said", seen=seen, **said))._bound.idle is not None
    kept = task.evolve(idle={**task.idle, "x": -0.5})
    assert dict(reward.with_task(kept)._bound.idle) == {"push": 0.0, "x": -0.5}


def test_what_is_declared_still_says_it():
    reward = Reward("r", version="1", terms=[alive], fields=[Field("x", low=-1, high=2)])
    assert "dead-term" in {finding.code for finding in check(reward)}


def test_categories_that_were_only_seen_stay_categories():
    def parked(mode):
        return mode == "parked"

    mode = Field("mode", values=("driving", "parked"), other="driving")
    task = Task("seen", fields=[mode], goal=parked, seen={"fields.mode": OFTEN})
    reward = Reward("r", version="1", terms=[alive], fields=[Field("x", low=-1, high=3)])
    assert not check(reward, task=task).failed
