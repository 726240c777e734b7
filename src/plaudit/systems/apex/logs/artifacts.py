"""The logs of a run: written line by line as it goes or a whole episode at once, and read again.

Three logs have the keys of the specification and no other. What is known beyond them is in a fourth, `extras.jsonl`:
a line names the log and the line there that it belongs to, repeats the `step` or `i` of that line, and has the rest.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from plaudit.atomic import AtomicFile
from plaudit.errors import FileError, InputError, LedgerBusy, LedgerError
from plaudit.file_lock import try_lock
from plaudit.ledger.jsonl import append_line, encode, mend_lines, read_lines
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow, Row
from plaudit.systems.apex.reward import RewardAccumulator

REWARDS = "rewards.jsonl"
DECISIONS = "controller_decisions.jsonl"
LATENCIES = "controller_latency.jsonl"
EXTRAS = "extras.jsonl"

AnyRow = TypeVar("AnyRow", bound=Row)


class Artifacts:
    """The logs of a run, to be written as it goes: `rewards.jsonl`, two of the controller, and `extras.jsonl`.

    They lie in the folder `artifacts` of the run's directory unless another `folder` is named. Each row is one line, in
    the file and, unless `fsync=False`, on the disk when the call returns. What a row says beyond its schema goes to
    `extras.jsonl`. Tasks and threads may share one; a second one that writes to the same folder at the same time is
    refused.

    >>> import tempfile
    >>> with Artifacts(tempfile.mkdtemp()) as log:
    ...     log.append_latency(LatencyRow(i=0, ms=0.02))
    ...     log.folder.name, [path.name for path in log.folder.iterdir()]
    ('artifacts', ['controller_latency.jsonl'])
    """

    def __init__(
        self,
        run: str | os.PathLike[str] = ".",
        *,
        folder: str | os.PathLike[str] = "artifacts",
        fsync: bool = True,
    ) -> None:
        """Make the folder where it is not there; a log begins with its first row."""
        self._lock = -1
        self.folder = create_folder(Path(run, folder))
        self.fsync = fsync
        self._dropped: defaultdict[str, bytes] = defaultdict(bytes)
        self._lines: dict[str, int] = {}
        self._mutex = threading.Lock()
        self._closed = False

    def append_reward(self, row: RewardRow | Mapping[str, Any]) -> None:
        """Append the reward of a step.

        Args:
            row: A reward row, or a mapping with its keys.
        """
        self._append(REWARDS, RewardRow, row)

    def append_decision(self, row: DecisionRow | Mapping[str, Any]) -> None:
        """Append a decision of the controller.

        Args:
            row: A decision row, or a mapping with its keys.
        """
        self._append(DECISIONS, DecisionRow, row)

    def append_latency(self, row: LatencyRow | Mapping[str, Any]) -> None:
        """Append the latency of a decision.

        Args:
            row: A latency row, or a mapping with its keys.
        """
        self._append(LATENCIES, LatencyRow, row)

    @property
    def dropped(self) -> dict[str, bytes]:
        """What had to be cut from the end of a log that an earlier run tore, by file."""
        return {name: torn for name, torn in self._dropped.items() if torn}

    def _append(self, name: str, kind: type[AnyRow], row: AnyRow | Mapping[str, Any]) -> None:
        parsed = row if isinstance(row, kind) else kind.from_dict(row)  # type: ignore[arg-type]
        with self._mutex:
            self._open(name)
            extras = build_extras(name, self._lines[name] + 1, parsed)
            if extras is not None:  # first: where a crash comes between the two, no row lacks the episode that it is of
                self._write(EXTRAS, extras)
            self._write(name, parsed.to_dict())
            self._lines[name] += 1

    def _write(self, name: str, row: Mapping[str, Any]) -> None:
        self._dropped[name] += append_line(self.folder / name, row, fsync=self.fsync)

    def _open(self, name: str) -> None:
        """Get a log ready to append to; the first one keeps other writers out of the folder."""
        if self._closed:
            raise LedgerError(f"{self.folder} is closed; open Artifacts again to write.")
        if self._lock < 0 and os.name == "posix":  # elsewhere a folder cannot be opened
            self._lock = os.open(self.folder, os.O_RDONLY)
            alone = True
            with suppress(OSError):  # some file systems lock no folder
                alone = try_lock(self._lock)
            if not alone:
                self._unlock()
                raise LedgerBusy(f"another Artifacts is writing to {self.folder}. Share it, or name another folder.")
        if name not in self._lines:
            self._dropped[name] += mend_lines(self.folder / name)
            self._lines[name] = _count_lines(self.folder / name)

    def _unlock(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    def close(self) -> None:
        """Close the logs."""
        self._closed = True
        self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        """Let other writers in if it was not closed."""
        self._unlock()


class Rows(Iterator[AnyRow], Generic[AnyRow]):
    """The rows of one log, read as they are asked for; `dropped` has the bytes of a last line that was torn."""

    def __init__(self, path: Path, kind: type[AnyRow], offset: int = 0) -> None:
        """Open the log at `path` and what `extras.jsonl` beside it says of its rows; `offset` is added to steps."""
        self._lines = read_lines(path)
        self._kind = kind
        self._offset = offset
        self._extras = _read_extras(path)

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
        where = f"{self._lines.path}, line {self.number}"
        extras = self._extras.pop(self.number, None)
        if extras is not None:
            if row.get(self._kind.NUMBER) != extras.get(self._kind.NUMBER):
                raise InputError(f"{where}: its entry in {EXTRAS} is for another row. Was one of the files edited?")
            if twice := row.keys() & extras["extras"].keys() - {"switch"}:
                raise InputError(f"{where}, key {min(twice)!r}: it is in {EXTRAS} too. Was one of the files edited?")
            row |= extras["extras"]
        if self._offset and isinstance(row.get("step"), int):
            row["step"] += self._offset
        return self._kind.from_dict(row, where)


def build_extras(log: str, line: int, row: Row) -> dict[str, Any] | None:
    """Return what `extras.jsonl` says of a row, the one in that line of its log; None where there is nothing to say."""
    plain = row.to_dict()
    extras = {key: value for key, value in row.to_dict(extras=True).items() if plain.get(key) != value}
    return {"log": log, "line": line, row.NUMBER: plain[row.NUMBER], "extras": extras} if extras else None


def _read_extras(path: Path) -> dict[int, dict[str, Any]]:
    """Return what `extras.jsonl` says of the log at `path`, by the line there."""
    beside = path.with_name(EXTRAS)
    if not beside.exists():
        return {}
    rows = read_lines(beside)
    found = {}
    for row in rows:
        if not isinstance(row.get("line"), int) or not isinstance(row.get("extras"), dict):
            raise InputError(f"{beside}, line {rows.number}: a row needs `log`, `line` and `extras`.")
        if row.get("log") == path.name:
            found[row["line"]] = row
    return found


def read_rewards(path: str | os.PathLike[str], *, offset: int = 0) -> Rows[RewardRow]:
    """Read a log of rewards.

    Args:
        path: The file, or its folder.
        offset: Number to add to every step: 1 for older logs that number transitions from 1.

    Returns:
        An iterator over the rows.

    Example:
        total = sum(row.r_step for row in read_rewards("runs/7/artifacts"))
    """
    return Rows(_find_file(path, REWARDS), RewardRow, offset)


def read_decisions(path: str | os.PathLike[str]) -> Rows[DecisionRow]:
    """Read a log of decisions.

    Args:
        path: The file, or its folder.

    Returns:
        An iterator over the rows.

    Example:
        chosen = [row.action for row in read_decisions("runs/7/artifacts")]
    """
    return Rows(_find_file(path, DECISIONS), DecisionRow)


def read_latencies(path: str | os.PathLike[str]) -> Rows[LatencyRow]:
    """Read a log of latencies.

    Args:
        path: The file, or its folder.

    Returns:
        An iterator over the rows.

    Example:
        slowest = max(row.ms for row in read_latencies("runs/7/artifacts"))
    """
    return Rows(_find_file(path, LATENCIES), LatencyRow)


def build_reward_rows(
    states: Iterable[Mapping[str, Any]], success: bool | None = None, *, detector: str = "explicit"
) -> Iterator[dict[str, Any]]:
    """Yield the reward record of every step of an episode, then that of its end.

    A step has the number of the state it reaches, counted from 1, so the first is step 2. The end has the number
    after the last.

    Args:
        states: The states of the episode.
        success: Whether it ended in success. If None, the last state decides.
        detector: How to detect an advance: one of `DETECTORS`.

    Yields:
        Records for `write_rewards`.

    Raises:
        InputError: There is no state, or a step cannot be scored.

    >>> [row["r_step"] for row in build_reward_rows([{}, {"phase": "coding"}, {"phase": "testing"}], success=True)]
    [0.0, 0.3, 1.0]
    """
    accumulator = RewardAccumulator(detector)
    states = iter(states)
    last = next(states, None)
    if last is None:
        raise InputError("reward 'apex': an episode needs at least one state.")
    step = 1
    for step, state in enumerate(states, start=2):
        try:
            signal = accumulator.signal(last, state)
        except InputError as error:
            error.add_note(f"in the step to state {step}")
            raise
        yield RewardRow.from_signal(step, signal).to_dict()
        last = state
    end = accumulator.reward.score_terminal(success=all_tests_pass(last) if success is None else success)
    yield RewardRow.from_signal(step + 1, end).to_dict()


def write_rewards(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write reward records as JSON lines, atomically.

    The folder is created if needed. A log with extras, as `Artifacts` writes it, is not replaced: the extras would be
    taken for those of the new rows.

    Args:
        path: The file.
        rows: The records, as `build_reward_rows` yields them.

    Raises:
        FileError: The file cannot be written, or is a log with extras.

    Example:
        write_rewards("rewards.jsonl", build_reward_rows(scenario()))
    """
    create_folder(Path(path).parent)
    if _read_extras(Path(path)):
        raise FileError(f"{os.fspath(path)} is the log of a run, with extras beside it. Name another file or folder.")
    with AtomicFile(path) as draft:
        for row in rows:
            write_row(draft, row)
        draft.commit()


def write_row(draft: AtomicFile, row: Mapping[str, Any]) -> None:
    """Write a row to a file that is not complete yet; FileError where the disk refuses it."""
    line = encode(row) + "\n"
    try:
        draft.file.write(line)
    except OSError as error:
        raise FileError(f"{draft.name} cannot be written: {error.strerror or error}") from None


def all_tests_pass(state: Mapping[str, Any]) -> bool:
    """Report whether the pass rate of a state is 1, up to rounding.

    Args:
        state: A state with `test_pass_rate`.

    Returns:
        Whether all tests pass.

    >>> all_tests_pass({"test_pass_rate": 0.1 + 0.2 + 0.7})
    True
    """
    return bool(state.get("test_pass_rate", 0.0) >= 1 - 1e-9)


def create_folder(folder: Path) -> Path:
    """Create a folder where it is not there, and return it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be created: {error.strerror or error}") from None
    return folder


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _find_file(path: str | os.PathLike[str], name: str) -> Path:
    found = Path(path)
    return found / name if found.is_dir() else found
