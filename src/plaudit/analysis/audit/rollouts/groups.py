"""Groups without a gradient: all completions of a prompt are paid the same."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.rollouts.table import Flags, RolloutHistory, RolloutTable
from plaudit.analysis.audit.steps import Numbers
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_number
from plaudit.language.intervals import bound_nodes

NEARLY_ALL = 0.9
"""The share of groups that must be constant, over the whole run and over its first fifth: what is learned and then
always right had a gradient."""
BEGINNING = 0.2
_ADVICE = {
    "all right": "The prompts are too easy, or the score is too generous: use harder prompts, or a score with degrees.",
    "all wrong": "The prompts are too hard, or the score is broken: score an answer that is right by hand, then use "
    "easier prompts or pay for parts of the way.",
    "all alike": "Find out whether it reads anything of the completion; what depends on the prompt alone teaches "
    "nothing.",
}


@dataclass(frozen=True)
class RolloutGroups(Detector):
    """What is the same within groups."""

    history: RolloutHistory


@history_rule(
    "group-constant", severity="warning", why="A group whose completions are all paid the same has no gradient."
)
def find_constant(seen: RolloutGroups, context: AuditContext) -> Iterator[Finding]:
    """Find a reward, or a term, that is the same for all completions of nearly every prompt."""
    table = seen.history.take()
    if table is None:
        return
    whole = _find_constant(table, table.totals)
    spans, outputs = bound_nodes(context.model.program), context.model.program.outputs
    if whole is not None:
        span = spans[outputs["total"]] if "total" in outputs else None
        yield _describe(table, context, "total", table.totals, whole, span)
        return
    for term in context.reward.terms:
        column = table.values.get(term.name)
        if column is None or term.weight == 0 or term.terminal or not term.reads:
            continue
        constant = _find_constant(table, column)
        never_due = not column.any() and (term.kind == "penalty" or term.name not in context.can_pay)
        if constant is None or never_due:
            continue
        yield _describe(table, context, term.name, column, constant, spans[outputs[f"{term.name}.value"]])


def _find_constant(table: RolloutTable, column: Numbers) -> Flags | None:
    """Return the groups in which a column is constant, if they are nearly all from the beginning on."""
    low, high = np.full(len(table.group_sizes), np.inf), np.full(len(table.group_sizes), -np.inf)
    np.minimum.at(low, table.groups, column)
    np.maximum.at(high, table.groups, column)
    constant: Flags = table.several & (high - low <= 1e-12 * np.maximum(1.0, np.abs(high)))
    for which in (table.several, table.several & (table.group_progress < BEGINNING)):
        if not which.any() or constant[which].mean() < NEARLY_ALL:
            return None
    return constant


def _describe(
    table: RolloutTable, context: AuditContext, name: str, column: Numbers, constant: Flags, span: object
) -> Finding:
    rows = constant[table.groups]
    low, high = float(column.min()), float(column.max())
    if low == high:
        low, high = float(getattr(span, "low", -np.inf)), float(getattr(span, "high", np.inf))
    means = table.average(column)[constant]
    best = int(np.isclose(means, high).sum()) if low < high else 0
    worst = int(np.isclose(means, low).sum()) if low < high else 0
    count, several = int(constant.sum()), int(table.several.sum())
    causes = {"all right": best, "all wrong": worst, "all alike": count - best - worst}
    cause = max(causes, key=lambda each: causes[each])
    told = {
        "all right": f"all completions get the best, {format_number(high)}, in {best:,}",
        "all wrong": f"all get the worst, {format_number(low)}, in {worst:,}",
        "all alike": f"all get some other value in {causes['all alike']:,}",
    }
    what = "The total" if name == "total" else f"{name!r}"
    message = (
        f"{what} is the same for all completions of a prompt in {count:,} of {several:,} groups "
        f"({format_percent(count / several)}), so the policy cannot learn from it: "
        f"{'; '.join(told[each] for each in causes if causes[each])}."
    )
    first = int(table.numbers[np.flatnonzero(rows)[-1]])
    return context.finding(
        name,
        message,
        _ADVICE[cause],
        witness=(context.step(first, f"one of a group that is {cause}"),),
        severity=None if name == "total" else "advice",
    )
