"""The gate: is a reward good enough, and if not, an error that says why."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from plaudit.checks.check import as_codes, check
from plaudit.checks.finding import Finding, Report
from plaudit.checks.formats.checked import Checked
from plaudit.checks.formats.text import as_text
from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward

FailOn = Literal["warning", "advice", "never"]


def assert_reward_ok(
    reward: Reward,
    *,
    fail_on: FailOn = "warning",
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    outcomes: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    timeout: float = 3.0,
) -> Report:
    """Check a reward; AssertionError with the whole report where a finding is as grave as `fail_on`.

    One line of a test: `assert_reward_ok(my_reward)`. What comes back otherwise is the report.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not of this function
    _known(fail_on)
    report = check(reward, only=as_codes(only), ignore=as_codes(ignore), outcomes=outcomes, timeout=timeout)
    if failing(report, fail_on):
        raise AssertionError(as_text([Checked.of(report, reward)]).rstrip("\n"))
    return report


def failing(report: Report, fail_on: FailOn) -> tuple[Finding, ...]:
    """Return the findings that keep a gate shut.

    >>> failing(Report(reward="r", version="1", fingerprint=""), "advice")
    ()
    """
    return () if fail_on == "never" else report.at_least(fail_on)


def _known(fail_on: str) -> None:
    allowed = get_args(FailOn)
    if fail_on not in allowed:
        near = did_you_mean(str(fail_on), allowed)
        raise DefinitionError(f"fail_on={fail_on!r} is not one of {', '.join(allowed)}.{near}")
