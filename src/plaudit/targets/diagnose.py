"""Explain why a row cannot be scored: the reward, the field or term, the value, and what to do."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from plaudit.errors import InputError, NotFinite, OutOfRange, OutsideDomain
from plaudit.language.program import Guard, Program
from plaudit.targets.dtypes import find_rounded, name_dtype
from plaudit.targets.emit import SCALAR, SCALAR_NAMES, build_function, emit
from plaudit.targets.inputs import format_range, list_slots, make_range_error


class RowDiagnosis:
    """Explains why a row of one Program cannot be scored. The functions that it needs are generated once."""

    def __init__(self, program: Program, *, ranges: bool = True) -> None:
        self.program = program
        self.guards = program.guards(ranges=ranges)

    def __call__(self, row: Sequence[Any], *, where: str = "") -> InputError:
        """Return the error for `row`, the inputs in order, whose `ok` is false; `where` is the place in a batch."""
        program = self.program
        holds = self._conditions(*row)
        failed = next((guard for guard, held in zip(self.guards, holds, strict=True) if not held), None)
        if failed is None:
            return InputError(f"reward {program.name!r}{where}: a number overflows the dtype of the batch")
        if failed in program.ranges:
            value = row[list(program.inputs).index(failed.where)]
            field = program.inputs[failed.where]
            error = make_range_error(program.name, failed.where, field, value, where=where)
            if field.name not in program.states:
                return error
            said = str(error).partition("\n")[0]
            return type(error)(
                f"{said}\nThe reward's own update computes this state. Widen its range if the value is right."
            )
        if failed.where == "total":
            failed = self._find_culprit(row) or failed
        if failed.where.startswith("curr."):  # what a state is after the step
            return self._explain_state(failed.where, row, where)
        line = f"\n  {failed.line}" if failed.line else ""
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(program.inputs, row, strict=True))
        if failed.where not in (*program.terms, *program.states, "total"):
            return OutOfRange(
                f"reward {program.name!r}{where}: the row {failed.why}.{line}\n  inputs: {shown}\n"
                "Fix the row or correct the fact."
            )
        term = "" if failed.where == "total" else f"{find_owner(program, failed.where)} of "
        return OutsideDomain(
            f"{term}reward {program.name!r} {failed.why}{where}.{line}\n  inputs: {shown}\n"
            "Guard the operation with an `if`, or narrow the field's declared range."
        )

    def _explain_state(self, output: str, row: Sequence[Any], where: str) -> InputError:
        program = self.program
        name = output.removeprefix("curr.")
        (value,) = _build_evaluator(program, [program.outputs[output]])(*row)
        field = program.states[name.partition("[")[0]].field
        shown = ", ".join(f"{each}={given!r}" for each, given in zip(program.inputs, row, strict=True))
        kind = OutOfRange if math.isfinite(value) else NotFinite
        return kind(
            f"reward {program.name!r}, state {name!r}{where}: after this step it is {value!r}, outside its declared "
            f"range {format_range(field)}.\n  inputs: {shown}\n"
            "Widen the range, clamp the value in the update (`min`, `max`), or fix the inputs of the update."
        )

    def _find_culprit(self, row: Sequence[Any]) -> Guard | None:
        """Return the term whose score is not finite, where there is one."""
        for term, score in zip(self.program.terms, self._scores(*row), strict=True):
            if not math.isfinite(score) and term not in self.program.adjustments:
                return Guard(0, term, "scores a number that is not finite")
        return None

    @cached_property
    def _conditions(self) -> Callable[..., tuple[Any, ...]]:
        return _build_evaluator(self.program, [guard.node for guard in self.guards])

    @cached_property
    def _scores(self) -> Callable[..., tuple[Any, ...]]:
        return _build_evaluator(self.program, [self.program.outputs[f"{term}.score"] for term in self.program.terms])


def find_owner(program: Program, name: str) -> str:
    """Return the description of a term, an update, the gate or the condition of an override."""
    if name in program.states:
        return f"the update of state {name!r}"
    if name not in program.adjustments:
        return f"term {name!r}"
    return "the gate" if name == "gate" else f"the override {name!r}"


def _build_evaluator(program: Program, roots: Sequence[int]) -> Callable[..., tuple[Any, ...]]:
    """Return a function from the inputs to the values of `roots`."""
    code = emit(program, roots, SCALAR)
    arguments = [f"x{i}" for i in range(len(program.inputs))]
    result = "".join(f"{code.texts[root]}, " for root in roots)
    body = [*code.lines, f"return ({result})"]
    made: Callable[..., tuple[Any, ...]] = build_function("values", arguments, body, {**SCALAR_NAMES, **code.tables})
    return made


def diagnose_first_bad(
    program: Program, arguments: Iterable[Any], bad: int, *, guard: bool, exact: Mapping[str, Any]
) -> InputError:
    """Return the error for the row at the flat position `bad`, the first that `ok` refuses."""
    for name, condition in exact.items():
        if not condition.reshape(-1)[bad if condition.shape else 0]:
            flag = any(slot.column == name and slot.field.kind == "flag" for slot in list_slots(program))
            problem = "is neither 0 nor 1" if flag else "is an integer that the dtype cannot hold exactly"
            return OutOfRange(f"reward {program.name!r}, field {name!r}, row {bad}: the value {problem}.")
    row = []
    for field, array in zip(program.inputs.values(), arguments, strict=True):
        value = array.reshape(-1)[bad if array.shape else 0].item()
        value = find_rounded(field, name_dtype(array.dtype)).get(value, value)
        row.append(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)
    return RowDiagnosis(program, ranges=guard)(row, where=f", row {bad}")
