"""Every rule in a list, or one of them explained."""

import json

import click

from plaudit.checks.rules import RULES, Rule


def print_rules(explain: str | None, *, as_json: bool) -> None:
    """Print all rules, or the one to `explain`."""
    rules = [rule for rule in RULES.values() if explain in (None, rule.code)]
    if as_json:
        click.echo(json.dumps([described(rule) for rule in rules], indent=2))
    elif explain is not None:
        _print_explained(rules[0])
    else:
        _print_listed(rules)


def described(rule: Rule) -> dict[str, str]:
    """Return a rule as plain data."""
    return {"code": rule.code, "severity": rule.severity, "why": rule.why, "page": page(rule)}


def page(rule: Rule) -> str:
    """Return where the documentation says more.

    >>> page(RULES["jump"])
    'docs/checks/jump.md'
    """
    return f"docs/checks/{rule.code}.md"


def _print_listed(rules: list[Rule]) -> None:
    from plaudit.cli.screen import Screen, table

    listing = table("rule", "severity", "why it matters")
    for rule in rules:
        listing.add_row(rule.code, rule.severity, rule.why)
    Screen().print(listing)


def _print_explained(rule: Rule) -> None:
    from rich.text import Text

    from plaudit.cli.screen import Screen

    screen = Screen()
    screen.print(Text.assemble((rule.code, "bold"), f"  {rule.severity}"))
    screen.print(rule.why)
    screen.print(f'\nWhere it is meant, say so: @term(allow={{"{rule.code}": "the reason"}}).', soft_wrap=True)
    screen.print(f"Examples and repairs: {page(rule)}", soft_wrap=True)
