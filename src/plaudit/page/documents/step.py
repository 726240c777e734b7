"""One step: the attribution of its reward to terms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from plaudit.analysis.explain.branches import nearest_branches
from plaudit.analysis.explain.step_branches import NearestBranch
from plaudit.errors import InputError
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.page.addresses import UnknownDocument
from plaudit.page.documents.columns import Steps
from plaudit.page.documents.episode import name_steps
from plaudit.page.documents.values import Document, format_time, to_plain
from plaudit.page.sources import LedgerSource
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal


def build_step(source: LedgerSource, run: str, name: str, step: str) -> Document:
    """Return a step of an episode."""
    listing, at = source.find_episode(run, name)
    episode = listing.episodes[at]
    part, row, names, position = _find_step(source.read_steps(run, name), step)
    if part is None:
        raise UnknownDocument(f"the episode {name[:60]!r} of {source.name} has no step {step[:60]!r}.")
    record = int(part.records[row])
    why = source.explain(record)
    signal, reward = why.record.signal, part.layout.scored
    is_scored = bool(part.is_scored[row])
    paths = source.rewards.find_paths(part.layout)
    cases = paths.find_cases(part.layout.split_columns(part.inputs[[row]]), 1) if is_scored else {}
    docs = {each.name: each.doc for each in reward._functions}
    adjustments = reward.program.adjustments
    rows = [_describe_term(each, docs) for each in signal.terms] if is_scored else []
    nearest = _find_nearest(reward, signal) if is_scored else {}
    for each in rows:
        each["nearest"] = nearest.get(each["name"], [])
        if each["name"] in cases:
            case = int(cases[each["name"]][0])
            each["lines"] = paths.terms[each["name"]].list_lines(case)
            each["conditions"] = paths.terms[each["name"]].list_conditions(case)
    return {
        "run": episode.run,
        "source": source.id,
        "episode": name,
        "step": why.record.step,
        "record": record,
        "verified": _verify(part, row, why.record.target),
        "time": format_time(why.record.at),
        "reward": source.find_reward_id(episode),
        "fingerprint": signal.fingerprint,
        "why": str(replace(why, texts={})),
        "texts": why.list_texts(),
        "total": to_plain(signal.total) if is_scored else None,
        "masked": None if is_scored else why.record.masked or "",
        "terms": [each for each in rows if each["name"] not in adjustments],
        "adjustments": [each for each in rows if each["name"] in adjustments],
        "override": signal.override,
        "inputs": [_describe_input(part, each, signal.inputs.get(each)) for each in reward.inputs],
        "context": to_plain(_describe_context(why.record)),
        "previous": names[position - 1] if position else None,
        "next": names[position + 1] if position + 1 < len(names) else None,
    }


def _find_step(parts: Sequence[Steps], step: str) -> tuple[Steps | None, int, list[str], int]:
    """Return the block of a step, its row there, the names of all steps of the episode, and its position among them."""
    numbers = [number for part in parts for number in part.numbers]
    records = [record for part in parts for record in part.records.tolist()]
    names = name_steps(numbers, records)
    by_record = {f"record-{record}": at for at, record in enumerate(records)}
    place = left = names.index(step) if step in names else by_record.get(step, len(names))
    for part in parts:
        if left < len(part.records):
            return part, left, names, place
        left -= len(part.records)
    return None, 0, names, place


def _describe_term(term: Any, docs: dict[str, str]) -> Document:
    numbers = {name: to_plain(value) for name, value in term._asdict().items()}
    return {**numbers, "doc": docs.get(term.name, ""), "lines": [], "conditions": [], "nearest": []}


def _find_nearest(reward: Reward, signal: Signal) -> dict[str, list[Document]]:
    """Return the nearest branches not taken for each term, and what they would have paid."""
    try:
        found = nearest_branches(reward, signal)
    except InputError:  # a value recorded in a narrower dtype may be out of range here
        return {}
    return {
        each.term: [{**to_plain(branch.to_dict()), **_locate(branch), "text": str(branch)} for branch in each.nearest]
        for each in found.terms
    }


def _locate(branch: NearestBranch) -> Document:
    return {"from": to_plain(branch.before), "to": to_plain(branch.after)}


def _describe_input(part: Steps, name: str, value: float | bool | str | None) -> Document:
    """Return an input; its value is None if it was not given."""
    field = part.layout.scored.program.inputs[name]
    limits = None if field.low is None and field.high is None else [to_plain(field.low), to_plain(field.high)]
    return {"name": name, "value": to_plain(value), "unit": field.unit, "range": limits, "doc": field.doc}


def _describe_context(record: Any) -> Document:
    """Return the context recorded with a step; a mapping is split into its parts by name."""
    names = ("phase", "decision_class", "actor", "key")
    about = {name: getattr(record, name) for name in names if getattr(record, name) is not None}
    context = record.context
    if type(context) is dict and not about.keys() & context.keys():
        return about | context
    return about if context is None else about | {"context": context}


def _verify(part: Steps, row: int, target: str) -> bool | None:
    """Return whether the stored reward recomputes these numbers; None if it cannot run here."""
    try:
        different = get_recomputer(part.layout).find_different(
            part.inputs[[row]], part.outputs[[row]], target=target, here=False
        )
    except ImportError:
        return None
    return not different[0]
