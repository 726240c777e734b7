"""The folder where plaudit keeps what is slow to make again: compiled code, road networks."""

import os
import stat
import sys
import tempfile
from pathlib import Path


def find_cache_folder(part: str) -> Path:
    """Return the user's cache folder for a part of plaudit; `PLAUDIT_CACHE_DIR` moves it.

    >>> find_cache_folder("sumo-1.28.0").name
    'sumo-1.28.0'
    """
    chosen = os.environ.get("PLAUDIT_CACHE_DIR")
    return (Path(chosen) if chosen else _find_platform_folder() / "plaudit") / part


def make_private_folder(part: str) -> Path | None:
    """Return the cache folder for code, made if need be; None where somebody else could put code there.

    That is so if the folder, or one that it lies in, belongs to another user than this one or root, or others may
    write to it and remove what is not theirs. It is also None where the folder cannot be made.
    """
    folder = find_cache_folder(part).absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if all(map(_is_ours, (folder, *folder.resolve().parents))) else None
    except OSError:
        return None


def _is_ours(folder: Path) -> bool:
    """Return whether nobody but this user and root can replace what lies in a folder."""
    if sys.platform == "win32":  # a user's profile is closed to others there
        return True
    found = folder.stat()
    open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    return found.st_uid in (0, os.getuid()) and not open_to_others


def _find_platform_folder() -> Path:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir()))
    try:
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir())
