"""Events that pay whenever they happen, and more than the end in the long run."""

import pytest

from asking import really, told, undecided
from plaudit import Field, Reward, fact, term
from plaudit.checks.smt import available

CODE = "pays-per-event"
HIT, DONE = Field("hit", flag=True, role="event"), Field("done", flag=True, role="event")


@term
def target(hit):
    return hit


@term(weight=-0.5)
def time():
    return 1


@term(terminal=True, weight=10)
def finish(done):
    return done


def reward(*terms, fields=(HIT, DONE), **options):
    return Reward("r", version="1", terms=terms, fields=fields, **options)


def test_targets_that_come_back_out_earn_the_finish():
    made = reward(target, time, finish)
    (finding,) = told(made, CODE)
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == (
        "'hit' pays up to 0.5 a step, again and again while nothing else changes. After 21 such steps 'hit' has "
        "out-earned the best end, which pays 10."
    )
    assert really(made, finding) == [0.5, -0.5]
    assert [step.inputs["hit"] for step in finding.witness] == [True, False]
    assert [step.note for step in finding.witness] == ["with hit", "without"]


@pytest.mark.parametrize(
    ("discount", "ending"),
    [
        (0.9, None),
        (0.95, None),
        (0.99, "For ever 'hit' is worth 50 at a discount of 0.99, more than the best end, which pays 10."),
        (1.0, "After 21 such steps 'hit' has out-earned the best end, which pays 10."),
    ],
)
def test_the_discount_decides_what_again_and_again_is_worth(discount, ending):
    found = told(reward(target, time, finish, discount=discount), CODE)
    assert [each.message.endswith(ending) for each in found] == ([True] if ending else [])


def test_all_events_are_told_of_at_once():
    @term
    def coins(count):
        return 2 * count

    made = reward(target, coins, finish, fields=[HIT, DONE, Field("count", low=0, high=3)])
    (finding,) = told(made, CODE)
    assert finding.message.startswith("'count' pays up to 6 a step and 'hit' up to 1, again and again")
    assert "After 2 such steps 'count' has out-earned" in finding.message
    assert really(made, finding) == [6, 0, 1, 0]


def test_pay_without_bound_needs_one_step():
    @term
    def coins(count):
        return count

    made = reward(coins, finish, fields=[DONE, Field("count", low=0)])
    (finding,) = told(made, CODE)
    assert finding.message.startswith("'count' pays as much as you like a step")
    assert finding.message.endswith("One such step can out-earn the best end, which pays 10.")
    assert 0 < really(made, finding)[0] <= 1e6


def test_where_no_end_pays_nothing_competes():
    @term(terminal=True)
    def crash(done):
        return -5 if done else 0

    assert told(reward(target, fields=[HIT]), CODE) == []
    assert told(reward(target, crash), CODE) == []


def test_an_event_that_does_not_make_up_for_its_step():
    @term(weight=-2)
    def dear():
        return 1

    assert told(reward(target, dear, finish), CODE) == []


def test_an_event_that_costs_or_only_counts_at_the_end():
    @term(weight=-1, kind="penalty")
    def bump(hit):
        return hit

    assert told(reward(bump, finish), CODE) == []
    assert told(reward(time, finish, fields=[DONE]), CODE) == []


def test_an_event_that_uses_something_up_cannot_go_on():
    @term
    def left(prev, curr):
        return 0 * (curr.targets - prev.targets)

    @fact
    def used_up(hit, prev, curr):
        return curr.targets < prev.targets or not hit

    fields = [HIT, DONE, Field("targets", low=0, high=9, monotone="down")]
    assert told(reward(target, left, finish, fields=fields), CODE) != []
    assert told(reward(target, left, finish, fields=fields, facts=[used_up]), CODE) == []


def test_an_event_that_ends_the_episode_happens_once():
    @fact
    def over(hit, terminal):
        return terminal or not hit

    assert told(reward(target, time, finish, facts=[over]), CODE) == []


def test_what_follows_from_the_action_is_no_event():
    @term
    def push(action, force):
        return force + 0 * action

    @fact
    def pushes(action, force):
        return force == action

    fields = [Field("action", values=(0, 1)), Field("force", low=0, high=1), DONE]
    made = reward(push, finish, fields=fields, action="action", facts=[pushes])
    assert told(made, CODE) == []


def test_events_that_a_fact_ties_together_happen_together():
    @term
    def noise(loud):
        return 0.1 * loud

    @fact
    def bang(hit, loud):
        return loud or not hit

    made = reward(target, noise, finish, fields=[HIT, DONE, Field("loud", flag=True)], facts=[bang])
    (finding,) = told(made, CODE)
    assert finding.message.startswith("'hit' pays up to 1.1 a step and 'loud' up to 0.1,")
    assert really(made, finding)[:2] == [1.1, 0]


def test_what_an_event_pays_may_be_left_undecided():
    @term
    def tangled(x, y, z):
        return ((x - y) + (y - z) + (z - x)) * 0.5

    fields = [Field("x", low=0, high=1), *(Field(name, low=0, high=1, role="state") for name in "yz"), DONE]
    made = reward(tangled, finish, fields=fields)
    assert undecided(made, CODE, z3=False) == ["what a step pays in which 'x' happens: z3 was not to be used"]
    if available():
        assert told(made, CODE) == []
