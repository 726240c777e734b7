"""A Ctrl-C in this process, which pytest may have been told to ignore."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from plaudit.systems.training.run import Stop


@pytest.fixture
def heed_ctrl_c() -> Iterator[None]:
    """Let a Ctrl-C reach this process: a script that runs pytest with `&` has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopping_after(updates: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return options of a training that stop it after so many updates, and the rows of its updates."""
    stop, rows = Stop(), []

    def note(row: dict[str, Any]) -> None:
        rows.append(row)
        if len(rows) == updates:
            stop.signal = signal.SIGINT

    return {"stop": stop, "on_update": note}, rows


@contextmanager
def ctrl_c_after(updates: int, commands: ModuleType) -> Iterator[None]:
    """Let what a module trains meanwhile get a Ctrl-C after so many updates."""
    train = commands.train

    def run(*arguments: Any, on_update: Any, **options: Any) -> Any:
        def tell(row: dict[str, Any]) -> None:
            on_update(row)
            if row["update"] == updates:
                signal.raise_signal(signal.SIGINT)

        return train(*arguments, on_update=tell, **options)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored, so is a Ctrl-C
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(commands, "train", run)
            yield
    finally:
        signal.signal(signal.SIGINT, before)
