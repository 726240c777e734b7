"""Where the rows of a data set are: the parts of a folder, of a pattern or of a Delta table, in order."""

import glob
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from plaudit.errors import FileError, MissingExtra
from plaudit.rows.addresses import explain_storage_errors, find_local_path, join_address, open_address
from plaudit.rows.objects import find_object
from plaudit.rows.streams import find_format

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

    from plaudit.rows.parquet_files import TableRows

_VERSION = re.compile(r"(.+)@v(\d+)")


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file of a data set."""

    path: str
    """Its path or address."""
    name: str
    """What its scores are called in the folder that they are written to."""
    table: "TableRows | None" = None
    """What the Delta table that it is of says of its rows."""


def list_parts(source: str) -> list[Part] | None:
    """Return the parts of a folder, a pattern or a Delta table in order; None where `source` is a single file.

    A table is read at its latest version, or at that of `folder@v3`.
    """
    local = find_local_path(source)
    if local is None:
        kind = find_object(source).type.name
    else:
        kind = "Directory" if Path(local).is_dir() else "File" if Path(local).exists() else "NotFound"
    if kind == "Directory":
        return _list_table(source, None) if is_table(source) else _list_folder(source)
    if kind == "NotFound":
        versioned = _VERSION.fullmatch(source)
        if versioned is not None and is_table(versioned[1]):
            return _list_table(versioned[1], int(versioned[2]))
        if glob.has_magic(source):
            return _match(source.replace(os.sep, "/"))
        if local is None and find_format(source) is None:
            raise FileError(f"{source} does not exist.")
    return None


def is_table(folder: str) -> bool:
    """Return whether a folder is a Delta table."""
    local = find_local_path(folder)
    if local is not None:
        return Path(local, "_delta_log").is_dir()
    return bool(find_object(join_address(folder, "_delta_log")).type.name == "Directory")


def _list_table(folder: str, version: int | None) -> list[Part]:
    try:
        from plaudit.rows.delta_tables import list_files
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("deltalake", "pyarrow"):
            raise
        raise MissingExtra(
            f"{folder} is a Delta table, which needs deltalake. Install it: pip install 'plaudit[lake]'"
        ) from None
    found = [Part(each.path, each.name.replace("/", "."), each.rows) for each in list_files(folder, version)]
    if not found:
        raise FileError(f"the Delta table {folder} has no rows.")
    return found


def _list_folder(source: str) -> list[Part]:
    files, folder = open_address(source)
    found = []
    for path in _list_names(files, source, folder, recursive=True):
        below = path[len(folder) :].strip("/")
        if not below.endswith(".parquet"):
            continue
        if "/" in below:
            raise FileError(f"{source} has Parquet files in subfolders; score one folder at a time.")
        if not below.startswith((".", "_")):
            found.append(Part(join_address(source, below), below))
    if not found:
        raise FileError(f"the folder {source} has no .parquet file.")
    return sorted(found, key=lambda part: part.name)


def _match(source: str) -> list[Part]:
    """Return the files that match a pattern; a `*` stands for what has no slash."""
    parts = source.split("/")
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    base = "/".join(parts[:first]) or ("/" if source.startswith("/") else ".")
    files, root = open_address(base)
    folders, last = [root], parts[-1]
    for part in parts[first:-1]:
        folders = [each for folder in folders for each in _list_names(files, source, folder, part, folders=True)]
    matching = sorted(each for folder in folders for each in _list_names(files, source, folder, last))
    names = [PurePosixPath(path).name for path in matching]
    if not matching:
        raise FileError(f"no file matches {source}.")
    found = []
    for path, name in zip(matching, names, strict=True):
        shown = "/".join([*parts[:first], path[len(root) :].strip("/")])
        if PurePosixPath(name).suffix not in (".parquet", ".pq"):
            raise FileError(
                f"{shown} is not Parquet; a pattern can match only Parquet files. Score other files one at a time."
            )
        if names.count(name) > 1:
            raise FileError(f"two files that match {source} are called {name}; score one folder at a time.")
        found.append(Part(shown, name))
    return found


def _list_names(
    files: "FileSystem", source: str, folder: str, pattern: str = "*", *, folders: bool = False, recursive: bool = False
) -> list[str]:
    from pyarrow.fs import FileSelector

    with explain_storage_errors(source):
        infos = files.get_file_info(FileSelector(folder, allow_not_found=True, recursive=recursive))
    found = [each for each in infos if (each.type.name == "Directory" if folders else each.is_file)]
    shown = [each for each in found if recursive or pattern.startswith(".") or not each.base_name.startswith(".")]
    return [each.path for each in shown if fnmatchcase(each.base_name, pattern)]
