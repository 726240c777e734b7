"""Findings of `check` in the history: how often each happened, in which episodes, and what it earned."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.clamps import ClampCounts
from plaudit.analysis.audit.context import AuditContext, Detector
from plaudit.analysis.audit.steps import StepBatch
from plaudit.analysis.audit.walks import Walk, Walks
from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.plain import format_number
from plaudit.checks.solver.ranges import encode_value
from plaudit.language.field import Field
from plaudit.terminal import format_count

NEAR = 0.01
"""A number is like that of a witness where it is within this share of the declared range of it."""
BY_WALKS = {"loop-that-pays": "laps", "pays-for-staying": "stays"}
"""Rules whose flaw is a walk of many steps."""
BY_TERM = ("wrong-sign", "pays-per-event")
"""Rules whose flaw is that a term pays."""
OF_ONE_VALUE = ("zone-gap",)
"""Rules whose flaw is one value, and the row in the middle of the witness has it."""
OF_THE_TEXT = (
    *("dead-term", "dominated-term", "clamp-never-binds", "dead-gate", "dead-override", "unreachable-branch"),
    *("jump", "not-potential-based", "short-sighted", "unused-field", "unused-knob", "missing-range"),
    *("contradictory-facts", "unused-allow", "changed-since-read", "unit-mismatch", "unreachable-goal", "unpriced"),
    *("may-divide-by-zero", "not-a-number", "state-leaves-range", "outcome-order", "risk-tolerance", "unbounded"),
)
"""Rules whose flaw stands in the definition, or whose steps are refused and never recorded."""


@dataclass
class _Count:
    """The steps that are like a finding."""

    steps: int = 0
    paid: float = 0.0
    first: int = 0
    episodes: set[int] = field(default_factory=set)


class Happenings(Detector):
    """How often what findings show happened."""

    codes = ["what-happened"]  # noqa: RUF012 - what the base class computes

    def __init__(self, context: AuditContext, findings: Sequence[Finding]) -> None:
        self._terms = {term: at for at, term in enumerate(context.terms)}
        declared = {term.name for term in context.reward.terms if term.kind == "bonus"}
        self._bonuses = declared & {each.term for each in findings if each.code == "wrong-sign"}
        """Those whose flaw is that they cost."""
        self._patterns = [
            (finding, list(_build_patterns(context, finding)))
            for finding in findings
            if finding.code not in (*BY_WALKS, *OF_THE_TEXT, "saturated-clamp")
        ]
        self._counts = {id(finding): _Count() for finding, _ in self._patterns}

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        for finding, patterns in self._patterns:
            at = self._terms.get(finding.term)
            if finding.code in BY_TERM:
                sign = -1.0 if finding.term in self._bonuses else 1.0
                hit = sign * batch.values[at] > 0 if at is not None else np.zeros(len(batch), np.bool_)
            else:
                hit = np.zeros(len(batch), np.bool_)
                for pattern in patterns:
                    hit |= _match(batch, pattern)
            count = self._counts[id(finding)]
            rows = np.flatnonzero(hit)
            if len(rows):
                count.first = count.first or int(batch.numbers[rows[0]])
                count.steps += len(rows)
                count.paid += float((batch.totals if at is None else batch.values[at])[rows].sum())
                count.episodes |= set(np.unique(batch.episodes[rows]).tolist()) - {-1}

    def tell(self, context: AuditContext, finding: Finding, walks: Walks, clamps: ClampCounts) -> Finding:
        """Return a finding of `check` with what came of it in the history."""
        if finding.code in BY_WALKS:
            return _tell_walks(context, finding, getattr(walks, BY_WALKS[finding.code]))
        if finding.code == "saturated-clamp":
            counts = {side: count for (name, side), count in clamps.bound.items() if name == finding.term}
            ends = {"low": "its floor", "high": "its cap"} if len(counts) > 1 else dict.fromkeys(counts, "it")
            bound = [f"{ends[side]} bound in {context.format_share(count)}" for side, count in counts.items()]
            return replace(finding, message=f"{finding.message} In the ledger {', '.join(bound)}.")
        count = self._counts.get(id(finding))
        patterns = next((patterns for each, patterns in self._patterns if each is finding), [])
        if count is None or not (patterns or finding.code in BY_TERM):
            return finding
        if not count.steps:
            return replace(
                finding, message=f"{finding.message} This did not happen in {context.steps:,} recorded steps."
            )
        what = f"{finding.term!r} paid" if finding.term in self._terms else "the agent earned"
        happened = (
            f"In the ledger this happened in {context.format_share(count.steps)}"
            f"{_name_episodes(context, sorted(count.episodes))}; {what} {format_number(count.paid)} in these steps."
        )
        witness = (*finding.witness, context.step(count.first, "first occurrence"))
        return replace(finding, message=f"{finding.message} {happened}", witness=witness)


def _tell_walks(context: AuditContext, finding: Finding, walks: Mapping[int, Walk]) -> Finding:
    if "walked-laps" in context.skipped:  # nothing was counted
        return finding
    loops = finding.code == "loop-that-pays"
    if not walks:
        what = "went around a cycle like this" if loops else "stayed like this"
        happened = f"No episode {what} often enough to count, in {context.steps:,} recorded steps."
        return replace(finding, message=f"{finding.message} {happened}")
    rows = sorted(walks)
    steps, pay = sum(walk.steps for walk in walks.values()), sum(walk.pay for walk in walks.values())
    happened = (
        f"In the ledger, {'cycles' if loops else 'stays'} that paid took "
        f"{context.format_share(steps)}{_name_episodes(context, rows)}, and "
        f"earned {format_number(pay)}."
    )
    best = max(walks.values(), key=lambda walk: walk.pay)
    return replace(
        finding,
        message=f"{finding.message} {happened}",
        witness=(*finding.witness, context.step(best.first, f"the best-paid {'cycle' if loops else 'stay'} begins")),
    )


def _name_episodes(context: AuditContext, rows: Sequence[int]) -> str:
    if not rows:
        return ""
    return f", in {len(rows):,} of {format_count(len(context.table), 'episode')} ({context.table.describe(rows)})"


_Pattern = Mapping[str, tuple[float, float]]
"""Of each input the lowest and the highest number that is like that of a witness."""


def _build_patterns(context: AuditContext, finding: Finding) -> Iterator[_Pattern]:
    """Yield what a step must be to be like a row of the witness: in the inputs that matter."""
    steps = finding.witness
    if finding.code in OF_ONE_VALUE:
        steps = finding.witness[1:2]
    for step in steps:
        names = [name for name in (step.about or step.inputs) if name in context.recorded]
        if names:
            yield {name: _find_span(context.model.fields[name], step, name, finding) for name in names}


def _find_span(declared: Field, step: Step, name: str, finding: Finding) -> tuple[float, float]:
    value = encode_value(declared, step.inputs[name])
    exact = declared.kind != "number" or bool(declared.numbers) or finding.code in OF_ONE_VALUE
    if exact or declared.low is None or declared.high is None or not np.isfinite(value):
        return value, value
    width = NEAR * (declared.high - declared.low)
    return value - width, value + width


def _match(batch: StepBatch, pattern: _Pattern) -> NDArray[np.bool_]:
    hit = np.ones(len(batch), np.bool_)
    for name, (low, high) in pattern.items():
        column = np.asarray(batch.columns[name], np.float64)
        hit &= (column >= low) & (column <= high)
    return hit
