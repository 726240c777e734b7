"""Every finding says what it rests on that nobody declared: what was seen, and what is assumed by default."""

import json

import pytest

from plaudit import DefinitionError, Field, Reward, Seen, Task, bounds, check, prefer, term
from plaudit.checks.formats.json import format_json
from plaudit.checks.formats.plain import format_finding
from plaudit.checks.report import LocatedReport


@term
def cruise(speed):
    """Drive."""
    return 0.1 * speed


@term(terminal=True)
def arrival(arrived):
    """Arrive."""
    return 10 if arrived else 0


def is_there(arrived, terminal):
    """Arrived."""
    return arrived and terminal


def driving(task=None, **speed):
    fields = [Field("speed", **speed), Field("arrived", flag=True)]
    return Reward("driving", version="1", terms=[cruise, arrival], fields=fields, task=task)


STATES = Task(states=["speed"], horizon=500, goal=is_there)
SEEN = Task(
    "road",
    states=["speed"],
    horizon=500,
    fields=[Field("speed", low=0, high=10)],
    seen={"states.speed": Seen(90, 90), "horizon": Seen(20, 20, "episodes"), "fields.speed": Seen(91, 91)},
    source="Road-v0",
)


def find(report, code):
    return next(each for each in report if each.code == code)


def test_a_role_that_nobody_declared_is_said_to_be_assumed():
    found = find(check(driving(low=0, high=10)), "pays-per-event")
    assert found.basis == "default"
    assert found.list_weak_grounds() == [
        "Assumed by default: that there is no time limit, that speed happens in single steps."
    ]


def test_what_was_declared_needs_no_word():
    found = find(check(driving(STATES, low=0, high=10)), "goal-not-best")
    assert found.basis == "declared"
    assert found.list_weak_grounds() == []
    assert "that speed persists from step to step" in [each.says for each in found.grounds]


def test_what_was_only_seen_is_said_with_its_count():
    found = find(check(driving(), task=SEEN), "pays-for-staying")
    assert found.basis == "seen"
    [line] = found.list_weak_grounds()
    assert line == (
        "Seen, not declared: the range of speed (91 of 91 steps), the horizon (20 of 20 episodes), "
        "that speed persists from step to step (90 of 90 steps)."
    )


def test_every_format_says_it():
    reward = driving(SEEN)
    report = check(reward)
    found = find(report, "pays-for-staying")
    [line] = found.list_weak_grounds()
    assert line in " ".join(str(report).split())
    assert line in report._repr_html_()
    assert line in format_finding(found, {})
    [plain] = json.loads(json.dumps(format_json([LocatedReport.of(report, reward)])))["rewards"]
    [kept] = [each for each in plain["findings"] if each["code"] == "pays-for-staying"]
    assert kept["basis"] == "seen"
    assert {"says": "the horizon", "basis": "seen", "seen": "20 of 20 episodes"} in kept["grounds"]


def test_a_seen_range_serves_checks_and_not_scores_bounds_or_declared_ranges():
    reward = driving(SEEN)
    assert not any(each.code in ("unbounded", "missing-range") for each in check(reward))
    assert reward.score(speed=1000.0, arrived=False, terminal=False).total == 100.0
    assert bounds(reward).total.high == float("inf")
    own = driving(SEEN, low=-5, high=50)
    assert (own._bound.fields["speed"].low, own._bound.fields["speed"].high) == (-5, 50)


@pytest.mark.parametrize("high", [10, 200])
def test_play_that_never_reached_the_goal_does_not_make_it_unreachable(high):
    def far_away(place):
        return place >= 100

    @term
    def forward(place):
        """Get on."""
        return 0.01 * place

    task = Task(goal=far_away, fields=[Field("place", low=0, high=high)], seen={"fields.place": Seen(50, 50)})
    reward = Reward("walk", version="1", terms=[forward], fields=[Field("place")], task=task)
    report = check(reward)
    assert "unreachable-goal" not in {each.code for each in report}
    assert ("missing-range" in {each.code for each in report}) == (high < 100)


