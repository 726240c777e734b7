"""A report for scripts: plain data that JSON holds without loss."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plaudit.checks.finding import Finding, Report, Step
from plaudit.checks.formats.checked import Checked
from plaudit.checks.formats.places import path_below
from plaudit.checks.formats.values import in_json
from plaudit.checks.rules import RULES


def as_dict(checked: Sequence[Checked], *, root: str | Path = "") -> dict[str, Any]:
    """Return reports as plain data; files below the folder `root` are named from there."""
    return {"rewards": [_report(each.report, root) for each in checked]}


def _report(report: Report, root: str | Path) -> dict[str, Any]:
    warnings = len(report.at_least("warning"))
    return {
        "reward": report.reward,
        "version": report.version,
        "fingerprint": report.fingerprint,
        "findings": [_finding(finding, root) for finding in report.findings],
        "suppressed": [{**_finding(each.finding, root), "reason": each.reason} for each in report.suppressed],
        "undecided": [{"code": each.code, "term": each.term, "why": each.why} for each in report.undecided],
        "skipped": dict(report.skipped),
        "counts": {
            "warning": warnings,
            "advice": len(report) - warnings,
            "suppressed": len(report.suppressed),
            "undecided": len(report.undecided),
            "skipped": len(report.skipped),
        },
    }


def _finding(finding: Finding, root: str | Path) -> dict[str, Any]:
    place = finding.place
    file = place and (path_below(place.file, root) or place.file)
    return {
        "code": finding.code,
        "severity": finding.severity,
        "term": finding.term,
        "file": file,
        "line": place and place.line,
        "message": finding.message,
        "witness": [step_in_json(step) for step in finding.witness],
        "advice": finding.advice,
        "why": RULES[finding.code].why,
        "facts": list(finding.facts),
    }


def step_in_json(step: Step) -> dict[str, Any]:
    """Return one row of a witness as plain data.

    >>> step_in_json(Step({"distance": float("inf")}, 0.5))
    {'inputs': {'distance': 'inf'}, 'total': 0.5, 'note': ''}
    """
    inputs = {name: in_json(value) for name, value in step.inputs.items()}
    return {"inputs": inputs, "total": in_json(step.total), "note": step.note}
