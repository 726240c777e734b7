"""Connections to the dashboard: how long a request may take to arrive, how large its head may be, how many there are.

uvicorn waits indefinitely for the rest of a request, and for a client that does not read its answer. A client without a
token could use up all connections that way. Here each connection has a few seconds. When there are too many, the one
that has kept the server waiting longest is closed.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from plaudit.page.access import LONGEST_HEAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on clients."""

    seconds: float = 10.0
    """For the whole head of a request, from when the connection was opened or the last answer given; and without
    reading anything of an answer."""
    for_each_address: int = 128
    in_total: int = 512


class Connection(H11Protocol):
    """One connection, which is closed when it keeps the server waiting for too long."""

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        """Take what uvicorn gives to its protocols, and `limits`."""
        super().__init__(*arguments, **options)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._unsent: float = math.inf
        self._is_refused = False

    # -- what happens to it -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for a request, if there is room."""
        super().connection_made(transport)
        self._start_timer()
        others = [
            each
            for each in self.connections
            if isinstance(each, Connection) and each is not self and not each.transport.is_closing()
        ]
        neighbours = [each for each in others if each.address == self.address]
        if len(neighbours) >= self._limits.for_each_address:
            self._make_room(neighbours)
        elif len(others) >= self._limits.in_total:
            self._make_room(others)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Go on with a request; once its head is complete, it is the server that takes its time."""
        if self._is_refused:
            return
        super().data_received(data)
        if self._is_our_turn:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Wait for the answer to be read, and for the next request."""
        super().on_response_complete()
        if not self._is_our_turn:  # else the next one is here already
            self._start_timer()

    def pause_writing(self) -> None:
        """Start the timer while the client does not read."""
        super().pause_writing()
        self._start_timer()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        if self._is_our_turn:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not HTTP or too long; the rest is read and discarded, so that the answer arrives."""
        if self._is_answering:
            self.transport.abort()
            return
        status = 431 if len(self.conn.trailing_data[0]) > LONGEST_HEAD else 400
        text = (
            f"The request line and headers may have at most {LONGEST_HEAD:,} bytes.\n" if status == 431 else f"{msg}\n"
        )
        headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        for event in (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=text.encode()),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._is_refused = True
        self.conn = h11.Connection(h11.SERVER)  # the old one holds what was sent
        self.transport.write_eof()

    # -- how long, and how many ---------------------------------------------------------------------------------------

    @property
    def address(self) -> str | None:
        """Where the client is."""
        return self.client[0] if self.client else None

    @property
    def _is_answering(self) -> bool:  # uvicorn has no cycle before the first request
        return self.cycle is not None and not self.cycle.response_complete  # type: ignore[redundant-expr]

    @property
    def _is_our_turn(self) -> bool:
        return self._is_answering and not self.flow.write_paused

    def _make_room(self, others: Sequence["Connection"]) -> None:
        """Close the one of `others` that has kept the server waiting longest; if all are busy, this one."""
        waiting = [(each._timer.when(), each) for each in others if each._timer is not None and each._has_sent_all]
        _, longest = min(waiting, key=lambda pair: pair[0], default=(0.0, self))
        longest.transport.abort()

    @property
    def _has_sent_all(self) -> bool:
        return self.transport.get_write_buffer_size() == 0

    def _start_timer(self) -> None:
        self._stop_timer()
        self._unsent = math.inf
        self._timer = self.loop.call_later(self._limits.seconds, self._expire)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        """Close the connection, unless its client has read some of an answer meanwhile."""
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._unsent = unsent
            self._timer = self.loop.call_later(self._limits.seconds, self._expire)
        else:
            self.transport.abort()
