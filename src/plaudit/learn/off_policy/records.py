"""Recorded decisions as columns: whole JSON texts at a time, with an error that names a record that cannot be read.

Records that one program writes differ in their numbers and names, and in nothing else. A regular expression made from
the first context takes such a text apart several times as fast as JSON is parsed, and makes no object of each record.
Where one record looks different, or a name has a character that JSON escapes, the text is parsed.

An extra credit is a reward that came later for a decision made earlier, such as the bonus at the end of an episode.
"""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from plaudit.errors import InputError, NotEvaluable, OutOfRange, ShapeMismatch
from plaudit.learn.decision import Decision
from plaudit.learn.off_policy.log import Codes
from plaudit.learn.ridge import Numbers
from plaudit.ledger.record import Page
from plaudit.ledger.storage.codec import decode_column

DecisionName = tuple[object, ...]
Episode = tuple[str | None, Any]
"""A run and an episode of it."""
_PROBABILITY = {float, int, type(None)}
_KEYS = ("id", "number", "step")
"""What tells a decision from the others of its episode; the first that it has."""
_NUMBER = r"-?[0-9][-+.0-9eE]*"
_STRING = r'[^"\\]*'
_WANTED = ("action", "probability", "x", "id", "number", "step")


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

    episodes: Sequence[Episode]
    key: str = ""
    values: Sequence[Any] = ()
    """One key that all of them have, perhaps as strings; none where `key` is empty."""
    different: Sequence[DecisionName] = ()
    """Their names, where they have different keys."""

    @classmethod
    def from_columns(cls, episodes: Sequence[Episode], columns: Mapping[str, Sequence[Any]]) -> "DecisionNames":
        """Return what decisions are known by of which there are columns, None standing for what is not said."""
        for key in _KEYS:
            values = columns.get(key, (None,))
            if None not in values:
                return cls(episodes, key, values)
            if any(value is not None for value in values):
                lists = (columns.get(name, (None,) * len(episodes)) for name in _KEYS)
                rows = (dict(zip(_KEYS, row, strict=True)) for row in zip(*lists, strict=True))
                return cls(
                    episodes, different=[identify(row, episode) for row, episode in zip(rows, episodes, strict=True)]
                )
        return cls(episodes)

    def build(self) -> Iterator[DecisionName]:
        """Yield the name of each decision."""
        if self.different:
            return iter(self.different)
        if not self.key:
            return iter(self.episodes)
        return (identify({self.key: value}, episode) for value, episode in zip(self.values, self.episodes, strict=True))


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
    episodes: list[Episode]
    names: DecisionNames
    extras: Sequence[Extra] = ()
    blocked: int = 0
    """How many decisions no learner was to learn from."""


class Table(NamedTuple):
    """Columns of a text: what each decision says, as it is written."""

    columns: Mapping[str, list[str]]
    features: int

    def strings(self, name: str) -> list[str] | None:
        """Return a column as it is written; None where decisions do not say it."""
        return self.columns.get(name)

    def numbers(self, name: str) -> Numbers | None:
        """Return a column of numbers, or of lists of them, one after the other."""
        found = self.columns.get(name)
        return None if found is None else np.fromstring(",".join(found), sep=",")


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
    episodes = [episode for page in pages for episode in _list_episodes(page)]
    whole = all(page.chosen is None for page in pages)
    special = text is not None and ('"again"' in text or '"blocked"' in text)  # what only some records say
    found = parse_table(text, len(numbers)) if text is not None and whole and not special else None
    if found is not None:
        return _parse_table_columns(found, numbers, episodes)
    contexts = json.loads(text) if text and len(pages) > 1 else _select_entries(pages[0], text)
    return _parse_contexts(contexts, numbers, episodes)


def _list_episodes(page: Page) -> list[Episode]:
    """Return the run and the episode of the chosen records of a page, each pair made once."""
    names = _select_entries(page, page.row.episodes)
    pairs = {name: (page.row.run, name) for name in set(names)}
    return [pairs[name] for name in names]


def _select_entries(page: Page, column: str | None) -> list[Any]:
    """Return the entries of the chosen records of a page."""
    found = list(decode_column(column, page.row.records))
    return found if page.chosen is None else [found[at] for at in page.chosen.tolist()]


def _parse_table_columns(found: Table, numbers: Codes, episodes: list[Episode]) -> Records:
    count = len(numbers)
    probabilities, features = found.numbers("probability"), found.numbers("x")
    return Records(
        count,
        np.arange(count),
        numbers,
        found.strings("action") or [],
        np.full(count, np.nan) if probabilities is None else _validate_probabilities(probabilities, numbers),
        np.empty((count, 0)) if features is None else features.reshape(count, found.features),
        episodes,
        DecisionNames.from_columns(episodes, found.columns),
    )


