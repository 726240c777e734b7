"""What differs between two definitions: functions, numbers, fields, facts and preferences, each told apart."""

import pytest

from plaudit import Field, Reward, State, Task, fact, prefer, term
from plaudit.analysis.diff.definitions import compare_definitions, set_side_by_side
from plaudit.analysis.diff.effect import set_tables
from plaudit.schedules import linear

DISTANCE = Field("distance", low=0, high=60)
SPEED = Field("speed", low=0, high=30)


def is_near(distance, *, reach=2.0):
    return 1.0 if distance < reach else 0.0


def hurries(speed):
    return speed * 0.1


near = term(name="near")(is_near)
haste = term(name="haste", weight=-1.0)(hurries)


def build(*terms, version="1", fields=(DISTANCE, SPEED), **more):
    return Reward("moving", version=version, terms=terms, fields=fields, **more)


def list_functions(found):
    return [(each.kind, each.what, each.name) for each in found.functions]


def test_the_same_definition_has_no_changes_whatever_its_label():
    assert not compare_definitions(build(near, haste), build(near, haste, version="2"))


def test_one_that_was_loaded_from_a_specification_has_no_changes_though_it_lost_its_local_names():
    @term
    def slow(speed):
        excess = speed - 10.0
        return -(excess * excess) if speed > 10.0 else excess

    reward = build(near, slow)
    assert not compare_definitions(reward, Reward.from_json(reward.to_json()))


def test_terms_are_added_removed_and_changed_with_their_formulas():
    @term(name="near")
    def other(distance, *, reach=2.0):
        return 1.0 if distance <= reach else 0.0

    @term
    def far(distance):
        return -0.01 * distance

    found = compare_definitions(build(near, haste), build(other, far, fields=[DISTANCE]))
    assert list_functions(found) == [
        ("term", "removed", "haste"),
        ("term", "changed", "near"),
        ("term", "added", "far"),
    ]
    changed = found.functions[1]
    assert "distance < reach" in changed.before
    assert "distance <= reach" in changed.after
    assert found.functions[0].after is None
    assert found.functions[2].before is None
    assert not found.numbers, "the numbers of a term that came or went are in the term"
    assert found.only_before == ("speed",)


def test_a_renamed_term_is_one_with_the_same_formula_and_its_numbers_are_compared():
    @term(weight=-2.0)
    def hurry(speed):
        return speed * 0.1

    found = compare_definitions(build(near, haste), build(near, hurry))
    assert list_functions(found) == [("term", "renamed", "hurry")]
    assert found.renamed == {"haste": "hurry"}
    assert [str(each) for each in found.numbers] == ["hurry.weight: -1 → -2"]


def test_of_several_terms_with_one_formula_that_with_the_same_numbers_was_renamed():
    close, touch, reachable = (term(name=name)(is_near) for name in ("close", "touch", "reachable"))
    old = build(close, haste)
    new = build(touch, reachable, haste).with_params(touch={"reach": 5.0})
    found = compare_definitions(old, new)
    assert found.renamed == {"close": "reachable"}
    assert list_functions(found) == [("term", "added", "touch"), ("term", "renamed", "reachable")]


def test_numbers_are_told_as_old_and_new():
    old = build(near, haste, low=-5.0)
    new = build(near, haste, low=-5.0, high=1.0).with_params(
        {"near.reach": 3.0, "haste.weight": -2.0, "total.low": -4.0}
    )
    assert [str(each) for each in compare_definitions(old, new).numbers] == [
        "near.reach: 2 → 3",
        "haste.weight: -1 → -2",
        "total.low: -5 → -4",
        "total.high: (none) → 1",
    ]


def test_a_schedule_is_a_number_that_changed():
    counted = (DISTANCE, SPEED, Field("step", low=0))
    old = build(near, haste)
    new = build(near, term(name="haste", weight=linear(-1.0, -2.0, over=100))(hurries), fields=counted)
    (change,) = compare_definitions(old, new).numbers
    assert change.name == "haste.weight"
    assert change.before == -1.0
    assert "100" in str(change)


def test_gates_overrides_and_places_are_told_apart():
    def awake(speed):
        return speed > 0.0

    def crashed(distance):
        return distance < 1.0

    def stuck(speed):
        return speed < 0.1

    old = build(near, haste, gate=awake, override=[(crashed, -10.0)])
    new = build(
        near,
        term(name="haste", weight=-1.0, gated=False)(hurries),
        gate=awake,
        override=[(stuck, -1.0), (crashed, -9.0)],
    )
    found = compare_definitions(old, new)
    assert list_functions(found) == [("term", "moved", "haste"), ("override", "added", "stuck")]
    assert found.functions[0].note == "gated → outside the gate"
    assert [str(each) for each in found.numbers] == ["override.crashed: -10 → -9"]
    assert list_functions(compare_definitions(old, build(near, haste))) == [
        ("gate", "removed", "gate"),
        ("override", "removed", "crashed"),
    ]


