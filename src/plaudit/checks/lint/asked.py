"""Which function answers for which rule."""

from collections.abc import Callable, Iterator, Mapping

from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.lint import (
    actions,
    branches,
    clamps,
    declared,
    dimensions,
    events,
    facts,
    failing,
    giving_up,
    loops,
    outcomes,
    potential,
    preferences,
    staying,
    terms,
    zones,
)

Findings = Iterator[Finding | Undecided]

ASKED: Mapping[tuple[str, ...], Callable[[Examination], Findings]] = {
    ("contradictory-facts",): facts.contradictory_facts,
    ("loop-that-pays",): loops.loop_that_pays,
    ("not-potential-based",): potential.not_potential_based,
    ("pays-for-staying",): staying.pays_for_staying,
    ("pays-per-event",): events.pays_per_event,
    ("cheap-end",): giving_up.cheap_end,
    ("saturated-clamp",): clamps.saturated_clamp,
    ("clamp-never-binds",): clamps.clamp_never_binds,
    ("dead-term",): terms.dead_term,
    ("dominated-term",): terms.dominated_term,
    ("wrong-sign",): terms.wrong_sign,
    ("unreachable-branch",): branches.unreachable_branch,
    ("zone-overlap",): branches.zone_overlap,
    ("zone-gap",): zones.zone_gap,
    ("jump",): zones.jump,
    ("dominated-action",): actions.dominated_action,
    ("order-inversion",): preferences.order_inversion,
    ("unbounded",): failing.unbounded,
    ("may-divide-by-zero", "not-a-number"): failing.cannot_be_scored,
    ("unit-mismatch",): dimensions.unit_mismatch,
    ("unused-field",): declared.unused_field,
    ("unused-knob",): declared.unused_knob,
    ("missing-range",): declared.missing_range,
    ("changed-since-read",): declared.changed_since_read,
}
"""The rules that a reward alone is asked about."""

ABOUT_EPISODES = {"outcome-order": outcomes.outcome_order, "risk-tolerance": outcomes.risk_tolerance}
"""The rules that need whole episodes."""
