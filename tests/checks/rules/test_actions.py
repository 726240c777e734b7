"""Actions that never need to be learnt."""

import pytest

from plaudit import Field, Reward, Task, fact, term
from support.asking import really, told, undecided

NEAR = Field("distance", low=0, high=10)


def reward(*terms, fields, action="action", **task):
    return Reward("acting", version="1", terms=terms, fields=fields, action=action, task=Task(**task))


@term
def eager(distance, action):
    """Pay for going, more so from far away; waiting pays half."""
    return distance if action == 1 else distance / 2 if action == 0 else 0


def test_an_action_that_another_always_beats_is_told_with_the_states_that_show_it():
    made = reward(eager, fields=[NEAR, Field("action", values=(0, 1, 2))])
    (finding,) = told(made, "dominated-action")
    assert (finding.severity, finding.term) == ("warning", "total")
    assert finding.message == (
        "action 1 is at least as good as every other action in every state and better in some: an agent never "
        "needs 0 or 2."
    )
    totals = really(made, finding)
    assert [step.inputs["action"] for step in finding.witness] == [1, 0, 1, 2]
    assert totals[0] > totals[1]
    assert totals[2] > totals[3]
    assert [step.note for step in finding.witness] == ["better", "worse", "better", "worse"]


def test_only_the_actions_that_are_beaten_are_named():
    @term
    def mixed(distance, action):
        return distance if action == 0 else 5 if action == 1 else distance - 1

    (finding,) = told(reward(mixed, fields=[NEAR, Field("action", values=(0, 1, 2))]), "dominated-action")
    assert finding.message.startswith("action 0 is at least as good as 2 in every state")
    assert finding.message.endswith("an agent never needs 2.")


def test_an_action_may_be_a_category_or_a_flag():
    @term
    def calm(distance, mood):
        return distance if mood == "calm" else 0 if mood == "wild" else -distance

    made = reward(calm, fields=[NEAR, Field("mood", values=("calm", "busy", "wild"))], action="mood")
    (finding,) = told(made, "dominated-action")
    assert "mood calm is at least as good as every other action" in finding.message
    assert [step.inputs["mood"] for step in finding.witness] == ["calm", "busy", "calm", "wild"]
    really(made, finding)

    @term
    def lit(distance, bright):
        return -distance if bright else 0

    (finding,) = told(reward(lit, fields=[NEAR, Field("bright", flag=True)], action="bright"), "dominated-action")
    assert finding.message.startswith("bright False is at least as good as every other action")


@pytest.mark.parametrize("z3", [True, False])
def test_actions_that_are_each_best_somewhere_are_left_alone(z3):
    @term
    def split(distance, action):
        return distance if action == 1 else 5

    made = reward(split, fields=[NEAR, Field("action", values=(0, 1))])
    assert told(made, "dominated-action", z3=z3) == []


def test_actions_that_are_paid_the_same_are_left_alone():
    @term
    def even(distance, action):
        return 0 * action + distance

    assert told(reward(even, fields=[NEAR, Field("action", values=(0, 1))]), "dominated-action") == []


def test_a_price_that_is_the_same_in_every_state_is_only_advice():
    @term
    def pay(distance, action):
        return distance - 0.5 * action

    (finding,) = told(reward(pay, fields=[NEAR, Field("action", values=(0, 1))]), "dominated-action")
    assert finding.severity == "advice"


def test_that_doing_nothing_is_cheapest_is_only_advice():
    @term
    def effort(distance, push):
        return -distance * abs(push)

    for values, idle in (((-1, 0, 1), {}), ((0, 1), {"push": 0})):
        made = reward(effort, fields=[NEAR, Field("push", values=values)], action="push", idle=idle)
        (finding,) = told(made, "dominated-action")
        assert finding.severity == "advice"


def test_what_a_fact_ties_to_the_action_follows_it():
    @term
    def brake(action, force):
        return -force + 0 * action

    @fact
    def brakes(action, force):
        return force == (0.0, 2.0, 5.0)[action]

    fields = [Field("action", values=(0, 1, 2)), Field("force", low=0, high=9)]
    assert told(reward(brake, fields=fields), "dominated-action") == []  # the action itself is paid nothing
    made = reward(brake, eager, fields=[*fields, NEAR], facts=[brakes])
    (finding,) = told(made, "dominated-action")
    assert finding.facts == ("brakes",)
    assert {step.inputs["action"]: step.inputs["force"] for step in finding.witness} == {0: 0, 2: 5}
    really(made, finding)


def test_a_reward_for_what_a_step_changed_says_nothing_about_actions():
    @term
    def gain(prev, curr, action):
        return curr.distance - prev.distance - action

    assert told(reward(gain, fields=[NEAR, Field("action", values=(0, 1))]), "dominated-action") == []


def test_an_action_that_no_reward_reads_or_that_cannot_be_counted_is_left_alone():
    @term
    def drive(distance, throttle):
        return -distance * throttle

    assert (
        told(reward(drive, fields=[NEAR, Field("throttle", low=-1, high=1)], action="throttle"), "dominated-action")
        == []
    )
    assert told(reward(drive, fields=[NEAR, Field("throttle", low=-1, high=1)], action=None), "dominated-action") == []

    @term
    def twist(distance, torque):
        return -distance * max(torque)

    fields = [NEAR, Field("torque", values=(0, 1), length=2)]
    assert told(reward(twist, fields=fields, action="torque"), "dominated-action") == []


def test_too_many_actions_are_said_to_be_too_many():
    @term
    def pick(distance, action):
        return distance * action

    made = reward(pick, fields=[NEAR, Field("action", values=tuple(range(28)))])
    assert undecided(made, "dominated-action") == ["28 actions: more than 16 are not compared"]


def test_what_could_not_be_compared_is_said_so():
    @term
    def tangled(x, y, z, action):
        return 3 * x * y - 2 * x * y - x * y + 0.1 if action == 1 else 3 * y * z - 2 * y * z - z * y

    made = reward(tangled, fields=[*(Field(name, low=-1, high=1) for name in "xyz"), Field("action", values=(0, 1))])
    (why,) = undecided(made, "dominated-action", z3=False)
    assert why.startswith("whether 1 is always at least as good as 0: z3 is turned off")


def test_an_action_without_ranges_around_it():
    @term
    def far(distance, action):
        return distance * distance if action == 1 else 0

    made = reward(far, fields=[Field("distance"), Field("action", values=(0, 1))])
    (finding,) = told(made, "dominated-action")
    totals = really(made, finding)
    assert 0 == totals[1] < totals[0] <= 1e12
