"""Terms that are dead, drowned or of the wrong sign; gates and overrides that do nothing."""

import pytest

from plaudit import Field, Reward, Task, bounds, check, fact, term
from plaudit.schedules import exponential, linear, piecewise
from support.asking import really, told, undecided
from support.composed import training, walker, walking
from support.written import reward_from

UNIT = Field("x", low=0, high=1)


def reward(*terms, fields=(UNIT,), **options):
    return Reward("r", version="1", terms=terms or (plain,), fields=fields, **options)


@term
def plain(x):
    return x


# -- dead terms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "adds"),
    [
        ("0 * x + 3", "3"),
        ("5 if x <= 1 else 2", "5"),
        ("max(x, 2)", "2"),
        ("min(1, x + 1)", "1"),
        ("x - x", "0"),
        ("3 * x - 2 * x + (1 - x)", "1"),
        ("(x > 2) * 7", "0"),
    ],
)
def test_a_term_that_never_varies_is_told(text, adds):
    made = reward_from(f"def f(x): return {text}", UNIT)
    (finding,) = told(made, "dead-term")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert finding.message == f"'f' adds {adds} to every reward, whatever x is."
    assert really(made, finding) == [float(adds)]


def test_a_term_that_its_clamp_holds_still_is_dead():
    @term(weight=2, high=0.5)
    def capped(x, y):
        return 1 + x + y

    (finding,) = told(reward(capped, fields=[UNIT, Field("y", low=0, high=1)]), "dead-term")
    assert finding.message == "'capped' adds 1 to every reward, whatever x, y are."


@pytest.mark.parametrize("text", ["1e-6 * x", "1 if x > 0.999 else 0", "x == 0.25", "max(x, 0.999)"])
def test_a_term_that_varies_a_little_is_alive(text):
    assert told(reward_from(f"def f(x): return {text}", UNIT), "dead-term") == []


def test_a_price_per_step_and_a_term_without_weight_are_meant_so():
    @term(weight=-0.01)
    def step():
        return 1

    @term(weight=0)
    def watched(x):
        return 0 * x

    assert told(reward(step, watched, plain), "dead-term") == []


def test_a_term_that_facts_hold_still_is_dead_and_the_facts_are_named():
    @fact
    def fixed(x):
        return x == 0.5

    (finding,) = told(reward(plain, task=Task(facts=[fixed])), "dead-term")
    assert finding.facts == ("fixed",)
    assert finding.witness[0].inputs == {"x": 0.5}


def test_facts_that_contradict_each_other_kill_nothing():
    @fact
    def low(x):
        return x < 0.3

    @fact
    def high(x):
        return x > 0.7

    assert told(reward(plain, task=Task(facts=[low, high])), "dead-term") == []


def test_a_term_without_ranges_can_be_dead_too():
    made = reward_from("def f(x): return min(abs(x), 0)", Field("x"))
    (finding,) = told(made, "dead-term")
    assert really(made, finding) == [0]


def test_a_category_that_decides_nothing():
    mood = Field("mood", values=("calm", "wild"), other="wild", missing="calm")
    text = 'def f(mood): return 2 if mood in ("calm", "wild") else 1'
    (finding,) = told(reward_from(text, mood), "dead-term")
    assert finding.message == "'f' adds 2 to every reward, whatever mood is."


def test_with_other_knobs_a_term_comes_alive():
    made = reward_from("def f(x, *, far=2.0): return 1 if x > far else 0", UNIT)
    assert told(made, "dead-term")
    assert told(made.with_params(f={"far": 0.5}), "dead-term") == []


def test_whether_a_term_is_dead_may_be_left_undecided():
    fields = [Field(name, low=0, high=1) for name in "xyz"]
    made = reward_from("def f(x, y, z): return (x - y) + (y - z) + (z - x)", *fields)
    (why,) = undecided(made, "dead-term", z3=False)
    assert why == "whether it ever has another value: z3 is turned off"
    assert told(made, "dead-term")


