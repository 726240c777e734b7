"""Specifications in format 1, which said in fields and in the reward what a task says now, as those of format 2."""

import math
from collections.abc import Mapping
from typing import Any

from plaudit.errors import SpecError
from plaudit.language import nodes as n
from plaudit.language.codec import decode_nodes, read_field
from plaudit.language.field import TERMINAL, Field, find_field_name
from plaudit.language.program import Guard, Program
from plaudit.language.shapes import nest_entries
from plaudit.language.writing.render import render_function
from plaudit.reward.declared import build_facts_program
from plaudit.reward.task import file as task_file

_MOVED = {"step": "max_change", "monotone": "monotone", "better": "better", "aim": "aim"}
_ROLES = {"state": "states", "action": "actions", "event": "events"}
_REQUIRED = {"fields", "facts", "discount", "prefer"}
_OF_REWARD = ("facts", "discount", "prefer", "goal", "goal_ends", "idle", "horizon")


def upgrade(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification of format 1 in format 2; what no longer belongs to fields and rewards is a task."""
    missing, unknown = _REQUIRED - data.keys(), data.keys() & {"task"}
    if missing or unknown:
        raise SpecError(f"this is not a reward of format 1: missing {sorted(missing)}, unknown {sorted(unknown)}")
    task: dict[str, Any] = {}
    fields = [_upgrade_field(entry, task) for entry in _list(data, "fields")]
    states = [{**entry, "field": _upgrade_field(entry["field"], {})} for entry in _list(data, "states")]
    declared = {each["name"]: read_field(each) for each in (*fields, *(state["field"] for state in states))}
    for key in ("discount", "horizon"):
        if data.get(key) is not None:
            task[key] = {"is": data[key]}
    for entry, text in _read_functions(data, "facts", declared):
        task.setdefault("facts", {})[entry] = {"when": text}
    for _, text in _read_functions(data, "goal", declared):
        task["goal"] = {"when": text, **({"ends": data["goal_ends"]} if "goal_ends" in data else {})}
    if data.get("idle") is not None:
        known = task.get("idle", {})
        plain = {} if known else {name: each.at_rest for name, each in declared.items() if not each.shape}
        row = _upgrade_row(data["idle"] or plain, declared)
        said = {find_field_name(name) for name in row}
        task["idle"] = {name: value for name, value in known.items() if name not in said}
        task["idle"] |= {name: {"is": value} for name, value in row.items()}
    if _list(data, "prefer"):
        task["prefer"] = [
            {**entry, **{side: [_upgrade_row(row, declared) for row in entry[side]] for side in ("better", "over")}}
            for entry in data["prefer"]
        ]
    kept = {key: value for key, value in data.items() if key not in _OF_REWARD}
    kept |= {"plaudit": 2, "fields": fields, **({"states": states} if "states" in data else {})}
    return {**kept, "task": {"task": task_file.FORMAT, "name": data["name"], **task}} if task else kept


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    found = data.get(key, [])
    if not isinstance(found, list) or not all(isinstance(entry, Mapping) for entry in found):
        raise SpecError(f"{key!r} must be a list of objects")
    return found


def _upgrade_field(entry: Mapping[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """Return a field without what a task says of it now, which goes there."""
    kept, name = dict(entry), entry["name"]
    for was, now in _MOVED.items():
        if (value := kept.pop(was, None)) is not None:
            task.setdefault(now, {})[name] = {"is": value}
    if (role := kept.pop("role", None)) is not None:
        task.setdefault(_ROLES[role], {})[name] = {}
    if (rate := kept.pop("rate", None)) is not None:
        task.setdefault("rates", {})[name] = {"rate": rate}
    if (rest := kept.pop("rest", None)) is not None:
        category = isinstance(rest, str) and rest in (kept.get("values") or ())
        value = task_file.write_entry(rest) if category else rest
        shape = read_field(kept).shape
        whole = nest_entries([value] * math.prod(shape), shape) if shape else value
        task.setdefault("idle", {})[name] = {"is": whole}
    return kept


def _upgrade_row(row: Mapping[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return a row in which a category that is called "inf" is told from the number."""
    categories = {name for name, field in fields.items() if field.kind == "category"}
    return {
        name: task_file.write_entry(value) if find_field_name(name) in categories else value
        for name, value in row.items()
    }


def _read_functions(data: Mapping[str, Any], key: str, fields: Mapping[str, Field]) -> list[tuple[str, str]]:
    """Return the names of facts, or of the goal, and the text of each."""
    part = data.get(key)
    if not part:
        return []
    nodes = decode_nodes(part["nodes"])
    docs = {str(entry["name"]): str(entry["doc"]) for entry in _list(part, "named")}
    flags = {str(entry["name"]): entry["flag"] for entry in part["named"]}
    inputs = {node.name: _find_field(node.name, fields) for node in nodes if isinstance(node, n.Input)}
    guards = [Guard(node, str(where), str(why)) for node, where, why, _ in part["guards"]]
    if not all(
        isinstance(at, int) and 0 <= at < len(nodes) for at in (*flags.values(), *(each.node for each in guards))
    ):
        raise SpecError(f"{key!r} has a flag that is not the position of a node")
    program: Program = build_facts_program(str(data["name"]), nodes, flags, guards, inputs)
    return [(name, render_function(program, name, docs[name])) for name in flags]


def _find_field(name: str, fields: Mapping[str, Field]) -> Field:
    field = TERMINAL if name == "terminal" else fields.get(find_field_name(name))
    if field is None:
        raise SpecError(f"a node reads {name!r}, which is not a declared field")
    return field
