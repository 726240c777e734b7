"""The parts of a specification, read back from data: whatever is wrong with one is a SpecError."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from plaudit.errors import SpecError
from plaudit.language import nodes as n
from plaudit.language.codec import number_in
from plaudit.language.field import TERMINAL, Field
from plaudit.language.kinds import FLAG
from plaudit.language.program import Guard, reachable
from plaudit.reward.fact import Fact
from plaudit.reward.prefer import Preference, prefer
from plaudit.reward.term import Term, checked_number

MOST_ENTRIES = 1_000
TERM_PARTS = ("name", "weight", "low", "high", "terminal", "kind", "doc", "knobs", "shared", "reads", "allow")
_TERM_KINDS = {"name": str, "terminal": bool, "doc": str, "shared": list, "reads": list}


def position_of(position: object, found: tuple[str, ...], kind: str) -> int:
    """Return the position of a node of `kind`."""
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(found):
        raise SpecError(f"{position!r} is not the position of a node")
    if found[position] != kind:
        raise SpecError(f"node {position} is a {found[position]} where a {kind} is needed")
    return position


def field_of(name: str, fields: Mapping[str, Field]) -> Field:
    """Return the field that an input is a value of."""
    if name == "terminal":
        return TERMINAL
    record, dot, key = name.rpartition(".")
    key, bracket, entry = key.partition("[")
    field = fields.get(key)
    if field is None or (dot and record not in ("prev", "curr")):
        raise SpecError(f"a node reads {name!r}, which is not a declared field")
    inside = (
        entry[:-1].isdecimal() and entry.endswith("]") and int(entry[:-1]) < (field.length or 0) if bracket else True
    )
    if (
        bool(bracket) != (field.length is not None)
        or not inside
        or (bracket and name != f"{record}{dot}{key}[{int(entry[:-1])}]")
    ):
        raise SpecError(f"a node reads {name!r}, which does not fit the length of field {key!r}")
    return field


def entries(data: Mapping[str, Any], key: str) -> list[Any]:
    """Return a part that is a list."""
    found = data[key]
    if not isinstance(found, list) or (key != "guards" and len(found) > MOST_ENTRIES):
        raise SpecError(f"{key!r} must be a list of at most {MOST_ENTRIES:,} entries")
    return found


def field_from(entry: object) -> Field:
    """Return a field that `field_to_dict` wrote."""
    if not isinstance(entry, Mapping):
        raise SpecError("a field must be an object")
    parts: dict[str, Any] = {
        str(key): tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    if not any(isinstance(value, str) for value in parts.get("values") or ()):
        parts |= {key: number_in(parts[key], key) for key in ("missing", "rest") if parts.get(key) in ("inf", "-inf")}
    field = Field(**parts)
    for name, wanted in {"flag": bool, "infinite": bool, "unit": str, "doc": str}.items():
        if not isinstance(getattr(field, name), wanted):
            raise SpecError(f"field {field.name!r}: {name} must be a {wanted.__name__}")
    return field


def term_from(entry: object) -> Term:
    """Return a term without its function."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("knobs", {}), Mapping):
        raise SpecError("a term must be an object")
    knobs = {str(knob): checked_number(str(knob), value) for knob, value in entry.get("knobs", {}).items()}
    unknown = entry.keys() - set(TERM_PARTS)
    wrong = [part for part, kind in _TERM_KINDS.items() if part in entry and not isinstance(entry[part], kind)]
    if unknown or wrong or "name" not in entry:
        raise SpecError(f"a term must have a name and only these parts: {', '.join(TERM_PARTS)}")
    parts: dict[str, Any] = {
        str(key): tuple(map(str, value)) if isinstance(value, list) else value for key, value in entry.items()
    }
    return Term(**{**parts, "knobs": MappingProxyType(knobs)})


def fact_from(entry: object) -> tuple[Fact, object]:
    """Return a fact without its function, and where its flag is said to be."""
    kinds = {"name": str, "doc": str, "reads": list}
    if not isinstance(entry, Mapping) or entry.keys() != {*kinds, "flag"}:
        raise SpecError(f"a fact must have these parts and no others: {', '.join([*kinds, 'flag'])}")
    if not all(isinstance(entry[part], kind) for part, kind in kinds.items()):
        raise SpecError("a fact's name and doc must be texts, and what it reads a list")
    return Fact(entry["name"], entry["doc"], tuple(map(str, entry["reads"]))), entry["flag"]


def preference_from(entry: object, inputs: Mapping[str, Field]) -> Preference:
    """Return a preference, whose names and values are still to be checked."""
    if not isinstance(entry, Mapping) or entry.keys() != {"better", "over", "because"}:
        raise SpecError("a preference must have these parts and no others: better, over, because")
    better, over = ([_row_from(row, inputs) for row in entries(entry, side)] for side in ("better", "over"))
    return prefer(better, over=over, because=entry["because"])


def _row_from(row: object, inputs: Mapping[str, Field]) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise SpecError("a step of a preference must be an object")
    texts = {name for name, field in inputs.items() if field.kind == "category"}
    for name in row.keys() - inputs.keys():
        raise SpecError(f"a preference names {name!r:.60}, which is not an input")
    return {
        name: value if name in texts else number_in(value, f"a preference's {name!r}") for name, value in row.items()
    }


def guards_from(data: Mapping[str, Any], owners: Iterable[str], found: tuple[str, ...]) -> list[Guard]:
    """Return the guards of terms or facts that are called `owners`."""
    names = set(owners)
    guards = []
    for entry in entries(data, "guards"):
        node, where, why, line = entry
        if where not in names or not isinstance(why, str) or not isinstance(line, str):
            raise SpecError("a guard must say whose it is, and why")
        guards.append(Guard(position_of(node, found, FLAG), where, why, line))
    return guards


def check_whole(
    nodes: tuple[n.Node, ...], roots: Iterable[int], guards: Iterable[Guard], inputs: Mapping[str, Field]
) -> None:
    """Refuse nodes that compute with an unguarded partial operation, or name a field that they do not read."""
    guarded = {
        node.arg
        for at in reachable(nodes, [guard.node for guard in guards])
        if isinstance(node := nodes[at], n.Defined)
    }
    for at in reachable(nodes, roots):
        if isinstance(nodes[at], n.PARTIAL) and at not in guarded:
            raise SpecError(f"node {at} ({type(nodes[at]).__name__}) has no guard that says where it is defined")
    read = {field.name for field in inputs.values()}
    for node in nodes:
        if isinstance(node, n.Label) and node.field not in read:
            raise SpecError(f"a node names a value of field {node.field!r}, which no node reads")
