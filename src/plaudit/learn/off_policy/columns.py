"""Decisions in a JSON text as columns: the text is taken apart by where its quotes are, and no record is parsed alone.

Records that one program writes differ in their strings and numbers, and in nothing else. What stands between those is
compared for all records at once; then each column is cut out of the text. Where one record looks different, or a
string has a character that JSON escapes, the text has to be parsed.
"""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.learn.decision import Decision
from plaudit.learn.off_policy.log import Codes
from plaudit.learn.ridge import Numbers

if TYPE_CHECKING:
    import pyarrow

KEYS = ("id", "number", "step")
"""What tells a decision from the others of its episode; the first that it has."""
SPECIAL = ("again", "blocked")
"""What only some records say."""
_NUMBERS = ("probability", "x")
_QUOTE, _COMMA = b'",'

Characters = NDArray[np.uint8]


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


class Table(NamedTuple):
    """Columns of a text."""

    actions: Encoded
    numbers: Mapping[str, Numbers]
    """Probabilities and features, a row each; without those of which decisions say nothing."""
    key: str = ""
    """The first of `KEYS` that decisions have."""
    names: Iterable[object] = ()
    """What they have there, as it is written, or what `str` makes that of."""


class Slot(NamedTuple):
    """What may differ from record to record: a string, a number or a list of numbers."""

    text: str
    """What stands before it, back to the last such thing, in this record or the one before; it has a quote."""
    name: str
    """What of a decision it is; empty where nobody wants it."""
    width: int
    """How many numbers it has; 0 for a string."""


def parse_table(text: str, count: int) -> Table | None:
    """Return the decisions in a list of `count` contexts; None if one is special or not laid out like the first.

    >>> found = parse_table('[{"decision":{"action":"a","x":[1,2]}},{"decision":{"action":"b","x":[3,4.5]}}]', 2)
    >>> found.actions.expand(), found.numbers["x"].tolist()
    (['a', 'b'], [[1.0, 2.0], [3.0, 4.5]])
    """
    if "\\" in text or not text.isascii():
        return None
    try:
        first, _ = json.JSONDecoder().raw_decode(text, 1)
        if any(name in first for name in SPECIAL):
            return None
        Decision.from_dict(first["decision"])
        layout = _Layout(first["decision"])
        layout.add(first)
    except (InputError, LookupError, TypeError, ValueError):  # whoever parses it says what is wrong
        return None
    slots, before, after = layout.finish()
    body = b"".join((before.encode(), memoryview(text.encode())[1:-1], after.encode()))
    return _cut_columns(body, slots, count)


class _Layout:
    """How a record is written: the things that may differ, and the text before each."""

    def __init__(self, decision: Mapping[str, Any]) -> None:
        key = [key for key in KEYS if decision.get(key) is not None][:1]
        self._wanted = {"action", *_NUMBERS, *key}
        self._slots: list[Slot] = []
        self._text = ""

    def add(self, value: Any, path: tuple[str, ...] = ()) -> None:
        """Write a value; ValueError where that is not worth the trouble."""
        wanted = path[1] if len(path) == 2 and path[0] == "decision" and path[1] in self._wanted else ""
        if isinstance(value, dict):
            for at, (key, each) in enumerate(value.items()):
                self._text += f"{',' if at else '{'}{json.dumps(key)}:"
                self.add(each, (*path, key))
            self._text += "}" if value else "{}"
        elif value is None or isinstance(value, bool) or value == []:
            self._text += json.dumps(value)
        elif isinstance(value, str):
            self._text += '"'
            self._add_slot(wanted, 0)
            self._text = '"'
        elif isinstance(value, list):
            if not all(type(each) in (int, float) for each in value):
                raise ValueError("a list of other things than numbers")
            self._text += "["
            self._add_slot(wanted, len(value))
            self._text = "]"
        else:
            self._add_slot(wanted, 1)

    def _add_slot(self, name: str, width: int) -> None:
        self._slots.append(Slot(self._text, name, width))
        self._text = ""

    def finish(self) -> tuple[list[Slot], str, str]:
        """Return the slots, and what makes the first record of a list begin and the last one end like all others."""
        first = self._slots[0]
        end = f"{self._text},"
        return [first._replace(text=end + first.text), *self._slots[1:]], end, f",{first.text}"


