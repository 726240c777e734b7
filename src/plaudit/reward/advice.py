"""What to write for arguments of a reward that are something else: functions, weights, ranges, names of arguments."""

from collections.abc import Iterable, Mapping
from typing import Any

from plaudit.errors import DefinitionError, did_you_mean, shorten
from plaudit.language.field import Field
from plaudit.language.field_advice import write_field_for
from plaudit.reward.state import State
from plaudit.reward.task.task import TaskChanges
from plaudit.reward.term import Term

_FROM_FUNCTIONS = "Reward.from_functions({near: 0.5}, example=row)"
_PARAMETERS = "terms share the parameters in shared={'radius': 0.1}; one function has its own, term(params={...})(near)"
_CLAMP = "the clamp of the total is low=0.0, high=1.0"
_ARGUMENTS = {
    "params": _PARAMETERS,
    "knobs": _PARAMETERS,
    "weights": f"a term has its own weight, term(weight=0.5)(near); functions and weights go in {_FROM_FUNCTIONS}",
    "weight": "a term has its own weight, term(weight=0.5)(near); of all terms together it is scale=0.5",
    "functions": f"make terms of them, terms=[term(near)], or write {_FROM_FUNCTIONS}",
    "example": f"list the fields, fields=[Field('x')], or take them from a row: {_FROM_FUNCTIONS}",
    "states": "what is carried from step to step is a State in fields=[State(...)]; fields that last are said in the "
    "task, task=Task(states=...)",
    "gamma": "the discount factor belongs to the task: task=Task(discount=0.99)",
    "clip": _CLAMP,
    "bounds": _CLAMP,
    "on_bad": "say it where the reward is used, reward.compile('numpy', on_bad='mask'), or of a field, "
    "Field('x', low=0, outside='clip')",
    "batched": "it belongs to a term, term(batched=True)(near), or to Reward.from_functions",
}


def describe_unknown(keyword: str, known: Iterable[str]) -> str:
    """Return what to write for a keyword that a reward does not take."""
    if keyword in _ARGUMENTS:
        return f"Reward() has no argument {keyword!r}; {_ARGUMENTS[keyword]}"
    if keyword in TaskChanges.__annotations__:
        return f"Reward() takes {keyword}= through its task: task=Task({keyword}=...)"
    return f"Reward() got an unexpected keyword argument {keyword!r}.{did_you_mean(keyword, known)}"


def list_terms(reward: object, given: object) -> Iterable[Any]:
    """Return the terms that a reward is given; DefinitionError unless they are a list, a tuple or the like."""
    if isinstance(given, Mapping):
        parts = [_write_term(key, value) for key, value in given.items()]
        named = all(isinstance(key, str) for key in given)
        weights = f"Reward.from_functions({{{', '.join(parts)}}}, example=row)"
        instead = f"terms=[{', '.join(parts)}]" if named else f"{weights} for functions and their weights"
        raise DefinitionError(f"reward {reward!r}: terms= is a list of terms and not a dict; write {instead}")
    if isinstance(given, Term | str) or not isinstance(given, Iterable):
        one = given.name if isinstance(given, Term) else f"term({_name(given)})"
        raise DefinitionError(f"reward {reward!r}: terms= is a list of terms, terms=[{one}], not {shorten(given, 60)}")
    return given


def _write_term(key: object, value: object) -> str:
    if not isinstance(key, str):
        return f"{_name(key)}: {shorten(value, 40)}"
    if isinstance(value, Term):
        return f"{value.name}.with_(name={key!r})"
    return f"term(name={key!r})({_name(value)})"


def _name(function: object) -> str:
    return str(getattr(function, "__name__", "near"))


def describe_no_term(given: object) -> str:
    """Return what to write for what is not a term: a function, or one with its weight."""
    if isinstance(given, tuple | list) and len(given) == 2 and callable(given[0]):
        return f"{given!r:.60} is not a term; write term(weight={shorten(given[1], 40)})({_name(given[0])})"
    if isinstance(given, Field | State):
        return (
            f"{given.name!r} is not a term but a {'state' if isinstance(given, State) else 'field'}; put it in fields="
        )
    if callable(given) and hasattr(given, "__name__"):
        name = given.__name__
        return f"the function {name!r} is not a term; decorate the function with @term, or write term({name})"
    return f"{given!r} is not a term; decorate the function with @term"


def describe_no_fields(given: object) -> str:
    """Return what to write for what is no list of fields."""
    one = isinstance(given, str | Field | State)
    name = "State(...)" if isinstance(given, State) else write_field_for(getattr(given, "name", given), {})
    return f"fields= must be a list of Field(...), not {given!r:.60}{f'; write fields=[{name}]' if one else ''}"


def describe_no_field(key: str | None, given: Any) -> str:
    """Return the field to write for what stands in its place, perhaps under a name: `("x", 0, 1)`."""
    name, said = (key, given) if key is not None else ("x", given)
    if key is None and isinstance(given, str):
        name, said = given, {}
    elif key is None and isinstance(given, tuple | list) and given and isinstance(given[0], str):
        name, said = given[0], given[1] if len(given) == 2 else tuple(given[1:])
    return f"{given!r:.60} is not a Field; write fields=[{write_field_for(name, said)}, ...]"
