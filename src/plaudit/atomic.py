"""Files and folders that appear under their name when they are complete, or not at all."""

import contextlib
import os
import shutil
from pathlib import Path
from secrets import token_hex
from typing import Self

from plaudit.errors import FileError


class AtomicFile:
    """A text file to be. `commit` puts it under its name in one move; leaving without that leaves nothing behind.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with AtomicFile(folder / "scores.txt") as scores:
    ...     _ = scores.file.write("1.0")
    ...     scores.commit()
    >>> [path.name for path in folder.iterdir()]
    ['scores.txt']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a hidden file beside the one that it will become."""
        self._hidden = AtomicPath(path)
        self.name, self.target = self._hidden.name, self._hidden.target
        self.file = self._hidden.path.open("w", encoding="utf-8", newline="\n")

    def commit(self) -> None:
        """Finish writing and put the file under its name."""
        try:
            self.file.close()
        except OSError as error:
            raise build_write_error(self.name, error.strerror or str(error)) from None
        self._hidden.commit()

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        with contextlib.suppress(OSError):  # what does not fit any more was to be thrown away
            self.file.close()
        self._hidden.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


class AtomicPath:
    """A file to be that somebody else writes, to the hidden `path` beside its name; else it is like a `AtomicFile`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Make an empty hidden file beside the one that it will become."""
        self.name = os.fspath(path)
        self.target = Path(os.path.realpath(path))  # a link keeps pointing where it did
        self._open = False
        if self.target.is_dir():
            raise FileError(f"{self.name} is a directory; name a file in it.")
        if not self.target.parent.is_dir():
            raise build_write_error(self.name, f"there is no folder {self.target.parent}")
        if self.target.exists() and not os.access(self.target, os.W_OK):
            raise build_write_error(self.name, "Permission denied")
        self.path = _hidden_path(self.target)
        try:
            self.path.open("x").close()
            self._open = True
            if self.target.exists():
                shutil.copymode(self.target, self.path)
        except OSError as error:
            raise build_write_error(self.name, error.strerror or str(error)) from None

    def commit(self) -> None:
        """Put the file, which is complete, under its name."""
        try:
            with self.path.open("rb+") as file:
                os.fsync(file.fileno())
            self.path.replace(self.target)
            self._open = False
        except OSError as error:
            raise build_write_error(self.name, error.strerror or str(error)) from None

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        if self._open:
            self.path.unlink(missing_ok=True)
            self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


class AtomicFolder:
    """A folder to be that somebody else fills, at the hidden `path` beside its name.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with AtomicFolder(folder / "scores") as hidden:
    ...     hidden.path.mkdir()
    ...     hidden.commit()
    >>> [path.name for path in folder.iterdir()]
    ['scores']
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Choose a hidden name beside the folder to be; one that exists is refused unless it may be replaced."""
        self.name = os.fspath(path)
        self.target = Path(os.path.realpath(path))
        self.path = _hidden_path(self.target)
        if not self.target.parent.is_dir():
            raise build_write_error(self.name, f"there is no folder {self.target.parent}")
        if not os.access(self.target.parent, os.W_OK):
            raise build_write_error(self.name, "Permission denied")
        if self.target.exists() and not overwrite:
            raise FileError(f"{self.name} exists already; name another folder, or say overwrite=True (--force).")
        if self.target.exists() and not self.target.is_dir():
            raise FileError(f"{self.name} is a file; name a folder.")

    def commit(self) -> None:
        """Put the folder, which is complete, under its name; one that was there goes when this one is in its place."""
        old = _hidden_path(self.target)
        try:
            if self.target.exists():
                self.target.rename(old)
            self.path.rename(self.target)
        except OSError as error:
            if old.exists() and not self.target.exists():
                old.rename(self.target)
            raise build_write_error(self.name, error.strerror or str(error)) from None
        shutil.rmtree(old, ignore_errors=True)

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


def sync_folder(folder: Path) -> None:
    """Return when the names of the files in `folder` are on the disk; OSError where it refuses."""
    if os.name == "nt":  # it knows no such thing
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _hidden_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.{token_hex(4)}.part")


def build_write_error(name: str, reason: str) -> FileError:
    """Return the error for a file that cannot be written."""
    return FileError(f"{name} cannot be written: {reason}")
