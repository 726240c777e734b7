"""Where built networks are kept between runs, and how a file gets there whole."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

from plaudit.errors import FileError


def cache_folder(part: str) -> Path:
    """Return the user's cache folder for a part of plaudit; `PLAUDIT_CACHE_DIR` moves it.

    >>> cache_folder("sumo-1.28.0").name
    'sumo-1.28.0'
    """
    chosen = os.environ.get("PLAUDIT_CACHE_DIR")
    return (Path(chosen) if chosen else _platform_folder() / "plaudit") / part


def _platform_folder() -> Path:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir()))
    try:
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir())


@cache
def _passing_folder(part: str, pid: int) -> Path:
    """Return a temporary folder of this process, removed when it ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"plaudit-{part}-"))
    # Not atexit, which the workers of multiprocessing leave out. A worker that was forked later does not do it either.
    Finalize(None, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=0)
    return folder


def kept(part: str, name: str, *, good: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    """Return the file `name`, built where it is missing or not `good`; two processes may ask at the same time.

    `build` writes the file at the path it is given, beside the place where it is kept; it gets there in one move.
    """
    for folder in (cache_folder(part), None):
        try:
            return _kept_in(folder or _passing_folder(part, os.getpid()), name, good=good, build=build)
        except OSError as error:
            if folder is None:
                raise FileError(
                    f"no place to keep {name}: neither {cache_folder(part)} nor {tempfile.gettempdir()} can be"
                    f" written ({error}). Set PLAUDIT_CACHE_DIR to a folder that can"
                ) from error
    raise AssertionError("unreachable")  # pragma: no cover


def _kept_in(folder: Path, name: str, *, good: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    path = folder / name
    if path.is_file() and good(path):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with _workshop(folder) as workshop:
        build(workshop / name)
        os.replace(workshop / name, path)
    return path


@contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """A folder of this process's own beside the kept files, so that the move is on one disk."""
    workshop = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        yield workshop
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
