"""Other numbers for the same formula: overrides in code or in a TOML file, checked by name and kind."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from plaudit.errors import DefinitionError, FileError, UnknownParameter, did_you_mean
from plaudit.language.parameters import Parameter, collect_parameters, expand_parameters, fit_parameter
from plaudit.language.schedule import Schedule, change_number
from plaudit.reward.definition import Definition
from plaudit.reward.state import State
from plaudit.reward.term import Term


def validate_overrides(reward: Definition, values: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return overrides by dotted name, vectors whole; a name the reward does not have is an error that suggests one."""
    flat: dict[str, Any] = {}
    known: dict[str, Parameter] = {**collect_parameters(reward.params), **reward._schedules}
    for name, value in values.items():
        if not isinstance(name, str):
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}: a name is a string")
        table = isinstance(value, Mapping) and name not in known
        flat |= {f"{name}.{key}": part for key, part in value.items()} if table else {name: value}
    found: dict[str, Parameter] = {}
    entries: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        schedule = next((each for each in reward._schedules if name.startswith(f"{each}.")), None)
        if schedule is not None:
            before = found.get(schedule, reward._schedules[schedule])
            if not isinstance(before, Schedule):
                raise DefinitionError(f"{schedule} is given as {before!r}, and {name} as well; give one of them")
            found[schedule] = change_number(schedule, before, name.removeprefix(f"{schedule}."), value)
        elif name in known:
            found[name] = fit_parameter(name, value, known[name])
        elif name in reward.params:
            entries.setdefault(name.partition("[")[0], {})[name] = fit_parameter(name, value, reward.params[name])
        else:
            raise UnknownParameter(f"reward {reward.name!r} has no parameter {name!r}.{_suggest(reward, name)}")
    for whole, changed in entries.items():
        flat = expand_parameters({whole: found.get(whole, known[whole])})
        found |= collect_parameters({**flat, **changed})
    return found


def _suggest(reward: Definition, name: str) -> str:
    owner, _, part = name.partition(".")
    term = next((term for term in reward.terms if term.name == owner), None)
    if term is not None and part in term.constants:
        return (
            f" {part!r} is a table or a string, which is a constant of the term; "
            "a vector of knobs is an array: np.array((0.1, 0.8))."
        )
    if owner == "total" and part == "scale":
        return " Declare scale= where the reward is defined; then it can be overridden."
    if part in ("low", "high") and (term is not None or owner == "total"):
        return f" Declare {part}= where the {'term' if term else 'reward'} is defined; then it can be overridden."
    return did_you_mean(name, reward.params) + f"\nIts parameters: {', '.join(collect_parameters(reward.params))}."


Owner = TypeVar("Owner", Term, State)


def apply_overrides(owners: Iterable[Owner], changed: Mapping[str, Parameter]) -> tuple[Owner, ...]:
    """Return the terms or states with the validated overrides in place."""
    found = []
    for owner in owners:
        own = {name.partition(".")[2]: v for name, v in changed.items() if name.partition(".")[0] == owner.name}
        found.append(owner.with_values(own) if own else owner)
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
