"""The solver: how high an expression can get, and whether there is a row at all. Boxes first, z3 where they fail."""

import math
from dataclasses import dataclass, field, replace
from time import monotonic

from plaudit.checks.solver.boxes import MOST_BOXES, Maximum, climb, evaluate, maximise
from plaudit.checks.solver.parts import Memory, maximise_by_parts
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
from plaudit.checks.solver.ranges import HUGE, NumericRow, limit_range
from plaudit.checks.solver.z3 import UNINTERPRETED, Z3Question, is_available
from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program

MOST_QUERIES = 60
STEP = 1e-8
"""How much higher than the best row so far z3 must go, relative to it, before a bound counts as reached."""
INSTALL = "z3 is not installed: pip install 'plaudit[prove]'"


class TimeIsUp(Exception):
    """The time for all questions about a reward is over."""


@dataclass(frozen=True, slots=True)
class Solver:
    """Answers questions; `timeout` is the limit of one query in seconds."""

    timeout: float = 3.0
    z3: bool = True
    """Whether z3 may be used where it is installed."""
    boxes: int = MOST_BOXES
    """How many boxes are cut before z3 is asked."""
    until: float = math.inf
    """When the time is up, by `time.monotonic`: a question that is asked later raises TimeIsUp."""
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)
    """What was asked before."""

    @property
    def proves(self) -> bool:
        """Whether z3 is at hand."""
        return self.z3 and is_available()

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return monotonic() > self.until

    def check_clock(self) -> None:
        """Raise TimeIsUp if it is."""
        if self.late:
            raise TimeIsUp

    @property
    def _time_left(self) -> float:
        """What one query may take, in seconds."""
        return max(1e-3, min(self.timeout, self.until - monotonic()))

    def explain_unknown(self) -> str:
        """Return why a question was left open, as far as that is known without the answers to its queries."""
        if self.proves:
            return f"z3 does not settle it with {self.timeout:g} s a query"
        return INSTALL if not is_available() else "z3 was not to be used"

    def maximise(self, question: Question, asked: int) -> Maximum:
        """Return how high `asked` can be."""
        how = self.z3, self.boxes
        return maximise_by_parts(
            question.program(asked), lambda part: self.memory.recall(part, how, self._maximise_whole)
        )

    def _maximise_whole(self, program: Program) -> Maximum:
        found = self._search(program)
        if found.exact or not found.possible or not self.proves:
            return found
        return self._raise_with_z3(program, found)

    def _search(self, program: Program, enough: float = math.inf) -> Maximum:
        """Return what boxes alone tell."""
        self.check_clock()
        return maximise(program, enough=enough, most=self.boxes, until=self.until)

    def minimise(self, question: Question, asked: int) -> Maximum:
        """Return how low `asked` can be: the highest of its negative, with the sign turned back."""
        found = self.maximise(question, question.builder.simplify(n.Neg(asked)))
        return replace(found, bound=-found.bound, value=-found.value)

    def find_example(self, question: Question, flag: int) -> SolverAnswer:
        """Return a row that makes `flag` true."""
        program = question.program(question.builder.simplify(n.Number(flag)))
        nearest, *others = _readable_first(program)
        found = self._search(nearest, enough=0.5)
        if found.value == 1 and found.row is not None:
            return Witness(found.row)
        for other in others:  # a row of very large numbers may owe it to rounding: z3 must say that it is one
            found = self._search(other, enough=0.5)
        if found.bound < 1:
            return Impossible()
        return self._ask_z3(program) if self.proves else Unknown(self.explain_unknown())

    def find_above(self, question: Question, asked: int, limit: float = 0.0) -> SolverAnswer:
        """Return a row that makes `asked` more than `limit`, by more than rounding."""
        edge = limit + 1e-9 * max(1.0, abs(limit))
        program = question.program(asked)
        for each in _readable_first(program):
            found = maximise_by_parts(each, self._search)
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
        match self._ask_z3(question.program(question.builder.simplify(n.Number(flag)))):
            case Witness(row):
                return Witness(climb(_readable_first(program)[0], row)[0])
            case answer:
                return answer

    def _ask_z3(self, program: Program) -> SolverAnswer:
        """Ask z3 for a row, and run what it proposes."""
        for each in _readable_first(program):
            reasons: list[str] = []
            if not splits_completely(program):
                reasons.append(f"more than {MOST_INFINITE} inputs can be infinite at once")
            for variant in split_by_infinity(each):
                translated = Z3Question(variant, timeout=self._time_left)
                match translated.solve(translated.asked == 1):
                    case Witness(row):
                        whole = complete_row(row, program)
                        if evaluate(program, whole) == 1:
                            return Witness(whole)
                        reasons.append(_explain_false_witness(variant))
                    case Unknown(reason):
                        reasons.append(reason)
        return Unknown(reasons[0]) if reasons else Impossible()

    def _raise_with_z3(self, program: Program, found: Maximum) -> Maximum:
        """Return the answer that z3 gives, by asking for ever more until it says that there is no more."""
        best, bound = found, -math.inf if splits_completely(program) else found.bound
        for variant in split_by_infinity(program):
            ascent = _Ascent(program, Z3Question(variant, timeout=self._time_left), best, found.bound, self.until)
            bound = max(bound, ascent.run())
            best = ascent.best
        return Maximum(max(best.value, min(bound, found.bound)), best.row, best.value)


