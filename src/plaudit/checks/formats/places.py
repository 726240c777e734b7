"""Where a finding stands, as people and as tools name the file."""

import os
import sys
from pathlib import Path, PurePath
from urllib.parse import quote


def path_below(file: str, root: str | Path) -> str | None:
    """Return `file` relative to the folder `root`, with forward slashes; None where it is not below it.

    >>> path_below("/home/me/car/rewards.py", "/home/me")
    'car/rewards.py'
    """
    for path, folder in ((file, root), (os.path.realpath(file), os.path.realpath(root))):
        if os.path.isabs(file) and PurePath(path).is_relative_to(folder):
            return PurePath(path).relative_to(folder).as_posix()
    return None


def short_path(file: str, root: str | Path) -> str:
    """Return a path that people recognise: below `root`, else as it would be imported, else whole.

    >>> import plaudit
    >>> short_path(plaudit.__file__, "/elsewhere")
    'plaudit/__init__.py'
    """
    folders = [root, *sorted(filter(None, sys.path), key=len, reverse=True)]
    found = (path_below(file, folder) for folder in folders)
    return next((path for path in found if path is not None), PurePath(file).as_posix())


def uri(file: str, root: str | Path) -> str:
    """Return the address of `file`: relative to `root` where it is below it, percent-encoded.

    >>> uri("/home/me/my car.py", "/home/me"), uri("/opt/car.py", "/home/me")
    ('my%20car.py', 'file:///opt/car.py')
    """
    below = path_below(file, root)
    if below is not None:
        return quote(os.fsencode(below))
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
