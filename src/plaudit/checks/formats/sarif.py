"""A report for code scanning: SARIF 2.1.0, which GitHub, GitLab and editors read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.json import format_step
from plaudit.checks.formats.plain import format_finding, format_uri
from plaudit.checks.report import LocatedReport, Report
from plaudit.checks.rules import list_all_rules
from plaudit.checks.rules.registry import Rule
from plaudit.language.reading.source import SourceLine
from plaudit.terminal import escape_line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Severity, str] = {"warning": "warning", "advice": "note", "note": "note"}


def format_sarif(reports: Sequence[LocatedReport], *, root: str | Path, version: str = "") -> dict[str, Any]:
    """Return reports as a SARIF log of one run; files below the folder `root` are named from there.

    A finding without a place stands at the home of its reward: GitHub refuses a whole log in which one result has no
    location. `version` is that of plaudit.
    """
    driver = {"name": "plaudit", **({"version": version} if version else {})}
    results = _Results(root, Counter())
    run = {
        "tool": {"driver": {**driver, "rules": [_format_rule(rule) for rule in list_all_rules().values()]}},
        "invocations": [
            {
                "executionSuccessful": not any(each.report.failed for each in reports),
                "toolExecutionNotifications": [*_format_notifications(reports)],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [result for each in reports for result in results.format(each)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _format_rule(rule: Rule) -> dict[str, Any]:
    page = rule.page
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.code.replace("-", " ").capitalize() + "."},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why} See {page}.", "markdown": f"{rule.why}\n\nSee `{page}`."},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"page": page},
    }


@dataclass(frozen=True)
class _Results:
    """Results of one run; `seen` tells findings apart that are otherwise the same."""

    root: str | Path
    seen: Counter[tuple[str, str, str]]

    def format(self, located: LocatedReport) -> Iterator[dict[str, Any]]:
        for finding in located.report.findings:
            yield self._format_result(located, finding)
        for each in located.report.suppressed:
            result = self._format_result(located, each.finding)
            allowed = f"Allowed: {escape_line(each.reason)}"  # not every reader knows suppressions
            result["message"]["text"] += f"\n{allowed}"
            yield result | {"suppressions": [{"kind": "inSource", "justification": each.reason}]}

    def _format_result(self, located: LocatedReport, finding: Finding) -> dict[str, Any]:
        report, place = located.report, finding.place or located.home
        return {
            "ruleId": finding.code,
            "ruleIndex": list(list_all_rules()).index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": format_finding(finding, located.report.rest)},
            **({"locations": [self._format_location(report, finding, place)]} if place else {}),
            "partialFingerprints": {"plaudit/v1": self._fingerprint(report, finding)},
            "properties": {
                "reward": report.reward,
                "version": report.version,
                "fingerprint": report.fingerprint,
                "term": finding.term,
                "severity": finding.severity,
                "witness": [format_step(step) for step in finding.witness],
                "advice": finding.advice,
                "facts": list(finding.facts),
                **({} if finding.evidence is None else {"evidence": finding.evidence.verdict}),
            },
        }

    def _format_location(self, report: Report, finding: Finding, place: SourceLine) -> dict[str, Any]:
        region: dict[str, Any] = {"startLine": place.line}
        if place.text:
            region["snippet"] = {"text": place.text}
        return {
            "physicalLocation": {"artifactLocation": {"uri": format_uri(place.file, self.root)}, "region": region},
            "logicalLocations": [{"name": finding.term, "fullyQualifiedName": f"{report.reward}.{finding.term}"}],
        }

    def _fingerprint(self, report: Report, finding: Finding) -> str:
        """Return what stays the same while lines move, numbers change and versions go up."""
        key = report.reward, finding.code, finding.term
        self.seen[key] += 1
        return sha256("\0".join([*key, str(self.seen[key])]).encode()).hexdigest()[:32]


def _format_notifications(reports: Sequence[LocatedReport]) -> Iterator[dict[str, Any]]:
    """Yield what was asked and not answered, which a reader should know."""
    for each in reports:
        for broken in each.report.failed:
            yield _format_notification(broken.code, f"{each.name}: failed: {broken.error}", level="error")
        for open_question in each.report.undecided:
            what = f"{each.name}, {open_question.term}: undecided: {open_question.why}"
            yield _format_notification(open_question.code, what)
        for code, why in each.report.skipped.items():
            yield _format_notification(code, f"{each.name}: not run: {why}")


def _format_notification(code: str, text: str, *, level: str = "note") -> dict[str, Any]:
    known = list(list_all_rules())
    rule = {"id": code, **({"index": known.index(code)} if code in known else {})}
    return {"level": level, "message": {"text": text}, "associatedRule": rule}
