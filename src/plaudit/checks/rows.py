"""Rows aimed at the places where a reward changes: a quick look before anything is proved."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from plaudit.checks.aims import cuts, numbers_to_try
from plaudit.checks.subject import Subject

ROWS = 400


@dataclass(frozen=True)
class Aimed:
    """Some hundred rows of a reward, the same ones every time."""

    subject: Subject

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        chance = np.random.default_rng(0)
        return {name: chance.choice(values, ROWS) for name, values in self._values.items()}

    @cached_property
    def _values(self) -> dict[str, np.ndarray]:
        program = self.subject.program
        cut = cuts(program)
        return {name: np.array(numbers_to_try(field, cut[name])) for name, field in program.inputs.items()}

    @cached_property
    def _compiled(self) -> Any:
        return self.subject.reward.compile("numpy", on_bad="mask")

    def totals(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Return the total of each row; NaN where it cannot be scored."""
        typed = {
            name: column.astype(bool) if self.subject.program.inputs[name].kind == "flag" else column
            for name, column in columns.items()
        }
        whole = {
            name: column.astype(int) if self.subject.program.inputs[name].kind == "category" else column
            for name, column in typed.items()
        }
        total: np.ndarray = self._compiled(whole).total
        return total

    def matters(self, names: Iterable[str]) -> bool:
        """Return whether other values of these inputs have changed a total."""
        chance = np.random.default_rng(1)
        others = {name: chance.choice(self._values[name], ROWS) for name in names}
        before, after = self.totals(self._columns), self.totals({**self._columns, **others})
        return bool((np.abs(before - after) > 1e-12).any())
