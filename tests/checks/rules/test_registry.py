"""What a rule is given to work with, and that every rule has a severity, a reason and a page."""

import math
import re
from pathlib import Path

import pytest

from plaudit import Field
from plaudit.checks.finding import SEVERITIES
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules import RULES, list_all_rules, registry
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.solver import z3
from plaudit.checks.solver.solver import Solver
from support import pages
from support.written import reward_from

REWARD = reward_from("def f(x, y, z): return (x - y) + (y - z) + (z - x)", *(Field(n, low=0, high=1) for n in "xyz"))

SOLVER = Solver()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (12000.0, "12,000"),
        (-113.0, "-113"),
        (1e15, "1e+15"),
        (-0.0, "0"),
        (1e-7, "0.0000001"),
        (-4.9e-324, "0"),
        (5e226, "5e+226"),
        (math.inf, "inf"),
        (101187.34, "101,187"),
        (True, "1"),
    ],
)
def test_a_number_as_people_write_it(value, text):
    assert format_number(value) == text


def test_a_rough_span_is_kept_and_a_tight_one_asked_for_only_where_it_is_needed():
    context = CheckContext(RewardModel(REWARD), Solver())
    rough = context.span("total")
    assert not rough.exact
    assert context.span("total") is rough
    assert rough.low < 0 < rough.high
    assert (rough.least, rough.most) == pytest.approx((0, 0))
    if z3.is_available():
        tight = context.span("total", tight=True)
        assert (tight.low, tight.high) == pytest.approx((0, 0))
        assert context.span("total", tight=True) is tight
    exact = CheckContext(RewardModel(reward_from("def f(x): return x", Field("x", low=0, high=1))), Solver())
    assert exact.span("total", tight=True) is not None
    assert exact.span("total").exact


def context_of(code, solver=SOLVER):
    return CheckContext(RewardModel(REWARD), solver, RULES[code])


def test_a_finding_is_as_grave_as_its_rule_unless_told_otherwise():
    context = context_of("jump")
    usual = context.finding("f", "It jumps.", "Smooth it.")
    assert (usual.code, usual.severity) == ("jump", RULES["jump"].severity) == ("jump", "note")
    assert usual.place.text.startswith("def f(x, y, z)")
    other = context.finding("total", "It jumps.", "Smooth it.", severity="warning", code="zone-gap")
    assert (other.code, other.severity) == ("zone-gap", "warning")


def test_why_a_question_was_left_open(monkeypatch):
    context = context_of("jump")
    if z3.is_available():
        assert context.undecided("f", "whether").why == "whether: z3 ran out of time"
    assert context.undecided("f", "whether", reason="it rains").why == "whether: it rains"
    assert Solver(z3=False).explain_unknown() == "z3 is turned off"
    assert Solver(quick=True).explain_unknown() != "z3 is turned off"
    monkeypatch.setattr("plaudit.checks.solver.solver.is_available", lambda: False)
    assert context.undecided("f").why == "z3 is not installed: pip install 'plaudit[prove]'"


def test_every_rule_has_a_severity_a_reason_and_a_function_of_its_own_family():
    for code, each in RULES.items():
        assert each.code == code
        assert each.severity in SEVERITIES
        assert each.why.endswith(".")
        assert 20 < len(each.why) < 100
        assert each.find.__doc__.startswith("Find ")
    assert set(list_all_rules()) == set(registry._REGISTERED)


def test_a_code_has_one_rule():
    with pytest.raises(AssertionError, match="there are two rules 'jump'"):
        registry.rule("jump", severity="advice", why="Twice.")(lambda context: iter(()))


FOLDER = Path(__file__).parents[3] / "docs" / "reference" / "check-rules"


def test_every_rule_has_its_page_and_every_page_a_rule():
    found = {path.stem for path in FOLDER.glob("*.md")}
    assert found == set(RULES), (
        f"docs/reference/check-rules/ has no page of {set(RULES) - found} or one too many: {found - set(RULES)}"
    )


@pytest.mark.parametrize("code", RULES)
def test_a_page_says_what_why_and_what_to_do(code):
    page = (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}\n")
    headings = re.findall(r"^## (.+)$", page, flags=re.MULTILINE)
    assert headings == ["Example", "Why it matters", "Repair", "When to allow it"]
    assert 25 <= len(page.splitlines()) <= 90
    assert {"python", "console"} <= {block.language for block in pages.blocks(page)}


def test_the_reference_lists_every_rule():
    page = (FOLDER.parent / "rules.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(check-rules/(.+)\.md\)", page) == list(RULES), (
        "docs/reference/rules.md does not list these rules in this order"
    )
