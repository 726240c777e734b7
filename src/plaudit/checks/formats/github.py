"""A report for the log of a GitHub workflow: commands that become annotations on the changed lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.plain import format_finding, relative_path
from plaudit.checks.report import LocatedReport

_COMMANDS: dict[Severity, str] = {"warning": "warning", "advice": "notice", "note": "notice"}


def format_github(reports: Sequence[LocatedReport], *, root: str | Path) -> str:
    """Return a workflow command a finding; files below the folder `root` are named from there."""
    return "".join(f"{line}\n" for each in reports for line in _format_report(each, root))


def format_command(name: str, message: str, **properties: object) -> str:
    r"""Return one workflow command, with all that could end it or a property of it escaped.

    >>> format_command("warning", "50 %\nof it", file="a,b.py", line=3)
    '::warning file=a%2Cb.py,line=3::50 %25%0Aof it'
    """
    given = ",".join(f"{key}={_escape(str(value), ':,')}" for key, value in properties.items() if value is not None)
    return f"::{name}{' ' * bool(given)}{given}::{_escape(message)}"


def _escape(text: str, more: str = "") -> str:
    text = text.replace("%", "%25")
    return "".join(f"%{ord(c):02X}" if c in f"\r\n{more}" else c for c in text)


def _format_report(located: LocatedReport, root: str | Path) -> Iterator[str]:
    report, name = located.report, located.name
    for finding in report.findings:
        yield _format_finding(finding, located, root)
    for broken in report.failed:
        yield format_command(
            "error", f"{broken.error}. This is a bug in plaudit.", title=f"{name}: {broken.code} failed"
        )
    for each in report.undecided:
        yield format_command("notice", f"{each.term}: {each.why}", title=f"{name}: {each.code} is undecided")
    if report.skipped:
        lines = [f"{code}: {why}" for code, why in report.skipped.items()]
        yield format_command("notice", "\n".join(lines), title=f"{name}: rules that did not run")


def _format_finding(finding: Finding, located: LocatedReport, root: str | Path) -> str:
    place, file, line = finding.place, None, None
    if place:
        file, line = relative_path(place.file, root) or place.file, place.line
    title = f"{located.name}: {finding.code}"
    return format_command(
        _COMMANDS[finding.severity], format_finding(finding, located.report.rest), file=file, line=line, title=title
    )
