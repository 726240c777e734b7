"""What is said of fields, against what the reward pays for them."""

from math import exp

import numpy as np
import pytest

from plaudit import Field, Reward, Task, fact, prefer, term
from plaudit.checks.check import check
from support.asking import really, told
from support.played import make_steps

WRONG_WAY, UNPRICED = "wrong-way", "unpriced"
DISTANCE, HEIGHT = Field("distance", low=0, high=5), Field("height", low=0, high=1)
ENERGY, CRASHED = Field("energy", low=0, high=9, unit="J"), Field("crashed", flag=True)


@term
def bell(height, *, best=0.3):
    return exp(-((height - best) ** 2) / 0.01)


@term
def near(distance):
    return 1 - abs(distance - 2)


@term(weight=-0.1)
def effort(torque):
    return sum(t * t for t in torque)


@term
def closer(prev, curr):
    return prev.distance - curr.distance


@term(weight=-1)
def crash(crashed, speed):
    return 5 * crashed - 0.1 * speed


def reward(*terms, fields, **task):
    return Reward("r", version="1", terms=terms, fields=fields, task=Task(**task))


def test_pay_that_rises_up_to_a_value_short_of_the_best_may_be_meant():
    made = reward(near, fields=[DISTANCE], better={"distance": "low"})
    (finding,) = told(made, WRONG_WAY)
    assert (finding.severity, finding.term) == ("advice", "near")
    assert finding.message == (
        "an agent earns the most at distance 2, with everything else as wanted: 2 more than at 0, although 'distance' is "
        "better low."
    )
    assert "aim={'distance': 2}" in finding.advice
    assert really(made, finding) == [1, -1]
    assert told(reward(near, fields=[Field("distance", low=2, high=5)], better={"distance": "low"}), WRONG_WAY) == []


@pytest.mark.parametrize(
    ("aim", "found"),
    [(0.3, False), (0.5, True), (0.35, True), (0.3004, False)],
    ids=["right", "off", "near", "rounded"],
)
def test_an_aim_is_met_up_to_a_tolerance(aim, found):
    made = reward(bell, fields=[HEIGHT], aim={"height": aim})
    assert bool(told(made, WRONG_WAY)) is found


def test_an_aim_may_have_another_price_on_each_side():
    @term(weight=-1)
    def sagging(height):
        return max(0, 0.3 - height)

    assert told(reward(sagging, fields=[HEIGHT], aim={"height": 0.3}), WRONG_WAY) == []


def test_every_entry_of_a_vector_is_compared_and_one_is_told():
    made = reward(effort, fields=[Field("torque", length=3, low=-1, high=1)], aim={"torque": 0})
    assert told(made, WRONG_WAY) == []
    (finding,) = told(made.with_weights(effort=1.0), WRONG_WAY)
    assert " more at torque[" in finding.message
    assert finding.message.endswith("although 'torque' should be 0.")


def test_of_what_a_step_changes_what_comes_after_it_counts():
    made = reward(closer, fields=[DISTANCE], better={"distance": "low"})
    assert told(made, WRONG_WAY) == []
    (finding,) = told(made.with_weights(closer=-1.0), WRONG_WAY)
    assert "5 more at curr.distance 5 than at curr.distance 0" in finding.message


def test_a_flag_is_better_true_or_false():
    made = reward(crash, fields=[CRASHED, Field("speed", low=0, high=9)], better={"crashed": "low"})
    assert told(made, WRONG_WAY) == []
    (finding,) = told(made.with_weights(crash=1.0), WRONG_WAY)
    assert (
        finding.message
        == "an agent earns 5 more at crashed true than at crashed false, all else equal, although 'crashed' is better false."
    )


def test_what_facts_tie_to_a_field_may_follow_it_where_it_cannot_change_alone():
    @fact
    def mirrored(distance, remaining):
        return remaining == 5 - distance

    @term
    def covered(distance, remaining):
        return remaining

    fields, better = [DISTANCE, Field("remaining", low=0, high=5)], {"distance": "high"}
    assert told(reward(covered, near, fields=fields, better=better), WRONG_WAY) != []
    (finding,) = told(reward(covered, near, fields=fields, better=better, facts=[mirrored]), WRONG_WAY)
    assert finding.facts == ("mirrored",)


def test_a_change_that_is_small_beside_what_the_field_is_worth_is_nothing():
    @term
    def uneven(x):
        return x if x < 9 else 8.99

    assert told(reward(uneven, fields=[Field("x", low=0, high=10)], better={"x": "high"}), WRONG_WAY) == []


def test_where_fields_have_no_range_the_wrong_way_is_found_all_the_same():
    @term
    def pull(force, tilt):
        return force * tilt

    wide = reward(pull, fields=[Field("force"), Field("tilt")], better={"tilt": "low"})
    (finding,) = told(wide, WRONG_WAY)
    worse, better = finding.witness
    assert worse.inputs["tilt"] > better.inputs["tilt"]
    assert worse.total > better.total


