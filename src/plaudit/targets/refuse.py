"""The error for a row that cannot be scored: which reward, which field or term, which value, what to do."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from plaudit.errors import InputError, NotFinite, OutOfRange, OutsideDomain, UnknownCategory, did_you_mean
from plaudit.language.field import Field
from plaudit.language.program import Guard, Program
from plaudit.targets.emit import emit
from plaudit.targets.scalar import NAMES, SCALAR, function


class Refusal:
    """Says why a row of one Program cannot be scored; what it needs to find out is generated once."""

    def __init__(self, program: Program, *, ranges: bool = True) -> None:
        """Explain rows of `program`, whose parameters are bound."""
        self.program = program
        self.guards = program.guards(ranges=ranges)

    def __call__(self, row: Sequence[Any], *, place: str = "") -> InputError:
        """Return the error for `row`, the inputs in order, of which `ok` is false; `place` says where in a batch."""
        program = self.program
        holds = self._conditions(*row)
        failed = next((guard for guard, held in zip(self.guards, holds, strict=True) if not held), None)
        if failed is None:
            return InputError(f"reward {program.name!r}{place}: a number overflows the dtype of the batch")
        if failed in program.ranges:
            value = row[list(program.inputs).index(failed.where)]
            return range_error(program.name, failed.where, program.inputs[failed.where], value, place=place)
        if failed.where == "total":
            failed = self._culprit(row) or failed
        line = f"\n  {failed.line}" if failed.line else ""
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(program.inputs, row, strict=True))
        if failed.where not in (*program.terms, "total"):
            return OutOfRange(
                f"reward {program.name!r}{place}: the row {failed.why}.{line}\n  inputs: {shown}\n"
                "Fix the row, or correct the fact."
            )
        term = "" if failed.where == "total" else f"term {failed.where!r} of "
        return OutsideDomain(
            f"{term}reward {program.name!r} {failed.why}{place}.{line}\n  inputs: {shown}\n"
            "Guard the operation with an `if`, or narrow the field's declared range."
        )

    def _culprit(self, row: Sequence[Any]) -> Guard | None:
        """Return the term whose score is not finite, where there is one."""
        for term, score in zip(self.program.terms, self._scores(*row), strict=True):
            if not math.isfinite(score):
                return Guard(0, term, "scores a number that is not finite")
        return None

    @cached_property
    def _conditions(self) -> Callable[..., tuple[Any, ...]]:
        return _evaluator(self.program, [guard.node for guard in self.guards])

    @cached_property
    def _scores(self) -> Callable[..., tuple[Any, ...]]:
        return _evaluator(self.program, [self.program.outputs[f"{term}.score"] for term in self.program.terms])


def _evaluator(program: Program, roots: Sequence[int]) -> Callable[..., tuple[Any, ...]]:
    """Return a function from the inputs to the values of `roots`."""
    code = emit(program, roots, SCALAR)
    arguments = [f"x{i}" for i in range(len(program.inputs))]
    result = "".join(f"{code.texts[root]}, " for root in roots)
    body = [*code.lines, f"return ({result})"]
    made: Callable[..., tuple[Any, ...]] = function("values", arguments, body, {**NAMES, **code.tables})
    return made


def range_error(reward: str, name: str, field: Field, value: Any, *, place: str = "") -> InputError:
    """Return the error for a value that `field` does not allow."""
    start = f"reward {reward!r}, field {name!r}{place}: "
    if field.kind == "category":
        values = ", ".join(field.labels)
        return UnknownCategory(
            f"{start}{value!r} is not one of its values.{did_you_mean(str(value), field.labels)}\nIts values: {values}."
        )
    if isinstance(value, float) and math.isnan(value):
        return NotFinite(f"{start}the value is NaN. Fix it where it is computed; a reward never guesses.")
    if isinstance(value, float) and math.isinf(value) and not field.numbers:
        return NotFinite(f"{start}{value} is not allowed. Declare the field with infinite=True if it can happen.")
    if field.numbers:
        allowed = ", ".join(f"{number:g}" for number in field.numbers)
        return OutOfRange(f"{start}{value!r} is not one of {allowed}.")
    unit = f" {field.unit}" if field.unit else ""
    low = "-inf" if field.low is None else f"{field.low:g}"
    high = "inf" if field.high is None else f"{field.high:g}"
    return OutOfRange(
        f"{start}{value!r} is outside its declared range [{low}, {high}]{unit}.\n"
        "Fix the value, widen the range, or declare the field with outside='clip' or outside='allow'."
    )
