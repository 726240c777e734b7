"""The solver: how high an expression can get, and whether there is a row at all. Boxes first, z3 where they fail."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from plaudit.checks.solver.boxes import (
    CLOSE,
    MOST_BOXES,
    MOST_WORK,
    Maximum,
    climb,
    compile_question,
    evaluate,
    maximise,
)
from plaudit.checks.solver.deadline import NEVER, Deadline
from plaudit.checks.solver.parts import Memory, maximise_by_parts
from plaudit.checks.solver.plainer import simplify_numbers
from plaudit.checks.solver.question import (
    MOST_INFINITE,
    Impossible,
    Question,
    SolverAnswer,
    Unknown,
    Witness,
    split_by_infinity,
    splits_completely,
)
from plaudit.checks.solver.ranges import (
    HUGE,
    NEAR,
    NumericRow,
    is_unlimited,
    limit_range,
    value_at_rest,
)
from plaudit.checks.solver.z3 import NO_ANSWER, UNINTERPRETED, Z3Question, is_available
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program

MOST_QUERIES = 60
QUESTIONS = 10
"""Where the number of questions still to come is not known, each gets this part of the remaining time."""
STEP = 1e-8
"""How much higher than the best row so far z3 must go, relative to it, before a bound counts as reached."""
SMALL = 0.01
"""Of a value that is smaller, or 0, a row may lose as much as of this one."""
SLACK = 1e-3
"""What a row may lose for plain numbers where none are worth quite as much: "up to 5" is shown with 4.999."""
INSTALL = "z3 is not installed: pip install 'plaudit[prove]'"

_Key = TypeVar("_Key")
_Answer = TypeVar("_Answer")


class TimeIsUp(Exception):
    """A question was asked after the deadline."""


@dataclass(frozen=True, slots=True)
class Solver:
    """Answers questions until a deadline; one that is asked later raises TimeIsUp."""

    deadline: Deadline = NEVER
    z3: bool = True
    """Whether z3 may be used where it is installed: the user's word."""
    quick: bool = False
    """Whether z3 is left out for now, though it may be used."""
    boxes: int = MOST_BOXES
    """How many boxes are cut before z3 is asked."""
    questions: int = QUESTIONS
    """How many questions share the remaining time evenly: the next one gets this part of it."""
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)
    """What was asked before."""

    @property
    def proves(self) -> bool:
        """Whether z3 is at hand."""
        return self.z3 and not self.quick and is_available()

    def check_clock(self) -> None:
        """Raise TimeIsUp if it is."""
        if self.deadline.passed:
            raise TimeIsUp

    def _start_question(self) -> Deadline:
        self.check_clock()
        return self.deadline.share(self.questions)

    def settle(
        self,
        found: dict[_Key, _Answer],
        ask: "Callable[[_Key, Solver], _Answer]",
        is_open: Callable[[_Answer], bool],
    ) -> None:
        """Replace the open answers in `found`: all are asked of boxes first, and those that stay open then of z3.

        Each question gets an even share of the time that is left, and what cannot be asked in time keeps its answer.
        """
        quick = [replace(self, quick=True, deadline=self.deadline.share(2))] if self.proves else []
        for solver in [*quick, self]:
            waiting = [key for key, answer in found.items() if is_open(answer)]
            for done, key in enumerate(waiting):
                with suppress(TimeIsUp):
                    solver.check_clock()
                    found[key] = ask(key, replace(solver, questions=len(waiting) - done))

    def explain_unknown(self) -> str:
        """Return why a question was left open, as far as that is known without the answers to its queries."""
        if not self.z3:
            return "z3 is turned off"
        return NO_ANSWER if is_available() else INSTALL

    def maximise(self, question: Question, asked: int) -> Maximum:
        """Return how high `asked` can be."""
        return maximise_by_parts(question.program(asked), self._maximise_part, self._start_question())

    def _maximise_part(self, program: Program, deadline: Deadline) -> Maximum:
        found = self._search(program, deadline)
        if found.exact or not found.possible or not self.proves:
            return found
        return self.memory.recall(program, ("z3", self.boxes), lambda: self._raise_with_z3(program, found, deadline))

    def _search(self, program: Program, deadline: Deadline, enough: float = math.inf) -> Maximum:
        """Return what boxes alone tell; where z3 may be asked as well, they leave it half of the time."""
        end = deadline.share(2) if self.proves else deadline
        return self.memory.recall(
            program, (enough, self.boxes), lambda: maximise(program, end, enough=enough, most=self.boxes)
        )

    def minimise(self, question: Question, asked: int) -> Maximum:
        """Return how low `asked` can be: the highest of its negative, with the sign turned back."""
        found = self.maximise(question, question.builder.simplify(n.Neg(asked)))
        return replace(found, bound=-found.bound, value=-found.value)

    def find_example(self, question: Question, flag: int) -> SolverAnswer:
        """Return a row that makes `flag` true."""
        deadline = self._start_question()
        program = question.program(question.builder.simplify(n.Number(flag)))
        nearest, *others = _readable_first(program)
        found = self._search(nearest, deadline, enough=0.5)
        if found.value == 1 and found.row is not None:
            return Witness(found.row)
        for other in others:  # a row of very large numbers may owe it to rounding: z3 must say that it is one
            found = self._search(other, deadline, enough=0.5)
        if found.bound < 1:
            return Impossible()
        return self._ask_z3(program, deadline) if self.proves else Unknown(self.explain_unknown())

    def find_above(self, question: Question, asked: int, limit: float = 0.0) -> SolverAnswer:
        """Return a row that makes `asked` more than `limit`, by more than rounding."""
        deadline = self._start_question()
        edge = limit + 1e-9 * max(1.0, abs(limit))
        program = question.program(asked)
        for each in _readable_first(program):
            found = maximise_by_parts(each, self._search, deadline)
            if (
                found.row is not None
                and max(edge, limit + _estimate_noise(program, found.row)) < found.value < math.inf
            ):
                return Witness(found.row)
        if found.bound <= edge:
            return Impossible()
        if not self.proves:
            return Unknown(self.explain_unknown())
        flag = question.compare(asked, n.Gt, question.number(edge))
        match self._ask_z3(question.program(question.builder.simplify(n.Number(flag))), deadline):
            case Witness(row):
                return Witness(climb(_readable_first(program)[0], row, deadline)[0])
            case answer:
                return answer

    def _ask_z3(self, program: Program, deadline: Deadline) -> SolverAnswer:
        for each, whole_turn in deadline.take_turns(_readable_first(program)):
            reasons: list[str] = []
            if not splits_completely(program):
                reasons.append(f"more than {MOST_INFINITE} inputs can be infinite at once")
            for variant, end in whole_turn.take_turns(split_by_infinity(each)):
                translated = Z3Question(variant, end)
                match translated.solve(translated.asked == 1):
                    case Witness(row):
                        whole = complete_row(row, program)
                        if evaluate(program, whole) == 1:
                            return Witness(whole)
                        reasons.append(_explain_false_witness(variant))
                    case Unknown(reason):
                        reasons.append(reason)
        return Unknown(reasons[0]) if reasons else Impossible()

    def _raise_with_z3(self, program: Program, found: Maximum, deadline: Deadline) -> Maximum:
        """Return the answer that z3 gives, by asking for ever more until it says that there is no more."""
        best, bound = found, -math.inf if splits_completely(program) else found.bound
        for variant, end in deadline.take_turns(split_by_infinity(program)):
            ascent = _Ascent(program, Z3Question(variant, end), best, found.bound, end)
            bound = max(bound, ascent.run())
            best = ascent.best
        return Maximum(max(best.value, min(bound, found.bound)), best.row, best.value)