def test_what_nothing_pays_for_is_unpriced():
    made = reward(near, fields=[DISTANCE, ENERGY], better={"energy": "low"})
    (finding,) = told(made, UNPRICED)
    assert finding.severity == "advice"
    assert finding.message == "'energy' is better low, but an agent will ignore it: no term reads 'energy'."
    assert len(set(really(made, finding))) == 1
    assert [step.note for step in finding.witness] == ["energy 9", "energy 0"]


def test_a_term_without_weight_pays_for_nothing():
    made = reward(near, crash, fields=[DISTANCE, CRASHED, Field("speed", low=0)], better={"crashed": "low"})
    assert told(made, UNPRICED) == []
    (finding,) = told(made.with_weights(crash=0.0), UNPRICED)
    assert "'crashed' is better false" in finding.message


def test_what_a_fact_ties_to_something_that_is_paid_for_is_priced():
    @fact
    def physics(energy, distance):
        return energy == 0.5 * distance

    far = [Field("distance", low=2, high=5), ENERGY]
    assert told(reward(near, fields=far, better={"energy": "low"}, facts=[physics]), UNPRICED) == []
    made = reward(near, fields=[DISTANCE, ENERGY], better={"energy": "low"}, facts=[physics])
    (finding,) = told(made, UNPRICED)
    assert finding.severity == "warning"
    assert "an agent is paid to make it worse" in finding.message
    worse, better = finding.witness
    assert worse.total > better.total


def test_both_sides_of_a_preference_about_what_nobody_reads_earn_the_same():
    wish = prefer({"energy": 1}, over={"energy": 8}, because="thrift")
    made = reward(near, fields=[DISTANCE, Field("energy", low=0, high=9)], prefer=[wish])
    (finding,) = told(made, "order-inversion")
    assert "the same as the other option" in finding.message
    assert finding.message.endswith("No term reads 'energy'.")
    assert len(set(really(made, finding))) == 1


def test_what_is_the_same_on_both_sides_of_a_preference_may_be_read_by_no_term():
    wish = prefer({"distance": 4, "energy": 1}, over={"distance": 2, "energy": 1})
    made = reward(near, fields=[DISTANCE, Field("energy", low=0, high=9)], prefer=[wish])
    (finding,) = told(made, "order-inversion")
    assert "No term reads" not in finding.message


def test_without_wishes_nothing_is_said():
    made = reward(near, fields=[DISTANCE])
    assert not check(made, only=[WRONG_WAY, UNPRICED]).findings


# -- with everything else good, and in other circumstances --------------------------------------------------------------

SPEED, EFFORT = Field("speed", low=0, high=10), Field("effort", low=0, high=1)


@term
def turns(distance, effort):
    return distance if effort > 0.5 else -distance


def test_with_everything_else_good_a_worse_value_that_earns_more_is_a_warning():
    @term
    def away(distance, effort):
        return distance - effort

    made = reward(away, fields=[DISTANCE, EFFORT], better={"distance": "low", "effort": "low"})
    (finding,) = told(made, WRONG_WAY)
    assert (finding.severity, finding.term) == ("warning", "away")
    assert finding.message == (
        "an agent earns 5 more at distance 5 than at distance 0, all else equal, although 'distance' is better low."
    )
    assert [step.inputs["effort"] for step in finding.witness] == [0, 0]
    assert really(made, finding) == [5, 0]


def test_in_other_circumstances_it_is_advice_that_names_them():
    made = reward(turns, fields=[DISTANCE, EFFORT], better={"distance": "low"})
    (finding,) = told(made, WRONG_WAY)
    assert finding.severity == "advice"
    assert finding.message == (
        "an agent earns 5 more at distance 5 than at distance 0 with effort 1, although 'distance' is better low."
    )
    assert really(made, finding) == [5, 0]


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ({"idle": {"effort": 1.0}}, "warning"),
        ({"idle": {"effort": 0.0}}, "advice"),
        ({"aim": {"effort": 1.0}}, "warning"),
        ({"aim": {"effort": 0.0}}, "advice"),
    ],
)
def test_what_is_good_is_said_by_other_wishes_and_by_what_an_idle_agent_meets(said, severity):
    made = reward(turns, fields=[DISTANCE, EFFORT], better={"distance": "low"}, **said)
    assert [each.severity for each in told(made, WRONG_WAY) if "'distance' is better" in each.message] == [severity]


def test_a_single_peak_short_of_the_best_is_advice_and_two_are_a_warning():
    @term
    def cruise(speed):
        return speed if speed < 7 else 14 - speed

    made = reward(cruise, fields=[SPEED], better={"speed": "high"})
    (finding,) = told(made, WRONG_WAY)
    assert finding.severity == "advice"
    assert "earns the most at speed 7, with everything else as wanted: 3 more than at 10," in finding.message
    assert finding.advice == "If you want 7, say so: aim={'speed': 7}. Otherwise let the reward keep rising up to 10."
    assert really(made, finding) == [7, 4]

    @term
    def wavy(speed):
        return speed if speed < 3 else 6 - speed if speed < 5 else speed - 4 if speed < 8 else 12 - speed

    @term
    def dip(speed):
        return abs(speed - 5)

    for odd, totals in ((wavy, [3, 1]), (dip, [5, 0])):
        made = reward(odd, fields=[SPEED], better={"speed": "high"})
        (finding,) = told(made, WRONG_WAY)
        assert finding.severity == "warning"
        assert really(made, finding) == totals


