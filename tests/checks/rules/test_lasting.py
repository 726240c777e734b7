"""Pay that goes on: for staying, and for events that happen again and again."""

import pytest

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.solver.z3 import is_available
from plaudit.schedules import linear, piecewise
from support.asking import really, told, undecided
from support.written import plain

HEIGHT = Field("height", low=0, high=10)


def reward(*terms, fields=(HEIGHT,), action=None, **task):
    said = {"states": [each.name for each in fields if each is HEIGHT], **task}
    return Reward("r", version="1", terms=terms, fields=fields, action=action, task=Task(**said))


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
    made = reward(survival, high, horizon=100)
    (finding,) = told(made, "pays-for-staying")
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == (
        "an agent can stay put and earn up to 2 a step forever. That adds up to 200 over 100 steps."
    )
    assert finding.witness[0].inputs == {"height": 10.0}
    assert really(made, finding) == [2]


@term(terminal=True, weight=-1, kind="penalty")
def crashed(height):
    return height < 1


def there(height):
    return height < 0.5


@pytest.mark.parametrize(
    ("intent", "count"),
    [({}, 0), ({"horizon": 9}, 1), ({"idle": {"height": 1.0}}, 1), ({"goal": there}, 1), ({"discount": 0.9}, 0)],
)
def test_where_nothing_else_is_to_be_done_staying_may_be_the_task(intent, count):
    assert len(told(reward(high, **intent), "pays-for-staying")) == count
    assert len(told(reward(high, crashed, **intent), "pays-for-staying")) == 1


def test_staying_in_the_goal_is_no_flaw():
    @term
    def near(height):
        return 1 if height < 0.5 else 0

    def higher(height):
        return height < 0.4

    assert told(reward(near, goal=there), "pays-for-staying") == []
    (finding,) = told(reward(near, goal=higher), "pays-for-staying")
    assert 0.4 <= finding.witness[0].inputs["height"] < 0.5


