"""The lowest and highest value of each term and of the total, over the declared ranges of the fields."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from plaudit.checks.model import RewardModel, refuse_contradiction
from plaudit.checks.solver.boxes import Maximum
from plaudit.checks.solver.deadline import NEVER, Deadline
from plaudit.checks.solver.question import Copy, Question
from plaudit.checks.solver.ranges import NumericRow, decode_row, is_unlimited
from plaudit.checks.solver.solver import Solver
from plaudit.errors import DefinitionError
from plaudit.html import build_name, build_table
from plaudit.language import nodes as n
from plaudit.reward.reward import Reward
from plaudit.terminal import escape_line, format_table

Inputs = Mapping[str, float | bool | str]


@dataclass(frozen=True, slots=True)
class Bound:
    """An interval that contains every value of a term or total.

    If `exact`, both ends are reached by some inputs. Otherwise the interval may be too wide, but never too narrow.

    >>> print(Bound(-9.0, 5.0), Bound(-9.0, 5.0, exact=False))
    [-9, 5] within [-9, 5]
    """

    low: float
    high: float
    exact: bool = True
    lowest: Inputs | None = field(default=None, repr=False, compare=False)
    """Inputs that give the lowest value that was found."""
    highest: Inputs | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        low, high = ("inf" if math.isinf(end) else f"{end:z.6g}" for end in (self.low, self.high))
        text = f"[{'-' if self.low == -math.inf else ''}{low}, {high}]"
        return text if self.exact else f"within {text}"

    @property
    def size(self) -> float:
        """The larger absolute value of the two ends."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of the total and of each term's score and value.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=2)
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> found = bounds(reaching)
    >>> print(found.total, found.scores["near"], found.values["near"])
    [0, 2] [0, 1] [0, 2]
    """

    total: Bound
    scores: Mapping[str, Bound]
    """Each term's score, before clamp and weight."""
    values: Mapping[str, Bound]
    """What each term adds to the total."""

    def __str__(self) -> str:
        """Return a table of the ranges of each term and of the total."""
        rows = [(escape_line(name), str(self.scores[name]), str(value)) for name, value in self.values.items()]
        return format_table([("term", "score", "value"), *rows], total=("total", "", str(self.total)))

    def _repr_html_(self) -> str:
        rows = [(build_name(name), str(self.scores[name]), str(value)) for name, value in self.values.items()]
        return build_table(("term", "score", "value"), rows, total=("total", "", str(self.total)))


def bounds(reward: Reward, *, facts: bool = False, timeout: float = 10.0) -> Bounds:
    """Find the range of each score, each value and the total over the declared ranges.

    Args:
        reward: The reward to bound.
        facts: Count only steps that satisfy the declared facts.
        timeout: Time limit in seconds for all bounds together. A bound that is not found in time is wider, and its
            `exact` is false.

    Returns:
        The range of the total and of each term.

    Raises:
        DefinitionError: `reward` is not a Reward, or no step satisfies the facts.

    >>> from plaudit import Field, Task, fact, term
    >>> @term
    ... def closer(distance, speed):
    ...     return speed - distance
    >>> @fact
    ... def slow_when_near(distance, speed):
    ...     return speed <= distance
    >>> fields = [Field("distance", low=0, high=9), Field("speed", low=0, high=5)]
    >>> task = Task(facts=[slow_when_near])
    >>> reaching = Reward("reaching", version="1", terms=[closer], fields=fields, task=task)
    >>> bounds(reaching).total
    Bound(low=-9.0, high=5.0, exact=True)
    >>> print(bounds(reaching, facts=True).total)
    [-9, 0]
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"bounds takes a Reward, not a {type(reward).__name__}")
    model, solver = RewardModel(reward._as_declared), Solver(Deadline.after(timeout))
    if facts:
        refuse_contradiction(model, solver, "has no bounds")
    return Ranges(model, solver, facts=facts).bounds()


@dataclass(frozen=True, slots=True)
class Span:
    """The two ends of an output: bounds, and the lowest and highest values that a row is known to attain."""

    low: float
    high: float
    lowest: NumericRow | None
    highest: NumericRow | None
    least: float
    most: float
    exact: bool

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends as they are shown: the values that are reached if they are exact."""
        return (self.least + 0.0, self.most + 0.0) if self.exact else (self.low, self.high)

    @classmethod
    def of(cls, negative: Maximum, high: Maximum) -> "Span":
        """Return the span of an output from its maximum and the maximum of its negative."""
        ends = open_end(-negative.bound), open_end(high.bound)
        exact = negative.exact and high.exact
        return cls(*ends, negative.row, high.row, -negative.value, high.value, exact)

    def bound(self, model: RewardModel, deadline: Deadline = NEVER) -> Bound:
        """Return the public form: whole rows by name; an end counts as reached only by a row that can be scored."""
        exact, rows = self.exact, []
        for row, end in ((self.lowest, self.low), (self.highest, self.high)):
            whole, scores = (None, None) if row is None else model.complete(row, deadline)
            if whole is not None and math.isfinite(end) and scores is None:
                exact, whole = False, None
            rows.append(None if whole is None else decode_row(whole, model.fields))
        return Bound(self.low, self.high, exact, *rows)


@dataclass(frozen=True)
class Ranges:
    """The ends of outputs, as a solver finds them."""

    model: RewardModel
    solver: Solver
    facts: bool = True

    def span(self, output: str) -> Span:
        """Return the ends of one output: `total`, `comfort.score`."""
        low, high = (self.solver.maximise(self._question[0], at) for at in self._list_ends(output))
        return Span.of(low, high)

    def spans(self, outputs: Iterable[str]) -> dict[str, Span]:
        """Return the ends of several outputs: from intervals first, then tightened as time allows."""
        question, _ = self._question
        ends = {output: self._list_ends(output) for output in outputs}
        intervals = question.bound_nodes()
        found = {at: Maximum(intervals[at].high, None) for both in ends.values() for at in both}
        self.solver.settle(found, lambda at, solver: solver.maximise(question, at), lambda answer: not answer.exact)
        return {output: Span.of(found[low], found[high]) for output, (low, high) in ends.items()}

    def _list_ends(self, output: str) -> tuple[int, int]:
        """Return the two nodes to maximise: the negative of an output, and the output itself."""
        question, copy = self._question
        return question.builder.simplify(n.Neg(copy[output])), copy[output]

    @cached_property
    def _question(self) -> tuple[Question, Copy]:
        if self.facts:
            return self.model.any_step
        question = Question()
        return question, question.copy(self.model.program)

    def bounds(self) -> Bounds:
        """Return the bounds of all outputs."""
        names = self.model.program.terms
        outputs = [*(f"{name}.{part}" for part in ("score", "value") for name in names), "total"]
        found = {output: span.bound(self.model, self.solver.deadline) for output, span in self.spans(outputs).items()}
        scores, values = ({name: found[f"{name}.{part}"] for name in names} for part in ("score", "value"))
        return Bounds(found["total"], scores, values)


def open_end(value: float) -> float:
    """Return an end, infinite where no declared range keeps it finite; no negative zero."""
    return math.copysign(math.inf, value) if is_unlimited(value) else value + 0.0
