"""Files and folders that appear under their name when they are complete, or not at all."""

import contextlib
import errno
import os
import re
import shutil
import weakref
from pathlib import Path
from secrets import token_hex
from typing import Self

from plaudit.errors import FileError, UnusableFile, WrongType, shorten
from plaudit.file_lock import try_lock


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
        self.name, self.target, self.path = self._hidden.name, self._hidden.target, self._hidden.path
        self.file = self.path.open("w", encoding="utf-8", newline="\n")

    def commit(self) -> None:
        """Finish writing and put the file under its name."""
        try:
            self.file.close()
        except OSError as error:
            raise build_write_error(self.name, error) from None
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
        self.target = Path(os.path.realpath(parse_path(path)))  # a link keeps pointing where it did
        self.name = os.fspath(path)
        if self.target.is_dir():
            raise FileError(f"{self.name} is a directory; name a file in it.")
        if not self.target.parent.is_dir():
            raise build_write_error(self.name, f"there is no folder {self.target.parent}")
        if self.target.exists() and not self.target.is_file():
            raise build_write_error(self.name, "it is not a regular file and would be replaced by one")
        if self.target.exists() and not os.access(self.target, os.W_OK):
            raise build_write_error(self.name, "Permission denied")
        self._claim = _Claim(self.target, self.name)
        self.path = self._claim.path
        try:
            self.path.open("x").close()
            if self.target.exists():
                shutil.copymode(self.target, self.path)
        except OSError as error:
            self.discard()
            raise build_write_error(self.name, error) from None

    def commit(self) -> None:
        """Put the file, which is complete, under its name."""
        try:
            with self.path.open("rb+") as file:
                os.fsync(file.fileno())
            self.path.replace(self.target)
        except OSError as error:
            raise build_write_error(self.name, error) from None
        self._claim.release()

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        self._claim.release()

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
        self.target = Path(os.path.realpath(parse_path(path)))
        self.name = os.fspath(path)
        if not self.target.parent.is_dir():
            raise build_write_error(self.name, f"there is no folder {self.target.parent}")
        if not os.access(self.target.parent, os.W_OK):
            raise build_write_error(self.name, "Permission denied")
        if self.target.exists() and not overwrite:
            raise FileError(f"{self.name} already exists; name another folder, or pass overwrite=True (--force).")
        if self.target.exists() and not self.target.is_dir():
            raise FileError(f"{self.name} is a file; name a folder.")
        self._claim = _Claim(self.target, self.name)
        self.path = self._claim.path

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
            raise build_write_error(self.name, error) from None
        shutil.rmtree(old, ignore_errors=True)
        self._claim.release()

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        self._claim.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


class _Claim:
    """A hidden name beside a target, ours for as long as this process lives: a lock on a file beside it says so.

    What processes that are dead left under such names of the same target is removed first. Whatever interrupts this
    process, what is under the name is removed with the claim, or when the process ends.
    """

    def __init__(self, target: Path, name: str) -> None:
        try:
            _remove_abandoned(target)
            while not self._take(_hidden_path(target)):
                pass  # another process took it for abandoned, in the moment before it was locked
        except OSError as error:
            raise build_write_error(name, error) from None

    def _take(self, path: Path) -> bool:
        self.path, owner = path, _owner_path(path)
        opened: list[int] = []
        self.release = weakref.finalize(self, _remove_claimed, path, owner, opened, os.getpid())
        opened.append(os.open(owner, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            taken = try_lock(opened[0]) and os.fstat(opened[0]).st_nlink > 0
        except OSError:  # a file system without locks: nobody can take it for abandoned there
            taken = True
        if not taken:
            self.release()
        return taken


def _remove_claimed(path: Path, owner: Path, opened: list[int], process: int) -> None:
    """Remove what is under a claimed name, unless this is a copy of the process that claimed it."""
    if opened and process == os.getpid():
        _remove_draft(path)
        os.close(opened[0])  # first: Windows removes no file that is open
        with contextlib.suppress(OSError):
            owner.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    """Remove hidden files and folders of processes that died before they put them under the name of `target`."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part")
    try:
        beside = list(target.parent.iterdir())
    except OSError:  # a folder to write to, and not to read
        return
    for found in beside:
        path = found.with_suffix("")
        if found != _owner_path(path) or not name.fullmatch(path.name) or found.is_symlink():
            continue
        with contextlib.suppress(OSError):  # somebody else's, or just gone
            file = os.open(found, os.O_RDWR)
            try:
                abandoned = try_lock(file)
                if abandoned:
                    _remove_draft(path)
            finally:
                os.close(file)
            if abandoned:
                found.unlink(missing_ok=True)


def _remove_draft(path: Path) -> None:
    """Remove a hidden file, with what SQLite puts beside one, or a hidden folder."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            for ending in ("-wal", "-shm", "-journal", ".lock", ""):
                path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)


def parse_path(path: str | os.PathLike[str]) -> Path:
    """Return a path; WrongType where it is none, FileError where no file can have that name."""
    try:
        parsed = Path(path)
    except TypeError:
        raise WrongType(f"{shorten(path)} is not a path; pass a string or a pathlib.Path.") from None
    try:
        os.stat(parsed)
    except ValueError as error:  # a NUL character, or what cannot be encoded
        raise FileError(f"{shorten(str(parsed))} cannot be a file name: {error}.") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise FileError(f"{shorten(str(parsed))} cannot be opened: {error.strerror}.") from None
    return parsed


def sync_folder(folder: Path) -> None:
    """Return when the names of the files in `folder` are on the disk; OSError where it refuses."""
    if os.name == "nt":  # it knows no such thing
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _owner_path(hidden: Path) -> Path:
    return hidden.with_name(f"{hidden.name}.owner")


def _hidden_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.{token_hex(4)}.part")


_NO_FAULT_OF_THE_NAME = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def build_write_error(name: str, reason: str | OSError) -> FileError:
    """Return the error for a file that cannot be written."""
    kind = FileError
    if isinstance(reason, OSError):
        kind = UnusableFile if reason.errno in _NO_FAULT_OF_THE_NAME else FileError
        reason = (os.strerror(reason.errno) if reason.errno else "") or str(reason)
    return kind(f"{name} cannot be written: {reason}")