def _validate_probabilities(probabilities: Numbers, numbers: Codes) -> Numbers:
    outside = (probabilities <= 0) | (probabilities > 1)
    if outside.any():
        at = int(outside.argmax())
        value = probabilities[at].item()
        raise OutOfRange(f"record {numbers[at]}: its decision has the probability {value!r}, which cannot be.")
    return probabilities


def _parse_contexts(contexts: list[Any], numbers: Codes, episodes: list[Episode]) -> Records:
    decisions = _extract_decisions(contexts, numbers)
    again = [at for at, context in enumerate(contexts) if context.get("again")]
    extras = [Extra(identify(decisions[at], episodes[at]), at, at - earlier) for earlier, at in enumerate(again)]
    kept = np.delete(np.arange(len(contexts)), again)
    contexts, decisions = [contexts[at] for at in kept], [decisions[at] for at in kept]
    episodes = [episodes[at] for at in kept]
    return Records(
        len(numbers),
        kept,
        numbers[kept],
        [decision["action"] for decision in decisions],
        _extract_probabilities(decisions, numbers[kept]),
        _extract_features(decisions, numbers[kept]),
        episodes,
        DecisionNames.from_columns(episodes, {key: [decision.get(key) for decision in decisions] for key in _KEYS}),
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


def parse_table(text: str, count: int) -> Table | None:
    """Return the decisions in a list of `count` contexts; None if they are not all laid out like the first.

    >>> found = parse_table('[{"decision":{"action":"a","x":[1,2]}},{"decision":{"action":"b","x":[3,4.5]}}]', 2)
    >>> found.strings("action"), found.numbers("x").tolist()
    (['a', 'b'], [1.0, 2.0, 3.0, 4.5])
    """
    builder = _PatternBuilder()
    try:
        first, _ = json.JSONDecoder().raw_decode(text, 1)
        Decision.from_dict(first["decision"])
        pattern = builder.build(first, top=True)
    except (InputError, KeyError, TypeError, ValueError):  # whoever parses it says what is wrong
        return None
    if pattern is None:
        return None
    parts = re.split(pattern + r"(?:,|\]\Z)", text)
    width = len(builder.names) + 1
    if len(parts) != count * width + 1 or parts[0] != "[" or any(parts[width::width]):
        return None  # something between the records, or at the ends, is none of them
    columns = {name: parts[1 + at :: width] for at, name in enumerate(builder.names)}
    return Table(columns, len(first["decision"].get("x") or ()))


class _PatternBuilder:
    """Makes a regular expression of a value; the groups in it are what is wanted of a decision."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def build(self, value: Any, *, top: bool = False, group: str = "") -> str | None:
        """Return the pattern of values that are written like this one; None if that is not worth the trouble."""
        if isinstance(value, dict):
            return self._build_object(value, top, group == "decision")
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, str):
            return f'"{self._capture(_STRING, group)}"'
        if isinstance(value, list):
            return self._build_list(value, group)
        return self._capture(_NUMBER, group)

    def _build_object(self, value: dict[str, Any], top: bool, decision: bool) -> str | None:
        parts = []
        for key, each in value.items():
            group = key if (top and key == "decision") or (decision and key in _WANTED) else ""
            pattern = self.build(each, group=group)
            if pattern is None:
                return None
            parts.append(f"{re.escape(json.dumps(key))}:{pattern}")
        return r"\{" + ",".join(parts) + r"\}"

    def _build_list(self, value: list[Any], group: str) -> str | None:
        if not all(type(each) in (int, float) for each in value):
            return None
        numbers = "" if not value else f"{_NUMBER}(?:,{_NUMBER}){{{len(value) - 1}}}"
        return rf"\[{self._capture(numbers, group)}\]"

    def _capture(self, pattern: str, group: str) -> str:
        if not group:
            return pattern
        self.names.append(group)
        return f"({pattern})"


def identify(decision: Mapping[str, Any], episode: Episode) -> DecisionName:
    """Return what a decision is known by: its id within the run, or its number, or its step, within the episode.

    One without any of them is only known to be of the episode, and a credit goes to the last of those.

    >>> identify({"action": "star", "id": "d-7", "number": 3}, ("night-3", "12"))
    ('night-3', 'id', 'd-7')
    """
    for key in _KEYS:
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
