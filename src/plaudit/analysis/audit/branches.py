"""Branches of the source that no recorded step took."""

from collections.abc import Iterator

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, history_rule
from plaudit.analysis.audit.steps import FlagProgram, StepBatch
from plaudit.checks.branches import MarkedTerm, list_places, mark_branches
from plaudit.checks.finding import Finding
from plaudit.checks.solver.question import list_inputs
from plaudit.terminal import format_count

MOST_LISTED = 3
"""Maximum places of a term to report one by one; the rest are counted."""


class BranchesTaken(Detector):
    """The places of each term that no step has reached yet; what was reached once is not looked at again."""

    def __init__(self, context: AuditContext) -> None:
        """Mark the branches of every term whose source is known."""
        self._open: dict[str, tuple[MarkedTerm, list[list[int]]]] = {}
        self._flags: dict[str, FlagProgram] = {}
        without = []
        for term in context.reward._functions:
            marked = mark_branches(context.reward, term)
            if marked is None:
                without.append(term.name)
            else:
                self._prepare(context, term.name, marked)
        if without:
            why = f"a ledger stores no source code of {', '.join(without)}; use plaudit check REWARD --ledger"
            context.skip(why, "branch-not-taken")

    def _prepare(self, context: AuditContext, term: str, marked: MarkedTerm) -> None:
        """Keep the places that depend on what steps have, and on no schedule or knob that switches them off."""
        nodes, outputs = marked.program.nodes, marked.program.outputs
        places = []
        for marks in marked.group_places():
            reads = {name for at in marks for name in list_inputs(nodes, outputs[f"reached {at}"])}
            if reads and reads <= context.recorded:  # what reads nothing is always reached, or never
                places.append(marks)
        if places:
            self._open[term] = marked, places
            self._compile(term)

    def _compile(self, term: str) -> None:
        marked, places = self._open[term]
        flags = {str(at): marked.program.outputs[f"reached {at}"] for marks in places for at in marks}
        self._flags[term] = FlagProgram(marked.program, flags)

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        for term, (marked, places) in list(self._open.items()):
            reached = {name for name, flags in self._flags[term].evaluate(batch).items() if np.any(flags)}
            left = [marks for marks in places if not any(str(at) in reached for at in marks)]
            if not left:
                del self._open[term], self._flags[term]
            elif len(left) < len(places):
                self._open[term] = marked, left
                self._compile(term)

    @history_rule("branch-not-taken", severity="advice", why="A branch that no step reached is untested.")
    def find_not_taken(self, context: AuditContext) -> Iterator[Finding]:
        """Find places that no step reached."""
        if not context.has_steps():
            return
        for term, (marked, places) in self._open.items():
            lines = [marked.locate(marks[0]) for marks in places]
            for place, others in list_places(lines, MOST_LISTED):
                yield context.finding(
                    term,
                    f"none of {format_count(context.steps, 'step')} reached `{place.text}` in {term!r}.{others}",
                    "Make sure that training can reach it. If it cannot, remove the branch.",
                    place=place,
                )
