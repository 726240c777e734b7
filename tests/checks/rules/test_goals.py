"""The goal against what else there is to do."""

import pytest

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.check import check
from support.asking import really, told

BETTER, IDLE, SIGHT, NEVER = "goal-not-best", "idle-floor", "short-sighted", "unreachable-goal"
DISTANCE = Field("distance", low=0, high=5)


@term
def near(distance):
    return 1 / (1 + distance)


@term(weight=-1)
def far(distance):
    return distance


@term(terminal=True)
def prize(distance):
    return 10 if distance < 0.1 else 0


def arrived(distance):
    return distance < 0.1


def reward(*terms, fields=(DISTANCE,), **task):
    said = {"goal": arrived, "states": [each.name for each in fields], **task}
    return Reward("r", version="1", terms=terms, fields=fields, task=Task(**said))


def test_staying_outside_the_goal_that_pays_more_is_found():
    made = reward(near, prize, discount=0.99)
    (finding,) = told(made, BETTER)
    assert finding.severity == "warning"
    assert finding.message == (
        "staying outside the goal pays 0.909091 a step: 90.9091 over an infinite horizon at discount 0.99, more "
        "than the goal 'arrived', which is worth at most 11."
    )
    assert really(made, finding) == [pytest.approx(1 / 1.1)]
    assert finding.witness[0].inputs["distance"] >= 0.1


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, False),
        ({"discount": 1.0}, False),
        ({"discount": 0.9}, False),
        ({"discount": 0.92}, True),
        ({"horizon": 12}, False),
        ({"horizon": 13}, True),
        ({"horizon": 100, "discount": 0.9}, False),
        ({"discount": 0.99, "goal_ends": False}, False),
        ({"discount": 0.99, "goal": None}, False),
    ],
)
def test_how_long_the_future_is_decides(options, found):
    assert bool(told(reward(near, prize, **options), BETTER)) is found


def test_a_goal_that_goes_on_is_compared_step_by_step_where_nobody_says_how_long():
    @term
    def aside(distance):
        return 1 - abs(distance - 3) / 5

    made = reward(aside, goal_ends=False)
    (finding,) = told(made, BETTER)
    assert finding.severity == "warning"
    assert finding.message == (
        "staying outside the goal pays 1 a step, more than the goal 'arrived', which pays at most 0.42 a step."
    )
    assert really(made, finding) == [1]
    assert told(reward(aside), BETTER) == []
    assert told(reward(near, goal_ends=False), BETTER) == []


def test_where_every_other_step_costs_the_goal_is_best():
    assert told(reward(far, discount=0.999), BETTER) == []
    assert told(reward(far, prize, horizon=10_000), BETTER) == []


def test_shaping_by_potentials_is_no_reason_to_stay():
    @term(kind="shaping")
    def potential(prev, curr):
        return prev.distance - 0.99 * curr.distance

    assert told(reward(potential, prize, discount=0.99), BETTER) == []
    assert len(told(reward(near, potential, prize, discount=0.99), BETTER)) == 1


def test_what_moves_cannot_be_stayed_in():
    @term
    def fast(speed):
        return speed

    fields = [Field("x", low=0, high=9), Field("speed", low=0, high=3)]

    def there(x):
        return x > 8

    assert told(reward(fast, fields=fields, goal=there, discount=0.99, rates={"x": "speed"}), BETTER) == []
    assert len(told(reward(fast, fields=fields, goal=there, discount=0.99), BETTER)) == 1


def test_another_end_that_pays_more_is_found():
    @term(terminal=True)
    def ends(distance):
        return 10 if distance < 0.1 else 12 if distance > 4 else 0

    made = reward(ends, discount=0.99)
    (finding,) = told(made, BETTER)
    assert finding.message == (
        "an end outside the goal pays 12, more than the goal 'arrived', which is worth at most 10."
    )
    assert really(made, finding) == [12]


