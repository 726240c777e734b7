"""Rewards that part from right answers: form that is paid without them, and judges that do not see them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.parting import find_parting
from plaudit.analysis.audit.rollouts.table import RolloutHistory, RolloutTable
from plaudit.analysis.audit.rollouts.truth import (
    UNKNOWN,
    Change,
    Truth,
    find_truth,
    measure_change,
    split_stretches,
)
from plaudit.analysis.audit.steps import Numbers, Positions
from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.plain import format_apart

SHARE = 0.5
"""The share of what late rollouts earn that form must pay wrong answers."""
RISES = 4.0
"""How many standard errors what is paid must rise by."""
FLAT = 0.06
"""What is right is not learned if its rate has certainly not risen by more than this."""
SOLVED = 0.85
"""Above this rate there is little left to learn."""
LEAST_RISE = 0.3
"""What a judge must rise by, in standard deviations of single rollouts."""
BACKWARDS = 0.4
"""A judge that prefers the right one of two answers less often than this ranks backwards."""
LEAST_PARTING = 20
"""Groups of a run in which a turn is looked for."""
ERRORS = 4.5
"""How many standard errors a judge must be from ranking at random."""


@dataclass(frozen=True)
class RolloutAnswers(Detector):
    """What is paid beside right answers."""

    history: RolloutHistory


@history_rule(
    "format-without-answer",
    severity="warning",
    why="The policy earns more and more by form, and is not right more often.",
)
def find_form(seen: RolloutAnswers, context: AuditContext) -> Iterator[Finding]:
    """Find that a growing share of the return is paid to wrong answers, by terms that do not ask what is right."""
    table = seen.history.take()
    if table is None:
        return
    truth = find_truth(seen.history, context)
    if truth is None:
        context.skip(UNKNOWN)
        return
    names = [
        each.name
        for each in context.reward.terms
        if each.name in table.values and each.reads and not truth.inputs & set(each.reads)
        if not table.judges & set(each.reads)
    ]
    if not names:
        return
    paid = np.sum([np.maximum(table.values[name], 0.0) for name in names], axis=0)
    earned = np.sum([np.maximum(column, 0.0) for column in table.values.values()], axis=0)
    unearned = paid * (1 - truth.values)
    for run in range(len(table.names)):
        stretches = split_stretches(table, run, context.thresholds.late)
        if stretches is None:
            continue
        early, late = stretches
        wrong, right = (measure_change(table, each, early, late) for each in (unearned, truth.values))
        everything = measure_change(table, earned, early, late)
        share = wrong.after / everything.after if everything.after else 0.0
        before = wrong.before / everything.before if everything.before else 0.0
        grown = wrong.errors >= RISES and share > before
        if share < SHARE or not grown or not _is_not_learned(right):
            continue
        worst = _find_worst(table, late, unearned)
        largest = max(names, key=lambda name: float((table.values[name] * (1 - truth.values)).sum()))
        yield context.finding(
            largest,
            f"{format_percent(share)} of what late rollouts earn is paid to wrong answers by "
            f"{', '.join(map(repr, names))} ({format_percent(before)} early in {table.name_runs([run])}), while "
            f"{_describe_truth(truth, right)}.",
            "Pay for form only where the answer is right, for example with a gate, or make a wrong answer in good form "
            "worth little.",
            witness=(context.step(worst, "a wrong answer, well paid"),),
        )


def _is_not_learned(right: Change) -> bool:
    """Return whether the rate of right answers fell, or has certainly not risen by much where it could."""
    return right.errors <= -2.5 or (right.most <= FLAT and right.after <= SOLVED)


def _describe_truth(truth: Truth, right: Change) -> str:
    before, after = format_percent(right.before), format_percent(right.after)
    how = "falls" if right.errors <= -2.5 else "does not rise"
    return f"{truth.name} {how} ({before} early, {after} late)"


def _find_worst(table: RolloutTable, late: Positions, column: Numbers) -> int:
    rows = np.flatnonzero(np.isin(table.groups, late))
    return int(table.numbers[rows[int(column[rows].argmax())]])


# -- judges ----------------------------------------------------------------------------------------------------------


@history_rule(
    "judge-against-truth", severity="warning", why="A judge that is pleased by wrong answers teaches wrong answers."
)
def find_judges(seen: RolloutAnswers, context: AuditContext) -> Iterator[Finding]:
    """Find judges that rank wrong answers above right ones, or that rise while what is right does not."""
    table = seen.history.take()
    if table is None or not table.judges:
        return
    truth = find_truth(seen.history, context)
    if truth is None:
        context.skip(UNKNOWN)
        return
    for name in sorted(table.judges - truth.inputs):
        column = table.inputs[name]
        if not np.isfinite(column).all() or column.std() == 0:
            continue
        term = next((each.name for each in context.reward.terms if name in each.reads), "total")
        column = column * _find_sign(table, term, column)
        found = _find_backwards(table, context, name, term, column, truth)
        yield from [found] if found else _find_drift(table, context, name, term, column, truth)


def _find_sign(table: RolloutTable, term: str, column: Numbers) -> float:
    """Return -1 where a judge counts faults, so that less of it is paid more."""
    paid = table.values.get(term, table.totals)
    moved = (paid - paid.mean()) @ (column - column.mean())
    return -1.0 if moved < 0 else 1.0


def _find_backwards(
    table: RolloutTable, context: AuditContext, name: str, term: str, column: Numbers, truth: Truth
) -> Finding | None:
    """Return a finding if the judge prefers wrong answers to right ones of the same prompt."""
    preferred = pairs = variance = 0.0
    order = np.argsort(table.groups, kind="stable")
    witness = 0
    largest = -np.inf
    for rows in np.split(order, np.flatnonzero(np.diff(table.groups[order])) + 1):
        right, wrong = (rows[truth.values[rows] == value] for value in (1, 0))
        if not len(right) or not len(wrong):
            continue
        apart = np.subtract.outer(column[right], column[wrong])
        preferred += float((apart > 0).sum() + 0.5 * (apart == 0).sum())
        pairs += apart.size
        variance += apart.size * (len(rows) + 1) / 12  # of Mann and Whitney's U
        if -apart.min() > largest:
            largest = -float(apart.min())
            witness = int(table.numbers[wrong[int(column[wrong].argmax())]])
    if not pairs or preferred / pairs > BACKWARDS or (pairs / 2 - preferred) / variance**0.5 < ERRORS:
        return None
    return context.finding(
        term,
        f"The judge {name!r} ranks wrong answers above right ones: of {int(pairs):,} pairs of a right and a wrong "
        f"completion of the same prompt, it prefers the right one in {format_percent(preferred / pairs)}.",
        "Read what the judge said (plaudit ledger why), show it the reference answer, or use it only where the answer "
        "is right.",
        witness=(context.step(witness, "a wrong answer, ranked above a right one"),),
    )


def _find_drift(
    table: RolloutTable, context: AuditContext, name: str, term: str, column: Numbers, truth: Truth
) -> Iterator[Finding]:
    """Yield a finding for a run in which the judge is pleased more and more, and what is right does not rise."""
    means, rights = table.average(column), table.average(truth.values)
    for run in range(len(table.names)):
        stretches = split_stretches(table, run, context.thresholds.late)
        if stretches is None:
            continue
        early, late = stretches
        judged, right = (measure_change(table, each, early, late) for each in (column, truth.values))
        rises = judged.errors >= RISES and judged.difference >= LEAST_RISE * column.std()
        severity: Severity | None = None
        if rises and _is_not_learned(right):
            severity = "warning" if right.errors <= -2.5 else "advice"
        else:
            ours = np.unique(table.groups[table.runs == run])
            limits = {"late": context.thresholds.late, "chance": context.thresholds.chance}
            parting = find_parting(means[ours], rights[ours], **limits) if len(ours) >= LEAST_PARTING else None
            if parting is None:
                continue
            before, after = ours[parting.before], ours[parting.after]
            judged, right = (measure_change(table, each, before, after) for each in (column, truth.values))
            late, severity = after, "warning"
        sign = 1.0 if column.sum() >= 0 else -1.0
        low, high = format_apart(sign * judged.before, sign * judged.after)
        yield context.finding(
            term,
            f"The judge {name!r} goes from {low} to {high} in {table.name_runs([run])}, while "
            f"{_describe_truth(truth, right)}.",
            "Compare early and late completions that the judge praised (plaudit ledger why), and lower its weight, or "
            "use it only where the answer is right.",
            witness=(context.step(_find_worst(table, late, column * (1 - truth.values)), "praised, and wrong"),),
            severity=severity,
        )
