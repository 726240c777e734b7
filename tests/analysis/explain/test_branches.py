"""What one step hangs on: the lines and conditions it took, and the nearest branch that pays differently."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Ledger, Reward, State, Task, fact, term
from plaudit.analysis import nearest_branches
from plaudit.checks.solver.ranges import decode_value, encode_value
from plaudit.errors import InputError
from plaudit.schedules import linear
from plaudit.testing.random_rewards import draw_case
from plaudit.testing.rows import as_inputs, draw_rows
from support.examples import examples


@term
def safety(distance, *, near=5.0, far=20.0):
    if distance < near:
        return -5
    if distance < far:
        return 0
    return 1 if distance < 40 else 0.5


@term(weight=0.1, high=1)
def pace(prev, curr):
    return min(2.0, curr.speed / 10) - 0.0 * prev.speed


@term(weight=-1)
def braking(action):
    return 1 if action == "brake" else 0


FIELDS = [
    Field("distance", low=0, high=100, unit="m"),
    Field("speed", low=0, high=40, unit="m/s"),
    Field("action", values=("keep", "brake")),
]
FOLLOWING = Reward("following", version="1", terms=[safety, pace, braking], fields=FIELDS, high=1.05)
LIMIT = linear(1.0, 3.0, over=10)
STEP = {"distance": 19.6, "prev.speed": 8.0, "curr.speed": 7.0, "action": "keep"}


def read_line(place):
    """Return the line of the source that a place names."""
    with open(place.file, encoding="utf-8") as file:
        return file.read().splitlines()[place.line - 1].strip()


def test_a_step_tells_which_lines_and_conditions_made_it():
    found = nearest_branches(FOLLOWING, STEP)["safety"]
    assert [read_line(place) for place in found.lines] == ["return 0"]
    assert [str(each) for each in found.conditions] == [
        "distance < 5.0 is false (19.6)",
        "distance < 20.0 is true (19.6)",
    ]
    assert found.inputs == ("distance",)


def test_the_nearest_branch_is_the_first_number_that_pays_differently():
    below, above = sorted(nearest_branches(FOLLOWING, STEP)["safety"].nearest, key=lambda each: each.after)
    assert (above.after, above.value, above.total) == (20.0, 1.0, 1.05)
    assert (above.unit, above.condition) == ("m", "distance < 20.0")
    assert str(above) == "0.4 m more distance (20): it would pay 1, total 1.05"
    assert (below.after, below.value) == (math.nextafter(5, 0), -5.0)
    assert str(below) == "14.6 m less distance (just below 5): it would pay -5, total -4.93"


def test_a_category_and_a_clamp_are_branches_too():
    found = nearest_branches(FOLLOWING, STEP)
    (braked,) = found["braking"].nearest
    assert (braked.before, braked.after, braked.delta, braked.value) == ("keep", "brake", None, -1.0)
    assert [each.text for each in found["pace"].conditions] == ["curr.speed / 10 < 2.0", "score < 1.0"]
    (faster,) = found["pace"].nearest
    assert (faster.input, faster.after, faster.value) == ("curr.speed", 10.0, 0.1)
    (clamped,) = found["total"].nearest
    assert (clamped.input, clamped.after, clamped.total) == ("distance", 20.0, 1.05)
    assert found["total"].conditions[0].text == "total < 1.05"


def test_a_recorded_step_of_a_loaded_reward_has_everything_but_lines(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        number = ledger.record(FOLLOWING.score(**STEP))
        signal = ledger.why(number).record.signal
    loaded = Reward.from_json(FOLLOWING.to_json())
    there, here = (nearest_branches(each, signal).to_dict() for each in (loaded, FOLLOWING))
    for term_there, term_here in zip(there["terms"], here["terms"], strict=True):
        assert term_there | {"lines": [], "code": []} == term_here | {"lines": [], "code": []}
        assert term_there["lines"] == []
    assert json.loads(json.dumps(here)) == here


@term
def zones(x, *, a=-1.0, b=0.0, c=1.0, before=0.0, first=1.0, second=2.0, after=3.0):
    if x < a:
        return before
    if x < b:
        return first
    return second if x < c else after


ZONES = Reward("zones", version="1", terms=[zones], fields=[Field("x", low=-10, high=10)])


@given(
    cuts=st.lists(st.floats(-9, 9, width=16), min_size=3, max_size=3, unique=True).map(sorted),
    pays=st.lists(st.integers(0, 2), min_size=4, max_size=4),
    x=st.floats(-10, 10),
)
@examples(0.5)
def test_the_nearest_branch_is_where_brute_force_finds_it(cuts, pays, x):
    """Zones that pay the same are passed over, on either side."""
    names = ("a", "b", "c", "before", "first", "second", "after")
    reward = ZONES.with_params(zones=dict(zip(names, (*cuts, *pays), strict=True)))
    found = {each.delta > 0: each for each in nearest_branches(reward, {"x": x})["zones"].nearest}
    zone = sum(cut <= x for cut in cuts)
    paid = pays[zone]
    up = next((cuts[at - 1] for at in range(zone + 1, 4) if pays[at] != paid), None)
    down = next((math.nextafter(cuts[at], -math.inf) for at in reversed(range(zone)) if pays[at] != paid), None)
    expected = {way: place for way, place in ((True, up), (False, down)) if place is not None}
    assert {way: each.after for way, each in found.items()} == expected
    for each in found.values():
        assert reward.score(x=each.after).total == each.value == each.total


@given(seed=st.integers(0, 2**32))
@examples(0.16)
def test_whatever_is_said_to_be_paid_is_really_paid(seed):
    """Random rewards: each branch near by pays what was said, and the last number before it takes the old one."""
    chance = random.Random(seed)
    case = draw_case(chance.choice)
    for row in draw_rows(case, seed, 2, bad=0.0, small=True):
        try:
            signal = case.reward.score(**as_inputs(row))
        except InputError:
            continue
        found = nearest_branches(case.reward, signal)
        inputs = dict(zip(case.reward.inputs, signal.row, strict=True))
        for each in found.terms:
            for branch in each.nearest:
                field = case.reward.program.inputs[branch.input]
                changed = {**inputs, branch.input: encode_value(field, branch.after)}
                decoded = {n: decode_value(case.reward.program.inputs[n], v) for n, v in changed.items()}
                again = case.reward.score(**decoded)
                assert again.total == branch.total
                assert (again.total if each.term == "total" else again[each.term].value) == branch.value
                assert branch.begins == math.isclose(branch.value, each.value, rel_tol=1e-9, abs_tol=1e-12)


def test_a_condition_over_two_inputs_and_a_curved_one_are_found():
    @term
    def product(x, y):
        return 1 if x * y > 6 else 0

    @term
    def curved(x):
        return 1 if math.sqrt(x) > 3 else 0

    fields = [Field("x", low=0, high=100), Field("y", low=0, high=100)]
    reward = Reward("two", version="1", terms=[product, curved], fields=fields)
    found = nearest_branches(reward, {"x": 2.0, "y": 2.0})
    assert {each.input: each.after for each in found["product"].nearest} == {
        "x": math.nextafter(3, math.inf),
        "y": math.nextafter(3, math.inf),
    }
    (far,) = found["curved"].nearest
    assert 9 < far.after < 9 + 1e-12


def test_a_clamp_that_binds_tells_where_it_stops():
    found = nearest_branches(FOLLOWING, {**STEP, "curr.speed": 30.0})["pace"]
    assert [each.text for each in found.conditions] == ["score > 1.0"]
    (slower,) = found.nearest
    assert (slower.after, slower.value, slower.begins) == (10.0, 0.1, True)
    assert str(slower) == "20 m/s less curr.speed (10): it would start to change from 0.1"


def test_a_step_that_would_break_a_fact_says_so():
    @fact
    def stopped(prev, curr, braked):
        return braked or curr.x >= prev.x

    @term
    def back(prev, curr, braked):
        return -1 if curr.x < prev.x - 1 else 0.5 * braked

    fields = [Field("x", low=0, high=9), Field("braked", flag=True)]
    reward = Reward("facts", version="1", terms=[back], fields=fields, task=Task(max_change={"x": 2}, facts=[stopped]))
    found = {
        (each.input, each.after > each.before): each.breaks
        for each in nearest_branches(reward, {"prev.x": 5.0, "curr.x": 5.0, "braked": False})["back"].nearest
    }
    assert found["curr.x", False] == ("stopped",)
    assert nearest_branches(reward, {"prev.x": 5.0, "curr.x": 5.0, "braked": True})["back"].nearest[0].breaks == ()


def test_schedules_states_gates_and_overrides_are_explained():
    def count_up(prev, health):
        return prev.count + 1 if health > 5 else 0.0

    def alive(health):
        return 1 if health > 2 else 0.5

    def crashed(health):
        return health <= 0

    @term
    def calm(count, *, limit=LIMIT):
        if count < limit:
            return 1
        return 0

    count = State("count", reset=0.0, update=count_up)
    fields = [Field("health", low=0, high=9), count]
    reward = Reward("alive", version="1", terms=[calm], fields=fields, gate=alive, override=[(crashed, -9)])
    found = nearest_branches(reward, {"health": 6.0, "prev.count": 1.0, "step": 0})
    assert [read_line(place) for place in found["calm"].lines] == ["return 0"]
    later = nearest_branches(reward, {"health": 6.0, "prev.count": 1.0, "step": 10})
    assert [read_line(place) for place in later["calm"].lines] == ["return 1"]
    assert {each.input for each in found["calm"].nearest} == {"health", "prev.count", "step"}
    (crash,) = found["crashed"].nearest
    assert (crash.after, crash.total) == (0.0, -9.0)
    (weak,) = later["gate"].nearest
    assert (weak.after, weak.total) == (2.0, 0.5)


def test_a_step_that_stands_on_an_edge_and_a_search_beyond_what_can_be_computed():
    @term(high=1)
    def held(x):
        return x / 10

    @term
    def steep(x):
        return 1 if math.exp(x) > 3 and 1 / x < 2 else math.log(x + 1)

    reward = Reward("edges", version="1", terms=[held, steep], fields=[Field("x", low=-0.5)])
    found = nearest_branches(reward, {"x": 10.0})
    assert found["held"].value == 1.0
    (flat,) = found["steep"].nearest
    assert flat.after == pytest.approx(math.log(3))
    assert flat.value == reward.score(x=flat.after)["steep"].value


def test_the_end_of_an_episode_is_explained_by_what_only_the_end_reads():
    @term(terminal=True)
    def arrived(success):
        return 5 if success else -1

    @term
    def pace(speed):
        return speed

    fields = [Field("success", flag=True), Field("speed", low=0, high=9)]
    reward = Reward("ends", version="1", terms=[pace, arrived], fields=fields)
    (won,) = nearest_branches(reward, reward.score_terminal(success=False))["arrived"].nearest
    assert (won.input, won.after, won.total) == ("success", True, 5.0)
    assert nearest_branches(reward, {"speed": 1.0, "terminal": False})["arrived"].nearest == ()


def test_a_row_that_cannot_be_scored_is_refused():
    with pytest.raises(InputError, match="distance"):
        nearest_branches(FOLLOWING, {**STEP, "distance": -1.0})
    with pytest.raises(KeyError, match="Did you mean 'safety'"):
        nearest_branches(FOLLOWING, STEP)["safty"]
