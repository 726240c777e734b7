"""Lists episodes from sums that were made when their blocks were written: a million records cost no more than ten."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, exists, false, or_, select

from plaudit.errors import LedgerError
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.query import Query
from plaudit.ledger.search import BlockSearch
from plaudit.ledger.storage.episode_parts import ENDS
from plaudit.ledger.storage.groups import Groups, Integers
from plaudit.ledger.storage.parts import find_ends
from plaudit.ledger.storage.schema import blocks, scopes, specs, summaries
from plaudit.ledger.storage.store import Store
from plaudit.ledger.summary.episodes import Episodes, Label, get_row_type, list_keys
from plaudit.ledger.summary.part_reader import Owner, PartReader, Parts

_MOST_SCOPES = 500
"""Scopes that are asked about at a time."""
_NOT_CHOSEN_BY = ("step", "key", "after", "id")
_ENDS = np.array([None, *ENDS], object)


def list_episodes(store: Store, query: Query) -> Episodes:
    """Return the episodes that the records of a query are of, those records added up.

    `since` and `until` choose by when an episode began.
    """
    for name in _NOT_CHOSEN_BY:
        if getattr(query, name) is not None:
            raise LedgerError(f"episodes cannot be chosen by {name!r}; choose records with history().")
    search = BlockSearch(store, replace(query, since=None, until=None))  # or an episode would lack what lies outside
    with report_damage(store.backend.name, "what is kept of an episode"), store.backend.snapshot() as connection:
        reader = PartReader(connection, query.episode)
        parts = reader.read(search.where(select(blocks.c.first), connection))
        if not len(parts.columns["episode"]):
            return Episodes(())
        partial: set[tuple[int, int]] = set()
        if query.job is not None:
            partial = _add_sources(parts, reader.read(search.where(select(blocks.c.origin), connection)))
        labels, label = _label_parts(parts)
        groups = _group_parts(parts, label)
        rows, terms = _add_up(parts, groups, labels)
        rows["label"] = label[groups.firsts]
        owner, episode = (parts.columns[name][groups.firsts] for name in ("owner", "episode"))
        owners = [*reader.owners]
        rows["run"], rows["actor"] = np.array(owners, object)[owner].T
        rows["episode"] = reader.names.spell(episode)
        rows["sample_rate"] = np.array([*reader.rates], object)[parts.columns["rate"][groups.firsts]]
        open_ended = np.array([end is None for end in rows["ended"].tolist()])
        telling = _find_telling(connection, {owners[at] for at in set(owner[open_ended].tolist())})
    if open_ended.any() and (query.phase is not None or query.decision_class is not None):
        elsewhere = list_episodes(store, replace(query, phase=None, decision_class=None))  # where the end may be
        ended = set(list_keys(elsewhere.finished))
        open_ended &= [key not in ended for key in list_keys(Episodes.from_array(rows, labels, terms))]
    unfinished = open_ended & np.array([each in telling for each in owners])[owner]
    if partial:
        unfinished |= [key in partial for key in zip(owner.tolist(), episode.tolist(), strict=True)]
    rows["finished"] = ~unfinished & ~np.isnan(rows["total"])
    since, until = (rows["began"].min() if query.since is None else query.since, query.until)
    within = (rows["began"] >= since) & (True if until is None else rows["began"] < until)
    rows = rows[within]
    return Episodes.from_array(rows[np.argsort(rows["rank"])], labels, terms)


def _add_sources(parts: Parts, sources: Parts) -> set[tuple[int, int]]:
    """Take over the ends of what was re-scored; return owner and episode of what has not all new scores.

    The blocks of a re-scoring have no contexts, and leave out what has no new score.
    """
    own, old = parts.columns, sources.columns
    places = {key: at for at, key in enumerate(zip(old["block"].tolist(), old["episode"].tolist(), strict=True))}
    keys = zip(own["origin"].tolist(), own["episode"].tolist(), strict=True)
    at = np.array([places[key] for key in keys], np.intp)
    own["end"][:] = np.where(own["end"] == 0, old["end"][at], own["end"])
    partial = np.ones(len(old["episode"]), np.bool_)
    partial[at[own["records"] == old["records"][at]]] = False
    return set(zip(old["owner"][partial].tolist(), old["episode"][partial].tolist(), strict=True))


def _label_parts(parts: Parts) -> tuple[list[Label], Integers]:
    """Return the rewards by name and version, and of which each part is."""
    terms: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for reward, _ in sorted(parts.paid, key=lambda each: each[0].part == "final"):
        terms[reward[:2]] |= dict.fromkeys(reward.terms)
    places = {name: at for at, name in enumerate(terms)}
    label = np.array([places[reward[:2]] for reward, _ in parts.paid])[parts.columns["reward"]]
    return [Label(*name, tuple(own)) for name, own in terms.items()], label


def _group_parts(parts: Parts, label: Integers) -> Groups:
    """Return the parts by episode, owner and reward."""
    _, codes = np.unique(parts.columns["episode"], return_inverse=True)
    for column in (parts.columns["owner"], label):
        codes = codes * (int(column.max()) + 1) + column
    return Groups(codes)


def _add_up(parts: Parts, groups: Groups, labels: Sequence[Label]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return an episode a row, as far as numbers say it, and the terms that `paid` and `has` have columns of."""
    columns = parts.columns
    terms = tuple(dict.fromkeys(term for label in labels for term in label.terms))
    final = np.array([reward.part == "final" for reward, _ in parts.paid])[columns["reward"]]
    rows = np.zeros(len(groups), get_row_type(len(terms)))
    totals = np.concatenate([sums[:, 0] for _, sums in parts.paid])
    rows["total"] = groups.add_up([totals], np.isnan(totals))[0]
    rows["length"] = np.add.reduceat(np.where(final, 0, columns["records"])[groups.order], groups.starts)
    ends = np.where(final & (columns["end"] == 0), 1, columns["end"])
    rows["ended"] = _ENDS[find_ends(groups, ends)]
    low, high = rows["first_step"], rows["last_step"] = groups.find_bounds(columns["step_low"], columns["step_high"])
    rows["first_step"][low > high] = rows["last_step"][low > high] = None
    rows["began"], rows["latest"] = groups.find_bounds(columns["earliest"], columns["latest"])
    history = np.lexsort((columns["first"], columns["place"]))
    ranks = np.empty(len(history), np.int64)
    ranks[history] = np.arange(len(history))
    rows["rank"], latest = groups.find_bounds(ranks)
    rows["first_record"], rows["last_record"] = (
        columns["first"][history[rows["rank"]]],
        columns["last"][history[latest]],
    )
    _add_terms(rows, terms, parts, groups.numbers)
    return rows, terms


