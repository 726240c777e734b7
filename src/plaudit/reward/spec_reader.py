"""A reward read back from data; no code is run, and every mistake in a specification is a SpecError."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from plaudit.errors import PlauditError, SpecError
from plaudit.language import nodes as n
from plaudit.language.codec import decode_nodes, parse_json, read_field
from plaudit.language.field import RECORDS, TERMINAL, Field
from plaudit.language.kinds import FLAG, NUMBER, infer_kinds
from plaudit.language.parameters import Parameter, expand_parameters, find_schedules
from plaudit.language.program import Guard, find_reachable
from plaudit.language.shapes import index_entries
from plaudit.reward.composition import Composition
from plaudit.reward.declared import validate_allow
from plaudit.reward.definition import validate_title
from plaudit.reward.lower import Formula, find_final_inputs, tidy
from plaudit.reward.reward import Reward
from plaudit.reward.spec_entries import (
    read_composition,
    read_list,
    read_number,
    read_parameter,
    read_state,
    read_term,
)
from plaudit.reward.spec_writer import FORMAT
from plaudit.reward.state import State, refuse_unread
from plaudit.reward.task.fit import validate_known
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term

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
    "allow",
}
_OWN_KEYS = {"scale", "gate", "override", "states", "task"}
"""Keys that only a reward has that uses them."""


def from_json(text: str) -> Reward:
    """Return the reward that `to_json` wrote."""
    return from_dict(parse_json(text))


def from_dict(data: object) -> Reward:
    """Return the reward that `to_dict` wrote; no code is run, and SpecError says what is wrong."""
    if not isinstance(data, Mapping) or "plaudit" not in data:
        raise SpecError("this is not a reward: the key 'plaudit' is missing")
    if data["plaudit"] != FORMAT:
        raise SpecError(f"this reward has format {data['plaudit']!r}; this version of plaudit reads format {FORMAT}")
    try:
        return _read(data)
    except SpecError:
        raise
    except (PlauditError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise SpecError(f"this reward cannot be loaded: {error}") from None


def _read(data: Mapping[str, Any]) -> Reward:
    if not _KEYS <= data.keys() <= _KEYS | _OWN_KEYS:
        unknown = sorted(map(str, data.keys() - _KEYS - _OWN_KEYS))[:5]
        raise SpecError(f"this is not a reward: missing {sorted(_KEYS - data.keys())}, unknown {unknown}")
    listed = [read_field(entry) for entry in read_list(data, "fields")]
    states = {state.name: state for state in map(read_state, read_list(data, "states"))} if "states" in data else {}
    listed += [state.field for state in states.values()]
    fields = {field.name: field for field in listed}
    if "states" in data and len(data["states"]) != len(states):
        raise SpecError("a state is declared twice")
    if len(fields) != len(listed) or "terminal" in fields:
        raise SpecError("a field is declared twice, or called 'terminal'")
    terms = tuple(read_term(entry) for entry in read_list(data, "terms"))
    shared = {str(name): read_parameter(str(name), value) for name, value in data["params"].items()}
    if not isinstance(data["doc"], str) or not isinstance(data["action"], str | None):
        raise SpecError("'doc' and 'action' must be strings")
    for key in ("name", "version"):
        validate_title(key, data[key])
    low, high = (None if data[key] is None else read_number(f"total.{key}", data[key]) for key in ("low", "high"))
    composition, results = read_composition(data)
    body = _read_formula(data, fields, terms, shared, states, composition, results)
    parts = {"name": data["name"], "version": data["version"], "doc": data["doc"], "action": data["action"]}
    made = Reward._build(
        **parts,
        terms=terms,
        fields=fields,
        states=MappingProxyType(states),
        shared=MappingProxyType(shared),
        constants=MappingProxyType({}),
        low=low,
        high=high,
        _composition=composition,
        task=Task.from_dict(data["task"]) if "task" in data else Task(),
        allow=validate_allow(f"reward {data['name']!r}", data["allow"]),
        _formula=body,
    )
    validate_known(made._bound)
    return _refuse_unread_fields(made)


def _read_formula(
    data: Mapping[str, Any],
    fields: Mapping[str, Field],
    terms: tuple[Term, ...],
    shared: Mapping[str, Parameter],
    states: Mapping[str, State],
    composition: Composition,
    results: Mapping[str, object],
) -> Formula:
    nodes = decode_nodes(data["nodes"])
    inputs = {node.name: _find_field(node.name, fields) for node in nodes if isinstance(node, n.Input)}
    for name, field in inputs.items():
        if field.name in states and not name.startswith("prev."):
            raise SpecError(f"a node reads {name!r}, but a state after the step is computed, not read")
    owners: tuple[Term | State, ...] = (*terms, *states.values())
    numbers = {name: value for owner in owners for name, value in owner.numbers.items()}
    numbers |= {**shared, **composition.numbers}
    schedules = find_schedules(numbers)
    found = infer_kinds(nodes, inputs, expand_parameters(numbers) | dict.fromkeys(schedules, 0.0))
    scores = {term.name: _read_position(data["scores"][term.name], found, NUMBER) for term in terms}
    for function in composition.functions:
        kind = FLAG if function.condition else NUMBER
        if function.name in scores:
            raise SpecError(f"{function.name!r} stands for two things")
        scores[function.name] = _read_position(results[function.name], found, kind)
    for term in terms:
        asks = nodes[scores[term.name]]
        ends = isinstance(asks, n.Select) and nodes[asks.condition] == n.Input("terminal")
        if term.terminal and not ends:
            raise SpecError(f"the terminal term {term.name!r} does not read 'terminal'")
    if len(data["scores"]) != len(terms):
        raise SpecError("there is a score without a term")
    guards = _read_guards(data, (*scores, *states), found)
    entries = {state.name: _read_entries(entry, state, found) for entry, state in _pair_states(data, states)}
    final = find_final_inputs(nodes, scores, guards, (*terms, *composition.functions), entries)
    body = tidy(Formula(nodes, scores, tuple(guards), inputs, final, entries))
    roots = [*body.scores.values(), *(at for ats in body.states.values() for at in ats)]
    _validate_nodes(body.nodes, roots, body.guards, body.inputs)
    refuse_unread(data["name"], states, body.inputs)
    return body


def _refuse_unread_fields(reward: Reward) -> Reward:
    read = {each.rpartition(".")[2] for function in reward._functions for each in function.reads}
    for name in reward._list_unused():
        if name not in read:
            raise SpecError(f"no term reads the field {name!r}")
    return reward


def _read_position(position: object, found: tuple[str, ...], kind: str) -> int:
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(found):
        raise SpecError(f"{position!r} is not the position of a node")
    if found[position] != kind:
        raise SpecError(f"node {position} is a {found[position]} where a {kind} is needed")
    return position


def _find_field(name: str, fields: Mapping[str, Field]) -> Field:
    if name == "terminal":
        return TERMINAL
    record, dot, key = name.rpartition(".")
    key, bracket, entry = key.partition("[")
    field = fields.get(key)
    if field is None or (dot and record not in RECORDS):
        raise SpecError(f"a node reads {name!r}, which is not a declared field")
    if bracket + entry not in index_entries(field.shape) if field.shape else bracket:
        raise SpecError(f"a node reads {name!r}, which does not fit the shape of field {key!r}")
    return field


def _pair_states(data: Mapping[str, Any], states: Mapping[str, State]) -> Iterable[tuple[Mapping[str, Any], State]]:
    return zip(data.get("states", ()), states.values(), strict=True)


def _read_entries(entry: Mapping[str, Any], state: State, found: tuple[str, ...]) -> tuple[int, ...]:
    """Return where the entries of a state after a step are computed."""
    if len(entry["entries"]) != len(state.reset):
        raise SpecError(f"the state {state.name!r} has another number of entries than its update")
    kind = FLAG if state.field.flag else NUMBER
    return tuple(_read_position(at, found, kind) for at in entry["entries"])


def _read_guards(data: Mapping[str, Any], owners: Iterable[str], found: tuple[str, ...]) -> list[Guard]:
    """Return the guards of terms or facts that are called `owners`."""
    names = set(owners)
    guards = []
    for entry in read_list(data, "guards"):
        node, where, why, line = entry
        if where not in names or not isinstance(why, str) or not isinstance(line, str):
            raise SpecError("a guard must say whose it is, and why")
        guards.append(Guard(_read_position(node, found, FLAG), where, why, line))
    return guards


def _validate_nodes(
    nodes: tuple[n.Node, ...], roots: Iterable[int], guards: Iterable[Guard], inputs: Mapping[str, Field]
) -> None:
    """Refuse nodes that compute with an unguarded partial operation, or name a field that they do not read."""
    guarded = {
        node.arg
        for at in find_reachable(nodes, [guard.node for guard in guards])
        if isinstance(node := nodes[at], n.Defined)
    }
    for at in find_reachable(nodes, roots):
        if nodes[at].partial and at not in guarded:
            raise SpecError(f"node {at} ({type(nodes[at]).__name__}) has no guard that says where it is defined")
    read = {field.name for field in inputs.values()}
    for node in nodes:
        if isinstance(node, n.Label) and node.field not in read:
            raise SpecError(f"a node names a value of field {node.field!r}, which no node reads")
