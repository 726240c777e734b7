"""Rewards that the length of a text explains."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.rollouts.ranking import (
    Association,
    correlate_linearly,
    correlate_within,
    estimate_variance_within,
    refine,
)
from plaudit.analysis.audit.rollouts.table import Flags, RolloutHistory, RolloutTable
from plaudit.analysis.audit.steps import Numbers, Positions
from plaudit.checks.finding import Finding

EXPLAINED = 0.5
"""The share of the variance within groups that length must explain."""
ERRORS = 4.5
"""How many standard errors its correlation must be from 0: over a dozen terms, one false alarm in ten thousand runs."""
SAME = 0.97
"""A count whose ranks within groups correlate so with those of length measures length."""
FOLLOWS = 0.98
"""A flag that is true for the longer of two completions this often follows length, and does not explain it."""
VARIES = 20.0
"""Lengths must differ within groups by this many characters (standard deviation): a form adds some, too."""
LEAST_PAIRS = 50
"""Pairs of completions from which it can be told what a flag follows."""
_ABOUT_LENGTH = re.compile(r"(^|_)(length|len|words|word_count|tokens|characters|chars|sentences|lines)(_|$)")


@dataclass(frozen=True)
class RolloutLengths(Detector):
    """How rewards follow the length of texts."""

    history: RolloutHistory


@history_rule("length-explains", severity="warning", why="A policy that is paid by length learns length, not answers.")
def find_length(seen: RolloutLengths, context: AuditContext) -> Iterator[Finding]:
    """Find that length explains the total, or a term that is not about length, within groups."""
    table = seen.history.take(texts=True)
    if table is None:
        return
    rows = table.has_text & table.several[table.groups]
    groups = table.groups[rows]
    lengths = {name: column[rows] for name, column in table.lengths.items()}
    lengths = {name: column for name, column in lengths.items() if _vary(column, groups)}
    inputs = {name: column[rows] for name, column in table.inputs.items()}
    measures = {name for name, column in inputs.items() if _measures_length(name, column, lengths, groups)}
    declared = [each.name for each in context.reward.terms if measures & {_strip(name) for name in each.reads}]
    total = table.totals[rows] - sum(table.values[name][rows] for name in declared if name in table.values)
    columns = {"total": total} | {
        term.name: table.values[term.name][rows]
        for term in context.reward.terms
        if term.name in table.values and term.name not in declared and term.weight != 0
    }
    flags = [column for name, column in inputs.items() if _is_flag(column) and name not in table.judges]
    for name, column in columns.items():
        found = {which: _explain(column, length, groups, flags) for which, length in lengths.items()}
        which = max(found, key=lambda each: found[each][0], default="")
        if which and found[which][0] >= EXPLAINED and abs(found[which][1].errors) >= ERRORS:
            yield _describe(table, context, name, which, *found[which], rows, len(declared))


def _strip(name: str) -> str:
    return name.rpartition(".")[2]


def _vary(lengths: Numbers, groups: Positions) -> bool:
    return estimate_variance_within(lengths, groups) >= VARIES**2


def _measures_length(name: str, column: Numbers, lengths: dict[str, Numbers], groups: Positions) -> bool:
    """Return whether an input is a length by its name, or counts something that grows with the text."""
    if _is_flag(column) or not np.isfinite(column).all():
        return False
    named, counts = _ABOUT_LENGTH.search(name), bool((column == np.floor(column)).all())
    if not named and not counts:
        return False
    least = 0.5 if named else SAME
    return any(abs(correlate_within(column, length, groups).correlation) >= least for length in lengths.values())


def _is_flag(column: Numbers) -> bool:
    return bool(np.isfinite(column).all()) and len(np.unique(column)) == 2


def _explain(column: Numbers, lengths: Numbers, groups: Positions, flags: list[Numbers]) -> tuple[float, Association]:
    """Return the share of the variance within groups that length explains, among completions with the same flags.

    What is right may well be shorter than what is wrong: then length follows from the answer, and is not paid.
    """
    split = refine(groups, *(flag for flag in flags if not _follows(flag, lengths, groups)))
    found = correlate_within(column, lengths, split)
    whole = estimate_variance_within(column, groups)
    if not whole:
        return 0.0, found
    linear = correlate_linearly(column, np.log1p(lengths), split)
    explained = max(found.correlation**2, linear**2)  # in groups of two or three, ranks say little
    return explained * min(1.0, estimate_variance_within(column, split) / whole), found


def _follows(flag: Numbers, lengths: Numbers, groups: Positions) -> bool:
    """Return whether nearly all pairs of a group in which a flag differs are ordered by length in the same way."""
    above = pairs = 0.0
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        yes, no = (lengths[rows][flag[rows] == value] for value in (flag.max(), flag.min()))
        if len(yes) and len(no):
            above += float((np.subtract.outer(yes, no) > 0).sum() + 0.5 * (np.subtract.outer(yes, no) == 0).sum())
            pairs += len(yes) * len(no)
    return bool(pairs >= LEAST_PAIRS and max(above, pairs - above) >= FOLLOWS * pairs)


def _describe(
    table: RolloutTable,
    context: AuditContext,
    name: str,
    which: str,
    share: float,
    found: Association,
    rows: Flags,
    declared: int,
) -> Finding:
    column = table.totals if name == "total" else table.values[name]
    numbers, lengths = table.numbers[rows], table.lengths[which][rows]
    best = int(numbers[np.lexsort((column[rows], lengths if found.correlation > 0 else -lengths))[-1]])
    what = "the total" if name == "total" else repr(name)
    besides = ", without the terms that are about length," if name == "total" and declared else ""
    longer = "longer" if found.correlation > 0 else "shorter"
    return context.finding(
        name,
        f"A policy earns more by a {longer} {which}: within groups, its length explains {format_percent(share)} of the "
        f"variance of {what}{besides} (rank correlation {found.correlation:z.2f} over {int(rows.sum()):,} rollouts, "
        f"{abs(found.errors):.0f} standard errors from chance).",
        "If length is meant to count, pay for it in a term of its own that reads it. If not, give the score texts of "
        "equal merit and different length, and change it until it ignores length.",
        witness=(context.step(best, f"the {longer[:-1]}st {which}"),),
    )