@term
def forward(place):
    """Get on."""
    return 0.01 * place


def is_deep(depth):
    """Deep down."""
    return depth > 20


BEYOND = {
    "a goal": {"goal": is_deep},
    "an aim": {"aim": {"place": 50.0}},
    "an aim of a field that no term reads": {"aim": {"depth": 50.0}},
    "a wish": {"prefer": [prefer({"place": 50.0, "depth": 50.0}, over={"place": 30.0, "depth": 50.0})]},
}
WALKED = {"fields.place": Seen(50, 50), "fields.depth": Seen(50, 50)}


def walking(seen, **said):
    task = Task(fields=[Field(name, low=0, high=10) for name in ("place", "depth")], seen=seen, **said)
    return Reward("walk", version="1", terms=[forward], fields=[Field("place")], task=task)


@pytest.mark.parametrize("said", BEYOND)
def test_a_declaration_may_lie_beyond_what_was_only_seen(said):
    reward = walking(WALKED, **BEYOND[said])
    assert Reward.from_json(reward.to_json()) == reward
    assert not {each.code for each in check(reward)} & {"unreachable-goal", "contradictory-facts"}
    if "depth" in str(BEYOND[said]) or "goal" in BEYOND[said]:
        with pytest.raises(DefinitionError, match=r"can never be true|that the field allows"):
            walking({}, **BEYOND[said])


def test_a_range_that_was_only_seen_counts_also_of_a_field_that_no_term_reads():
    task = Task(
        "walk", better={"depth": "low"}, fields=[Field("depth", low=0, high=10)], seen={"fields.depth": Seen(9, 9)}
    )
    reward = Reward("walk", version="1", terms=[forward], fields=[Field("place", low=0, high=1)], task=task)
    found = find(check(reward), "unpriced")
    assert found.list_weak_grounds() == ["Seen, not declared: the range of depth (9 of 9 steps)."]
    assert "which values of depth are better" in [each.says for each in found.grounds]


@pytest.mark.parametrize("seen", [True, False])
def test_a_finding_says_what_an_idle_agent_was_only_seen_to_meet(seen):
    @term
    def warmth(heat):
        """Keep warm."""
        return heat

    counts = {"idle.speed": Seen(70, 70, "idle steps")} if seen else {}
    task = Task("road", goal=is_there, idle={"speed": 9.0}, horizon=500, states=["speed", "heat"], seen=counts)
    fields = [Field("speed", low=0, high=10), Field("arrived", flag=True), Field("heat", low=0, high=1)]
    reward = Reward("driving", version="1", terms=[cruise, arrival, warmth], fields=fields, task=task)
    assert find(check(reward), "idle-floor").list_weak_grounds() == (
        [
            "Seen, not declared: the value of speed while idle (70 of 70 idle steps).",
            "Assumed by default: that heat is at rest while idle.",
        ]
        if seen
        else []
    )


def test_a_finding_without_a_horizon_says_that_no_limit_is_assumed():
    found = find(check(driving(Task(states=["speed"]), low=0, high=10)), "pays-for-staying")
    assert found.list_weak_grounds() == ["Assumed by default: that there is no time limit."]


def test_a_report_names_the_task_that_it_went_by():
    report = check(driving(), task=SEEN)
    assert f"\nChecked against task road@1 ({report.task.fingerprint[:12]})\n" in str(report)
    assert "by task" not in str(check(driving()))


@pytest.mark.parametrize("limit", [True, False])
def test_a_lap_whose_steps_nobody_limits_says_so(limit):
    @term
    def closer(prev, curr):
        """Come closer."""
        return max(0.0, prev.left - curr.left)

    task = Task("maze", max_change={"left": 1} if limit else {}, horizon=9)
    reward = Reward("maze", version="1", terms=[closer], fields=[Field("left", low=0, high=9)], task=task)
    said = [] if limit else ["Assumed by default: that left can move any distance in a step."]
    assert find(check(reward), "loop-that-pays").list_weak_grounds() == said
