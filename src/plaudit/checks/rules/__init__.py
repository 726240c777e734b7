"""What `check` looks for: one module a family of rules, all of them together in `RULES`."""

from collections.abc import Mapping
from types import MappingProxyType

from plaudit.checks.rules import (
    actions,
    branches,
    clamps,
    composition,
    declared,
    ends,
    failures,
    goals,
    horizon,
    idle,
    lasting,
    loops,
    potential,
    preferences,
    terms,
    units,
    wanted,
)
from plaudit.checks.rules.registry import Rule, rules_of

FAMILIES = (
    loops,
    potential,
    lasting,
    ends,
    goals,
    idle,
    horizon,
    clamps,
    terms,
    composition,
    branches,
    actions,
    preferences,
    wanted,
    failures,
    units,
    declared,
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.code: rule for family in FAMILIES for rule in rules_of(family)})
"""Every rule by its code, in the order in which rules are listed and run."""
