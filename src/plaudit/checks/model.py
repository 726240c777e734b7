"""A reward as the checker sees it: one bound Program, the roles of its inputs, and the facts about a step."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from plaudit.checks.finding import Step
from plaudit.checks.solver.boxes import compile_question, maximise
from plaudit.checks.solver.deadline import NEVER, Deadline
from plaudit.checks.solver.plainer import simplify_numbers
from plaudit.checks.solver.question import Copy, Impossible, Question, SolverAnswer, Unknown, Witness, list_inputs
from plaudit.checks.solver.ranges import (
    NumericRow,
    decode_row,
    encode_value,
    list_choices,
    strip_step_end,
    value_at_rest,
)
from plaudit.checks.solver.solver import Solver, TimeIsUp
from plaudit.errors import DefinitionError, InputError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.language.reading.source import Source, SourceLine
from plaudit.language.static import analyse_program
from plaudit.reward.declared import find_fact_inputs
from plaudit.reward.reward import Reward
from plaudit.reward.task.bound import TaskField
from plaudit.reward.task.statements import Role
from plaudit.reward.term import Term
from plaudit.targets.compiled import Scores
from plaudit.terminal import escape_controls

UNCLAMPED = "total, unclamped"
"""The output that is the sum of all terms before the clamp of the total."""
MOST_DECLARED = 24
"""Up to this many declarations are tested one by one to find the guilty ones; beyond that all are named."""

Outcomes = Mapping[str, Sequence[Mapping[str, Any]]]
"""Episodes by name, from the worst to the best; each a sequence of rows as `reward.score` takes them."""


@dataclass(frozen=True)
class RewardModel:
    """A reward as the rules see it."""

    reward: Reward

    @cached_property
    def program(self) -> Program:
        """The whole reward with its parameters as constants, and the sum before the last clamp as an output."""
        whole = self.reward.program
        total = whole.nodes[whole.outputs["total"]]
        clamped = self.reward.low is not None or self.reward.high is not None
        inner = n.operands(total)[0] if clamped and not self.reward._composed else whole.outputs["total"]
        inner = whole.outputs["clamp.score"] if "clamp" in whole.adjustments else inner
        view = self.reward._bound.view
        inputs = {name: view(field) for name, field in whole.inputs.items()}
        return drop_sure_guards(replace(whole, inputs=inputs, outputs={**whole.outputs, UNCLAMPED: inner}).bind())

    @cached_property
    def fields(self) -> Mapping[str, TaskField]:
        """The field of every input, those that only facts read included, and of what is computed: states after it."""
        every = {**self.reward._bound.facts_program.inputs, **self.program.inputs, **self.carried}
        return {name: self.reward._bound.view(field) for name, field in every.items()}

    @cached_property
    def carried(self) -> Mapping[str, Field]:
        """The states after a step, which no row holds, by the names of their outputs."""
        states = self.program.states.values()
        return {name: carried.field for carried in states for name in carried.list_names("curr")}

    @cached_property
    def terms(self) -> Mapping[str, Term]:
        """The terms by name."""
        return {term.name: term for term in self.reward.terms}

    @cached_property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """The inputs that each term, each adjustment and the total depend on."""
        outputs = [*((term, f"{term}.value") for term in self.program.terms), ("total", "total")]
        return {name: self._inputs_of(output) for name, output in outputs}

    @cached_property
    def reads_score(self) -> Mapping[str, frozenset[str]]:
        """The inputs that the score of each term depends on, before clamp and weight."""
        return {term: self._inputs_of(f"{term}.score") for term in self.terms}

    def reads_result(self, function: str) -> frozenset[str]:
        """Return the inputs that a gate or the condition of an override depends on."""
        return self._inputs_of(f"{function}.score")

    def _inputs_of(self, output: str) -> frozenset[str]:
        return list_inputs(self.program.nodes, self.program.outputs[output])

    def role(self, field: Field) -> Role:
        """Return what a field is: what persists, what the agent chooses, or what happens in a step."""
        if (said := self.reward._bound.view(field).role) is not None:
            return said
        if field.name == self.reward.action:
            return "action"
        return "state" if field.name in self._persisting else "event"

    @cached_property
    def _persisting(self) -> frozenset[str]:
        """Fields that are states by what is said of them: how they change, or that a goal is reached by them."""
        goal = {each.name for each in self.reward._bound.goal_program.inputs.values() if each.kind == "number"}
        moving = {each.name for each in self.fields.values() if each.rate or each.step is not None or each.monotone}
        ends = {each.name for name, each in self.fields.items() if name.startswith(("prev.", "curr."))}
        return frozenset(goal | moving | ends)

    def locate(self, term: str) -> SourceLine | None:
        """Return where a term is defined."""
        found = next((each for each in self.reward._functions if each.name == term), None)
        return None if found is None else locate_source(found.source)

    def facts_about(self, *inputs: str) -> tuple[str, ...]:
        """Return the facts that tie any of these inputs to others."""
        program = self.reward._bound.facts_program
        named = [fact for fact in program.outputs if set(find_fact_inputs(program, fact)) & set(inputs)]
        declared = {field.name: field for name, field in self.fields.items() if name in inputs}
        short = [f"{name} only rises" for name, field in declared.items() if field.monotone == "up"]
        short += [f"{name} only falls" for name, field in declared.items() if field.monotone == "down"]
        short += [
            f"{name} changes by at most {field.step:g} in a step"
            for name, field in declared.items()
            if field.step is not None
        ]
        return (*named, *short)

    def add_row(
        self,
        question: Question,
        *,
        names: Mapping[str, str] | None = None,
        fixed: Mapping[str, float] | None = None,
        scored: bool = True,
        carried: bool = False,
    ) -> Copy:
        """Add one row that can happen to a question: it can be `scored`, and every fact is true of it.

        With `carried`, the states after it are what their updates compute, under their names in `names`.
        """
        copy = question.copy(self.program, names, fixed, scored=scored)
        self.require_facts(question, names=names, fixed=fixed)
        for name, field in self.carried.items() if carried else ():
            question.require(question.same(copy[name], question.input((names or {}).get(name, name), field)))
        return copy

    @cached_property
    def any_step(self) -> tuple[Question, Copy]:
        """Every step that can happen, as a question that many ask: nothing more is required of it."""
        question = Question()
        return question, self.add_row(question)

    def require_facts(
        self,
        question: Question,
        *,
        names: Mapping[str, str] | None = None,
        fixed: Mapping[str, float] | None = None,
    ) -> None:
        """Require of a row of a question that every fact is true of it."""
        names, fixed = names or {}, fixed or {}
        facts = question.copy(self.reward._bound.facts_program, names, fixed)
        for fact in self.reward._bound.facts_program.outputs:
            question.require(facts[fact])
        for ends in self.step_ends():
            field = self.fields[ends[0]]
            if field.kind != "number" or all(name in fixed for name in ends):
                continue  # a step that is given as a whole is taken as it is
            self.require_change(
                question, field, *(question.input(names.get(name, name), field, fixed.get(name)) for name in ends)
            )

    def step_ends(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of inputs that are one field before and after a step."""
        for name in self.fields:
            if name.startswith("prev."):
                plain = name.removeprefix("prev.")
                yield from ((name, after) for after in (f"curr.{plain}", plain) if after in self.fields)

    def require_change(self, question: Question, field: TaskField, first: int, last: int) -> None:
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
    def resting_events(self) -> NumericRow:
        """Events at rest, in an episode that goes on; a counter of steps may be anywhere, for all steps alike."""
        events = {name: field for name, field in self.fields.items() if self.role(field) == "event"}
        return {name: value_at_rest(field) for name, field in events.items() if name not in self.program.counters}

    @cached_property
    def unread_counters(self) -> frozenset[str]:
        """Inputs that nothing but schedules read."""
        return self.program.counters - self.reward._formula.inputs.keys()

    def find_good_value(self, name: str, field: TaskField | None = None) -> float:
        """Return the best value of an input: what the task wants or, if it says nothing, the value while idle."""
        field, idle = field or self.fields[name], self.reward._bound.idle or {}
        if field.aim is not None:
            return field.aim
        if field.better is not None and not name.startswith("prev."):
            low, *_, high = list_choices(field) or (field.low, field.high)
            best = high if field.better == "high" else low
            if best is not None:
                return float(best)
        return encode_value(field, idle[name]) if name in idle else value_at_rest(field)

    def score(self, row: NumericRow) -> Scores | None:
        """Return what the reward really makes of a row; None where it cannot be scored."""
        return self.complete(row)[1]

    def measure_total(self, row: NumericRow) -> float:
        """Return the total of a row; minus infinity where it cannot be scored."""
        scores = self.score(row)
        return -math.inf if scores is None else float(scores.total)

    def complete_row(self, row: NumericRow) -> NumericRow:
        """Return a row with all inputs: those it leaves open are at rest, or as they must be for it to be scored."""
        return self.complete(row)[0]

    def complete(self, row: NumericRow, deadline: Deadline = NEVER) -> tuple[NumericRow, Scores | None]:
        """Return a row with all inputs, and what the reward makes of it."""
        fields = self.program.inputs
        whole = {**self._resting, **{name: value for name, value in row.items() if name in fields}}
        scores = self._score_whole(whole)
        if scores is None and not fields.keys() <= row.keys():
            question = Question()
            copy = self.add_row(question, fixed={name: value for name, value in row.items() if name in self.fields})
            whole |= maximise(question.program(copy["total"]), deadline).row or {}
            scores = self._score_whole(whole)
        return whole, scores

    def _score_whole(self, row: NumericRow) -> Scores | None:
        try:
            return self.reward._compiled(decode_row(row, self.program.inputs))
        except InputError:
            return None

    @cached_property
    def _resting(self) -> NumericRow:
        return {name: value_at_rest(field) for name, field in self.program.inputs.items()}

    def build_step(
        self, row: NumericRow, note: str = "", *, only: frozenset[str] | None = None, plain: bool = False
    ) -> Step:
        """Return a row of a witness, with the reward it really gets; `only` some of its inputs may matter.

        A row that stands alone may be told in `plain` numbers that every term scores the same.
        """
        row = self.simplify_rows([row])[0] if plain else row
        row, scores = self.complete(row)
        inputs = decode_row({name: row[name] for name in self._ordered_inputs}, self.program.inputs)
        about = tuple(name for name in inputs if name in only) if only is not None else ()
        return Step(inputs, None if scores is None else float(scores.total), note, about)

    @cached_property
    def _ordered_inputs(self) -> list[str]:
        """The inputs as people read them: before the step, then after it."""
        plain = [strip_step_end(name) for name in self.program.inputs]
        return sorted(
            self.program.inputs, key=lambda name: (plain.index(strip_step_end(name)), name.startswith("curr."))
        )

    def simplify_rows(
        self,
        rows: Sequence[NumericRow],
        holds: Callable[[Sequence[NumericRow]], bool] | None = None,
        *,
        slack: float = 0.0,
        keep: Collection[str] = (),
    ) -> list[NumericRow]:
        """Return the rows of a witness in numbers that a person would write, of which the claim still `holds`.

        First numbers are looked for that every term scores the same, then others nearby of which `holds(rows)` is true:
        it is given whole rows and computes with floats what the message says. Where that is the totals alone, they may
        change by a share of themselves, the `slack`. A field that has the same value in several places, such as before
        and after a step that changes nothing, keeps it the same. Ranges, facts and declared changes are kept. What
        `keep` names stays as it is, and so do all rows where nothing plainer is found.
        """
        whole = [{**row, **self.complete_row(row)} for row in rows]
        places = {
            (strip_step_end(name), value): self.fields[name]
            for row in whole
            for name, value in row.items()
            if name in self.fields and name not in keep
        }

        def fill(values: Mapping[tuple[str, float], float]) -> list[NumericRow]:
            return [
                {
                    name: value if name in keep else values.get((strip_step_end(name), value), value)
                    for name, value in row.items()
                }
                for row in whole
            ]

        known = [self.score(row) for row in whole]
        if slack:
            holds = partial(self._have_totals, [each and float(each.total) for each in known], slack)
        possible = [self._can_happen(row) for row in whole]

        def is_same(values: Mapping[tuple[str, float], float]) -> bool:
            found = fill(values)
            return all(map(_scores_same, map(self.score, found), known)) and is_true(values)

        def is_true(values: Mapping[tuple[str, float], float]) -> bool:
            found = fill(values)
            happens = all(self._can_happen(row) for row, before in zip(found, possible, strict=True) if before)
            return happens and (holds is None or holds(found))

        values = simplify_numbers({place: place[1] for place in places}, places, is_same)
        if holds is not None:
            values = simplify_numbers(values, places, is_true, near=True)
        return fill(values)

    def _have_totals(self, totals: Sequence[float | None], slack: float, rows: Sequence[NumericRow]) -> bool:
        found = [scores and float(scores.total) for scores in map(self.score, rows)]
        return all(
            one is other or (one is not None and other is not None and abs(one - other) <= slack * abs(other))
            for one, other in zip(found, totals, strict=True)
        )

    def _can_happen(self, row: NumericRow) -> bool:
        """Return whether every fact is true of a row; what it leaves out is at rest."""
        program, compute = self._step_question
        return compute({name: row.get(name, value_at_rest(field)) for name, field in program.inputs.items()}) == 1

    @cached_property
    def _step_question(self) -> tuple[Program, Callable[[NumericRow], float]]:
        question = Question()
        self.require_facts(question)
        program = question.program(question.builder.simplify(n.Number(question.all(question.given))))
        return program, compile_question(program)


