"""An episode step by step: the value of every term, its inputs, and the executed lines of its source."""

import json
from typing import Any

import numpy as np

from plaudit.ledger.storage.episode_parts import MASKED, ORIGINAL_REWARD, find_masked
from plaudit.page.documents.columns import Numbers, Steps, join
from plaudit.page.documents.frames import has_frames
from plaudit.page.documents.values import Document, to_column, to_column_with_gaps, to_plain
from plaudit.page.sources import LedgerSource, Listing, RewardIds

MOST_STEPS = 50_000
"""Steps of an episode that are shown: as many as a browser draws and rescores smoothly."""
MOST_CONTEXT = 20_000
"""Characters of all contexts of an episode that are sent with it; longer ones come with each step."""


def build_episode(source: LedgerSource, run: str, name: str, *, most: int = MOST_STEPS) -> Document:
    """Return an episode of a run."""
    listing, at = source.find_episode(run, name)
    episode = listing.episodes[at]
    parts = source.read_steps(run, name, most)
    terms = list(dict.fromkeys(term for part in parts for term in part.terms))
    adjustments = {name for part in parts for name in part.layout.scored.program.adjustments}
    fields = {name: field for part in parts for name, field in part.layout.scored.program.inputs.items()}
    numbers = join([part.numbers for part in parts])
    records = join([part.records.tolist() for part in parts])
    values, scores = (_join_columns(parts, kind, terms) for kind in ("values", "scores"))
    native = join([part.native for part in parts])
    contexts = join([part.contexts for part in parts])
    scored = join([part.is_scored.tolist() for part in parts])
    length = episode.length + sum(len(part.records) for part in parts if part.layout.part == "final")
    return {
        "run": episode.run,
        "source": source.id,
        "episode": name,
        "actor": episode.actor,
        "reward": source.find_reward_id(episode),
        "records": [episode.first_record, episode.last_record],
        **_find_neighbours(listing, at),
        "steps": numbers,
        "step_ids": name_steps(numbers, records),
        "record_ids": records,
        "return": to_plain(episode.total) if episode.finished else None,
        "so_far": None if episode.finished or not episode.is_scored else to_plain(episode.total),
        "total": join([_list_scores(part, part.total) for part in parts]),
        "masked": {str(at): find_masked(contexts[at]) or "" for at, there in enumerate(scored) if not there},
        "contexts": _list_contexts(contexts),
        "values": {term: column for term, column in values.items() if term not in adjustments},
        "scores": {term: column for term, column in scores.items() if term not in adjustments},
        "adjustments": {term: column for term, column in values.items() if term in adjustments},
        "inputs": {name: _join_input(parts, name) for name in fields},
        "labels": {name: list(field.labels) for name, field in fields.items() if field.labels},
        "flags": [name for name, field in fields.items() if field.kind == "flag"],
        "units": {name: field.unit for name, field in fields.items() if field.unit},
        "native": to_plain(native) if any(each is not None for each in native) else None,
        "end": episode.ended,
        **_build_paths(parts, source.rewards),
        "shown": len(records),
        "of": max(length, len(records)),
        "frames": has_frames(episode.reward),
    }


def name_steps(numbers: list[int | None], records: list[int]) -> list[str]:
    """Return the name of each step in addresses: its number, or its record's number if the step number is not unique.

    >>> name_steps([1, 2, 2, None], [11, 12, 13, 14])
    ['1', '2', 'record-13', 'record-14']
    """
    names: dict[str, None] = {}
    for number, record in zip(numbers, records, strict=True):
        name = str(number)
        names[f"record-{record}" if number is None or name in names else name] = None
    return list(names)


def _find_neighbours(listing: Listing, at: int) -> Document:
    ids, last = listing.ids, len(listing) - 1
    return {"previous": ids[at - 1] if at else None, "next": ids[at + 1] if at < last else None}


def _join_columns(parts: list[Steps], kind: str, terms: list[str]) -> dict[str, list[Any]]:
    """Return a column for each term; None at steps without it, as at the end of an episode."""
    found: dict[str, list[Any]] = {term: [] for term in terms}
    for part in parts:
        columns = getattr(part, kind)
        for term, column in found.items():
            column += _list_scores(part, columns[term]) if term in columns else [None] * len(part.records)
    return found


def _list_scores(part: Steps, column: Numbers) -> list[Any]:
    """Return a column of outputs; None at steps without a score."""
    return to_column_with_gaps(column, part.is_scored)


def _list_contexts(contexts: list[Any]) -> Document | None:
    """Return the contexts of steps by position, without the parts shown for all steps; None if they are too long."""
    kept = {at: _strip_context(each) for at, each in enumerate(contexts)}
    found = {str(at): to_plain(each) for at, each in kept.items() if each not in (None, {})}
    return found if len(json.dumps(found)) <= MOST_CONTEXT else None


def _strip_context(context: Any) -> Any:
    """Return a context without the environment reward and the reason for a missing score."""
    shown = (ORIGINAL_REWARD, MASKED)
    return {name: each for name, each in context.items() if name not in shown} if type(context) is dict else context


def _join_input(parts: list[Steps], name: str) -> list[Any]:
    """Return an input of every step: numbers, bools, and positions of categories; None where it was not given."""
    found: list[Any] = []
    for part in parts:
        columns, gaps = part.layout.split_columns(part.inputs), part.layout.find_gaps(part.inputs)
        if name in gaps:
            found += to_column_with_gaps(columns[name], ~gaps[name])
        else:
            found += to_column(columns[name]) if name in columns else [None] * len(part.records)
    return found


def _build_paths(parts: list[Steps], rewards: RewardIds) -> Document:
    """Return the distinct paths of steps through the sources of all terms, and the path of each step."""
    known: dict[Any, int] = {}
    paths: list[Document] = []
    path: list[int] = []
    for part in parts:
        count = len(part.records)
        reward = rewards.find_paths(part.layout)
        cases = reward.find_cases(part.layout.split_columns(part.inputs), count)
        rows = np.stack(list(cases.values()), axis=1) if cases else np.zeros((count, 0), np.intp)
        for row, there in zip(map(tuple, rows.tolist()), part.is_scored.tolist(), strict=True):
            way = (part.layout, row) if there else None
            if way not in known:
                known[way] = len(paths)
                taken = zip(cases, row, strict=True) if there else ()
                paths.append({term: reward.terms[term].list_lines(case) for term, case in taken})
            path.append(known[way])
    return {"paths": paths, "path": path}