@pytest.mark.parametrize(
    ("pay", "words", "witness"),
    [
        ("3 - abs(x)", "earn up to 3 a step forever.", 0.0),
        ("1 / (0.1 + x) if x >= 0 else 0", "earn up to 10 a step forever.", 0.0),
        ("x if x < 5 else 0", "earn up to 4.999 a step forever.", 4.999),
        ("x if x <= 2.5 else 0", "earn up to 2.5 a step forever.", 2.5),
    ],
)
def test_a_place_is_told_as_a_place_with_a_number_that_a_person_would_write(pay, words, witness):
    made = reward(term(plain(f"def f(x): return {pay}")), fields=[Field("x", low=-9, high=9)], states=["x"], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert words in finding.message
    assert [step.inputs for step in finding.witness] == [{"x": witness}]
    really(made, finding)


def test_a_stretch_is_told_only_where_every_place_in_it_pays_the_same():
    text = "def f(x): return 1 if x < 2 else 3 - x / 10 if x < 6 else 0.5"
    made = reward(term(plain(text)), fields=[Field("x", low=0, high=9, unit="m")], states=["x"], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert "earn up to 2.8 a step forever (x below 2 m: 1 a step; x beyond 6 m: 0.5 a step)." in finding.message
    assert [step.note for step in finding.witness] == ["x 2 m", "x below 2 m", "x beyond 6 m"]
    assert really(made, finding) == [2.8, 1, 0.5]


def test_what_changes_at_its_rate_cannot_stay_where_it_is():
    @term
    def fast(velocity):
        return velocity

    velocity = Field("velocity", low=-10, high=10)
    driving = {"states": ["velocity"], "horizon": 10}
    moving = {**driving, "fields": [velocity, Field("x", low=-99, high=99)], "rates": {"x": "velocity"}}
    (finding,) = told(reward(fast, survival, fields=[velocity], **driving), "pays-for-staying")
    assert "earn up to 11 a step" in finding.message
    alive = reward(fast, survival, **moving)
    (finding,) = told(alive, "pays-for-staying")
    assert "earn up to 1 a step forever" in finding.message
    assert really(alive, finding) == [1]
    assert told(reward(fast, **moving), "pays-for-staying") == []


def test_a_fact_about_the_way_says_what_stays():
    @term
    def fast(prev, curr, velocity):
        return velocity + 0 * (curr.x - prev.x)

    @fact
    def moves(prev, curr, velocity):
        return curr.x == prev.x + 0.1 * velocity

    fields = [Field("velocity", low=-10, high=10), Field("x", low=-99, high=99)]
    made = reward(fast, fields=fields, states=["velocity"], facts=[moves], horizon=10)
    assert told(made, "pays-for-staying") == []


@pytest.mark.parametrize(
    ("end", "severity", "ending"),
    [
        (10, "warning", "That adds up to 10, as much as the best end."),  # the same but for rounding
        (10.000004, "advice", "That adds up to at most 10, less than the best end, which pays 10.000004."),
    ],
)
def test_numbers_that_differ_are_written_so_that_they_do_and_others_are_called_the_same(end, severity, ending):
    @term(weight=0.1)
    def tenth():
        return 1

    @term(terminal=True)
    def ten(*, pay=end):
        return pay

    (finding,) = told(reward(tenth, ten, discount=0.99, fields=()), "pays-for-staying")
    assert finding.severity == severity
    assert finding.message.endswith(ending)


@pytest.mark.parametrize(
    ("discount", "severity", "ending"),
    [
        (0.9, "advice", "That adds up to at most 10, less than the best end, which pays 50."),
        (0.99, "warning", "That adds up to 100, more than the best end, which pays 50."),
        (1.0, "warning", "After 50 steps it has earned more than the best end, which pays 50."),
        (None, "warning", "After 50 steps it has earned more than the best end, which pays 50."),
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

    made = reward(zones, fields=[Field("distance", low=0, high=10)], states=["distance"], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert finding.message == (
        "an agent can stay put and earn up to 1 a step forever (distance from 2 to 6: 1 a step; distance beyond 6: 0.5 a "
        "step). That adds up to 10 over 10 steps."
    )
    assert really(made, finding) == [1, 0.5]
    assert [2 <= step.inputs["distance"] < 6 for step in finding.witness] == [True, False]


def test_stretches_that_pay_the_same_are_one():
    @term
    def zones(distance):
        return 1 if distance < 2 else 1.0 if distance < 6 else -1

    made = reward(zones, fields=[Field("distance", low=0, high=10)], states=["distance"], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert "(distance below 6: 1 a step)" in finding.message


@pytest.mark.parametrize("pay", [0.0, -0.01])
def test_what_costs_or_pays_nothing_is_left_alone(pay):
    @term
    def step(height, *, price=pay):
        return price - 0 * height

    assert told(reward(step, horizon=10), "pays-for-staying") == []


def test_an_event_pays_only_when_it_happens():
    @term
    def kills(count):
        return 5 * count

    fields = [Field("count", low=0, high=9)]
    assert told(reward(kills, fields=fields, horizon=10), "pays-for-staying") == []
    (finding,) = told(reward(kills, fields=fields, idle={"count": 1}, horizon=10), "pays-for-staying")
    assert finding.witness[0].inputs == {"count": 1.0}


def test_a_gain_of_a_step_is_nothing_where_nothing_moves():
    @term
    def gain(prev, curr):
        return max(0, curr.height - prev.height)

    assert told(reward(gain, fields=[Field("height", low=0, high=10)], horizon=10), "pays-for-staying") == []


def test_shaping_that_is_potential_based_pays_nothing_in_the_long_run():
    @term(kind="shaping")
    def shaped(prev, curr):
        return 0.9 * -curr.distance + prev.distance  # standing at 10 pays 1 a step, and that is made up for at the end

    made = reward(shaped, fields=[Field("distance", low=0, high=10)], discount=0.9, horizon=10)
    assert told(made, "pays-for-staying") == []


def test_the_action_and_what_follows_it_are_chosen():
    @term
    def brake(action, force):
        return 1 - force + 0 * action

    @fact
    def brakes(action, force):
        return force == (0.5, 0.2)[action]

    fields = [Field("action", values=(0, 1)), Field("force", low=0, high=9)]
    made = reward(brake, fields=fields, action="action", facts=[brakes], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert finding.witness[0].inputs == {"action": 1.0, "force": 0.2}
    assert really(made, finding) == [0.8]
    assert finding.facts == ("brakes",)


def test_a_field_that_only_rises_can_stand_still():
    @term
    def used(prev, curr):
        return 1 - (curr.tokens - prev.tokens)

    made = reward(used, fields=[Field("tokens", low=0, high=99)], monotone={"tokens": "up"}, horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert really(made, finding) == [1]


def test_pay_without_bound_is_told_without_a_number_nobody_can_read():
    made = reward(high, fields=[Field("height")], states=["height"], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert finding.message == "an agent can stay put and earn an unbounded amount a step forever."
    assert 0 < really(made, finding)[0] <= 1e6

    @term
    def steps(height):
        return height if height > 3 else -1

    made = reward(steps, fields=[Field("height")], states=["height"], horizon=10)
    (finding,) = told(made, "pays-for-staying")
    assert finding.message == "an agent can stay put and earn an unbounded amount a step forever."


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

    made = reward(tangled, fields=[Field(name, low=0, high=1) for name in "xyz"], states=[*"xyz"], horizon=10)
    assert undecided(made, "pays-for-staying", z3=False) == ["z3 is turned off"]
    if is_available():
        assert told(made, "pays-for-staying") == []


CODE = "pays-per-event"
HIT, DONE = Field("hit", flag=True), Field("done", flag=True)


@term
def target(hit):
    return hit


@term(weight=-0.5)
def time():
    return 1


@term(terminal=True, weight=10)
def finish(done):
    return done


def event_reward(*terms, fields=(HIT, DONE), **said):
    return reward(*terms, fields=fields, **said)


def test_targets_that_come_back_out_earn_the_finish():
    made = event_reward(target, time, finish)
    (finding,) = told(made, CODE)
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == (
        "'hit' pays up to 0.5 a step, over and over while nothing else changes. After 21 such steps, 'hit' has "
        "earned more than the best end, which pays 10."
    )
    assert really(made, finding) == [0.5, -0.5]
    assert [step.inputs["hit"] for step in finding.witness] == [True, False]
    assert [step.note for step in finding.witness] == ["with hit", "without"]


@pytest.mark.parametrize(
    ("discount", "ending"),
    [
        (0.9, None),
        (0.95, None),
        (0.99, "Repeated forever, 'hit' is worth 50 at discount 0.99, more than the best end, which pays 10."),
        (1.0, "After 21 such steps, 'hit' has earned more than the best end, which pays 10."),
    ],
)
def test_the_discount_decides_what_again_and_again_is_worth(discount, ending):
    found = told(event_reward(target, time, finish, discount=discount), CODE)
    assert [each.message.endswith(ending) for each in found] == ([True] if ending else [])


def test_all_events_are_told_of_at_once():
    @term
    def coins(count):
        return 2 * count

    made = event_reward(target, coins, finish, fields=[HIT, DONE, Field("count", low=0, high=3)])
    (finding,) = told(made, CODE)
    assert finding.message.startswith("'count' pays up to 6 a step and 'hit' up to 1, over and over")
    assert "After 2 such steps, 'count' has earned more than" in finding.message
    assert really(made, finding) == [6, 0, 1, 0]


def test_pay_without_bound_needs_one_step():
    @term
    def coins(count):
        return count

    made = event_reward(coins, finish, fields=[DONE, Field("count", low=0)])
    (finding,) = told(made, CODE)
    assert finding.message.startswith("'count' pays an unbounded amount a step")
    assert finding.message.endswith("One such step can earn more than the best end, which pays 10.")
    assert 0 < really(made, finding)[0] <= 1e6


def test_where_no_end_pays_nothing_competes():
    @term(terminal=True)
    def crash(done):
        return -5 if done else 0

    assert told(event_reward(target, fields=[HIT]), CODE) == []
    assert told(event_reward(target, crash), CODE) == []


def test_an_event_that_does_not_make_up_for_its_step():
    @term(weight=-2)
    def dear():
        return 1

    assert told(event_reward(target, dear, finish), CODE) == []


def test_an_event_that_costs_or_only_counts_at_the_end():
    @term(weight=-1, kind="penalty")
    def bump(hit):
        return hit

    assert told(event_reward(bump, finish), CODE) == []
    assert told(event_reward(time, finish, fields=[DONE]), CODE) == []


def test_an_event_that_uses_something_up_cannot_go_on():
    @term
    def left(prev, curr):
        return 0 * (curr.targets - prev.targets)

    @fact
    def used_up(hit, prev, curr):
        return curr.targets < prev.targets or not hit

    fields = [HIT, DONE, Field("targets", low=0, high=9)]
    falling = {"targets": "down"}
    assert told(event_reward(target, left, finish, fields=fields, monotone=falling), CODE) != []
    assert told(event_reward(target, left, finish, fields=fields, monotone=falling, facts=[used_up]), CODE) == []


def test_an_event_that_ends_the_episode_happens_once():
    @fact
    def over(hit, terminal):
        return terminal or not hit

    assert told(event_reward(target, time, finish, facts=[over]), CODE) == []


def test_what_follows_from_the_action_is_no_event():
    @term
    def push(action, force):
        return force + 0 * action

    @fact
    def pushes(action, force):
        return force == action

    fields = [Field("action", values=(0, 1)), Field("force", low=0, high=1), DONE]
    made = event_reward(push, finish, fields=fields, action="action", facts=[pushes])
    assert told(made, CODE) == []


def test_events_that_a_fact_ties_together_happen_together():
    @term
    def noise(loud):
        return 0.1 * loud

    @fact
    def bang(hit, loud):
        return loud or not hit

    made = event_reward(target, noise, finish, fields=[HIT, DONE, Field("loud", flag=True)], facts=[bang])
    (finding,) = told(made, CODE)
    assert finding.message.startswith("'hit' pays up to 1.1 a step and 'loud' up to 0.1,")
    assert really(made, finding)[:2] == [1.1, 0]


def test_what_an_event_pays_may_be_left_undecided():
    @term
    def tangled(x, y, z):
        return ((x - y) + (y - z) + (z - x)) * 0.5

    fields = [Field("x", low=0, high=1), *(Field(name, low=0, high=1) for name in "yz"), DONE]
    made = event_reward(tangled, finish, fields=fields, states=["y", "z"])
    assert undecided(made, CODE, z3=False) == ["what a step with 'x' pays: z3 is turned off"]
    if is_available():
        assert told(made, CODE) == []


# -- what is wanted ---------------------------------------------------------------------------------------------------

TEMP = Field("temp", low=10, high=35, unit="°C")


@term
def comfort(temp):
    return 1 - abs(temp - 21) / 14


@term
def heat(temp):
    return temp / 35


def is_comfortable(temp):
    return abs(temp - 21) < 0.5


def thermostat(*terms, **task):
    return reward(*terms, fields=[TEMP], states=["temp"], horizon=100, **task)


def test_where_the_best_stay_is_what_is_wanted_staying_is_the_task():
    assert len(told(thermostat(comfort), "pays-for-staying")) == 1
    assert told(thermostat(comfort, aim={"temp": 21}), "pays-for-staying") == []
    assert told(thermostat(comfort, goal=is_comfortable, goal_ends=False), "pays-for-staying") == []
    assert told(thermostat(heat, better={"temp": "high"}), "pays-for-staying") == []


def test_where_another_place_pays_more_than_what_is_wanted_staying_there_is_told():
    made = thermostat(heat, aim={"temp": 21})
    (finding,) = told(made, "pays-for-staying")
    assert finding.witness[0].inputs == {"temp": 35.0}
    assert really(made, finding) == [1]
    assert len(told(thermostat(heat, goal=is_comfortable, goal_ends=False), "pays-for-staying")) == 1


def test_where_the_goal_ends_the_episode_staying_is_not_what_is_wanted():
    made = thermostat(comfort, aim={"temp": 21}, goal=is_comfortable)
    (finding,) = told(made, "pays-for-staying")
    assert not is_comfortable(finding.witness[0].inputs["temp"])
    assert "more than the goal, which pays 1." in finding.message


# -- speeds -----------------------------------------------------------------------------------------------------------

PLACE, SPEED = Field("place", low=0, high=10, unit="m"), Field("speed", low=-3, high=3, unit="m/s")


@term
def quick(speed):
    return abs(speed)


@pytest.mark.parametrize("said", [{}, {"rates": {"place": "speed"}}], ids=["by its unit", "by its rate"])
def test_who_keeps_up_a_speed_does_not_stay(said):
    @term
    def placed(place):
        return 0.1 + 0 * place

    plain_speed = Field("speed", low=-3, high=3)
    moving = {"states": ["place", "speed"], "horizon": 10, **said}
    speed = plain_speed if said else SPEED
    (finding,) = told(reward(quick, placed, fields=[PLACE, speed], **moving), "pays-for-staying")
    assert "earn up to 0.1 a step forever" in finding.message
    assert finding.witness[0].inputs["speed"] == 0
    kept = {"states": ["place", "speed"], "horizon": 10}
    (finding,) = told(reward(quick, placed, fields=[PLACE, plain_speed], **kept), "pays-for-staying")
    assert "earn up to 3.1 a step forever" in finding.message


def test_a_speed_that_moves_nothing_can_be_kept():
    (finding,) = told(reward(quick, fields=[SPEED], states=["speed"], horizon=10), "pays-for-staying")
    assert "earn up to 3 a step forever" in finding.message


# -- bonuses that are meant to fade -----------------------------------------------------------------------------------

FADING = "bonus-never-fades"
VISITS = Field("visits", low=0, high=1000)


@term(kind="intrinsic")
def novel(height):
    return 1 - height / 20


@term(kind="intrinsic")
def rare(visits):
    return 1 / (1 + visits)


def test_a_bonus_that_is_meant_to_fade_and_that_a_state_keeps_up_is_found():
    made = reward(novel, high)
    (finding,) = told(made, FADING)
    assert (finding.severity, finding.term) == ("warning", "novel")
    assert finding.message == "'novel' never fades: an agent earns 1 from it in every step spent at height 0."
    assert really(made, finding) == [1]
    assert told(reward(high), FADING) == []
    assert told(made.with_weights(novel=0), FADING) == []


def test_a_bonus_fades_with_a_count_that_only_rises():
    rising = {"fields": [VISITS], "monotone": {"visits": "up"}}
    assert told(reward(rare, **rising), FADING) == []
    falling = reward(rare, fields=[VISITS], monotone={"visits": "down"})
    (finding,) = told(falling, FADING)
    assert finding.message == "'rare' never fades: an agent earns 1 from it in every step spent at visits 0."

    @term(kind="intrinsic")
    def never_gone(visits):
        return max(0.3, 1 / (1 + visits))

    made = reward(never_gone, **rising)
    (finding,) = told(made, FADING)
    assert finding.witness[0].inputs == {"visits": 1000.0}
    assert really(made, finding) == [0.3]
    assert "an agent earns 0.3 from it in every step spent at visits 1,000." in finding.message


def test_where_nobody_says_whether_a_count_persists_it_is_advice_that_asks():
    (finding,) = told(reward(rare, fields=[VISITS]), FADING)
    assert finding.severity == "advice"
    assert finding.message == "'rare' never fades: an agent earns 1 from it in every step in which nothing happens."
    assert "monotone={'visits': 'up'}" in finding.advice
    (finding,) = told(reward(rare, fields=[VISITS], states=["visits"]), FADING)
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("weight", "found"),
    [(linear(1, 0, over=1000), 0), (linear(1, 0.5, over=1000), 1), (piecewise((1, 0.2), at=(500,)), 0), (1.0, 1)],
)
def test_a_bonus_may_fade_by_its_weight(weight, found):
    assert len(told(reward(novel).with_weights(novel=weight), FADING)) == found


def test_a_bonus_for_what_happens_is_not_kept_up_by_staying():
    @term(kind="intrinsic")
    def surprise(error):
        return error

    assert told(reward(surprise, fields=[Field("error", low=0, high=1)]), FADING) == []

    @term(kind="intrinsic", terminal=True)
    def last(height):
        return height

    assert told(reward(last), FADING) == []