def test_a_lap_outside_the_goal_is_found():
    @term
    def forward(prev, curr):
        return max(0, prev.distance - curr.distance)

    made = reward(forward, prize, discount=0.99)
    (finding,) = told(made, BETTER)
    assert "a 2-step cycle outside the goal pays" in finding.message
    assert sum(really(made, finding)) > 0


def test_one_flaw_is_told_once_and_another_is_not_lost():
    codes = [each.code for each in check(reward(near, prize, discount=0.99))]
    assert BETTER in codes
    assert "pays-for-staying" not in codes
    codes = [each.code for each in check(reward(near, prize, discount=0.99, goal=None))]
    assert "pays-for-staying" in codes


def test_a_goal_that_facts_rule_out_is_found():
    @fact
    def apart(distance):
        return distance > 1

    (finding,) = told(reward(far, facts=[apart]), NEVER)
    assert "an agent can never reach the goal 'arrived'" in finding.message
    assert told(reward(far), NEVER) == []
    assert told(reward(far, facts=[apart], discount=0.99), BETTER) == []


def test_a_goal_counts_though_nothing_that_is_paid_depends_on_it():
    @term(weight=-1)
    def step():
        return 1

    @fact
    def ends(distance, terminal):
        return terminal == (distance < 0.1)

    made = reward(step, facts=[ends], horizon=200)
    assert not check(made, only=[BETTER, "cheap-end", NEVER]).findings

    @fact
    def ends_elsewhere(distance, terminal):
        return terminal == (distance > 4)

    made = reward(step, facts=[ends_elsewhere], horizon=200, goal_ends=False)
    (finding,) = check(made, only=[BETTER, "cheap-end"])
    assert finding.code == BETTER
    assert finding.witness[0].note.startswith("the other end, distance ")


@pytest.mark.parametrize(
    ("horizon", "severity"), [(10, []), (20, []), (21, []), (23, ["advice"]), (43, ["advice"]), (44, ["warning"])]
)
def test_an_idle_life_is_held_against_the_goal(horizon, severity):
    made = reward(near, prize, idle={"distance": 3}, horizon=horizon)
    found = told(made, IDLE)
    assert [each.severity for each in found] == severity
    for finding in found:
        assert really(made, finding) == [0.25]
        assert finding.witness[0].note == "doing nothing"


def test_an_idle_life_is_held_against_the_best_end():
    @term
    def alive(awake):
        return awake

    @term(terminal=True)
    def win(won):
        return 100 * won

    awake, won = Field("awake", flag=True), Field("won", flag=True)
    parts = {"goal": None, "states": (), "idle": {"awake": True}}
    (finding,) = told(reward(alive, win, fields=[awake, won], horizon=500, **parts), IDLE)
    assert "at least as much as the best end, which is worth at most 101" in finding.message
    assert told(reward(alive, win, fields=[awake, won], **parts), IDLE) == []
    assert told(reward(alive, fields=[awake], horizon=500, **parts), IDLE) == []

    @term(terminal=True, weight=-1)
    def fell():
        return 1

    assert told(reward(alive, fell, fields=[awake], horizon=500, **parts), IDLE) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"better": {"place": "high"}}, True),
        ({"aim": {"place": 0}}, False),
        ({"better": {"speed": "low"}}, False),
        ({"better": {"speed": "high"}}, True),
        ({}, False),
        ({"better": {"place": "high"}, "idle": {"place": 0, "speed": 1}}, False),
    ],
    ids=["wish open", "wish met", "wish met by rest", "cost of a wish", "no wish", "idling costs"],
)
def test_without_a_goal_no_step_may_pay_more_than_idling_that_leaves_a_wish_open(said, found):
    @term(weight=-1)
    def effort(speed):
        return speed * speed

    parts = {"goal": None, "states": ["place"], "idle": {"place": 0, "speed": 0}, **said}
    task = Task(fields=[Field("place", low=0, high=9)], **parts)
    made = Reward("r", version="1", terms=[effort], fields=[Field("speed", low=0, high=2)], task=task)
    findings = told(made, IDLE)
    assert [each.severity for each in findings] == (["warning"] if found else [])
    for finding in findings:
        wished = next(iter(said["better"]))
        assert finding.message == (
            f"doing nothing pays 0 a step, and no step pays more, although it leaves {wished!r} short of what the task "
            "wants."
        )
        assert really(made, finding) == [0]


