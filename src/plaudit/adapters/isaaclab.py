"""Rewards of Isaac Lab and mjlab: their configs of functions, weights and params as a `Reward`; needs neither.

A config is an object, a class or a dict of reward terms, each with `func`, `weight` and `params`.
"""

import ast
import copy
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from plaudit.errors import DefinitionError, PlauditError, did_you_mean, shorten
from plaudit.language.field import Field
from plaudit.language.reading.owners import read_source
from plaudit.reward.function_parameters import list_defaults, list_names
from plaudit.reward.reward import Reward
from plaudit.reward.state import State
from plaudit.reward.term import Term, term

__all__ = ["read_rewards"]

_PARTS = ("func", "weight", "params")


def read_rewards(
    cfg: Any,
    *,
    example: Any = None,
    fields: Iterable[Field | State] = (),
    scene: Any = None,
    terms: Mapping[str, Term | None] | None = None,
    name: str = "rewards",
    version: str = "1",
    **options: Any,
) -> Reward:
    """Make a reward of a config of Isaac Lab or mjlab: its functions, weights and params.

    Terms have the names that they have in the config, and read the fields that their functions do:
    `env.scene["robot"].data.joint_pos` is `joint_pos`, or `robot_data_joint_pos` where that is declared. Numbers in
    `params` are knobs, anything else is a constant. The managers multiply every value by the duration of a step: give
    `scale=env.step_dt` for the same numbers.

    Args:
        cfg: The config of the rewards: an object or a class whose attributes are terms, or a dict of terms. A term that
            is None is left out.
        example: What the functions read, as for `Reward.from_functions` with `batched=True`: tensors with the
            environments along the first axis.
        fields: Fields and states that the example does not show.
        scene: The names of joints and bodies by asset or sensor, for params that name them: `env.scene`, or
            `{"robot": {"joint_names": [...], "body_names": [...]}}`.
        terms: Terms to take in place of those of the config, by name; None leaves one out.
        name: The name of the reward.
        version: The version label.
        options: The other arguments of `Reward.from_functions`, such as `scale`, `shared` and `observed`.

    Returns:
        The reward.

    Raises:
        DefinitionError: The config holds something that is no term, or a function that cannot be read; the message
            names the term.
        UnknownField: A function reads what neither the example nor `fields` have.

    >>> from types import SimpleNamespace
    >>> def alive(env, bonus):
    ...     return bonus * (~env.fallen)
    >>> class RewardsCfg:
    ...     staying = SimpleNamespace(func=alive, weight=2.0, params={"bonus": 0.5})
    >>> reward = read_rewards(RewardsCfg, fields=[Field("fallen", flag=True)])
    >>> reward.score(fallen=False).total, dict(reward.params)
    (1.0, {'staying.bonus': 0.5, 'staying.weight': 2.0})
    """
    if cfg is None or isinstance(cfg, str | list | tuple) or inspect.isroutine(cfg):
        raise DefinitionError(
            f"read_rewards() takes a config, an object, a class or a dict of terms by name, and not {shorten(cfg, 60)}"
        )
    listed = dict(_list_terms(cfg))
    instead, fields = dict(terms or {}), list(fields)
    for each in instead:
        if each not in listed:
            raise DefinitionError(f"terms= names {each!r}, which is no term of the config.{did_you_mean(each, listed)}")
    known = {*_list_named(example), *(each.name for each in fields), *(options.get("shared") or {})}
    made = {
        each: instead[each] if each in instead else _make_term(each, part, scene, known)
        for each, part in listed.items()
    }
    weights = {each: each.weight for each in made.values() if each is not None}
    if not weights:
        raise DefinitionError(f"the config {_describe(cfg)} has no reward terms, objects with func= and weight=")
    return Reward.from_functions(
        weights,
        example={} if example is None else example,
        fields=fields,
        name=name,
        version=version,
        batched=True,
        **options,
    )


def _list_terms(cfg: Any) -> Iterator[tuple[str, Any]]:
    """Yield the terms of a config by name, as they are written; an error names what is none."""
    for name, part in _list_attributes(cfg):
        if part is None or name.startswith("_"):
            continue
        if not all(hasattr(part, each) or (isinstance(part, Mapping) and each in part) for each in _PARTS[:2]):
            rewards = "; give its rewards, `cfg.rewards`" if hasattr(cfg, "rewards") or name == "rewards" else ""
            raise DefinitionError(
                f"{name!r} of the config {_describe(cfg)} is {shorten(part, 60)}, and not a reward term with func= "
                f"and weight={rewards}"
            )
        yield name, part


