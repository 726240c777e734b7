"""What became of the tests of a project, read from lines that the process which ran them signed."""

import hashlib
import hmac
import json
from typing import Any, NamedTuple

from plaudit.errors import InputError

MAX_MESSAGE = 2000
"""How many characters of what a test said are kept."""

_WORST_FIRST = ("error", "failure", "skipped", "passed")
"""What may become of a test; where several reports are about one test, the worst counts."""


class Failure(NamedTuple):
    """A failing test and its message; see `PytestRun.failures`.

    >>> print(Failure("test_prices.test_tax", "AssertionError").test)
    test_prices.test_tax
    """

    test: str
    message: str


class PytestRun(NamedTuple):
    """What became of the tests of a project.

    >>> run = PytestRun(passed=3, total=4)
    >>> run.rate, run.success
    (0.75, False)
    """

    passed: int
    total: int
    """The tests that passed or failed, the files that could not be imported, and the tests that are missing."""
    skipped: int = 0
    """Tests that were skipped, or are expected to fail and do; they are not in `total`."""
    failures: tuple[Failure, ...] = ()
    broken: tuple[Failure, ...] = ()
    """Files that could not be imported; each counts as one failing test, whatever number of tests it holds."""
    missing: int = 0
    """Tests fewer than were expected; they count as failing."""

    @property
    def rate(self) -> float:
        """The share of tests that pass: what a state keeps as `test_pass_rate`."""
        return self.passed / self.total if self.total else 0.0

    @property
    def success(self) -> bool:
        """Whether every test passes, and there is one."""
        return self.passed == self.total > 0

    def with_expected(self, tests: int | None) -> "PytestRun":
        """Count missing tests as failing.

        Args:
            tests: The number of tests expected, or None.

        Returns:
            The result with the missing tests added.
        """
        missing = max(0, (tests or 0) - self.total)
        return self._replace(total=self.total + missing, missing=missing)


class SignedResults(NamedTuple):
    """Every test that was collected, what became of it, and how pytest ended."""

    tests: dict[str, Failure | str]
    broken: tuple[Failure, ...]
    code: int

    def summarize(self) -> PytestRun:
        """Return how many tests passed, and those that did not."""
        outcomes = list(self.tests.values())
        passed, skipped = outcomes.count("passed"), outcomes.count("skipped")
        failures = tuple(outcome for outcome in outcomes if isinstance(outcome, Failure))
        total = len(outcomes) - skipped + len(self.broken)
        return PytestRun(passed, total, skipped, failures, self.broken)


def read_results(written: bytes, key: bytes) -> SignedResults | None:
    """Return what the lines in `written` say, or None where the end is missing; InputError where they were changed.

    Every line is signed with `key` and has its number, so that none can be added, altered or left out.
    """
    collected: dict[str, list[tuple[str, str]]] = {}
    finished, broken, code = set(), {}, None
    for number, line in enumerate(written.splitlines()):
        kind, *values = _read_line(line, number, key)
        if kind == "collected":
            collected.setdefault(values[0], [])
        elif kind == "broken":
            broken[values[0]] = Failure(_format_test(values[0]), find_last_error(values[1]))
        elif kind == "finished":
            finished.add(values[0])
        elif kind == "end":
            code = values[0]
        elif values[0] not in collected:
            raise InputError(f"pytest reported {values[0]}, which it had not collected: its results cannot be trusted.")
        else:
            collected[values[0]].append(_read_outcome(*values[1:]))
    if code is None:
        return None
    tests = {test: _judge(test, reports, test in finished) for test, reports in collected.items()}
    return SignedResults(tests, tuple(broken.values()), code)


def _read_line(line: bytes, number: int, key: bytes) -> list[Any]:
    signature, _, body = line.partition(b" ")
    if hmac.compare_digest(signature, hmac.new(key, body, hashlib.sha256).hexdigest().encode()):
        found, *values = json.loads(body)
        if found == number:
            return list(values)
    raise InputError(
        f"line {number + 1} of the results has the wrong signature: the project changed them, so there is no pass rate."
    )


def _read_outcome(when: str, outcome: str, message: str) -> tuple[str, str]:
    """Return what one of the reports about a test means for it; that it was set up, or cleared up, means nothing."""
    if outcome == "failed":
        return ("failure" if when == "call" else "error"), message
    return (outcome if outcome == "skipped" or (outcome, when) == ("passed", "call") else ""), message


def _judge(test: str, reports: list[tuple[str, str]], finished: bool) -> Failure | str:
    ranked = sorted((report for report in reports if report[0]), key=lambda report: _WORST_FIRST.index(report[0]))
    outcome, message = ranked[0] if ranked else ("error", "it was not run")
    if not finished:
        outcome, message = "error", "it never finished"
    return outcome if outcome in ("passed", "skipped") else Failure(_format_test(test), message[:MAX_MESSAGE])


def _format_test(name: str) -> str:
    """Return the name of a test as pytest's own reports have it, `tests.test_a.TestGroup.test_it[2]`."""
    path, bracket, parameters = name.partition("[")
    file, *inside = path.split("::")
    return ".".join([file.replace("/", ".").removesuffix(".py"), *inside]) + bracket + parameters


def find_last_error(printed: str) -> str:
    """Return the last line that pytest marks as an error."""
    lines = [line.removeprefix("E").strip() for line in printed.splitlines() if line.startswith("E ")]
    return (lines[-1] if lines else "it cannot be imported")[:MAX_MESSAGE]
