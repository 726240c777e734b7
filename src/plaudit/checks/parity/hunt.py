"""Ask row by row, and remember every row that tells a reward and another implementation of it apart."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic

from plaudit.checks.parity.aimed import Pool, Steps, simpler
from plaudit.checks.parity.answer import Answer, Failed
from plaudit.checks.parity.judge import Judge, differing
from plaudit.checks.parity.report import Mismatch
from plaudit.checks.parity.respondent import Respondent
from plaudit.checks.parity.rows import Row, as_declared, encoded, nested
from plaudit.errors import InputError

SIMPLIFYING = 20.0
"""Seconds that may be spent on making a counterexample simpler."""

Progress = Callable[[int], None]
"""Told how many rows have been compared, before each one, and while a counterexample is made simpler."""


class Hunt:
    """The rows asked so far, and what came of it."""

    def __init__(self, judge: Judge, steps: Steps, asked: Respondent, progress: Progress) -> None:
        self.tested = self.refused = self.aside = 0
        self._judge = judge
        self._steps = steps
        self._asked = asked
        self._progress = progress
        self._bad: dict[tuple[str, ...], Mismatch] = {}
        """What was bad stays bad, even where a program answers otherwise when it is asked again."""
        self._first: Mismatch | None = None
        self._until = 0.0
        self._slow = False
        self._before: Row | None = None

    def tells_apart(self, row: Row) -> bool | None:
        """Return whether the two differ on a row as on the first such row; None where the row does not count."""
        if _key(row) in self._bad:
            return True
        if self._first and (self._slow or monotonic() > self._until):
            return False
        if self._steps.needed and self._steps.broken(row):
            return None
        try:
            expected = self._judge.expected(row)
        except InputError:
            self.refused += not self._first
            return None
        found = self._compared(row, expected)
        if found is None or not self._is_like_the_first(found):
            return False
        self._bad[_key(row)] = found
        return True

    def mismatch(self, row: Row | None, pools: Mapping[str, Pool]) -> Mismatch | None:
        """Return what was found on the simplest row, after asking for it once more."""
        if row is None:
            return self._after_the_last()
        row = self._simpler(row, pools)
        found = self._bad[_key(row)]
        if self._slow:
            return found
        self._asked.renew()
        again = self._compared(row, self._judge.expected(row))
        if again is None:
            return replace(
                found, note="Asked for this row alone, it gives the right answer: does it remember earlier rows?"
            )
        if (again.got, again.kind) != (found.got, found.kind):
            return replace(found, note="Asked for this row once more, it answers otherwise: is it random?")
        return found

    def _simpler(self, row: Row, pools: Mapping[str, Pool]) -> Row:
        """Return a row with the simplest value of each input that still tells the two apart, one after the other."""
        for name, pool in pools.items():
            for value in simpler(pool, row[name]):
                candidate = {**row, name: value}
                if self._steps.mended(candidate) == candidate and self.tells_apart(candidate):
                    row = candidate
                    break
        return row

    def _after_the_last(self) -> Mismatch | None:
        try:
            self._asked.finish()
        except Failed as failed:
            return self._failure(failed, self._before) if self._before else None
        return None

    def _compared(self, row: Row, expected: Answer) -> Mismatch | None:
        looking = self._first is None
        self.tested += looking
        self._progress(self.tested)
        try:
            got = self._asked.ask(nested(self._judge.program, row))
            allowed = self._judge.allowed(row, expected)
            terms = differing(expected, got, allowed)
            if terms and looking:
                self._asked.check_silence()
        except Failed as failed:
            self._slow = self._slow or failed.slow
            return self._failure(failed, self._before if failed.row_before and self._before else row)
        self._before = row
        if terms and self._judge.rounding_decides(row, got):
            self.aside += looking
            return None
        return self._described(row, expected, got=got, terms=terms, tolerance=allowed) if terms else None

    def _failure(self, failed: Failed, row: Row) -> Mismatch:
        return self._described(
            row, self._judge.expected(row), got=None, kind=failed.kind, failure=str(failed), simplest=not failed.slow
        )

    def _described(self, row: Row, expected: Answer, **found: object) -> Mismatch:
        program = self._judge.program
        inputs = {name: as_declared(program.inputs[name], value) for name, value in row.items()}
        line = encoded(nested(program, row))
        return Mismatch(inputs=inputs, row=line, expected=expected, breaks=self._steps.broken(row), **found)  # type: ignore[arg-type]

    def _is_like_the_first(self, found: Mismatch) -> bool:
        """Return whether a mismatch is of the same kind, so that simplifying one does not end up with another."""
        if self._first is None:
            self._first = found
            self._until = monotonic() + SIMPLIFYING
        return found.kind == self._first.kind and set(found.terms) <= set(self._first.terms)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(map(repr, row.values()))
