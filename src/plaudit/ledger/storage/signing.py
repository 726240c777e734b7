"""Signed heads: Ed25519 keys, which are the one secret that a ledger can have."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plaudit.errors import FileError, MissingExtra, WrongType

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class Signer:
    """A private key, with which the heads of a ledger are signed."""

    def __init__(self, key: "str | os.PathLike[str] | Ed25519PrivateKey") -> None:
        """Take a key, or read one from a PEM file."""
        ed25519, serialization = _load_library()
        self._key: Ed25519PrivateKey
        if isinstance(key, ed25519.Ed25519PrivateKey):
            self._key = key
            return
        content = _read(key, "sign_with")
        try:
            read = serialization.load_pem_private_key(content, password=None)
        except (ValueError, TypeError) as error:
            raise FileError(f"{key} is not an unencrypted private key in PEM: {error}") from None
        if not isinstance(read, ed25519.Ed25519PrivateKey):
            raise FileError(f"{key} is not an Ed25519 private key; heads are signed with Ed25519.")
        self._key = read

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return self._key.sign(message)


class SignatureChecker:
    """A public key, with which signatures are checked."""

    def __init__(self, key: "str | os.PathLike[str] | Ed25519PublicKey") -> None:
        """Take a key, or read one from a PEM file."""
        ed25519, serialization = _load_library()
        self._key: Ed25519PublicKey
        if isinstance(key, ed25519.Ed25519PublicKey):
            self._key = key
            return
        content = _read(key, "public_key")
        try:
            read = serialization.load_pem_public_key(content)
        except (ValueError, TypeError) as error:
            raise FileError(f"{key} is not a public key in PEM: {error}") from None
        if not isinstance(read, ed25519.Ed25519PublicKey):
            raise FileError(f"{key} is not an Ed25519 public key; heads are signed with Ed25519.")
        self._key = read

    def accepts(self, signature: bytes, message: bytes) -> bool:
        """Return whether the owner of the key signed a message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def format_writer_end(closing: bytes) -> bytes:
    """Return what a writer signs of its chain."""
    return b"plaudit writer\0" + closing


def format_table_end(name: str, rows: int, head: bytes) -> bytes:
    """Return what is signed of the chain of a small table."""
    return b"plaudit table\0%b\0%d\0%b" % (name.encode(), rows, head)


def format_ledger_end(digest: str) -> bytes:
    """Return what is signed of the head of a ledger."""
    return b"plaudit ledger\0" + digest.encode()


def _read(path: Any, name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except TypeError:
        raise WrongType(f"{name}={path!r:.60} is neither an Ed25519 key nor the path of one.") from None
    except OSError as error:
        raise FileError(f"{os.fspath(path)} cannot be read: {error.strerror}") from None


def _load_library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingExtra("signed heads need cryptography. Install it: pip install 'plaudit[sign]'") from error
    return ed25519, serialization