def test_little_is_wanted_of_what_goes_both_ways_and_is_better_low():
    @term(weight=-1)
    def swing(angle, torque):
        return angle**2 + 0.001 * torque**2

    task = Task(aim={"angle": 0}, better={"torque": "low"}, idle={"torque": 0}, horizon=200)
    fields = [Field("angle", low=-3, high=3), Field("torque", low=-2, high=2)]
    assert told(Reward("r", version="1", terms=[swing], fields=fields, task=task), IDLE) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [({}, False), ({"start": {"x": 5}}, False), ({"start": {"x": (8, 9)}}, True), ({"goal": None}, False)],
)
def test_progress_that_adds_up_on_the_way_is_worth_more_than_idling(said, found):
    @term
    def forward(prev, curr):
        return curr.x - prev.x

    @term(weight=-0.1)
    def effort(torque):
        return torque

    def across(x):
        return x == 8

    task = Task(**{"goal": across, "idle": {"torque": 0}, "horizon": 100, "max_change": {"x": 0.5}, **said})
    fields = [Field("x", low=0, high=9), Field("torque", low=0, high=4)]
    assert bool(told(Reward("r", version="1", terms=[forward, effort], fields=fields, task=task), IDLE)) is found


def test_that_the_goal_ends_the_episode_is_said_where_it_decides():
    (finding,) = told(reward(near, prize, discount=0.99), BETTER)
    assert finding.advice.endswith("; if the episode goes on after the goal, say so: goal_ends=False.")


@pytest.mark.parametrize("pay", [6, 1.5])
def test_a_goal_that_goes_on_and_pays_more_a_step_is_what_is_finished_for(pay):
    @term
    def placed(distance, success, *, pay=float(pay)):
        return pay if success else 2 - distance

    def done(success):
        return success

    fields = [DISTANCE, Field("success", flag=True)]
    task = Task(goal=done, goal_ends=False, horizon=50)
    made = Reward("r", version="1", terms=[placed], fields=fields, task=task)
    assert [each.severity for each in told(made, "pays-for-staying")] == ([] if pay > 2 else ["advice"])


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_lap_that_never_leaves_a_goal_that_goes_on_is_no_flaw(goes_on):
    @term
    def locked(prev, curr):
        return (0.1 if curr.error < prev.error else -0.2) + (9.0 if curr.error <= 1 else 0.0)

    def on_target(error):
        return error <= 1

    task = Task(goal=on_target, goal_ends=not goes_on, horizon=500, max_change={"error": 2})
    made = Reward("r", version="1", terms=[locked], fields=[Field("error", low=0, high=180)], task=task)
    assert bool(told(made, "loop-that-pays")) is not goes_on


def test_where_only_a_price_of_steps_is_left_beside_a_potential_no_lap_is_looked_for():
    @term
    def nearer(prev, curr):
        return prev.distance - 0.99 * curr.distance

    @term(weight=-1)
    def step():
        return 1

    report = check(reward(nearer, step, discount=0.99, horizon=200))
    assert (report.failed, list(report.at_least("warning"))) == ((), [])


def test_an_idle_step_in_the_goal_is_no_floor():
    assert told(reward(near, prize, idle={"distance": 0}, horizon=500), IDLE) == []


@pytest.mark.parametrize(
    ("discount", "horizon", "found"), [(0.9, 1000, True), (0.99, 1000, False), (0.99, 1001, True), (0.5, None, False)]
)
def test_a_discount_that_does_not_see_the_end_is_advice(discount, horizon, found):
    sparse = told(reward(prize, discount=discount, horizon=horizon), SIGHT)
    assert [each.severity for each in sparse] == (["advice"] if found else [])
    assert told(reward(near, goal=None, discount=discount, horizon=horizon), SIGHT) == []
