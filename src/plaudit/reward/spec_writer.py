"""A reward as plain data, enough to rebuild and run it with none of its Python source, and its fingerprints."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.codec import encode_nodes, encode_number, field_to_dict, format_canonical
from plaudit.language.parameters import Parameter
from plaudit.language.program import Guard, prune
from plaudit.language.schedule import Schedule
from plaudit.reward.composition import TotalFunction
from plaudit.reward.definition import Definition
from plaudit.reward.lower import Function
from plaudit.reward.state import State
from plaudit.reward.task import file as task_file
from plaudit.reward.term import Term

FORMAT = 2
TERM_PARTS = ("name", "weight", "low", "high", "terminal", "kind", "doc", "knobs", "shared", "reads", "allow")
COMPOSED_PARTS = {"gated": True, "after_clamp": False}
"""Parts of a term that are written only where they are not this."""


def to_dict(reward: Definition) -> dict[str, Any]:
    """Return the reward as plain data."""
    body = reward._formula
    states = {"states": [_write_state(state, reward) for state in reward.states.values()]} if reward.states else {}
    return {
        "plaudit": FORMAT,
        "name": reward.name,
        "version": reward.version,
        "doc": reward.doc,
        "action": reward.action,
        "fields": [field_to_dict(field) for name, field in reward.fields.items() if name not in reward.states],
        **states,
        "terms": [_write_term(term, reward) for term in reward.terms],
        "params": _write_values(reward.shared),
        "low": _write_value(reward.low),
        "high": _write_value(reward.high),
        "nodes": encode_nodes(body.nodes),
        "scores": {term.name: body.scores[term.name] for term in reward.terms},
        "guards": _write_guards(body.guards),
        "allow": dict(reward.allow),
        **_write_composition(reward),
        **({} if reward.task.is_empty else {"task": task_file.to_dict(reward.task)}),
    }


def to_json(reward: Definition) -> str:
    """Return the reward as canonical JSON."""
    return format_canonical(to_dict(reward))


def _write_term(term: Term, reward: Definition) -> dict[str, Any]:
    data = {part: _write_value(getattr(term, part)) for part in TERM_PARTS}
    data |= {part: getattr(term, part) for part, usual in COMPOSED_PARTS.items() if getattr(term, part) != usual}
    maps = {"knobs": _write_values(term.knobs), "allow": dict(term.allow)}
    return {**data, **maps, "shared": _write_shared(term, reward), "reads": list(term.reads)}


def _write_state(state: State, reward: Definition) -> dict[str, Any]:
    return {
        "field": field_to_dict(state.field),
        "reset": list(state.reset),
        "knobs": _write_values(state.knobs),
        "shared": _write_shared(state, reward),
        "reads": list(state.reads),
        "entries": list(reward._formula.states[state.name]),
    }


def _write_shared(function: Function | State, reward: Definition) -> list[str]:
    """Return the numbers that a function shares; shared constants are part of the formula."""
    return [name for name in function.shared if name not in reward.constants]


def _write_values(values: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return parameters for JSON, vectors as lists and schedules as objects."""

    def write(value: Any) -> Any:
        return [write(entry) for entry in value] if isinstance(value, tuple) else _write_value(value)

    return {name: write(value) for name, value in values.items()}


def _write_value(value: Any) -> Any:
    """Return a number for JSON; a schedule as an object."""
    return value.to_dict() if isinstance(value, Schedule) else value


def _write_composition(reward: Definition) -> dict[str, Any]:
    """Return what stands above the terms, as far as the reward uses it."""
    data: dict[str, Any] = {}
    if reward.scale is not None:
        data["scale"] = _write_value(reward.scale)
    if reward.gate is not None:
        data["gate"] = _write_function(reward.gate, reward)
    if reward.override:
        data["override"] = [
            {**_write_function(each.condition, reward), "value": _write_value(each.value)} for each in reward.override
        ]
    return data


def _write_function(function: TotalFunction, reward: Definition) -> dict[str, Any]:
    return {
        "name": function.name,
        "doc": function.doc,
        "knobs": _write_values(function.knobs),
        "shared": _write_shared(function, reward),
        "reads": list(function.reads),
        "result": reward._formula.scores[function.name],
    }


def _write_guards(guards: Iterable[Guard]) -> list[list[Any]]:
    return [[guard.node, guard.where, guard.why, guard.line] for guard in guards]


def compute_fingerprint(reward: Definition) -> str:
    """Return the SHA-256 of inputs, kinds, categories, nodes, parameters, term names and order."""
    body = reward._formula
    content: dict[str, Any] = {
        "inputs": [[name, field.kind, list(field.labels)] for name, field in body.inputs.items()],
        "nodes": encode_nodes(body.nodes),
        "params": {name: encode_number(value) for name, value in reward.params.items()},
        "terms": [[term.name, term.terminal, body.scores[term.name]] for term in reward.terms],
        "guards": [[guard.node, guard.where] for guard in body.guards],
    }
    if reward._schedules:
        content["schedules"] = {name: [each.kind, each.counter] for name, each in reward._schedules.items()}
    if reward._composed:
        content["composition"] = {
            "scale": reward._composition.scale_param,
            "gate": None if reward.gate is None else body.scores[reward.gate.name],
            "override": [[each.name, body.scores[each.name]] for each in reward.override],
            "apart": [
                [term.name, term.gated, term.after_clamp] for term in reward.terms if not term.gated or term.after_clamp
            ],
        }
    if reward.states:
        content["states"] = [
            [name, state.field.kind, list(state.field.shape), list(state.reset), list(body.states[name])]
            for name, state in reward.states.items()
        ]
    return _hash_content(content)


def compute_states_fingerprint(reward: Definition) -> str:
    """Return the SHA-256 of what a reward carries and how: two that agree in it carry the same through an episode."""
    body = reward._formula
    guards = [guard for guard in body.guards if guard.where in reward.states]
    roots = [at for ats in body.states.values() for at in ats]
    nodes, moved = prune(body.nodes, [*roots, *(guard.node for guard in guards)])
    names = [node.name for node in nodes if isinstance(node, n.Param)]
    content: dict[str, Any] = {
        "nodes": encode_nodes(nodes),
        "params": {name: encode_number(reward.params[name]) for name in names if name not in reward._schedules},
        "states": [
            [name, field.kind, list(field.shape), field.low, field.high, list(state.reset), [moved[at] for at in ats]]
            for (name, state), ats in zip(reward.states.items(), body.states.values(), strict=True)
            for field in [state.field]
        ],
    }
    if followed := {name: reward._schedules[name].to_dict() for name in names if name in reward._schedules}:
        content["schedules"] = followed
    return _hash_content(content)


def compute_domain_fingerprint(reward: Definition) -> str:
    """Return the SHA-256 of ranges, units, stand-ins, the action, and what the task says."""
    domain = {name: field_to_dict(field) for name, field in reward.fields.items()}
    task = {} if reward.task.is_empty else {"task": reward.task.fingerprint}
    return _hash_content({"fields": domain, "action": reward.action, **task})


def _hash_content(content: object) -> str:
    return hashlib.sha256(format_canonical(content).encode()).hexdigest()