class _Ascent:
    """z3 is asked for more than the best so far, in strides that grow until it says no."""

    def __init__(self, program: Program, question: Z3Question, best: Maximum, bound: float, until: float) -> None:
        self.program, self.question, self.best = program, question, best
        self.ceiling, self.until = min(bound, HUGE), until

    def run(self) -> float:
        """Return a bound of this variant of the question."""
        stride = 1.0
        for _ in range(MOST_QUERIES):
            low = self.best.value
            if low >= self.ceiling:
                return low
            if monotonic() > self.until:
                break
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
        whole, value = climb(self.program, complete_row(row, self.program))
        if value <= self.best.value:
            return False
        self.best = Maximum(self.ceiling, whole, value)
        return True


def validate_times(**times: object) -> None:
    """Refuse times that never come or never end."""
    for name, given in times.items():
        seconds = to_number(given)
        if seconds is None or isinstance(seconds, bool) or not 0 < seconds < math.inf:
            raise DefinitionError(f"{name}={given!r} must be a positive, finite number of seconds")


def _readable_first(program: Program) -> tuple[Program, ...]:
    """Return a question about numbers of a size that people can read, if that is another one, and the question."""
    limited = limit_ranges(program)
    return (program,) if limited.inputs == program.inputs else (limited, program)


def limit_ranges(program: Program) -> Program:
    """Return a question about numbers of a size that people can read."""
    return replace(program, inputs={name: limit_range(field) for name, field in program.inputs.items()})


def _explain_false_witness(program: Program) -> str:
    """Return why z3 may propose a row that is none when it is run."""
    unknown = sorted({type(node).__name__.lower() for node in program.nodes if isinstance(node, UNINTERPRETED)})
    if unknown:
        return f"z3 does not know {', '.join(unknown)} well enough"
    return "z3 finds it of the rationals, and floats round it away"


def _estimate_noise(program: Program, row: NumericRow) -> float:
    """Return how much of what a question is worth at a row may be rounding: numbers there can be very large."""
    found = bound_nodes_within(program, {name: Interval(value, value) for name, value in row.items()})
    return 1e-12 * max(abs(end) for each in found for end in each if math.isfinite(end))


def complete_row(row: NumericRow, program: Program) -> NumericRow:
    """Return a row with the inputs that a variant of the question had fixed at infinity."""
    return {name: row.get(name, math.inf if field.infinite else 0.0) for name, field in program.inputs.items()}
