"""A reward as data, enough to rebuild and run it with none of its Python source; and the fingerprints of that data.

No code is run when a reward is read back: whatever is wrong with a specification is a SpecError.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from types import MappingProxyType
from typing import Any

from plaudit.errors import PlauditError, SpecError
from plaudit.language import nodes as n
from plaudit.language.codec import (
    decode_nodes,
    decode_number,
    encode_nodes,
    encode_number,
    format_canonical,
    parse_json,
)
from plaudit.language.field import NAME, RECORDS, TERMINAL, Field, validate_number
from plaudit.language.kinds import FLAG, NUMBER, infer_kinds
from plaudit.language.parameters import Number, Parameter, expand_parameters, validate_vector_parameter
from plaudit.language.program import Guard, Program, find_reachable, prune
from plaudit.language.schedule import Schedule, parse_schedule
from plaudit.language.shapes import index_entries, nest_entries
from plaudit.reward.composition import GATE, OVERRIDE, SCALE, Composition, Override, TotalFunction
from plaudit.reward.declared import Fact, build_facts_program, validate_allow
from plaudit.reward.intent import (
    Preference,
    Row,
    fit_idle,
    fit_preference,
    list_known_inputs,
    prefer,
    validate_discount,
    validate_goal_ends,
    validate_horizon,
)
from plaudit.reward.lower import Formula, find_final_inputs, tidy
from plaudit.reward.reward import Reward
from plaudit.reward.schedules import find_schedules
from plaudit.reward.state import State, refuse_unread
from plaudit.reward.term import PARAMETERS, Term
from plaudit.reward.validation import validate_title

FORMAT = 1
MOST_ENTRIES = 1_000
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
_OWN_KEYS = {"scale", "gate", "override", "states", "goal", "goal_ends", "idle", "horizon"}
"""Keys that only a reward has that uses them."""
_TERM_PARTS = ("name", "weight", "low", "high", "terminal", "kind", "doc", "knobs", "shared", "reads", "allow")
_COMPOSED_PARTS = {"gated": True, "after_clamp": False}
"""Parts of a term that are written only where they are not this."""
_TERM_KINDS = {"name": str, "terminal": bool, "doc": str, "shared": list, "reads": list}
_FUNCTION_PARTS = ("name", "doc", "knobs", "shared", "reads", "result")


def to_dict(reward: Reward) -> dict[str, Any]:
    """Return the reward as plain data."""
    body = reward._formula
    states = {"states": [_write_state(state, body) for state in reward.states.values()]} if reward.states else {}
    return {
        "plaudit": FORMAT,
        "name": reward.name,
        "version": reward.version,
        "doc": reward.doc,
        "action": reward.action,
        "fields": [field_to_dict(field) for name, field in reward.fields.items() if name not in reward.states],
        **states,
        "terms": [_write_term(term) for term in reward.terms],
        "params": _write_values(reward.shared),
        "low": _write_value(reward.low),
        "high": _write_value(reward.high),
        "nodes": encode_nodes(body.nodes),
        "scores": {term.name: body.scores[term.name] for term in reward.terms},
        "guards": _write_guards(body.guards),
        "facts": _write_facts(reward.facts, reward.facts_program),
        "discount": reward.discount,
        "prefer": [preference_to_dict(preference) for preference in reward.prefer],
        "allow": dict(reward.allow),
        **_write_composition(reward),
        **_write_intent(reward),
    }


def to_json(reward: Reward) -> str:
    """Return the reward as canonical JSON."""
    return format_canonical(to_dict(reward))


def from_json(text: str) -> Reward:
    """Return the reward that `to_json` wrote."""
    return from_dict(parse_json(text))


def from_dict(data: object) -> Reward:
    """Return the reward that `to_dict` wrote; no code is run, and SpecError says what is wrong."""
    if not isinstance(data, Mapping) or "plaudit" not in data:
        raise SpecError("this is not a reward: the key 'plaudit' is missing")
    if data["plaudit"] != FORMAT:
        raise SpecError(f"this reward has format {data['plaudit']!r}; this version of plaudit reads format {FORMAT}")
    if not _KEYS <= data.keys() <= _KEYS | _OWN_KEYS:
        unknown = sorted(map(str, data.keys() - _KEYS - _OWN_KEYS))[:5]
        raise SpecError(f"this is not a reward: missing {sorted(_KEYS - data.keys())}, unknown {unknown}")
    try:
        return _build_reward(data)
    except SpecError:
        raise
    except (PlauditError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise SpecError(f"this reward cannot be loaded: {error}") from None


def compute_fingerprint(reward: Reward) -> str:
    """Return the SHA-256 of inputs, kinds, categories, nodes, parameters, term names and order."""
    body = reward._formula
    content: dict[str, Any] = {
        "inputs": [[name, field.kind, list(field.labels)] for name, field in body.inputs.items()],
        "nodes": encode_nodes(body.nodes),
        "params": {name: encode_number(value) for name, value in reward.params.items()},
        "terms": [[term.name, term.terminal, body.scores[term.name]] for term in reward.terms],
        "guards": [[guard.node, guard.where] for guard in body.guards],
    }
    if reward.schedules:
        content["schedules"] = {name: [each.kind, each.counter] for name, each in reward.schedules.items()}
    if reward.composed:
        content["composition"] = {
            "scale": reward.composition.scale_param,
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


def compute_states_fingerprint(reward: Reward) -> str:
    """Return the SHA-256 of what a reward carries and how: two that agree in it carry the same through an episode."""
    body = reward._formula
    guards = [guard for guard in body.guards if guard.where in reward.states]
    roots = [at for ats in body.states.values() for at in ats]
    nodes, moved = prune(body.nodes, [*roots, *(guard.node for guard in guards)])
    names = [node.name for node in nodes if isinstance(node, n.Param)]
    content: dict[str, Any] = {
        "nodes": encode_nodes(nodes),
        "params": {name: encode_number(reward.params[name]) for name in names if name not in reward.schedules},
        "states": [
            [name, field.kind, list(field.shape), field.low, field.high, list(state.reset), [moved[at] for at in ats]]
            for (name, state), ats in zip(reward.states.items(), body.states.values(), strict=True)
            for field in [state.field]
        ],
    }
    if followed := {name: reward.schedules[name].to_dict() for name in names if name in reward.schedules}:
        content["schedules"] = followed
    return _hash_content(content)


def _stands_apart(term: Term) -> bool:
    """Return whether a term takes part in less of the composition than others."""
    return not term.gated or term.after_clamp


def compute_domain_fingerprint(reward: Reward) -> str:
    """Return the SHA-256 of ranges, units, roles, stand-ins, the action, facts, and what is wanted of a step."""
    domain = {name: field_to_dict(field) for name, field in reward.fields.items()}
    content: dict[str, Any] = {"fields": domain, "action": reward.action}
    if reward.facts:
        facts = reward.facts_program
        guards = [[guard.node, guard.where] for guard in facts.value_guards]
        content["facts"] = {"nodes": encode_nodes(facts.nodes), "flags": list(facts.outputs.items()), "guards": guards}
    if reward.discount is not None:
        content["discount"] = reward.discount
    if reward.prefer:
        preferences = [preference_to_dict(preference) for preference in reward.prefer]
        content["prefer"] = [[each["better"], each["over"]] for each in preferences]
    intent = _write_intent(reward)
    if reward.goal is not None:
        named = [each["flag"] for each in intent["goal"]["named"]]
        guards = [[guard.node, guard.where] for guard in reward.goal_program.value_guards]
        intent["goal"] = {"nodes": intent["goal"]["nodes"], "flags": named, "guards": guards}
    return _hash_content({**content, **intent})


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


def preference_to_dict(preference: Preference) -> dict[str, Any]:
    """Return a preference for JSON."""
    sides = {"better": preference.better, "over": preference.over}
    rows = {side: [row_to_dict(row) for row in steps] for side, steps in sides.items()}
    return {**rows, "because": preference.because}


def _hash_content(content: object) -> str:
    return hashlib.sha256(format_canonical(content).encode()).hexdigest()


def _write_term(term: Term) -> dict[str, Any]:
    data = {part: _write_value(getattr(term, part)) for part in _TERM_PARTS}
    data |= {part: getattr(term, part) for part, usual in _COMPOSED_PARTS.items() if getattr(term, part) != usual}
    maps = {"knobs": _write_values(term.knobs), "allow": dict(term.allow)}
    return {**data, **maps, "shared": list(term.shared), "reads": list(term.reads)}


def _write_state(state: State, body: Formula) -> dict[str, Any]:
    return {
        "field": field_to_dict(state.field),
        "reset": list(state.reset),
        "knobs": _write_values(state.knobs),
        "shared": list(state.shared),
        "reads": list(state.reads),
        "entries": list(body.states[state.name]),
    }


def _write_values(values: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return parameters for JSON, vectors as lists and schedules as objects."""

    def write(value: Any) -> Any:
        return [write(entry) for entry in value] if isinstance(value, tuple) else _write_value(value)

    return {name: write(value) for name, value in values.items()}


