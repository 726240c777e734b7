"""One comparison of two rewards: what is asked, in which order, and what the answers come to."""

import math
from dataclasses import replace
from typing import Any

from plaudit.checks.ask import Solver
from plaudit.checks.boxes import close, highest
from plaudit.checks.domain import Row, as_inputs, position, rest
from plaudit.checks.examination import unanswered
from plaudit.checks.prove.pair import Pair
from plaudit.checks.prove.proof import Difference, Proof, Verdict
from plaudit.checks.question import Question, at_infinity, every_way
from plaudit.checks.smt import Asked
from plaudit.language import nodes as n

SEARCH = 20
"""How many boxes the search for the largest difference may cut."""
LEAST = 1e-12
"""Differences below this are rounding where no bound on it is known."""


class Comparison:
    """One comparison: the pair, and the means to ask about it."""

    def __init__(self, pair: Pair, solver: Solver) -> None:
        """Compare `pair` by asking `solver`."""
        self.pair = pair
        self.solver = solver
        self.both = pair.question()

    def proof(self, examples: int) -> Proof:
        """Return what came of it; where nothing can be proved, `examples` rows are compared."""
        rounding = self.pair.rounding("total")
        refused = self.refused()
        answers = {name: self.apart(name) for name in self.pair.terms}
        found = [self.largest(each) for each in answers.values() if isinstance(each, Difference)]
        total = refused or self.total(found)
        if isinstance(total, Difference):
            found = [total, *found]
        if found:
            return self.made("different", differences=tuple(found), rounding=rounding)
        if total is False and None not in answers.values():
            return self.made("equal", exactly=self.exactly(), rounding=rounding)
        tested, difference = self.pair.tested(examples, self.tolerance("total"))
        remarks = (self.why(),)
        if difference is not None:
            return self.made("different", differences=(difference,), remarks=remarks, rounding=rounding)
        return self.made("undecided", remarks=remarks, rounding=rounding, tested=tested)

    def total(self, found: list[Difference]) -> Difference | bool | None:
        """Return where the totals differ: at a row that a term differs at, or wherever else they do."""
        fields = self.pair.fields
        rows = [{name: position(fields[name], value) for name, value in each.inputs.items()} for each in found]
        best = max((self.difference("total", row) for row in rows), key=lambda each: each.size, default=None)
        if best is not None and best.size > self.tolerance("total"):
            alone = len(found) == 1 and not self.pair.missing and close(best.size, found[0].size)
            return replace(best, largest=alone and found[0].largest and not self.pair.clamped)
        apart = self.apart("total")
        return self.largest(apart) if isinstance(apart, Difference) else apart

    def made(self, verdict: Verdict, *, remarks: tuple[str, ...] = (), **parts: Any) -> Proof:
        """Return the outcome under the names of the two."""
        left, right = self.pair.names
        return Proof(
            left=left,
            right=right,
            verdict=verdict,
            missing=self.pair.missing,
            remarks=(*self.pair.remarks, *remarks),
            **parts,
        )

    def tolerance(self, output: str) -> float:
        """Return how far an output may be apart by rounding alone."""
        rounding = self.pair.rounding(output)
        return rounding if math.isfinite(rounding) else LEAST

    def asked(self, output: str, limit: float) -> tuple[Question, int, int]:
        """Return the question whether an output differs by more than `limit`: itself, the difference, the flag."""
        question, copies = self.both
        size = question.distance(*(copy[output] for copy in copies))
        return question, size, question.compare(size, n.Gt, question.number(limit))

    def apart(self, name: str) -> Difference | bool | None:
        """Return where an output differs by more than rounding; False where it never does, None if undecided."""
        output = name if name == "total" else f"{name}.value"
        question, size, flag = self.asked(output, self.tolerance(output))
        if isinstance(known := question.builder.nodes[size], n.Const):  # the same expression, or two constants
            return self.difference(name, {}) if known.value > self.tolerance(output) else False
        row = self.solver.example(question, flag)
        return self.difference(name, row) if isinstance(row, dict) else row

    def difference(self, name: str, row: Row, *, largest: bool = False) -> Difference:
        """Return the difference at a row, by running both; what it leaves open is at rest."""
        if name == "total":
            row = {each: rest(field) for each, field in self.pair.fields.items()} | row
        sides = self.pair.scored(row, name)
        return Difference(name, as_inputs(row, self.pair.fields), *sides, largest=largest)

    def largest(self, found: Difference) -> Difference:
        """Return where the output differs most, as far as a short search gets."""
        if math.isinf(found.size):
            return found
        output = found.term if found.term == "total" else f"{found.term}.value"
        question, size, _ = self.asked(output, 0.0)
        best = highest(question.program(size), most=SEARCH)
        if best.row is None or best.value < found.size:
            return found
        better = self.difference(found.term, best.row, largest=best.exact)
        return better if better.size >= found.size else found

    def refused(self) -> Difference | None:
        """Return a row that one of the two can score and the other cannot."""
        for one in (0, 1):
            question, copies = self.pair.question(scored=one)
            for guard in copies[1 - one].guards:
                row = self.solver.example(question, question.never(guard))
                if isinstance(row, dict):
                    return self.difference("total", row)
        return None

    def exactly(self) -> bool:
        """Return whether z3 proves equality with no room for rounding."""
        question, _, flag = self.asked("total", 0.0)
        program = question.program(question.builder.simplified(n.Number(flag)))
        if not any(isinstance(node, n.Input) for node in program.nodes):
            return True  # the two are one and the same expression
        if not self.solver.proves or not every_way(program):
            return False
        variants = [Asked(each, timeout=self.solver.timeout) for each in at_infinity(program)]
        return all(asked.solve(asked.asked == 1) is False for asked in variants)

    def why(self) -> str:
        """Return why nothing was decided."""
        return f"Nothing could be proved: {unanswered(self.solver)}."
