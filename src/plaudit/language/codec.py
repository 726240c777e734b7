"""Nodes and fields as JSON, and back: a file is data, never code, and every mistake in it is an error."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from functools import partial
from typing import Any, NoReturn

from plaudit.errors import SpecError
from plaudit.language import nodes as n
from plaudit.language.field import Field

MOST_CHARACTERS = 50_000_000
MOST_NODES = 200_000
MOST_ENTRIES = 100_000

_LEAVES = (n.Const, n.Label, n.Input, n.Param)


def encode_nodes(nodes: Iterable[n.Node]) -> list[list[Any]]:
    """Return each node as a short list: `["Add", 3, 4]`.

    >>> encode_nodes([n.Input("x"), n.Const(math.inf), n.Lt(0, 1)])
    [['Input', 'x'], ['Const', 'inf'], ['Lt', 0, 1]]
    """
    return [[type(node).__name__, *_encode_parts(node)] for node in nodes]


def _encode_parts(node: n.Node) -> list[Any]:
    match node:
        case n.Const(value):
            return [encode_number(value)]
        case n.Input(name) | n.Param(name):
            return [name]
        case n.Label(field, value):
            return [field, value]
        case n.Item(table, index):
            return [[encode_number(entry) for entry in table], index]
    return list(n.operands(node))


def decode_nodes(data: object) -> tuple[n.Node, ...]:
    """Return the nodes that `encode_nodes` wrote; SpecError for anything else."""
    if not isinstance(data, list) or len(data) > MOST_NODES:
        raise SpecError(f"nodes must be a list of at most {MOST_NODES:,} entries")
    return tuple(_decode_node(at, entry) for at, entry in enumerate(data))


def _decode_node(at: int, entry: object) -> n.Node:
    if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
        raise SpecError(f"node {at} must be a list that begins with the name of an operation")
    name, *parts = entry
    if name not in n.KINDS:
        raise SpecError(f"node {at}: there is no operation {name[:60]!r}")
    kind = n.KINDS[name]
    names = n.operand_names(kind)
    match kind, parts:
        case n.Const, [value]:
            return n.Const(decode_number(value, f"node {at}"))
        case ((n.Input | n.Param), [str(text)]):
            return kind(text)
        case n.Label, [str(field), str(value)]:
            return n.Label(field, value)
        case n.Item, [list(table), index] if 0 < len(table) <= MOST_ENTRIES:
            entries = tuple(decode_number(item, f"node {at}") for item in table)
            if len({isinstance(item, bool) for item in entries}) > 1:
                raise SpecError(f"node {at}: a table holds numbers or bools, not both")
            exact = tuple(item if isinstance(item, bool) else float(item) for item in entries)
            return n.Item(exact, _decode_position(at, index))
        case _ if kind not in _LEAVES and kind is not n.Item and len(parts) == len(names):
            return kind(*(_decode_position(at, part) for part in parts))
    raise SpecError(f"node {at}: {name} does not take these parts")


def _decode_position(at: int, part: object) -> int:
    if isinstance(part, bool) or not isinstance(part, int) or not 0 <= part < at:
        raise SpecError(f"node {at}: an operand must be the position of an earlier node")
    return part


def encode_number(value: float | bool) -> float | bool | str:
    """Return a number for JSON; infinities become strings."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def decode_number(value: object, where: str) -> float | bool:
    """Return a number or bool read from JSON; "inf" and "-inf" are numbers, NaN is not."""
    if value in ("inf", "-inf"):
        return float(str(value))
    if not isinstance(value, bool | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise SpecError(f'{where}: a finite number, true, false, "inf" or "-inf" is needed')
    if isinstance(value, int) and abs(value) > 2**53:
        raise SpecError(f"{where}: an integer is beyond 2**53")
    return value


def field_to_dict(field: Field) -> dict[str, Any]:
    """Return what a field declares, defaults left out."""
    data: dict[str, Any] = {}
    for part in dataclass_fields(field):
        value = getattr(field, part.name)
        if part.name == "shape" and field.length is not None:
            continue  # `length` says the same
        if part.name == "name" or value != part.default:
            data[part.name] = list(value) if isinstance(value, tuple) else encode_number(value)
    return data


def read_field(entry: object) -> Field:
    """Return a field that `field_to_dict` wrote."""
    if not isinstance(entry, Mapping):
        raise SpecError("a field must be an object")
    parts: dict[str, Any] = {
        str(key): tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    if not any(isinstance(value, str) for value in parts.get("values") or ()):
        parts |= {key: decode_number(parts[key], key) for key in ("missing",) if parts.get(key) in ("inf", "-inf")}
    return Field(**parts)


def format_canonical(data: object) -> str:
    """Return data as JSON in its one canonical form: sorted keys, no spaces, every float to the bit."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_json(text: str) -> Any:
    """Return JSON text as data; SpecError for NaN, duplicate keys, or text too large or too deep."""
    if not isinstance(text, str | bytes):
        raise SpecError(f"JSON is a string, not a {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise SpecError(f"the JSON is larger than {MOST_CHARACTERS:,} characters")
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=partial(build_object, refuse=_refuse_doubled)
        )
    except RecursionError:
        raise SpecError("the JSON is nested too deeply") from None
    except SpecError:
        raise
    except ValueError as error:
        raise SpecError(f"this is not JSON: {error}") from None


def _refuse_constant(text: str) -> NoReturn:
    raise SpecError(f"the JSON holds {text}, which is not a number")


def build_object(pairs: Sequence[tuple[str, Any]], refuse: Callable[[str], Exception]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; the error that `refuse` makes of a duplicate key."""
    row = dict(pairs)
    if len(row) != len(pairs):
        raise refuse(find_doubled(key for key, _ in pairs) or "")
    return row


def find_doubled(names: Iterable[str]) -> str | None:
    """Return the first name that appears twice, or None.

    >>> find_doubled(["step", "total", "step"])
    'step'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _refuse_doubled(key: str) -> SpecError:
    return SpecError("the JSON has a key twice in one object")
