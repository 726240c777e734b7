"""The rules of `check`: one module per family, all of them in `RULES`."""

from collections.abc import Mapping

from plaudit.checks.rules import (
    actions,
    aside,
    branches,
    clamps,
    declared,
    ends,
    events,
    failures,
    goals,
    lasting,
    loops,
    potential,
    preferences,
    rivals,
    terms,
    units,
    wanted,
)
from plaudit.checks.rules.registry import Rule, collect_rules
from plaudit.entry_points import import_target

RULES: Mapping[str, Rule] = collect_rules(
    loops,
    potential,
    lasting,
    events,
    ends,
    goals,
    rivals,
    aside,
    clamps,
    terms,
    branches,
    actions,
    preferences,
    wanted,
    failures,
    units,
    declared,
)
"""Every rule of `check` by its code, in the order in which rules are listed and run."""


def list_history_rules() -> Mapping[str, Rule]:
    """Return the rules of audits by their codes; audits build on checks, so here they are known by name only."""
    found: Mapping[str, Rule] = import_target("plaudit.analysis.audit.audit:HISTORY_RULES")
    return found


def list_all_rules() -> Mapping[str, Rule]:
    """Return every rule by its code, those of audits last."""
    return {**RULES, **list_history_rules()}


def find_rule(code: str) -> Rule:
    """Return the rule of a finding."""
    return RULES.get(code) or list_history_rules()[code]
