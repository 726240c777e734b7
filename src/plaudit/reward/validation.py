"""Whether the parts of a reward fit together: the mistakes of a definition that no part shows by itself."""

from collections.abc import Iterable, Mapping

from plaudit.errors import DefinitionError, DuplicateName, UnknownField, UnknownParameter, did_you_mean
from plaudit.language.field import Field
from plaudit.reward.composition import validate_composition
from plaudit.reward.declared import Fact, validate_facts
from plaudit.reward.definition import Definition, FieldIndex
from plaudit.reward.intent import validate_preferences, validate_rates
from plaudit.reward.schedules import validate_counters
from plaudit.reward.state import State, validate_states
from plaudit.reward.term import Term, validate_limits


def validate_definition(reward: Definition) -> None:
    """Raise DefinitionError where the parts of a reward do not fit together; its subclasses say what is wrong."""
    for term in reward.terms:
        if not isinstance(term, Term):
            raise DefinitionError(f"reward {reward.name!r}: {term!r} is not a term; decorate the function with @term")
    if not reward.terms:
        raise DefinitionError(f"reward {reward.name!r} has no terms")
    names = [term.name for term in reward.terms]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateName(
                f"reward {reward.name!r} has two terms called {name!r}; give one another name with @term(name=...)"
            )
    validate_limits(f"reward {reward.name!r}", reward.low, reward.high)
    if reward._composed:
        validate_composition(reward.name, reward._composition, names, reward.shared)
    validate_counters(reward.name, reward._schedules, reward.fields)
    if reward.action is not None and reward.action not in reward.fields:
        near = did_you_mean(reward.action, reward.fields)
        raise UnknownField(f"reward {reward.name!r}: action={reward.action!r} is not a declared field.{near}")
    needed = _validate_shared(reward)
    validate_states(reward.name, reward.states, reward.terms, needed)
    validate_fact_names(reward, reward.facts)
    validate_preferences(reward.name, reward.prefer)
    validate_rates(reward.name, reward.fields)
    for name in needed & set(names):
        raise DuplicateName(f"reward {reward.name!r}: {name!r} is both a term and a shared parameter")


def _validate_shared(reward: Definition) -> set[str]:
    """Return the shared parameters that a reward needs, if it has them and no others."""
    needed = reward._list_shared(reward._functions, reward.states.values())
    for name in needed - reward.shared.keys():
        raise UnknownParameter(f"reward {reward.name!r}: a term needs {name!r}; give it with shared={{{name!r}: ...}}")
    for name in reward.shared.keys() - needed:
        near = did_you_mean(name, needed)
        raise UnknownParameter(
            f"reward {reward.name!r}: no term has a keyword-only parameter {name!r} without a default, "
            f"nor reads it from a record.{near}"
        )
    return needed


def validate_fact_names(reward: Definition, facts: Iterable[Fact]) -> None:
    """Refuse facts that share a name with each other, a function or a state, and anything that is not a fact."""
    validate_facts(reward.name, facts, [*(function.name for function in reward._functions), *reward.states])


def validate_title(what: str, value: object) -> str:
    """Return a name or version if it is a printable string; DefinitionError if not."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise DefinitionError(f"a reward's {what} must be a printable string, not {value!r}")
    return value


def index_fields(reward: str, given: object) -> FieldIndex:
    """Return the fields and states that a reward is given, one by one or by name, such as those of another reward."""
    if isinstance(given, FieldIndex):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DefinitionError(f"reward {reward!r}: fields= is a list of Field(...), not {given!r:.60}")
    found: dict[str, Field | State] = {}
    for key, each in given.items() if isinstance(given, Mapping) else ((None, each) for each in given):
        if not isinstance(each, Field | State):
            raise DefinitionError(f"reward {reward!r}: {each!r} is not a Field")
        if key not in (None, each.name):
            raise DefinitionError(f"reward {reward!r}: fields= has the field {each.name!r} under the name {key!r:.60}")
        if each.name == "terminal":
            raise DefinitionError(f"reward {reward!r}: 'terminal' needs no declaration: any term may read it")
        if each.name in found:
            also = ": a state is a field too" if isinstance(each, State) or isinstance(found[each.name], State) else ""
            raise DuplicateName(f"reward {reward!r} declares the field {each.name!r} twice{also}")
        found[each.name] = each
    return FieldIndex(found)
