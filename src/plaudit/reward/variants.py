"""Variants of a reward: which of its parts become others, and overrides of its numbers in code or in a TOML file."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from plaudit.errors import DefinitionError, FileError, UnknownParameter, did_you_mean
from plaudit.language.parameters import Parameter, collect_parameters, expand_parameters, fit_parameter
from plaudit.language.schedule import Schedule, change_number
from plaudit.reward.definition import Definition
from plaudit.reward.lower import Function, clip_field, clip_inputs
from plaudit.reward.state import State
from plaudit.reward.term import Term

Owner = TypeVar("Owner", Term, State)
Parts = dict[str, Any]
"""The parts of a reward that change, by name."""


def change_params(reward: Definition, values: Mapping[str, Any]) -> Parts:
    """Return the parts of a reward with other numbers, given by dotted name or as a mapping for each term."""
    changed = validate_overrides(reward, values)
    return {
        "shared": MappingProxyType({name: changed.get(name, value) for name, value in reward.shared.items()}),
        "low": changed.get("total.low", reward.low),
        "high": changed.get("total.high", reward.high),
        "states": MappingProxyType({each.name: each for each in _apply_overrides(reward.states.values(), changed)}),
        "terms": _apply_overrides(reward.terms, changed),
        "_composition": reward._composition.with_values(changed),
    }


def drop_unread_fields(reward: Definition) -> Parts:
    """Return the parts without fields that are declared and no longer of use, such as counters; none if all are."""
    read = {field.name for field in reward.program.inputs.values()} | reward._find_unread()
    read |= _list_mentioned([*reward._functions, *reward.states.values()])
    fields = {name: field for name, field in reward.fields.items() if name in read}
    if len(fields) == len(reward.fields):
        return {}
    return {"fields": fields, "action": reward.action if reward.action in fields else None}


def clip_ranges(reward: Definition) -> Parts:
    """Return the parts of a reward whose inputs are held within their ranges; states are not."""
    clipped = {name: clip_field(field) for name, field in reward.fields.items() if name not in reward.states}
    return {"fields": {**reward.fields, **clipped}, "_formula": clip_inputs(reward._formula)}


def select_terms(reward: Definition, terms: Sequence[str]) -> Parts:
    """Return the parts of the reward of some of its terms, with only what they and the goal need."""
    known = [term.name for term in reward.terms]
    for name in terms:
        if name not in known:
            raise UnknownParameter(f"reward {reward.name!r} has no term {name!r}.{did_you_mean(name, known)}")
    kept = tuple(term for term in reward.terms if term.name in terms)
    functions: tuple[Function, ...] = (*kept, *reward._composition.functions)
    body = reward._formula.only([function.name for function in functions])
    used = {field.name for field in body.inputs.values()} | _find_counters(reward, kept)
    states = {name: state for name, state in reward.states.items() if name in body.states}
    lasting = _find_lasting(reward, used | _list_mentioned([*functions, *states.values()]))
    fields = {name: field for name, field in reward.fields.items() if name in lasting}
    needed = reward._list_shared(functions, states.values())
    return {
        "terms": kept,
        "fields": fields,
        "states": MappingProxyType(states),
        "shared": MappingProxyType({name: value for name, value in reward.shared.items() if name in needed}),
        "constants": MappingProxyType({name: value for name, value in reward.constants.items() if name in needed}),
        "action": reward.action if reward.action in used else None,
        "_formula": body,
    }


def _list_mentioned(functions: Iterable[Function | State]) -> set[str]:
    """Return the names of fields without which functions cannot be read again, also where no score depends on them."""
    return {read.rpartition(".")[2] for each in functions for read in each.reads}


def _find_lasting(reward: Definition, used: set[str]) -> set[str]:
    """Return fields with those that checks need beside them: what the goal reads, and what is another's rate."""
    rates = {name: each.rate for name, each in reward.task.rates.items()}
    lasting = used | {field.name for field in reward._bound.goal_program.inputs.values()}
    lasting |= {name for name, rate in rates.items() if rate in lasting}
    return lasting | {rate for name, rate in rates.items() if name in lasting}


def _find_counters(reward: Definition, terms: Sequence[Term]) -> set[str]:
    others = {name for term in reward.terms if term not in terms for name in term.numbers}
    return {schedule.counter for name, schedule in reward._schedules.items() if name not in others}


def validate_overrides(reward: Definition, values: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return overrides by dotted name, vectors whole; a name the reward does not have is an error that suggests one."""
    flat: dict[str, Any] = {}
    known: dict[str, Parameter] = {**collect_parameters(reward.params), **reward._schedules}
    for name, value in values.items():
        if not isinstance(name, str):
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}: a name is a string")
        table = isinstance(value, Mapping) and name not in known
        flat |= {f"{name}.{key}": part for key, part in value.items()} if table else {name: value}
    found: dict[str, Parameter] = {}
    entries: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        schedule = next((each for each in reward._schedules if name.startswith(f"{each}.")), None)
        if schedule is not None:
            before = found.get(schedule, reward._schedules[schedule])
            if not isinstance(before, Schedule):
                raise DefinitionError(f"{schedule} is given as {before!r}, and {name} as well; give one of them")
            found[schedule] = change_number(schedule, before, name.removeprefix(f"{schedule}."), value)
        elif name in known:
            found[name] = fit_parameter(name, value, known[name])
        elif name in reward.params:
            entries.setdefault(name.partition("[")[0], {})[name] = fit_parameter(name, value, reward.params[name])
        else:
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}.{_suggest(reward, name)}")
    for whole, changed in entries.items():
        flat = expand_parameters({whole: found.get(whole, known[whole])})
        found |= collect_parameters({**flat, **changed})
    return found


def _suggest(reward: Definition, name: str) -> str:
    if name in reward.constants:
        return f" {name!r} is a constant of the reward; give it another value with evolve(shared={{{name!r}: ...}})."
    owner, _, part = name.partition(".")
    term = next((term for term in reward.terms if term.name == owner), None)
    if term is not None and part in term.constants:
        return (
            f" {part!r} is a constant of the term; change it with with_({part}=...) of the term; "
            "a vector of knobs is an array: np.array((0.1, 0.8))."
        )
    if owner == "total" and part == "scale":
        return " Declare scale= where the reward is defined; then it can be overridden."
    if part in ("low", "high") and (term is not None or owner == "total"):
        return f" Declare {part}= where the {'term' if term else 'reward'} is defined; then it can be overridden."
    return did_you_mean(name, reward.params) + f"\nIts parameters: {', '.join(collect_parameters(reward.params))}."


def _apply_overrides(owners: Iterable[Owner], changed: Mapping[str, Parameter]) -> tuple[Owner, ...]:
    found = []
    for owner in owners:
        own = {name.partition(".")[2]: v for name, v in changed.items() if name.partition(".")[0] == owner.name}
        found.append(owner.with_values(own) if own else owner)
    return tuple(found)


def load_overrides(path: str | Path) -> dict[str, Any]:
    """Return the overrides of a TOML file: a table for each term, shared knobs above them."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise DefinitionError(f"{path} is not a TOML file that can be read: it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path} is not a TOML file: {error}") from None
    except ValueError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error}") from None
