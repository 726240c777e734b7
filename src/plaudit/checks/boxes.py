"""The highest value of an expression, found by cutting the declared ranges into boxes.

Intervals bound each box; the box that promises most is cut next, at a value its inputs are compared with. Once every
choice in a box is made, intervals are usually exact, and a corner of the box attains what they promise.
"""

import heapq
import math
from dataclasses import dataclass
from itertools import count

from plaudit.checks.aims import cuts
from plaudit.checks.assumed import assumed
from plaudit.checks.domain import HUGE, NEAR, Row, choices, span
from plaudit.checks.parts import Box, Part, halves, hull, nearest, whole
from plaudit.language import nodes as n
from plaudit.language.interval import Interval
from plaudit.language.intervals import within
from plaudit.language.program import Program

MOST_BOXES = 150
MOST_WORK = 1_000_000
"""How many nodes a search may compute: about a second's worth."""
PATIENCE = 30
"""A search that has made no headway in so many boxes is given up."""
CLOSE = 1e-9
"""Two values are the same when they differ by no more than this, relative to the larger."""


@dataclass(frozen=True, slots=True)
class Highest:
    """How high a question's answer can be."""

    bound: float
    """It is never higher."""
    row: Row | None
    """Inputs that attain `value`; None where none are known."""
    value: float = -math.inf

    @property
    def exact(self) -> bool:
        """Whether the bound is attained."""
        return self.row is not None and close(self.value, self.bound)

    @property
    def possible(self) -> bool:
        """Whether what is given can be true at all, as far as is known."""
        return self.bound > -math.inf


def close(left: float, right: float) -> bool:
    """Return whether two values are the same but for rounding."""
    return math.isclose(left, right, rel_tol=CLOSE, abs_tol=CLOSE)


def highest(program: Program, *, enough: float = math.inf, most: int = MOST_BOXES) -> Highest:
    """Return how high the output `asked` of a question can be where its output `given` is true.

    The search ends early once a value above `enough` is found.
    """
    return _Search(program, enough).run(most)


def climbed(program: Program, row: Row) -> tuple[Row, float]:
    """Return a row that is at least as high as `row`, and its value: each input moved to an end where that helps."""
    box: Box = {name: choices(field) or span(field) for name, field in program.inputs.items()}
    wide = {name: (row[name],) if math.isinf(row[name]) else box[name] for name in box}
    return _Search(program, math.inf).climbed(row, wide, math.inf)


class _Search:
    """One search: the boxes still to be cut, and the best row so far."""

    def __init__(self, program: Program, enough: float) -> None:
        self.program = program
        self.enough = enough
        self.asked, self.given = program.outputs["asked"], program.outputs["given"]
        self.cuts = cuts(program)
        self.reads = _reads(program)
        self.assumed = assumed(program)
        self.number = count()
        self.work = 0
        self.queue: list[tuple[float, int, Box, tuple[Interval, ...]]] = []
        self.best = Highest(-math.inf, None)
        self.partners = {
            name: [other for other, same in program.inputs.items() if same.name == field.name and other != name]
            for name, field in program.inputs.items()
        }

    def run(self, most: int) -> Highest:
        for box in whole(self.program):
            self.push(box)
        before: tuple[float, float] | None = None
        for done in range(most):
            over = self.best.value > self.enough or self.work > MOST_WORK
            if not self.queue or over or self.settled(-self.queue[0][0]):
                break
            if done % PATIENCE == 0:
                now = (self.queue[0][0], self.best.value)
                if now == before:  # cutting leads nowhere: the bound hangs on how inputs go together
                    break
                before = now
            _, _, box, found = heapq.heappop(self.queue)
            self.attempt(box, found[self.asked].high, climb=True)
            parts = self.cut(box, found)
            if not parts:
                heapq.heappush(self.queue, (-found[self.asked].high, next(self.number), box, found))
                break
            for part in parts:
                self.push(part)
        promised = -self.queue[0][0] if self.queue else -math.inf
        return Highest(max(promised, self.best.value), self.tamed(), self.best.value)

    def tamed(self) -> Row | None:
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

    def settled(self, promised: float) -> bool:
        return self.best.row is not None and (promised <= self.best.value or close(promised, self.best.value))

    def push(self, box: Box) -> None:
        """Keep a box that may hold something better, and try a corner of it."""
        self.work += len(self.program.nodes)
        found = within(self.program, {name: hull(part) for name, part in box.items()}, assumed=self.assumed)
        promised = found[self.asked].high
        if found[self.given].high == 0 or (self.best.row is not None and promised <= self.best.value):
            return
        self.attempt(box, promised, climb=self.best.row is None)
        heapq.heappush(self.queue, (-promised, next(self.number), box, found))

    def attempt(self, box: Box, promised: float, *, climb: bool) -> None:
        """Try the row of a box that is nearest to the best so far, or the way up from there."""
        known = self.best.row or {}
        row = {name: nearest(part, known.get(name, part[0])) for name, part in box.items()}
        row, value = self.climbed(row, box, promised) if climb else (row, self.value(row))
        if value > self.best.value:
            self.best = Highest(promised, row, value)

    def climbed(self, row: Row, box: Box, promised: float) -> tuple[Row, float]:
        """Move one input at a time to an end or the middle of its part, for as long as that leads higher.

        Where a fact ties an input to its other end (a step of at most 1), the two are moved together.
        """
        value = self.value(row)
        for name, part in box.items():
            if close(value, promised) or self.work > MOST_WORK:
                break
            for other in dict.fromkeys((part[-1], part[len(part) // 2], part[0])):
                if other == row[name]:
                    continue
                moved = {**row, name: other}
                better = self.value(moved)
                if better == -math.inf and (partners := self.partners[name]):
                    moved |= {partner: nearest(box[partner], other) for partner in partners}
                    better = self.value(moved)
                if better > value:
                    row, value = moved, better
        return row, value

    def value(self, row: Row) -> float:
        """Return what a single row gives; -inf where what is given does not hold of it."""
        self.work += len(self.program.nodes)
        found = within(self.program, {name: Interval(value, value) for name, value in row.items()})
        return found[self.asked].low if found[self.given].low == 1 else -math.inf

    def cut(self, box: Box, found: tuple[Interval, ...]) -> list[Box]:
        """Return a box in parts: by a choice that is still open in it, or simply in halves."""
        open_choices = [
            at for at, node in enumerate(self.program.nodes) if isinstance(node, _CHOOSING) and self.open(node, found)
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
        return [{**box, widest: part} for part in halves(box[widest])]

    def open(self, node: n.Node, found: tuple[Interval, ...]) -> bool:
        match node:
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
            return halves(part) if len(part) > 1 else []
        inside = [at for at in self.cuts[name] if part.low <= at <= part.high and part.low < part.high]
        if not inside:
            return []
        at = inside[len(inside) // 2]
        below, above = math.nextafter(at, -math.inf), math.nextafter(at, math.inf)
        parts = [Interval(part.low, below), Interval(at, at), Interval(above, part.high)]
        return [each for each in parts if each.low <= each.high]


_CHOOSING = (n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne, n.Min, n.Max, n.Abs, n.Clip, n.Item)


def _reads(program: Program) -> list[frozenset[str]]:
    """Return for each node the inputs it depends on."""
    found: list[frozenset[str]] = []
    for node in program.nodes:
        own = frozenset([node.name]) if isinstance(node, n.Input) else frozenset[str]()
        found.append(own.union(*(found[at] for at in n.operands(node))))
    return found
