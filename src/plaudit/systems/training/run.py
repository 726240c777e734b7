"""What every training run has: a folder, a way to be stopped, and figures of how far it came."""

import json
import math
import signal
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from plaudit.atomic import AtomicFile
from plaudit.errors import FileError
from plaudit.systems.training.settings import SettingsT
from plaudit.terminal import Terminated, install_handlers

CHECKPOINT, POLICY, LOG, REPORT = "checkpoint.npz", "policy.npz", "log.jsonl", "report.json"
"""The files of a run, in its folder."""
SAVES = 20
"""How many checkpoints a run writes, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class RunResult(Generic[SettingsT]):
    """A run that ended, or was stopped."""

    config: SettingsT
    rows: list[dict[str, Any]] = field(repr=False)
    """What was logged of each update, those before it was gone on with too."""
    update: int
    """Updates done."""

    @property
    def complete(self) -> bool:
        """Whether all updates were done."""
        return self.update >= self.config.updates

    @property
    def steps(self) -> int:
        """Steps done, over all environments."""
        return self.update * self.config.batch

    @property
    def seconds(self) -> float:
        """How long all updates took together, without compiling, evaluating and saving."""
        return math.fsum(row["seconds"] for row in self.rows)

    @property
    def speed(self) -> float:
        """Steps a second, of the update in the middle."""
        return statistics.median(row["steps_per_second"] for row in self.rows) if self.rows else float("nan")


def create_run_folder(out: Path) -> None:
    """Make the folder of a new run; FileError where it holds one already."""
    for name in (CHECKPOINT, LOG, REPORT):
        if (out / name).is_file() and (out / name).stat().st_size:
            raise FileError(f"{out} already holds a run ({name}). Resume it with --resume, or name another folder.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{out} cannot be created: {error.strerror or error}") from None


def write_report(out: Path, report: dict[str, Any]) -> None:
    """Write the report of a run into its folder, all of it or nothing."""
    with AtomicFile(out / REPORT) as draft:
        json.dump(report, draft.file, indent=2)
        draft.file.write("\n")
        draft.commit()


class Stop:
    """Whether somebody asked the run to end; it does so after the update that it is in."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @property
    def asked(self) -> bool:
        """Whether it was asked to."""
        return self.signal is not None


@contextmanager
def catch_signals(tell: Callable[[], None] = lambda: None) -> Iterator[Stop]:
    """Take the first Ctrl-C or SIGTERM as a wish that is told and kept; the second one ends at once."""
    stop = Stop()

    def note(number: int, frame: object) -> None:
        if stop.asked:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        stop.signal = number
        tell()

    with install_handlers(note):
        yield stop
