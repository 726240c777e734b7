"""Compare a reward with another implementation and find the simplest row on which they differ."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from plaudit.checks.branches import Branches
from plaudit.checks.model import RewardModel
from plaudit.checks.parity.adapters import Adapter, Function, Session
from plaudit.checks.parity.aim import Aim
from plaudit.checks.parity.answers import Answer, Mismatch, NoAnswer, ParityReport, Progress
from plaudit.checks.parity.candidates import Pool, simpler_values
from plaudit.checks.parity.coverage import BranchQuestions, Coverage
from plaudit.checks.parity.judge import Judge, find_differing_terms
from plaudit.checks.parity.recorded import Recorded, compare_pairs
from plaudit.checks.step_facts import StepFacts
from plaudit.errors import DefinitionError, InputError, MissingExtra
from plaudit.reward.reward import Reward
from plaudit.rows.row import FlatRow, nest_row

SIMPLIFYING = 20.0
"""Time limit for simplifying a counterexample, in seconds."""
ROUNDS = 3
"""Rounds of simplifying each input in turn."""
SOLVING = 60.0
"""Time limit for the solver on branches that no row takes, in seconds."""


def parity(
    reward: Reward,
    against: Adapter | Recorded | Callable[..., Any],
    *,
    examples: int = 1000,
    timeout: float = 5.0,
    tolerance: float | None = None,
    seed: int = 0,
    float32: bool = False,
    progress: Progress = lambda tested: None,
) -> ParityReport:
    """Test whether another implementation computes the same reward.

    Rows are drawn within the declared ranges and close to the thresholds of the reward. A row on which the two differ
    is simplified as far as possible.

    Args:
        reward: The reward that gives the expected answers.
        against: The other implementation: `Command("./program")`, which runs as a child process, a Python function, or
            `Recorded("pairs.jsonl")`, a file of rows with answers.
        examples: Number of rows to compare.
        timeout: Time limit for each answer of a program, in seconds.
        tolerance: Largest allowed difference of two numbers. If omitted, the bound on the rounding error of each row.
        seed: Random seed.
        float32: Send only numbers that a 32-bit float can hold, and round the reward's own constants to float32.
        progress: Called with the number of rows compared so far.

    Returns:
        A report; `report.mismatch` is the simplest row that differs, or None.

    Raises:
        DefinitionError: An argument is invalid, or the reward cannot score any row that was tried.
        FileError: The program cannot be started, or the file cannot be used.
        MissingExtra: hypothesis is not installed.

    >>> from plaudit import Field, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> report = parity(reaching, lambda distance: 1 if distance <= 2 else 0)
    >>> report.ok, dict(report.mismatch.inputs), report.mismatch.terms
    (False, {'distance': 2.0}, ('near',))
    """
    _validate_options(examples, timeout, tolerance)
    judge = Judge(reward.program, tolerance, single=float32)
    questions = BranchQuestions(Branches(judge.program.bind()), RewardModel(reward), seconds=SOLVING)
    coverage = Coverage(questions.branches)
    if isinstance(against, Recorded):
        found = compare_pairs(judge, against, coverage, progress)
        return _build_report(reward, against.name, tolerance, **found, **coverage.describe_rest(questions))
    adapter: Adapter = against if isinstance(against, Adapter) else Function(against)
    try:
        from plaudit.checks.parity import draws
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise MissingExtra(
            "parity generates its rows with hypothesis. Install it: pip install 'plaudit[parity]'"
        ) from None
    aim = Aim(reward, judge, questions, seed=seed)
    chosen = aim.list_rows(most=examples - 1)
    with adapter.start(judge.program.terms, timeout) as session:
        search = Search(judge, aim.steps, coverage, session, progress)
        row = draws.find_simplest(aim.draw_row, search.tells_apart, examples=examples - len(chosen), seed=seed)
        if row is None:
            row = next((each for each in chosen if search.tells_apart(each)), None)
        mismatch = search.describe_mismatch(row, aim.pools)
    if not search.tested:
        raise DefinitionError(f"reward {reward.name!r} cannot score any row that was tried: nothing can be compared.")
    return _build_report(
        reward,
        adapter.name,
        tolerance,
        tested=search.tested,
        refused=search.refused,
        aside=search.aside,
        differing=int(mismatch is not None),
        mismatch=mismatch,
        **({} if mismatch else coverage.describe_rest(questions)),
    )


def _build_report(reward: Reward, against: str, tolerance: float | None, **found: Any) -> ParityReport:
    return ParityReport(
        reward=reward.name,
        version=reward.version,
        fingerprint=reward.fingerprint,
        against=against,
        tolerance=tolerance,
        **found,
    )


def _validate_options(examples: int, timeout: float, tolerance: float | None) -> None:
    if not isinstance(examples, int) or examples < 1:  # type: ignore[redundant-expr]
        raise DefinitionError(f"examples={examples!r} must be an integer, at least 1")
    if not timeout > 0 or math.isinf(timeout):
        raise DefinitionError(f"timeout={timeout!r} must be a number of seconds above 0")
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise DefinitionError(f"tolerance={tolerance!r} must be a number, 0 or more")


class Search:
    """The rows asked so far and their results."""

    def __init__(
        self, judge: Judge, steps: StepFacts, coverage: Coverage, session: Session, progress: Progress
    ) -> None:
        self.tested = self.refused = self.aside = 0
        self._judge = judge
        self._coverage = coverage
        self._steps = steps
        self._session = session
        self._progress = progress
        self._bad: dict[tuple[str, ...], Mismatch] = {}
        """A mismatch is kept even if the program gives another answer when asked again."""
        self._first: Mismatch | None = None
        self._until = 0.0
        self._slow = False
        self._before: FlatRow | None = None

    def tells_apart(self, row: FlatRow) -> bool | None:
        """Return whether the two differ on a row as on the first mismatch; None if the row cannot be compared."""
        if _key(row) in self._bad:
            return True
        if self._first and (self._slow or monotonic() > self._until):
            return False
        if self._steps.needed and self._steps.find_broken(row):
            return None
        try:
            expected = self._judge.score(row)
        except InputError:
            self.refused += not self._first
            return None
        found = self._compare(row, expected)
        if found is None or not self._is_like_the_first(found):
            return False
        self._bad[_key(row)] = found
        return True

    def describe_mismatch(self, row: FlatRow | None, pools: Mapping[str, Pool]) -> Mismatch | None:
        """Return the mismatch on the simplest row, after asking for it again."""
        if row is None:
            return self._finish()
        row = self._simplify(row, pools)
        found = self._bad[_key(row)]
        if self._slow:
            return found
        self._session.restart()
        again = self._compare(row, self._judge.score(row))
        if again is None:
            return replace(found, note="For this row alone it gives the right answer. Does it keep state between rows?")
        if (again.got, again.kind) != (found.got, found.kind):
            return replace(found, note="For the same row again it gives a different answer. Is it random?")
        return found

    def _simplify(self, row: FlatRow, pools: Mapping[str, Pool]) -> FlatRow:
        """Return a row with the simplest value of each input, in turn, on which the two still differ."""
        for _ in range(ROUNDS):
            before = row
            for name, pool in pools.items():
                for value in simpler_values(pool, row[name]):
                    candidate = {**row, name: value}
                    if self._steps.mend(candidate) == candidate and self.tells_apart(candidate):
                        row = candidate
                        break
            if row == before:
                break
        return row

    def _finish(self) -> Mismatch | None:
        try:
            self._session.finish()
        except NoAnswer as failed:
            return self._describe_failure(failed, self._before) if self._before else None
        return None

    def _compare(self, row: FlatRow, expected: Answer) -> Mismatch | None:
        looking = self._first is None
        self.tested += looking
        self._progress(self.tested)
        try:
            got = self._session.ask(nest_row(self._judge.program, row))
            allowed = self._judge.tolerance_of(row, expected)
            terms = find_differing_terms(expected, got, allowed)
            if terms and looking:
                self._session.check_silence()
        except NoAnswer as failed:
            self._slow = self._slow or failed.slow
            return self._describe_failure(failed, self._before if failed.row_before and self._before else row)
        self._before = row
        if terms and self._judge.is_decided_by_rounding(row, got):
            self.aside += looking
            return None
        if looking and not terms:
            self._coverage.add(row)
        return self._describe(row, expected, got=got, terms=terms, tolerance=allowed) if terms else None

    def _describe_failure(self, failed: NoAnswer, row: FlatRow) -> Mismatch:
        return self._describe(
            row, self._judge.score(row), got=None, kind=failed.kind, failure=str(failed), simplest=not failed.slow
        )

    def _describe(self, row: FlatRow, expected: Answer, **found: Any) -> Mismatch:
        return self._judge.describe(row, expected, breaks=self._steps.find_broken(row), **found)

    def _is_like_the_first(self, found: Mismatch) -> bool:
        """Return whether a mismatch is of the same kind, so that simplifying does not end at a different one."""
        if self._first is None:
            self._first = found
            self._until = monotonic() + SIMPLIFYING
        return found.kind == self._first.kind and set(found.terms) <= set(self._first.terms)


def _key(row: FlatRow) -> tuple[str, ...]:
    return tuple(map(repr, row.values()))
