"""Reading, scoring and writing at the same time: one block ahead, one behind."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what `items` yields, which are made in another thread, one before it is asked for."""
    end = object()
    with ThreadPoolExecutor(1, "plaudit-reader") as reader:
        coming: Future[Any] = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield item


@contextmanager
def behind(work: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Yield a function that does `work` in another thread; it waits for the call before the last, and raises for it."""
    with ThreadPoolExecutor(1, "plaudit-writer") as writer:
        pending: list[Future[None]] = []

        def hand_over(*arguments: Any) -> None:
            while len(pending) > 1:
                pending.pop(0).result()
            pending.append(writer.submit(work, *arguments))

        yield hand_over
        for last in pending:
            last.result()
