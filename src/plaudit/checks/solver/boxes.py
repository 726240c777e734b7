"""The highest value of an expression, found by cutting the declared ranges into boxes.

Intervals bound each box; the box that promises most is cut next, at a value its inputs are compared with. Once every
choice in a box is made, intervals are usually exact, and a corner of the box attains what they promise.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.deadline import NEVER, Deadline
from plaudit.checks.solver.ranges import HUGE, NEAR, NumericRow, declared_range, list_choices
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program
from plaudit.targets.emit import SCALAR, SCALAR_NAMES, build_function, emit

MOST_BOXES = 150
MOST_WORK = 1_000_000
"""How many nodes a search may compute: about a second's worth."""
PATIENCE = 30
"""A search gives up after this many boxes without progress."""
FEW_ROWS = 10
"""Up to this many rows are computed without compiling the question."""
CLOSE = 1e-9
"""Two values are the same when they differ by no more than this, relative to the larger."""
MOST_INFINITE = 5
"""Up to this many inputs that can be infinite are tried in every combination."""
_JUMPING = tuple(kind for kind in n.FUNCTIONS if kind.jump and kind.edges)
_CHOOSING = (n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne, n.Min, n.Max, n.Abs, n.Clip, n.Item, *_JUMPING)

Part = tuple[float, ...] | Interval
"""What one input can be inside a box: one of these values, or anything in an interval."""
Box = Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class Maximum:
    """How high a question's answer can be."""

    bound: float
    """It is never higher."""
    row: NumericRow | None
    """Inputs that attain `value`; None where none are known."""
    value: float = -math.inf

    @property
    def exact(self) -> bool:
        """Whether the bound is attained."""
        return self.row is not None and is_close(self.value, self.bound)

    @property
    def possible(self) -> bool:
        """Whether what is given can be true at all, as far as is known."""
        return self.bound > -math.inf


def is_close(left: float, right: float) -> bool:
    """Return whether two values are the same but for rounding."""
    return math.isclose(left, right, rel_tol=CLOSE, abs_tol=CLOSE)


def maximise(
    program: Program, deadline: Deadline = NEVER, *, enough: float = math.inf, most: int = MOST_BOXES
) -> Maximum:
    """Return how high the output `asked` of a question can be where its output `given` is true.

    The search ends early once a value above `enough` is found, and at the deadline.
    """
    return _Search(program, enough, deadline).run(most)


def climb(program: Program, row: NumericRow, deadline: Deadline = NEVER) -> tuple[NumericRow, float]:
    """Return a row that is at least as high as `row`, and its value: each input moved to an end where that helps."""
    box: Box = {name: list_choices(field) or declared_range(field) for name, field in program.inputs.items()}
    wide = {name: (row[name],) if math.isinf(row[name]) else box[name] for name in box}
    return _Search(program, math.inf, deadline).climb(row, wide, math.inf)


def evaluate(program: Program, row: NumericRow) -> float:
    """Return what a question is worth at a row; -inf where what is given does not hold there."""
    found = bound_nodes_within(program, {name: Interval(value, value) for name, value in row.items()})
    given, asked = found[program.outputs["given"]], found[program.outputs["asked"]]
    return asked.low if given.low == 1 else -math.inf


def compile_question(program: Program) -> Callable[[NumericRow], float]:
    """Return what `evaluate` returns as a function of a row, for questions that many rows are tried of."""
    given, asked = program.outputs["given"], program.outputs["asked"]
    code = emit(program, [given, asked], SCALAR)
    names = [f"x{at}" for at in range(len(program.inputs))]
    result = f"return {code.texts[given]}, float({code.texts[asked]})"
    ask = build_function("ask", names, [*code.lines, result], {**SCALAR_NAMES, **dict(code.tables)})

    def compute(row: NumericRow) -> float:
        held, value = ask(*(row[name] for name in program.inputs))
        return float(value) if held and value == value else -math.inf

    return compute


