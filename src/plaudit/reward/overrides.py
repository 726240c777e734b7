"""Other numbers for the same formula: overrides in code or in a TOML file, checked by name and kind."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from plaudit.errors import DefinitionError, FileError, UnknownParameter, did_you_mean
from plaudit.reward.term import checked_number

if TYPE_CHECKING:
    from plaudit.reward.reward import Reward


def checked(reward: "Reward", values: Mapping[str, Any]) -> dict[str, float | bool]:
    """Return overrides by dotted name; a name the reward does not have is an error that suggests one."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}: a name is a text")
        flat |= {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
    found: dict[str, float | bool] = {}
    for name, value in flat.items():
        if name not in reward.params:
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}.{_hint(reward, name)}")
        number = checked_number(name, value)
        if isinstance(number, bool) != isinstance(reward.params[name], bool):
            kind = "a flag" if isinstance(reward.params[name], bool) else "a number"
            raise DefinitionError(f"{name}={value!r}: {kind} is needed")
        found[name] = number
    return found


def _hint(reward: "Reward", name: str) -> str:
    owner, _, part = name.partition(".")
    term = next((term for term in reward.terms if term.name == owner), None)
    if term is not None and part in term.constants:
        return f" {part!r} is a table or a text, which is a constant of the term."
    if part in ("low", "high") and (term is not None or owner == "total"):
        return f" Declare {part}= where the {'term' if term else 'reward'} is defined; then it can be overridden."
    return did_you_mean(name, reward.params) + f"\nIts parameters: {', '.join(reward.params)}."


def applied(reward: "Reward", changed: Mapping[str, float | bool]) -> "Reward":
    """Return `reward` with the checked overrides in place."""
    terms = []
    for term in reward.terms:
        own = {name.partition(".")[2]: v for name, v in changed.items() if name.partition(".")[0] == term.name}
        terms.append(term.with_values(own) if own else term)
    shared = MappingProxyType({name: changed.get(name, value) for name, value in reward.shared.items()})
    low, high = changed.get("total.low", reward.low), changed.get("total.high", reward.high)
    return type(reward)._made(reward, terms=tuple(terms), shared=shared, low=low, high=high)


def from_toml(path: str | Path) -> dict[str, Any]:
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
