"""The findings of an audit of a run, each where it begins."""

from typing import Any

from plaudit.analysis.audit.audit import audit
from plaudit.checks.finding import Finding
from plaudit.checks.formats.json import format_step
from plaudit.checks.rules import find_rule
from plaudit.errors import PlauditError
from plaudit.page.addresses import format_address
from plaudit.page.documents.values import Document, to_plain
from plaudit.page.sources import LedgerSource, Listing
from plaudit.reward.reward import Reward
from plaudit.terminal import format_count

MOST_STEPS = 2_000_000
"""Steps of a run that are audited while the page waits: all of them are read."""


def build_audit(source: LedgerSource, name: str, reward: Reward | None) -> Document:
    """Return the findings of an audit of a run; for a very long run, a remark that names the command."""
    run, listing = source.find_run(name)
    about: Document = {"run": run, "source": source.id, "findings": [], "remarks": [], "skipped": {}}
    steps = source.count_records(run)
    if steps > MOST_STEPS:
        long = f"A run of {format_count(steps, 'record')} is too long to audit here. Run plaudit audit instead."
        return about | {"remarks": [long]}
    if run is None and len(source.runs) > 1:
        return about | {"remarks": ["Records without a run cannot be audited separately from the runs."]}
    query: dict[str, Any] = {} if run is None else {"run": run}
    try:
        report = audit(source.ledger, reward, **query)
    except PlauditError as error:  # of several rewards, or of none that is here
        return about | {"remarks": [source.hide_path(str(error))]}
    return about | {
        "findings": [_describe_finding(source, run, listing, finding) for finding in report.findings],
        "remarks": [source.hide_path(remark) for remark in report.remarks],
        "skipped": dict(report.skipped),
    }


def _describe_finding(source: LedgerSource, run: str | None, listing: Listing, finding: Finding) -> Document:
    records = [step.record for step in finding.witness if step.record is not None]
    first = source.ledger[min(records)] if records else None
    at = None if first is None else listing.locate(first.actor, first.episode, first.id)
    episode = listing.name(at)
    address = None
    if episode is not None:
        address = format_address("step", source.id, run, episode, f"record-{min(records)}")
    return {
        "code": finding.code,
        "severity": finding.severity,
        "where": finding.term,
        "message": finding.message,
        "advice": finding.advice,
        "why": find_rule(finding.code).why,
        "docs": find_rule(finding.code).page,
        "x": at,
        "episode": episode,
        "address": address,
        "witness": [to_plain(format_step(step)) for step in finding.witness],
    }
