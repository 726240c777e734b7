"""Compare two rewards on the same inputs: the questions to the solver, and the result of its answers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plaudit.checks.model import RewardModel
from plaudit.checks.prove.proof import Difference, Proof, Verdict
from plaudit.checks.prove.rounding import RoundingError, bound_rounding
from plaudit.checks.solver.boxes import is_close, maximise
from plaudit.checks.solver.breakpoints import sample_columns
from plaudit.checks.solver.deadline import TIME_IS_UP
from plaudit.checks.solver.question import (
    Copy,
    Impossible,
    Question,
    Unknown,
    Witness,
    split_by_infinity,
    splits_completely,
)
from plaudit.checks.solver.ranges import (
    NumericRow,
    decode_row,
    encode_value,
    limit_range,
    value_at_rest,
)
from plaudit.checks.solver.solver import Solver
from plaudit.checks.solver.z3 import Z3Question
from plaudit.errors import DefinitionError, InputError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.targets.python import PythonReward

SEARCH = 20
"""How many boxes the search for the largest difference may cut."""
LEAST = 1e-12
"""Differences below this count as rounding if no bound on rounding is known."""
RELATIVE = 1e-9
"""The same relative to the compared numbers, at a row where no bound is known either."""
FAR = 1e9
"""How far a field without a declared range is followed: near the largest float rounding outweighs everything."""

Answer = Difference | Impossible | Unknown
"""Where an output differs, that it does not differ, or that this is unknown."""


class Refusal(NamedTuple):
    """A condition under which a row can be scored by the side that is not `one`."""

    one: int
    guard: int


@dataclass(frozen=True)
class Pair:
    """Two rewards that read the same fields."""

    sides: tuple[RewardModel, RewardModel]
    renamed: Mapping[str, str]
    """Inputs of the second that have another name in the first: `distance`, which is `curr.distance` there."""
    facts: bool

    @classmethod
    def of(cls, left: Reward, right: Reward, *, facts: bool) -> "Pair":
        """Return the pair; DefinitionError where the two do not read the same kinds of things."""
        known, other = left.program.inputs, right.program.inputs
        renamed = {name: f"curr.{name}" for name in other if name not in known and f"curr.{name}" in known}
        for name, field in other.items():
            mine = known.get(renamed.get(name, name))
            if mine is not None and (mine.kind, mine.labels) != (field.kind, field.labels):
                raise DefinitionError(
                    f"the two cannot be compared: {name!r} is a {mine.kind} {_list_labels(mine)}in {left.name!r} and a "
                    f"{field.kind} {_list_labels(field)}in {right.name!r}"
                )
        for name in left.states.keys() ^ right.states.keys():
            only = left if name in left.states else right
            raise DefinitionError(
                f"the two cannot be compared: only {only.name!r} carries the state {name!r}, which affects later steps"
            )
        for name, state in left.states.items():
            if state.field.shape != right.states[name].field.shape:
                raise DefinitionError(f"the two cannot be compared: the state {name!r} has a different shape in each")
        return cls((RewardModel(left._as_declared), RewardModel(right._as_declared)), renamed, facts)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two."""
        one, other = (f"{side.reward.name}@{side.reward.version}" for side in self.sides)
        return one, other

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Every input and what it can be: as the first one declares it, or the second where the first has none."""
        theirs = {self.renamed.get(name, name): field for name, field in self.sides[1].program.inputs.items()}
        declared = {**theirs, **self.sides[0].program.inputs}
        return {name: limit_range(field, FAR) for name, field in declared.items()}

    @property
    def terms(self) -> list[str]:
        """Terms that both have."""
        return [name for name in self.sides[0].terms if name in self.sides[1].terms]

    @property
    def carried(self) -> list[str]:
        """The states after a step, which both carry."""
        return list(self.sides[0].carried)

    @property
    def resets(self) -> list[Difference]:
        """States that begin an episode differently."""
        one, other = (side.reward.states for side in self.sides)
        return [
            Difference(f"{name} before the first step", {}, float(left), float(right))
            for name in one
            for left, right in zip(one[name].reset, other[name].reset, strict=True)
            if left != right
        ]

    @property
    def missing(self) -> tuple[str, ...]:
        """Terms that only one of them has."""
        one, other = (set(side.terms) for side in self.sides)
        return tuple(sorted(one ^ other))

    @property
    def clamped(self) -> bool:
        """Whether the total of either is clamped, gated or overridden."""
        ends = [end for side in self.sides for end in (side.reward.low, side.reward.high)]
        return any(end is not None for end in ends) or any(side.reward._composed for side in self.sides)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about the declared ranges."""
        own = self.sides[0].program.inputs
        theirs = {self.renamed.get(name, name): field for name, field in self.sides[1].program.inputs.items()}
        differing = [name for name in own if name in theirs and _range_of(own[name]) != _range_of(theirs[name])]
        limited = {field.name: field for field in {**theirs, **own}.values() if limit_range(field, FAR) != field}
        remarks = []
        for name, field in sorted(limited.items()):
            end = " and at infinity" if field.infinite else ", because no range is declared"
            remarks.append(f"{name}: compared up to {FAR:g}{end}.")
        if differing:
            remarks.append(f"{', '.join(differing)}: the declared ranges differ; those of {self.names[0]} were used.")
        return tuple(remarks)

    def question(self, *, scored: int | None = None) -> tuple[Question, tuple[Copy, Copy]]:
        """Return a question with both in it; both can be scored, or only the one at position `scored` need be."""
        question = Question()
        for name, field in self.fields.items():  # first come, first declared
            question.inputs[name] = field
        copies = tuple(
            question.copy(side.program, self.renamed if at else {}, scored=scored is None or scored == at)
            for at, side in enumerate(self.sides)
        )
        if self.facts:
            self.sides[0].require_facts(question)
        return question, (copies[0], copies[1])

    def rounding(self, output: str) -> float:
        """Return how far an output of the two can be apart by rounding alone, where both take the same branches."""
        return sum(errors[output].size for errors in self._errors)

    def rounding_at(self, row: NumericRow, output: str) -> float:
        """Return how far an output of the two can be apart by rounding at one row; a guess where no bound is known."""
        errors = sum(
            bound_rounding(side.program, self._row_of(at, row))[output].size for at, side in enumerate(self.sides)
        )
        known = [abs(score) for score in self.score(row, output.removesuffix(".value")) if score is not None]
        return errors if math.isfinite(errors) else RELATIVE * max([1.0, *known])

    def _row_of(self, at: int, row: NumericRow) -> NumericRow:
        """Return a row by the names of one side; what it leaves open is at rest."""
        names = self.renamed if at else {}
        inputs = self.sides[at].program.inputs
        return {each: row.get(names.get(each, each), value_at_rest(field)) for each, field in inputs.items()}

    def explain_unbounded(self, output: str) -> str:
        """Return why no bound on the rounding of an output is known; nothing where one is."""
        return next((errors[output].reason for errors in self._errors if errors[output].reason), "")

    @cached_property
    def _errors(self) -> list[dict[str, RoundingError]]:
        return [bound_rounding(replace(side.program, inputs=self._fields_of(at))) for at, side in enumerate(self.sides)]

    def _fields_of(self, at: int) -> dict[str, Field]:
        names = self.renamed if at else {}
        return {name: self.fields[names.get(name, name)] for name in self.sides[at].program.inputs}

    def score(self, row: NumericRow, name: str) -> tuple[float | None, float | None]:
        """Return the scores of a row by both rewards: of a term, or the total."""
        left, right = (self._score_side(at, row, name) for at in (0, 1))
        return left, right

    def _score_side(self, at: int, row: NumericRow, name: str) -> float | None:
        compiled, values = self._compiled[at], decode_row(self._row_of(at, row), self.sides[at].program.inputs)
        try:
            if name in self.carried:
                return float(compiled.compute(compiled.convert_row(values), name))
            scores = compiled(values)
        except InputError:
            return None
        return float(scores.total if name == "total" else scores.values[name])

    @cached_property
    def _compiled(self) -> list[PythonReward]:
        return [side.reward.compile("python", guard=False) for side in self.sides]

    def sample(self, examples: int) -> tuple[int, Difference | None]:
        """Compare the two on rows aimed at their boundaries: how many were compared, and one that differs."""
        columns = sample_columns(self.fields, [side.program for side in self.sides], examples)
        totals = []
        for at, side in enumerate(self.sides):
            names = self.renamed if at else {}
            own = {name: columns[names.get(name, name)] for name in side.program.inputs}
            totals.append(side.reward.compile("numpy", on_bad="mask", guard=False)(own).total)
        size = np.broadcast_to(np.abs(totals[0] - totals[1]), (examples,))
        scale = np.maximum(1.0, np.abs(totals[0]))
        worst = int(np.nanargmax(size / scale)) if not np.isnan(size).all() else 0
        compared = int((~np.isnan(size)).sum())
        row: dict[str, Any] = {name: float(column[worst]) for name, column in columns.items()}
        if not size[worst] > max(LEAST, self.rounding_at(row, "total")):
            return compared, None
        return compared, Difference("total", decode_row(row, self.fields), *self.score(row, "total"))


