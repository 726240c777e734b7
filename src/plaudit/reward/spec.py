"""A reward as data: everything that is needed to rebuild and run it with none of its Python source."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from plaudit.errors import PlauditError, SpecError
from plaudit.language import nodes as n
from plaudit.language.codec import canonical, decode, encode, parse
from plaudit.language.field import Field
from plaudit.language.kinds import FLAG, NUMBER, kinds
from plaudit.language.program import Guard, Program
from plaudit.reward.allow import checked_allow
from plaudit.reward.domain import checked_discount
from plaudit.reward.fact import Fact
from plaudit.reward.facts import facts_program
from plaudit.reward.identity import field_to_dict, preference_to_dict
from plaudit.reward.lower import Formula, final_inputs, tidied
from plaudit.reward.parts import (
    TERM_PARTS,
    check_whole,
    entries,
    fact_from,
    field_from,
    field_of,
    guards_from,
    position_of,
    preference_from,
    term_from,
)
from plaudit.reward.prefer import fitted
from plaudit.reward.reward import Reward, title
from plaudit.reward.term import Term, checked_number, plain_number

FORMAT = 1
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
    "facts",
    "discount",
    "prefer",
    "allow",
}


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
        "guards": _guards_to_list(body.guards),
        "facts": _facts_to_dict(reward),
        "discount": reward.discount,
        "prefer": [preference_to_dict(preference) for preference in reward.prefer],
        "allow": dict(reward.allow),
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
    listed = [field_from(entry) for entry in entries(data, "fields")]
    fields = {field.name: field for field in listed}
    if len(fields) != len(listed) or "terminal" in fields:
        raise SpecError("a field is declared twice, or called 'terminal'")
    terms = tuple(term_from(entry) for entry in entries(data, "terms"))
    shared = {str(name): checked_number(name, value) for name, value in data["params"].items()}
    if not isinstance(data["doc"], str) or not isinstance(data["action"], str | None):
        raise SpecError("'doc' and 'action' must be texts")
    for key in ("name", "version"):
        title(key, data[key])
    low, high = (None if data[key] is None else plain_number(key, data[key]) for key in ("low", "high"))
    body = _formula(data, fields, terms, shared)
    facts, program = _facts(data, fields, body)
    preferences = [preference_from(entry, body.inputs) for entry in entries(data, "prefer")]
    parts = {"name": data["name"], "version": data["version"], "doc": data["doc"], "action": data["action"]}
    return Reward._made(
        **parts,
        terms=terms,
        fields=MappingProxyType(fields),
        shared=MappingProxyType(shared),
        low=low,
        high=high,
        facts=facts,
        discount=checked_discount(data["name"], data["discount"]),
        prefer=tuple(fitted(each, data["name"], body.inputs) for each in preferences),
        allow=checked_allow(f"reward {data['name']!r}", data["allow"]),
        facts_program=program,
        _formula=body,
    )


def _formula(
    data: Mapping[str, Any], fields: Mapping[str, Field], terms: tuple[Term, ...], shared: Mapping[str, float | bool]
) -> Formula:
    nodes = decode(data["nodes"])
    inputs = {node.name: field_of(node.name, fields) for node in nodes if isinstance(node, n.Input)}
    params = {name: value for term in terms for name, value in term.params.items()} | dict(shared)
    found = kinds(nodes, inputs, params)
    scores = {term.name: position_of(data["scores"][term.name], found, NUMBER) for term in terms}
    for term in terms:
        asks = nodes[scores[term.name]]
        ends = isinstance(asks, n.Select) and nodes[asks.condition] == n.Input("terminal")
        if term.terminal and not ends:
            raise SpecError(f"the terminal term {term.name!r} does not ask whether the episode ends")
    if len(data["scores"]) != len(terms):
        raise SpecError("there is a score without a term")
    guards = guards_from(data, scores, found)
    body = tidied(Formula(nodes, scores, tuple(guards), inputs, final_inputs(nodes, scores, guards, terms)))
    check_whole(body.nodes, body.scores.values(), body.guards, body.inputs)
    unread = [name for name in fields if not any(field.name == name for field in body.inputs.values())]
    if unread:
        raise SpecError(f"no term reads the field {unread[0]!r}")
    return body


def _facts(data: Mapping[str, Any], fields: Mapping[str, Field], body: Formula) -> tuple[tuple[Fact, ...], Program]:
    """Return the facts and their Program; its inputs go by the names that they have for terms."""
    part = data["facts"]
    if not isinstance(part, Mapping) or part.keys() != {"named", "nodes", "guards"}:
        raise SpecError("'facts' must have these parts and no others: named, nodes, guards")
    listed = [fact_from(entry) for entry in entries(part, "named")]
    nodes = decode(part["nodes"])
    inputs = {node.name: field_of(node.name, fields) for node in nodes if isinstance(node, n.Input)}
    found = kinds(nodes, inputs, {})
    flags = {fact.name: position_of(flag, found, FLAG) for fact, flag in listed}
    program = facts_program(data["name"], nodes, flags, guards_from(part, flags, found), inputs)
    check_whole(program.nodes, program.outputs.values(), program.domain, program.inputs)
    ends = {field.name for name, field in body.inputs.items() if "." in name}
    for name, field in program.inputs.items():
        either = name == "terminal" or name.startswith("prev.")
        if not either and (field.name in ends) != name.startswith("curr."):
            raise SpecError(f"a fact reads {name!r}, which terms call by another name")
    return tuple(fact for fact, _ in listed), program


def _facts_to_dict(reward: Reward) -> dict[str, Any]:
    program = reward.facts_program
    return {
        "named": [
            {"name": fact.name, "doc": fact.doc, "reads": list(fact.reads), "flag": program.outputs[fact.name]}
            for fact in reward.facts
        ],
        "nodes": encode(program.nodes),
        "guards": _guards_to_list(program.domain),
    }


def _guards_to_list(guards: Iterable[Guard]) -> list[list[Any]]:
    return [[guard.node, guard.where, guard.why, guard.line] for guard in guards]


def _term_to_dict(term: Term) -> dict[str, Any]:
    data = {part: getattr(term, part) for part in TERM_PARTS}
    maps = {"knobs": dict(term.knobs), "allow": dict(term.allow)}
    return {**data, **maps, "shared": list(term.shared), "reads": list(term.reads)}
