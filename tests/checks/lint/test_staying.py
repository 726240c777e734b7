"""States that pay in every step in which nothing happens."""

import pytest

from asking import really, told, undecided
from plaudit import Field, Reward, fact, term
from plaudit.checks.smt import available

HEIGHT = Field("height", low=0, high=10, role="state")


def reward(*terms, fields=(HEIGHT,), **options):
    return Reward("r", version="1", terms=terms, fields=fields, **options)


@term
def survival():
    return 1


@term
def high(height):
    return height / 10


@term(terminal=True)
def landed(height):
    return 50 if height < 1 else 0


def test_a_survival_bonus_is_advice():
    made = reward(survival, high)
    (finding,) = told(made, "pays-for-staying")
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == "a step that leaves everything as it is pays up to 2, for ever."
    assert finding.witness[0].inputs == {"height": 10.0}
    assert really(made, finding) == [2]


def test_an_end_that_waiting_out_earns_makes_it_a_warning():
    made = reward(high, landed)
    (finding,) = told(made, "pays-for-staying")
    assert finding.severity == "warning"
    assert finding.message.endswith("After 50 steps it has out-earned the best end, which pays 50.")


@pytest.mark.parametrize(
    ("discount", "severity", "ending"),
    [
        (0.9, "advice", "That is worth 10 at most, less than an end that pays 50."),
        (0.99, "warning", "That is worth 100, more than the best end, which pays 50."),
        (1.0, "warning", "After 50 steps it has out-earned the best end, which pays 50."),
    ],
)
def test_the_discount_decides_whether_waiting_pays(discount, severity, ending):
    (finding,) = told(reward(high, landed, discount=discount), "pays-for-staying")
    assert finding.severity == severity
    assert finding.message.endswith(ending)


def test_each_stretch_that_pays_is_told():
    @term
    def zones(distance):
        return -5 if distance < 2 else 1 if distance < 6 else 0.5

    made = reward(zones, fields=[Field("distance", low=0, high=10, role="state")])
    (finding,) = told(made, "pays-for-staying")
    assert finding.message == (
        "a step that leaves everything as it is pays up to 1, for ever (distance from 2 to 6: 1 a step; distance beyond 6: 0.5 "
        "a step)."
    )
    assert really(made, finding) == [1, 0.5]
    assert [2 <= step.inputs["distance"] < 6 for step in finding.witness] == [True, False]


def test_stretches_that_pay_the_same_are_one():
    @term
    def zones(distance):
        return 1 if distance < 2 else 1.0 if distance < 6 else -1

    made = reward(zones, fields=[Field("distance", low=0, high=10, role="state")])
    (finding,) = told(made, "pays-for-staying")
    assert "(distance below 6: 1 a step)" in finding.message


@pytest.mark.parametrize("pay", [0.0, -0.01])
def test_what_costs_or_pays_nothing_is_left_alone(pay):
    @term
    def step(height, *, price=pay):
        return price - 0 * height

    assert told(reward(step), "pays-for-staying") == []


def test_an_event_pays_only_when_it_happens():
    @term
    def kills(count):
        return 5 * count

    assert told(reward(kills, fields=[Field("count", low=0, high=9)]), "pays-for-staying") == []
    resting = Field("count", low=0, high=9, rest=1)
    (finding,) = told(reward(kills, fields=[resting]), "pays-for-staying")
    assert finding.witness[0].inputs == {"count": 1.0}


def test_a_gain_of_a_step_is_nothing_where_nothing_moves():
    @term
    def gain(prev, curr):
        return max(0, curr.height - prev.height)

    assert told(reward(gain, fields=[Field("height", low=0, high=10)]), "pays-for-staying") == []


def test_shaping_that_is_potential_based_pays_nothing_in_the_long_run():
    @term(kind="shaping")
    def shaped(prev, curr):
        return 0.9 * -curr.distance + prev.distance  # standing at 10 pays 1 a step, and that is made up for at the end

    made = reward(shaped, fields=[Field("distance", low=0, high=10)], discount=0.9)
    assert told(made, "pays-for-staying") == []


def test_the_action_and_what_follows_it_are_chosen():
    @term
    def brake(action, force):
        return 1 - force + 0 * action

    @fact
    def brakes(action, force):
        return force == (0.5, 0.2)[action]

    fields = [Field("action", values=(0, 1)), Field("force", low=0, high=9)]
    made = reward(brake, fields=fields, action="action", facts=[brakes])
    (finding,) = told(made, "pays-for-staying")
    assert finding.witness[0].inputs == {"action": 1.0, "force": 0.2}
    assert really(made, finding) == [0.8]
    assert finding.facts == ("brakes",)


def test_a_field_that_only_rises_can_stand_still():
    @term
    def used(prev, curr):
        return 1 - (curr.tokens - prev.tokens)

    made = reward(used, fields=[Field("tokens", low=0, high=99, monotone="up")])
    (finding,) = told(made, "pays-for-staying")
    assert really(made, finding) == [1]


def test_pay_without_bound_is_told_without_a_number_nobody_can_read():
    made = reward(high, fields=[Field("height", role="state")])
    (finding,) = told(made, "pays-for-staying")
    assert finding.message == "a step that leaves everything as it is pays as much as you like, for ever."
    assert 0 < really(made, finding)[0] <= 1e6

    @term
    def steps(height):
        return height if height > 3 else -1

    made = reward(steps, fields=[Field("height", role="state")])
    (finding,) = told(made, "pays-for-staying")
    assert "height beyond 3: as much as you like a step" in finding.message


def test_an_end_without_bound_competes_with_nothing():
    @term(terminal=True)
    def end(score):
        return score

    (finding,) = told(reward(high, end, fields=[HEIGHT, Field("score")]), "pays-for-staying")
    assert finding.severity == "advice"


def test_a_reward_of_nothing_but_its_end_does_not_pay_for_staying():
    assert told(reward(landed), "pays-for-staying") == []


def test_whether_staying_pays_may_be_left_undecided():
    @term
    def tangled(x, y, z):
        return (x - y) + (y - z) + (z - x)

    made = reward(tangled, fields=[Field(name, low=0, high=1, role="state") for name in "xyz"])
    assert undecided(made, "pays-for-staying", z3=False) == ["z3 was not to be used"]
    if available():
        assert told(made, "pays-for-staying") == []
