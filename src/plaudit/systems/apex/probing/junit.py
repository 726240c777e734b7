"""The report that pytest writes of a run, read: how many tests pass, and what is wrong with the others."""

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

_WORST = ("uncollected", "error", "failure", "skipped", "passed")
"""What may become of a test; of several things that became of one, the first counts."""
_UNCOLLECTED = "collection failure"
"""What the report says of a file that could not be imported."""

LONGEST = 2000
"""How many characters of what a test said are kept."""


class Failure(NamedTuple):
    """A test that does not pass, and what it said."""

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

    def expecting(self, tests: int | None) -> "PytestRun":
        """Return the same run where so many tests were to be there: those that are missing count as failing."""
        missing = max(0, (tests or 0) - self.total)
        return self._replace(total=self.total + missing, missing=missing)


def read_report(path: Path) -> PytestRun | None:
    """Return what the JUnit report at `path` says, or None where there is none or it is not complete."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return None
    became: dict[tuple[str, str], tuple[str, str]] = {}
    for case in cases:  # one that fails and whose clearing up fails too is there twice
        key = (case.get("classname") or "", case.get("name") or "")
        found = _outcome(case)
        if key not in became or _WORST.index(found[0]) < _WORST.index(became[key][0]):
            became[key] = found
    failures, broken = [], []
    for (group, name), (outcome, message) in became.items():
        test = ".".join(part for part in (group, name) if part)
        if outcome == "uncollected":
            broken.append(Failure(test, message))
        elif outcome in ("error", "failure"):
            failures.append(Failure(test, message))
    outcomes = [outcome for outcome, _ in became.values()]
    passed, skipped = outcomes.count("passed"), outcomes.count("skipped")
    return PytestRun(passed, len(outcomes) - skipped, skipped, tuple(failures), tuple(broken))


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    """Return what became of a test, and the first line of what it said."""
    for outcome in ("error", "failure", "skipped"):
        part = case.find(outcome)
        if part is None:
            continue
        message = part.get("message") or ""
        if message == _UNCOLLECTED:
            told = [line for line in (part.text or "").splitlines() if line.startswith("E ")]
            return "uncollected", (told[-1].removeprefix("E").strip() if told else message)[:LONGEST]
        return outcome, message.partition("\n")[0].strip()[:LONGEST]
    return "passed", ""