def test_what_another_term_cannot_score_at_rest_is_no_obstacle_to_a_witness():
    @term(weight=-1)
    def penalty(x):
        return x - 0.5

    @term
    def ratio(y):
        return 1 / y

    @fact
    def positive(y):
        return y > 0.1

    made = reward(penalty, ratio, fields=[UNIT, Field("y", low=0, high=1)], task=Task(facts=[positive]))
    (finding,) = told(made, "wrong-sign")
    assert finding.witness[0].inputs["y"] > 0.1
    assert really(made, finding)[0] is not None


# -- drowned terms ----------------------------------------------------------------------------------------------------


def test_terms_that_another_drowns_are_listed_under_it():
    @term(weight=0.5)
    def small(x):
        return x

    @term(weight=-200)
    def crash(hit):
        return hit

    made = reward(small, crash, plain, fields=[UNIT, Field("hit", flag=True)])
    (finding,) = told(made, "dominated-term")
    assert (finding.severity, finding.term) == ("note", "crash")
    assert finding.message == ("'crash' can be 200, more than a hundred times the maximum of small (0.5), plain (1).")


THRIFT = Field("burnt", low=0, high=1)


@term(weight=-0.001)
def thrift(burnt):
    return burnt


@term(weight=100)
def pace(x):
    return x


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ({"better": {"burnt": "low"}}, "warning"),
        ({"aim": {"burnt": 0}}, "warning"),
        ({"better": {"x": "high"}}, "note"),
        ({}, "note"),
    ],
)
def test_a_wish_that_next_to_nothing_pays_for_is_a_warning(said, severity):
    made = reward(pace, thrift, fields=[UNIT, THRIFT], task=Task(states=["x", "burnt"], **said))
    (finding,) = told(made, "dominated-term")
    assert finding.severity == severity
    assert finding.message == "'pace' can be 100, more than a hundred times the maximum of thrift (0.001)."
    assert [each.severity for each in told(made.with_weights(thrift=-0.02), "dominated-term")] == ["note"]


def test_what_is_paid_once_or_now_and_then_drowns_no_wish():
    @term(terminal=True, weight=100)
    def arrival(x):
        return x

    @term(weight=100)
    def catch(caught):
        return caught

    @term(weight=-1)
    def tank(burnt):
        return burnt

    wish, fields = {"better": {"burnt": "low"}}, [UNIT, THRIFT, Field("caught", flag=True)]
    read = {arrival: fields[:2], catch: fields[1:]}
    for large, own in read.items():
        made = reward(large, thrift, fields=own, task=Task(states=[each.name for each in own[:1]], **wish))
        assert [each.severity for each in told(made, "dominated-term")] == ["note"]
    both = reward(pace, thrift, tank, fields=[UNIT, THRIFT], task=Task(states=["x", "burnt"], **wish))
    assert [each.severity for each in told(both, "dominated-term")] == ["note"]


def test_a_hundred_times_as_large_is_not_yet_too_large():
    @term(weight=100)
    def large(x):
        return x

    assert told(reward(plain, large), "dominated-term") == []


def test_a_term_without_bound_weight_or_value_takes_no_part():
    @term
    def open_ended(y):
        return y

    @term(weight=0)
    def watched(x):
        return x

    @term(weight=5000)
    def huge(x):
        return 0 * x

    fields = [UNIT, Field("y")]
    assert told(reward(plain, open_ended, watched, huge, fields=fields), "dominated-term") == []


def test_a_loose_bound_drowns_nobody():
    fields = [Field(name, low=0, high=1) for name in "xyz"]

    @term
    def tangled(x, y, z):
        return 1000 * ((x - y) + (y - z) + (z - x))

    assert told(reward(plain, tangled, fields=fields), "dominated-term") == []


# -- signs ------------------------------------------------------------------------------------------------------------


def test_a_penalty_that_can_pay_is_told():
    @term(weight=-2)
    def effort(x):
        return x - 0.25

    made = reward(effort)
    (finding,) = told(made, "wrong-sign")
    assert (finding.severity, finding.term) == ("warning", "effort")
    assert finding.message == "'effort' is a penalty (its weight is -2) but can raise the total: by 0.5 here."
    assert really(made, finding) == [0.5]
    assert finding.witness[0].inputs == {"x": 0.0}