def _cut_columns(body: bytes, slots: Sequence[Slot], count: int) -> Table | None:
    """Return the columns of `count` records, after the last of which the text of the first slot stands once more."""
    characters = np.frombuffer(body, np.uint8)
    marks = np.flatnonzero(characters <= _COMMA)  # quotes and commas and little else, in one go
    kinds = characters[marks]
    quotes = marks[kinds == _QUOTE]
    quoted = [slot.text.count('"') for slot in slots]
    each = sum(quoted)
    if len(quotes) != count * each + quoted[0]:
        return None
    edges = np.cumsum([0, *quoted])
    starts, ends = [], []
    for at, slot in enumerate(slots):
        following = slots[(at + 1) % len(slots)].text
        starts.append(quotes[edges[at + 1] - 1 : count * each : each] + len(slot.text) - slot.text.rindex('"'))
        ends.append(quotes[edges[at + 1] :: each][:count] - following.index('"'))
    if body[ends[-1][-1] :] != slots[0].text.encode():
        return None
    previous = np.append(0, ends[-1][:-1])
    for slot, start, end in zip(slots, starts, ends, strict=True):
        if not _stands_between(characters, slot.text, previous, start):
            return None
        previous = end
    places = zip(slots, starts, ends, strict=True)
    found = {slot.name: (slot.width, start, end) for slot, start, end in places}
    return _build_table(characters, marks[kinds == _COMMA], found)


def _build_table(characters: Characters, commas: Codes, places: Mapping[str, tuple[int, Codes, Codes]]) -> Table | None:
    """Return what stands at those places: of each column how many numbers a row has, where it begins and ends."""
    numbers = {name: _parse_rows(characters, commas, *places[name]) for name in _NUMBERS if name in places}
    if any(found is None for found in numbers.values()):
        return None
    key = next((key for key in KEYS if key in places), "")
    names = _cut(characters, np.column_stack(places[key][1:])) if key else ()
    actions = _cut(characters, np.column_stack(places["action"][1:]))
    encoded = encode(actions) if isinstance(actions, list) else _encode(actions)
    return Table(encoded, {name: found for name, found in numbers.items() if found is not None}, key, names)


def _encode(texts: "pyarrow.StringArray") -> Encoded:
    found = texts.dictionary_encode()
    return Encoded(found.indices.to_numpy().astype(np.intp), found.dictionary.to_pylist())


def _stands_between(characters: Characters, text: str, starts: Codes, ends: Codes) -> bool:
    """Return whether this text, and nothing else, stands between all those places."""
    if (ends - starts != len(text)).any():
        return False
    wanted = np.frombuffer(text.encode(), np.uint8)
    return bool((sliding_window_view(characters, len(wanted))[starts] == wanted).all())


def _parse_rows(characters: Characters, commas: Codes, width: int, starts: Codes, ends: Codes) -> Numbers | None:
    """Return a row of numbers for each of those places; None where one has more or fewer, or something else."""
    edges = np.empty((len(starts), 2 * width), np.intp)  # of each number, where it begins and ends
    edges[:, 0], edges[:, -1] = starts, ends
    if width > 1:
        first, last = np.searchsorted(commas, starts), np.searchsorted(commas, ends)
        if (last - first != width - 1).any():
            return None
        inner = commas[first[:, None] + np.arange(width - 1)]
        edges[:, 1:-1:2], edges[:, 2::2] = inner, inner + 1
    found = _parse_numbers(characters, edges)
    return None if found is None else found.reshape(-1, width)


def _cut(characters: Characters, edges: Codes) -> "list[str] | pyarrow.StringArray":
    """Return the texts between each two edges."""
    every = _share(characters, edges)
    if every is not None:
        return every.drop_null()
    body = characters.tobytes().decode()
    return [body[start:end] for start, end in edges.reshape(-1, 2).tolist()]


def _parse_numbers(characters: Characters, edges: Codes) -> Numbers | None:
    """Return the numbers between each two edges, the nearest to what is written; None where one is no number.

    PyArrow does it in a fraction of the time, where it is installed.
    """
    every = _share(characters, edges)
    if every is None:
        return _parse_slowly(_cut(characters, edges))
    try:
        found = every.cast("double")
    except ValueError:  # ArrowInvalid is one
        return None
    return np.frombuffer(found.buffers()[1], np.float64)[: edges.size : 2]


def _share(characters: Characters, edges: Codes) -> "pyarrow.StringArray | None":
    """Return the texts between each two edges, with nulls for what stands between those; None without PyArrow."""
    try:
        import pyarrow
    except ImportError:
        return None
    parts = (edges.astype(np.int32), characters, np.full(edges.size // 8 + 1, 0b01010101, np.uint8))
    return pyarrow.StringArray.from_buffers(edges.size - 1, *map(pyarrow.py_buffer, parts))


def _parse_slowly(texts: Sequence[str]) -> Numbers | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # what NumPy says of a text that is no number
        try:
            found = np.fromstring(",".join(texts), sep=",")
        except (DeprecationWarning, ValueError):
            return None
    return found if len(found) == len(texts) else None
