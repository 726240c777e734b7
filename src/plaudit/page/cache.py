"""Documents as they are sent: built in threads, once for all concurrent requests, and kept until they change."""

import asyncio
import gzip
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from plaudit.page.threads import Threads

MOST_BYTES = 64 << 20
"""Compressed bytes of documents to keep; the least recently used are dropped first."""
_THREADS = 4
_QUICK = 0.5
"""Seconds: a document that takes longer to build is not rebuilt at every change."""
_SHARE = 20
"""A slow document is kept for this many times its build time, so rebuilding takes at most a twentieth of a core."""


class Packed(NamedTuple):
    """A document as it is sent."""

    etag: str
    """Named by its content: a browser that has it already is told so."""
    body: bytes
    """Its JSON, compressed by gzip."""


def pack(document: dict[str, Any]) -> Packed:
    """Return a document as it is sent; ValueError if it contains NaN or infinity.

    >>> gzip.decompress(pack({"return": [1.5, "nan"]}).body)
    b'{"return":[1.5,"nan"]}'
    """
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()  # ASCII: half a character is no error
    return Packed(f'"{hashlib.sha256(text).hexdigest()[:32]}"', gzip.compress(text, 1, mtime=0))


@dataclass(slots=True, eq=False)
class _Build:
    """A document that is being built, or was."""

    future: "asyncio.Future[Packed]"
    started: float
    seconds: float = 0.0
    outdated: bool = False
    """Whether it changed since it was begun."""


class DocumentCache:
    """Documents by address."""

    def __init__(
        self,
        build: Callable[[str], dict[str, Any]],
        announce: Callable[[Sequence[str]], None],
        *,
        most_bytes: int = MOST_BYTES,
        share: float = _SHARE,
    ) -> None:
        """Build documents with `build`, in threads; `announce` outdated documents when they are dropped."""
        self._build = build
        self._announce = announce
        self._most_bytes = most_bytes
        self._share = share
        self._threads = Threads(_THREADS, "plaudit-document")
        self._kept: OrderedDict[str, _Build] = OrderedDict()
        self._building: dict[str, _Build] = {}
        self._bytes = 0

    async def get(self, address: str) -> Packed:
        """Return a document; what building it raises is raised here."""
        if (found := self._kept.get(address)) is not None:
            self._kept.move_to_end(address)
        elif (found := self._building.get(address)) is None:
            found = _Build(self._threads.run(lambda: pack(self._build(address))), time.monotonic())
            self._building[address] = found
            made = found
            found.future.add_done_callback(lambda _: self._finish(address, made))
        return await asyncio.shield(found.future)  # one client that leaves does not cancel it for the others

    def _finish(self, address: str, build: _Build) -> None:
        if self._building.get(address) is build:
            del self._building[address]
        build.seconds = time.monotonic() - build.started
        failed = build.future.cancelled() or build.future.exception() is not None
        if failed or (build.outdated and build.seconds < _QUICK):
            return
        self._drop(address)
        self._kept[address] = build
        self._bytes += len(build.future.result().body)
        if build.outdated:
            self._drop_later(address, build)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def forget(self, addresses: Iterable[str]) -> None:
        """Rebuild these documents, and all others of the same runs, at the next request.

        A document that took long to build stays for a while, and is announced when it is dropped.
        """
        changed = {_name_run(address) for address in addresses}
        for address in [each for each in self._building if _name_run(each) in changed]:
            build = self._building[address]
            build.outdated = True
            if time.monotonic() - build.started < _QUICK:
                del self._building[address]  # later requests get a newer one
        for address in [each for each in self._kept if _name_run(each) in changed]:
            build = self._kept[address]
            if build.seconds < _QUICK:
                self._drop(address)
            elif not build.outdated:
                build.outdated = True
                self._drop_later(address, build)

    def _drop_later(self, address: str, build: _Build) -> None:
        def drop() -> None:
            if self._kept.get(address) is build:
                self._drop(address)
                self._announce([address])

        until = build.started + (1 + self._share) * build.seconds
        asyncio.get_running_loop().call_later(max(0.0, until - time.monotonic()), drop)

    def _drop(self, address: str) -> None:
        if (build := self._kept.pop(address, None)) is not None:
            self._bytes -= len(build.future.result().body)

    def close(self) -> None:
        """Build nothing more."""
        self._threads.close()


def _name_run(address: str) -> tuple[str, ...]:
    """Return the source and the run of a document; empty for a document about everything."""
    return tuple(address.split("/")[1:3])
