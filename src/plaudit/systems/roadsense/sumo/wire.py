"""One message at a time over a pipe: its length, then the value as marshal writes it, floats to the bit."""

import marshal
import os
from typing import Any

HEADER = 4
"""Bytes of the length."""
READ = 1 << 16
"""Bytes asked for at once; the message of a step has a few hundred."""


def send(fd: int, value: Any) -> None:
    """Write a message; it raises `BrokenPipeError` when nobody reads any more."""
    payload = marshal.dumps(value)
    data = memoryview(len(payload).to_bytes(HEADER, "big") + payload)
    while data:
        data = data[os.write(fd, data) :]


def receive(fd: int) -> Any:
    """Return the next message; it raises `EOFError` when the other end is gone.

    The two ends take turns, so that nothing follows a message before it is answered.
    """
    data = _read(fd)
    while len(data) < HEADER or len(data) < HEADER + int.from_bytes(data[:HEADER], "big"):
        data += _read(fd)
    return marshal.loads(data[HEADER:])


def _read(fd: int) -> bytes:
    data = os.read(fd, READ)
    if not data:
        raise EOFError("the other end of the pipe is closed")
    return data
