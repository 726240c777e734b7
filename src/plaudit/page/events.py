"""Changes while a page is open: the library is polled, and every listener is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence

from plaudit.page.threads import Threads

MOST_LISTENERS = 100
_EVERY = 0.5
"""Seconds between two polls."""
_SILENCE = 15.0
"""Seconds after which a comment is sent, so that no proxy closes the connection as idle."""


class ChangeFeed:
    """Tells listeners which documents have changed."""

    def __init__(
        self,
        ask: Callable[[], Sequence[str]],
        forget: Callable[[Sequence[str]], None],
        report: Callable[[Exception], str],
        *,
        every: float = _EVERY,
    ) -> None:
        """Poll `ask` for changed addresses and pass them to `forget`; `report` describes an error."""
        self._ask = ask
        self._forget = forget
        self._report = report
        self._every = every
        self._listeners: set[_Listener] = set()
        self._closed = asyncio.Event()
        self._problem: str | None = None

    async def watch(self) -> None:
        """Poll until closed; after an error, try again."""
        threads = Threads(1, "plaudit-changes")
        while not self._closed.is_set():
            try:
                changed = await threads.run(self._ask)
            except Exception as error:  # it may be gone the next time
                self._fail(error)
            else:
                self._tell(changed)
            await _wait(self._closed, self._every)
        threads.close()

    def _tell(self, changed: Sequence[str]) -> None:
        if self._problem is not None:
            self._problem = None
            for listener in self._listeners:
                listener.report("back", None)
        if changed:
            self._forget(changed)
            self.announce(changed)

    def announce(self, changed: Sequence[str]) -> None:
        """Tell every listener that documents have changed."""
        for listener in self._listeners:
            listener.add(changed)

    def _fail(self, error: Exception) -> None:
        """Say once that something cannot be read."""
        if self._problem is None:
            self._problem = self._report(error)
            for listener in self._listeners:
                listener.report("gone", self._problem)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another listener."""
        return len(self._listeners) >= MOST_LISTENERS

    async def listen(self) -> AsyncIterator[str]:
        """Yield events as they are sent, until closed; one that listens slowly gets several changes as one."""
        listener = _Listener()
        self._listeners.add(listener)
        try:
            yield ": listening\n\n"
            if self._problem is not None:
                listener.report("gone", self._problem)
            while not self._closed.is_set():
                await _wait(listener.ready, _SILENCE)
                for event in listener.take() or [": still here\n\n"]:
                    yield event
        finally:
            self._listeners.discard(listener)

    def close(self) -> None:
        """End every stream."""
        self._closed.set()
        for listener in self._listeners:
            listener.ready.set()


class _Listener:
    """The pending events of one listener; their size does not grow with time."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self._changed: dict[str, None] = {}
        self._state: list[str] = []

    def add(self, changed: Sequence[str]) -> None:
        self._changed.update(dict.fromkeys(changed))
        self.ready.set()

    def report(self, event: str, data: str | None) -> None:
        self._state = [_format(event, data)]
        self.ready.set()

    def take(self) -> list[str]:
        self.ready.clear()
        events = [*self._state, *([_format("changed", list(self._changed))] if self._changed else [])]
        self._changed, self._state = {}, []
        return events


def _format(event: str, data: object) -> str:
    return f"event: {event}\ndata: {json.dumps(data)}\n\n"


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