def test_a_penalty_that_is_negated_twice_is_told():
    @term(kind="penalty", weight=-1)
    def crash(hit):
        return -10 if hit else 0

    made = reward(crash, fields=[Field("hit", flag=True)])
    (finding,) = told(made, "wrong-sign")
    assert finding.message == "'crash' is declared a penalty but can raise the total: by 10 here."
    assert finding.witness[0].inputs == {"hit": True}
    assert really(made, finding) == [10]


def test_penalties_that_only_cost_are_left_alone():
    @term(kind="penalty", weight=-1)
    def one(x):
        return x

    @term(kind="penalty")
    def two(x):
        return -x

    @term(weight=-1, low=0)
    def three(x):
        return x - 0.25

    @term(weight=-1)
    def four(x):
        return x * x * x

    assert told(reward(one, two, three, four), "wrong-sign") == []


def test_a_negative_weight_of_what_is_declared_something_else_is_no_penalty():
    @term(kind="shaping", weight=-1)
    def closer(prev, curr):
        return curr.x - prev.x

    @term(kind="goal", weight=-1)
    def goal(curr):
        return -curr.x

    assert told(reward(closer, goal), "wrong-sign") == []


def test_a_term_without_weight_has_no_sign():
    @term(kind="penalty", weight=0)
    def watched(x):
        return x

    assert told(reward(watched, plain), "wrong-sign") == []


def test_a_bonus_that_only_costs_is_told():
    @term(kind="bonus", weight=-1)
    def prize(x):
        return 1 + x

    made = reward(prize)
    (finding,) = told(made, "wrong-sign")
    assert finding.message == "'prize' is declared a bonus but never raises the total: at best it adds -1."
    assert really(made, finding) == [-2]

    @term(kind="bonus")
    def mixed(x):
        return x - 0.9

    assert told(reward(mixed), "wrong-sign") == []


def test_a_fact_can_keep_a_penalty_from_paying():
    @term(kind="penalty", weight=-1)
    def used(prev, curr):
        return curr.tokens - prev.tokens

    free = reward(used, fields=[Field("tokens", low=0, high=99)])
    (finding,) = told(free, "wrong-sign")
    assert "by 99 here" in finding.message
    assert told(free.with_task(Task(monotone={"tokens": "up"})), "wrong-sign") == []
    (finding,) = told(free.with_task(Task(monotone={"tokens": "down"})), "wrong-sign")
    assert finding.facts == ("tokens only falls",)


def test_a_penalty_at_the_end_is_looked_at_at_the_end():
    @term(kind="penalty", terminal=True)
    def lost(x):
        return 5 * x

    made = reward(lost)
    (finding,) = told(made, "wrong-sign")
    assert finding.witness[0].inputs == {"x": 1.0, "terminal": True}
    assert really(made, finding) == [5]


def test_whether_a_penalty_can_pay_may_be_left_undecided():
    fields = [Field(name, low=0, high=1) for name in "xyz"]
    made = reward_from("def f(x, y, z): return (x - y) + (y - z) + (z - x)", *fields, weight=-1)
    assert undecided(made, "wrong-sign", z3=False) == ["whether this penalty can pay: z3 is turned off"]
    assert told(made, "wrong-sign") == []


def test_what_is_allowed_is_set_apart_with_its_reason():
    @term(weight=-1, allow={"wrong-sign": "downhill pays"})
    def effort(x):
        return x - 0.25

    report = check(reward(effort), only=["wrong-sign"])
    assert report.ok
    assert [(each.finding.term, each.reason) for each in report.suppressed] == [("effort", "downhill pays")]


# -- gates, overrides and counters ------------------------------------------------------------------------------------


def open_always(x):
    return 1.0 if x <= 1 else 0.0


def closed(x):
    return x > 2


def half(x):
    return 0.5 if x > 0.5 else 1.0


def never(x):
    return x < 0


def always(x):
    return x >= 0


def at_the_end(x):
    return x >= 1


