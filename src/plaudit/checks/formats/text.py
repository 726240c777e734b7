"""A report for people: plain text that fits a terminal, a mail and the message of a failed test."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from plaudit.checks.finding import Finding, Report
from plaudit.checks.formats.checked import Checked
from plaudit.checks.formats.lines import Line, Span, paragraph, plain
from plaudit.checks.formats.places import short_path
from plaudit.checks.formats.values import Value, counted, visible
from plaudit.checks.formats.witness import witness_lines

WIDTH = 80
_INDENT = 2


def as_text(checked: Sequence[Checked], *, width: int = WIDTH) -> str:
    """Return reports as plain text, one after the other."""
    return "".join(f"{plain(line)}\n" for line in text_lines(checked, width=width))


def text_lines(checked: Sequence[Checked], *, width: int = WIDTH) -> Iterator[Line]:
    """Yield reports line by line; where there are several, the last line counts them all together."""
    separate = False
    for each in checked:
        lines = list(_report(each, width))
        if separate or (each is not checked[0] and len(lines) > 1):
            yield ()
        separate = len(lines) > 1
        yield from lines
    if len(checked) > 1:
        yield ()
        yield (Span(f"{len(checked):,} rewards: {counts([each.report for each in checked])}", "title"),)


def _report(checked: Checked, width: int) -> Iterator[Line]:
    """Yield one report: who, every finding, what was not answered, what is allowed, and the counts."""
    report = checked.report
    title = Span(checked.name, "title"), Span(f"  {report.fingerprint[:12]}", "dim")
    if not report.findings and not report.undecided and not report.suppressed:
        yield (*title, Span("  nothing to complain about"))
        yield from _skipped(report, width)
        return
    asides = [*_undecided(report, width), *_skipped(report, width), *_allowed(report, width)]
    yield title
    for finding in report.findings:
        yield ()
        yield from _finding(finding, checked.report.rest, width)
    yield ()
    if asides:
        yield from asides
        yield ()
    yield (Span(counts([report])),)


def counts(reports: Sequence[Report]) -> str:
    """Return how much was found in all, in a line.

    >>> counts([Report(reward="r", version="1", fingerprint="", skipped={"jump": "no z3"})])
    'no findings; 1 rule not run'
    """
    warnings = sum(len(report.at_least("warning")) for report in reports)
    advice = sum(len(report) for report in reports) - warnings
    found = [counted(warnings, "warning")] if warnings else []
    if advice:
        found.append(f"{counted(advice, 'piece')} of advice")
    skipped = {code for report in reports for code in report.skipped}
    asides = {
        "undecided": sum(len(report.undecided) for report in reports),
        f"{'rule' if len(skipped) == 1 else 'rules'} not run": len(skipped),
        "allowed": sum(len(report.suppressed) for report in reports),
    }
    more = [f"{count:,} {what}" for what, count in asides.items() if count]
    return "; ".join(part for part in (", ".join(found) or "no findings", ", ".join(more)) if part)


def _finding(finding: Finding, rest: Mapping[str, Value], width: int) -> Iterator[Line]:
    head = Span(finding.severity, finding.severity), Span(f"  {finding.code}", "title"), Span(f"  {finding.term}")
    place = finding.place and f"{visible(short_path(finding.place.file, Path.cwd()))}:{finding.place.line}"
    if place and len(plain(head)) + 2 + len(place) <= width:
        yield (*head, Span(f"  {place}", "dim"))
    else:
        yield head
        if place:
            yield (Span(" " * _INDENT), Span(place, "dim"))
    message = visible(finding.message)
    yield from paragraph(message[:1].upper() + message[1:], width=width, indent=_INDENT)
    if finding.witness:
        yield ()
        yield from witness_lines(finding.witness, rest=rest, width=width, indent=2 * _INDENT)
        yield ()
    yield from paragraph(visible(finding.advice), width=width, indent=_INDENT, first="→ ")
    if finding.facts:
        facts = visible(", ".join(finding.facts))
        yield from paragraph(facts, width=width, indent=_INDENT, first="Facts used: ", part="dim")


def _undecided(report: Report, width: int) -> Iterator[Line]:
    for each in report.undecided:
        yield from _aside("undecided", f"{each.code}  {each.term}: {visible(each.why)}", width)


def _skipped(report: Report, width: int) -> Iterator[Line]:
    by_reason: dict[str, list[str]] = {}
    for code, why in report.skipped.items():
        by_reason.setdefault(why, []).append(code)
    for why, codes in by_reason.items():
        yield from _aside("not run", f"{', '.join(codes)}: {visible(why)}", width)


def _allowed(report: Report, width: int) -> Iterator[Line]:
    for each in report.suppressed:
        yield from _aside("allowed", f"{each.finding.code}  {each.finding.term}: {visible(each.reason)}", width)


def _aside(what: str, text: str, width: int) -> Iterator[Line]:
    return paragraph(text, width=width, first=what.ljust(len("undecided  ")), part="dim")
