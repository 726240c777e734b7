"""What a reward declares about steps besides its fields: facts, preferences and the discount, checked."""

from collections.abc import Collection, Iterable

from plaudit.errors import DefinitionError, DuplicateName
from plaudit.reward.fact import Fact
from plaudit.reward.prefer import Preference
from plaudit.reward.term import plain_number


def check_facts(reward: str, facts: Iterable[object], terms: Collection[str]) -> None:
    """Refuse what is no fact, and a name that a reward has twice."""
    seen: set[str] = set()
    for fact in facts:
        if not isinstance(fact, Fact):
            raise DefinitionError(f"reward {reward!r}: {fact!r} is not a fact; decorate the function with @fact")
        if fact.name in seen:
            raise DuplicateName(f"reward {reward!r} has two facts called {fact.name!r}")
        if fact.name in terms:
            raise DuplicateName(f"reward {reward!r}: {fact.name!r} is both a term and a fact")
        seen.add(fact.name)


def check_preferences(reward: str, preferences: Iterable[object]) -> None:
    """Refuse what is no preference."""
    for preference in preferences:
        if not isinstance(preference, Preference):
            raise DefinitionError(
                f"reward {reward!r}: {preference!r} is not a preference; write prefer(better, over=worse)"
            )


def checked_discount(reward: str, discount: object) -> float | None:
    """Return a discount; DefinitionError unless it is None or a number above 0 and at most 1."""
    if discount is None:
        return None
    number = plain_number("discount", discount)
    if not 0 < number <= 1:
        raise DefinitionError(f"reward {reward!r}: discount={discount!r} must be above 0 and at most 1")
    return number
