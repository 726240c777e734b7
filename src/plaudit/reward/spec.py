"""A reward as data: everything that is needed to rebuild and run it with none of its Python source."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from plaudit.errors import PlauditError, SpecError
from plaudit.language import nodes as n
from plaudit.language.codec import canonical, decode, encode, number_in, parse
from plaudit.language.field import TERMINAL, Field
from plaudit.language.kinds import FLAG, NUMBER, kinds
from plaudit.language.program import Guard, reachable
from plaudit.reward.identity import field_to_dict
from plaudit.reward.lower import Formula, final_inputs, tidied
from plaudit.reward.reward import Reward, title
from plaudit.reward.term import Term, checked_number

FORMAT = 1
MOST_TERMS = 1_000
_KEYS = {
    "plaudit",
    "name",
    "version",
    "doc",
    "action",
    "fields",
    "terms",
    "params",
    "low",
    "high",
    "nodes",
    "scores",
    "guards",
}
_TERM_PARTS = ("name", "weight", "low", "high", "terminal", "kind", "doc", "knobs", "shared", "reads")


def to_dict(reward: Reward) -> dict[str, Any]:
    """Return the reward as plain data."""
    body = reward._formula
    return {
        "plaudit": FORMAT,
        "name": reward.name,
        "version": reward.version,
        "doc": reward.doc,
        "action": reward.action,
        "fields": [field_to_dict(field) for field in reward.fields.values()],
        "terms": [_term_to_dict(term) for term in reward.terms],
        "params": dict(reward.shared),
        "low": reward.low,
        "high": reward.high,
        "nodes": encode(body.nodes),
        "scores": dict(body.scores),
        "guards": [[guard.node, guard.where, guard.why, guard.line] for guard in body.guards],
    }


def to_json(reward: Reward) -> str:
    """Return the reward as canonical JSON."""
    return canonical(to_dict(reward))


def from_json(text: str) -> Reward:
    """Return the reward that `to_json` wrote."""
    return from_dict(parse(text))


def from_dict(data: object) -> Reward:
    """Return the reward that `to_dict` wrote; no code is run, and SpecError says what is wrong."""
    if not isinstance(data, Mapping) or "plaudit" not in data:
        raise SpecError("this is not a reward: the key 'plaudit' is missing")
    if data["plaudit"] != FORMAT:
        raise SpecError(f"this reward has format {data['plaudit']!r}; this version of plaudit reads format {FORMAT}")
    if data.keys() != _KEYS:
        unknown = sorted(map(str, data.keys() - _KEYS))[:5]
        raise SpecError(f"this is not a reward: missing {sorted(_KEYS - data.keys())}, unknown {unknown}")
    try:
        return _built(data)
    except SpecError:
        raise
    except (PlauditError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise SpecError(f"this reward cannot be loaded: {error}") from None


def _built(data: Mapping[str, Any]) -> Reward:
    listed = [_field(entry) for entry in _list(data, "fields")]
    fields = {field.name: field for field in listed}
    if len(fields) != len(listed) or "terminal" in fields:
        raise SpecError("a field is declared twice, or called 'terminal'")
    terms = tuple(_term(entry) for entry in _list(data, "terms"))
    shared = {str(name): checked_number(name, value) for name, value in data["params"].items()}
    if not isinstance(data["doc"], str) or not isinstance(data["action"], str | None):
        raise SpecError("'doc' and 'action' must be texts")
    for key in ("name", "version"):
        title(key, data[key])
    low, high = (None if data[key] is None else float(checked_number(key, data[key])) for key in ("low", "high"))
    body = _formula(data, fields, terms, shared)
    parts = {"name": data["name"], "version": data["version"], "doc": data["doc"], "action": data["action"]}
    return Reward._made(
        **parts,
        terms=terms,
        fields=MappingProxyType(fields),
        shared=MappingProxyType(shared),
        low=low,
        high=high,
        _formula=body,
    )


def _formula(
    data: Mapping[str, Any], fields: Mapping[str, Field], terms: tuple[Term, ...], shared: Mapping[str, float | bool]
) -> Formula:
    nodes = decode(data["nodes"])
    inputs = {node.name: _input(node.name, fields) for node in nodes if isinstance(node, n.Input)}
    params = {name: value for term in terms for name, value in term.params.items()} | dict(shared)
    found = kinds(nodes, inputs, params)
    scores = {term.name: _at(data["scores"][term.name], found, NUMBER) for term in terms}
    for term in terms:
        asks = nodes[scores[term.name]]
        ends = isinstance(asks, n.Select) and nodes[asks.condition] == n.Input("terminal")
        if term.terminal and not ends:
            raise SpecError(f"the terminal term {term.name!r} does not ask whether the episode ends")
    if len(data["scores"]) != len(terms):
        raise SpecError("there is a score without a term")
    names = {term.name for term in terms}
    guards = []
    for entry in _list(data, "guards"):
        node, where, why, line = entry
        if where not in names or not isinstance(why, str) or not isinstance(line, str):
            raise SpecError("a guard must name a term and say why")
        guards.append(Guard(_at(node, found, FLAG), where, why, line))
    body = tidied(Formula(nodes, scores, tuple(guards), inputs, final_inputs(nodes, scores, guards, terms)))
    _check_whole(body)
    unread = [name for name in fields if not any(field.name == name for field in body.inputs.values())]
    if unread:
        raise SpecError(f"no term reads the field {unread[0]!r}")
    return body


def _check_whole(body: Formula) -> None:
    """Refuse a formula that computes with an unguarded partial operation, or names a field it does not read."""
    guarded = {
        node.arg
        for at in reachable(body.nodes, [guard.node for guard in body.guards])
        if isinstance(node := body.nodes[at], n.Defined)
    }
    for at in reachable(body.nodes, body.scores.values()):
        if isinstance(body.nodes[at], n.PARTIAL) and at not in guarded:
            raise SpecError(f"node {at} ({type(body.nodes[at]).__name__}) has no guard that says where it is defined")
    read = {field.name for field in body.inputs.values()}
    for node in body.nodes:
        if isinstance(node, n.Label) and node.field not in read:
            raise SpecError(f"a node names a value of field {node.field!r}, which no node reads")


def _at(position: object, found: tuple[str, ...], kind: str) -> int:
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(found):
        raise SpecError(f"{position!r} is not the position of a node")
    if found[position] != kind:
        raise SpecError(f"node {position} is a {found[position]} where a {kind} is needed")
    return position


def _input(name: str, fields: Mapping[str, Field]) -> Field:
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


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    entries = data[key]
    if not isinstance(entries, list) or (key != "guards" and len(entries) > MOST_TERMS):
        raise SpecError(f"{key!r} must be a list of at most {MOST_TERMS:,} entries")
    return entries


def _field(entry: object) -> Field:
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


def _term(entry: object) -> Term:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("knobs", {}), Mapping):
        raise SpecError("a term must be an object")
    knobs = {str(knob): checked_number(str(knob), value) for knob, value in entry.get("knobs", {}).items()}
    unknown = entry.keys() - set(_TERM_PARTS)
    kinds = {"name": str, "terminal": bool, "doc": str, "shared": list, "reads": list}
    wrong = [part for part, kind in kinds.items() if part in entry and not isinstance(entry[part], kind)]
    if unknown or wrong or "name" not in entry:
        raise SpecError(f"a term must have a name and only these parts: {', '.join(_TERM_PARTS)}")
    parts: dict[str, Any] = {
        str(key): tuple(map(str, value)) if isinstance(value, list) else value for key, value in entry.items()
    }
    return Term(**{**parts, "knobs": MappingProxyType(knobs)})


def _term_to_dict(term: Term) -> dict[str, Any]:
    data = {part: getattr(term, part) for part in _TERM_PARTS}
    return {**data, "knobs": dict(term.knobs), "shared": list(term.shared), "reads": list(term.reads)}
