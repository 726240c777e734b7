"""Threads that work for a server, and do not keep it from ending."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


class Threads:
    """A limited number of daemon threads: the program does not wait for their work when it ends.

    It would wait for the pools of the standard library, and a check of a reward may take a minute.
    """

    def __init__(self, most: int, name: str) -> None:
        """Start none yet."""
        self._most = most
        self._name = name
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._started = 0
        self._idle = threading.Semaphore(0)

    def run(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Return what `work` returns, or raises, once a thread has done it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def do() -> None:
            try:
                settle: Callable[..., Any] = future.set_result
                outcome: Any = work()
            except Exception as error:
                settle, outcome = future.set_exception, error
            with suppress(RuntimeError):  # the loop is closed: nothing waits
                loop.call_soon_threadsafe(lambda: None if future.done() else settle(outcome))

        self._orders.put(do)
        if not self._idle.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            order()
            self._idle.release()

    def close(self) -> None:
        """Let the threads end once they are done."""
        for _ in range(self._started):
            self._orders.put(None)
