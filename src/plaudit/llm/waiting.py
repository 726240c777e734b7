"""Calls that are waited for, side by side: coroutines step by step, blocking functions in threads of their own."""

import asyncio
import contextvars
import ctypes
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from plaudit.errors import FeatureTimeout, InputError
from plaudit.llm.deadline import AGAIN, Deadline, Interruptible, describe_timeout

_GRACE = 5.0
"""Seconds that a call has to end after it was cancelled; a thread has as long again as its timeout, if that is more."""
_LOOK = 0.05
"""Seconds until it is looked again whether a thread may start."""
_SWALLOWED = "; it was given up, as it catches asyncio.CancelledError and goes on: raise that again"
_IN_C = "; it was given up, as it cannot be interrupted: give what it waits for a timeout of its own"


class StuckThreads:
    """Threads that went on after their time, of all batches; they count until they end."""

    def __init__(self) -> None:
        """Begin without one."""
        self._threads: list[threading.Thread] = []

    def __reduce__(self) -> Any:
        """Pickle none: in another process there are no such threads."""
        return StuckThreads, ()

    def add(self, thread: threading.Thread) -> None:
        """Count a thread until it ends."""
        self._threads.append(thread)

    def count(self) -> int:
        """Return how many have not ended."""
        self._threads = [each for each in self._threads if each.is_alive()]
        return len(self._threads)


class LeavingExecutor(ThreadPoolExecutor):
    """Runs what coroutines hand to `asyncio.to_thread`; a loop that closes does not wait for what hangs there."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin nothing more, and leave what runs."""
        super().shutdown(wait=False, cancel_futures=True)


