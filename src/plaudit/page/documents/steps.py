"""The steps of a run over training: how often clamps applied, and which branches of terms were taken.

A ledger keeps no sums of steps, so the steps are read: for a long run, those of some episodes spread evenly over it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plaudit.language.schedule import Schedule
from plaudit.page.documents.columns import Steps, join
from plaudit.page.documents.values import Document, to_plain
from plaudit.page.sources import LedgerSource, Listing, RewardIds

MOST_EPISODES = 48
MOST_STEPS = 100_000

Shares = dict[str, float]


def build_steps(source: LedgerSource, name: str) -> Document:
    """Return the shares of steps of some episodes of a run."""
    run, listing = source.find_run(name)
    chosen, clamps, branches, native, steps = [], [], [], [], 0
    wanted = choose_evenly(listing, MOST_EPISODES, MOST_STEPS)
    if listing.steps <= MOST_STEPS:
        source.preload_steps(name, wanted)
    for at in wanted:
        episode = listing.episodes[at]
        whole = source.read_steps(name, listing.ids[at])
        parts = [part.scored for part in whole]
        count = sum(len(part.records) for part in parts)
        if not count:
            continue  # no step has a score, or its block is gone because another ledger was restored
        chosen.append(at)
        clamps.append(_add_shares([_count_clamps(part) for part in parts], count))
        branches.append(_add_shares([_count_branches(part, source.rewards) for part in parts], count))
        native.append(_add_native(whole) if episode.finished else None)
        steps += count
    return {
        "run": run,
        "source": source.id,
        "x": chosen,
        "ids": [listing.ids[at] for at in chosen],
        "clamps": _to_columns(clamps),
        "branches": _to_columns(branches),
        "native": to_plain(native) if any(each is not None for each in native) else None,
        "sampled": {"episodes": len(chosen), "of": len(listing), "steps": steps, "of_steps": listing.steps},
    }


def choose_evenly(listing: Listing, most: int, steps: int) -> list[int]:
    """Return the positions of at most `most` episodes, evenly spread, with at most about `steps` steps."""
    count = len(listing)
    mean = max(listing.steps / count, 1.0) if count else 1.0
    wanted = min(count, most, max(2, int(steps / mean)))
    return np.unique(np.linspace(0, count - 1, wanted).round().astype(int)).tolist() if count else []


def _count_clamps(part: Steps) -> Shares:
    """Return the number of steps in which the score of each term with fixed clamps lay outside them."""
    found: Shares = {}
    for term in part.layout.scored.terms:
        low, high = term.low, term.high
        if (low is None and high is None) or isinstance(low, Schedule) or isinstance(high, Schedule):
            continue
        scores = part.scores[term.name]
        outside = (scores < (-np.inf if low is None else low)) | (scores > (np.inf if high is None else high))
        found[term.name] = float(np.count_nonzero(outside))
    return found


def _count_branches(part: Steps, rewards: RewardIds) -> Shares:
    paths = rewards.find_paths(part.layout)
    count = len(part.records)
    cases = paths.find_cases(part.layout.split_columns(part.inputs), count)
    found: Shares = {}
    for term, taken in cases.items():
        own = paths.terms[term]
        if own.conditions:
            times = np.bincount(taken, minlength=len(own.conditions) + 1)
            found |= {f"{term}: {own.name_case(case)}": float(times[case]) for case in range(len(times))}
    return found


def _add_shares(parts: Sequence[Shares], count: int) -> Shares:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0.0) for part in parts) / count for name in names}


def _add_native(parts: Sequence[Steps]) -> float | None:
    paid = [each for each in join([part.native for part in parts]) if each is not None]
    return float(np.sum(paid)) if paid else None


def _to_columns(rows: Sequence[Shares]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