def _add_terms(rows: NDArray[Any], terms: Sequence[str], parts: Parts, numbers: Integers) -> None:
    """Add up the values of each term; `numbers` says of which row each part is."""
    numbered = np.split(numbers, np.cumsum([len(sums) for _, sums in parts.paid])[:-1])
    together: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)  # terms, by the rewards that have them
    for term in terms:
        together[tuple(at for at, (reward, _) in enumerate(parts.paid) if term in reward.terms)].append(term)
    for holding, names in together.items():
        groups = Groups(np.concatenate([numbered[at] for at in holding]))
        places = [[parts.paid[at][0].terms.index(name) + 1 for at in holding] for name in names]
        sums = [[parts.paid[at][1][:, place] for at, place in zip(holding, each, strict=True)] for each in places]
        where = groups.codes[:, None], [terms.index(name) for name in names]
        columns = [np.concatenate(each) for each in sums]
        paid = groups.add_up(columns, np.isnan(columns[0])).T
        rows["has"][where] = has = ~np.isnan(paid)
        rows["paid"][where] = np.where(has, paid, 0.0)


def _find_telling(connection: Connection, owners: Collection[Owner]) -> set[Owner]:
    """Return those of some runs and actors whose records say how episodes end, as all of a wrapper's do."""
    final = blocks.c.spec.in_(select(specs.c.id).where(specs.c.part == "final"))
    located = blocks.join(summaries, summaries.c.first == blocks.c.first)
    told = select(blocks.c.first).select_from(located).where(or_(final, summaries.c.telling == 1))
    tells = exists(told.where(blocks.c.scope == scopes.c.id).correlate(scopes))
    runs = {run for run, _ in owners}
    listed = select(scopes.c.id, scopes.c.run, scopes.c.actor)
    if len(runs) < _MOST_SCOPES:
        named = [scopes.c.run.in_(runs - {None})] if runs - {None} else []
        listed = listed.where(or_(false(), *named, *([scopes.c.run.is_(None)] if None in runs else [])))
    ordered = [number for number, *of in connection.execute(listed) if tuple(of) in owners]
    found: set[Owner] = set()
    for start in range(0, len(ordered), _MOST_SCOPES):
        some = scopes.c.id.in_(ordered[start : start + _MOST_SCOPES])
        rows = connection.execute(select(scopes.c.run, scopes.c.actor).where(some, tells))
        found.update((row.run, row.actor) for row in rows)
    return found