class Calls:
    """Calls that are waited for in one event loop, each for so many seconds at most; None for any time."""

    def __init__(self, seconds: float | None, deadline: Deadline, stuck: StuckThreads, limit: int) -> None:
        """Keep what interrupts a step that takes too long, and how many threads may run."""
        self.seconds, self.deadline, self._stuck, self._limit = seconds, deadline, stuck, limit
        self._running = 0
        self.kept = 0.0
        """How long steps of all coroutines have kept the loop."""

    async def wait_for(self, work: Awaitable[Any]) -> Any:
        """Return what a coroutine returns; FeatureTimeout where it takes longer, and is cancelled."""
        steps = _Steps(work, self)
        task = asyncio.ensure_future(steps.run())
        left = self.seconds
        try:
            while left is None or left > 0:
                await asyncio.wait({task}, timeout=left)
                if task.done():
                    break
                left = None if self.seconds is None else self.seconds - steps.elapsed
        finally:
            obeyed = await steps.end(task)
        if self.seconds is None or steps.elapsed <= self.seconds:
            return task.result()
        raise describe_timeout(self.seconds, "" if obeyed else _SWALLOWED)

    async def run_in_thread(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns in a thread; FeatureTimeout where it takes longer, and is interrupted."""
        await self._find_place()
        self._running += 1
        try:
            return await self._wait_for_thread(partial(contextvars.copy_context().run, function))
        finally:
            self._running -= 1

    async def _find_place(self) -> None:
        """Wait until a thread may start; FeatureTimeout where all are stuck."""
        while (stuck := self._stuck.count()) + self._running >= self._limit:
            if stuck >= self._limit:
                raise FeatureTimeout(
                    f"not called: {stuck} calls from before have not ended, though their time is over, and "
                    f"concurrency={self._limit} allows no more at once. Give what they wait for a timeout of its own."
                )
            await asyncio.sleep(_LOOK)

    async def _wait_for_thread(self, function: Callable[[], Any]) -> Any:
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        call = Interruptible(self.seconds)
        thread = threading.Thread(target=_settle, args=(call, function, done), name="plaudit-feature", daemon=True)
        thread.start()
        try:
            await asyncio.wait({done}, timeout=self.seconds)
            until = time.monotonic() + max(self.seconds or 0.0, _GRACE)
            while not done.done() and (left := until - time.monotonic()) > 0:
                call.interrupt()
                await asyncio.wait({done}, timeout=min(left, AGAIN))
        finally:
            if not done.done():
                done.cancel()
                call.interrupt()
                self._stuck.add(thread)
        if done.cancelled():
            raise describe_timeout(self.seconds or 0.0, _IN_C)
        return done.result()


class _Steps:
    """A coroutine that is run step by step, from one wait to the next, and can be left where it waits."""

    def __init__(self, work: Awaitable[Any], calls: Calls) -> None:
        self._steps: Any = work.__await__()
        self._calls = calls
        self._started: float | None = None
        self._kept_before = self._own = 0.0
        self._took: float | None = None
        self._is_left = False

    @property
    def elapsed(self) -> float:
        """How long it has run, without the time for which steps of others kept the loop."""
        if self._took is not None or self._started is None:
            return self._took or 0.0
        others = self._calls.kept - self._kept_before - self._own
        return time.monotonic() - self._started - others

    async def run(self) -> Any:
        """Return what the coroutine returns."""
        self._started, self._kept_before = time.monotonic(), self._calls.kept
        try:
            return await self
        finally:
            self._took = self.elapsed

    def __await__(self) -> Generator[Any, Any, Any]:
        """Hand on what the coroutine waits for, and to it what comes of that."""
        resume: Callable[[], Any] = partial(self._steps.send, None)
        while True:
            try:
                waited = self._step(resume)
            except StopIteration as done:
                return done.value
            try:
                sent = yield waited
            except BaseException as error:  # a cancellation, maybe one of its own, as by asyncio.timeout
                if self._is_left or isinstance(error, GeneratorExit):
                    raise
                resume = partial(self._steps.throw, error)
            else:
                resume = partial(self._steps.send, sent)

    def _step(self, resume: Callable[[], Any]) -> Any:
        """Return what the coroutine waits for next; FeatureTimeout where it does not come to wait."""
        started = time.monotonic()
        try:
            return self._calls.deadline.call(resume, (), {})
        finally:
            took = time.monotonic() - started
            self._own += took
            self._calls.kept += took

    async def end(self, task: "asyncio.Task[Any]") -> bool:
        """Cancel a task that runs this, and leave it where it goes on; return whether it ended by itself."""
        try:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_GRACE)
        finally:
            obeyed, self._is_left = task.done(), True
            try:
                self._calls.deadline.call(self._steps.close, (), {})
            except Exception:  # whatever it raises when it is told to end, or that it does not
                _keep_forever(self._steps)
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # which nobody else may ask for
        return obeyed


def _keep_forever(steps: Any) -> None:
    """Keep a coroutine that does not end from being deleted: Python would tell it to end again, outside any loop."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(steps))


def _settle(call: Interruptible, function: Callable[[], Any], done: "asyncio.Future[Any]") -> None:
    """Call a function in this thread, and say in the loop of a future what came of it."""

    def settle() -> None:
        if done.done():
            return
        if failed is None:
            done.set_result(found)
        else:
            done.set_exception(failed)

    found: Any = None
    failed: BaseException | None = None
    try:
        found = call.call(function, (), {})
    except Exception as error:
        failed = replace_stop(error)
    except BaseException as error:
        failed = error
    with suppress(RuntimeError):  # of a loop that is closed: nothing waits for this any more
        done.get_loop().call_soon_threadsafe(settle)


def replace_stop(error: Exception) -> Exception:
    """Return the error of a feature; in place of StopIteration, which ends a coroutine, one that says what happened."""
    stops = StopIteration | StopAsyncIteration
    if not isinstance(error, stops) and not (isinstance(error, RuntimeError) and isinstance(error.__cause__, stops)):
        return error
    replaced = InputError("StopIteration: next() found nothing; give it a default, as in next(found, None).")
    replaced.__cause__ = error
    return replaced
