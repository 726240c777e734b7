"""Clamps that bind nearly everywhere, and clamps that never do."""

import math

import pytest

from plaudit import Field, Reward, Task, term
from support.asking import really, told, undecided
from support.written import reward_from

WIDE = Field("x", low=0, high=100)


# -- a clamp that binds nearly everywhere -----------------------------------------------------------------------------


def test_a_cap_that_is_reached_at_once_is_told_with_the_place():
    reward = reward_from("def f(x): return x", WIDE, high=5)
    (finding,) = told(reward, "saturated-clamp")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert finding.message == (
        "'f' is stuck at its cap of 5 for x from 5 (declared 0 to 100): on 95% of that range, changing x changes nothing."
    )
    assert [step.inputs["x"] for step in finding.witness] == [pytest.approx(5), 100]
    assert really(reward, finding) == [5, 5]


def test_a_floor_is_told_as_well():
    reward = reward_from("def f(x): return x - 100", WIDE, low=-4)
    (finding,) = told(reward, "saturated-clamp")
    assert "stuck at its floor of -4 for x up to 96 (declared 0 to 100)" in finding.message
    assert really(reward, finding) == [-4, -4]


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("x", {"high": 11}),  # on 89 %
        ("x", {"high": 100}),
        ("x", {"low": 0}),
        ("1.0 if x > 5 else 0.0", {"high": 1}),  # the score is no more than that by itself
        ("min(x, 5.0)", {"high": 5}),
        ("max(x, 95.0)", {"low": 95}),
        ("2.0 if x > 5 else 0.0", {"high": 1}),  # it would say no more without the clamp
    ],
)
def test_a_clamp_that_leaves_the_score_its_say_is_left_alone(text, limits):
    assert told(reward_from(f"def f(x): return {text}", WIDE, **limits), "saturated-clamp") == []


@pytest.mark.parametrize("parts", [{}, {"low": 0}, {"high": 100}, {"values": tuple(range(20))}])
def test_without_a_declared_range_there_is_no_share_of_it(parts):
    assert told(reward_from("def f(x): return abs(x)", Field("x", **parts), high=1), "saturated-clamp") == []


def test_all_other_inputs_are_at_rest():
    text = """
        def f(x, mood, lit):
            return x if mood == "calm" and not lit else 0
    """
    fields = [WIDE, Field("mood", values=("calm", "wild")), Field("lit", flag=True)]
    reward = reward_from(text, *fields, high=5)
    (finding,) = told(reward, "saturated-clamp")
    assert finding.witness[0].inputs == {"x": pytest.approx(5), "mood": "calm", "lit": False}
    assert really(reward, finding) == [5, 5]
    assert told(reward.with_task(Task(idle={"mood": "wild"})), "saturated-clamp") == []


def test_a_vector_is_told_of_once():
    torque = Field("torque", length=6, low=-50, high=50)
    reward = reward_from("def f(torque): return sum(x * x for x in torque)", torque, high=1)
    (finding,) = told(reward, "saturated-clamp")
    assert "for torque[0]" in finding.message
    assert really(reward, finding) == [pytest.approx(1), 1]


def test_a_terminal_term_is_looked_at_at_the_end():
    reward = reward_from("def f(x): return x", WIDE, high=5, terminal=True)
    (finding,) = told(reward, "saturated-clamp")
    assert really(reward, finding) == [5, 5]


def test_rows_that_cannot_be_scored_bind_nothing():
    reward = reward_from("def f(x): return math.sqrt(x - 95)", WIDE, high=0.01)
    assert told(reward, "saturated-clamp") == []


def test_with_other_knobs_the_clamp_may_be_all_right():
    reward = reward_from("def f(x, *, scale=1.0): return scale * x", WIDE, high=5)
    assert told(reward, "saturated-clamp")
    assert told(reward.with_params(f={"scale": 0.05}), "saturated-clamp") == []
    assert told(reward.with_params({"f.high": 50.0}), "saturated-clamp") == []


# -- a clamp that never binds -----------------------------------------------------------------------------------------


def test_a_clamp_out_of_reach_is_told_with_what_is_reached():
    reward = reward_from("def f(x): return x / 100", WIDE, low=-2, high=2)
    (finding,) = told(reward, "clamp-never-binds")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert finding.message == "the clamp of 'f' to [-2, 2] never binds: the value always lies in [0, 1]."
    assert really(reward, finding) == [0, 1]
    assert [step.note for step in finding.witness] == ["the lowest", "the highest"]


def test_the_clamp_of_the_total_is_looked_at_as_well():
    @term(weight=-0.5)
    def cost(x):
        return x

    fields = [Field("x", low=0, high=1)]
    (finding,) = told(Reward("r", version="1", terms=[cost], fields=fields, low=-1, high=1), "clamp-never-binds")
    assert finding.term == "total"
    assert finding.message == "the clamp of the total to [-1, 1] never binds: the value always lies in [-0.5, 0]."
    (finding,) = told(Reward("r", version="1", terms=[cost], fields=fields, high=1), "clamp-never-binds")
    assert "to [-inf, 1]" in finding.message


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("x", {"high": 99}),
        ("x", {"low": 1}),
        ("x", {"low": -5, "high": 99}),  # one side protects
        ("x - 50", {"low": 0}),
    ],
)
def test_a_clamp_that_can_bind_is_left_alone(text, limits):
    assert told(reward_from(f"def f(x): return {text}", WIDE, **limits), "clamp-never-binds") == []


@pytest.mark.parametrize("field", [Field("x"), Field("x", low=0), Field("x", low=0, infinite=True)])
def test_a_clamp_of_what_has_no_bound_is_left_alone(field):
    text = "def f(x): return -7 if math.isinf(x) else x" if field.infinite else "def f(x): return x"
    assert told(reward_from(text, field, high=1e12), "clamp-never-binds") == []


def test_z3_sees_through_inputs_that_go_together():
    reward = reward_from("def f(x): return 3 * x - 2 * x", Field("x", low=0, high=1), high=1.5)
    (finding,) = told(reward, "clamp-never-binds")
    assert "always lies in [0, 1]" in finding.message


def test_facts_can_put_a_clamp_out_of_reach():
    @term(high=10)
    def speed(prev, curr):
        return curr.x - prev.x

    free = Reward("r", version="1", terms=[speed], fields=[WIDE])
    assert told(free, "clamp-never-binds") == []
    (finding,) = told(free.with_task(Task(max_change={"x": 3})), "clamp-never-binds")
    assert finding.facts == ("x changes by at most 3 in a step",)


def test_a_loaded_reward_has_clamps_too():
    reward = Reward.from_json(reward_from("def f(x): return x / 100", WIDE, low=-2, high=2).to_json())
    (finding,) = told(reward, "clamp-never-binds")
    assert finding.place is None
    assert math.isfinite(finding.witness[0].total)


def test_whether_a_clamp_ever_binds_may_be_left_undecided():
    fields = [Field(name, low=0, high=1) for name in "xyz"]
    reward = reward_from("def f(x, y, z): return (x - y) + (y - z) + (z - x)", *fields, high=0.5)
    (why,) = undecided(reward, "clamp-never-binds", z3=False)
    assert why == "whether the clamp of 'f' ever binds: z3 is turned off"
