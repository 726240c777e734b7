"""Documents as they are sent: built in threads, once for all who ask at the same time, and kept until they change."""

import asyncio
import gzip
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from plaudit.page.threads import Threads

MOST_BYTES = 64 << 20
"""Compressed bytes of documents to keep; those that nobody asked for the longest go first."""
_THREADS = 4


class Packed(NamedTuple):
    """A document as it is sent."""

    etag: str
    """Named by its content: a browser that has it already is told so."""
    body: bytes
    """Its JSON, compressed by gzip."""


def pack(document: dict[str, Any]) -> Packed:
    """Return a document as it is sent; ValueError where it holds a number that JSON has not.

    >>> gzip.decompress(pack({"return": [1.5, "nan"]}).body)
    b'{"return":[1.5,"nan"]}'
    """
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()  # ASCII: half a character is no error
    return Packed(f'"{hashlib.sha256(text).hexdigest()[:32]}"', gzip.compress(text, 1, mtime=0))


class DocumentCache:
    """Documents by address."""

    def __init__(self, build: Callable[[str], dict[str, Any]], *, most_bytes: int = MOST_BYTES) -> None:
        """Have documents built by `build`, in threads."""
        self._build = build
        self._most_bytes = most_bytes
        self._threads = Threads(_THREADS, "plaudit-document")
        self._kept: OrderedDict[str, Packed] = OrderedDict()
        self._bytes = 0
        self._building: dict[str, asyncio.Future[Packed]] = {}

    async def get(self, address: str) -> Packed:
        """Return a document; what building it raises is raised here."""
        if address in self._kept:
            self._kept.move_to_end(address)
            return self._kept[address]
        future = self._building.get(address)
        if future is None:
            future = self._threads.run(lambda: pack(self._build(address)))
            self._building[address] = future
            future.add_done_callback(lambda done: self._finish(address, done))
        return await asyncio.shield(future)  # whoever leaves does not take it from the others

    def _finish(self, address: str, future: "asyncio.Future[Packed]") -> None:
        if self._building.get(address) is not future:
            if not future.cancelled():
                future.exception()  # what changed meanwhile is built anew: nobody need look at this one
            return
        del self._building[address]
        if future.cancelled() or future.exception() is not None:
            return
        self._kept[address] = future.result()
        self._bytes += len(self._kept[address].body)
        while self._bytes > self._most_bytes and self._kept:
            self._bytes -= len(self._kept.popitem(last=False)[1].body)

    def forget(self, addresses: Iterable[str]) -> None:
        """Build these documents anew when they are asked for, and all that tell of the same run."""
        changed = {tuple(address.split("/")[1:3]) for address in addresses}
        for address in [*self._kept, *self._building]:
            if tuple(address.split("/")[1:3]) in changed:
                self._building.pop(address, None)
                if (packed := self._kept.pop(address, None)) is not None:
                    self._bytes -= len(packed.body)

    def close(self) -> None:
        """Build nothing more."""
        self._threads.close()
