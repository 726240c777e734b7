"""Whether an answer is right: how far numbers may be apart, which terms differ, and which rows rounding decides."""

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from plaudit.checks.parity.answers import Answer, Mismatch
from plaudit.checks.solver.ranges import decode_value
from plaudit.checks.trace import EPSILON, Trace, Values, next_float32, round_constants
from plaudit.errors import InputError
from plaudit.language.program import Program
from plaudit.rows.row import FlatRow, Value, encode_row, nest_row
from plaudit.targets.python import PythonReward

NEAR = 8
"""How many floats rounding may have moved an operand."""


class Judge:
    """A reward that judges the answers of others.

    Two numbers agree when they are at most `tolerance` apart. Where that is None it is `4·n·ε·M`: n the number of terms
    and operations, M the largest intermediate number of the row or the sum of its values, whichever is larger.
    """

    def __init__(self, program: Program, tolerance: float | None, *, single: bool = False) -> None:
        """Judge by `program`; with `single`, computed in 32-bit floats."""
        self.program = round_constants(program) if single else program
        self.single = single
        self.tolerance = tolerance
        self._epsilon = EPSILON if single else sys.float_info.epsilon
        self._next = next_float32 if single else math.nextafter
        self._compiled = PythonReward(self.program)
        self._trace = Trace(self.program.bind(), single=single)
        self._steps = len(program.terms) + self._trace.operations

    def validate_row(self, inputs: Mapping[str, Any]) -> FlatRow:
        """Return a row as the reward reads it, with every input."""
        past = zip(self.program.inputs.items(), self._compiled.convert_row(inputs), strict=True)
        return {name: decode_value(field, value) for (name, field), value in past}

    def score(self, row: Mapping[str, Value]) -> Answer:
        """Return the reward's own answer to a row; InputError if it cannot score it."""
        scores = self._compiled(row)
        if not all(map(math.isfinite, (scores.total, *scores.values.values()))):
            raise InputError("the total or a value is too large for a float.")
        return Answer(scores.total, scores.values)

    def tolerance_of(self, row: Mapping[str, Value], expected: Answer) -> float:
        """Return the tolerance for this row."""
        if self.tolerance is not None:
            return self.tolerance
        largest = self._trace.largest_value(self._trace.values(row))
        return 4 * self._steps * self._epsilon * max(largest, sum(map(abs, expected.values.values())))

    def describe(self, row: FlatRow, expected: Answer, **found: Any) -> Mismatch:
        """Return the mismatch of an answer to a row."""
        inputs = {name: self.program.inputs[name].as_declared(value) for name, value in row.items()}
        return Mismatch(inputs=inputs, row=encode_row(nest_row(self.program, row)), expected=expected, **found)

    def is_decided_by_rounding(self, row: FlatRow, got: Answer) -> bool:
        """Return whether an answer is right for a row that differs from this one only by rounding.

        That row has one input a few floats away, and the same result of every comparison whose operands are exact.
        A tolerance that the user sets is applied strictly.
        """
        if self.tolerance is not None:
            return False
        values = self._trace.values(row)
        sure, jumped = self._trace.find_exact_jumps(values), self._trace.read_jumps(values)
        if all(sure):
            return False
        return any(
            self._turns_alike(near, sure, jumped) and self._agrees(near, got) for near in self._list_neighbours(row)
        )

    def _turns_alike(self, near: FlatRow, sure: tuple[bool, ...], jumped: Values) -> bool:
        other = self._trace.read_jumps(self._trace.values(near))
        return all(here == there for known, here, there in zip(sure, jumped, other, strict=True) if known)

    def _agrees(self, row: FlatRow, got: Answer) -> bool:
        try:
            expected = self.score(row)
        except InputError:
            return False
        return not find_differing_terms(expected, got, self.tolerance_of(row, expected))

    def _list_neighbours(self, row: FlatRow) -> Iterator[FlatRow]:
        for name, field in self.program.inputs.items():
            value = row[name]
            if isinstance(value, bool | str) or field.numbers or not math.isfinite(value):
                continue
            for towards in (-math.inf, math.inf):
                moved = float(value)
                for _ in range(NEAR):
                    moved = self._next(moved, towards)
                if field.holds(moved):
                    yield {**row, name: moved}


def find_differing_terms(expected: Answer, got: Answer, allowed: float) -> tuple[str, ...]:
    """Return the terms in which two answers differ, or the candidates if `got` has no values for them.

    >>> right = Answer(-4.0, {"safety": -5.0, "comfort": 1.0})
    >>> find_differing_terms(right, Answer(-4.0), 0.0), find_differing_terms(right, Answer(-6.0, {"safety": -5.0}), 0.0)
    ((), ('comfort',))
    >>> find_differing_terms(right, Answer(-6.0, {"safety": -5.0, "comfort": 1.0}), 0.0)
    ('total',)
    """
    apart = tuple(
        name
        for name, value in got.values.items()
        if not math.isclose(value, expected.values[name], rel_tol=0, abs_tol=allowed)
    )
    if apart or math.isclose(got.total, expected.total, rel_tol=0, abs_tol=allowed):
        return apart
    return tuple(name for name in expected.values if name not in got.values) or ("total",)
