"""The three logs that a run leaves in its folder: written line by line as it goes, and read again."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from plaudit.errors import FileError, LedgerError, UnknownInput
from plaudit.ledger.jsonl.appending import Fsync, JsonLines, read_lines
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow, Row

REWARDS = "rewards.jsonl"
DECISIONS = "controller_decisions.jsonl"
LATENCIES = "controller_latency.jsonl"

AnyRow = TypeVar("AnyRow", bound=Row)


class Artifacts:
    """The logs of a run, to be written as it goes: `rewards.jsonl` and two of the controller.

    They lie in the folder `artifacts` of the run's directory unless another `folder` is named. Each row is one line, in
    the file as soon as the call returns and on the disk when `fsync` says so: "always" by default, "never", or every so
    many seconds. A row has the keys of its schema and no other unless `extras` are asked for.

    >>> import tempfile
    >>> with Artifacts(tempfile.mkdtemp()) as log:
    ...     log.latency(LatencyRow(i=0, ms=0.02))
    ...     log.folder.name, [path.name for path in log.folder.iterdir()]
    ('artifacts', ['controller_latency.jsonl'])
    """

    def __init__(
        self,
        run: str | os.PathLike[str] = ".",
        *,
        folder: str | os.PathLike[str] = "artifacts",
        extras: bool = False,
        fsync: Fsync = "always",
    ) -> None:
        """Make the folder where it is not there; a log begins with its first row."""
        self.folder = Path(run, folder)
        self.extras = extras
        self.fsync = fsync
        self._logs: dict[str, JsonLines] = {}
        self._closed = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.folder} cannot be made: {error.strerror or error}") from None

    def reward(self, row: RewardRow | Mapping[str, Any]) -> None:
        """Append what a step earned."""
        self._append(REWARDS, RewardRow, row)

    def decision(self, row: DecisionRow | Mapping[str, Any]) -> None:
        """Append a decision of the controller."""
        self._append(DECISIONS, DecisionRow, row)

    def latency(self, row: LatencyRow | Mapping[str, Any]) -> None:
        """Append how long a decision took."""
        self._append(LATENCIES, LatencyRow, row)

    @property
    def dropped(self) -> dict[str, bytes]:
        """What had to be cut from the end of a log that an earlier run tore, by file."""
        return {name: log.dropped for name, log in self._logs.items() if log.dropped}

    def _append(self, name: str, kind: type[AnyRow], row: AnyRow | Mapping[str, Any]) -> None:
        checked = row if isinstance(row, kind) else kind.from_dict(row)  # type: ignore[arg-type]
        if checked.more and not self.extras:
            unknown = ", ".join(map(repr, checked.more))
            raise UnknownInput(
                f"{name}: a row has no key {unknown}. Artifacts(extras=True) writes keys beyond the schema."
            )
        if self._closed:
            raise LedgerError(f"{self.folder} is closed; open Artifacts again to write.")
        if name not in self._logs:
            self._logs[name] = JsonLines(self.folder / name, fsync=self.fsync)
        self._logs[name].append(checked.to_dict(extras=self.extras))

    def close(self) -> None:
        """Close the logs."""
        self._closed = True
        while self._logs:
            self._logs.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Rows(Iterator[AnyRow], Generic[AnyRow]):
    """The rows of one log, read as they are asked for; `dropped` has the bytes of a last line that was torn."""

    def __init__(self, path: Path, kind: type[AnyRow], mend: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Open the log at `path`; `mend` turns what an older log says into what is said today."""
        self._lines = read_lines(path)
        self._kind = kind
        self._mend = mend

    @property
    def dropped(self) -> bytes:
        """The bytes of a torn last line, once the rows are exhausted."""
        return self._lines.dropped

    @property
    def number(self) -> int:
        """The line of the row that came last."""
        return self._lines.number

    def __next__(self) -> AnyRow:
        """Return the next row; an error names file, line and key."""
        row = next(self._lines)
        return self._kind.from_dict(self._mend(row), f"{self._lines.path}, line {self.number}")


def read_rewards(place: str | os.PathLike[str], *, offset: int = 0) -> Rows[RewardRow]:
    """Return the rewards in the log at `place`, a file or the folder it lies in.

    `offset` is added to every step: older logs number transitions from 1, and 1 turns that into the state reached.
    """

    def mend(row: dict[str, Any]) -> dict[str, Any]:
        step = row.get("step")
        return row | {"step": step + offset} if offset and isinstance(step, int) else row

    return Rows(_file(place, REWARDS), RewardRow, mend)


def read_decisions(place: str | os.PathLike[str]) -> Rows[DecisionRow]:
    """Return the decisions in the log at `place`, a file or the folder it lies in."""
    return Rows(_file(place, DECISIONS), DecisionRow, dict)


def read_latencies(place: str | os.PathLike[str]) -> Rows[LatencyRow]:
    """Return the latencies in the log at `place`, a file or the folder it lies in."""
    return Rows(_file(place, LATENCIES), LatencyRow, dict)


def _file(place: str | os.PathLike[str], name: str) -> Path:
    path = Path(place)
    return path / name if path.is_dir() else path