def _write_value(value: Any) -> Any:
    """Return a number for JSON; a schedule as an object."""
    return value.to_dict() if isinstance(value, Schedule) else value


def _write_composition(reward: Reward) -> dict[str, Any]:
    """Return what stands above the terms, as far as the reward uses it."""
    scores, data = reward._formula.scores, dict[str, Any]()
    if reward.scale is not None:
        data["scale"] = _write_value(reward.scale)
    if reward.gate is not None:
        data["gate"] = _write_function(reward.gate, scores)
    if reward.override:
        data["override"] = [
            {**_write_function(each.condition, scores), "value": _write_value(each.value)} for each in reward.override
        ]
    return data


def _write_function(function: TotalFunction, scores: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": function.name,
        "doc": function.doc,
        "knobs": _write_values(function.knobs),
        "shared": list(function.shared),
        "reads": list(function.reads),
        "result": scores[function.name],
    }


def _write_intent(reward: Reward) -> dict[str, Any]:
    """Return the goal, the idle row and the horizon, as far as the reward has them."""
    data: dict[str, Any] = {}
    if reward.goal is not None:
        data["goal"] = _write_facts((reward.goal,), reward.goal_program)
        data |= {} if reward.goal_ends else {"goal_ends": False}
    if reward.idle is not None:
        data["idle"] = row_to_dict(reward.idle)
    if reward.horizon is not None:
        data["horizon"] = reward.horizon
    return data


