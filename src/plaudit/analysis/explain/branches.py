"""`nearest_branches`: the branches that a step takes, the nearest other ones and what these would pay."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from plaudit.analysis.explain.step_branches import NearestBranch, StepBranches, TermBranches
from plaudit.checks.branches import Branch, Branches, Condition, Decision, Place, Value, mark_branches, read_number
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.question import list_inputs
from plaudit.checks.solver.ranges import NEAR, declared_range, decode_value, encode_value, limit_range, list_choices
from plaudit.checks.step_facts import StepFacts
from plaudit.checks.trace import Trace, Values, find_edge
from plaudit.errors import InputError
from plaudit.language import nodes as n
from plaudit.language.reading.source import SourceLine
from plaudit.reward.lower import Function
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

FINEST = 2.0**-12
"""How far from a number the search begins, as a share of it; each further place is twice as far."""
MOST_EDGES = 16
"""Maximum number of branches with equal pay to pass in one direction."""


def nearest_branches(reward: Reward, row: Mapping[str, Any] | Signal) -> StepBranches:
    """Find which branches of a reward a step takes, how far the nearest other ones are, and what they would pay.

    One input is changed at a time, to the first value at which a condition, a clamp or a choice comes out differently
    and the term pays something else, or begins to. Each such step is really scored. Conditions that are not linear in
    an input are searched at doubling distances, so a zone between two of these may be missed.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance <= 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, unit="m")])
    >>> print(nearest_branches(reaching, {"distance": 2.4}))
    reaching@1 pays 0
    <BLANKLINE>
    near: 0
      line 3: 0
      distance <= 2 is false (2.4)
      0.4 m less distance (2): it would pay 1, total 1

    Args:
        reward: A reward. One that was loaded from a ledger has no source lines.
        row: The inputs of a step, as `reward.score` takes them by keyword, or its signal.

    Returns:
        The branches of each term.

    Raises:
        InputError: The row cannot be scored.
    """
    if isinstance(row, Signal):
        reward, row = reward._final if row.frame.part == "final" else reward, row.inputs
    return _Step(reward, reward.score(**row)).explain()


class _Root(NamedTuple):
    """A term or another row of the score: its own decisions, and the inputs that they read."""

    output: str
    decisions: frozenset[Decision]
    inputs: frozenset[str]
    flags: tuple[int, ...]
    """Every flag on the way to it."""
    choices: tuple[Decision, ...]
    """Every choice on the way to it: these and the flags say which way was taken."""

    @property
    def term(self) -> str:
        return self.output.removesuffix(".value")


class _Decisions:
    """What the steps of a reward have in common: its rows, their decisions, and where these may turn."""

    def __init__(self, reward: Reward) -> None:
        self.program = reward.program.bind()
        self.branches = Branches(self.program)
        self.facts = StepFacts(reward)
        self.roots = self._list_roots()
        self.cuts = find_breakpoints(self.program)
        self.margins = list(_list_margins(self.branches, self.roots))

    def _list_roots(self) -> list[_Root]:
        """Return the rows of the score, each with the decisions that none before it takes."""
        known: set[tuple[int, int]] = set()
        roots = []
        for output, walk in self.branches.walks.items():
            every = list(chain.from_iterable(walk.parts.values()))
            own = frozenset(each for each in every if (each.user, each.node) not in known)
            known |= {(each.user, each.node) for each in own}
            inputs = frozenset[str]().union(*(list_inputs(self.program.nodes, each.node) for each in own))
            flags = tuple(at for at in walk.order if self.branches.flags[at])
            roots.append(_Root(output, own, inputs, flags, tuple(each for each in every if each.user == each.node)))
        return [root for root in roots if root.output != "total" or root.decisions]


@lru_cache(maxsize=16)
def _list_decisions(reward: Reward) -> _Decisions:
    """Return the decisions of a reward, which never changes: a report asks for them at every step."""
    return _Decisions(reward)


class _Step:
    """One step of a reward, and its scores with one input changed."""

    def __init__(self, reward: Reward, signal: Signal) -> None:
        self.reward, self.signal = reward, signal
        common = _list_decisions(reward)
        self.program, self.branches = common.program, common.branches
        self.facts, self.roots, self.cuts, self.margins = common.facts, common.roots, common.cuts, common.margins
        self.row: dict[str, Value] = {
            name: decode_value(field, value)
            for (name, field), value in zip(reward.program.inputs.items(), signal.row, strict=True)
        }
        self.values = self._compute(self.row)
        self.known: dict[tuple[str, Value], Values] = {}
        self.taken: dict[tuple[object, ...], frozenset[Branch]] = {}
        self.broken = self._find_broken(self.row)

    def _compute(self, row: Mapping[str, Value]) -> Values:
        return self.branches.trace.values({name: row[name] for name in self.program.inputs})

    def explain(self) -> StepBranches:
        """Return the branches of each row of the score."""
        nearest = self._find_nearest()
        functions = {each.name: each for each in self.reward._functions}
        terms = []
        for root in self.roots:
            path = self.branches.find_path(root.output, self.values)
            nodes = [self.program.nodes[at] for at in path.nodes]
            read = {node.name for node in nodes if isinstance(node, n.Input)}
            terms.append(
                TermBranches(
                    root.term,
                    self._read_value(root, self.signal),
                    tuple(name for name in self.program.inputs if name in read),
                    _find_lines(self.reward, functions[root.term], self.row) if root.term in functions else (),
                    tuple(self._list_conditions(root)),
                    tuple(sorted(nearest[root.output], key=self._measure_distance)),
                )
            )
        return StepBranches(f"{self.reward.name}@{self.reward.version}", self.signal.total, tuple(terms))

    def _read_value(self, root: _Root, signal: Signal) -> float:
        return signal.total if root.output == "total" else signal[root.term].value

    # -- what was taken -------------------------------------------------------------------------------------------

    def _list_taken(self, root: _Root, values: Values) -> frozenset[Branch]:
        turns = (root.output, *(bool(values[at]) for at in root.flags))
        turns += tuple(self.branches.read_way(each, values) for each in root.choices)
        if turns not in self.taken:
            taken = self.branches.find_path(root.output, values).branches
            self.taken[turns] = frozenset(branch for branch in taken if branch.decision in root.decisions)
        return self.taken[turns]

    def _list_conditions(self, root: _Root) -> Iterator[Condition]:
        texts: set[str] = set()
        for branch in sorted(self._list_taken(root, self.values), key=_order):
            condition = self.branches.read_condition(branch, self.values)
            if condition.text not in texts and not isinstance(self.program.nodes[branch.decision.node], n.Abs):
                texts.add(condition.text)
                yield condition

    # -- what is near ---------------------------------------------------------------------------------------------

    def _find_nearest(self) -> dict[str, list[NearestBranch]]:
        """Return for each row of the score the nearest other branches, an input and a direction at a time."""
        found: dict[str, list[NearestBranch]] = {root.output: [] for root in self.roots}
        fixed = self._list_fixed()
        for name in self.program.inputs:
            roots = [root for root in self.roots if name in root.inputs and name not in fixed]
            self.known.clear()
            for places in self._list_places(name) if roots else ():
                for root in roots:
                    if (branch := self._search(root, name, places)) is not None:
                        found[root.output].append(branch)
        return found

    def _list_fixed(self) -> Sequence[str]:
        """Return the inputs that stay as they are: what only the end of an episode reads is not known before it."""
        of_the_end = self.program.terminal
        if not of_the_end:
            return ()
        return ("terminal",) if self.row["terminal"] else ("terminal", *of_the_end)

    def _list_places(self, name: str) -> Iterator[Sequence[Value]]:
        """Yield where to look for another branch: each time a way that leads off from the value of an input."""
        field, start = self.program.inputs[name], self.row[name]
        if field.kind != "number":
            yield from (
                [decode_value(field, each)] for each in list_choices(field) if decode_value(field, each) != start
            )
            return
        here = encode_value(field, start)
        places = list_choices(field) or self._list_numbers(name, here)
        yield sorted(each for each in places if each > here)
        yield sorted((each for each in places if each < here), reverse=True)

    def _list_numbers(self, name: str, here: float) -> set[float]:
        field = self.program.inputs[name]
        size = abs(here) if math.isfinite(here) else 0.0
        low, high = declared_range(limit_range(field, end=max(NEAR, 2 * size)))
        step = max(size, 1.0) * FINEST
        cuts = {*self.cuts[name], *(self._guess_cuts(name, here, step if here + step <= high else -step))}
        wanted = {low, high, *cuts, *(math.nextafter(cut, way) for cut in cuts for way in (-math.inf, math.inf))}
        while math.isfinite(here) and step < high - low:
            wanted |= {here + step, here - step}
            step *= 2
        inside = {each for each in wanted if low <= each <= high}
        return inside | {math.inf} if field.infinite else inside

    def _guess_cuts(self, name: str, here: float, step: float) -> Iterator[float]:
        """Yield where conditions would turn if each followed the input in a straight line from here on."""
        if not math.isfinite(here):
            return
        beside = self._compute({**self.row, name: here + step})
        for left, right in self.margins:
            now, then = (float(values[left]) - float(read_number(right, values)) for values in (self.values, beside))
            if math.isfinite(now) and math.isfinite(then) and then != now:
                cut = here - now * step / (then - now)
                near = 1e-12 * max(1.0, abs(cut))
                yield from (cut, cut - near, cut + near)  # the last bits of a guess are rounding

    def _search(self, root: _Root, name: str, places: Sequence[Value]) -> NearestBranch | None:
        """Return the first place on the way at which another branch pays differently, or begins to."""
        listed = bool(list_choices(self.program.inputs[name]))
        last, edges = self.row[name], 0
        entered: NearestBranch | None = None  # the branch that was entered last, and pays the same where it begins
        for place in places:
            while self._take(root, name, place) != self._take(root, name, last) and edges < MOST_EDGES:
                edges += 1
                after = place if listed else self._find_edge(root, name, float(last), float(place))
                signal = self._score_row(name, after)
                found = None if signal is None else self._build(root, name, last, after, signal)
                if self._pays_differently(root, signal):
                    return found
                tied = entered is not None and entered.after == last and not listed
                if not tied or math.nextafter(float(last), float(after)) != after:
                    entered = found  # a tie and the float next to it are one edge
                last = after
            if entered is not None and not listed and self._pays_differently(root, self._score_row(name, place)):
                return entered._replace(begins=True)
            last = place
        return None

    def _score_row(self, name: str, value: Value) -> Signal | None:
        try:
            return self.reward.score(**{**self.row, name: value})
        except InputError:
            return None

    def _pays_differently(self, root: _Root, signal: Signal | None) -> bool:
        if signal is None:
            return False
        paid, instead = (self._read_value(root, each) for each in (self.signal, signal))
        return not math.isclose(paid, instead, rel_tol=1e-9, abs_tol=1e-12)

    def _find_edge(self, root: _Root, name: str, last: float, place: float) -> float:
        """Return the first number after `last` that takes other branches; `place` does."""
        taken = self._take(root, name, last)
        return find_edge(last, place, lambda value: self._take(root, name, value) == taken).move(1)

    def _take(self, root: _Root, name: str, value: Value) -> frozenset[Branch]:
        if (name, value) not in self.known:
            self.known[name, value] = self._compute({**self.row, name: value})
        return self._list_taken(root, self.known[name, value])

    def _build(self, root: _Root, name: str, last: Value, after: Value, signal: Signal) -> NearestBranch:
        """Return the branch that begins after the `last` value of an input, with what it pays there."""
        taken, now = (self._take(root, name, each) for each in (last, after))
        turned = min((taken - now) or (now - taken), key=_order)
        row = {**self.row, name: after}
        broken = tuple(each for each in self._find_broken(row) if each not in self.broken)
        field = self.program.inputs[name]
        ends = field.as_declared(self.row[name]), field.as_declared(after)
        paid = self._read_value(root, signal), signal.total
        return NearestBranch(
            name, *ends, field.unit, self.branches.read_condition(turned, self.values).text, *paid, broken
        )

    def _find_broken(self, row: Mapping[str, Value]) -> tuple[str, ...]:
        return *self.facts.find_broken(row), *self.facts.find_wrong_changes(row)

    def _measure_distance(self, branch: NearestBranch) -> float:
        """Return how far a branch is, as a share of what the input can be; what has no distance comes last."""
        if branch.delta is None:
            return math.inf
        low, high = declared_range(self.program.inputs[branch.input])
        reach = high - low
        return abs(branch.delta) / (reach if 0 < reach < NEAR else max(1.0, abs(float(branch.before))))


def _order(branch: Branch) -> tuple[int, int]:
    return branch.decision.node, branch.way


def _list_margins(branches: Branches, roots: Iterable[_Root]) -> Iterator[tuple[int, Place]]:
    """Yield the pairs whose difference changes its sign where a decision turns."""
    for at in dict.fromkeys(each.node for root in roots for each in root.decisions):
        node = branches.program.nodes[at]
        if at in branches.sides:
            arg, *ends = branches.sides[at]
            yield from ((arg, end) for end in dict.fromkeys(ends))
        elif isinstance(node, n.Binary) and not node.takes_flags:
            yield node.left, node.right


def _find_lines(reward: Reward, function: Function, row: Mapping[str, Value]) -> tuple[SourceLine, ...]:
    """Return the places in the source of a term that only some rows reach, and this one does."""
    marked = mark_branches(reward, function)
    if marked is None or not marked.marks:
        return ()
    program = marked.program
    rest = {name: field.at_rest for name, field in program.inputs.items()}  # read, and of no effect
    given = {name: row.get(name, _read_number(reward, name, row, rest[name])) for name in rest}
    values = Trace(program).values(given)
    places = [
        marked.locate(at)
        for at, mark in enumerate(marked.marks)
        if mark.test is None and values[program.outputs[f"reached {at}"]]
    ]
    return tuple(dict.fromkeys(places))


def _read_number(reward: Reward, name: str, row: Mapping[str, Value], otherwise: Value) -> Value:
    if (schedule := reward._schedules.get(name)) is not None:
        return schedule(float(row.get(f"curr.{schedule.counter}", row.get(schedule.counter, 0.0))))
    return reward.params.get(name, otherwise)
