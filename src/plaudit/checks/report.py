"""The report of a check: everything found about one reward, and its text form."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Self

from plaudit.checks.finding import SEVERITIES, Failed, Finding, Incentive, Severity, Suppressed, Undecided
from plaudit.checks.formats.html import build_finding, build_incentives
from plaudit.checks.formats.text import (
    Line,
    Piece,
    format_finding_lines,
    format_incentive_lines,
    join_pieces,
    wrap_paragraph,
)
from plaudit.html import MOST_ROWS, build_element, build_heading, build_list, build_note, join
from plaudit.language.reading.context import Note
from plaudit.language.reading.source import SourceLine
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task
from plaudit.terminal import escape_controls, escape_line, format_count

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

WIDTH = 80
"""Default line width in characters."""

MOST_NOTES = 5
"""Notes on functions that the text form shows."""


@dataclass(frozen=True, slots=True)
class TaskLabel:
    """The task that a reward was checked against."""

    name: str
    version: str
    fingerprint: str

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Return the label of a task; None where it says nothing."""
        return None if task.is_empty else cls(task.name, task.version, task.fingerprint)

    def __str__(self) -> str:
        return f"task {self.name}@{self.version} ({self.fingerprint[:12]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of `check`: findings, best-paid behaviors, and everything that was not decided.

    Iterating over it yields the findings, most severe first; `print(report)` shows what `plaudit check` prints.

    >>> from plaudit import Field, Reward, check, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> report = check(Reward("r", version="1", terms=[near], fields=[Field("distance", low=0, high=9)]))
    >>> report.ok, len(report), [finding.code for finding in report.at_least("note")]
    (True, 1, ['jump'])
    """

    reward: str
    version: str
    fingerprint: str
    task: TaskLabel | None = None
    """The task that was checked against; None if neither the reward nor the caller has one."""
    summary: str = ""
    """What an agent will do, in a sentence; after a check in an environment, also how certain that is."""
    incentives: tuple[Incentive, ...] = ()
    """The best-paid behaviors, best first; empty if only some rules ran."""
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    contradicted: tuple[Finding, ...] = ()
    """Findings that were dropped because the observed steps contradict them."""
    undecided: tuple[Undecided, ...] = ()
    failed: tuple[Failed, ...] = ()
    """Rules that failed with an error in plaudit."""
    remarks: tuple[str, ...] = ()
    """What was read from a ledger or played in an environment, and what was left out."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Rules that did not run, and why."""
    notes: tuple[Note, ...] = ()
    """What in the functions makes no difference to a score, such as `print(...)`, and where fields come first."""
    rest: Mapping[str, float | bool | str] = field(default_factory=dict, repr=False)
    """The value of each input at rest, which a printed witness leaves out."""
    seconds: float = field(default=0.0, compare=False)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        return escape_controls(format_reports([LocatedReport(self)]).rstrip("\n"))

    def _repr_html_(self) -> str:
        told = self.at_least("advice")
        shown, count = told[:MOST_ROWS], len(told)
        return join(
            build_heading(f"{self.reward}@{self.version}", build_element("code", self.fingerprint[:12])),
            build_element("p", self.summary) if self.summary else None,
            None if self.task is None else build_note(str(self.task)),
            *map(build_note, self.remarks),
            build_element("div", summarise_counts([self])),
            build_incentives(self.incentives) if self.incentives else None,
            *(build_finding(each, self.rest) for each in shown),
            build_note(f"{len(shown)} of {count:,} findings shown") if len(shown) < count else None,
            build_list([join_pieces(line) for line in _format_asides(self, 10_000)]),
        )

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Plot the total of every row of every witness.

        `analysis.sweep(reward, ..., report=report).plot()` shows the rows on the curve of a term.

        Args:
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            InputError: No finding has a witness.
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.witnesses import WitnessRow, plot_witnesses

        rows = [
            WitnessRow(number, f"{each.code} ({each.term})", each.severity, step.note, step.total)
            for number, each in enumerate(self.findings)
            for step in each.witness
        ]
        return plot_witnesses(rows, title=f"{self.reward}@{self.version}: {format_count(len(self), 'finding')}", ax=ax)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings at or above a severity.

        Args:
            severity: "note", "advice" or "warning".

        Returns:
            The findings, most severe first.
        """
        shown = SEVERITIES[SEVERITIES.index(severity) :]
        return tuple(finding for finding in self.findings if finding.severity in shown)

    def by_code(self, code: str) -> tuple[Finding, ...]:
        """Return the findings of one rule.

        Args:
            code: The code of the rule, such as "loop-that-pays".

        Returns:
            The findings, most severe first.
        """
        return tuple(finding for finding in self.findings if finding.code == code)

    @property
    def ok(self) -> bool:
        """Whether there is no warning, and no rule failed."""
        return not self.at_least("warning") and not self.failed


@dataclass(frozen=True, slots=True)
class LocatedReport:
    """A report, and where its reward is defined in the source."""

    report: Report
    home: SourceLine | None = None
    """Where the reward is defined, for findings that have no line of their own."""

    @classmethod
    def of(cls, report: Report, reward: Reward, *, file: str | None = None) -> Self:
        """Return a report located at the first term of its reward, or else in `file`."""
        source = next((term.source for term in reward.terms if term.source is not None), None)
        if source is not None:
            return cls(report, SourceLine(source.file, source.first))
        return cls(report, None if file is None else SourceLine(file, 1))

    @property
    def name(self) -> str:
        """The reward's name and version."""
        return f"{self.report.reward}@{self.report.version}"


