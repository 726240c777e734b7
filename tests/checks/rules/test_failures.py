"""Totals without bound, and rows that cannot be scored."""

import math

import pytest

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.check import check
from support.asking import really, told, undecided
from support.written import reward_from

UNIT = Field("x", low=0, high=1)
BOTH = ("may-divide-by-zero", "not-a-number")


def failing(reward, **options):
    """Return what both rules find, as pairs of code and message."""
    report = check(reward, only=BOTH, **options)
    assert not report.undecided
    return list(report.findings)


@pytest.mark.parametrize("text", ["1 / x", "1 // x", "1 % x", "3 / (x - 0.5)", "1 / (x * x - x)", "1 / math.floor(x)"])
def test_a_division_by_zero_is_told_with_a_row_that_fails(text):
    reward = reward_from(f"def f(x): return {text}", UNIT)
    (finding,) = failing(reward)
    assert (finding.code, finding.severity, finding.term) == ("may-divide-by-zero", "warning", "f")
    assert finding.message == "'f' divides by zero for inputs within the declared ranges."
    assert really(reward, finding) == [None]
    assert finding.witness[0].note == "cannot be scored"
    assert finding.place.line == 2
    assert text in finding.place.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("math.log(x)", "takes a logarithm outside its domain"),
        ("math.log1p(x - 1)", "takes a logarithm outside its domain"),
        ("math.sqrt(x - 0.1)", "takes a square root outside its domain"),
        ("math.exp(1000 * x)", "takes an exponential beyond every float"),
        ("(1, 2, 3)[x]", "indexes a table of 3 outside it"),
        ("(1, 2, 3)[round(9 * x)]", "indexes a table of 3 outside it"),
    ],
)
def test_an_operation_outside_its_domain_is_told_with_a_row_that_fails(text, why):
    reward = reward_from(f"def f(x): return {text}", UNIT)
    (finding,) = failing(reward)
    assert (finding.code, finding.severity) == ("not-a-number", "warning")
    assert finding.message == f"'f' {why} for inputs within the declared ranges."
    assert really(reward, finding) == [None]


@pytest.mark.parametrize(
    "text",
    [
        "1 / x if x else 0",
        "1 / x if x > 0 else 0",
        "1 / (x + 1e-9)",
        "math.log(x) if x > 0.5 else 0",
        "math.sqrt(x)",
        "math.log1p(x)",
        "math.exp(700 * x)",
        "(1, 2)[round(x)]",
        "(1, 2)[x > 0.5]",
        "7 // (x - 2)",
    ],
)
def test_what_is_guarded_or_out_of_reach_is_left_alone(text):
    assert failing(reward_from(f"def f(x): return {text}", UNIT)) == []


def test_a_place_is_told_once():
    reward = reward_from("def f(x, y): return 1 / x + 2 / x + 1 / y", UNIT, Field("y", low=0, high=1))
    assert [finding.code for finding in failing(reward)] == ["may-divide-by-zero"]


def test_a_fact_can_keep_a_divisor_from_zero():
    @term
    def ratio(x, y):
        return x / y

    @fact
    def positive(y):
        return y > 0.1

    fields = [UNIT, Field("y", low=0, high=1)]
    (finding,) = failing(Reward("r", version="1", terms=[ratio], fields=fields))
    assert finding.witness[0].inputs["y"] == 0
    assert failing(Reward("r", version="1", terms=[ratio], fields=fields, task=Task(facts=[positive]))) == []


def test_a_divisor_that_takes_two_inputs():
    text = "def f(x, y): return 1 / (x - y)"
    reward = reward_from(text, UNIT, Field("y", low=0.5, high=2))
    (finding,) = failing(reward)
    assert really(reward, finding) == [None]
    assert failing(reward_from(text, UNIT, Field("y", low=1.5, high=2))) == []


def test_an_end_that_cannot_be_scored_counts_only_at_the_end():
    reward = reward_from("def f(x): return 1 / x", UNIT, terminal=True)
    (finding,) = failing(reward)
    assert finding.witness[0].inputs == {"x": 0.0, "terminal": True}
    assert really(reward, finding) == [None]


def test_infinity_that_a_field_allows_and_no_operation_takes():
    field = Field("x", low=0, infinite=True)
    reward = reward_from("def f(x): return math.floor(x)", field)
    (finding,) = failing(reward)
    assert finding.witness[0].inputs == {"x": math.inf}
    reward = reward_from("def f(x): return -x", field)
    (finding,) = failing(reward)
    assert finding.message == "'total' adds up to a number that is not finite for inputs within the declared ranges."
    assert finding.witness[0].inputs == {"x": math.inf}
    assert really(reward, finding) == [None]
    for safe in ("min(x, 9)", "0 if math.isinf(x) else -x", "math.exp(-x)", "1 / (1 + x)"):
        assert failing(reward_from(f"def f(x): return {safe}", field)) == []


def test_numbers_without_range_fail_in_numbers_people_can_read():
    reward = reward_from("def f(x, y): return math.sqrt(x) / y", Field("x"), Field("y"))
    (finding,) = failing(reward)
    assert really(reward, finding) == [None]
    assert all(abs(value) <= 1e6 for value in finding.witness[0].inputs.values())


def test_a_loaded_reward_fails_in_the_same_place():
    reward = Reward.from_json(reward_from("def f(x): return 1 / x", UNIT).to_json())
    (finding,) = failing(reward)
    assert really(reward, finding) == [None]


def test_what_is_not_decided_is_said():
    text = "def f(x, y): return 1 / (3 * x * y - 2 * x * y - y * x + 0.25)"
    reward = reward_from(text, UNIT, Field("y", low=0, high=1))
    (why,) = undecided(reward, "may-divide-by-zero", z3=False)
    assert why == "whether it ever divides by zero: z3 is turned off"
    assert told(reward, "may-divide-by-zero") == []


# -- totals without bound ---------------------------------------------------------------------------------------------


def test_a_total_that_a_missing_range_leaves_open_is_advice():
    reward = reward_from("def f(x): return -x", Field("x", low=0))
    (finding,) = told(reward, "unbounded")
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == ("the total has no lower bound, because x has no declared range on one side.")
    assert really(reward, finding)[0] < -1000


def test_both_ends_are_told_and_every_field_named():
    reward = reward_from("def f(x, y): return x * y", Field("x"), Field("y", high=0))
    high, low = told(reward, "unbounded")
    assert "no upper bound, because x, y have no declared range" in high.message
    assert "no lower bound" in low.message


def test_a_total_that_explodes_inside_declared_ranges_is_a_warning():
    (finding,) = told(reward_from("def f(x): return 1 / x if x > 0 else 0", UNIT), "unbounded")
    assert finding.severity == "warning"
    assert finding.message == "the total has no upper bound, although every field has a declared range."


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("x", {"low": -1, "high": 1}),
        ("math.tanh(x)", {}),
        ("min(max(x, -1), 1)", {}),
        ("1 if x > 0 else 0", {}),
        ("1 / (1 + x * x)", {}),
        ("x - x", {}),
    ],
)
def test_a_total_that_the_expression_keeps_finite_is_left_alone(text, options):
    assert told(reward_from(f"def f(x): return {text}", Field("x"), **options), "unbounded") == []


def test_a_clamped_total_is_bounded():
    @term
    def pay(x):
        return x

    fields = [Field("x")]
    assert told(Reward("r", version="1", terms=[pay], fields=fields, low=-1, high=1), "unbounded") == []
    (finding,) = told(Reward("r", version="1", terms=[pay], fields=fields, high=1), "unbounded")
    assert "no lower bound" in finding.message
