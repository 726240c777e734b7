"""Arrays in a file, with a text that says what they are: written all or not at all, and nothing in it is pickled."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from plaudit.drafts import HiddenFile, unwritable
from plaudit.errors import FileError

Arrays = dict[str, np.ndarray[Any, Any]]
_ABOUT = "about"


def write_archive(path: Path, about: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays and a text under a name: all of it, or nothing."""
    with HiddenFile(path) as draft:
        try:
            with zipfile.ZipFile(draft.path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, array in {_ABOUT: np.array(about), **arrays}.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        except OSError as error:
            raise unwritable(str(path), error.strerror or str(error)) from None
        draft.commit()


def read_about(path: Path) -> str:
    """Return the text of an archive; FileError where there is none."""
    with _opened(path) as archive:
        return str(_array(archive, _ABOUT).item())


def read_archive(path: Path) -> Arrays:
    """Return the arrays of an archive, all checked against their checksums; FileError where it is damaged."""
    with _opened(path) as archive:
        names = [each.removesuffix(".npy") for each in archive.namelist()]
        return {name: _array(archive, name) for name in names if name != _ABOUT}


def check_shapes(path: Path, arrays: Mapping[str, Any], wanted: Mapping[str, Any], *, writer: str) -> None:
    """Raise FileError where the arrays of a file are not those wanted, by their names, types and shapes."""
    for name in [*wanted, *arrays]:
        have = "nothing" if name not in arrays else f"{arrays[name].dtype} of shape {tuple(arrays[name].shape)}"
        need = "nothing" if name not in wanted else f"{wanted[name].dtype} of shape {tuple(wanted[name].shape)}"
        if have != need:
            raise FileError(
                f"{path} does not fit this plaudit: its {name} is {have}, and {need} is needed. "
                f"It was written by plaudit {writer}."
            )


def damaged(path: Path, reason: object) -> FileError:
    """Return the error for a file that is none of ours, or not any more."""
    return FileError(f"{path} is damaged, or no checkpoint: {reason}")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    if path.is_dir():
        raise FileError(f"{path} is a directory; name a file in it.")
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise damaged(path, error) from None


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    """Return an array of an archive; reading all of it checks its checksum."""
    with archive.open(f"{name}.npy") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):
            raise ValueError(f"there is more in {name} than an array")
        return array
