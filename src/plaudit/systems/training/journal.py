"""What is written down of a run while it goes on: a line of JSON for each update, and curves for TensorBoard."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plaudit.adapters.tensorboard import Scalars
from plaudit.atomic import AtomicFile
from plaudit.errors import FileError, MissingExtra
from plaudit.ledger.jsonl import append_line, mend_lines
from plaudit.systems.training.run import LOG

Row = Mapping[str, Any]
"""What there is to know of an update: the keys are the same for each."""

_GROUPS = {
    "episode": ("episodes", "return", "length", "stage", "win_rate", "collision_rate", "hazard_rate"),
    "policy": ("kl", "clip_fraction", "entropy", "entropy_share", "std"),
    "loss": ("loss", "policy_loss", "value_loss", "explained_variance", "gradient"),
    "speed": ("steps_per_second",),
}
_GROUP = {name: f"{group}/{name}" for group, names in _GROUPS.items() for name in names}


class Curves:
    """Curves for TensorBoard, over the steps of all games."""

    def __init__(self, folder: Path, *, after: int = 0, extra: str = "train") -> None:
        """Begin a file in a folder; what older files there have after that many steps was undone."""
        try:
            self._scalars = Scalars(folder, after=after or None, extra=extra)
        except MissingExtra as error:
            raise MissingExtra(f"{error}, or leave them out: --no-tensorboard.") from None

    def write(self, row: Row) -> None:
        """Write down an update."""
        self._scalars.write({tag: row[name] for name in row if (tag := _find_tag(name))}, row["steps"])

    def close(self) -> None:
        """Finish writing."""
        self._scalars.close()


def _find_tag(name: str) -> str | None:
    """Return what a figure is called in TensorBoard: terms name their group themselves, some figures are not drawn."""
    return name if "/" in name else _GROUP.get(name)


class Journals:
    """All that updates are written to, and what was logged so far."""

    def __init__(self, log: Path, rows: list[dict[str, Any]], curves: Curves | None) -> None:
        """Go on after `rows`."""
        self.rows = rows
        self._log, self._curves = log, curves

    def write(self, row: Row) -> None:
        """Write down an update; NaN and infinities are null in the log."""
        plain = replace_non_finite(row)
        append_line(self._log, plain, fsync=False)
        if self._curves is not None:
            self._curves.write(row)
        self.rows.append(plain)


@contextmanager
def open_journals(out: Path, *, after: int, tensorboard: bool, extra: str = "train") -> Iterator[Journals]:
    """Yield what the updates of a run are written to; `extra` is what of plaudit brings TensorBoard."""
    mend_lines(out / LOG)  # which makes it, so that a folder that cannot be written to is told at once
    rows = read_rows(out / LOG)
    curves = Curves(out / "tensorboard", after=after, extra=extra) if tensorboard else None
    try:
        yield Journals(out / LOG, rows, curves)
    finally:
        if curves is not None:
            curves.close()


def replace_non_finite(row: Row) -> dict[str, Any]:
    """Return a row as JSON has it: NaN and infinities are null."""
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a run; a last line that was cut off by a crash is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines[:-1]] + [json.loads(line) for line in lines[-1:] if _is_whole(line)]
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from None


def _is_whole(line: str) -> bool:
    return line.startswith("{") and line.endswith("}")


def drop_rows_after(path: Path, update: int) -> None:
    """Leave out the rows after an update: a run that goes on from there will write them again."""
    kept = [row for row in read_rows(path) if row["update"] <= update]
    with AtomicFile(path) as draft:
        draft.file.writelines(json.dumps(row) + "\n" for row in kept)
        draft.commit()
