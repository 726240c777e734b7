"""A picture's file, which appears when it is complete, or not at all."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from plaudit.drafts import HiddenFile, unwritable
from plaudit.errors import FileError, PlauditError

Place = str | os.PathLike[str]


def kind_of(path: Place, kinds: Sequence[str], *, what: str) -> str:
    """Return a file's ending without the dot; FileError where `what` is not saved under such an ending.

    >>> kind_of("drive.GIF", ["gif"], what="a film")
    'gif'
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in kinds:
        wanted = " or ".join(f".{each}" for each in kinds)
        raise FileError(f"{os.fspath(path)}: {what} is saved as {wanted}; name the file so.")
    return kind


def save(path: Place, write: Callable[[BinaryIO], None]) -> None:
    """Have a picture written to a hidden file beside `path`, and put it in place."""
    with HiddenFile(path) as hidden:
        try:
            with hidden.path.open("wb") as file:
                write(file)
        except OSError as error:
            if isinstance(error, PlauditError):
                raise
            raise unwritable(hidden.name, error.strerror or str(error)) from None
        hidden.commit()
