"""Objects of a storage: looked up, read as a stream of bytes, and written whole."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plaudit.atomic import AtomicFile, build_write_error
from plaudit.errors import FileError
from plaudit.rows.addresses import explain_storage_errors, open_address, upload_file

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

BUFFER = 4 << 20
"""How much to ask a storage for at a time."""


def find_object(address: str) -> "FileInfo":
    """Return what is at an address, perhaps nothing; FileError where its bucket is away or nothing answers."""
    files, path = open_address(address)
    with explain_storage_errors(address):
        found: FileInfo = files.get_file_info(path)
    bucket = path.partition("/")[0]
    missing = False
    if found.type.name == "NotFound":
        with contextlib.suppress(OSError):  # not everybody may look at a whole bucket
            missing = files.get_file_info(bucket).type.name == "NotFound"
    if missing:
        raise FileError(f"{address}: there is no bucket {bucket!r}.")
    return found


class ObjectReader:
    """An object to read from its beginning, like a file that is open in binary mode."""

    def __init__(self, address: str) -> None:
        """Open the object; FileError where it cannot be read."""
        found = find_object(address)
        if not found.is_file:
            kind = "is a folder; name an object in it" if found.type.name == "Directory" else "does not exist"
            raise FileError(f"{address} {kind}.")
        self._address, self.size = address, int(found.size)
        files, path = open_address(address)
        with explain_storage_errors(address):
            self._stream: Any = files.open_input_stream(path, compression=None, buffer_size=BUFFER)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, none at the end."""
        with explain_storage_errors(self._address):
            return bytes(self._stream.read(None if size < 0 else size))

    def close(self) -> None:
        """Stop reading."""
        self._stream.close()


class ObjectDraft:
    """An object to be: a temporary file until `commit` puts all of it under its address."""

    def __init__(self, address: str) -> None:
        """Open the temporary file; FileError where the bucket is away."""
        find_object(address)
        self._address = address
        name = hashlib.sha256(address.encode()).hexdigest()[:16]
        self._local = AtomicFile(Path(tempfile.gettempdir(), f"plaudit-{name}"))
        self.file, self.path = self._local.file, self._local.path

    def commit(self) -> None:
        """Finish writing and put the object under its address."""
        try:
            self.file.close()
        except OSError as error:
            raise build_write_error(self._address, error) from None
        upload_file(os.fspath(self.path), self._address)

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        self._local.discard()


def read_start(address: str, size: int) -> bytes:
    """Return the first bytes of an object, none where there is no such object."""
    if not find_object(address).is_file:
        return b""
    reader = ObjectReader(address)
    try:
        return reader.read(size)
    finally:
        reader.close()


def remove_object(address: str) -> None:
    """Remove an object."""
    files, path = open_address(address)
    with explain_storage_errors(address):
        files.delete_file(path)
