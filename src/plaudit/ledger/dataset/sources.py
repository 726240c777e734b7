"""Where the rows of a data set are: the parts of a folder, of a pattern or of a Delta table, in order."""

import glob
import os
import re
from collections.abc import Iterator
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
    """A file of a data set."""

    path: str
    """Its path or address."""
    name: str
    """What its scores are called in the folder that they are written to."""
    table: "TableRows | None" = None
    """What the Delta table that it is of says of its rows."""


def list_parts(source: str, *, text: bool = False) -> list[Part] | None:
    """Return the parts of a folder, a pattern or a Delta table in order; None where `source` is a single file.

    A table is read at its latest version, or at that of `folder@v3`. With `text`, the parts may be CSV or JSON Lines;
    those of a folder count where it has no Parquet.
    """
    local = find_local_path(source)
    if local is None:
        kind = find_object(source).type.name
    else:
        kind = "Directory" if Path(local).is_dir() else "File" if Path(local).exists() else "NotFound"
    if kind == "Directory":
        return _list_table(source, None) if is_table(source) else _list_folder(source, text)
    if kind == "NotFound":
        versioned = _VERSION.fullmatch(source)
        if versioned is not None and is_table(versioned[1]):
            return _list_table(versioned[1], int(versioned[2]))
        if glob.has_magic(source):
            return _match(source.replace(os.sep, "/"), text)
        if local is None and find_format(source) is None:
            raise FileError(f"{source} does not exist.")
    return None


def find_folder(path: str) -> str:
    """Return the folder that a path or an address is in."""
    return path.rpartition("/")[0] if find_local_path(path) is None else os.path.dirname(path) or "."


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


def _list_folder(source: str, text: bool) -> list[Part]:
    files, folder = _open(source)
    found, texts = [], []
    for path in _list_names(files, source, folder, recursive=True):
        below = path[len(folder) :].strip("/")
        if not below.endswith(".parquet"):
            if text and "/" not in below and not below.startswith((".", "_")) and find_format(below) is not None:
                texts.append(Part(join_address(source, below), below))
            continue
        if "/" in below:
            raise FileError(f"{source} has Parquet files in subfolders; score one folder at a time.")
        if not below.startswith((".", "_")):
            found.append(Part(join_address(source, below), below))
    if not (found or texts):
        raise FileError(f"the folder {source} has no .parquet{', .csv or .jsonl' if text else ''} file.")
    return sorted(found or texts, key=lambda part: part.name)


def _match(source: str, text: bool) -> list[Part]:
    """Return the files that match a pattern; a `*` stands for what has no slash."""
    parts = source.split("/")
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    base = "/".join(parts[:first]) or ("/" if source.startswith("/") else ".")
    files, root = _open(base)
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
        if PurePosixPath(name).suffix not in (".parquet", ".pq") and not (text and find_format(name)):
            raise FileError(
                f"{shown} is not Parquet; a pattern can match only Parquet files. Score other files one at a time."
            )
        if names.count(name) > 1:
            raise FileError(f"two files that match {source} are called {name}; score one folder at a time.")
        found.append(Part(shown, name))
    return found


def _open(folder: str) -> "tuple[FileSystem | None, str]":
    """Return the file system of a folder and the path in it; None for a disk, which is read without pyarrow."""
    local = find_local_path(folder)
    return open_address(folder) if local is None else (None, os.path.abspath(local))


def _list_names(
    files: "FileSystem | None",
    source: str,
    folder: str,
    pattern: str = "*",
    *,
    folders: bool = False,
    recursive: bool = False,
) -> list[str]:
    with explain_storage_errors(source):
        found = [*(_walk(folder, recursive) if files is None else _ask(files, folder, recursive))]
    named = [(path, path.rpartition("/")[2]) for path, is_folder in found if is_folder == folders]
    shown = [each for each in named if recursive or pattern.startswith(".") or not each[1].startswith(".")]
    return [path for path, name in shown if fnmatchcase(name, pattern)]


def _walk(folder: str, recursive: bool) -> Iterator[tuple[str, bool]]:
    """Yield what is in a folder of a disk, and whether it is a folder."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.path.replace(os.sep, "/"), entry.is_dir()
            if recursive and entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, recursive)


def _ask(files: "FileSystem", folder: str, recursive: bool) -> Iterator[tuple[str, bool]]:
    from pyarrow.fs import FileSelector

    for info in files.get_file_info(FileSelector(folder, allow_not_found=True, recursive=recursive)):
        yield info.path, info.type.name == "Directory"
