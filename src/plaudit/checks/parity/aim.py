"""Rows aimed at the branches of a reward: some that take each, and some on both sides of every threshold."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from plaudit.checks.branches import Branch, Decision
from plaudit.checks.parity.candidates import build_pools, draw_value
from plaudit.checks.parity.coverage import BranchQuestions
from plaudit.checks.parity.judge import Judge
from plaudit.checks.solver.question import Witness, list_inputs
from plaudit.checks.solver.ranges import decode_row
from plaudit.checks.step_facts import StepFacts
from plaudit.checks.trace import FLOATS_BETWEEN, PAST, Values, find_edge, move_to_edge, to_float32
from plaudit.errors import InputError
from plaudit.language import nodes as n
from plaudit.reward.reward import Reward
from plaudit.rows.row import FlatRow, Value

EXPLORED = 400
"""Random rows that are drawn to see which branches they take. Only the reward itself scores them."""
KEPT = 6
"""Rows that are kept of each branch."""
VARIED = 24
"""Random changes of a row that takes a branch, to find others that take it."""
MOST_VALUES = 24
"""Values of one input that are tried to take a decision the other way."""
MOST_EDGES = 2
"""Inputs that are moved across each threshold."""
COMPARISONS = (n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne)


class Sample(NamedTuple):
    """A row that can be compared, with the values of all nodes of the reward."""

    row: FlatRow
    values: Values
    taken: frozenset[Branch]


class Aim:
    """A search for rows that take the branches of a reward."""

    def __init__(self, reward: Reward, judge: Judge, questions: BranchQuestions, *, seed: int = 0) -> None:
        """Draw values that `reward` turns at; 32-bit floats where the judge computes with them."""
        self.found: dict[Branch, list[Sample]] = {}
        """Rows that take each branch."""
        self.pools = build_pools(reward, single=judge.single)
        self.steps = StepFacts(reward)
        self.steps.probe({name: pool.values for name, pool in self.pools.items()}, seed)
        self._judge = judge
        self._questions = questions
        self._branches = questions.branches
        self._chance = Random(seed)

    def list_rows(self, *, most: int) -> list[FlatRow]:
        """Return up to `most` rows: some that take each branch, then some at thresholds, then others."""
        drawn = [{name: draw_value(pool, self._chance) for name, pool in self.pools.items()} for _ in range(EXPLORED)]
        for row in drawn:  # all are drawn: what is drawn later stays the same
            if all(len(self.found.get(branch, ())) >= KEPT for branch in self._branches.all):
                break
            self._keep(row)
        for branch in self._branches.all:
            if branch not in self.found:
                self._turn_decision(branch)
            if branch not in self.found and isinstance(answer := self._questions.find_row(branch), Witness):
                self._keep(decode_row(self._questions.complete_row(answer.row), self._branches.program.inputs))
        for branch in self._branches.all:
            self._vary(branch)
        edges = [row for decision in self._list_decisions() for row in self._list_edges(decision)]
        covering = list(self._cover())
        others = (samples[at].row for at in range(KEPT) for _, samples in self._list_found() if at < len(samples))
        distinct = {tuple(row.values()): row for row in [*covering, *edges, *others]}
        return list(distinct.values())[: min(most, max(most // 2, len(covering)))]

    def draw_row(self, chance: Random) -> FlatRow:
        """Return a random row: at thresholds, between them, and at thresholds that several inputs form together."""
        row: FlatRow = {}
        for name, pool in self.pools.items():
            row[name] = draw_value(pool, chance)
            other = chance.choice(list(self.pools))  # two inputs may be compared with one another
            if chance.randrange(5) == 4 and other in row and self._is_alike(name, other, row[other]):
                row[name] = row[other]
        numbers = [name for name, pool in self.pools.items() if pool.marks]
        if numbers and chance.randrange(2):
            name = chance.choice(numbers)
            past = chance.choice(PAST) * (FLOATS_BETWEEN if self._judge.single else 1)
            row = move_to_edge(self._branches.trace, row, name, chance.choice(self.pools[name].marks), past=past)
        return self._mend(row)

    def _is_alike(self, name: str, other: str, value: Value) -> bool:
        pool = self.pools[name]
        return bool(pool.marks and self.pools[other].marks) and pool.field.holds(value)

    def _mend(self, row: FlatRow) -> FlatRow:
        """Return a row with numbers that can be sent and that change as their fields declare."""
        if self._judge.single:
            row = row | {name: to_float32(float(row[name])) for name, pool in self.pools.items() if pool.marks}
        return self.steps.mend(row)

    def _keep(self, row: FlatRow) -> Sample | None:
        """Remember which branches a row takes; None where it cannot be compared."""
        row = self._mend(row)
        if self.steps.needed and self.steps.find_broken(row):
            return None
        try:
            self._judge.score(row)
        except InputError:
            return None
        values = self._branches.trace.values(row)
        sample = Sample(row, values, frozenset(self._branches.find_taken(values)))
        for branch in sample.taken:
            kept = self.found.setdefault(branch, [])
            if len(kept) < KEPT:
                kept.append(sample)
        return sample

    def _turn_decision(self, branch: Branch) -> None:
        """Look for a branch where its decision goes another way, by another value of a single input."""
        decision = branch.decision
        others = [each for way in (-1, 0, 1) for each in self.found.get(Branch(decision, way), ())]
        for sample in others:
            for name in sorted(list_inputs(self._branches.program.nodes, decision.node)):
                for value in self.pools[name].values[:MOST_VALUES]:
                    self._keep({**sample.row, name: value})
                    if branch in self.found:
                        return

    def _vary(self, branch: Branch) -> None:
        """Find more rows that take a branch, none of their numbers special."""
        known = self.found.get(branch, [])[:1]
        for _ in range(VARIED if known else 0):
            if len(self.found[branch]) >= KEPT:
                return
            row = dict(self._chance.choice(self.found[branch]).row)
            for name in self._chance.sample(list(row), k=self._chance.randint(1, len(row))):
                row[name] = draw_value(self.pools[name], self._chance)
            self._keep(row)

    def _cover(self) -> Iterator[FlatRow]:
        covered: set[Branch] = set()
        for branch, samples in self._list_found():
            if branch not in covered:
                covered |= samples[0].taken
                yield samples[0].row

    def _list_found(self) -> list[tuple[Branch, list[Sample]]]:
        """Return the branches that were found and their rows, in the same order every time."""
        return [(branch, self.found[branch]) for branch in self._branches.all if branch in self.found]

    def _list_decisions(self) -> Iterable[Decision]:
        nodes = self._branches.program.nodes
        return dict.fromkeys(
            branch.decision for branch, _ in self._list_found() if isinstance(nodes[branch.decision.node], COMPARISONS)
        )

    def _list_edges(self, decision: Decision) -> list[FlatRow]:
        """Return rows on both sides of a threshold, by moving single inputs across it.

        It prefers rows on which the side changes the term.
        """
        samples = [each for way in (1, 0) for each in self.found.get(Branch(decision, way), ())]
        rows: list[FlatRow] = []
        spare: list[FlatRow] = []
        for name in sorted(list_inputs(self._branches.program.nodes, decision.node)):
            for sample in samples:
                found, matters = self._cross_threshold(decision, sample, name)
                if matters:
                    rows += found
                    break
                spare = spare or found
            if len(rows) >= MOST_EDGES * len(PAST):
                break
        return rows or spare

    def _cross_threshold(self, decision: Decision, sample: Sample, name: str) -> tuple[list[FlatRow], bool]:
        """Return the rows around a threshold that one input crosses, and whether it matters to the term."""
        near = float(sample.row[name]) if self.pools[name].marks else math.inf

        def is_same(value: float) -> bool:
            flag = self._branches.trace.values({**sample.row, name: value})[decision.node]
            return bool(flag) == bool(sample.values[decision.node])

        for far in _list_far_values(near, self.pools[name].marks, is_same):
            edge = find_edge(near, far, is_same)
            moved = [edge.move(past * (FLOATS_BETWEEN if self._judge.single else 1)) for past in PAST]
            inside = [value for value in moved if self.pools[name].field.holds(value)]
            around = [found for value in inside if (found := self._keep({**sample.row, name: value})) is not None]
            sides = {way: [each for each in around if Branch(decision, way) in each.taken] for way in (0, 1)}
            root = self._branches.program.outputs[decision.root]
            if sides[0] and sides[1]:
                return [each.row for each in around], sides[0][0].values[root] != sides[1][0].values[root]
        return [], False


def _list_far_values(near: float, marks: Sequence[float], is_same: Callable[[float], bool]) -> Iterator[float]:
    """Yield the nearest values below and above `near` at which a comparison has another result."""
    if math.isfinite(near):
        nearest = sorted(marks, key=lambda mark: abs(mark - near))
        for side in ([mark for mark in nearest if mark < near], [mark for mark in nearest if mark > near]):
            yield from islice((mark for mark in side if not is_same(mark)), 1)
