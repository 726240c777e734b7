"""Asking: how high can it be, and can it be at all? Boxes first, z3 where they do not settle it."""

import math
from dataclasses import dataclass, replace
from time import monotonic

from plaudit.checks.boxes import MOST_BOXES, Highest, climbed, highest
from plaudit.checks.domain import HUGE, Row, near
from plaudit.checks.question import Question, at_infinity, every_way
from plaudit.checks.smt import Asked, available
from plaudit.language import nodes as n
from plaudit.language.interval import Interval
from plaudit.language.intervals import within
from plaudit.language.program import Program

MOST_QUERIES = 60
STEP = 1e-8
"""How much higher than the best row so far z3 must go, relative to it, before a bound counts as reached."""


@dataclass(frozen=True, slots=True)
class Solver:
    """Answers questions; `timeout` is the limit of one query in seconds."""

    timeout: float = 3.0
    z3: bool = True
    """Whether z3 may be used where it is installed."""
    boxes: int = MOST_BOXES
    """How many boxes are cut before z3 is asked."""
    until: float = math.inf
    """When to give up, by `time.monotonic`: from then on questions are only glanced at."""

    @property
    def proves(self) -> bool:
        """Whether z3 is at hand."""
        return self.z3 and not self.late and available()

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return monotonic() > self.until

    @property
    def _most(self) -> int:
        return 1 if self.late else self.boxes

    def highest(self, question: Question, asked: int) -> Highest:
        """Return how high `asked` can be."""
        program = question.program(asked)
        found = highest(program, most=self._most)
        if found.exact or not found.possible or not self.proves:
            return found
        return self._raised(program, found)

    def lowest(self, question: Question, asked: int) -> Highest:
        """Return how low `asked` can be: the highest of its negative, with the sign turned back."""
        found = self.highest(question, question.builder.simplified(n.Neg(asked)))
        return replace(found, bound=-found.bound, value=-found.value)

    def example(self, question: Question, flag: int) -> Row | bool | None:
        """Return a row that makes `flag` true; False where there is none, None where that is not decided."""
        program = question.program(question.builder.simplified(n.Number(flag)))
        nearest, *others = _nearest_first(program)
        found = highest(nearest, enough=0.5, most=self._most)
        if found.value == 1:
            return found.row
        for other in others:  # a row of very large numbers may owe it to rounding: z3 must say that it is one
            found = highest(other, enough=0.5, most=self._most)
        if found.bound < 1:
            return False
        return self._proposed(program) if self.proves else None

    def above(self, question: Question, asked: int, limit: float = 0.0) -> Row | bool | None:
        """Return a row that makes `asked` more than `limit` (by more than rounding), False or None as in `example`."""
        edge = limit + 1e-9 * max(1.0, abs(limit))
        program = question.program(asked)
        for each in _nearest_first(program):
            found = highest(each, enough=edge, most=self._most)
            if found.row is not None and max(edge, limit + _noise(program, found.row)) < found.value < math.inf:
                return found.row
        if found.bound <= edge:
            return False
        if not self.proves:
            return None
        flag = question.compare(asked, n.Gt, question.number(edge))
        row = self._proposed(question.program(question.builder.simplified(n.Number(flag))))
        return climbed(_nearest_first(program)[0], row)[0] if isinstance(row, dict) else row

    def _proposed(self, program: Program) -> Row | bool | None:
        """Ask z3 for a row, and run what it proposes."""
        for each in _nearest_first(program):
            undecided = not every_way(program)
            for variant in at_infinity(each):
                asked = Asked(variant, timeout=self.timeout)
                row = asked.solve(asked.asked == 1)
                if isinstance(row, dict):
                    whole = completed(row, program)
                    if value_of(program, whole) == 1:
                        return whole
                    undecided = True  # true of the rationals, or of a function z3 does not know; not of the floats
                elif row is None:
                    undecided = True
        return None if undecided else False

    def _raised(self, program: Program, found: Highest) -> Highest:
        """Return the answer that z3 gives, by asking for ever more until it says that there is no more."""
        best, bound = found, -math.inf if every_way(program) else found.bound
        for variant in at_infinity(program):
            climb = _Climb(program, Asked(variant, timeout=self.timeout), best, found.bound)
            bound = max(bound, climb.run())
            best = climb.best
        return Highest(max(best.value, min(bound, found.bound)), best.row, best.value)


class _Climb:
    """One climb: z3 is asked for more than the best so far, in strides that grow until it says no."""

    def __init__(self, program: Program, asked: Asked, best: Highest, bound: float) -> None:
        self.program, self.asked, self.best = program, asked, best
        self.ceiling = min(bound, HUGE)

    def run(self) -> float:
        """Return a bound of this variant of the question."""
        stride = 1.0
        for _ in range(MOST_QUERIES):
            low = self.best.value
            if low >= self.ceiling:
                return low
            least = low + STEP * max(1.0, abs(low)) if math.isfinite(low) else -HUGE
            goal = max(least, min((low + self.ceiling) / 2, low + stride)) if math.isfinite(low) else least
            row = self.asked.solve(self.asked.asked > self.asked.real(goal))
            if row is False:
                self.ceiling = goal
                if goal <= least:
                    more = math.isfinite(low) and self.asked.solve(self.asked.asked > self.asked.real(low)) is not False
                    return goal if more else low
                stride = max(stride / 8, STEP)
            elif not isinstance(row, dict) or not self.improved(row):
                return self.ceiling
            else:
                stride *= 4
        return self.ceiling

    def improved(self, row: Row) -> bool:
        """Keep a row that z3 proposes if it really is better than the best so far."""
        whole, value = climbed(self.program, completed(row, self.program))
        if value <= self.best.value:
            return False
        self.best = Highest(self.ceiling, whole, value)
        return True


def _nearest_first(program: Program) -> tuple[Program, ...]:
    """Return a question about numbers of a size that people can read, if that is another one, and the question."""
    fields = {name: near(field) for name, field in program.inputs.items()}
    return (program,) if fields == program.inputs else (replace(program, inputs=fields), program)


def _noise(program: Program, row: Row) -> float:
    """Return how much of what a question is worth at a row may be rounding: numbers there can be very large."""
    found = within(program, {name: Interval(value, value) for name, value in row.items()})
    return 1e-12 * max(abs(end) for each in found for end in each if math.isfinite(end))


def completed(row: Row, program: Program) -> Row:
    """Return a row with the inputs that a variant of the question had fixed at infinity."""
    return {name: row.get(name, math.inf if field.infinite else 0.0) for name, field in program.inputs.items()}


def value_of(program: Program, row: Row) -> float:
    """Return what a question is worth at a row; -inf where what is given does not hold there."""
    found = within(program, {name: Interval(value, value) for name, value in row.items()})
    given, asked = found[program.outputs["given"]], found[program.outputs["asked"]]
    return asked.low if given.low == 1 else -math.inf