def format_reports(reports: Sequence[LocatedReport], *, width: int = WIDTH) -> str:
    """Return reports as plain text, one after the other."""
    return "".join(f"{join_pieces(line)}\n" for line in format_lines(reports, width=width))


def format_lines(reports: Sequence[LocatedReport], *, width: int = WIDTH) -> Iterator[Line]:
    """Yield reports line by line; where there are several, the last line counts them all together."""
    separate = False
    for each in reports:
        lines = list(_format_report(each, width))
        if separate or (each is not reports[0] and len(lines) > 1):
            yield ()
        separate = len(lines) > 1
        yield from lines
    if len(reports) > 1:
        yield ()
        counts = summarise_counts([each.report for each in reports])
        yield (Piece(f"{len(reports):,} rewards: {counts}", "title"),)


def _format_report(located: LocatedReport, width: int) -> Iterator[Line]:
    """Yield one report: title, best-paid behaviors, findings, undecided and allowed ones, and the counts."""
    report = located.report
    title = Piece(located.name, "title"), Piece(f"  {report.fingerprint[:12]}", "dim")
    if not (report.findings or report.undecided or report.failed or report.suppressed or report.contradicted):
        yield (*title, Piece("  no findings"))
        yield from _format_summary(report, width)
        yield from _format_remarks(report, width)
        yield from format_incentive_lines(report.incentives, width)
        yield from _format_notes(report, width)
        yield from _format_skipped(report, width)
        return
    asides = list(_format_asides(report, width))
    yield title
    yield from _format_summary(report, width)
    if report.task is not None and report.task.name != "task":  # which has no name of its own
        yield from wrap_paragraph(f"Checked against {escape_line(str(report.task))}", width=width, part="dim")
    yield from _format_remarks(report, width)
    yield from format_incentive_lines(report.incentives, width)
    for finding in report.at_least("advice"):
        yield ()
        yield from format_finding_lines(finding, report.rest, width)
    yield ()
    if asides:
        yield from asides
        yield ()
    yield (Piece(summarise_counts([report])),)


def _format_summary(report: Report, width: int) -> Iterator[Line]:
    if report.summary:
        yield from wrap_paragraph(escape_line(report.summary), width=width)


def _format_remarks(report: Report, width: int) -> Iterator[Line]:
    for remark in report.remarks:
        yield from wrap_paragraph(escape_line(remark), width=width, part="dim")


def summarise_counts(reports: Sequence[Report]) -> str:
    """Return how much was found in all, in a line.

    >>> summarise_counts([Report(reward="r", version="1", fingerprint="", skipped={"jump": "no z3"})])
    'no findings; 1 rule not run'
    """
    counts = Counter(finding.severity for report in reports for finding in report)
    found = [format_count(counts["warning"], "warning")] if counts["warning"] else []
    if counts["advice"]:
        found.append(f"{format_count(counts['advice'], 'piece')} of advice")
    if counts["note"]:
        found.append(format_count(counts["note"], "note"))
    skipped = {code for report in reports for code in report.skipped}
    asides = {
        "failed": sum(len(report.failed) for report in reports),
        "undecided": sum(len(report.undecided) for report in reports),
        f"{'rule' if len(skipped) == 1 else 'rules'} not run": len(skipped),
        "allowed": sum(len(report.suppressed) for report in reports),
        "dropped": sum(len(report.contradicted) for report in reports),
    }
    more = [f"{count:,} {what}" for what, count in asides.items() if count]
    return "; ".join(part for part in (", ".join(found) or "no findings", ", ".join(more)) if part)


def _format_asides(report: Report, width: int) -> Iterator[Line]:
    """Yield the lines below the findings: notes, and rules that failed, were undecided, not run, dropped or allowed."""
    for note in report.findings[len(report.at_least("advice")) :]:
        yield from _format_aside("note", f"{note.code}  {note.term}: {escape_line(note.message)}", width)
    for failed in report.failed:
        text = f"{failed.code}: {escape_line(failed.error)}. This is a bug in plaudit; please report it."
        yield from _format_aside("failed", text, width)
    for each in report.undecided:
        yield from _format_aside("undecided", f"{each.code}  {each.term}: {escape_line(each.why)}", width)
    yield from _format_notes(report, width)
    yield from _format_skipped(report, width)
    if report.contradicted:
        count = format_count(len(report.contradicted), "finding")
        yield from _format_aside("dropped", f"{count} contradicted by the observed steps (--json shows them)", width)
    for allowed in report.suppressed:
        text = f"{allowed.finding.code}  {allowed.finding.term}: {escape_line(allowed.reason)}"
        yield from _format_aside("allowed", text, width)


def _format_notes(report: Report, width: int) -> Iterator[Line]:
    """Yield what to know of the functions: the first notes, and how many more there are."""
    for note in report.notes[:MOST_NOTES]:
        place = f"{PurePath(note.place.file).name}, line {note.place.line}"
        yield from _format_aside("as read", f"{note.term}: {escape_line(note.what)} ({escape_line(place)})", width)
    if len(report.notes) > MOST_NOTES:
        yield from _format_aside("as read", f"{len(report.notes) - MOST_NOTES} more notes (--json shows them)", width)


def _format_skipped(report: Report, width: int) -> Iterator[Line]:
    by_reason: dict[str, list[str]] = {}
    for code, why in report.skipped.items():
        by_reason.setdefault(why, []).append(code)
    for why, codes in by_reason.items():
        yield from _format_aside("not run", f"{', '.join(codes)}: {escape_line(why)}", width)


def _format_aside(what: str, text: str, width: int) -> Iterator[Line]:
    return wrap_paragraph(text, width=width, first=what.ljust(len("undecided  ")), part="dim")
