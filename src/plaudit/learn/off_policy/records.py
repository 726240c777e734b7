"""Recorded decisions as columns: whole texts at a time, and told which record it is that cannot be read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import NotEvaluable, OutOfRange, ShapeMismatch
from plaudit.learn.decision import Decision
from plaudit.learn.off_policy.credits import Known, Name, Place, name_of
from plaudit.learn.off_policy.layout import Table, table
from plaudit.ledger.blocks.block import entries
from plaudit.ledger.history import Page

Numbers = NDArray[np.float64]
Codes = NDArray[np.intp]

_PROBABILITY = {float, int, type(None)}


class Extra(NamedTuple):
    """A record that is an extra credit of an earlier decision."""

    name: Name
    at: int
    """Its place among the records."""
    before: int
    """How many of the decisions come before it."""


@dataclass(frozen=True, slots=True)
class Records:
    """The chosen records of some pages: a column of each thing that decisions say, and extra credits."""

    count: int
    """How many records there are."""
    kept: Codes
    """Which of them are decisions; the columns are of those."""
    numbers: Codes
    actions: list[str]
    probabilities: Numbers
    """NaN where a decision has none."""
    features: Numbers
    """No columns where decisions were made without any."""
    places: list[Place]
    known: Known
    extras: Sequence[Extra] = ()
    blocked: int = 0
    """How many decisions no learner was to learn from."""


def read(pages: Sequence[Page]) -> Iterator[Records]:
    """Yield the records of pages; those of single records are read together."""
    single: list[Page] = []
    for page in pages:
        if page.row.records == 1 and page.row.contexts is not None:
            single.append(page)
            continue
        if single:
            yield _records(single, f"[{','.join(each.row.contexts[1:-1] for each in single)}]")
            single = []
        yield _records([page], page.row.contexts)
    if single:
        yield _records(single, f"[{','.join(each.row.contexts[1:-1] for each in single)}]")


def _records(pages: list[Page], text: str | None) -> Records:
    numbers = np.concatenate([page.positions() + page.row.first for page in pages])
    places = [place for page in pages for place in _places(page)]
    whole = all(page.chosen is None for page in pages)
    told = text is not None and ('"again"' in text or '"blocked"' in text)  # what only some records say
    found = table(text, len(numbers)) if text is not None and whole and not told else None
    if found is not None:
        return _from_table(found, numbers, places)
    contexts = json.loads(text) if text and len(pages) > 1 else _chosen(pages[0], text)
    return _from_contexts(contexts, numbers, places)


def _places(page: Page) -> list[Place]:
    """Return the run and the episode of the chosen records of a page, each pair made once."""
    episodes = _chosen(page, page.row.episodes)
    made = {episode: (page.row.run, episode) for episode in set(episodes)}
    return [made[episode] for episode in episodes]


def _chosen(page: Page, column: str | None) -> list[Any]:
    """Return the entries of the chosen records of a page."""
    found = list(entries(column, page.row.records))
    return found if page.chosen is None else [found[at] for at in page.chosen.tolist()]


# -- a table ----------------------------------------------------------------------------------------------------------


def _from_table(found: Table, numbers: Codes, places: list[Place]) -> Records:
    count = len(numbers)
    probabilities, features = found.numbers("probability"), found.numbers("x")
    return Records(
        count,
        np.arange(count),
        numbers,
        found.texts("action") or [],
        np.full(count, np.nan) if probabilities is None else _checked(probabilities, numbers),
        np.empty((count, 0)) if features is None else features.reshape(count, found.features),
        places,
        Known.of(places, found.columns),
    )


def _checked(probabilities: Numbers, numbers: Codes) -> Numbers:
    outside = (probabilities <= 0) | (probabilities > 1)
    if outside.any():
        at = int(outside.argmax())
        value = probabilities[at].item()
        raise OutOfRange(f"record {numbers[at]}: its decision has the probability {value!r}, which cannot be.")
    return probabilities


# -- contexts ---------------------------------------------------------------------------------------------------------


def _from_contexts(contexts: list[Any], numbers: Codes, places: list[Place]) -> Records:
    decisions = _decisions(contexts, numbers)
    again = [at for at, context in enumerate(contexts) if context.get("again")]
    extras = [Extra(name_of(decisions[at], places[at]), at, at - earlier) for earlier, at in enumerate(again)]
    kept = np.delete(np.arange(len(contexts)), again)
    contexts, decisions = [contexts[at] for at in kept], [decisions[at] for at in kept]
    places = [places[at] for at in kept]
    return Records(
        len(numbers),
        kept,
        numbers[kept],
        [decision["action"] for decision in decisions],
        _probabilities(decisions, numbers[kept]),
        _features(decisions, numbers[kept]),
        places,
        Known.of(places, {key: [decision.get(key) for decision in decisions] for key in ("id", "number", "step")}),
        extras,
        sum(context.get("blocked") is not None for context in contexts),
    )


def _decisions(contexts: list[Any], numbers: Codes) -> list[Mapping[str, Any]]:
    try:
        decisions = [context["decision"] for context in contexts]
        kinds = {type(decision["action"]) for decision in decisions}
    except (TypeError, KeyError):
        _tell(contexts, numbers)
    if kinds != {str}:
        _tell(contexts, numbers)
    return decisions


def _probabilities(decisions: list[Mapping[str, Any]], numbers: Codes) -> Numbers:
    found = [decision.get("probability") for decision in decisions]
    if not {*map(type, found)} <= _PROBABILITY:
        _tell([{"decision": decision} for decision in decisions], numbers)
    return _checked(np.array(found, np.float64), numbers)


def _features(decisions: list[Mapping[str, Any]], numbers: Codes) -> Numbers:
    found = [decision.get("x") for decision in decisions]
    if not any(found):
        return np.empty((len(found), 0))
    try:
        rows = np.array(found)
    except ValueError:  # rows of different lengths
        rows = np.empty(0)
    if rows.ndim == 2 and rows.dtype.kind in "fi":
        return rows.astype(np.float64, copy=False)
    for at, x in enumerate(found):
        Decision.from_dict(decisions[at], f"record {numbers[at]}: its decision")
        here, first = (0 if row is None else len(row) for row in (x, found[0]))
        if here != first:
            raise ShapeMismatch(
                f"record {numbers[at]}: its decision was made on {here} features, and that of record {numbers[0]} on "
                f"{first}."
            )
    return np.array(found, np.float64)  # whole numbers beyond 64 bits, which NumPy keeps as objects


def _tell(contexts: list[Any], numbers: Codes) -> NoReturn:
    """Say what is wrong with the first record that holds no decision."""
    for number, context in zip(numbers.tolist(), contexts, strict=True):
        if not isinstance(context, dict) or "decision" not in context:
            raise NotEvaluable(
                f"record {number} holds no decision: off-policy evaluation reads it as context['decision'], with at "
                "least its 'action' and 'probability' (Decision.to_dict())."
            )
        Decision.from_dict(context["decision"], f"record {number}: its decision")
    raise NotEvaluable(f"the decisions of record {numbers[0]} and those after it cannot be read.")
