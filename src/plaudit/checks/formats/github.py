"""A report for the log of a GitHub workflow: commands that become annotations on the changed lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.checked import Checked
from plaudit.checks.formats.places import path_below
from plaudit.checks.formats.sentences import told

_COMMANDS: dict[Severity, str] = {"warning": "warning", "advice": "notice"}


def as_github(checked: Sequence[Checked], *, root: str | Path) -> str:
    """Return a workflow command a finding; files below the folder `root` are named from there."""
    return "".join(f"{line}\n" for each in checked for line in _report(each, root))


def command(name: str, message: str, **properties: object) -> str:
    r"""Return one workflow command, with all that could end it or a property of it escaped.

    >>> command("warning", "50 %\nof it", file="a,b.py", line=3)
    '::warning file=a%2Cb.py,line=3::50 %25%0Aof it'
    """
    given = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in properties.items() if value is not None)
    return f"::{name}{' ' * bool(given)}{given}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    text = text.replace("%", "%25")
    return "".join(f"%{ord(c):02X}" if c in f"\r\n{more}" else c for c in text)


def _report(checked: Checked, root: str | Path) -> Iterator[str]:
    report, name = checked.report, checked.name
    for finding in report.findings:
        yield _finding(finding, checked, root)
    for each in report.undecided:
        yield command("notice", f"{each.term}: {each.why}", title=f"{name}: {each.code} is undecided")
    if report.skipped:
        lines = [f"{code}: {why}" for code, why in report.skipped.items()]
        yield command("notice", "\n".join(lines), title=f"{name}: rules that did not run")


def _finding(finding: Finding, checked: Checked, root: str | Path) -> str:
    place, file, line = finding.place, None, None
    if place:
        file, line = path_below(place.file, root) or place.file, place.line
    title = f"{checked.name}: {finding.code}"
    return command(_COMMANDS[finding.severity], told(finding, checked.report.rest), file=file, line=line, title=title)
