"""A picture's file, which appears when it is complete, or not at all."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from plaudit.atomic import AtomicPath, build_write_error
from plaudit.errors import FileError, PlauditError

PicturePath = str | os.PathLike[str]


def validate_kind(path: PicturePath, kinds: Sequence[str], *, what: str) -> str:
    """Return a file's ending without the dot; FileError where `what` is not saved under such an ending.

    >>> validate_kind("drive.GIF", ["gif"], what="a film")
    'gif'
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in kinds:
        wanted = " or ".join(f".{each}" for each in kinds)
        raise FileError(f"{os.fspath(path)}: {what} is saved as {wanted}; change the file name.")
    return kind


def write_picture(path: PicturePath, write: Callable[[BinaryIO], None]) -> None:
    """Have a picture written to a hidden file beside `path`, and put it in place."""
    with AtomicPath(path) as hidden:
        try:
            with hidden.path.open("wb") as file:
                write(file)
        except OSError as error:
            if isinstance(error, PlauditError):
                raise
            raise build_write_error(hidden.name, error) from None
        hidden.commit()