class _Ascent:
    """z3 is asked for more than the best so far, in strides that grow until it says no."""

    def __init__(self, program: Program, question: Z3Question, best: Maximum, bound: float, deadline: Deadline) -> None:
        self.program, self.question, self.best = program, question, best
        self.ceiling, self.deadline = min(bound, HUGE), deadline

    def run(self) -> float:
        """Return a bound of this variant of the question."""
        stride = 1.0
        for _ in range(MOST_QUERIES):
            low = self.best.value
            if low >= self.ceiling:
                return low
            least = low + STEP * max(1.0, abs(low)) if math.isfinite(low) else -HUGE
            goal = max(least, min((low + self.ceiling) / 2, low + stride)) if math.isfinite(low) else least
            match self.question.find_above(goal):
                case Impossible():
                    self.ceiling = goal
                    if goal <= least:
                        more = math.isfinite(low) and self.question.find_above(low) != Impossible()
                        return goal if more else low
                    stride = max(stride / 8, STEP)
                case Witness(row) if self.improve(row):
                    stride *= 4
                case _:
                    return self.ceiling
        return self.ceiling

    def improve(self, row: NumericRow) -> bool:
        """Keep a row that z3 proposes if it really is better than the best so far, and return whether it is."""
        whole, value = climb(self.program, complete_row(row, self.program), self.deadline)
        if value <= self.best.value:
            return False
        self.best = Maximum(self.ceiling, whole, value)
        return True


