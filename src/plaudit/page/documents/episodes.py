"""The episodes of a run as columns: the return by term, the length and the end of each."""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from plaudit.ledger.summary.episodes import Episode
from plaudit.page.documents.values import Document, format_time, to_plain
from plaudit.page.sources import LedgerSource, Listing

MOST_ROWS = 2000
"""Rows of a table that a browser sorts and draws without a pause; of more episodes, some are selected."""


def build_episodes(source: LedgerSource, name: str) -> Document:
    """Return the table of a run."""
    run, listing = source.find_run(name)
    chosen = choose_episodes(listing, MOST_ROWS)
    picked = [listing.episodes[at] for at in chosen]
    how = "the worst, the best, the first and the last, and others spread evenly over the run"
    return {
        "run": run,
        "source": source.id,
        "shown": len(chosen),
        "of": len(listing),
        "unfinished": listing.unfinished,
        "chosen": how if len(chosen) < len(listing) else None,
        "columns": {
            "episode": [listing.ids[at] for at in chosen],
            "index": chosen,
            "return": [to_plain(each.total) if each.finished else None for each in picked],
            "so_far": [None if each.finished or not each.is_scored else to_plain(each.total) for each in picked],
            "length": [each.length for each in picked],
            "end": [each.ended for each in picked],
            "native": None,
            "time": [format_time(each.began) for each in picked],
            "terms": list_term_columns(picked),
        },
        "embedded": None,
    }


def list_term_columns(episodes: Sequence[Episode]) -> Document:
    """Return the sum of each term in each episode; None if its reward has no such term, or it is unfinished."""
    names = dict.fromkeys(name for each in episodes for name in each.terms)
    return {name: [to_plain(each.terms.get(name)) if each.finished else None for each in episodes] for name in names}


def choose_episodes(listing: Listing, most: int) -> list[int]:
    """Return the positions of at most `most` episodes: the worst, the best, the first, the last, others between.

    They come in the order of the run. A smaller `most` gives a subset of a larger one.
    """
    count = len(listing)
    if count <= most:
        return list(range(count))
    return sorted(rank_episodes(listing)[:most])


def rank_episodes(listing: Listing) -> list[int]:
    """Return the positions of all episodes, the most useful first.

    The worst, the best, the first and the last come first; then, in turn, the next worst, the next best, and one in the
    widest gap of the run that is left. An unfinished episode is neither good nor bad.
    """
    episodes, count = listing.episodes, len(listing)
    finished = [at for at in range(count) if episodes[at].finished]
    order = [finished[at] for at in np.argsort([episodes[at].total for at in finished], kind="stable").tolist()]
    ends = [*order[:1], *order[-1:], *((0, count - 1) if count else ())]
    turns = (each for turn in zip_longest(order, reversed(order), _list_spread(count)) for each in turn)
    return list(dict.fromkeys(each for each in (*ends, *turns) if each is not None))


def _list_spread(count: int) -> list[int]:
    """Return all positions, each as far from those before it as it can be: halves, quarters, eighths.

    >>> _list_spread(5)
    [0, 4, 2, 1, 3]
    """
    found: dict[int, None] = {}
    step = 1 << max(count - 1, 0).bit_length()
    while step:
        found |= dict.fromkeys(range(0, count, step))
        step //= 2
    return list(found)