def row_to_dict(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    return {name: encode_number(value) for name, value in row.items()}


def _write_facts(facts: Iterable[Fact], program: Program) -> dict[str, Any]:
    return {
        "named": [
            {"name": fact.name, "doc": fact.doc, "reads": list(fact.reads), "flag": program.outputs[fact.name]}
            for fact in facts
        ],
        "nodes": encode_nodes(program.nodes),
        "guards": _write_guards(program.value_guards),
    }


def _write_guards(guards: Iterable[Guard]) -> list[list[Any]]:
    return [[guard.node, guard.where, guard.why, guard.line] for guard in guards]


def _build_reward(data: Mapping[str, Any]) -> Reward:
    listed = [_read_field(entry) for entry in _read_list(data, "fields")]
    states = {state.name: state for state in map(_read_state, _read_list(data, "states"))} if "states" in data else {}
    listed += [state.field for state in states.values()]
    fields = {field.name: field for field in listed}
    if "states" in data and len(data["states"]) != len(states):
        raise SpecError("a state is declared twice")
    if len(fields) != len(listed) or "terminal" in fields:
        raise SpecError("a field is declared twice, or called 'terminal'")
    terms = tuple(_read_term(entry) for entry in _read_list(data, "terms"))
    shared = {str(name): _read_parameter(str(name), value) for name, value in data["params"].items()}
    if not isinstance(data["doc"], str) or not isinstance(data["action"], str | None):
        raise SpecError("'doc' and 'action' must be strings")
    for key in ("name", "version"):
        validate_title(key, data[key])
    low, high = (None if data[key] is None else _read_number(f"total.{key}", data[key]) for key in ("low", "high"))
    composition, results = _read_composition(data)
    body = _read_formula(data, fields, terms, shared, states, composition, results)
    facts, program = _read_facts(data, "facts", fields, body)
    goals, goal_program = _read_facts(data, "goal", fields, body)
    known = list_known_inputs(fields, body.inputs, program.inputs, goal_program.inputs)
    preferences = [_read_preference(entry, known) for entry in _read_list(data, "prefer")]
    parts = {"name": data["name"], "version": data["version"], "doc": data["doc"], "action": data["action"]}
    made = Reward._build(
        **parts,
        terms=terms,
        fields=MappingProxyType(fields),
        states=MappingProxyType(states),
        shared=MappingProxyType(shared),
        low=low,
        high=high,
        composition=composition,
        facts=facts,
        discount=validate_discount(data["name"], data["discount"]),
        horizon=validate_horizon(data["name"], data.get("horizon")),
        prefer=tuple(fit_preference(each, data["name"], known) for each in preferences),
        goal=goals[0] if goals else None,
        goal_ends=validate_goal_ends(data["name"], data.get("goal_ends", True)),
        goal_program=goal_program,
        idle=fit_idle(_read_row(data["idle"], "the idle row", known), data["name"], known) if "idle" in data else None,
        allow=validate_allow(f"reward {data['name']!r}", data["allow"]),
        facts_program=program,
        _formula=body,
    )
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
            raise SpecError(f"a node reads {name!r}: what a state is after a step is computed")
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
            raise SpecError(f"the terminal term {term.name!r} does not ask whether the episode ends")
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
    """Return a reward if it has a use for each of its fields."""
    read = {field.name for field in reward._formula.inputs.values()} | reward._find_unread()
    for name in reward.fields:
        if name not in read:
            raise SpecError(f"no term reads the field {name!r}")
    return reward


def _read_facts(
    data: Mapping[str, Any], key: str, fields: Mapping[str, Field], body: Formula
) -> tuple[tuple[Fact, ...], Program]:
    """Return facts, or the goal, and their Program; its inputs go by the names that they have for terms."""
    part = data.get(key, {"named": [], "nodes": [], "guards": []}) if key == "goal" else data[key]
    if not isinstance(part, Mapping) or part.keys() != {"named", "nodes", "guards"}:
        raise SpecError(f"{key!r} must have these parts and no others: named, nodes, guards")
    listed = [_read_fact(entry) for entry in _read_list(part, "named")]
    if key in data and key == "goal" and len(listed) != 1:
        raise SpecError("'goal' must be one function")
    nodes = decode_nodes(part["nodes"])
    inputs = {node.name: _find_field(node.name, fields) for node in nodes if isinstance(node, n.Input)}
    found = infer_kinds(nodes, inputs, {})
    flags = {fact.name: _read_position(flag, found, FLAG) for fact, flag in listed}
    program = build_facts_program(data["name"], nodes, flags, _read_guards(part, flags, found), inputs)
    _validate_nodes(program.nodes, program.outputs.values(), program.value_guards, program.inputs)
    ends = {field.name for name, field in body.inputs.items() if "." in name}
    for name, field in program.inputs.items():
        if field.name in body.states and not name.startswith("prev."):
            raise SpecError(f"a fact reads {name!r}: what a state is after a step is computed")
        either = name == "terminal" or name.startswith("prev.")
        if not either and (field.name in ends) != name.startswith("curr."):
            raise SpecError(f"a fact reads {name!r}, which terms call by another name")
    return tuple(fact for fact, _ in listed), program


def _read_list(data: Mapping[str, Any], key: str) -> list[Any]:
    """Return a part that is a list."""
    found = data[key]
    if not isinstance(found, list) or (key != "guards" and len(found) > MOST_ENTRIES):
        raise SpecError(f"{key!r} must be a list of at most {MOST_ENTRIES:,} entries")
    return found


def _read_position(position: object, found: tuple[str, ...], kind: str) -> int:
    """Return the position of a node of `kind`."""
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(found):
        raise SpecError(f"{position!r} is not the position of a node")
    if found[position] != kind:
        raise SpecError(f"node {position} is a {found[position]} where a {kind} is needed")
    return position


def _find_field(name: str, fields: Mapping[str, Field]) -> Field:
    """Return the field that an input is a value of."""
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


def _read_field(entry: object) -> Field:
    """Return a field that `field_to_dict` wrote."""
    if not isinstance(entry, Mapping):
        raise SpecError("a field must be an object")
    parts: dict[str, Any] = {
        str(key): tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    if not any(isinstance(value, str) for value in parts.get("values") or ()):
        parts |= {
            key: decode_number(parts[key], key) for key in ("missing", "rest") if parts.get(key) in ("inf", "-inf")
        }
    return Field(**parts)


def _read_state(entry: object) -> State:
    """Return a state without its function."""
    parts = {"field", "reset", "knobs", "shared", "reads", "entries"}
    if not isinstance(entry, Mapping) or entry.keys() != parts:
        raise SpecError(f"a state must have these parts and no others: {', '.join(sorted(parts))}")
    lists = (entry["reset"], entry["shared"], entry["reads"], entry["entries"])
    if not isinstance(entry["knobs"], Mapping) or not all(isinstance(part, list) for part in lists):
        raise SpecError("a state's knobs must be an object, and its reset, shared, reads and entries lists")
    field = _read_field(entry["field"])
    if len(entry["reset"]) != (len(field.entries) or 1):
        raise SpecError(f"the state {field.name!r} has another number of entries than its reset")
    reset = nest_entries(entry["reset"], field.shape) if field.shape else entry["reset"][0]
    knobs = {str(knob): _read_parameter(str(knob), value) for knob, value in entry["knobs"].items()}
    return State.load(field, reset, knobs, tuple(map(str, entry["shared"])), tuple(map(str, entry["reads"])))


def _pair_states(data: Mapping[str, Any], states: Mapping[str, State]) -> Iterable[tuple[Mapping[str, Any], State]]:
    return zip(data.get("states", ()), states.values(), strict=True)


def _read_entries(entry: Mapping[str, Any], state: State, found: tuple[str, ...]) -> tuple[int, ...]:
    """Return where the entries of a state after a step are computed."""
    if len(entry["entries"]) != len(state.reset):
        raise SpecError(f"the state {state.name!r} has another number of entries than its update")
    kind = FLAG if state.field.flag else NUMBER
    return tuple(_read_position(at, found, kind) for at in entry["entries"])


def _read_term(entry: object) -> Term:
    """Return a term without its function."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("knobs", {}), Mapping):
        raise SpecError("a term must be an object")
    knobs = {str(knob): _read_parameter(str(knob), value) for knob, value in entry.get("knobs", {}).items()}
    unknown = entry.keys() - set(_TERM_PARTS) - _COMPOSED_PARTS.keys()
    wrong = [part for part, kind in _TERM_KINDS.items() if part in entry and not isinstance(entry[part], kind)]
    if unknown or wrong or "name" not in entry:
        raise SpecError(f"a term must have a name and only these parts: {', '.join(_TERM_PARTS)}")
    parts: dict[str, Any] = {
        str(key): tuple(map(str, value)) if isinstance(value, list) else value for key, value in entry.items()
    }
    numbers = {part: _read_number(part, parts[part]) for part in PARAMETERS if isinstance(parts.get(part), Mapping)}
    return Term(**{**parts, **numbers, "knobs": MappingProxyType(knobs)})


def _read_parameter(name: str, value: Any) -> Parameter:
    """Return a parameter; an object is a schedule."""
    return parse_schedule(name, value) if isinstance(value, Mapping) else validate_vector_parameter(name, value)


def _read_number(name: str, value: Any) -> Number:
    """Return a number; an object is a schedule."""
    return parse_schedule(name, value) if isinstance(value, Mapping) else validate_number(name, value)


def _read_composition(data: Mapping[str, Any]) -> tuple[Composition, dict[str, object]]:
    """Return what stands above the terms, and where the result of each function is said to be."""
    results: dict[str, object] = {}
    scale = data.get("scale")
    if "scale" in data and not isinstance(scale, str):
        scale = _read_number(SCALE, scale)
    gate = None
    if "gate" in data:
        gate = _read_function(data["gate"], _FUNCTION_PARTS, results, condition=False)
        if gate.name != GATE:
            raise SpecError(f"the gate is called {gate.name!r:.60}, and not {GATE!r}")
    overrides = []
    for entry in _read_list(data, "override") if "override" in data else ():
        condition = _read_function(entry, (*_FUNCTION_PARTS, "value"), results, condition=True)
        overrides.append(Override(condition, _read_number(f"{OVERRIDE}.{condition.name}", entry["value"])))
    return Composition(scale, gate, tuple(overrides)), results


def _read_function(entry: Any, parts: Sequence[str], results: dict[str, object], *, condition: bool) -> TotalFunction:
    """Return a gate or a condition without its function."""
    kinds = {"name": str, "doc": str, "shared": list, "reads": list, "knobs": Mapping}
    if not isinstance(entry, Mapping) or entry.keys() != {*parts}:
        raise SpecError(f"a gate or override must have these parts and no others: {', '.join(parts)}")
    if not all(isinstance(entry[part], kind) for part, kind in kinds.items()):
        raise SpecError("of a gate or override, name and doc are strings, shared and reads lists, and knobs an object")
    if entry["name"] in results:
        raise SpecError(f"{entry['name']!r:.60} is there twice")
    results[entry["name"]] = entry["result"]
    knobs = {str(knob): _read_parameter(str(knob), value) for knob, value in entry["knobs"].items()}
    for knob in knobs:
        if not NAME.fullmatch(knob):
            raise SpecError(f"a knob of {entry['name']!r:.60} is called {knob!r:.60}")
    return TotalFunction(
        entry["name"],
        condition,
        entry["doc"],
        MappingProxyType(knobs),
        tuple(map(str, entry["shared"])),
        tuple(map(str, entry["reads"])),
    )


def _read_fact(entry: object) -> tuple[Fact, object]:
    """Return a fact without its function, and where its flag is said to be."""
    kinds = {"name": str, "doc": str, "reads": list}
    if not isinstance(entry, Mapping) or entry.keys() != {*kinds, "flag"}:
        raise SpecError(f"a fact must have these parts and no others: {', '.join([*kinds, 'flag'])}")
    if not all(isinstance(entry[part], kind) for part, kind in kinds.items()):
        raise SpecError("a fact's name and doc must be strings, and what it reads a list")
    return Fact(entry["name"], entry["doc"], tuple(map(str, entry["reads"]))), entry["flag"]


def _read_preference(entry: object, inputs: Mapping[str, Field]) -> Preference:
    """Return a preference, whose names and values are still to be checked."""
    if not isinstance(entry, Mapping) or entry.keys() != {"better", "over", "because"}:
        raise SpecError("a preference must have these parts and no others: better, over, because")
    better, over = (
        [_read_row(row, "a preference", inputs) for row in _read_list(entry, side)] for side in ("better", "over")
    )
    return prefer(better, over=over, because=entry["because"])


def _read_row(row: object, what: str, inputs: Mapping[str, Field]) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise SpecError(f"a step of {what} must be an object")
    categories = {name for name, field in inputs.items() if field.kind == "category"}
    for name in row.keys() - inputs.keys():
        raise SpecError(f"{what} names {name!r:.60}, which is not an input")
    return {
        name: value if name in categories else decode_number(value, f"{what}'s {name!r}") for name, value in row.items()
    }


def _read_guards(data: Mapping[str, Any], owners: Iterable[str], found: tuple[str, ...]) -> list[Guard]:
    """Return the guards of terms or facts that are called `owners`."""
    names = set(owners)
    guards = []
    for entry in _read_list(data, "guards"):
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
