"""The next version of a reward: its arguments with some of them changed, and what becomes of the others."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from plaudit.errors import DefinitionError, UnknownParameter, did_you_mean
from plaudit.language.field import Field
from plaudit.language.parameters import Number
from plaudit.reward.composition import Override
from plaudit.reward.definition import Definition, FieldIndex, index_fields
from plaudit.reward.state import State
from plaudit.reward.task.task import Task, TaskChanges
from plaudit.reward.term import Term

Arguments = dict[str, Any]
"""What `Reward` is called with, by the names of its parameters."""


class RewardChanges(TypedDict, total=False):
    """What the next version of a reward may have otherwise: every argument of `Reward` but its version."""

    name: str
    terms: Iterable[Term] | Mapping[str, Term | None]
    fields: Iterable[Field | State] | Mapping[str, Field | State]
    task: Task | None
    doc: str
    action: str | None
    shared: Mapping[str, Any] | None
    low: Number | None
    high: Number | None
    scale: Number | str | None
    gate: Callable[..., Any] | None
    override: Iterable[tuple[Callable[..., Any], Number] | Override]
    allow: Mapping[str, str] | None


def merge_changes(reward: Definition, version: str, changes: Mapping[str, Any]) -> Arguments:
    """Return the arguments of the next version of a reward; what is not changed is as it was.

    Raises:
        TypeError: `Reward` takes no such argument.
        DefinitionError: The version is the one that the reward has, or its functions are not known.
    """
    known = RewardChanges.__annotations__
    for keyword in changes:
        if keyword in TaskChanges.__annotations__ and keyword not in known:
            raise TypeError(f"evolve() takes {keyword}= through the task: task=reward.task.evolve({keyword}=...)")
        if keyword not in known:
            raise TypeError(f"evolve() got an unexpected keyword argument {keyword!r}.{did_you_mean(keyword, known)}")
    if version == reward.version and changes.get("name", reward.name) == reward.name:
        raise DefinitionError(
            f"reward {reward.name!r} is version {version!r} already; the next version needs another label"
        )
    if any(function.source is None for function in reward._functions):
        raise DefinitionError(
            f"reward {reward.name!r} was loaded from a specification: its terms have no functions to read "
            "again. Evolve the reward that your Python code defines, or change numbers with with_params."
        )
    arguments = {argument: getattr(reward, argument) for argument in known} | dict(changes) | {"version": version}
    if "shared" not in changes:
        arguments["shared"] = {**reward.shared, **reward.constants}
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
    return {**arguments, "fields": FieldIndex(fields)}
