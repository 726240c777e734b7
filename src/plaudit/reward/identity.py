"""What makes two rewards the same: a fingerprint of the formula, and one of the declared domain."""

import hashlib
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

from plaudit.language.codec import canonical, encode, number_out
from plaudit.language.field import Field
from plaudit.reward.prefer import Preference

if TYPE_CHECKING:
    from plaudit.reward.reward import Reward


def fingerprint(reward: "Reward") -> str:
    """Return the SHA-256 of inputs, kinds, categories, nodes, parameters, term names and order."""
    body = reward._formula
    content = {
        "inputs": [[name, field.kind, list(field.labels)] for name, field in body.inputs.items()],
        "nodes": encode(body.nodes),
        "params": {name: number_out(value) for name, value in reward.params.items()},
        "terms": [[term.name, term.terminal, body.scores[term.name]] for term in reward.terms],
        "guards": [[guard.node, guard.where] for guard in body.guards],
    }
    return _digest(content)


def domain_fingerprint(reward: "Reward") -> str:
    """Return the SHA-256 of ranges, units, roles, stand-ins, the action, facts, the discount and preferences."""
    domain = {name: field_to_dict(field) for name, field in reward.fields.items()}
    content: dict[str, Any] = {"fields": domain, "action": reward.action}
    if reward.facts:
        facts = reward.facts_program
        guards = [[guard.node, guard.where] for guard in facts.domain]
        content["facts"] = {"nodes": encode(facts.nodes), "flags": list(facts.outputs.items()), "guards": guards}
    if reward.discount is not None:
        content["discount"] = reward.discount
    if reward.prefer:
        preferences = [preference_to_dict(preference) for preference in reward.prefer]
        content["prefer"] = [[each["better"], each["over"]] for each in preferences]
    return _digest(content)


def preference_to_dict(preference: Preference) -> dict[str, Any]:
    """Return a preference for JSON."""
    sides = {"better": preference.better, "over": preference.over}
    rows = {side: [{k: number_out(v) for k, v in row.items()} for row in steps] for side, steps in sides.items()}
    return {**rows, "because": preference.because}


def field_to_dict(field: Field) -> dict[str, Any]:
    """Return what a field declares, defaults left out."""
    data: dict[str, Any] = {}
    for part in dataclass_fields(field):
        value = getattr(field, part.name)
        if part.name == "name" or value != part.default:
            data[part.name] = list(value) if isinstance(value, tuple) else number_out(value)
    return data


def _digest(content: object) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
