"""Completions that are copies: of their prompt, of those to other prompts, or of the rest of their group."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.rollouts.copying import LEAST_WORDS
from plaudit.analysis.audit.rollouts.table import Flags, RolloutHistory, RolloutTable
from plaudit.analysis.audit.rollouts.truth import find_truth
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_apart

OFTEN = 0.05
"""The share of late rollouts that must be copies."""
LEAST = 5
"""Late rollouts that must be copies."""
PROMPTS = 3
"""A long text that answers so many prompts belongs to none of them."""
MOST = 0.8
"""A text of any length that is this share of the late completions ignores its prompts."""
ALIKE = 0.9
"""The share of a group that must be the same text."""
LEAST_ALIKE = 4
"""Completions of a group that must be the same text."""


@dataclass(frozen=True)
class RolloutCopies(Detector):
    """Which completions are copies."""

    history: RolloutHistory


@history_rule(
    "copied-completions", severity="warning", why="A text that answers nothing is paid more than texts that do."
)
def find_copies(seen: RolloutCopies, context: AuditContext) -> Iterator[Finding]:
    """Find copies that are paid above average."""
    table = seen.history.take()
    if table is None:
        return
    late = table.progress >= 1 - context.thresholds.late
    long = np.where(table.has_text, table.words, 0) >= LEAST_WORDS
    truth = find_truth(seen.history, context)
    right = np.zeros(len(table), np.bool_) if truth is None else truth.values.astype(np.bool_)
    between = _find_shared(table, late, long, right)
    kinds = {
        "repeat their prompt and add nothing": table.copied,
        "are the same text as answers to other prompts": between & ~table.copied,
        "are the same text in nearly all of their group": _find_alike(table, long & ~right) & ~between & ~table.copied,
    }
    for what, copies in kinds.items():
        yield from _judge(table, context, what, copies, late)


def _find_shared(table: RolloutTable, late: Flags, long: Flags, right: Flags) -> Flags:
    """Return where a text answers several prompts; a short one that is right is no copy."""
    size = int(table.texts.max()) + 1
    pairs = np.unique(np.stack([table.texts, table.prompts]), axis=1)
    several = np.bincount(pairs[0], minlength=size) >= PROMPTS
    common = np.bincount(table.texts[late], minlength=size) >= MOST * int(late.sum())
    found: Flags = several[table.texts] & (long | (common[table.texts] & ~right))
    return found


def _find_alike(table: RolloutTable, chosen: Flags) -> Flags:
    """Return where nearly all of a group, and several of it, have the same text."""
    pairs, codes, counts = np.unique(
        np.stack([table.groups, table.texts]), axis=1, return_inverse=True, return_counts=True
    )
    enough = np.maximum(LEAST_ALIKE, ALIKE * table.group_sizes[pairs[0]])
    found: Flags = (counts >= enough)[codes.reshape(-1)]
    return found & chosen


def _judge(table: RolloutTable, context: AuditContext, what: str, copies: Flags, late: Flags) -> Iterator[Finding]:
    """Yield a finding if many late rollouts are copies, and copies are paid more than the rest of their run."""
    count = int((copies & late).sum())
    if count < LEAST or count < OFTEN * int(late.sum()) or copies.all():
        return
    runs = np.unique(table.runs[copies & late])
    rest = ~copies & np.isin(table.runs, runs)
    if not rest.any():
        return
    paid, others = table.totals[copies & late], table.totals[rest]
    error = float(np.hypot(paid.std() / len(paid) ** 0.5, others.std() / len(others) ** 0.5))
    gain = float(paid.mean() - others.mean())
    if gain <= context.thresholds.fall * error or gain <= 1e-9:
        return
    high, low = format_apart(float(paid.mean()), float(others.mean()))
    before = int((copies & ~late).sum()) / max(1, int((~late).sum()))
    best = np.flatnonzero(copies & late)[int(paid.argmax())]
    yield context.finding(
        "total",
        f"{count:,} of {int(late.sum()):,} late completions ({format_percent(count / int(late.sum()))}; "
        f"{format_percent(before)} before) {what}, and earn {high} on average; all others of "
        f"{table.name_runs(runs.tolist())} earn {low}.",
        "Read some of them (plaudit ledger why), find the term that pays them, and let that term pay nothing for a "
        "copy.",
        witness=(context.step(int(table.numbers[best]), "a copy"),),
    )
