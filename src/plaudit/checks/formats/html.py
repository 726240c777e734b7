"""Findings and the best-paid behaviors as HTML for notebooks; witnesses as tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from plaudit.checks.finding import Finding, Incentive, Step
from plaudit.checks.formats.plain import Value, capitalise, format_total, format_value, short_path
from plaudit.checks.formats.text import LABELS, MOST_STEPS, choose_columns, format_incentive_pay, format_remark
from plaudit.html import Markup, build_element, build_heading, build_name, build_note, build_table, join


def build_finding(finding: Finding, rest: Mapping[str, Value]) -> Markup:
    """Return a finding: what and where, in a sentence, as a table, and what to do."""
    place = finding.place and f"{short_path(finding.place.file, Path.cwd())}:{finding.place.line}"
    title = build_heading(finding.code, finding.severity, build_name(finding.term), place)
    return build_element(
        "section",
        title,
        build_element("p", capitalise(finding.message)),
        build_element("p", finding.evidence.says) if finding.evidence is not None else None,
        build_witness(finding.witness, rest) if finding.witness else None,
        build_element("p", "→ ", finding.advice),
        build_note("Facts used: ", ", ".join(finding.facts)) if finding.facts else None,
        *(build_note(ground) for ground in finding.list_weak_grounds()),
    )


def build_witness(steps: Sequence[Step], rest: Mapping[str, Value]) -> Markup:
    """Return a table with one row per step; inputs at their `rest` value can be left out."""
    view = next(choose_columns(steps, rest))
    rows = [
        (
            *(format_value(step.inputs[name]) if name in step.inputs else "" for name in view.columns),
            format_total(step.total),
            step.note,
        )
        for step in steps
    ]
    remark = format_remark(steps[0], view, left_out=0)
    table = build_table((*view.columns, "total", ""), rows, right=(*view.columns, "total"), most=MOST_STEPS)
    return join(table, build_note(remark) if remark else None)


def build_incentives(incentives: Sequence[Incentive]) -> Markup:
    """Return the best-paid behaviors as a table."""
    rows = [(LABELS[each.kind], format_incentive_pay(each), each.where, each.worth) for each in incentives]
    return build_table(("behavior", "pays", "where", "adds up to"), rows, right=["pays"])
