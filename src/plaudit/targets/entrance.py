"""The generated way in: lines of code that read each input, check its name and kind, and convert what is unusual.

The usual row — the right names, floats, flags, known texts — costs a few tests. Anything else makes a line raise one of
`UNUSUAL`, and the caller takes the slow way in, which handles other shapes or says what is amiss.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plaudit.language.field import LARGEST_WHOLE
from plaudit.language.program import Program
from plaudit.targets.rows import Place, default_of, places, record

UNUSUAL = (KeyError, TypeError, IndexError, AttributeError)

RECORDS = ("prev", "curr")


class Absent:
    """What a keyword argument holds that was not given."""

    def __repr__(self) -> str:
        return "<not given>"


ABSENT = Absent()


@dataclass(slots=True)
class Entrance:
    """Arguments of a generated function, its first lines, and the names they use."""

    arguments: list[str]
    lines: list[str]
    names: dict[str, Any]
    given: str
    """An expression for everything that was passed, for the slow way in."""
    vectors: dict[str, str] = field(default_factory=dict)
    """The name of each vector that has been read."""
    keywords: list[str] | None = None
    """The names that the first arguments go by, where they are keyword arguments."""

    def renamed(self, made: Any) -> Any:
        """Return a generated function with its keyword arguments under their real names.

        The names are put into the code object as data, so no text of a reward is ever compiled.
        """
        if self.keywords is not None:
            extra, *rest = made.__code__.co_varnames[len(self.keywords) :]
            while extra in self.keywords:
                extra += "_"
            made.__code__ = made.__code__.replace(co_varnames=(*self.keywords, extra, *rest))
            made.__kwdefaults__ = dict(zip(self.keywords, (made.__kwdefaults__ or {}).values(), strict=True))
        return made


def entrance(program: Program, converters: Sequence[Callable[[Any], Any]], *, keywords: bool) -> Entrance:
    """Return the way in for a mapping called `inputs` or, with `keywords`, for keyword arguments."""
    found = places(program)
    top = list(dict.fromkeys(place.record or place.key for place in found))
    names: dict[str, Any] = {"record": record, "KeyError": KeyError, "len": len, "dict": dict, "bool": bool}
    names |= {f"k{i}": place.key for i, place in enumerate(found)} | {f"d{i}": c for i, c in enumerate(converters)}
    names |= {f"q{i}": name for i, name in enumerate(top)}
    if keywords:
        names |= {"absent": ABSENT, "passed": passed}
        pairs = "".join(f"(q{i}, y{i}), " for i in range(len(top)))
        arguments = [*(["*"] if top else []), *(f"y{i}=absent" for i in range(len(top))), "**extra"]
        way = Entrance(arguments, [], names, f"passed(({pairs}), extra)", keywords=top)
    else:
        way = Entrance(["inputs"], [], names, "inputs")
    for name in RECORDS:
        if name in top:
            _read_record(way, name, top, found)
    for i, place in enumerate(found):
        _read(way, program, i, place, top)
    way.lines.append(f"if {_unexpected(way, program, found, top)}: raise KeyError")
    return way


def passed(pairs: Sequence[tuple[str, Any]], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments as a mapping, without those that were not given."""
    return {name: value for name, value in pairs if value is not ABSENT} | dict(extra)


def listed(vector: Any) -> Any:
    """Return a vector whose entries are plain numbers: an array as a list, which is faster to read one by one."""
    if type(vector) is list or type(vector) is tuple:
        return vector
    if not hasattr(vector, "dtype"):
        raise TypeError  # the slow way in says what it is
    return vector.tolist()


def _read_record(way: Entrance, name: str, top: list[str], found: Sequence[Place]) -> None:
    """Read `prev` or `curr`; a whole state may hold declared fields that are read at the other end only."""
    keys = {place.key for place in found if place.record == name}
    way.names |= {f"keys_{name}": keys, "declared": frozenset(place.key for place in found if place.record)}
    way.lines += [
        f"{name} = {_top(way, name, top)}",
        f"if type({name}) is not dict: {name} = record({name}, keys_{name})",
        f"if len({name}) != {len(keys)} and not ({name}.keys() <= declared): raise KeyError",
    ]


def _top(way: Entrance, name: str, top: list[str]) -> str:
    """Return the expression for what was passed under a name."""
    return f"y{top.index(name)}" if way.keywords is not None else f"inputs[q{top.index(name)}]"


def _unexpected(way: Entrance, program: Program, found: Sequence[Place], top: list[str]) -> str:
    """Return the test that something was passed that the reward does not read."""
    if way.keywords is not None:
        return "extra"
    if any(_default(program, place) is not None for place in found):
        way.names["top"] = frozenset(top)
        return "not (inputs.keys() <= top)"
    return f"len(inputs) != {len(top)}"


def _default(program: Program, place: Place) -> Any:
    """Return what stands in for a single top-level value that is not given, or None."""
    return None if place.record or place.entry is not None else default_of(program, place, False)


def _read(way: Entrance, program: Program, i: int, place: Place, top: list[str]) -> None:
    """Read one input into x0, x1 …, as a float, a flag or the position of a category."""
    value = f"{place.record}[k{i}]" if place.record else _top(way, place.key, top)
    if place.entry is not None:
        new = place.column not in way.vectors
        vector = way.vectors.setdefault(place.column, f"w{len(way.vectors)}")
        if new:
            way.names["listed"] = listed
            way.lines += [f"{vector} = listed({value})", f"if len({vector}) != {place.field.length}: raise KeyError"]
        value = f"{vector}[{place.entry}]"
    default = _default(program, place)
    if default is not None:
        way.names[f"e{i}"] = default
        at = top.index(place.key)
        kept = f"{value} if {value} is not absent else e{i}"
        instead = f"inputs.get(q{at}, e{i})" if way.keywords is None else kept
        if place.name in program.terminal:
            instead = f"{value} if x{list(program.inputs).index('terminal')} else e{i}"
        value = instead
    way.lines += [f"x{i} = {value}", _converted(way, i, place)]


def _converted(way: Entrance, i: int, place: Place) -> str:
    """Return the line that turns x0, x1 … into what its field holds."""
    if place.field.kind == "category":
        way.names[f"m{i}"] = {label: float(position) for position, label in enumerate(place.field.labels)}
        return f"x{i} = m{i}[x{i}] if x{i} in m{i} else d{i}(x{i})"
    if place.field.kind == "flag":
        return f"if type(x{i}) is not bool: x{i} = d{i}(x{i})"
    if place.field.numbers:  # looked up: that they are allowed is known from here on
        way.names[f"m{i}"] = {number: number for number in place.field.numbers}
        return f"x{i} = m{i}[x{i} if type(x{i}) is int or type(x{i}) is float else d{i}(x{i})]"
    small = f"type(x{i}) is int and -{LARGEST_WHOLE} <= x{i} <= {LARGEST_WHOLE}"
    return f"if type(x{i}) is not float: x{i} = float(x{i}) if {small} else d{i}(x{i})"