class _Search:
    """One search: the boxes still to be cut, and the best row so far."""

    def __init__(self, program: Program, enough: float, deadline: Deadline) -> None:
        self.program = program
        self.enough = enough
        self.deadline = deadline
        self.asked, self.given = program.outputs["asked"], program.outputs["given"]
        self.breakpoints = find_breakpoints(program)
        self.reads = list_inputs_read(program)
        self.given_intervals = find_given_intervals(program)
        self.number = count()
        self.work = 0
        self.tried = 0
        self.queue: list[tuple[float, int, Box, tuple[Interval, ...]]] = []
        self.best = Maximum(-math.inf, None)
        self.partners = {
            name: [other for other, same in program.inputs.items() if same.name == field.name and other != name]
            for name, field in program.inputs.items()
        }

    def run(self, most: int) -> Maximum:
        for box in list_boxes(self.program):
            self.push(box)
        before: tuple[float, float] | None = None
        for done in range(most):
            over = self.best.value > self.enough or self.is_out_of_time()
            if not self.queue or over or self.is_settled(-self.queue[0][0]):
                break
            if done % PATIENCE == 0:
                now = (self.queue[0][0], self.best.value)
                if now == before:  # cutting leads nowhere: the bound hangs on how inputs go together
                    break
                before = now
            _, _, box, found = heapq.heappop(self.queue)
            self.attempt(box, found[self.asked].high, climbing=True)
            parts = self.cut(box, found)
            if not parts:
                heapq.heappush(self.queue, (-found[self.asked].high, next(self.number), box, found))
                break
            for part in parts:
                self.push(part)
        promised = -self.queue[0][0] if self.queue else -math.inf
        return Maximum(max(promised, self.best.value), self.tame_best(), self.best.value)

    def tame_best(self) -> NumericRow | None:
        """Return the best row, numbers near the largest float replaced by smaller ones that are worth as much."""
        if self.best.row is None:
            return None
        row = dict(self.best.row)
        for size in (1e3, NEAR, 1e12, 1e100):
            huge = {name: value for name, value in row.items() if HUGE <= abs(value) < math.inf}
            less = {name: math.copysign(size, value) for name, value in huge.items()}
            less = {name: value for name, value in less.items() if self.program.inputs[name].holds(value)}
            for smaller in (less, *({name: value} for name, value in less.items())):
                if self.value({**row, **smaller}) >= self.best.value:
                    row |= smaller
        return row

    def is_out_of_time(self) -> bool:
        return self.work > MOST_WORK or self.deadline.passed

    def is_settled(self, promised: float) -> bool:
        return self.best.row is not None and (promised <= self.best.value or is_close(promised, self.best.value))

    def push(self, box: Box) -> None:
        """Keep a box that may hold something better, and try a corner of it."""
        self.work += len(self.program.nodes)
        found = bound_nodes_within(
            self.program, {name: to_interval(part) for name, part in box.items()}, assumed=self.given_intervals
        )
        promised = found[self.asked].high
        if found[self.given].high == 0 or (self.best.row is not None and promised <= self.best.value):
            return
        self.attempt(box, promised, climbing=self.best.row is None)
        heapq.heappush(self.queue, (-promised, next(self.number), box, found))

    def attempt(self, box: Box, promised: float, *, climbing: bool) -> None:
        """Try the row of a box that is nearest to the best so far, or the way up from there."""
        known = self.best.row or {}
        row = {name: nearest_value(part, known.get(name, part[0])) for name, part in box.items()}
        row, value = self.climb(row, box, promised) if climbing else (row, self.value(row))
        if value > self.best.value:
            self.best = Maximum(promised, row, value)

    def climb(self, row: NumericRow, box: Box, promised: float) -> tuple[NumericRow, float]:
        """Move one input at a time to an end or the middle of its part, for as long as that leads higher.

        Where a fact ties an input to its other end (a step of at most 1), the two are moved together.
        """
        value = self.value(row)
        for name, part in box.items():
            if is_close(value, promised) or self.is_out_of_time():
                break
            for other in dict.fromkeys((part[-1], part[len(part) // 2], part[0])):
                if other == row[name]:
                    continue
                moved = {**row, name: other}
                better = self.value(moved)
                if better == -math.inf and (partners := self.partners[name]):
                    moved |= {partner: nearest_value(box[partner], other) for partner in partners}
                    better = self.value(moved)
                if better > value:
                    row, value = moved, better
        return row, value

    def value(self, row: NumericRow) -> float:
        """Return what a single row gives; -inf where what is given does not hold of it."""
        self.work += len(self.program.nodes)
        self.tried += 1
        if self.tried <= FEW_ROWS:
            return evaluate(self.program, row)
        return self.compiled(row)

    @cached_property
    def compiled(self) -> Callable[[NumericRow], float]:
        """What a row gives."""
        return compile_question(self.program)

    def cut(self, box: Box, found: tuple[Interval, ...]) -> list[Box]:
        """Return a box in parts: by a choice that is still open in it, or simply in halves."""
        open_choices = [
            at
            for at, node in enumerate(self.program.nodes)
            if isinstance(node, _CHOOSING) and self.is_open(node, found)
        ]
        votes: dict[str, int] = {}
        for at in open_choices:
            for name in self.reads[at]:
                votes[name] = votes.get(name, 0) + 1
        for name in sorted(votes, key=lambda name: -votes[name]):
            if parts := self.split(name, box[name]):
                return [{**box, name: part} for part in parts]
        read = self.reads[self.asked] | self.reads[self.given]
        widths = {name: part[-1] - part[0] for name, part in box.items() if name in read and part[-1] > part[0]}
        if not widths:
            return []
        widest = max(widths, key=lambda name: widths[name])
        return [{**box, widest: part} for part in halve(box[widest])]

    def is_open(self, node: n.Node, found: tuple[Interval, ...]) -> bool:
        match node:
            case _ if isinstance(node, _JUMPING):
                arg = found[n.operands(node)[0]]
                return arg.low < arg.high and any(arg.low <= edge <= arg.high for edge in node.edges)
            case n.Binary(left, right) if isinstance(node, n.Min | n.Max):
                return found[left].high > found[right].low and found[right].high > found[left].low
            case n.Abs(arg):
                return found[arg].low < 0 < found[arg].high
            case n.Clip(arg, low, high):
                return found[arg].low < found[low].high or found[arg].high > found[high].low
            case n.Item(_, index):
                return found[index].low < found[index].high
            case n.Binary(left, right):
                return found[left].high >= found[right].low and found[right].high >= found[left].low
        return False

    def split(self, name: str, part: Part) -> list[Part]:
        """Return a part cut at the values that the input is compared with, or its single values."""
        if not isinstance(part, Interval):
            return halve(part) if len(part) > 1 else []
        inside = [at for at in self.breakpoints[name] if part.low <= at <= part.high and part.low < part.high]
        if not inside:
            return []
        at = inside[len(inside) // 2]
        below, above = math.nextafter(at, -math.inf), math.nextafter(at, math.inf)
        parts = [Interval(part.low, below), Interval(at, at), Interval(above, part.high)]
        return [each for each in parts if each.low <= each.high]


def list_inputs_read(program: Program) -> list[frozenset[str]]:
    """Return for each node the inputs it depends on."""
    found: list[frozenset[str]] = []
    for node in program.nodes:
        own = frozenset([node.name]) if isinstance(node, n.Input) else frozenset[str]()
        found.append(own.union(*(found[at] for at in n.operands(node))))
    return found


def list_boxes(program: Program) -> Iterator[Box]:
    """Yield what is declared as boxes: one, and one more for every combination of inputs that may be infinite.

    Where there are many such inputs the others of them reach to infinity in every box.
    """
    box: dict[str, Part] = {
        name: list_choices(field) or declared_range(field) for name, field in program.inputs.items()
    }
    open_ends = [name for name, field in program.inputs.items() if field.infinite]
    boxes = [box | {name: Interval(box[name][0], math.inf) for name in open_ends[MOST_INFINITE:]}]
    for name in open_ends[:MOST_INFINITE]:
        boxes += [{**each, name: (math.inf,)} for each in boxes]
    yield from boxes


def nearest_value(part: Part, value: float) -> float:
    """Return the value of a part that is nearest to `value`."""
    if isinstance(part, Interval):
        return min(max(value, part.low), part.high)
    return min(part, key=lambda each: abs(each - value) if each != value else 0.0)


def to_interval(part: Part) -> Interval:
    """Return the interval that holds a part."""
    return Interval(part[0], part[-1])


def halve(part: Part) -> list[Part]:
    """Return a part in two; an interval over many magnitudes is cut at 0, then at the middle of its magnitudes."""
    if not isinstance(part, Interval):
        middle = len(part) // 2
        return [part[:middle], part[middle:]]
    low, high = part
    if low < 0 < high:
        at = 0.0
    elif max(abs(low), abs(high)) > 1e6:
        small = max(min(abs(low), abs(high)), 1.0)
        at = math.copysign(math.sqrt(small) * math.sqrt(max(abs(low), abs(high))), low + high)
    else:
        at = (low + high) / 2
    if not low < at < high:
        return []
    return [Interval(low, at), Interval(at, high)]


def find_given_intervals(program: Program) -> dict[int, Interval]:
    """Return what the given comparisons say of single nodes, and of differences of the two that they compare."""
    found: dict[int, Interval] = {}
    constants = {at: float(node.value) for at, node in enumerate(program.nodes) if isinstance(node, n.Const)}
    waiting = [program.outputs["given"]]
    while waiting:
        match program.nodes[waiting.pop()]:
            case n.And(left, right):
                waiting += [left, right]
            case n.Le(left, right) | n.Lt(left, right) | n.Ge(right, left) | n.Gt(right, left):  # left <= right
                if right in constants:
                    _narrow(found, left, -math.inf, constants[right])
                if left in constants:
                    _narrow(found, right, constants[left], math.inf)
                for at, node in enumerate(program.nodes):
                    if node == n.Sub(right, left):
                        _narrow(found, at, 0.0, math.inf)
                    elif node == n.Sub(left, right):
                        _narrow(found, at, -math.inf, 0.0)
    for at, node in enumerate(program.nodes):  # what is known of a difference is known of its negative
        if isinstance(node, n.Sub) and at in found:
            for other, opposite in enumerate(program.nodes):
                if opposite == n.Sub(node.right, node.left):
                    _narrow(found, other, -found[at].high, -found[at].low)
    return found


def _narrow(found: dict[int, Interval], at: int, low: float, high: float) -> None:
    known = found.get(at, Interval(-math.inf, math.inf))
    found[at] = Interval(max(known.low, low), min(known.high, high))
