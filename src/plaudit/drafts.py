"""Files that appear under their name when they are complete, or not at all."""

import contextlib
import os
import shutil
from pathlib import Path
from secrets import token_hex
from typing import Self

from plaudit.errors import FileError


class Draft:
    """A text file to be. `commit` puts it under its name in one move; leaving without that leaves nothing behind.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Draft(folder / "scores.txt") as draft:
    ...     _ = draft.file.write("1.0")
    ...     draft.commit()
    >>> [path.name for path in folder.iterdir()]
    ['scores.txt']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a draft beside the file that it will become."""
        self.name = os.fspath(path)
        self.target = Path(os.path.realpath(path))  # a link keeps pointing where it did
        self._draft: Path | None = None
        if self.target.is_dir():
            raise FileError(f"{self.name} is a directory; name a file in it.")
        if not self.target.parent.is_dir():
            raise self._failure(f"there is no folder {self.target.parent}")
        if self.target.exists() and not os.access(self.target, os.W_OK):
            raise self._failure("Permission denied")
        draft = self.target.with_name(f".{self.target.name}.{token_hex(4)}.part")
        try:
            self.file = draft.open("x", encoding="utf-8", newline="\n")
            self._draft = draft
            if self.target.exists():
                shutil.copymode(self.target, draft)
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from None

    def commit(self) -> None:
        """Finish writing and put the file under its name."""
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            if self._draft is not None:
                self._draft.replace(self.target)
                self._draft = None
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from None

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        with contextlib.suppress(OSError):  # what does not fit any more was to be thrown away
            self.file.close()
        if self._draft is not None:
            self._draft.unlink(missing_ok=True)
            self._draft = None

    def _failure(self, reason: str) -> FileError:
        return FileError(f"{self.name} cannot be written: {reason}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()
