"""What is declared: fields, knobs, ranges, facts, allowances, constants."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, Seen, Task, fact, term
from plaudit.checks.check import check
from plaudit.checks.rules import RULES
from support.asking import told, undecided
from support.strategies import load
from support.written import reward_from

UNIT = Field("x", low=0, high=1)

# -- ranges -----------------------------------------------------------------------------------------------------------


def test_every_end_that_nobody_declared_is_named():
    @term
    def pay(a, b, c, d, e, f, g):
        return a + b + c + d + (e == "u") + f + (0 if math.isinf(g) else g)

    fields = [
        Field("a"),
        Field("b", low=0),
        Field("c", high=0),
        Field("d", low=0, high=1),
        Field("e", values=("u", "v")),
        Field("f", flag=True),
        Field("g", low=0, infinite=True),
    ]
    (finding,) = told(Reward("r", version="1", terms=[pay], fields=fields), "missing-range")
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == "no range is declared for a (low and high), b (high), c (low)."


@pytest.mark.parametrize("parts", [{"values": (1, 2)}, {"low": 0, "high": 1}, {"low": 0, "infinite": True}])
def test_a_field_that_is_declared_whole_is_left_alone(parts):
    text = "def f(x): return 1 if math.isinf(x) else 0" if "infinite" in parts else "def f(x): return x"
    assert told(reward_from(text, Field("x", **parts)), "missing-range") == []


@pytest.mark.parametrize("seen", [{}, {"fields.x": Seen(900, 900)}], ids=["declared", "seen"])
def test_a_range_may_stand_in_the_task(seen):
    made = reward_from("def f(x): return x", Field("x", low=0))
    (finding,) = told(made.with_task(Task(fields=[Field("x", low=-1)])), "missing-range")
    assert finding.message == "no range is declared for x (high)."
    assert told(made.with_task(Task(fields=[Field("x", high=5)], seen=seen)), "missing-range") == []


# -- fields that cannot change the total ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["x + 0 * y", "x + y - y", "x + min(y, 5) * 0", "x if y >= 0 else 0", "x + (1 if y > 2 else 0)", "max(x, y - 2)"],
)
def test_a_field_that_is_read_in_vain_is_told(text):
    (finding,) = told(reward_from(f"def f(x, y): return {text}", UNIT, Field("y", low=0, high=1)), "unused-field")
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == "'y' is read but cannot change the total."


@pytest.mark.parametrize("text", ["x + y", "x * y", "x if y < 0.999 else 0", "x + 1e-6 * y", "max(x, y)"])
def test_a_field_that_matters_somewhere_is_left_alone(text):
    assert told(reward_from(f"def f(x, y): return {text}", UNIT, Field("y", low=0, high=1)), "unused-field") == []


def test_a_penalty_under_a_clamp_of_the_total_matters():
    @term
    def earned(x):
        return x

    @term(weight=-0.1)
    def spent(y):
        return y

    reward = Reward("r", version="1", terms=[earned, spent], fields=[UNIT, Field("y", low=0, high=1)], low=0.0)
    assert told(reward, "unused-field") == []


def test_both_ends_of_a_field_count_as_one():
    @term
    def gain(prev, curr, x):
        return x + curr.y + 0 * prev.y

    reward = Reward("r", version="1", terms=[gain], fields=[UNIT, Field("y", low=0, high=1)])
    assert told(reward, "unused-field") == []


def test_a_vector_counts_as_one():
    text = "def f(x, force): return x + force[0] + 0 * force[1]"
    assert told(reward_from(text, UNIT, Field("force", length=2, low=0, high=1)), "unused-field") == []
    text = "def f(x, force): return x + 0 * force[0] + 0 * force[1]"
    (finding,) = told(reward_from(text, UNIT, Field("force", length=2, low=0, high=1)), "unused-field")
    assert finding.message.startswith("'force' is read")


def test_a_field_that_is_clamped_away_is_told():
    @term(high=1)
    def big(x, y):
        return 2 + x + y

    @term
    def other(x):
        return x

    reward = Reward("r", version="1", terms=[big, other], fields=[UNIT, Field("y", low=0, high=1)])
    (finding,) = told(reward, "unused-field")
    assert finding.message.startswith("'y'")


def test_a_field_of_a_term_without_weight_is_recorded_on_purpose():
    @term(weight=0)
    def watched(y):
        return y

    @term
    def pay(x):
        return x

    reward = Reward("r", version="1", terms=[watched, pay], fields=[UNIT, Field("y", low=0, high=1)])
    assert told(reward, "unused-field") == []


def test_what_a_fact_fixes_cannot_change_the_total():
    @term
    def pay(x, y):
        return x + y

    @fact
    def still(y):
        return y == 0.5

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT, Field("y", low=0, high=1)], task=Task(facts=[still]))
    assert told(reward, "unused-field") == []  # it could, if the fact were another


def test_whether_a_field_matters_may_be_left_undecided():
    reward = reward_from("def f(x, y): return x + y - y", UNIT, Field("y", low=0, high=1))
    (why,) = undecided(reward, "unused-field", z3=False)
    assert why == "whether y can change the total: z3 is turned off"


# -- knobs ------------------------------------------------------------------------------------------------------------


def test_a_knob_that_no_expression_uses_is_told():
    @term
    def pay(x, *, scale=2.0, spare=3.0, strict=True):
        return scale * x

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT])
    found = told(reward, "unused-knob")
    assert [finding.term for finding in found] == ["pay", "pay"]
    assert found[0].message == "the knob 'pay.spare' changes nothing: its term does not use it."
    assert "'pay.strict'" in found[1].message


def test_weights_clamps_and_shared_parameters_are_used():
    @term(weight=0.5, low=-1, high=1)
    def pay(x, *, far):
        return x - far

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT], low=-1, high=1, shared={"far": 0.2})
    assert told(reward, "unused-knob") == []

    @term
    def idle(x, *, far):
        return x

    (finding,) = told(Reward("r", version="1", terms=[idle], fields=[UNIT], shared={"far": 0.2}), "unused-knob")
    assert (finding.term, finding.message) == ("total", "the knob 'far' changes nothing: its term does not use it.")


# -- constants that changed -------------------------------------------------------------------------------------------

MODULE = """
REACH = 2.0
STEPS = (1, 2, 3)
BIAS = float("nan")

