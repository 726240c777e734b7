"""What is declared: ranges that are missing, fields and knobs without effect, constants that changed."""

import math

import numpy as np
import pytest

from asking import told, undecided
from plaudit import Field, Reward, fact, term
from plaudit.checks.check import check
from strategies import load
from written import reward_from

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


# -- fields that cannot change the total ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["x + 0 * y", "x + y - y", "x + min(y, 5) * 0", "x if y >= 0 else 0", "x + (1 if y > 2 else 0)", "max(x, y - 2)"],
)
def test_a_field_that_is_read_in_vain_is_told(text):
    (finding,) = told(reward_from(f"def f(x, y): return {text}", UNIT, Field("y", low=0, high=1)), "unused-field")
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == "'y' is read and cannot change the total."


@pytest.mark.parametrize("text", ["x + y", "x * y", "x if y < 0.999 else 0", "x + 1e-6 * y", "max(x, y)"])
def test_a_field_that_matters_somewhere_is_left_alone(text):
    assert told(reward_from(f"def f(x, y): return {text}", UNIT, Field("y", low=0, high=1)), "unused-field") == []


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

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT, Field("y", low=0, high=1)], facts=[still])
    assert told(reward, "unused-field") == []  # it could, if the fact were another


def test_whether_a_field_matters_may_be_left_undecided():
    reward = reward_from("def f(x, y): return x + y - y", UNIT, Field("y", low=0, high=1))
    (why,) = undecided(reward, "unused-field", z3=False)
    assert why == "whether y can change the total: z3 was not to be used"


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

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT], low=-1, high=1, params={"far": 0.2})
    assert told(reward, "unused-knob") == []

    @term
    def idle(x, *, far):
        return x

    (finding,) = told(Reward("r", version="1", terms=[idle], fields=[UNIT], params={"far": 0.2}), "unused-knob")
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
