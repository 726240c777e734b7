"""Drive cases on SUMO, in worker processes, and keep every step as it was measured.

SUMO is one a process, and must not share it with pyarrow.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property, partial
from itertools import groupby
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.experiment.roads import Rows, open_road
from plaudit.systems.roadsense.experiment.study import STUDIES, Case
from plaudit.systems.roadsense.experiment.trained import load_trained
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.sumo.installation import find_version

CASES_AT_ONCE = 5
"""Episodes that a worker drives at a time: about a second, which is how long Ctrl-C waits at most."""
Given = TypeVar("Given")
Found = TypeVar("Found")
_NONE: Mapping[str, str] = MappingProxyType({})


class Drive(NamedTuple):
    """A case as it was driven."""

    case: Case
    rows: Rows
    sumo: str
    """The version of SUMO that drove."""

    @property
    def nearest(self) -> float:
        """The least distance to the car ahead, in meters."""
        return float(self.rows[:, 0].min())

    @property
    def collided(self) -> bool:
        """Whether the car ahead was hit; an episode ends there."""
        return bool(self.rows[-1, Measurement._fields.index("collision")])


def drive_cases(cases: Iterable[Case], trained: Mapping[str, str] = _NONE) -> Iterator[Drive]:
    """Drive cases one after the other, in one simulator for each study.

    `trained` has the files of policies that were trained, by the names that cases have for them.
    """
    for name, group in groupby(cases, key=lambda case: case.study):
        study = STUDIES[name]
        with closing(open_road(study)) as road:
            for case in group:
                path = trained.get(case.policy)
                policy = study.find_policy(case.policy) if path is None else load_trained(path)
                yield Drive(case, road.drive(case, policy), find_version())


def drive_in_workers(cases: Sequence[Case], trained: Mapping[str, str], workers: "Workers") -> Iterator[Drive]:
    """Drive cases in worker processes and yield each drive as it comes; when the caller stops, the rest is dropped."""
    for drives in workers.run(partial(_drive_all, dict(trained)), [list(part) for part in _group_cases(cases)]):
        yield from drives


def _group_cases(cases: Sequence[Case]) -> Iterator[list[Case]]:
    for _, group in groupby(cases, key=lambda case: case[:3]):
        same = list(group)
        for start in range(0, len(same), CASES_AT_ONCE):
            yield same[start : start + CASES_AT_ONCE]


def _drive_all(trained: Mapping[str, str], cases: list[Case]) -> list[Drive]:
    return list(drive_cases(cases, trained))


class Workers:
    """A number of worker processes for all tasks; each starts when it is first needed."""

    def __init__(self, count: int) -> None:
        """Start none yet."""
        self.count = count
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        return self._opened.enter_context(_open_pool(self.count))

    def run(self, function: Callable[[Given], Found], tasks: Sequence[Given]) -> Iterator[Found]:
        """Yield what a function makes of each task, as it comes.

        A worker gets its next task when it asks for one, so that there is little to wait for when the caller stops.
        """
        running: set[Future[Found]] = set()
        for task in tasks:
            running.add(self._pool.submit(function, task))
            if len(running) < self.count:
                continue
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


@contextmanager
def _open_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give worker processes that are fresh, with nothing of this one but what they import."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_initialise_worker)
    try:
        yield pool
    except BrokenProcessPool:
        raise SimulatorError(
            "a worker process died during a drive. What was driven is kept: run it again to go on."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _initialise_worker() -> None:
    """Make a worker leave Ctrl-C to the process that started it, and end with that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: Any) -> None:
    parent.join()
    os._exit(1)  # no process is left to report to