def _list_attributes(cfg: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a config holds, what its base classes declare first; methods are no part of it."""
    if isinstance(cfg, Mapping):
        yield from ((str(key), value) for key, value in cfg.items())
        return
    found: dict[str, Any] = {}
    for kind in reversed((cfg if isinstance(cfg, type) else type(cfg)).__mro__[:-1]):
        found |= {name: value for name, value in vars(kind).items() if not _is_method(value)}
    found |= {} if isinstance(cfg, type) else getattr(cfg, "__dict__", {})
    yield from found.items()


def _is_method(value: object) -> bool:
    return isinstance(value, classmethod | staticmethod | property | type) or inspect.isroutine(value)


def _describe(cfg: Any) -> str:
    return "dict" if isinstance(cfg, Mapping) else cfg.__name__ if isinstance(cfg, type) else type(cfg).__name__


def _list_named(example: object) -> list[str]:
    """Return what an example has by name: of a row or a batch, and of a data frame or spaces."""
    named = getattr(example, "spaces", getattr(example, "columns", example))
    return [str(each) for each in named] if isinstance(named, Iterable) else []


def _make_term(name: str, part: Any, scene: Any, known: Collection[str]) -> Term:
    """Return a term of a config; every error names it. What is `known` need not be among its params."""
    given: Any = part if isinstance(part, Mapping) else {each: getattr(part, each, None) for each in _PARTS}
    try:
        plain = _find_function(given["func"])
        _refuse_missing(plain, given.get("params"), known)
        values = {key: _resolve_names(key, value, scene) for key, value in _list_values(plain, given.get("params"))}
        return term(name=name, weight=given["weight"], params=values, batched=True)(plain)
    except PlauditError as error:
        raise DefinitionError(f"term {name!r} of the config: {_drop_owner(str(error), name)}") from None


def _refuse_missing(function: Any, params: object, known: Collection[str]) -> None:
    """Refuse params that lack what a function needs, beside the environment that it takes first."""
    source = read_source(function)
    needed = [each for each in list_names(source)[1:] if each not in list_defaults(source)]
    given = params if isinstance(params, Mapping) else {}
    if missing := [each for each in needed if each not in given and each not in known]:
        listed = ", ".join(map(repr, missing))
        raise DefinitionError(
            f"its params lack {listed}, which {source.name}({ast.unparse(source.tree.args)}) needs: "
            f"params={{{missing[0]!r}: ...}}"
        )


def _drop_owner(message: str, name: str) -> str:
    return message.removeprefix(f"term {name!r}: ")


def _find_function(function: object) -> Any:
    """Return the function of a term, which may be given as `package.module:function`."""
    if isinstance(function, str):
        try:
            function = resolve_name(function)
        except (ValueError, ImportError, AttributeError) as error:
            raise DefinitionError(f"its function {function!r} cannot be imported: {error}") from None
    if isinstance(function, type):
        raise DefinitionError(
            f"its function is the class {function.__name__}, whose objects remember something from step to step. Write "
            "it as a term, with a State for what it remembers, and give it in terms=; None there leaves it out."
        )
    if not callable(function):
        raise DefinitionError(f"its function is {shorten(function, 60)}, which cannot be called")
    return function


def _list_values(function: Any, params: object) -> Iterator[tuple[str, Any]]:
    """Yield the values of params; and defaults that name joints or bodies, whose positions the scene knows."""
    if not isinstance(params, Mapping | None):
        raise DefinitionError(f"its params are {shorten(params, 60)}, and not a dict of names and values")
    given = dict(params or {})
    for name, default in list_defaults(read_source(function)).items():
        if name not in given and _find_unresolved(default):
            given[name] = default
    yield from given.items()


def _find_unresolved(value: object) -> tuple[str, ...]:
    """Return which kinds of names an entity config gives without their positions: `joint`, `body`."""
    parts = getattr(value, "__dict__", {})
    kinds = [each.removesuffix("_names") for each, names in parts.items() if each.endswith("_names") and names]
    return tuple(kind for kind in kinds if parts[f"{kind}_names"] != ".*" and _is_whole(parts.get(f"{kind}_ids")))


def _is_whole(positions: object) -> bool:
    return isinstance(positions, slice) and positions == slice(None)


def _resolve_names(key: str, value: Any, scene: Any) -> Any:
    """Return a value of params; of an entity config that names joints or bodies, one with their positions."""
    kinds = _find_unresolved(value)
    if not kinds:
        return value
    resolved = copy.copy(value)
    for kind in kinds:
        wanted = getattr(value, f"{kind}_names")
        known = _find_names(scene, value.name, f"{kind}_names")
        if known is None:
            raise DefinitionError(
                f"{key!r} names {kind} {wanted!r} of {value.name!r}, and their positions are not known here. Give the "
                f"names in order, scene={{{value.name!r}: {{'{kind}_names': [...]}}}}; or scene=env.scene."
            )
        setattr(resolved, f"{kind}_ids", _match(key, wanted, known, ordered=getattr(value, "preserve_order", False)))
    return resolved


def _find_names(scene: Any, entity: str, part: str) -> Sequence[str] | None:
    """Return the names of the joints or bodies of an entity; None where the scene does not say."""
    try:
        found = scene[entity]
    except (KeyError, TypeError, AttributeError):
        return None
    names: Sequence[str] | None = found.get(part) if isinstance(found, Mapping) else getattr(found, part, None)
    return names


def _match(key: str, wanted: str | Sequence[str], known: Sequence[str], *, ordered: bool) -> list[int]:
    """Return the positions of names that match one of the patterns, in their own order or in that of the patterns."""
    patterns = [wanted] if isinstance(wanted, str) else list(wanted)
    found = [[at for at, name in enumerate(known) if re.fullmatch(pattern, name)] for pattern in patterns]
    for pattern, positions in zip(patterns, found, strict=True):
        if not positions:
            near = did_you_mean(pattern, known)
            raise DefinitionError(f"{key!r} names {pattern!r}, which is none of {', '.join(known)}.{near}")
    listed = [at for positions in found for at in positions]
    return list(dict.fromkeys(listed)) if ordered else sorted(set(listed))
