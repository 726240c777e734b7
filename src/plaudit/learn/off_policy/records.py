"""Recorded decisions as columns: whole pages at a time, with an error that names a record that cannot be read.

An extra credit is a reward that came later for a decision made earlier, such as the bonus at the end of an episode.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple, NoReturn

import numpy as np

from plaudit.errors import NotEvaluable, OutOfRange, ShapeMismatch
from plaudit.learn.decision import Decision
from plaudit.learn.off_policy.log import Codes
from plaudit.learn.ridge import Numbers
from plaudit.ledger.record import Page
from plaudit.ledger.storage.codec import decode_column
from plaudit.ledger.storage.decisions import Column, is_packed, read_columns

DecisionName = tuple[object, ...]
Episode = tuple[str | None, Any]
"""A run and an episode of it."""
_PROBABILITY = {float, int, type(None)}
KEYS = ("id", "number", "step")
"""What tells a decision from the others of its episode; the first that it has."""
SPECIAL = ("again", "blocked")
"""What only some records say."""


class Encoded(NamedTuple):
    """A column with few different values: positions in a list of them."""

    codes: Codes
    values: list[Any]

    def expand(self) -> list[Any]:
        """Return the value of each row."""
        return list(map(self.values.__getitem__, self.codes.tolist()))


def encode(entries: Sequence[Any]) -> Encoded:
    """Return a column as positions in the list of its values.

    >>> encode(["b", "a", "b"]).values
    ['b', 'a']
    """
    positions = {value: at for at, value in enumerate(dict.fromkeys(entries))}
    return Encoded(np.fromiter(map(positions.__getitem__, entries), np.intp, len(entries)), list(positions))


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
    """One key that all of them have; none where `key` is empty."""
    different: Sequence[DecisionName] = ()
    """Their names, where they have different keys."""

    @classmethod
    def from_columns(cls, episodes: Encoded, columns: Mapping[str, Column]) -> "DecisionNames":
        """Return what decisions are known by of which there are columns, None standing for what is not said."""
        listed = {key: list(columns[key]) for key in KEYS if key in columns}
        for key, values in listed.items():
            if None not in values:
                return cls(episodes, key, values)
            if any(value is not None for value in values):
                rows = (dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True))
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
    for single, group in groupby(pages, lambda page: page.row.records == 1 and page.row.contexts is not None):
        if single:
            together = list(group)
            contexts = json.loads(f"[{','.join(page.row.contexts[1:-1] for page in together)}]")
            yield _parse_contexts(contexts, _number_records(together), _encode_episodes(together))
        else:
            for page in group:
                with page.report_damage():
                    found = _read_page(page)
                yield found


def _read_page(page: Page) -> Records:
    numbers, episodes, contexts = _number_records([page]), _encode_episodes([page]), page.row.contexts
    if contexts is not None and is_packed(contexts):
        columns = read_columns(contexts, page.row.records)
        if not any(name in columns for name in SPECIAL):
            decisions = {name: _choose(page, column) for name, column in columns["decision"].items()}
            found = _build_records(decisions, numbers, episodes)
            if found is not None:
                return found
    return _parse_contexts(_select_entries(page, contexts), numbers, episodes)


def _number_records(pages: Sequence[Page]) -> Codes:
    return np.concatenate([page.positions() + page.row.first for page in pages])


def _encode_episodes(pages: Sequence[Page]) -> Encoded:
    names = [_select_entries(page, page.row.episodes) for page in pages]
    if len(pages) > 1:
        return encode([(page.row.run, name) for page, own in zip(pages, names, strict=True) for name in own])
    codes, values = encode(names[0])
    return Encoded(codes, [(pages[0].row.run, name) for name in values])


def _select_entries(page: Page, column: str | None) -> list[Any]:
    return _choose(page, list(decode_column(column, page.row.records)))  # type: ignore[return-value]


def _choose(page: Page, column: Column) -> Column:
    if page.chosen is None:
        return column
    return column[page.chosen] if isinstance(column, np.ndarray) else [column[at] for at in page.chosen.tolist()]


def _parse_contexts(contexts: list[Any], numbers: Codes, episodes: Encoded) -> Records:
    decisions = _extract_decisions(contexts, numbers)
    again = [at for at, context in enumerate(contexts) if context.get("again")]
    pairs = episodes.expand()
    extras = [Extra(identify(decisions[at], pairs[at]), at, at - earlier) for earlier, at in enumerate(again)]
    kept = np.delete(np.arange(len(contexts)), again)
    contexts, decisions = [contexts[at] for at in kept], [decisions[at] for at in kept]
    columns: dict[str, Column] = {
        name: [decision.get(name) for decision in decisions] for name in ("action", "probability", "x", *KEYS)
    }
    found = _build_records(columns, numbers[kept], episodes._replace(codes=episodes.codes[kept]))
    if found is None:
        _raise_unreadable(contexts, numbers[kept])
    blocked = sum(context.get("blocked") is not None for context in contexts)
    return replace(found, count=len(numbers), kept=kept, extras=extras, blocked=blocked)


def _extract_decisions(contexts: list[Any], numbers: Codes) -> list[Mapping[str, Any]]:
    try:
        decisions = [context["decision"] for context in contexts]
        kinds = {type(decision["action"]) for decision in decisions}
    except (TypeError, KeyError):
        _raise_unreadable(contexts, numbers)
    if kinds != {str}:
        _raise_unreadable(contexts, numbers)
    return decisions


def _build_records(columns: Mapping[str, Column], numbers: Codes, episodes: Encoded) -> Records | None:
    """Return records that are all decisions; None where what they say is no decision."""
    count = len(numbers)
    actions, probabilities = columns["action"], columns.get("probability", [None] * count)
    features = _stack_features(columns.get("x", [None] * count), numbers)
    if not isinstance(actions, list) or not {*map(type, actions)} <= {str} or features is None:
        return None
    if not isinstance(probabilities, np.ndarray):
        if not {*map(type, probabilities)} <= _PROBABILITY:
            return None
        probabilities = np.array(probabilities, np.float64)
    _validate_probabilities(probabilities, numbers)
    names = DecisionNames.from_columns(episodes, columns)
    return Records(count, np.arange(count), numbers, encode(actions), probabilities, features, episodes, names)


def _validate_probabilities(probabilities: Numbers, numbers: Codes) -> None:
    outside = (probabilities <= 0) | (probabilities > 1)
    if outside.any():
        at = int(outside.argmax())
        value = probabilities[at].item()
        raise OutOfRange(f"record {numbers[at]}: its decision has the impossible probability {value!r}.")


def _stack_features(found: Column, numbers: Codes) -> Numbers | None:
    """Return rows of features; None where some are no numbers."""
    if isinstance(found, np.ndarray):
        return found if found.ndim == 2 else None
    if not any(found):
        return np.empty((len(found), 0))
    try:
        rows = np.array(found)
    except ValueError:  # rows of different lengths
        rows = np.empty(0)
    if rows.ndim == 2 and rows.dtype.kind in "fi":
        return rows.astype(np.float64, copy=False)
    for at, x in enumerate(found):
        Decision.from_dict({"action": "", "x": x}, f"record {numbers[at]}: its decision")
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