def test_two_values_are_told_apart_in_plain_numbers_that_earn_what_is_said():
    @term
    def reckless(speed, crashed):
        return speed - (20 if crashed and speed > 5 else 0)

    made = reward(reckless, fields=[SPEED, CRASHED], better={"speed": "high"})
    (finding,) = told(made, WRONG_WAY)
    assert finding.message == (
        "an agent earns 19.99 more at speed 5 than at speed 5.01 with crashed true, although 'speed' is better high."
    )
    assert [step.inputs["speed"] for step in finding.witness] == [5, 5.01]
    assert really(made, finding) == [5, pytest.approx(-14.99)]


# -- what nothing pays for, and steps that happened ---------------------------------------------------------------------

DRAWN = np.random.default_rng(0)
PLACES = DRAWN.uniform(0, 10, 400)
SPILT = Field("spilt", low=-1, high=3)


@term
def far(x):
    return x


def play(values, name="spilt"):
    return make_steps({"x": [0.0, *PLACES], name: [values[0], *values]})


def judge(values, field=SPILT, **task):
    made = reward(far, fields=[Field("x", low=0, high=10), field], **task)
    return check(made, only=[UNPRICED], steps=play(values, field.name)).findings


def test_better_paid_steps_that_leave_a_wish_worse_make_it_a_warning():
    spilt = 0.2 * PLACES + DRAWN.normal(0, 0.1, 400)
    (finding,) = judge(spilt, better={"spilt": "low"})
    median = np.median(PLACES)
    paid, unpaid = (spilt[each].mean() for each in (median < PLACES, median > PLACES))
    assert finding.severity == "warning"
    assert finding.message == (
        "'spilt' is better low, but nothing pays for it, and better-paid steps leave it worse: in 400 observed steps, "
        f"spilt is {paid:.6g} on average in the better-paid ones and {unpaid:.6g} in the others."
    )
    assert finding.witness[0].total > median > finding.witness[1].total
    assert [each.severity for each in judge(spilt, better={"spilt": "high"})] == ["advice"]


def test_of_an_aim_the_distance_from_it_counts():
    spilt = 0.2 * PLACES
    (finding,) = judge(spilt, aim={"spilt": 0.1})
    assert finding.severity == "warning"
    assert "its distance from 0.1 is " in finding.message
    assert [each.severity for each in judge(spilt, aim={"spilt": 2})] == ["advice"]


def test_of_a_state_it_counts_how_it_changes_in_the_step():
    level = np.cumsum(np.where(PLACES > 5, 0.01, -0.01))
    (finding,) = judge(level, better={"spilt": "low"}, states=["spilt"])
    assert finding.severity == "warning"
    assert "spilt changes by 0.00995 on average in the better-paid ones and by -0.0083 in the others" in finding.message
    falling = np.cumsum(np.where(PLACES > 5, -0.01, 0.01))
    assert [each.severity for each in judge(falling, better={"spilt": "low"}, states=["spilt"])] == ["advice"]


def test_of_a_flag_it_counts_how_often_it_is_true():
    (finding,) = judge(PLACES > 9, CRASHED, better={"crashed": "low"})
    assert finding.severity == "warning"
    share = (PLACES > 9).sum() / (np.median(PLACES) < PLACES).sum()
    assert f"crashed is true in {share:.1%} of the better-paid ones and in 0.0% of the others." in finding.message
    assert [each.severity for each in judge(PLACES > 9, CRASHED, better={"crashed": "high"})] == ["advice"]


@pytest.mark.parametrize(("count", "slope"), [(120, 0.2), (8000, 0.05)], ids=["few steps", "little"])
def test_what_may_be_chance_or_is_little_shows_nothing(count, slope):
    places = DRAWN.uniform(0, 10, count)
    made = reward(far, fields=[Field("x", low=0, high=10), SPILT], better={"spilt": "low"})

    def judge_noise(scale):
        spilt = slope * places + scale * np.resize(DRAWN.permutation(np.linspace(-1, 1, 40)), count)
        steps = make_steps({"x": [0.0, *places], "spilt": [0.0, *spilt]})
        return [each.severity for each in check(made, only=[UNPRICED], steps=steps).findings]

    assert judge_noise(scale=2.0) == ["advice"]
    assert judge_noise(scale=0.1) == ["warning"]


def test_a_few_steps_show_nothing():
    made = reward(far, fields=[Field("x", low=0, high=10), SPILT], better={"spilt": "low"})
    few = make_steps({"x": [0.0, *PLACES[:90]], "spilt": [0.0, *PLACES[:90]]})
    (finding,) = check(made, only=[UNPRICED], steps=few).findings
    assert finding.severity == "advice"
    more = make_steps({"x": [0.0, *PLACES[:110]], "spilt": [0.0, *PLACES[:110]]})
    (finding,) = check(made, only=[UNPRICED], steps=more).findings
    assert finding.severity == "warning"
