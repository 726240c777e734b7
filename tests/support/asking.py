"""Random rewards as the checker sees them: rows inside the declared ranges, and what the reward makes of each."""

import math
import random
from dataclasses import dataclass
from typing import Any

from plaudit import Reward
from plaudit.checks.check import check
from plaudit.checks.finding import Finding, Incentive
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import encode_value
from plaudit.errors import InputError
from plaudit.language.program import Program
from plaudit.targets.compiled import Scores
from plaudit.testing.rows import as_inputs
from support.strategies import Case, rows


@dataclass(frozen=True)
class Sample:
    """A row by the names of the Program's inputs, categories by position, flags as 1 or 0, and its scores."""

    row: dict[str, float]
    scores: Scores | None
    """None where the row cannot be scored."""

    def of(self, output):
        """Return what the reward made of an output: `total`, `term0.value`."""
        name, _, part = output.partition(".")
        return float(self.scores.total if name == "total" else getattr(self.scores, f"{part}s")[name])


def samples(case: Case, seed: int, count: int, *, short: bool = False) -> list[Sample]:
    """Return rows inside the declared ranges; with `short`, of numbers with few digits."""
    program, compiled = case.reward.program, case.reward.compile("python")
    chance = random.Random(seed)
    fields = {field.name: field for field in case.fields}
    found = []
    for drawn in rows(case, seed, count, bad=0, small=short):
        if short:
            drawn = {name: _shortened(fields.get(name.rpartition(".")[2]), v, chance) for name, v in drawn.items()}
        flat = {
            entry: value
            for name, whole in drawn.items()
            for entry, value in (
                [(f"{name}[{at}]", part) for at, part in enumerate(whole)]
                if isinstance(whole, tuple)
                else [(name, whole)]
            )
        }
        read = {name: flat[name] for name in program.inputs}
        if not all(field.holds(read[name]) for name, field in program.inputs.items()):
            continue  # a field that lets anything pass is checked for what it declares
        try:
            scores = compiled(as_inputs(drawn))
        except InputError:
            scores = None
        found.append(Sample({name: encode_value(program.inputs[name], value) for name, value in read.items()}, scores))
    return found


def _shortened(field, value, chance):
    if isinstance(value, tuple):
        return tuple(_shortened(field, part, chance) for part in value)
    if field is None or field.kind != "number" or field.numbers or math.isinf(value):
        return value
    short = round(value if abs(value) < 1000 else chance.uniform(-9, 9), chance.choice((0, 1, 2))) + 0.0
    return short if field.holds(short) else field.at_rest


def outputs(case: Case) -> list[str]:
    """Return the names of everything that a reward gives."""
    return ["total", *(f"{term}.{part}" for term in case.reward.program.terms for part in ("value", "score"))]


def asked(program: Program, output: str, fixed: dict[str, float] | None = None) -> Program:
    """Return the question how high an output of `program` can be, some inputs `fixed`."""
    question = Question()
    return question.program(question.copy(program, fixed=fixed)[output])


def told(reward: Reward, code: str, **options: Any) -> list[Finding]:
    """Return what one rule finds in a reward, and assert that nothing failed or was left undecided."""
    report = check(reward, only=[code], **options)
    assert not report.undecided, report.undecided
    assert not report.failed, report.failed
    return list(report.findings)


def undecided(reward: Reward, code: str, **options: Any) -> list[str]:
    """Return why one rule left something undecided, and assert that it found nothing."""
    report = check(reward, only=[code], **options)
    assert not report.findings, report.findings
    assert all(each.code == code for each in report.undecided)
    return [each.why for each in report.undecided]


def really(reward: Reward, finding: Finding | Incentive) -> list[float | None]:
    """Return the totals of a witness, and assert that each row really scores what it claims to."""
    compiled = reward.compile("python")
    for step in finding.witness:
        try:
            total = float(compiled(dict(step.inputs)).total)
        except InputError:
            total = None
        assert step.total == total, step
    return [step.total for step in finding.witness]
