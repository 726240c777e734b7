"""The next version of a reward: its arguments with some of them changed, and what becomes of the others."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypedDict

from plaudit.errors import DefinitionError, UnknownParameter, did_you_mean
from plaudit.language.field import Field
from plaudit.language.parameters import Number, Parameter
from plaudit.reward.composition import Override
from plaudit.reward.declared import Fact, keep_facts, read_facts
from plaudit.reward.definition import Definition, FieldIndex
from plaudit.reward.intent import Preference, read_goal
from plaudit.reward.lower import Formula, build_formula
from plaudit.reward.state import State
from plaudit.reward.term import Term
from plaudit.reward.validation import index_fields

Arguments = dict[str, Any]
"""What `Reward` is called with, by the names of its parameters."""


class Changes(TypedDict, total=False):
    """What the next version of a reward may have otherwise: every argument of `Reward` but its version."""

    name: str
    terms: Iterable[Term] | Mapping[str, Term | None]
    fields: Iterable[Field | State] | Mapping[str, Field | State]
    action: str | None
    shared: Mapping[str, Parameter] | None
    low: Number | None
    high: Number | None
    scale: Number | str | None
    gate: Callable[..., Any] | None
    override: Iterable[tuple[Callable[..., Any], Number] | Override]
    facts: Iterable[Fact]
    discount: float | None
    horizon: int | None
    prefer: Iterable[Preference]
    goal: Callable[..., Any] | None
    goal_ends: bool
    idle: Mapping[str, Any] | None
    allow: Mapping[str, str] | None
    doc: str


def merge_changes(reward: Definition, version: str, changes: Mapping[str, Any]) -> Arguments:
    """Return the arguments of the next version of a reward; what is not changed is as it was.

    Raises:
        TypeError: `Reward` takes no such argument.
        DefinitionError: The version is the one that the reward has.
    """
    known = Changes.__annotations__
    for keyword in changes:
        if keyword not in known:
            raise TypeError(f"evolve() got an unexpected keyword argument {keyword!r}.{did_you_mean(keyword, known)}")
    if version == reward.version and changes.get("name", reward.name) == reward.name:
        raise DefinitionError(
            f"reward {reward.name!r} is version {version!r} already; the next version needs another label"
        )
    arguments = {argument: getattr(reward, argument) for argument in known} | dict(changes) | {"version": version}
    if isinstance(given := changes.get("terms"), Mapping):
        arguments["terms"] = _replace_terms(reward, given)
    if "fields" in changes:
        arguments["fields"] = _merge_fields(reward, changes["fields"])
    return arguments


def _replace_terms(reward: Definition, changes: Mapping[str, Any]) -> list[Any]:
    """Return the terms with some of them replaced, removed or added, by name."""
    known = [term.name for term in reward.terms]
    for name, new in changes.items():
        if name not in known and getattr(new, "name", None) != name:
            raise UnknownParameter(
                f"reward {reward.name!r} has no term {name!r} to replace or remove.{did_you_mean(name, known)}"
            )
    added = [new for name, new in changes.items() if name not in known]
    kept = [changes.get(term.name, term) for term in reward.terms]
    return [term for term in (*kept, *added) if term is not None]


def _merge_fields(reward: Definition, given: Any) -> FieldIndex:
    """Return the fields that are given, or where they are given by name, those of the reward with these changes."""
    listed = index_fields(reward.name, given).declared
    named = {name: _find_state(reward, each) for name, each in listed.items()}
    return FieldIndex({**reward.fields.declared, **named} if isinstance(given, Mapping) else named)


def _find_state(reward: Definition, declared: Field | State) -> Field | State:
    """Return the state that a field of `reward.fields` is, where it is one."""
    state = reward.states.get(declared.name)
    return state if state is not None and declared == state.field else declared


def find_inherited(reward: Definition, arguments: Arguments, changes: Mapping[str, Any]) -> set[str]:
    """Return the fields and states that the next version has only from the reward, so that it need not read them."""
    old, new = reward.fields.declared, arguments["fields"].declared
    return {name for name, each in new.items() if old.get(name) == each} - {changes.get("action")}


def drop_states(arguments: Arguments, states: Iterable[str]) -> Arguments:
    """Return the arguments without states that nothing reads any more."""
    dropped = set(states)
    fields = {name: each for name, each in arguments["fields"].declared.items() if name not in dropped}
    idle = arguments["idle"]
    if idle is not None:
        idle = {name: v for name, v in idle.items() if name.rpartition(".")[2].partition("[")[0] not in dropped}
    return {**arguments, "fields": FieldIndex(fields), "idle": idle}


def keep_shared(reward: Definition, old: Definition) -> Mapping[str, Parameter]:
    """Return the shared parameters without those that the reward has only from `old` and no longer needs."""
    if not all(isinstance(term, Term) for term in reward.terms):
        return reward.shared  # such a term is refused
    needed = reward._list_shared(reward.functions, reward.states.values())
    kept = {name: v for name, v in reward.shared.items() if name in needed or old.shared.get(name) != v}
    return MappingProxyType(kept)


def read_formula(reward: Definition, old: Definition | None, optional: Collection[str]) -> Formula:
    """Return what the functions of a reward compute; those that were loaded with `old` are taken from there.

    Of what it has from there, `optional` fields and states need not be read.

    Raises:
        DefinitionError: Something that was loaded would have to be read again, for what it is read with has changed.
    """
    if old is not None and (loaded := _list_loaded(reward, old)):
        _refuse_changes(reward, old, loaded)
        if any(_is_one_of(each, loaded) for each in reward.functions):
            return old._formula.only([function.name for function in reward.functions])
    spared = reward._find_unread()
    return build_formula(reward.name, reward.functions, reward.fields, reward.shared, reward.states, spared, optional)


def read_declarations(reward: Definition, old: Definition | None) -> Arguments:
    """Return the facts and the goal of a reward as Programs; those that were loaded with `old` are taken from there."""
    loaded = [] if old is None else _list_loaded(reward, old)
    new = [fact for fact in reward.facts if not _is_one_of(fact, loaded)]
    kept = [fact.name for fact in reward.facts if _is_one_of(fact, loaded)]
    given = None if old is None else keep_facts(old.facts_program, kept)
    facts = read_facts(reward.name, new, *reward._scope, given=given)
    if old is not None and _is_one_of(reward.goal, loaded):
        return {"facts_program": facts, "goal_program": replace(old.goal_program, name=reward.name)}
    return {"facts_program": facts, "goal_program": read_goal(reward.name, reward.goal, *reward._scope)}


def _list_loaded(reward: Definition, old: Definition) -> list[Any]:
    """Return what a reward has from `old` and has no function; of what was loaded, only identity tells it is the same.

    Something that was loaded with another reward is refused where it is read.
    """
    known = _list_functions(old)
    return [each for each in _list_functions(reward) if each.source is None and _is_one_of(each, known)]


def _list_functions(reward: Definition) -> list[Any]:
    goal = [] if reward.goal is None else [reward.goal]
    return [*reward.functions, *reward.states.values(), *reward.facts, *goal]


def _refuse_changes(reward: Definition, old: Definition, loaded: Sequence[Any]) -> None:
    """Refuse what would have to be read together with functions that are not known."""
    formula = (*reward.functions, *reward.states.values())
    changed = [f"the field {name!r}" for name, field in reward.fields.items() if old.fields.get(name, field) != field]
    if any(_is_one_of(each, loaded) for each in formula):
        changed += [repr(each.name) for each in formula if not _is_one_of(each, loaded)]
        numbers = reward.shared.items()
        changed += [
            f"{name!r}" for name, value in numbers if _find_shape(old.shared.get(name, value)) != _find_shape(value)
        ]
    if changed:
        raise DefinitionError(
            f"reward {reward.name!r} was loaded from a specification: {loaded[0].name!r} has no function that could be "
            f"read again with {' and '.join(changed)}. Evolve the reward that its Python code makes; a loaded one can "
            "only lose terms, and change its numbers and whatever else its functions do not read."
        )


def _is_one_of(each: object, others: Iterable[object]) -> bool:
    return any(each is other for other in others)


def _find_shape(value: Parameter) -> object:
    """Return what of a parameter a formula depends on: that it is a bool, a number, or a vector of so many."""
    return tuple(map(_find_shape, value)) if isinstance(value, tuple) else isinstance(value, bool)
