"""A reward of functions and their weights, whose fields are those of an example."""

from collections.abc import Callable, Mapping
from typing import Any

from plaudit.errors import DefinitionError, ReadError, UnknownField
from plaudit.language.parameters import Number
from plaudit.reward.definition import Definition, define, index_fields
from plaudit.reward.example import read_example
from plaudit.reward.term import Term, make_term


def define_from_example(
    reward: Definition,
    given: Mapping[str, Any],
    functions: Mapping[Callable[..., Any] | Term, Number],
    example: object,
    *,
    batched: bool,
    observed: bool,
) -> None:
    """Fill in the parts of a reward of functions by weight; arguments of `Reward` are `given`."""
    _refuse_others(given["name"], functions)
    read = read_example(example, batched=batched or any(isinstance(each, Term) and each.batched for each in functions))
    declared = index_fields(given["name"], given["fields"]).declared
    terms = [
        each.with_(weight=weight)
        if isinstance(each, Term)
        else make_term(each, fields={*read.fields, *declared}, weight=weight, batched=batched)
        for each, weight in functions.items()
    ]
    parts = {name for each in terms for name in (*each.parts, *each.reads)}
    for name, problem in read.problems.items():
        if name in parts and name not in declared:
            raise DefinitionError(f"reward {given['name']!r}: {problem}")
    arguments = {**given, "terms": terms, "fields": {**read.fields, **declared}}
    if observed:
        seen = read.observe_ranges()
        arguments["task"] = seen if given["task"] is None else given["task"].merge(seen)
    optional = read.fields.keys() - declared.keys()
    try:
        define(reward, arguments, None, optional)
    except (ReadError, DefinitionError) as error:
        if isinstance(error, UnknownField) or (size := read.size) is None:
            raise
        raise type(error)(
            f"{error}\nEvery value of the example has {size:,} entries along its first axis. If these are the rows of "
            "a batch, give a single row; or pass batched=True, if the functions take batches too."
        ) from None


def _refuse_others(reward: str, functions: object) -> None:
    """Refuse what is no mapping of functions to their weights."""
    if not isinstance(functions, Mapping):
        raise DefinitionError(
            f"reward {reward!r}: from_functions takes the weight of each function, {{near: 1.0, effort: -0.1}}, "
            f"and not a {type(functions).__name__}"
        )
    for each, weight in functions.items():
        if isinstance(each, str):
            near = getattr(weight, "__name__", "near")
            raise DefinitionError(
                f"reward {reward!r}: from_functions takes the weight of each function, and {each!r} is a string; write "
                f"{{term(name={each!r})({near}): 1.0}}"
            )
