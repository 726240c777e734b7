"""Recorded decisions as columns: whole pages at a time, with an error that names a record that cannot be read.

An extra credit is a reward that came later for a decision made earlier, such as the bonus at the end of an episode.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from plaudit.errors import NotEvaluable, OutOfRange, ShapeMismatch
from plaudit.learn.decision import Decision
from plaudit.learn.off_policy.columns import KEYS, Encoded, Table, encode, parse_table
from plaudit.learn.off_policy.log import Codes
from plaudit.learn.ridge import Numbers
from plaudit.ledger.record import Page
from plaudit.ledger.storage.codec import decode_column

DecisionName = tuple[object, ...]
Episode = tuple[str | None, Any]
"""A run and an episode of it."""
_PROBABILITY = {float, int, type(None)}


class Extra(NamedTuple):
    """A record that is an extra credit of an earlier decision."""

    name: DecisionName
    at: int
    """Its position among the records."""
    before: int
    """How many of the decisions come before it."""


class Credit(NamedTuple):
    """A reward that belongs to an earlier decision."""

    name: DecisionName
    reward: float
    before: int
    """How many decisions had been read by then: it belongs to one of them."""


class DecisionNames(NamedTuple):
    """What decisions that were read together are known by; their names are only made where there are credits."""

    episodes: Encoded
    key: str = ""
    values: Iterable[object] = ()
    """One key that all of them have, or what `str` makes it of; none where `key` is empty."""
    different: Sequence[DecisionName] = ()
    """Their names, where they have different keys."""

    @classmethod
    def from_columns(cls, episodes: Encoded, columns: Mapping[str, Sequence[Any]]) -> "DecisionNames":
        """Return what decisions are known by of which there are columns, None standing for what is not said."""
        for key in KEYS:
            values = columns[key]
            if None not in values:
                return cls(episodes, key, values)
            if any(value is not None for value in values):
                rows = (dict(zip(KEYS, row, strict=True)) for row in zip(*(columns[k] for k in KEYS), strict=True))
                return cls(episodes, different=list(map(identify, rows, episodes.expand())))
        return cls(episodes)

    def build(self) -> Iterator[DecisionName]:
        """Yield the name of each decision."""
        if self.different:
            return iter(self.different)
        episodes = self.episodes.expand()
        if not self.key:
            return iter(episodes)
        return (identify({self.key: value}, episode) for value, episode in zip(self.values, episodes, strict=True))


@dataclass(frozen=True, slots=True)
class Records:
    """The chosen records of some pages: a column of each thing that decisions say, and extra credits."""

    count: int
    """How many records there are."""
    kept: Codes
    """Which of them are decisions; the columns are of those."""
    numbers: Codes
    actions: Encoded
    probabilities: Numbers
    """NaN where a decision has none."""
    features: Numbers
    """No columns where decisions were made without any."""
    episodes: Encoded
    """Of each, its run and its name."""
    names: DecisionNames
    extras: Sequence[Extra] = ()
    blocked: int = 0
    """How many decisions no learner was to learn from."""


def read_records(pages: Sequence[Page]) -> Iterator[Records]:
    """Yield the records of pages; those of single records are read together."""
    single: list[Page] = []
    for page in pages:
        if page.row.records == 1 and page.row.contexts is not None:
            single.append(page)
            continue
        if single:
            yield _build_records(single, f"[{','.join(each.row.contexts[1:-1] for each in single)}]")
            single = []
        yield _build_records([page], page.row.contexts)
    if single:
        yield _build_records(single, f"[{','.join(each.row.contexts[1:-1] for each in single)}]")


def _build_records(pages: list[Page], text: str | None) -> Records:
    numbers = np.concatenate([page.positions() + page.row.first for page in pages])
    episodes = _encode_episodes(pages)
    whole = all(page.chosen is None for page in pages)
    found = parse_table(text, len(numbers)) if text is not None and whole else None
    if found is not None:
        return _build_columns(found, numbers, episodes)
    contexts = json.loads(text) if text and len(pages) > 1 else _select_entries(pages[0], text)
    return _parse_contexts(contexts, numbers, episodes)


def _encode_episodes(pages: list[Page]) -> Encoded:
    """Return the run and the episode of the chosen records of some pages."""
    names = [_select_entries(page, page.row.episodes) for page in pages]
    if len(pages) > 1:
        return encode([(page.row.run, name) for page, own in zip(pages, names, strict=True) for name in own])
    codes, values = encode(names[0])
    return Encoded(codes, [(pages[0].row.run, name) for name in values])


def _select_entries(page: Page, column: str | None) -> list[Any]:
    """Return the entries of the chosen records of a page."""
    found = list(decode_column(column, page.row.records))
    return found if page.chosen is None else [found[at] for at in page.chosen.tolist()]


def _build_columns(found: Table, numbers: Codes, episodes: Encoded) -> Records:
    count = len(numbers)
    probabilities = found.numbers.get("probability")
    return Records(
        count,
        np.arange(count),
        numbers,
        found.actions,
        np.full(count, np.nan) if probabilities is None else _validate_probabilities(probabilities[:, 0], numbers),
        found.numbers.get("x", np.empty((count, 0))),
        episodes,
        DecisionNames(episodes, found.key, found.names),
    )


def _validate_probabilities(probabilities: Numbers, numbers: Codes) -> Numbers:
    outside = (probabilities <= 0) | (probabilities > 1)
    if outside.any():
        at = int(outside.argmax())
        value = probabilities[at].item()
        raise OutOfRange(f"record {numbers[at]}: its decision has the probability {value!r}, which cannot be.")
    return probabilities


def _parse_contexts(contexts: list[Any], numbers: Codes, episodes: Encoded) -> Records:
    decisions = _extract_decisions(contexts, numbers)
    again = [at for at, context in enumerate(contexts) if context.get("again")]
    pairs = episodes.expand()
    extras = [Extra(identify(decisions[at], pairs[at]), at, at - earlier) for earlier, at in enumerate(again)]
    kept = np.delete(np.arange(len(contexts)), again)
    contexts, decisions = [contexts[at] for at in kept], [decisions[at] for at in kept]
    episodes = episodes._replace(codes=episodes.codes[kept])
    return Records(
        len(numbers),
        kept,
        numbers[kept],
        encode([decision["action"] for decision in decisions]),
        _extract_probabilities(decisions, numbers[kept]),
        _extract_features(decisions, numbers[kept]),
        episodes,
        DecisionNames.from_columns(episodes, {key: [decision.get(key) for decision in decisions] for key in KEYS}),
        extras,
        sum(context.get("blocked") is not None for context in contexts),
    )


def _extract_decisions(contexts: list[Any], numbers: Codes) -> list[Mapping[str, Any]]:
    try:
        decisions = [context["decision"] for context in contexts]
        kinds = {type(decision["action"]) for decision in decisions}
    except (TypeError, KeyError):
        _raise_unreadable(contexts, numbers)
    if kinds != {str}:
        _raise_unreadable(contexts, numbers)
    return decisions


def _extract_probabilities(decisions: list[Mapping[str, Any]], numbers: Codes) -> Numbers:
    found = [decision.get("probability") for decision in decisions]
    if not {*map(type, found)} <= _PROBABILITY:
        _raise_unreadable([{"decision": decision} for decision in decisions], numbers)
    return _validate_probabilities(np.array(found, np.float64), numbers)


def _extract_features(decisions: list[Mapping[str, Any]], numbers: Codes) -> Numbers:
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
    return np.array(found, np.float64)  # integers beyond 64 bits, which NumPy keeps as objects


def _raise_unreadable(contexts: list[Any], numbers: Codes) -> NoReturn:
    """Say what is wrong with the first record that holds no decision."""
    for number, context in zip(numbers.tolist(), contexts, strict=True):
        if not isinstance(context, dict) or "decision" not in context:
            raise NotEvaluable(
                f"record {number} holds no decision: off-policy evaluation reads it as context['decision'], with at "
                "least its 'action' and 'probability' (Decision.to_dict())."
            )
        Decision.from_dict(context["decision"], f"record {number}: its decision")
    raise NotEvaluable(f"the decisions of record {numbers[0]} and those after it cannot be read.")


def identify(decision: Mapping[str, Any], episode: Episode) -> DecisionName:
    """Return what a decision is known by: its id within the run, or its number, or its step, within the episode.

    One without any of them is only known to be of the episode, and a credit goes to the last of those.

    >>> identify({"action": "star", "id": "d-7", "number": 3}, ("night-3", "12"))
    ('night-3', 'id', 'd-7')
    """
    for key in KEYS:
        value = decision.get(key)
        if value is not None:
            return (episode[0], key, str(value)) if key == "id" else (*episode, key, str(value))
    return episode


def add_credits(rewards: Numbers, names: Iterable[DecisionName], credits: Sequence[Credit]) -> int:
    """Add each credit to the reward of its decision, the last of that name before it; return how many found none."""
    wanted = {credit.name for credit in credits}
    positions: dict[DecisionName, list[int]] = defaultdict(list)
    for at, name in enumerate(names if wanted else ()):
        if name in wanted:
            positions[name].append(at)
    unmatched = 0
    for credit in credits:
        found = positions.get(credit.name, [])
        last = bisect_left(found, credit.before) - 1
        if last < 0:
            unmatched += 1
        else:
            rewards[found[last]] += credit.reward
    return unmatched
