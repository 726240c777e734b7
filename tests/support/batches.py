"""Random rewards in batches: what the oracle says of each row, and whether a target says the same."""

import math
from collections import Counter

import numpy as np

from plaudit.language import nodes as n
from support.columns import as_arguments, as_columns
from support.oracle import Oracle
from support.strategies import rows
from support.tolerance import allowance

ROWS = 64


class Tally:
    """Counts what was compared, so that a test can say that few rows were set aside."""

    def __init__(self):
        self.count = Counter()

    def compare(self, batch, scores, *, inexact=None, bits=False):
        """Assert that `scores` of a batch are what the oracle says of each row.

        `inexact` is the arithmetic that the target may round otherwise: none, but for products where Python has
        powers. With `bits` nothing may differ and nothing is set aside.
        """
        allowed = batch.allowed(inexact)
        aside = np.zeros(len(batch.rows), bool) if bits else allowed.aside
        found = {name: np.asarray(array, np.float64) for name, array in named(scores, scores.values).items()}
        ok = np.asarray(scores.ok)
        self.count += Counter(rows=len(aside), aside=int(aside.sum()))
        for i in np.flatnonzero(~aside):
            row, wanted = batch.rows[i], batch.outcomes[i]
            self.count["ok" if wanted.ok else "bad"] += 1
            assert ok[i] == wanted.ok, f"ok is {ok[i]} for {row}"
            for name, number in named(wanted, scores.values).items():
                got = float(found[name][i])
                if number is None:
                    assert math.isnan(got), f"{name} is {got!r}, not masked, for {row}"
                else:
                    near = abs(got - number) <= allowed.bound[i] and not bits
                    assert got == number or near, f"{name} is {got!r}, not {number!r}, for {row}"

    def assert_that_most_rows_counted(self, aside):
        """Assert that the comparison meant something: good rows, bad rows, and few set aside."""
        assert self.count["aside"] <= aside * self.count["rows"], self.count
        assert self.count["ok"] >= 0.3 * self.count["rows"], self.count
        assert self.count["bad"] >= 0.05 * self.count["rows"], self.count


class Batch:
    """Rows of a random reward, as columns too, with what the oracle says of each.

    `stored` turns a row into what a place that cannot hold every value makes of it.
    """

    def __init__(self, case, seed, size=ROWS, dtype=np.float64, stored=dict):
        self.case = case
        self.dtype = dtype
        self.rows = [stored(row) for row in rows(case, seed, size, dtype=dtype)]
        self.columns = as_columns(case, self.rows, dtype=dtype)
        oracle = Oracle(case, dtype=dtype)
        self.outcomes = [oracle(row) for row in self.rows]

    def allowed(self, inexact):
        """Return what a target may differ by."""
        program = self.case.reward.program
        inexact = ((n.Mul,) if self.case.powers else ()) if inexact is None else inexact
        return allowance(program, as_arguments(program, self.columns), dtype=self.dtype, inexact=inexact)


def named(result, terms):
    """Return the numbers of a result by name; None for each where the row does not count."""
    values, scores = result.values or dict.fromkeys(terms), result.scores or dict.fromkeys(terms)
    both = [(f"{t}.value", v) for t, v in values.items()] + [(f"{t}.score", v) for t, v in scores.items()]
    return {"total": result.total, **dict(both)}
