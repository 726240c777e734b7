"""Rows of a reward with what each of them should give, and a comparison with what a target gave."""

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
    """Rows for a reward: what a runner is given.

    `rows` are dicts from column to Python value, with None and unknown strings in them; `columns` are the same as
    arrays of NumPy: categories as positions (an unknown one beyond the last), `missing` filled in, a vector with its
    entries on the last axis. `params` are other values of parameters, or None.
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
        """Take rows of the reward of `case`; what they should give is what the functions of `wanted` give."""
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
        """The reward that is compiled."""
        return self.case.reward

    def allowed(self, inexact: Kinds | None = None) -> Allowance:
        """Return what a target may differ by; `inexact` is the arithmetic that it may round otherwise."""
        program = self._wanted.reward.program
        kinds = ((n.Mul,) if self.case.powers else ()) if inexact is None else inexact
        return allowance(program, as_arguments(program, self.columns), dtype=self.dtype, inexact=kinds)


class Difference(NamedTuple):
    """Something that a target gave and should not have given."""

    row: int
    output: str
    """`total`, `near.value`, `near.score`, or `ok`."""
    expected: object
    got: object


class Tally:
    """Counts what was compared, so that it can be seen how few rows were set aside."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def find_difference(
        self, batch: Batch, scores: Scores, *, inexact: Kinds | None = None, bits: bool = False, strict: bool = False
    ) -> Difference | None:
        """Return the first difference between the scores of a batch and what its rows should give.

        With `bits` nothing may differ. A row is set aside where rounding alone could take it over a cliff, but not with
        `bits` nor with `strict`.
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
    """Return the numbers of a result by name; None for each where the row does not count."""
    values, scores = result.values or dict.fromkeys(terms), result.scores or dict.fromkeys(terms)
    both = [(f"{t}.value", v) for t, v in values.items()] + [(f"{t}.score", v) for t, v in scores.items()]
    return {"total": result.total, **dict(both)}


def _spread(array: Any, size: int) -> Any:
    return np.broadcast_to(np.asarray(array, np.float64), size)
