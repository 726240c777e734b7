"""Other numbers for the same formula: overrides in code or in a TOML file, checked by name and kind."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from plaudit.errors import DefinitionError, FileError, UnknownParameter, did_you_mean
from plaudit.language.field import validate_parameter
from plaudit.reward.term import Term


class Parametrised(Protocol):
    """What a reward shows of its parameters."""

    @property
    def name(self) -> str:
        """What the reward is called."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Its terms."""

    @property
    def params(self) -> Mapping[str, float | bool]:
        """Every parameter by its dotted name."""


def validate_overrides(reward: Parametrised, values: Mapping[str, Any]) -> dict[str, float | bool]:
    """Return overrides by dotted name; a name the reward does not have is an error that suggests one."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}: a name is a string")
        flat |= {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
    found: dict[str, float | bool] = {}
    for name, value in flat.items():
        if name not in reward.params:
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}.{_suggest(reward, name)}")
        number = validate_parameter(name, value)
        if isinstance(number, bool) != isinstance(reward.params[name], bool):
            kind = "a bool" if isinstance(reward.params[name], bool) else "a number"
            raise DefinitionError(f"{name}={value!r}: {kind} is needed")
        found[name] = number
    return found


def _suggest(reward: Parametrised, name: str) -> str:
    owner, _, part = name.partition(".")
    term = next((term for term in reward.terms if term.name == owner), None)
    if term is not None and part in term.constants:
        return f" {part!r} is a table or a string, which is a constant of the term."
    if part in ("low", "high") and (term is not None or owner == "total"):
        return f" Declare {part}= where the {'term' if term else 'reward'} is defined; then it can be overridden."
    return did_you_mean(name, reward.params) + f"\nIts parameters: {', '.join(reward.params)}."


def apply_overrides(terms: Iterable[Term], changed: Mapping[str, float | bool]) -> tuple[Term, ...]:
    """Return the terms with the validated overrides in place."""
    found = []
    for term in terms:
        own = {name.partition(".")[2]: v for name, v in changed.items() if name.partition(".")[0] == term.name}
        found.append(term.with_values(own) if own else term)
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
