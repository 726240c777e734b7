"""Simulations in worker processes: SUMO is one a process, and must not share it with pyarrow."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import groupby
from typing import Any, TypeVar

from plaudit.errors import SimulatorError
from plaudit.systems.roadsense.experiment.driving import Drive, driven
from plaudit.systems.roadsense.experiment.study import Case

TOGETHER = 5
"""Episodes that a worker drives at a time: about a second, which is how long Ctrl-C waits at most."""

Given = TypeVar("Given")
Found = TypeVar("Found")


def simulated(cases: Sequence[Case], *, workers: int) -> Iterator[Drive]:
    """Drive cases in worker processes and yield each drive as it comes; what is left when nobody asks on is dropped."""
    tasks = [list(part) for part in _parts(cases)]
    for drives in spread(_drive_all, tasks, workers=workers):
        yield from drives


def _parts(cases: Sequence[Case]) -> Iterator[list[Case]]:
    for _, group in groupby(cases, key=lambda case: case[:3]):
        same = list(group)
        for start in range(0, len(same), TOGETHER):
            yield same[start : start + TOGETHER]


def _drive_all(cases: list[Case]) -> list[Drive]:
    return list(driven(cases))


def spread(function: Callable[[Given], Found], tasks: Sequence[Given], *, workers: int) -> Iterator[Found]:
    """Yield what a function makes of each task, in worker processes and as it comes.

    A worker gets its next task when it asks for one, so that there is little to wait for when the caller stops.
    """
    if not tasks:
        return
    left = iter(tasks)
    with _pool(min(workers, len(tasks))) as pool:
        running: set[Future[Found]] = set()
        for task in left:
            running.add(pool.submit(function, task))
            if len(running) < workers:
                continue
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give worker processes that are fresh, with nothing of this one but what they import."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BrokenProcessPool:
        raise SimulatorError(
            "a worker process died in the middle of a drive. What was driven is kept: run it again to go on."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Make a worker leave Ctrl-C to the process that started it, and end with that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)  # there is nobody left to tell
