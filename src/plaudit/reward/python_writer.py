"""A reward as Python text: its definition, with functions imported from the modules that have them."""

from collections.abc import Iterator
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.language.field import Field
from plaudit.language.parameters import TERM_NUMBERS, validate_vector_parameter
from plaudit.language.reading.owners import MISSING
from plaudit.language.reading.source import Source
from plaudit.language.shapes import nest_entries
from plaudit.reward.definition import Definition
from plaudit.reward.function_parameters import is_same, list_defaults
from plaudit.reward.lower import Function
from plaudit.reward.python_names import Names
from plaudit.reward.spec_writer import compute_domain_fingerprint, compute_fingerprint
from plaudit.reward.state import State
from plaudit.reward.task.text import write_entries, write_field, write_imports, write_task, write_value
from plaudit.reward.term import Term, term

_OPTIONS = ("terminal", "gated", "after_clamp", "kind", "allow", "part", "batched")
_USUAL: dict[str, Any] = {
    "weight": 1.0,
    "low": None,
    "high": None,
    "terminal": False,
    "gated": True,
    "after_clamp": False,
}
_USUAL |= {"kind": None, "allow": {}, "part": None, "batched": False}
"""Arguments of `term` that are not written."""


def write_definition(reward: Definition) -> str:
    """Return a module of Python that makes a reward of its functions; DefinitionError where one cannot be imported."""
    if all(each.source is None for each in reward._functions):
        raise DefinitionError(
            f"reward {reward.name!r} was loaded from a specification and has no functions to import. reward.source() "
            "returns its formula as Python."
        )
    names = Names()
    definitions, task = ([], []) if reward.task.is_empty else write_task(reward.task)
    names.reserve("\n".join([*definitions, *task]))
    body = ["reward = Reward(", *(f"    {line}" for line in _write_arguments(reward, names)), ")"]
    if changed := _find_changed(reward):
        body[-1] = f").with_params({names.write('parameters', changed)})"
    if names.problems:
        listed = "".join(f"\n  {problem}" for problem in dict.fromkeys(names.problems))
        raise DefinitionError(
            f"reward {reward.name!r} cannot be written as Python:{listed}\n"
            "Define functions, classes and objects at the top of a module. reward.to_json() needs none of them."
        )
    _verify(reward, "\n".join(body), names)
    imports = [*write_imports("\n".join([*definitions, *task]), also=names.ours), *names.list_imports()]
    parts = ["\n".join(part) for part in (imports, *([each] for each in definitions), task, body) if part]
    spaced = "\n\n\n".join(parts[: 1 + len(definitions)])
    return "\n\n".join([spaced + ("\n" if definitions else ""), *parts[1 + len(definitions) :]]) + "\n"


def _write_arguments(reward: Definition, names: Names) -> Iterator[str]:
    """Yield the lines of the arguments of a reward."""
    yield f"{write_value(reward.name)},"
    yield f"version={write_value(reward.version)},"
    yield from write_entries("terms", [_write_term(each, names) for each in reward.terms])
    declared = reward.fields.declared.values()
    yield from write_entries(
        "fields", [_write_state(each, names) if isinstance(each, State) else write_field(each) for each in declared]
    )
    if not reward.task.is_empty:
        yield "task=task,"
    for part in ("doc", "action"):
        if value := getattr(reward, part):
            yield f"{part}={write_value(value)},"
    shared = {**reward.shared, **reward.constants}
    if shared:
        entries = [f"{write_value(key)}: {names.write(f'shared {key!r}', value)}" for key, value in shared.items()]
        yield from write_entries("shared", entries)
    for part in ("low", "high", "scale"):
        if (number := getattr(reward, part)) is not None:
            yield f"{part}={names.write(part, number)},"
    if reward.gate is not None:
        yield f"gate={names.refer('the gate', reward.gate.source)},"
    if reward.override:
        pairs = [
            f"({names.refer(f'override {each.name!r}', each.condition.source)}, {names.write(each.param, each.value)})"
            for each in reward.override
        ]
        yield from write_entries("override", pairs)
    if reward.allow:
        yield f"allow={write_value(reward.allow)},"


