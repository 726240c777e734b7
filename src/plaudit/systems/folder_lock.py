"""One run at a time in a folder: a second one is refused before it writes anything."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plaudit.errors import FileError, LedgerBusy
from plaudit.file_lock import acquire_lock

LOCK = ".lock"


@contextmanager
def lock_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder where it is not there, and keep other runs out of it; LedgerBusy where one is at work in it.

    The file `.lock` stays; what counts is who holds it, and the system lets it go when its holder dies.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except FileExistsError:
        raise FileError(f"{place} is a file; name a folder.") from None
    except OSError as error:
        raise FileError(f"{place} cannot be made or written to: {error.strerror or error}") from None
    try:
        try:
            acquire_lock(file, os.fspath(place), timeout=0)
        except LedgerBusy:
            busy = f"another run is writing to {place}. Wait until it ends, or name another folder."
            raise LedgerBusy(busy) from None
        yield place
    finally:
        os.close(file)  # which lets go of it