class Comparison:
    """One comparison: the pair and the solver."""

    def __init__(self, pair: Pair, solver: Solver) -> None:
        """Compare `pair` by asking `solver`."""
        self.pair = pair
        self.solver = solver
        self.both = pair.question()
        self.scored = [pair.question(scored=one) for one in (0, 1)]

    def prove(self, examples: int) -> Proof:
        """Return the result; if nothing can be proved, `examples` rows are compared."""
        answers = self.find_answers()
        total, terms, carried = (
            [each for each in map(answers.get, names) if isinstance(each, Difference)]
            for names in (["total"], self.pair.terms, self.pair.carried)
        )
        if found := [*total, *terms, *self.pair.resets, *carried]:
            return self.build_proof("different", differences=tuple(found))
        unknown = next((each for each in (answers["total"], *answers.values()) if isinstance(each, Unknown)), None)
        if unknown is None:
            return self.build_proof("equal", exactly=self.is_exact())
        tested, difference = self.pair.sample(examples)
        remarks = (f"Nothing could be proved: {unknown.reason}.",)
        if difference is not None:
            return self.build_proof("different", differences=(difference,), remarks=remarks)
        return self.build_proof("undecided", remarks=remarks, tested=tested)

    def find_answers(self) -> dict[str | Refusal, Answer]:
        """Return where each output differs, and whether one of the two refuses a row that the other can score."""
        names: list[str | Refusal] = [*self.pair.terms, *self.pair.carried, *self.list_refusals(), "total"]
        answers: dict[str | Refusal, Answer] = dict.fromkeys(names, Unknown(TIME_IS_UP))

        def ask(name: str | Refusal, solver: Solver) -> Answer:
            if isinstance(name, Refusal):
                answer = self.find_refused_row(name, solver)
            elif name == "total":
                known = {each: found for each, found in answers.items() if isinstance(found, Difference)}
                answer = self.find_total_difference(known, solver)
            else:
                answer = self.find_difference(name, solver)
            if isinstance(answer, Unknown) and self.solver.proves and not solver.proves:
                return answers[name]  # z3 is asked next, and if there is no time for it, that is the reason
            return answer

        self.solver.settle(answers, ask, lambda answer: isinstance(answer, Unknown))
        return answers

    def find_total_difference(self, known: Mapping[str | Refusal, Difference], solver: Solver) -> Answer:
        """Return where the totals differ: at a row that one refuses or a term differs at, or wherever else they do."""
        for refused in (each for name, each in known.items() if isinstance(name, Refusal)):
            return refused
        found = [known[name] for name in self.pair.terms if name in known]
        fields = self.pair.fields
        rows = [{name: encode_value(fields[name], value) for name, value in each.inputs.items()} for each in found]
        best = max((self.score_difference("total", row) for row in rows), key=lambda each: each.size, default=None)
        if best is not None and best.size > self.tolerance("total"):
            alone = len(found) == 1 and not self.pair.missing and is_close(best.size, found[0].size)
            return replace(best, largest=alone and found[0].largest and not self.pair.clamped)
        return self.find_difference("total", solver)

    def build_proof(self, verdict: Verdict, *, remarks: tuple[str, ...] = (), **parts: Any) -> Proof:
        """Return the outcome under the names of the two."""
        left, right = self.pair.names
        return Proof(
            left=left,
            right=right,
            verdict=verdict,
            rounding=self.pair.rounding("total"),
            unbounded=self.pair.explain_unbounded("total"),
            missing=self.pair.missing,
            remarks=(*self.pair.remarks, *remarks),
            **parts,
        )

    def tolerance(self, output: str) -> float:
        """Return how much an output may differ by rounding alone."""
        rounding = self.pair.rounding(output)
        return rounding if math.isfinite(rounding) else LEAST

    def ask(self, output: str, limit: float) -> tuple[Question, int, int]:
        """Return the question whether an output differs by more than `limit`: itself, the difference, the flag."""
        question, copies = self.both
        ends = [copy[output] for copy in copies]
        if output in self.pair.carried and self.pair.sides[0].carried[output].kind == "flag":
            ends = [question.builder.simplify(n.Number(end)) for end in ends]
        size = question.distance(*ends)
        return question, size, question.compare(size, n.Gt, question.number(limit))

    def find_difference(self, name: str, solver: Solver) -> Answer:
        """Return where an output differs by more than rounding; of terms and the total, where it differs most."""
        answer = self.find_any_difference(name, solver)
        if isinstance(answer, Difference) and name not in self.pair.carried:
            return self.enlarge(answer)
        return answer

    def find_any_difference(self, name: str, solver: Solver) -> Answer:
        """Return where an output differs by more than rounding."""
        output = name if name == "total" or name in self.pair.carried else f"{name}.value"
        question, size, flag = self.ask(output, self.tolerance(output))
        if isinstance(known := question.builder.nodes[size], n.Const):  # the same expression, or two constants
            return self.score_difference(name, {}) if known.value > self.tolerance(output) else Impossible()
        match solver.find_example(question, flag):
            case Witness(row):
                found = self.score_difference(name, row)
                if math.isinf(self.pair.rounding(output)) and found.size <= self.pair.rounding_at(row, output):
                    return Unknown(
                        f"no bound on the rounding error is known, because {self.pair.explain_unbounded(output)}"
                    )
                return found
            case answer:
                return answer

    def score_difference(self, name: str, row: NumericRow, *, largest: bool = False) -> Difference:
        """Return the difference at a row, by running both; what it leaves open is at rest."""
        if name == "total":
            row = {each: value_at_rest(field) for each, field in self.pair.fields.items()} | row
        sides = self.pair.score(row, name)
        return Difference(name, decode_row(row, self.pair.fields), *sides, largest=largest)

    def enlarge(self, found: Difference) -> Difference:
        """Return where the output differs most, as far as a short search gets."""
        if math.isinf(found.size):
            return found
        output = found.term if found.term == "total" else f"{found.term}.value"
        question, size, _ = self.ask(output, 0.0)
        best = maximise(question.program(size), self.solver.deadline, most=SEARCH)
        if best.row is None or best.value < found.size:
            return found
        better = self.score_difference(found.term, best.row, largest=best.exact)
        return better if better.size >= found.size else found

    def enlarge_total(self, proof: Proof, examples: int) -> Proof:
        """Return the proof with the row at which the totals differ most, by a short search and by `examples` rows."""
        first = next(iter(proof.differences), None)
        if first is None or first.term != "total" or first.largest or math.isinf(first.size):
            return proof
        sampled = self.pair.sample(examples)[1]
        best = max((each for each in (first, self.enlarge(first), sampled) if each), key=lambda each: each.size)
        return replace(proof, differences=(best, *proof.differences[1:]))

    def list_refusals(self) -> list[Refusal]:
        """Return the conditions of each side that the other one does not have as well."""
        return [
            Refusal(one, guard)
            for one, (_, copies) in enumerate(self.scored)
            for guard in dict.fromkeys(copies[1 - one].guards)
            if guard not in copies[one].guards
        ]

    def find_refused_row(self, refusal: Refusal, solver: Solver) -> Answer:
        """Return a row that one of the two can score and the other cannot."""
        question, _ = self.scored[refusal.one]
        match solver.find_example(question, question.negate(refusal.guard)):
            case Witness(row):
                found = self.score_difference("total", row)
                if (found.left is None) != (found.right is None):
                    return found
                return Unknown("whether both reject the same rows is unknown: floats overflow")
            case Unknown(reason):
                return Unknown(f"whether both reject the same rows: {reason}")
            case answer:
                return answer

    def is_exact(self) -> bool:
        """Return whether z3 proves equality with no room for rounding."""
        question, _, flag = self.ask("total", 0.0)
        program = question.program(question.builder.simplify(n.Number(flag)))
        if not any(isinstance(node, n.Input) for node in program.nodes):
            return True  # the two are one and the same expression
        if not self.solver.proves or not splits_completely(program):
            return False
        turns = self.solver.deadline.take_turns(split_by_infinity(program))
        variants = (Z3Question(each, deadline) for each, deadline in turns)
        return all(variant.solve(variant.asked == 1) == Impossible() for variant in variants)


def _list_labels(field: Field) -> str:
    return f"({', '.join(field.labels)}) " if field.labels else ""


def _range_of(field: Field) -> tuple[Any, ...]:
    return field.low, field.high, field.values, field.infinite, field.outside