def shape(x):
    return x * REACH

def pay(x):
    return shape(x) + STEPS[1] + (0 if BIAS > 1 else 1)
"""


def made_from(space):
    return Reward("r", version="1", terms=[term(space["pay"])], fields=[UNIT])


@pytest.fixture
def space():
    return load(MODULE)


def test_a_constant_that_was_changed_after_reading_is_told(space):
    reward = made_from(space)
    assert told(reward, "changed-since-read") == []
    space["STEPS"] = (1, 5, 3)
    (finding,) = told(reward, "changed-since-read")
    assert (finding.severity, finding.term) == ("warning", "pay")
    assert finding.message.startswith("STEPS was (1, 2, 3) when 'pay' was read and is (1, 5, 3) now")


def test_a_constant_of_a_helper_and_a_helper_itself_are_looked_at_too(space):
    reward = made_from(space)
    space["REACH"] = 3.0
    (finding,) = told(reward, "changed-since-read")
    assert finding.message.startswith("REACH was 2.0 when 'pay' was read and is 3.0 now")
    space["REACH"] = 2.0
    space["shape"] = lambda x: x
    (finding,) = told(reward, "changed-since-read")
    assert finding.message.startswith("shape was <function shape")


@pytest.mark.parametrize("same", [{"STEPS": (1, 2, 3)}, {"REACH": 2.0}, {"BIAS": float("nan")}])
def test_an_equal_constant_is_no_change(space, same):
    reward = made_from(space)
    space.update(same)
    assert told(reward, "changed-since-read") == []


@pytest.mark.parametrize("other", [{"REACH": True}, {"REACH": np.float64(2.5)}, {"STEPS": np.array([1, 2, 3])}])
def test_a_constant_of_another_type_is_one(space, other):
    reward = made_from(space)
    space.update(other)
    assert len(told(reward, "changed-since-read")) == 1


def test_a_constant_that_is_gone_or_a_reward_that_was_loaded_changes_nothing(space):
    reward = made_from(space)
    del space["REACH"]
    assert told(reward, "changed-since-read") == []
    loaded = Reward.from_json(reward.to_json())
    space["STEPS"] = ()
    assert told(loaded, "changed-since-read") == []


def test_a_loaded_reward_is_checked_for_the_rest():
    loaded = Reward.from_json(reward_from("def f(x, y): return x + 0 * y", Field("x"), Field("y")).to_json())
    report = check(loaded, only=["missing-range", "unused-field"])
    assert [finding.code for finding in report] == ["unused-field", "missing-range"]


CONTRADICTORY = "contradictory-facts"
SPEED = Field("speed", low=0, high=30)


@term
def drive(speed):
    return 1 if speed > 20 else 0


@fact
def fast(speed):
    return speed > 50


@fact
def moving(speed):
    return speed > 0


def fact_reward(*facts, **options):
    return Reward("r", version="1", terms=[drive], fields=[SPEED], task=Task(facts=facts), **options)


def test_a_fact_beyond_the_declared_range():
    (finding,) = told(fact_reward(moving, fast), CONTRADICTORY)
    assert (finding.severity, finding.term, finding.facts) == ("warning", "total", ("fast",))
    assert finding.message == (
        "no step within the declared ranges makes the fact 'fast' true, so anything could be proved about such steps."
    )
    assert finding.place is not None
    assert finding.place.text == "def fast(speed):"


def test_no_other_rule_is_asked():
    report = check(fact_reward(fast))
    assert [finding.code for finding in report] == [CONTRADICTORY]
    assert report.skipped == {code: "the facts contradict one another" for code in RULES if code != CONTRADICTORY}
    assert check(fact_reward(fast), only=["dead-term"]).skipped == {"dead-term": "the facts contradict one another"}
    assert not check(fact_reward(fast), ignore=[CONTRADICTORY]).findings


def test_it_can_be_allowed_and_still_nothing_else_is_asked():
    report = check(fact_reward(fast, allow={CONTRADICTORY: "the car comes next year"}))
    assert not report.findings
    assert [each.reason for each in report.suppressed] == ["the car comes next year"]
    assert "dead-term" in report.skipped


def test_facts_that_can_be_true_are_left_alone():
    assert told(fact_reward(), CONTRADICTORY) == []
    assert told(fact_reward(moving), CONTRADICTORY) == []
    assert CONTRADICTORY not in check(fact_reward(moving)).skipped


def test_whether_they_can_may_be_left_undecided():
    @term
    def add(a, b, c):
        return a + b + c

    @fact
    def third(a, b, c):
        return c == (a + b) / 3

    @fact
    def mixed(a, b, c):
        return c == 0.1 * a + 0.7 * b + 0.3

    fields = [Field(name, low=0, high=9) for name in "abc"]
    made = Reward("r", version="1", terms=[add], fields=fields, task=Task(facts=[third, mixed]))
    assert undecided(made, CONTRADICTORY, z3=False) == ["whether the facts can all be true: z3 is turned off"]
    assert "dead-term" not in check(made, z3=False).skipped


UNUSED_ALLOW = "unused-allow"


@term(weight=-1)
def effort(x):
    return x - 0.5


@term(weight=-1, allow={"wrong-sign": "downhill pays"})
def slope(x):
    return x - 0.5


@term(weight=-1, allow={"wrong-sign": "it used to pay"})
def level(x):
    return x


def allowing_reward(*terms, **options):
    return Reward("r", version="1", terms=terms, fields=[UNIT], **options)


def stale(made, **options):
    report = check(made, **options)
    return [(finding.term, finding.message) for finding in report.by_code(UNUSED_ALLOW)]


def test_a_term_that_was_repaired():
    made = allowing_reward(level)
    assert stale(made) == [("level", "'level' allows wrong-sign ('it used to pay'), but there is nothing to allow.")]
    (finding,) = check(made).by_code(UNUSED_ALLOW)
    assert finding.severity == "advice"
    assert finding.place is not None


def test_a_reward_that_was_repaired():
    made = allowing_reward(level, allow={"zone-gap": "a gap is meant"})
    told = ("total", "the reward allows zone-gap ('a gap is meant'), but there is nothing to allow.")
    assert told in stale(made)


def test_what_allows_something_is_not_stale():
    assert stale(allowing_reward(slope)) == []
    assert stale(allowing_reward(effort, allow={"wrong-sign": "downhill pays"})) == []


def test_a_reason_of_the_reward_that_its_term_gives_already():
    made = allowing_reward(slope, allow={"wrong-sign": "downhill pays"})
    assert [term for term, _ in stale(made)] == ["total"]


def test_a_reason_of_one_term_is_not_used_by_another():
    assert [term for term, _ in stale(allowing_reward(effort, level))] == ["level"]


def test_a_rule_that_did_not_run_says_nothing():
    assert stale(allowing_reward(level), ignore=["wrong-sign"]) == []
    assert stale(allowing_reward(level), only=[UNUSED_ALLOW]) == []
    assert stale(allowing_reward(level), only=[UNUSED_ALLOW, "wrong-sign"]) != []
    assert stale(allowing_reward(effort, allow={"outcome-order": "no matter"})) == []
    assert stale(allowing_reward(level), timeout=1e-9) == []


def test_a_rule_that_left_something_undecided_says_nothing():
    @term(kind="shaping")
    def shaped(prev, curr):
        return (curr.x - prev.x) + (prev.y - curr.y)

    fields = [UNIT, Field("y", low=0, high=1)]
    made = Reward("r", version="1", terms=[shaped], fields=fields, allow={"not-potential-based": "soon"})
    report = check(made, z3=False)
    assert "not-potential-based" in {each.code for each in report.undecided}
    assert not report.by_code(UNUSED_ALLOW)


def test_a_stale_reason_can_itself_be_allowed():
    report = check(allowing_reward(level, allow={UNUSED_ALLOW: "kept for the next release"}))
    assert not report.by_code(UNUSED_ALLOW)
    assert [each.reason for each in report.suppressed] == ["kept for the next release"]
    assert stale(allowing_reward(effort, allow={UNUSED_ALLOW: "kept for the next release"})) == []