def test_fields_facts_and_what_is_declared_of_steps_stand_apart():
    @fact
    def slow_when_near(distance, speed):
        return speed <= distance

    better = prefer({"distance": 1.0}, over={"distance": 9.0})
    old = build(near, haste)
    wide = (Field("distance", low=0, high=90, unit="m"), SPEED)
    task = Task(facts=[slow_when_near], prefer=[better], discount=0.9)
    found = compare_definitions(old, build(near, haste, fields=wide, task=task))
    assert [str(each) for each in found.inputs] == ["distance.high: 60 → 90", "distance.unit: (none) → m"]
    assert list_functions(found) == [("fact", "added", "slow_when_near")]
    assert [each.name for each in found.steps] == ["discount", "preferred"]
    assert not found.numbers


def test_what_is_wanted_is_compared_too():
    """What a task says changes what checks and probes say, though no step is paid otherwise."""

    def build_with(goal, horizon, idle, **said):
        def arrived(distance):
            return distance < 1 if goal == 1 else distance < 2

        meets = {"distance": idle, "speed": 0.0}
        return build(near, haste, task=Task(goal=arrived, goal_ends=goal == 1, horizon=horizon, idle=meets, **said))

    old, new = build_with(1, 10, 3.0), build_with(2, 20, 4.0, better={"speed": "low"}, max_change={"distance": 5})
    found = compare_definitions(old, new)
    assert list_functions(found) == [("goal", "changed", "arrived")]
    assert [str(each) for each in found.steps] == [
        "goal_ends: true → false",
        "horizon: 10 → 20",
        "distance.idle: 3 → 4",
        "speed.better: (none) → low",
        "distance.max_change: (none) → 5",
    ]
    assert not compare_definitions(old, Reward.from_json(old.to_json()))


def test_a_goal_that_came_is_one_difference():
    def arrived(distance):
        return distance < 1

    found = compare_definitions(build(near, haste), build(near, haste, task=Task(goal=arrived)))
    assert list_functions(found) == [("goal", "added", "arrived")]
    assert found.steps == ()


def test_how_an_episode_ends_is_compared_by_its_sign_and_its_function():
    def build_with(sign, limit):
        def too_fast(speed):
            return speed > limit

        return build(near, haste, task=Task(ends={"crashed": (sign, too_fast)}))

    found = compare_definitions(build_with("bad", 20.0), build_with("time", 25.0))
    assert list_functions(found) == [("end", "changed", "crashed")]
    assert (found.functions[0].before, found.functions[0].after) == ("return speed > 20.0", "return speed > 25.0")
    assert [str(each) for each in found.steps] == ["crashed.ends: bad → time"]
    same = build_with("bad", 20.0)
    assert not compare_definitions(same, Reward.from_json(same.to_json()))


def test_a_long_fact_that_changed_where_its_text_is_cut_is_told():
    def build_with(end):
        @fact
        def plausible(distance, speed, *, end=end):
            total = 0.0
            for at in range(30):
                total = total + distance * (speed + at)
            return total + speed * end < 1e9

        return build(near, haste, task=Task(facts=[plausible]))

    assert "…" in compare_definitions(build(near, haste), build_with(1.0)).functions[0].after
    assert list_functions(compare_definitions(build_with(1.0), build_with(2.0))) == [("fact", "changed", "plausible")]
    assert not compare_definitions(build_with(1.0), build_with(1.0))


def test_a_state_that_is_carried_otherwise_is_told_and_its_readers_are_not():
    def build_with(update, reset=0.0):
        @term
        def rested(idle):
            return idle * 0.1

        return Reward(
            "resting",
            version="1",
            terms=[rested],
            fields=[SPEED, State("idle", reset=reset, low=0, high=99, update=update)],
        )

    def count(prev, speed):
        return min(prev.idle + 1.0, 99.0) if speed < 1.0 else 0.0

    def count_slowly(prev, speed):
        return min(prev.idle + 0.5, 99.0) if speed < 1.0 else 0.0

    found = compare_definitions(build_with(count), build_with(count_slowly, reset=1.0))
    assert list_functions(found) == [("state", "changed", "idle")]
    assert "0.5" in found.functions[0].after
    assert [str(each) for each in found.numbers] == ["idle before the first step: [0] → [1]"]


@pytest.mark.parametrize("width", [60, 120])
def test_formulas_stand_side_by_side_within_the_width(width):
    before = (
        "if distance < reach and speed < limit:\n    return one + two + three + four + five + six + seven\nreturn 0.0"
    )
    lines = list(set_side_by_side(before, before.replace("0.0", "1.0"), width))
    assert max(map(len, lines)) <= width
    assert lines[-1].split("|")[0].strip() == "return 0.0"
    assert lines[-1].split("|")[1].strip() == "return 1.0"


def test_tables_stand_below_one_another_where_there_is_no_room():
    assert list(set_tables("one", "two", 40)) == ["one    two"]
    assert list(set_tables("one", "two", 5)) == ["one", "two"]
