"""A reward as the checker sees it: one bound Program, the roles of its inputs, and the facts about a step."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from plaudit.checks.boxes import highest
from plaudit.checks.domain import NEAR, Row, as_inputs, plain_name, rest
from plaudit.checks.finding import Place, Step
from plaudit.checks.question import Copy, Question
from plaudit.errors import InputError
from plaudit.language import nodes as n
from plaudit.language.field import Field, Role
from plaudit.language.program import Program, reachable
from plaudit.language.source import Source
from plaudit.language.sure import surely
from plaudit.reward.facts import inputs_of
from plaudit.reward.reward import Reward
from plaudit.reward.term import Term
from plaudit.targets.scores import Scores

UNCLAMPED = "total, unclamped"
"""The output that is the sum of all terms before the clamp of the total."""


@dataclass(frozen=True)
class Subject:
    """A reward under examination."""

    reward: Reward

    @cached_property
    def program(self) -> Program:
        """The whole reward with its parameters as constants, and the sum before the last clamp as an output.

        Of the conditions under which a row counts only those are kept that can fail: one that cannot would tie
        every question about a term to all of the inputs.
        """
        whole = self.reward.program
        total = whole.nodes[whole.outputs["total"]]
        clamped = self.reward.low is not None or self.reward.high is not None
        inner = n.operands(total)[0] if clamped else whole.outputs["total"]
        bound = replace(whole, outputs={**whole.outputs, UNCLAMPED: inner}).bound()
        sure = surely(bound).holds
        infinite = any(field.infinite for field in bound.inputs.values())
        open_guards = [
            guard
            for guard in bound.domain
            if guard.node not in sure and (infinite or not isinstance(bound.nodes[guard.node], n.IsFinite))
        ]
        return replace(bound, domain=tuple(open_guards))

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The field of every input, those that only facts read included."""
        return {**self.reward.facts_program.inputs, **self.program.inputs}

    @cached_property
    def terms(self) -> Mapping[str, Term]:
        """The terms by name."""
        return {term.name: term for term in self.reward.terms}

    @cached_property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """The inputs that each term and the total depend on."""
        return {
            name: self._inputs(output)
            for name, output in [*((term, f"{term}.value") for term in self.terms), ("total", "total")]
        }

    @cached_property
    def reads_score(self) -> Mapping[str, frozenset[str]]:
        """The inputs that the score of each term depends on, before clamp and weight."""
        return {term: self._inputs(f"{term}.score") for term in self.terms}

    def _inputs(self, output: str) -> frozenset[str]:
        nodes = self.program.nodes
        reached = reachable(nodes, [self.program.outputs[output]])
        return frozenset(node.name for at in reached if isinstance(node := nodes[at], n.Input))

    def role(self, field: Field) -> Role:
        """Return what a field is: what persists, what the agent chooses, or what happens in a step."""
        if field.role is not None:
            return field.role
        if any(name.startswith(("prev.", "curr.")) and each.name == field.name for name, each in self.fields.items()):
            return "state"
        return "action" if field.name == self.reward.action else "event"

    def where(self, term: str) -> Place | None:
        """Return where a term is defined."""
        return stands(self.terms[term].source) if term in self.terms else None

    def about(self, *inputs: str) -> tuple[str, ...]:
        """Return the facts that tie any of these inputs to others."""
        program = self.reward.facts_program
        named = [fact for fact in program.outputs if set(inputs_of(program, fact)) & set(inputs)]
        declared = {self.fields[name].name: self.fields[name] for name in inputs if name in self.fields}
        short = [f"{name} only rises" for name, field in declared.items() if field.monotone == "up"]
        short += [f"{name} only falls" for name, field in declared.items() if field.monotone == "down"]
        short += [
            f"{name} changes by at most {field.step:g} in a step"
            for name, field in declared.items()
            if field.step is not None
        ]
        return (*named, *short)

    # -- questions -------------------------------------------------------------------------------------------------

    def row(
        self,
        question: Question,
        *,
        names: Mapping[str, str] | None = None,
        fixed: Mapping[str, float] | None = None,
        scored: bool = True,
    ) -> Copy:
        """Add one row that can happen to a question: it can be `scored`, and every fact is true of it."""
        copy = question.copy(self.program, names, fixed, scored=scored)
        self.given(question, names=names, fixed=fixed)
        return copy

    def given(
        self,
        question: Question,
        *,
        names: Mapping[str, str] | None = None,
        fixed: Mapping[str, float] | None = None,
    ) -> None:
        """Require of a row of a question that every fact is true of it."""
        names, fixed = names or {}, fixed or {}
        facts = question.copy(self.reward.facts_program, names, fixed)
        for fact in self.reward.facts_program.outputs:
            question.require(facts[fact])
        for ends in self.ends():
            field = self.fields[ends[0]]
            if field.kind != "number" or all(name in fixed for name in ends):
                continue  # a step that is given as a whole is taken as it is
            self.tie(question, field, *(question.input(names.get(name, name), field, fixed.get(name)) for name in ends))

    def ends(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of inputs that are one field before and after a step."""
        for name in self.fields:
            if name.startswith("prev."):
                plain = name.removeprefix("prev.")
                yield from ((name, after) for after in (f"curr.{plain}", plain) if after in self.fields)

    def tie(self, question: Question, field: Field, first: int, last: int) -> None:
        """Let a field change in a step as it is declared to: in one direction, by no more than its step."""
        if first == last:
            return
        if field.monotone is not None:
            question.require(question.compare(last, n.Ge if field.monotone == "up" else n.Le, first))
        if field.step is not None:
            change = question.minus(last, first)
            question.require(question.compare(change, n.Le, question.number(field.step)))
            question.require(question.compare(change, n.Ge, question.number(-field.step)))

    @cached_property
    def quiet(self) -> Row:
        """Events at rest, in an episode that goes on."""
        return {name: rest(field) for name, field in self.fields.items() if self.role(field) == "event"}

    # -- witnesses -------------------------------------------------------------------------------------------------

    @cached_property
    def _scored(self) -> Callable[[Mapping[str, Any]], Scores]:
        compiled: Callable[[Mapping[str, Any]], Scores] = self.reward.compile("python")
        return compiled

    def scores(self, row: Row) -> Scores | None:
        """Return what the reward really makes of a row; None where it cannot be scored."""
        try:
            return self._scored(as_inputs(self.whole(row), self.program.inputs))
        except InputError:
            return None

    def whole(self, row: Row) -> Row:
        """Return a row with all inputs: those it leaves open are at rest, or as they must be for it to be scored."""
        fields = self.program.inputs
        still = {name: row.get(name, rest(field)) for name, field in fields.items()}
        if fields.keys() <= row.keys():
            return still
        try:
            self._scored(as_inputs(still, fields))
        except InputError:
            question = Question()
            copy = self.row(question, fixed={name: value for name, value in row.items() if name in self.fields})
            still |= highest(question.program(copy["total"])).row or {}
        return still

    def step(self, row: Row, note: str = "", *, only: frozenset[str] | None = None, plain: bool = False) -> Step:
        """Return a row of a witness, with the reward it really gets; `only` some of its inputs may matter.

        A row that stands alone may be told in `plain` numbers that every term scores the same.
        """
        row = self.whole(row)
        scores = self.scores(row)
        row = row if scores is None or not plain else self._plainer(row, scores)
        inputs = as_inputs({name: row[name] for name in self._in_order}, self.program.inputs)
        about = tuple(name for name in inputs if name in only) if only is not None else ()
        return Step(inputs, None if scores is None else float(scores.total), note, about)

    @cached_property
    def _in_order(self) -> list[str]:
        """The inputs as people read them: before the step, then after it."""
        plain = [plain_name(name) for name in self.program.inputs]
        return sorted(self.program.inputs, key=lambda name: (plain.index(plain_name(name)), name.startswith("curr.")))

    def _plainer(self, row: Row, scores: Scores) -> Row:
        """Return a row of rounder numbers that every term scores the same."""
        for name, value in row.items():
            plainly = math.isinf(value) or (value == round(value, 3) and abs(value) <= NEAR)
            if plainly or name not in self.program.inputs or self.fields[name].kind != "number":
                continue
            for plain in (
                rest(self.fields[name]),
                *(100.0, 1000.0, NEAR),
                *(round(value, digits) for digits in (0, 1, 3)),
            ):
                other = {**row, name: float(plain)}
                same = self.fields[name].holds(plain) and self.scores(other)
                if same and dict(same.scores) == dict(scores.scores):
                    row = other
                    break
        return row


def stands(source: Source | None) -> Place | None:
    """Return where a function stands, whatever was made of it; None where it was loaded and has no source."""
    if source is None:
        return None
    line = source.tree.lineno
    return Place(source.file, line, source.lines[line - source.first].strip())


def state_fields(subject: Subject) -> dict[str, Field]:
    """Return what makes up a state: each field that persists, an entry of a vector by itself."""
    names = {plain_name(name): field for name, field in subject.fields.items()}
    return {name: field for name, field in names.items() if subject.role(field) == "state"}
