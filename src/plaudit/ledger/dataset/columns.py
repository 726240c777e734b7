"""Where the inputs of a reward lie in a table: by name, in a record, whole or entry by entry; what lacks is told."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from plaudit.errors import FileError, MissingField, WrongType, did_you_mean
from plaudit.language.field import Kind
from plaudit.language.program import Program
from plaudit.targets.rows import Place, default_of, places, twice

Path = tuple[str, ...]
"""A column by its name, or a child of a struct by both names."""


@dataclass(frozen=True, slots=True)
class Found:
    """One column that a reward reads: under which name it is scored, where it lies, what it holds."""

    name: str
    """`distance`, `prev.tokens_used`, `torque` or `torque[3]`: what a compiled reward calls it."""
    path: Path
    place: Place
    type: pa.DataType

    @property
    def length(self) -> int | None:
        """How many entries a vector has that lies in one column; None of a single value."""
        return None if self.name == self.place.name else self.place.field.length

    @property
    def dotted(self) -> str:
        """Where it lies, as Parquet names it."""
        return ".".join(self.path)


def find(
    program: Program, schema: pa.Schema, source: str, columns: Mapping[str, str] | None = None, *, texts: bool = False
) -> list[Found]:
    """Return where each input lies; MissingField names every one that lacks, WrongType one of another kind.

    `columns` says where an input lies under another name. With `texts` every column is text, as in CSV.
    """
    refuse_doubles(schema.names, source)
    paths = _paths(schema)
    renamed = _checked_names(program, columns or {}, paths, source)
    found: dict[str, Found] = {}
    lacking: list[str] = []
    terminal: object = False if _path_of("terminal", renamed, paths) is None else _SomeRows()
    for place in places(program):
        for name in dict.fromkeys((place.name, place.column)):
            path = _path_of(name, renamed, paths)
            if path is not None:
                if place.column in found and name != place.column:
                    raise twice(program, place.column)
                found[name] = Found(name, path, place, paths[path])
                break
        else:
            if default_of(program, place, terminal) is None:
                apart = any(f"{place.column}[{i}]" in found for i in range(place.field.length or 0))
                lacking.append(place.name if apart else place.column)
    if lacking:
        raise missing(program.name, list(dict.fromkeys(lacking)), source, [".".join(path) for path in paths])
    for one in found.values():
        _check_type(program.name, one, texts)
    return list(found.values())


class _SomeRows:
    """Stands for a column of flags of which some may be true."""


def _paths(schema: pa.Schema) -> dict[Path, pa.DataType]:
    """Return every column, and the children of `prev` and `curr`."""
    paths: dict[Path, pa.DataType] = {(column.name,): column.type for column in schema}
    for record in ("prev", "curr"):
        kind = paths.get((record,))
        if kind is not None and pa.types.is_struct(kind):
            paths |= {(record, child.name): child.type for child in kind}
    return paths


def _path_of(name: str, renamed: Mapping[str, Path], paths: Mapping[Path, pa.DataType]) -> Path | None:
    """Return where a name lies: as given, under its own name, in its record, or after the step where it is plain."""
    if name in renamed:
        return renamed[name]
    record, dot, key = name.rpartition(".")
    ways: list[Path] = [(name,), (record, key)] if dot else [(name,), ("curr", name), (f"curr.{name}",)]
    return next((path for path in ways if path in paths), None)


def _checked_names(
    program: Program, columns: Mapping[str, str], paths: Mapping[Path, pa.DataType], source: str
) -> dict[str, Path]:
    known = {name for place in places(program) for name in (place.name, place.column)}
    dotted = {".".join(path): path for path in reversed(list(paths))}
    for name, column in columns.items():
        if name not in known:
            near = did_you_mean(name, known)
            raise MissingField(f"columns= names {name!r}, which reward {program.name!r} does not read.{near}")
        if column not in dotted:
            raise missing(None, [column], source, list(dotted))
    return {name: dotted[column] for name, column in columns.items()}


def missing(reward: str | None, names: Sequence[str], source: str, known: Sequence[str]) -> MissingField:
    """Return the error for columns that a data set does not have, and that a reward, or the caller, asked for."""
    wanted = "asked for" if reward is None else f"which reward {reward!r} needs"
    lines = [f"{source} lacks {_listed(names)}, {wanted}."]
    for name in names:
        near = did_you_mean(name, known).strip()
        lines += [f"  {name}: {near}"] if near else []
    shown = ", ".join(known[:40]) + (", …" if len(known) > 40 else "")
    return MissingField("\n".join([*lines, f"Its columns: {shown or 'none'}."]))


def refuse_doubles(names: Iterable[str], source: str) -> None:
    """Refuse a table with two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileError(f"{source} has the column {name!r} twice; nobody can tell which one is meant.")
        seen.add(name)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if len(names) < 3 else f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"


def _check_type(reward: str, found: Found, texts: bool) -> None:
    kind: Any = found.type
    where = f"reward {reward!r}, field {found.name!r}"
    if found.length is not None and not texts:
        if not is_list(kind):
            raise WrongType(f"{where}: a column of {kind} is no vector of {found.length}; a list is needed.")
        if pa.types.is_fixed_size_list(kind) and kind.list_size != found.length:
            raise WrongType(f"{where}: a column of {kind} holds {kind.list_size} entries, not {found.length}.")
        kind = kind.value_type
    if texts and found.length is not None:
        raise WrongType(f"{where}: CSV has no vectors; give {found.name}[0], {found.name}[1] … a column each.")
    if not texts and not _fits(kind, found.place.field.kind):
        needed = {"number": "a number", "flag": "a flag", "category": "a text"}[found.place.field.kind]
        raise WrongType(f"{where}: a column of {kind} does not hold {needed}. Convert the column first.")


def is_list(kind: pa.DataType) -> bool:
    """Return whether a column holds a list in each row."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _fits(kind: pa.DataType, needed: Kind) -> bool:
    if pa.types.is_null(kind):
        return True
    if pa.types.is_dictionary(kind):
        return _fits(kind.value_type, needed)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if needed == "flag":
        return bool(number or pa.types.is_boolean(kind))
    if needed == "number":
        return bool(number or pa.types.is_decimal(kind))
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
