"""Every rule has its page, and every page a rule."""

import re
from pathlib import Path

import pytest

import pages
from plaudit.checks.rules import RULES

FOLDER = Path(__file__).parent.parent.parent / "docs" / "checks"


def test_every_rule_has_its_page_and_every_page_a_rule():
    assert {path.stem for path in FOLDER.glob("*.md")} == set(RULES)


@pytest.mark.parametrize("code", RULES)
def test_a_page_says_what_why_and_what_to_do(code):
    page = (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}\n")
    headings = re.findall(r"^## (.+)$", page, flags=re.MULTILINE)
    assert headings == ["Example", "Why it matters", "Repair", "When to allow it"]
    assert 25 <= len(page.splitlines()) <= 90
    assert {"python", "console"} <= {block.language for block in pages.blocks(page)}


def test_the_page_on_checking_links_to_every_rule():
    page = (FOLDER.parent / "checks.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(checks/(.+)\.md\)", page) == list(RULES)