def _scores_same(one: Scores | None, other: Scores | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.total == other.total and dict(one.scores) == dict(other.scores)


def drop_sure_guards(bound: Program) -> Program:
    """Return a bound Program with only those conditions under which a row counts that can fail.

    One that cannot would tie every question about a term to all of the inputs.
    """
    sure = analyse_program(bound).holds
    infinite = any(field.infinite for field in bound.inputs.values())
    open_guards = [
        guard
        for guard in bound.value_guards
        if guard.node not in sure and (infinite or not isinstance(bound.nodes[guard.node], n.IsFinite))
    ]
    return replace(bound, value_guards=tuple(open_guards))


def locate_source(source: Source | None) -> SourceLine | None:
    """Return where a function stands, whatever was made of it; None where it was loaded and has no source."""
    return None if source is None else source.locate(source.tree)


def find_state_fields(model: RewardModel) -> dict[str, TaskField]:
    """Return what makes up a state: each field that persists, each entry of a vector separately."""
    names = {strip_step_end(name): field for name, field in model.fields.items()}
    return {name: field for name, field in names.items() if model.role(field) == "state"}


def find_tied_inputs(model: RewardModel, name: str) -> set[str]:
    """Return the inputs that a fact ties to another, such as the action: they follow it."""
    program = model.reward._bound.facts_program
    together = [set(find_fact_inputs(program, fact)) for fact in program.outputs]
    return {
        each for group in together if name in group for each in group if model.role(model.fields[each]) != "state"
    } - {name}


def name_step_inputs(model: RewardModel, before: str, after: str, *, chosen: str = "") -> dict[str, str]:
    """Return the names of a step's inputs when it leads from the state `before` to the state `after`."""
    names = {}
    for name, field in model.fields.items():
        plain = strip_step_end(name)
        if model.role(field) == "state":
            names[name] = f"{before if name.startswith('prev.') else after}.{plain}"
        elif chosen and name not in model.program.counters:
            names[name] = f"{plain}, {chosen}"
    return names


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Declarations that are true of no step."""

    facts: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """How fields are declared to change in a step: "level only rises"."""

    def __str__(self) -> str:
        *others, last = map(repr, self.facts)
        named = f"the facts {', '.join(others)} and {last} true at once" if others else f"the fact {last} true"
        given = f", given that {' and '.join(self.changes)}" if self.changes else ""
        return escape_controls(f"no step within the declared ranges makes {named}{given}")


def refuse_contradiction(model: RewardModel, solver: Solver, consequence: str) -> None:
    """Raise DefinitionError if the facts of a reward contradict one another, as far as there is time to find out."""
    with suppress(TimeIsUp):
        if isinstance(found := find_contradiction(model, solver), Contradiction):
            raise DefinitionError(f"reward {model.reward.name!r} {consequence}: {found}")


def find_contradiction(model: RewardModel, solver: Solver) -> Contradiction | Unknown | None:
    """Return the smallest contradiction that is easily found; None where there is none."""
    declared = _Declarations(model, solver)
    if not declared.facts:
        return None  # a step that changes nothing keeps to every range, and to every way of changing
    match declared.find_step(declared.flags):
        case Witness():
            return None
        case Unknown() as unknown:
            return unknown
    guilty = declared.find_guilty()
    return Contradiction(
        tuple(name for name in guilty if name in declared.facts),
        tuple(name for name in guilty if name not in declared.facts),
    )


class _Declarations:
    """One question with everything in it that is declared of a step, each under its name."""

    def __init__(self, model: RewardModel, solver: Solver) -> None:
        self.solver = solver
        self.question = Question()
        program = model.reward._bound.facts_program
        copy = self.question.copy(program, scored=False)
        self.facts = tuple(program.outputs)
        self.flags: dict[str, list[int]] = {
            fact: [copy[fact], *(copy.at(guard.node) for guard in program.value_guards if guard.where == fact)]
            for fact in self.facts
        }
        for ends in model.step_ends():
            field = model.fields[ends[0]]
            alone = [replace(field, step=None)] if field.monotone is not None else []
            alone += [replace(field, monotone=None)] if field.step is not None else []
            changes = [each for each in model.facts_about(*ends) if each not in self.facts]
            for name, each in zip(changes, alone, strict=True) if field.kind == "number" else ():
                model.require_change(self.question, each, *(self.question.input(end, field) for end in ends))
                self.flags.setdefault(name, []).extend(self.question.given)
                self.question.given.clear()

    def find_step(self, names: Collection[str]) -> SolverAnswer:
        """Return a step of which all of these are true."""
        flags = [flag for name in names for flag in self.flags[name]]
        return self.solver.find_example(self.question, self.question.all(flags))

    def find_guilty(self) -> list[str]:
        """Return a fact that is never true on its own, or declarations of which none can be left out."""
        names = list(self.flags)
        if len(names) > MOST_DECLARED:
            return names
        with suppress(TimeIsUp):  # what is left by then contradicts itself, though less might
            for fact in self.facts:
                if self.find_step([fact]) == Impossible():
                    return [fact]
            for name in list(self.flags):
                rest = [each for each in names if each != name]
                if self.find_step(rest) == Impossible():
                    names = rest
        return names
