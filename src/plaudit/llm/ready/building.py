"""How ready-made features are made: from a function, under names of columns that the caller chooses."""

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.llm.feature import Feature

LONGEST = 1_000_000
"""Characters of a text that are read, from its end: what takes one pass over them stays under a second."""


def build_feature(
    function: Callable[..., Any],
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Feature:
    """Return a feature that is identified by its name, its version, what it reads and its settings, not its source.

    Args:
        function: A function of parts of a sample.
        name: Name of the feature.
        columns: What parameters of the function are called in the data set.
        settings: Keyword-only parameters.

    Returns:
        The feature.

    Raises:
        DefinitionError: A column has a name that a parameter cannot have.
    """
    renamed = {own: column for own, column in (columns or {}).items() if own != column}
    called = _Renamed(function, renamed) if renamed else function
    feature = Feature(called, name=name, version="1", settings=settings)
    said = f"plaudit ready {name} of {', '.join(feature.reads)}"
    return Feature(called, name=name, version="1", settings=settings, fingerprint=said)


class _Renamed:
    """A function some of whose parameters have other names."""

    def __init__(self, function: Callable[..., Any], columns: Mapping[str, str]) -> None:
        self.function = function
        signature = inspect.signature(function)
        for column in columns.values():
            if not str(column).isidentifier() or column in signature.parameters:
                raise DefinitionError(f"{column!r:.60} cannot be the name of the column; rename it in the data set.")
        parameters = [each.replace(name=columns.get(each.name, each.name)) for each in signature.parameters.values()]
        self.__signature__ = signature.replace(parameters=parameters)

    def __call__(self, *parts: Any, **named: Any) -> Any:
        bound = self.__signature__.bind(*parts, **named)
        return self.function(*bound.args, **bound.kwargs)


def check_choice(setting: str, given: Any, choices: Collection[str]) -> None:
    """Raise DefinitionError unless a setting is one of some words."""
    if given not in choices:
        near = did_you_mean(str(given), choices)
        raise DefinitionError(f"{setting}={given!r:.60} is not one of {', '.join(choices)}.{near}")


def check_number(setting: str, given: Any, *, low: float, exclusive: bool = False) -> None:
    """Raise DefinitionError unless a setting is a finite number from `low` on."""
    fits = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if not fits or given < low or (exclusive and given == low):
        raise DefinitionError(f"{setting}={given!r:.60} is not a number {'above' if exclusive else 'from'} {low:g}.")


OF = ("text", "reasoning", "both")
"""What of a completion is looked at: the answer, the reasoning before it, or both."""


def choose_texts(text: str, reasoning: str, of: str) -> list[str]:
    """Return the texts that `of` names."""
    check_choice("of", of, OF)
    return {"text": [text], "reasoning": [reasoning], "both": [reasoning, text]}[of]
