"""Rows of a reward with their expected results, and the comparison with the results of a target."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from plaudit.language import nodes as n
from plaudit.reward.reward import Reward
from plaudit.targets.compiled import Scores
from plaudit.testing.cases import Case, Dtype
from plaudit.testing.oracle import Oracle, Outcome
from plaudit.testing.rows import Row, as_arguments, as_columns
from plaudit.testing.tolerance import Allowance, Kinds, allowance


class Batch:
    """Rows of a reward, as `check_target` passes them to `run`.

    `rows` are dicts from column to Python value, including None and unknown strings. `columns` are the same rows as
    NumPy arrays: categories as positions (an unknown one is beyond the last), `missing` filled in, the entries of a
    vector on the last axis. `params` are other values of parameters, or None.

    Example:
        def run(compiled, batch):
            scores = compiled(batch.columns) if batch.params is None else compiled(batch.columns, batch.params)
            return convert_to_numpy(scores)

        check_target("mine", run=run)
    """

    def __init__(
        self,
        case: Case,
        rows: Sequence[Row],
        *,
        dtype: Dtype = np.float64,
        params: Mapping[str, float] | None = None,
        wanted: Case | None = None,
    ) -> None:
        """Take rows of the reward of `case`; the functions of `wanted` give the expected results."""
        self.case = case
        self.dtype = dtype
        self.rows = list(rows)
        self.columns = as_columns(case, self.rows, dtype=dtype)
        self.params = params
        self._wanted = wanted or case
        oracle = Oracle(self._wanted, dtype=dtype)
        self.outcomes: list[Outcome] = [oracle(row) for row in self.rows]

    @property
    def reward(self) -> Reward:
        """The reward that was compiled."""
        return self.case.reward

    def allowed(self, inexact: Kinds | None = None) -> Allowance:
        """Return how far the results of a target may differ from the expected ones.

        Args:
            inexact: Operations that the target may round differently; if omitted, only those of powers.

        Returns:
            The largest allowed difference of each row, and which rows cannot be compared.
        """
        program = self._wanted.reward.program
        kinds = ((n.Mul,) if self.case.powers else ()) if inexact is None else inexact
        return allowance(program, as_arguments(program, self.columns), dtype=self.dtype, inexact=kinds)


class Difference(NamedTuple):
    """A result of a target that is not the expected one."""

    row: int
    output: str
    """`total`, `near.value`, `near.score`, or `ok`."""
    expected: object
    got: object


class Tally:
    """Counts what was compared, and how few rows were set aside."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def find_difference(
        self, batch: Batch, scores: Scores, *, inexact: Kinds | None = None, bits: bool = False, strict: bool = False
    ) -> Difference | None:
        """Return the first difference between the scores of a batch and the expected ones.

        With `bits` nothing may differ. A row that rounding alone could move across a discontinuity is set aside, unless
        `bits` or `strict` is set.
        """
        allowed = batch.allowed(inexact)
        aside = np.zeros(len(batch.rows), bool) if bits or strict else allowed.aside
        found = {name: _spread(array, len(aside)) for name, array in list_numbers(scores, scores.values).items()}
        ok = np.broadcast_to(np.asarray(scores.ok, bool), len(aside))
        self.count.update(rewards=1, rows=len(aside), aside=int(aside.sum()))
        for i in map(int, np.flatnonzero(~aside)):
            wanted = batch.outcomes[i]
            self.count["good" if wanted.ok else "bad"] += 1
            if ok[i] != wanted.ok:
                return Difference(i, "ok", wanted.ok, bool(ok[i]))
            for name, number in list_numbers(wanted, scores.values).items():
                got = float(found[name][i])
                if number is None and not math.isnan(got):
                    return Difference(i, name, math.nan, got)
                near = number is not None and not bits and abs(got - number) <= allowed.bound[i]
                if number is not None and got != number and not near:
                    return Difference(i, name, number, got)
        return None


def list_numbers(result: Scores | Outcome, terms: Iterable[str]) -> dict[str, Any]:
    """Return the numbers of a result by name; None for each if the row cannot be scored."""
    values, scores = result.values or dict.fromkeys(terms), result.scores or dict.fromkeys(terms)
    both = [(f"{t}.value", v) for t, v in values.items()] + [(f"{t}.score", v) for t, v in scores.items()]
    return {"total": result.total, **dict(both)}


def _spread(array: Any, size: int) -> Any:
    return np.broadcast_to(np.asarray(array, np.float64), size)