def _write_term(each: Term, names: Names) -> str:
    """Return a term: the one that a module has, that with other values, or one that is made of the function."""
    what = f"term {each.name!r}"
    name = names.refer(what, each.source)
    if each.source is None:
        return name
    params = _find_params(each)
    known = names.resolve(name)
    if isinstance(known, Term) and all(getattr(known, part) == getattr(each, part) for part in _OPTIONS):
        before = _find_params(known)
        changed = {part: getattr(each, part) for part in TERM_NUMBERS if getattr(known, part) != getattr(each, part)}
        changed |= {key: value for key, value in params.items() if not is_same(before.get(key, MISSING), value)}
        if before.keys() <= params.keys() and "name" not in params:
            changed = {"name": each.name, **changed} if each.name != known.name else changed
            written = ", ".join(f"{key}={names.write(what, value)}" for key, value in changed.items())
            return f"{name}.with_({written})" if changed else name
    named = each.part if isinstance(each.part, str) else each.source.name
    options: dict[str, Any] = {"name": each.name} if each.name != named else {}
    options |= {part: getattr(each, part) for part, usual in _USUAL.items() if getattr(each, part) != usual}
    options |= {"params": params} if params else {}
    names.ours.add("term")
    names.values["term"] = term
    written = ", ".join(f"{key}={names.write(what, value)}" for key, value in options.items())
    return f"term({written})({name})" if written else f"term({name})"


def _find_params(each: Term) -> dict[str, Any]:
    """Return the values of parameters that are not the defaults of the function of a term."""
    assert each.source is not None
    params = {name: each.constants.get(name, value) for name, value in each.given.items()}
    for knob, value in each.knobs.items():
        name = each._find_parameter(knob)
        if name in params or _is_changed(each.source, name, value):
            params[name] = _to_array(value)
    return params


def _is_changed(source: Source, name: str, value: Any) -> bool:
    return bool(validate_vector_parameter(name, list_defaults(source)[name]) != value)


def _to_array(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    import numpy as np

    return np.array(value)


def _write_state(state: State, names: Names) -> str:
    names.ours.add("State")
    names.values["State"] = State
    field = state.field
    parts = [write_value(state.name), f"update={names.refer(f'state {state.name!r}', state.source)}"]
    reset = nest_entries(list(state.reset), field.shape, list) if field.shape else state.reset[0]
    parts.append(f"reset={write_value(reset)}")
    doc = "" if state.source is None else (state.source.function.__doc__ or "").strip()
    usual = {"shape": (), "low": None, "high": None, "flag": False, "unit": "", "doc": doc}
    own = {part: getattr(field, part) for part in usual}
    parts += [f"{part}={write_value(value)}" for part, value in own.items() if value != usual[part]]
    return f"State({', '.join(parts)})"


def _find_changed(reward: Definition) -> dict[str, Any]:
    """Return the numbers of states, the gate and conditions that are not the defaults of their functions."""
    owners: list[Function | State] = [*reward.states.values(), *reward._composition.functions]
    return {
        f"{each.name}.{knob}": value
        for each in owners
        if each.source is not None
        for knob, value in each.knobs.items()
        if _is_changed(each.source, knob, value)
    }


def _verify(reward: Definition, text: str, names: Names) -> None:
    """Raise DefinitionError unless a text makes the same formula."""
    import numpy as np

    what = f"reward {reward.name!r} cannot be written as Python"
    known: dict[str, Any] = {"Reward": type(reward), "Field": Field, "np": np, "task": reward.task, **names.values}
    try:
        exec(text, known)
    except Exception as error:
        raise DefinitionError(f"{what}: the text makes no reward: {error}") from error
    made = known["reward"]
    if any(compute(made) != compute(reward) for compute in (compute_fingerprint, compute_domain_fingerprint)):
        raise DefinitionError(
            f"{what}: read again, its functions make another formula. A value outside of them has changed since it was "
            "defined, or an object that they are given has methods. reward.to_json() has the formula as it is."
        )
