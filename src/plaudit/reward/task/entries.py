"""An observed task as a reward sees it that has whole arrays: entries `obs_0`, `obs_1` are those of its field `obs`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from plaudit.language.field import Field, find_field_name
from plaudit.reward.task.statements import Seen
from plaudit.reward.task.task import Task

_OBSERVATIONS = ("obs", "observation", "observations")
"""What people call an observation; without features its entries are `obs_0`, `obs_1`."""
_KEPT = ("fields", "start", "idle", "states", "actions", "still", "max_change")
"""What is said of entries, and can be said of an array or of its entries."""


@dataclass(frozen=True, slots=True)
class _Array:
    """A field of a reward whose entries a task has as fields of their own."""

    field: Field
    names: tuple[str, ...]
    """What the task calls the entries, in row-major order."""


def fit_entries(task: Task, fields: Mapping[str, Field]) -> Task:
    """Return an observed task with the arrays that a reward has, where it has their entries; otherwise as it is.

    What was only seen of entries and cannot be said of an array is left out: rates, facts, conditions of ends. A task
    in which somebody declared something like it stays as it is.
    """
    arrays = list(_find_arrays(task, fields)) if task.source else []
    places = {name: f"{each.field.name}{entry}" for each in arrays for name, entry in _list_places(each)}
    lost = [key for key, names in _list_lost(task) if not places.keys().isdisjoint(names)]
    if not arrays or any(key not in task.seen and not _is_open_end(task, key) for key in lost):
        return task
    changes: dict[str, Any] = {"fields": _merge_fields(task, arrays, places)}
    for part in ("start", "idle"):
        changes[part] = {places.get(name, name): value for name, value in getattr(task, part).items()}
    for part in ("states", "actions", "still"):
        named = getattr(task, part)
        whole = [each.field.name for each in arrays if {*each.names} <= {*named}]
        changes[part] = [*(name for name in named if name not in places), *whole]
    changes["max_change"] = {name: step for name, step in task.max_change.items() if name not in places}
    for each in arrays:
        if task.max_change.keys() >= {*each.names}:
            changes["max_change"][each.field.name] = max(task.max_change[name] for name in each.names)
    for part in ("ends", "rates", "monotone"):
        changes[part] = {name: value for name, value in getattr(task, part).items() if f"{part}.{name}" not in lost}
    changes["facts"] = [each for each in task.facts if f"facts.{each.name}" not in lost]
    made = task.evolve(**changes, seen={})
    said = {f"{part}.{name}" if name else part for part, name, _ in made.list_statements()}
    seen = {key: value for key, value in _rename_seen(task, arrays, places) if key in said}
    return made.evolve(seen=seen)


def _find_arrays(task: Task, fields: Mapping[str, Field]) -> Iterator[_Array]:
    """Yield the fields of a reward that are arrays, and whose entries the task has."""
    for field in fields.values():
        if not field.shape:
            continue
        stems = [field.name, *(_OBSERVATIONS if field.name in _OBSERVATIONS else ())]
        for names in (_list_names(stem, field.shape) for stem in stems):
            known = [task.fields[name] for name in names if name in task.fields]
            if len(known) == len(names) and all(not each.shape and each.kind == field.kind for each in known):
                yield _Array(field, names)
                break


def _list_names(stem: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return what an observed task calls the entries of an array; a single one has the name itself.

    >>> _list_names("obs", (2,)), _list_names("action", (1,))
    (('obs_0', 'obs_1'), ('action',))
    """
    if prod(shape) == 1:
        return (stem,)
    return tuple("_".join((stem, *map(str, at))) for at in product(*map(range, shape)))


def _list_places(array: _Array) -> Iterable[tuple[str, str]]:
    return zip(array.names, array.field.entries, strict=True)


def _list_lost(task: Task) -> Iterator[tuple[str, set[str]]]:
    """Yield what cannot be said of an array, each with the fields that it is about."""
    for part in ("better", "aim", "events", "monotone"):
        yield from ((f"{part}.{name}", {name}) for name in getattr(task, part))
    yield from ((f"rates.{name}", {name, rate.rate}) for name, rate in task.rates.items())
    functions = [("goal", task.goal)] if task.goal is not None else []
    functions += [(f"facts.{each.name}", each) for each in task.facts]
    functions += [(f"ends.{name}", end.when) for name, end in task.ends.items() if end.when is not None]
    yield from ((key, set(map(find_field_name, each.reads))) for key, each in functions)
    yield from ((f"ends.{name}", {name}) for name, end in task.ends.items() if end.when is None)
    yield from ((f"prefer.{at}", set(map(find_field_name, each.reads))) for at, each in enumerate(task.prefer))


def _is_open_end(task: Task, key: str) -> bool:
    """Return whether this is an end of which nobody has said yet whether it is good."""
    part, _, name = key.partition(".")
    return part == "ends" and task.ends[name].sign is None


def _merge_fields(task: Task, arrays: list[_Array], places: Mapping[str, str]) -> list[Field]:
    """Return the fields of a task, with one for each array: its range is the widest of its entries."""
    found = [field for name, field in task.fields.items() if name not in places]
    for each in arrays:
        entries = [task.fields[name] for name in each.names]
        ends = {"low": min, "high": max}
        said: dict[str, Any] = {}
        if each.field.kind == "number":
            for end, pick in ends.items():
                known = [pick(entry.numbers) if entry.numbers else getattr(entry, end) for entry in entries]
                said[end] = None if None in known else pick(known)
            said["infinite"] = any(entry.infinite for entry in entries)
        found.append(
            Field(each.field.name, shape=each.field.shape, flag=each.field.flag, values=_find_labels(entries), **said)
        )
    return found


def _find_labels(entries: list[Field]) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(label for entry in entries for label in entry.labels)) or None


def _rename_seen(task: Task, arrays: list[_Array], places: Mapping[str, str]) -> Iterator[tuple[str, Seen]]:
    """Yield how often statements were seen; one of an array that was only seen of some of its entries is, too."""
    wholes = {name: each.field.name for each in arrays for name in each.names}
    for key, count in task.seen.items():
        part, _, name = key.partition(".")
        if name not in places or part not in _KEPT:
            yield key, count
        else:
            yield f"{part}.{(places if part in ('start', 'idle') else wholes)[name]}", count