def _readable_first(program: Program) -> tuple[Program, ...]:
    """Return a question about numbers of a size that people can read, if that is another one, and the question."""
    limited = limit_ranges(program)
    return (program,) if limited.inputs == program.inputs else (limited, program)


def limit_ranges(program: Program) -> Program:
    """Return a question about numbers of a size that people can read."""
    return replace(program, inputs={name: limit_range(field) for name, field in program.inputs.items()})


def _explain_false_witness(program: Program) -> str:
    """Return why z3 may propose a row that fails when it is run."""
    unknown = sorted({type(node).__name__.lower() for node in program.nodes if isinstance(node, UNINTERPRETED)})
    if unknown:
        return f"z3 cannot reason precisely about {', '.join(unknown)}"
    return "z3 found an example in exact arithmetic that does not hold in floating point"


def _estimate_noise(program: Program, row: NumericRow) -> float:
    """Return how much of what a question is worth at a row may be rounding: numbers there can be very large."""
    found = bound_nodes_within(program, {name: Interval(value, value) for name, value in row.items()})
    return 1e-12 * max(abs(end) for each in found for end in each if math.isfinite(end))


def complete_row(row: NumericRow, program: Program) -> NumericRow:
    """Return a row with the inputs that a variant of the question had fixed at infinity."""
    return {name: row.get(name, math.inf if field.infinite else 0.0) for name, field in program.inputs.items()}


def simplify_maximum(program: Program, found: Maximum) -> Maximum:
    """Return an answer with a row of plain numbers, and with what that row is worth."""
    if found.row is None or not math.isfinite(evaluate(program, found.row)):
        return found
    row = simplify_row(program, found.row)
    if is_unlimited(found.value):
        return replace(found, row=row)
    less = {name: math.copysign(NEAR, value) for name, value in row.items() if HUGE <= abs(value) < math.inf}
    if less and math.isfinite(evaluate(program, row | less)):
        row |= less
    value = evaluate(program, row)
    return Maximum(max(found.bound, value), row, value)


def simplify_row(program: Program, row: NumericRow) -> NumericRow:
    """Return a row at which a question is worth as much, of inputs at rest and of numbers that a person would write.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.checks.solver.question import Question
    >>> @term
    ... def near(x):
    ...     return 3 - abs(x)
    >>> question = Question()
    >>> centred = Reward("centred", version="1", terms=[near], fields=[Field("x", low=-9, high=9)])
    >>> simplify_row(question.program(question.copy(centred.program)["total"]), {"x": 5e-324})
    {'x': 0.0}
    """
    row = {name: row[name] for name in program.inputs}
    compute = compile_question(program)
    value = compute(row)
    same = value - CLOSE * max(1.0, abs(value))
    row = simplify_numbers(row, program.inputs, lambda other: compute(dict(other)) >= same)
    resting = {name: value_at_rest(field) for name, field in program.inputs.items()}
    for name in [each for each in row if row[each] != resting[each]][: 4 * MOST_WORK // len(program.nodes)]:
        if compute({**row, name: resting[name]}) >= same:
            row[name] = resting[name]
    least = value - SLACK * max(abs(value), SMALL)
    return simplify_numbers(row, program.inputs, lambda other: compute(dict(other)) >= least, near=True)
