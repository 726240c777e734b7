"""From the arguments of a reward to its parts: each is validated, and the functions are read."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from plaudit.errors import DefinitionError
from plaudit.language.parameters import Number, Parameter, validate_schedulable, validate_vector_parameter
from plaudit.reward.composition import read_composition
from plaudit.reward.declared import Fact, read_facts, validate_allow
from plaudit.reward.definition import Definition
from plaudit.reward.evolution import keep_shared
from plaudit.reward.intent import (
    Preference,
    fit_idle,
    fit_preference,
    make_goal,
    read_goal,
    validate_discount,
    validate_goal_ends,
    validate_horizon,
)
from plaudit.reward.lower import build_formula
from plaudit.reward.state import State
from plaudit.reward.term import Term, share
from plaudit.reward.validation import index_fields, validate_definition, validate_title


def define(
    reward: Definition,
    old: Definition | None = None,
    optional: Collection[str] = (),
    *,
    name: str,
    version: str,
    doc: str,
    terms: Iterable[Term],
    fields: object,
    action: str | None,
    shared: Mapping[str, Parameter] | None,
    low: Number | None,
    high: Number | None,
    scale: object,
    gate: object,
    override: object,
    facts: Iterable[Fact],
    discount: object,
    horizon: object,
    prefer: Iterable[Preference],
    goal: object,
    goal_ends: object,
    idle: object,
    allow: object,
) -> None:
    """Fill in the parts of a reward that is given its arguments; every mistake in the definition is an error.

    If it is the next version of `old`, it has `optional` fields and states from there, which it need not read.
    """
    if not isinstance(shared, Mapping | None) or not isinstance(action, str | None):  # type: ignore[redundant-expr]
        raise DefinitionError(f"reward {name!r}: shared= maps names to numbers, and action= is the name of a field")
    if not isinstance(doc, str):
        raise DefinitionError(f"reward {name!r}: doc={doc!r:.60} must be a string")
    numbers = {key: validate_vector_parameter(key, value) for key, value in (shared or {}).items()}
    index = index_fields(name, fields)
    given = [key for key in numbers if key not in index]
    parts = vars(reward)
    parts.update(
        name=validate_title("name", name),
        version=validate_title("version", version),
        doc=doc,
        terms=tuple(share(term, given) for term in terms),
        fields=index,
        states=MappingProxyType({key: each for key, each in index.declared.items() if isinstance(each, State)}),
        action=action,
        shared=MappingProxyType(numbers),
        low=None if low is None else validate_schedulable("total.low", low),
        high=None if high is None else validate_schedulable("total.high", high),
        _composition=read_composition(name, scale, gate, override),
        facts=tuple(facts),
        discount=validate_discount(name, discount),
        horizon=validate_horizon(name, horizon),
        prefer=tuple(prefer),
        goal=make_goal(name, goal),
        goal_ends=validate_goal_ends(name, goal_ends),
        allow=validate_allow(f"reward {name!r}", {} if allow is None else allow),
    )
    if old is not None:
        parts["shared"] = keep_shared(reward, old)
    validate_definition(reward)
    spared = reward._find_unread()
    parts["_formula"] = build_formula(name, reward._functions, index, reward.shared, reward.states, spared, optional)
    parts["_facts_program"] = read_facts(name, reward.facts, *reward._scope)
    parts["_goal_program"] = read_goal(name, reward.goal, *reward._scope)
    parts["prefer"] = tuple(fit_preference(each, name, reward._known_inputs) for each in reward.prefer)
    parts["idle"] = fit_idle(idle, name, reward._known_inputs)
