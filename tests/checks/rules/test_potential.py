"""Whether shaping is potential-based."""

import pytest

from plaudit import Field, Reward, Task, term
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.potential import classify_shaping_terms, find_potential_residue
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.solver.question import Impossible, Witness
from plaudit.checks.solver.solver import Solver
from plaudit.checks.solver.z3 import is_available
from support.asking import really, told, undecided
from support.strategies import load

proving = pytest.mark.skipif(not is_available(), reason="z3 is not installed")
STATE = Field("x", low=0, high=10)


def shaping(text, *, fields=(STATE,), kind="shaping", weight=1.0, **task):
    """Return a reward of one term that gives `text` of `prev` and `curr`, and perhaps more."""
    more = [field.name for field in fields if f"prev.{field.name}" not in text and f"curr.{field.name}" not in text]
    ends = [end for end in ("prev", "curr") if f"{end}." in text]
    made = load(f"import math\ndef shaped({', '.join([*ends, *more])}):\n    return {text}\n")["shaped"]
    return Reward("r", version="1", terms=[term(kind=kind, weight=weight)(made)], fields=fields, task=Task(**task))


@pytest.mark.parametrize(
    ("text", "discount"),
    [
        ("curr.x - prev.x", None),
        ("prev.x - curr.x", 1.0),
        ("curr.x * curr.x - prev.x * prev.x", None),
        ("abs(curr.x - 3) - abs(prev.x - 3)", None),
        ("(1 if curr.x > 5 else 0) - (1 if prev.x > 5 else 0)", None),
        ("min(curr.x, 5) - min(prev.x, 5)", None),
        ("0.99 * curr.x - prev.x", 0.99),
        ("0.5 * -curr.x * curr.x + prev.x * prev.x", 0.5),
        ("0.9 * math.sqrt(curr.x) - math.sqrt(prev.x)", 0.9),
        ("math.exp(-curr.x) - math.exp(-prev.x)", None),
    ],
)
@proving
def test_a_difference_of_potentials_is_left_alone(text, discount):
    assert told(shaping(text, discount=discount), "not-potential-based") == []


@pytest.mark.parametrize(
    ("text", "discount"),
    [
        ("max(0, curr.x - prev.x)", None),
        ("1 if curr.x > prev.x else 0", None),
        ("abs(curr.x - prev.x)", None),
        ("0.99 * curr.x - prev.x", None),
        ("curr.x - prev.x", 0.99),
        ("0.9 * curr.x - prev.x", 0.99),
        ("curr.x - 0.5 * prev.x", None),
        ("curr.x * prev.x", None),
        ("curr.x - prev.x + 0.1", None),
    ],
)
def test_what_does_not_telescope_is_told_with_steps_that_show_it(text, discount):
    reward = shaping(text, discount=discount)
    (finding,) = told(reward, "not-potential-based")
    assert (finding.severity, finding.term) == ("note", "shaped")
    steps = finding.witness
    totals = really(reward, finding)
    assert len(steps) == 3
    if discount is None:
        assert finding.message.endswith("a 3-step cycle does not add up to 0.")
        states = [(step.inputs["prev.x"], step.inputs["curr.x"]) for step in steps]
        assert [after for _, after in states] == [before for before, _ in (*states[1:], states[0])]
        assert abs(sum(totals)) > 1e-9
    else:
        assert (
            f"it is not {discount} times a potential after the step minus the same potential before it"
            in finding.message
        )
        moved, here, there = totals
        assert abs(moved * (discount - 1) - (discount * there - here)) > 1e-9


def test_only_what_is_declared_shaping_is_told():
    assert told(shaping("max(0, curr.x - prev.x)", kind=None), "not-potential-based") == []
    assert told(shaping("max(0, curr.x - prev.x)", kind="bonus"), "not-potential-based") == []


def test_a_weight_does_not_matter_and_a_clamp_does():
    assert told(shaping("curr.x - prev.x", weight=-0.3), "not-potential-based") == []
    assert told(shaping("0.99 * curr.x - prev.x", weight=5, discount=0.99), "not-potential-based") == []


@proving
def test_events_are_at_rest_and_actions_free():
    bumped = Field("bumped", flag=True)
    assert told(shaping("curr.x - prev.x - 5 * bumped", fields=(STATE, bumped)), "not-potential-based") == []
    made = shaping("curr.x - prev.x - 5 * push", fields=(STATE, Field("push", values=(0, 1))), actions=["push"])
    (finding,) = told(made, "not-potential-based")
    assert any(step.inputs["push"] == 1 for step in finding.witness)


@pytest.mark.parametrize("fields", [(Field("x"),), (Field("x", low=0),), (Field("x", low=0, high=1e9),)])
@proving
def test_without_ranges_rounding_is_no_witness(fields):
    assert told(shaping("curr.x - prev.x", fields=fields), "not-potential-based") == []
    assert told(shaping("0.99 * curr.x - prev.x", fields=fields, discount=0.99), "not-potential-based") == []
    (finding,) = told(shaping("max(0, curr.x - prev.x)", fields=fields), "not-potential-based")
    assert all(step.total is not None for step in finding.witness)


@proving
def test_several_fields_categories_and_vectors_make_up_a_state():
    mood = Field("mood", values=("calm", "wild"))
    text = '(1 if curr.mood == "calm" else curr.x) - (1 if prev.mood == "calm" else prev.x)'
    assert told(shaping(text, fields=(STATE, mood)), "not-potential-based") == []
    (finding,) = told(shaping("1 if curr.mood != prev.mood else 0", fields=(mood,)), "not-potential-based")
    assert len({step.inputs["prev.mood"] for step in finding.witness}) == 2
    force = Field("force", length=2, low=0, high=1)
    text = "sum(curr.force) - sum(prev.force)"
    assert told(shaping(text, fields=(force,)), "not-potential-based") == []
    text = "max(0, curr.force[0] - prev.force[0])"
    assert len(told(shaping(text, fields=(force,)), "not-potential-based")) == 1


def test_a_field_that_never_returns_leaves_nothing_to_decide():
    assert told(shaping("max(0, curr.x - prev.x)", monotone={"x": "up"}), "not-potential-based") == []


def test_a_step_that_cannot_happen_is_no_witness():
    text = "curr.x - prev.x if abs(curr.x - prev.x) <= 1 else 7"
    assert len(told(shaping(text), "not-potential-based")) == 1
    if is_available():
        assert told(shaping(text, max_change={"x": 1}), "not-potential-based") == []


def test_terms_that_only_read_one_end_are_not_shaping_of_a_step():
    context = CheckContext(RewardModel(shaping("curr.x", kind=None)), Solver())
    assert classify_shaping_terms(context) == {}


@proving
def test_what_is_known_of_a_term():
    for text, answer in (("curr.x - prev.x", Impossible), ("max(0, curr.x - prev.x)", Witness)):
        context = CheckContext(RewardModel(shaping(text)), Solver())
        assert isinstance(find_potential_residue(context, "shaped"), answer)


def test_what_is_not_decided_is_said():
    text = "math.tanh(curr.x - 5) - math.tanh(prev.x - 5) + (0 if curr.x * prev.x >= 0 else 1)"
    (why,) = undecided(shaping(text), "not-potential-based", z3=False)
    assert why == "whether it is potential-based: z3 is turned off"
