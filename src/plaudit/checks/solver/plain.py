"""Rows of numbers that a person would write, worth as much as those that a search or a proof came up with."""

from collections.abc import Iterator

from plaudit.checks.solver.boxes import CLOSE, MOST_WORK, Maximum, compile_question, evaluate, is_close
from plaudit.checks.solver.ranges import NumericRow, is_plain, is_unlimited, list_plainer_values, value_at_rest
from plaudit.language.field import Field
from plaudit.language.program import Program

SLACK = 1e-3
"""What a row may lose for plain numbers where none are worth quite as much: "up to 5" is shown with 4.999."""


def simplify_maximum(program: Program, found: Maximum) -> Maximum:
    """Return an answer with a row of plain numbers, and with its value where that is the same but for rounding."""
    if found.row is None or is_unlimited(found.value):
        return found
    row = simplify_row(program, found.row)
    value = evaluate(program, row)
    value = value if is_close(value, found.value) else max(value, found.value)
    return Maximum(max(found.bound, value), row, value)


def simplify_row(program: Program, row: NumericRow) -> NumericRow:
    """Return a row at which a question is worth as much, of inputs at rest and of numbers that a person would write.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.checks.solver.question import Question
    >>> @term
    ... def near(x):
    ...     return 3 - abs(x)
    >>> question = Question()
    >>> centred = Reward("centred", version="1", terms=[near], fields=[Field("x", low=-9, high=9)])
    >>> simplify_row(question.program(question.copy(centred.program)["total"]), {"x": 5e-324})
    {'x': 0.0}
    """
    row = {name: row[name] for name in program.inputs}
    compute = compile_question(program)
    value = compute(row)
    same = value - CLOSE * max(1.0, abs(value))
    odd = [name for name, field in program.inputs.items() if field.kind == "number" and not is_plain(row[name])]
    short = {name: round(row[name], 3) for name in odd if program.inputs[name].holds(round(row[name], 3))}
    if compute(row | short) >= same:
        row |= short
    others = [
        (name, other)
        for name in sorted(program.inputs, key=lambda name: name not in odd)
        for other in _list_others(program.inputs[name], row[name])
    ]
    tries = [(*each, same) for each in others]
    tries += [(*each, value - SLACK * abs(value)) for each in others if each[0] in odd]
    settled: set[str] = set()
    for name, other, least in tries[: 4 * MOST_WORK // len(program.nodes)]:
        if name not in settled and compute({**row, name: other}) >= least:
            row[name] = other
            settled.add(name)
    return row


def _list_others(field: Field, value: float) -> Iterator[float]:
    """Yield what an input may be instead: at rest, and a plainer number where it is not plain."""
    if value == value_at_rest(field):
        return
    if field.kind != "number" or field.numbers or is_plain(value):
        yield value_at_rest(field)
    else:
        yield from (other for other in list_plainer_values(field, value) if field.holds(other))