@pytest.mark.parametrize(("gate", "is_"), [(open_always, "1"), (closed, "0")])
def test_a_gate_that_never_changes_is_told(gate, is_):
    (finding,) = told(reward(gate=gate), "dead-gate")
    assert (finding.severity, finding.term) == ("warning", "gate")
    assert finding.message == f"the gate is {is_} in every step, whatever x is."
    assert finding.place is not None


def test_a_gate_that_changes_is_not_told():
    assert not told(reward(gate=half), "dead-gate")
    assert not told(reward(), "dead-gate")


@pytest.mark.parametrize(("condition", "says"), [(never, "never applies"), (always, "always applies")])
def test_an_override_that_does_nothing_or_everything_is_told(condition, says):
    (finding,) = told(reward(override=[(condition, -1.0)]), "dead-override")
    assert (finding.severity, finding.term) == ("warning", condition.__name__)
    assert says in finding.message


def test_an_override_that_may_hold_is_not_told():
    assert not told(reward(override=[(at_the_end, -1.0)]), "dead-override")


@pytest.mark.parametrize("made", [walking(), training(), walker], ids=["composed", "scheduled", "walker"])
def test_a_sound_reward_is_not_blamed_for_being_composed(made):
    found = {(each.code, each.term) for each in check(made).findings if each.severity != "advice"}
    assert not found


def test_an_unreachable_branch_of_a_gate_is_told():
    def gate(x):
        if x > 3:
            return 0.0
        return 1.0 if x > 0.5 else 0.5

    (finding,) = told(reward(gate=gate), "unreachable-branch")
    assert finding.term == "gate"


def test_a_field_that_only_a_gate_reads_is_used():
    made = reward(fields=(UNIT, Field("lit", flag=True)), gate=lit)
    assert not told(made, "unused-field")


def lit(lit):
    return lit


def test_units_of_terms_may_differ_above_them():
    fields = (Field("x", low=0, high=1, unit="m"), Field("v", low=0, high=1, unit="m/s"))
    moving = reward_from("def f(v): return v", fields[1]).terms[0]
    assert not told(reward(plain, moving, fields=fields, scale=0.5, low=0.1), "unit-mismatch")


def test_a_counter_is_no_event_no_open_range_and_no_jump():
    weights = piecewise([1, 2], at=[10])
    made = reward(plain, fields=(UNIT,)).with_weights(plain=weights)
    found = {each.code for each in check(made).findings}
    assert found.isdisjoint({"pays-per-event", "missing-range", "unbounded", "jump", "unused-field"})
    heavier = term(name="heavier", weight=weights)(plain.__wrapped__)
    declared = reward(heavier, fields=(UNIT, Field("step", low=0)))
    assert "missing-range" not in {each.code for each in check(declared).findings}


def test_a_penalty_whose_weight_follows_a_schedule_is_still_one():
    @term(weight=exponential(-1, -0.1, over=10))
    def cost(x):
        return x - 0.5

    (finding,) = told(reward(cost), "wrong-sign")
    assert "its weight is exponential(-1, -0.1, over=10)" in finding.message


def test_a_lap_that_pays_only_late_in_training_is_not_proved_away():
    @term(weight=linear(0, 1, over=100))
    def up(prev, curr):
        return max(curr.x - prev.x, 0.0)

    made = reward(up)
    found = check(made)
    assert [each.code for each in found.findings if each.code == "loop-that-pays"] or any(
        each.code == "loop-that-pays" for each in found.undecided
    )


def test_shaping_under_a_gate_is_not_left_out_of_a_lap():
    @term(kind="shaping")
    def closer(prev, curr):
        return curr.x - prev.x

    def forward_only(prev, curr):
        return curr.x > prev.x

    assert not told(reward(closer), "loop-that-pays")
    assert told(reward(closer, gate=forward_only), "loop-that-pays")


def test_bounds_have_every_row():
    found = bounds(walking())
    assert found.values["fell"].low < 0
    assert (found.scores["gate"].low, found.scores["gate"].high) == (0.0, 1.0)
    assert (found.total.low, found.total.high) == (-2.5, 2.0)
