"""Events that pay: how often they can happen, and what that adds up to."""

import pytest

from plaudit import Event, Field, Reward, Task, term
from plaudit.checks.finding import Ground
from plaudit.reward.task.statements import Seen
from support.asking import really, told

CODE, BETTER = "pays-per-event", "goal-not-best"
HIT, DONE = Field("hit", flag=True), Field("done", flag=True)


@term
def target(hit):
    return hit


@term(weight=-0.1)
def time():
    return 1


@term(terminal=True, weight=10)
def finish(done):
    return done


@term(weight=10)
def prize(done):
    return done


def won(done):
    return done


def reward(*terms, hit=None, **task):
    return Reward(
        "r", version="1", terms=terms or (target, finish), fields=(HIT, DONE), task=Task(events={"hit": hit}, **task)
    )


@pytest.mark.parametrize(("at_most", "found"), [(3, 0), (10, 0), (11, 1)])
def test_what_can_happen_only_so_often_adds_up_to_so_much(at_most, found):
    made = reward(hit=at_most, horizon=100)
    findings = told(made, CODE)
    assert len(findings) == found
    for finding in findings:
        assert finding.severity == "advice"
        assert finding.message == (
            "'hit' pays up to 1 and can happen at most 11 times: 11 in total, more than the best end, which pays 10."
        )
        assert really(made, finding) == [1, 0]


@pytest.mark.parametrize(
    ("event", "times"),
    [
        (Event(renews=20), None),
        (Event(renews=10), None),
        (Event(renews=5), "every 5 steps: 20 over 100 steps"),
        (Event(renews=1), "in every step: 100 over 100 steps"),
        (Event(rate=0.05), None),
        (Event(rate=0.5), "every 2 steps: 50 over 100 steps"),
        (Event(rate=0.35), "in 35% of steps: 35 over 100 steps"),
    ],
)
def test_what_comes_back_is_a_warning_where_it_adds_up_to_more_than_the_end(event, times):
    findings = told(reward(hit=event, horizon=100), CODE)
    assert [each.severity for each in findings] == (["warning"] if times else [])
    assert [f"'hit' pays up to 1 and can happen {times}, more than the best end, which pays 10." for _ in findings] == [
        each.message for each in findings
    ]


def test_what_comes_back_only_so_often_does_not_go_on():
    (finding,) = told(reward(hit=Event(at_most=11, renews=5), horizon=100), CODE)
    assert (finding.severity, "at most 11 times" in finding.message) == ("advice", True)
    (finding,) = told(reward(hit=Event(at_most=50, renews=5), horizon=100), CODE)
    assert (finding.severity, "every 5 steps" in finding.message) == ("warning", True)


def test_without_a_horizon_what_comes_back_out_earns_any_end():
    (finding,) = told(reward(hit=Event(renews=5)), CODE)
    assert finding.severity == "warning"
    assert finding.message == (
        "'hit' pays up to 1 and can happen every 5 steps. After 11 times it has earned more than the best end, which pays 10."
    )
    assert told(reward(target, time, finish, hit=Event(renews=20)), CODE) == []


def test_a_discount_decides_how_often_counts():
    (finding,) = told(reward(hit=Event(renews=5), discount=0.99), CODE)
    assert "every 5 steps: 20 over an infinite horizon at discount 0.99, more than the best end" in finding.message
    assert told(reward(hit=Event(renews=5), discount=0.95), CODE) == []


def test_the_steps_that_are_spent_waiting_cost():
    assert told(reward(target, time, finish, hit=Event(renews=5), horizon=100), CODE) == []
    made = reward(target, time, finish, hit=Event(renews=4), horizon=100)
    (finding,) = told(made, CODE)
    assert finding.message == (
        "'hit' pays up to 0.9 and can happen every 4 steps (each other step costs 0.1): 15 over 100 steps, more "
        "than the best end, which pays 10."
    )
    once, rest = really(made, finding)
    assert 25 * once + 75 * rest == pytest.approx(15)


def test_one_event_that_is_counted_does_not_hide_another_that_is_not():
    @term
    def coins(count):
        return count

    fields = [HIT, DONE, Field("count", low=0, high=2)]
    made = Reward(
        "r",
        version="1",
        terms=[target, coins, finish],
        fields=fields,
        task=Task(events={"hit": Event(rate=0.5)}, horizon=100),
    )
    counted, other = told(made, CODE)
    assert (counted.severity, counted.message.startswith("'hit' pays up to 1 and can happen")) == ("warning", True)
    assert (other.severity, other.message.startswith("'count' pays up to 2 a step, over and over")) == (
        "advice",
        True,
    )
    assert "Task(events={'count': 3})" in other.advice
    assert "Task(events=" not in counted.advice


def test_how_often_an_event_was_seen_counts_and_is_said():
    seen = {"events.hit": Seen(5_000, 10_000)}
    (finding,) = told(reward(hit=Event(rate=0.5), horizon=100, seen=seen), CODE)
    assert finding.severity == "warning"
    assert Ground("how often hit happens", "seen", "5,000 of 10,000 steps") in finding.grounds
    assert finding.basis == "seen"


def test_an_event_can_come_back_inside_a_goal_that_goes_on():
    made = reward(target, prize, hit=Event(renews=5), goal=won, goal_ends=False, horizon=100, states=["done"])
    assert told(made.with_weights(prize=0.05), BETTER) == []
    ends = made.with_task(made.task.evolve(goal_ends=True))
    assert len(told(ends.with_weights(prize=0.05), BETTER)) == 1


@pytest.mark.parametrize(
    ("event", "goal_ends", "found"),
    [
        (Event(renews=5), True, 1),
        (Event(rate=0.2), True, 1),
        (Event(renews=10), True, 0),
        (Event(renews=5), False, 0),
        (3, True, 0),
        (50, True, 0),
        (None, True, 0),
    ],
)
def test_an_event_that_comes_back_competes_with_a_goal_that_ends_the_episode(event, goal_ends, found):
    made = reward(target, prize, hit=event, goal=won, goal_ends=goal_ends, horizon=100)
    findings = told(made, BETTER)
    assert len(findings) == found
    for finding in findings:
        assert finding.severity == "warning"
        assert finding.message == (
            "'hit' pays 1 and can happen every 5 steps: 20 over 100 steps, more than the goal 'won', which is worth at "
            "most 11."
        )
        assert really(made, finding) == [1, 0]
        assert not any(step.inputs["done"] for step in finding.witness)
