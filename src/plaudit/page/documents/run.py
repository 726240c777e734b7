"""A run over training: the return and every term of each finished episode, at its place among all of the run."""

import numpy as np

from plaudit.page.documents.values import Document, to_column_with_gaps
from plaudit.page.reduce import Reduction
from plaudit.page.sources import LedgerSource


def build_run(source: LedgerSource, name: str) -> Document:
    """Return the curves of a run."""
    run, listing = source.find_run(name)
    episodes = listing.finished
    places = [at for at, each in enumerate(listing.episodes) if each.finished]
    lengths = [each.length for each in episodes]
    reduction = Reduction(len(episodes))
    paid = {
        term: np.array([each.terms.get(term, np.nan) for each in episodes], np.float64) for term in episodes.term_names
    }
    return {
        "run": run,
        "source": source.id,
        "rewards": list(dict.fromkeys(map(source.find_reward_id, listing.episodes))),
        "episodes": len(listing),
        "unfinished": listing.unfinished,
        "steps": listing.steps if len(listing) else source.count_records(run),
        "masked": source.records[run].masked,
        "mean_length": sum(lengths) / len(lengths) if lengths else None,
        "reduced": reduction.describe(),
        "x": reduction.pick(places),
        "ids": reduction.pick([listing.ids[at] for at in places]),
        "return": reduction.reduce([each.total for each in episodes]),
        "length": reduction.reduce(lengths),
        "native": None,
        "terms": {term: reduction.reduce(column) for term, column in paid.items()},
        "share": _build_shares(reduction, paid),
        "findings": [],
    }


def _build_shares(reduction: Reduction, paid: dict[str, np.ndarray]) -> Document:
    """Return the share of each term: of all that terms gave and took in a group of episodes, by absolute value."""
    sizes = {term: reduction.sum_sizes(column) for term, column in paid.items()}
    whole = np.sum(list(sizes.values()), axis=0) if sizes else np.zeros(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {term: to_column_with_gaps(size / whole, whole > 0) for term, size in sizes.items()}
