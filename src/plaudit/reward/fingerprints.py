"""The fingerprints of a reward: the SHA-256 of its formula, of its domain, and of what it carries."""

import hashlib
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.codec import encode_nodes, encode_number, format_canonical
from plaudit.language.program import prune
from plaudit.reward.definition import Definition
from plaudit.reward.spec_writer import field_to_dict, preference_to_dict, write_intent
from plaudit.reward.term import Term


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
            "apart": [[term.name, term.gated, term.after_clamp] for term in reward.terms if _stands_apart(term)],
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
    """Return the SHA-256 of ranges, units, roles, stand-ins, the action, facts, and what is wanted of a step."""
    domain = {name: field_to_dict(field) for name, field in reward.fields.items()}
    content: dict[str, Any] = {"fields": domain, "action": reward.action}
    if reward.facts:
        facts = reward._facts_program
        guards = [[guard.node, guard.where] for guard in facts.value_guards]
        content["facts"] = {"nodes": encode_nodes(facts.nodes), "flags": list(facts.outputs.items()), "guards": guards}
    if reward.discount is not None:
        content["discount"] = reward.discount
    if reward.prefer:
        preferences = [preference_to_dict(preference) for preference in reward.prefer]
        content["prefer"] = [[each["better"], each["over"]] for each in preferences]
    intent = write_intent(reward)
    if reward.goal is not None:
        named = [each["flag"] for each in intent["goal"]["named"]]
        guards = [[guard.node, guard.where] for guard in reward._goal_program.value_guards]
        intent["goal"] = {"nodes": intent["goal"]["nodes"], "flags": named, "guards": guards}
    return _hash_content({**content, **intent})


def _stands_apart(term: Term) -> bool:
    """Return whether a term takes part in less of the composition than others."""
    return not term.gated or term.after_clamp


def _hash_content(content: object) -> str:
    return hashlib.sha256(format_canonical(content).encode()).hexdigest()
