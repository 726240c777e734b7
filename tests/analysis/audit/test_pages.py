"""The pages of the rules that need a history: each is there, and says what a reader looks for."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from plaudit.analysis import Thresholds
from plaudit.analysis.audit.audit import HISTORY_RULES
from plaudit.checks.finding import SEVERITIES
from plaudit.checks.rules import RULES, list_all_rules
from support import pages

FOLDER = Path(__file__).parents[3] / "docs" / "reference" / "audit-rules"
PAGE = FOLDER.parents[1] / "how-to" / "audit-episodes.md"
TABLE = FOLDER.parent / "rules.md"


def test_every_rule_has_a_severity_a_reason_and_its_page():
    assert {path.stem for path in FOLDER.glob("*.md")} == set(HISTORY_RULES)
    assert not RULES.keys() & HISTORY_RULES.keys()
    assert list(list_all_rules()) == [*RULES, *HISTORY_RULES]
    for code, rule in HISTORY_RULES.items():
        assert rule.code == code
        assert rule.severity in SEVERITIES
        assert rule.why.endswith(".")
        assert 20 < len(rule.why) < 100


@pytest.mark.parametrize("code", HISTORY_RULES)
def test_a_page_shows_its_finding_and_says_when_why_and_what_to_do(code):
    page = (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}\n")
    headings = re.findall(r"^## (.+)$", page, flags=re.MULTILINE)
    assert headings == ["Example", "When it reports", "Why it matters", "Repair", "When to allow it"]
    assert 25 <= len(page.splitlines()) <= 90
    assert {"python", "text"} <= {block.language for block in pages.blocks(page)}
    named = set(re.findall(r"`([a-z_]+)=[\d.]+`", page))
    assert named <= {each.name for each in fields(Thresholds)}
    for name, value in re.findall(r"`([a-z_]+)=([\d.]+)`", page):
        assert getattr(Thresholds(), name) == float(value)


def test_the_page_on_audits_links_to_every_rule_and_names_every_threshold():
    table = TABLE.read_text(encoding="utf-8")
    assert re.findall(r"^\| \[.+\]\(audit-rules/(.+)\.md\)", table, flags=re.MULTILINE) == list(HISTORY_RULES)
    listed = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [(name, float(value)) for name, value in listed] == [
        (each.name, getattr(Thresholds(), each.name)) for each in fields(Thresholds)
    ]
