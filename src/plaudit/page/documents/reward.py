"""A reward: its terms as text, formulas and curves, its best-paid behaviors, and its findings."""

import json
import math
from collections.abc import Mapping
from typing import Any

from plaudit.checks.bounds import Bound, bounds
from plaudit.checks.check import check
from plaudit.checks.finding import Finding
from plaudit.checks.formats.json import format_step
from plaudit.checks.formats.text import LABELS, format_incentive
from plaudit.checks.report import Report
from plaudit.checks.rules import RULES
from plaudit.errors import TargetError
from plaudit.page.documents.curves import Curves
from plaudit.page.documents.paths import RewardPaths
from plaudit.page.documents.values import Document, to_plain
from plaudit.reward.describe import list_task_rows
from plaudit.reward.reward import Reward
from plaudit.reward.task.bound import TaskField
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term

SECONDS = 20.0
"""Time limit for the checks: the page is waiting."""
FEW_SECONDS = 5.0
"""Time limit for the bounds."""
_NO_FORMULA = {"formula": "", "mathml": ""}


def build_definition(reward_id: str, reward: Reward) -> Document:
    """Return the definition of a reward, without checks, which take longer."""
    paths = RewardPaths(reward)
    formulas = _split_formulas(reward)
    curves = Curves(reward, paths)
    module, missing = _compile_module(reward)
    docs = {each.name: each.doc for each in reward._functions}
    return {
        "id": reward_id,
        "name": reward.name,
        "version": reward.version,
        "fingerprint": reward.fingerprint,
        "doc": reward.doc,
        "total": formulas["total"],
        "terms": [
            {**_describe_term(term, paths), **formulas[term.name], "curve": curves.draw(term)} for term in reward.terms
        ],
        "adjustments": [
            {"name": name, **formulas.get(name, _NO_FORMULA), "doc": docs.get(name, "")}
            for name in reward.program.adjustments
        ],
        "fields": [_describe_field(field) for field in reward._bound.fields.values()],
        "task": None if reward.task.is_empty else _describe_task(reward.task),
        "knobs": [_describe_knob(reward, name, value) for name, value in reward.params.items()],
        "module": module,
        "module_missing": missing,
        "spec": json.loads(reward.to_json()),
    }


def build_reward(definition: Document, reward: Reward) -> Document:
    """Return everything about a reward: its definition, bounds, best-paid behaviors and findings."""
    report = check(reward, timeout=SECONDS)
    found = bounds(reward, timeout=FEW_SECONDS)
    curves = Curves(reward, RewardPaths(reward))
    terms = [
        {
            **described,
            "bounds": _format_bound(found.values[term.name]),
            "witnesses": curves.place_witnesses(term, report.findings),
        }
        for term, described in zip(reward.terms, definition["terms"], strict=True)
    ]
    return {
        **definition,
        "total": {**definition["total"], "bounds": _format_bound(found.total)},
        "terms": terms,
        "incentives": _describe_incentives(report),
        "findings": [_describe_finding(finding) for finding in report.findings],
    }


def _split_formulas(reward: Reward) -> dict[str, Document]:
    """Return the formula of each state, each function and the total, as LaTeX and as MathML."""
    text = reward.formula()
    blocks = text.strip().split("\n\n")
    return {
        name: {"formula": block, "mathml": str(markup)}
        for (name, markup), block in zip(text.mathml.items(), blocks, strict=True)
    }


def _format_bound(bound: Bound) -> list[Any]:
    return [to_plain(bound.low), to_plain(bound.high)]


def _describe_term(term: Term, paths: RewardPaths) -> Document:
    clamp = None if term.low is None and term.high is None else [_to_number(term.low), _to_number(term.high)]
    return {
        "name": term.name,
        "doc": term.doc,
        "weight": _to_number(term.weight),
        "clamp": clamp,
        "inputs": list(term.reads),
        "terminal": term.terminal,
        "unit": "",
        "source": {"text": paths.terms[term.name].text, "first_line": 1, "file": None},
    }


def _to_number(value: Any) -> Any:
    """Return a number as it is, and a schedule as text."""
    return to_plain(value)


def _describe_field(field: TaskField) -> Document:
    limits = None if field.low is None and field.high is None else [to_plain(field.low), to_plain(field.high)]
    return {
        "name": field.name,
        "kind": field.kind,
        "range": limits,
        "infinite": field.infinite,
        "shape": list(field.shape),
        "unit": field.unit,
        "labels": list(field.labels or map(to_plain, field.numbers)),
        "better": field.better,
        "aim": to_plain(field.aim),
        "role": field.role,
        "doc": field.doc,
    }


def _describe_task(task: Task) -> Document:
    said = [{"part": part, "of": of, "says": says, "from": origin} for part, of, says, origin in list_task_rows(task)]
    about = {part: getattr(task, part) for part in ("name", "version", "fingerprint", "doc", "source")}
    return {**about, "said": said}


def _describe_incentives(report: Report) -> Document:
    lines = [f"{LABELS[each.kind]} {format_incentive(each)}" for each in report.incentives]
    rows = [
        {
            "kind": each.kind,
            "pay": to_plain(each.pay),
            "where": each.where,
            "worth": each.worth,
            "witness": [format_step(step) for step in each.witness],
        }
        for each in report.incentives
    ]
    return {"summary": report.summary, "text": lines, "list": rows}


def _describe_finding(finding: Finding) -> Document:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "where": finding.term,
        "message": finding.message,
        "advice": finding.advice,
        "evidence": finding.evidence and finding.evidence.says,
        "grounds": finding.list_weak_grounds(),
        "why": RULES[finding.code].why,
        "docs": RULES[finding.code].page,
        "witness": [format_step(step) for step in finding.witness] or None,
    }


def _describe_knob(reward: Reward, name: str, value: float | bool) -> Document:
    owner, _, own = name.rpartition(".")
    kind = "weight" if own == "weight" else "clamp" if own in ("low", "high") else "knob"
    terms: Mapping[str, Term] = {term.name: term for term in reward.terms}
    low, high = (False, True) if isinstance(value, bool) else _choose_range(float(value))
    return {
        "name": name,
        "value": to_plain(value),
        "kind": kind,
        "term": owner if owner in terms else None,
        "low": low,
        "high": high,
        "doc": terms[owner].doc if owner in terms else "",
    }


def _choose_range(value: float) -> tuple[float, float]:
    """Return the range of a slider: from 0 to twice the value.

    >>> _choose_range(5.0), _choose_range(-3.0), _choose_range(0.0)
    ((0.0, 10.0), (-6.0, 0.0), (-1.0, 1.0))
    """
    if value == 0 or not math.isfinite(value):
        return -1.0, 1.0
    return (0.0, 2 * value) if value > 0 else (2 * value, 0.0)


def _compile_module(reward: Reward) -> tuple[str | None, str | None]:
    """Return the reward as a module of JavaScript, or why there is none."""
    try:
        return reward.compile("javascript", on_bad="mask").module, None
    except TargetError as error:
        return None, str(error)
