"""A report for scripts: plain data that JSON holds without loss."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from plaudit.checks.finding import SEVERITIES, Finding, Incentive, Step
from plaudit.checks.formats.plain import encode_number, relative_path
from plaudit.checks.report import LocatedReport, Report
from plaudit.checks.rules import find_rule
from plaudit.language.reading.context import Note


def format_json(reports: Sequence[LocatedReport], *, root: str | Path = "") -> dict[str, Any]:
    """Return reports as plain data; files below the folder `root` are named from there."""
    return {"rewards": [_format_report(each.report, root) for each in reports]}


def _format_report(report: Report, root: str | Path) -> dict[str, Any]:
    found = Counter(finding.severity for finding in report)
    return {
        "reward": report.reward,
        "version": report.version,
        "fingerprint": report.fingerprint,
        "task": None if report.task is None else asdict(report.task),
        **({"summary": report.summary} if report.summary else {}),
        **({"remarks": list(report.remarks)} if report.remarks else {}),
        "incentives": [_format_incentive(each) for each in report.incentives],
        "findings": [_format_finding(finding, root) for finding in report.findings],
        "suppressed": [{**_format_finding(each.finding, root), "reason": each.reason} for each in report.suppressed],
        "contradicted": [_format_finding(finding, root) for finding in report.contradicted],
        "undecided": [{"code": each.code, "term": each.term, "why": each.why} for each in report.undecided],
        "failed": [{"code": each.code, "error": each.error} for each in report.failed],
        "skipped": dict(report.skipped),
        "notes": [_format_note(note, root) for note in report.notes],
        "counts": {
            **{severity: found[severity] for severity in reversed(SEVERITIES)},
            "suppressed": len(report.suppressed),
            "contradicted": len(report.contradicted),
            "undecided": len(report.undecided),
            "failed": len(report.failed),
            "skipped": len(report.skipped),
        },
    }


def _format_note(note: Note, root: str | Path) -> dict[str, Any]:
    file = relative_path(note.place.file, root) or note.place.file
    return {"term": note.term, "what": note.what, "file": file, "line": note.place.line, "text": note.place.text}


def _format_incentive(incentive: Incentive) -> dict[str, Any]:
    return {
        "kind": incentive.kind,
        "pay": encode_number(incentive.pay),
        "bound": encode_number(incentive.bound),
        "where": incentive.where,
        "worth": incentive.worth,
        "witness": [format_step(step) for step in incentive.witness],
    }


def _format_finding(finding: Finding, root: str | Path) -> dict[str, Any]:
    place = finding.place
    file = place and (relative_path(place.file, root) or place.file)
    return {
        "code": finding.code,
        "severity": finding.severity,
        "term": finding.term,
        "file": file,
        "line": place and place.line,
        "message": finding.message,
        "witness": [format_step(step) for step in finding.witness],
        "advice": finding.advice,
        "why": find_rule(finding.code).why,
        "facts": list(finding.facts),
        "evidence": finding.evidence and {"verdict": finding.evidence.verdict, "says": finding.evidence.says},
        "basis": finding.basis,
        "grounds": [{"says": each.says, "basis": each.basis, "seen": each.seen} for each in finding.grounds],
    }


def format_step(step: Step) -> dict[str, Any]:
    """Return one row of a witness as plain data.

    >>> format_step(Step({"distance": float("inf")}, 0.5))
    {'inputs': {'distance': 'inf'}, 'total': 0.5, 'note': ''}
    """
    inputs = {name: encode_number(value) for name, value in step.inputs.items()}
    recorded = {} if step.record is None else {"record": step.record}
    return {"inputs": inputs, "total": encode_number(step.total), "note": step.note, **recorded}
