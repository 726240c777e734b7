"""Why rows of a batch are bad, counted: the first condition of `ok` that each row breaks."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from plaudit.language.program import Program
from plaudit.targets.array import DEFINED, NOT_FINITE, OPERATIONS, gather
from plaudit.targets.emit import Spelling, emit, literal
from plaudit.targets.floats import FLOATS
from plaudit.targets.numpy import NAMES, convert
from plaudit.targets.rows import columns
from plaudit.targets.scalar import function


class Reasons:
    """Counts the reasons for which rows of one Program are bad; what it needs to find out is generated once."""

    def __init__(self, program: Program) -> None:
        """Explain rows of `program`."""
        self.program = program
        bound = program.bound()
        self._guards = bound.guards()
        roots = [guard.node for guard in self._guards]
        code = emit(bound, roots, Spelling(OPERATIONS, DEFINED, literal))
        self._tables = [np.asarray(table) for table in code.tables.values()]
        names = [*(f"x{i}" for i in range(len(program.inputs))), *code.tables, "zero", "one", "largest_exponent"]
        held = "".join(f"{code.texts[root]}, " for root in roots)
        self._holds = function("holds", names, [*code.lines, f"return ({held})"], {**NAMES, **NOT_FINITE})

    def __call__(self, inputs: Mapping[str, Any]) -> Counter[str]:
        """Return how many of these rows, all of them bad, are so for which reason."""
        name = self.program.name
        arguments, exact, shape = gather(self.program, columns(self.program, inputs), lambda *c: convert(name, *c))
        left = np.ones(shape, bool)
        found: Counter[str] = Counter()
        for column, fine in exact.items():
            _count(found, f"{column} is no number or flag that a float holds exactly", left, ~np.asarray(fine))
        for argument, (column, field) in zip(arguments, self.program.inputs.items(), strict=True):
            if field.kind == "number" and column not in self.program.terminal:
                _count(found, f"{column} is NaN", left, np.isnan(argument))
        with np.errstate(all="ignore"):
            holds = self._holds(*arguments, *self._tables, 0.0, 1.0, FLOATS["float64"].exponent)
        for guard, held in zip(self._guards, holds, strict=True):
            _count(found, f"{guard.where} {guard.why}", left, np.logical_not(held))
        _count(found, "another reason", left, True)
        return found


def _count(found: Counter[str], reason: str, left: Any, rows: Any) -> None:
    """Count the rows that are left and bad for a reason; they are left no more."""
    hit = left & rows
    number = int(np.count_nonzero(hit))
    if number:
        found[reason] += number
        left &= ~hit
