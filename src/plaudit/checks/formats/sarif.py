"""A report for code scanning: SARIF 2.1.0, which GitHub, GitLab and editors read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from plaudit.checks.finding import Finding, Place, Report, Severity
from plaudit.checks.formats.checked import Checked
from plaudit.checks.formats.json import step_in_json
from plaudit.checks.formats.places import uri
from plaudit.checks.formats.sentences import told
from plaudit.checks.formats.values import visible
from plaudit.checks.rules import RULES, Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Severity, str] = {"warning": "warning", "advice": "note"}
_POSITION = {code: at for at, code in enumerate(RULES)}


def as_sarif(checked: Sequence[Checked], *, root: str | Path, version: str = "") -> dict[str, Any]:
    """Return reports as a SARIF log of one run; files below the folder `root` are named from there.

    A finding without a place stands at the home of its reward: GitHub refuses a whole log in which one result has no
    location. `version` is that of plaudit.
    """
    driver = {"name": "plaudit", **({"version": version} if version else {})}
    made = _Results(root, Counter())
    run = {
        "tool": {"driver": {**driver, "rules": [_rule(rule) for rule in RULES.values()]}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": [*_notifications(checked)]}],
        "columnKind": "unicodeCodePoints",
        "results": [result for each in checked for result in made.of(each)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    page = f"docs/checks/{rule.code}.md"
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

    def of(self, checked: Checked) -> Iterator[dict[str, Any]]:
        for finding in checked.report.findings:
            yield self._result(checked, finding)
        for each in checked.report.suppressed:
            result = self._result(checked, each.finding)
            result["message"]["text"] += f"\nAllowed: {visible(each.reason)}"  # not every reader knows suppressions
            yield result | {"suppressions": [{"kind": "inSource", "justification": each.reason}]}

    def _result(self, checked: Checked, finding: Finding) -> dict[str, Any]:
        report, place = checked.report, finding.place or checked.home
        return {
            "ruleId": finding.code,
            "ruleIndex": _POSITION[finding.code],
            "level": _LEVELS[finding.severity],
            "message": {"text": told(finding, checked.report.rest)},
            **({"locations": [self._location(report, finding, place)]} if place else {}),
            "partialFingerprints": {"plaudit/v1": self._fingerprint(report, finding)},
            "properties": {
                "reward": report.reward,
                "version": report.version,
                "fingerprint": report.fingerprint,
                "term": finding.term,
                "witness": [step_in_json(step) for step in finding.witness],
                "advice": finding.advice,
                "facts": list(finding.facts),
            },
        }

    def _location(self, report: Report, finding: Finding, place: Place) -> dict[str, Any]:
        region: dict[str, Any] = {"startLine": place.line}
        if place.text:
            region["snippet"] = {"text": place.text}
        return {
            "physicalLocation": {"artifactLocation": {"uri": uri(place.file, self.root)}, "region": region},
            "logicalLocations": [{"name": finding.term, "fullyQualifiedName": f"{report.reward}.{finding.term}"}],
        }

    def _fingerprint(self, report: Report, finding: Finding) -> str:
        """Return what stays the same while lines move, numbers change and versions go up."""
        key = report.reward, finding.code, finding.term
        self.seen[key] += 1
        return sha256("\0".join([*key, str(self.seen[key])]).encode()).hexdigest()[:32]


def _notifications(checked: Sequence[Checked]) -> Iterator[dict[str, Any]]:
    """Yield what was asked and not answered, which a reader should know."""
    for each in checked:
        for asked in each.report.undecided:
            yield _notification(asked.code, f"{each.name}, {asked.term}: undecided: {asked.why}")
        for code, why in each.report.skipped.items():
            yield _notification(code, f"{each.name}: not run: {why}")


def _notification(code: str, text: str) -> dict[str, Any]:
    rule = {"id": code, **({"index": _POSITION[code]} if code in _POSITION else {})}
    return {"level": "note", "message": {"text": text}, "associatedRule": rule}
