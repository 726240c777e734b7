"""Which tool wrote a file or a folder."""

import json
from pathlib import Path

from plaudit.adapters.logs.inspect_ai import InspectLog
from plaudit.adapters.logs.log import Log
from plaudit.adapters.logs.trl import PATTERN, TrlLog
from plaudit.adapters.logs.verifiers import RESULTS, TRACES, VerifiersLog
from plaudit.errors import FileError, explain_unreadable

_START = 1 << 16
"""Bytes in which a line says what it is."""


def open_log(path: Path) -> Log:
    """Return the log at a path; FileError where there is none that can be read."""
    found = find_log(path)
    if found is None:
        raise FileError(
            f"{path} is not a log of rollouts. Logs are a folder of TRL's completions_*.parquet or one of these files, "
            f"verifiers' {TRACES} or {RESULTS} or their folder, and Inspect's .eval and .json."
        )
    return found


def find_log(path: Path) -> Log | None:
    """Return the log at a path; None where it is something else."""
    try:
        if path.is_dir():
            return _find_in(path)
        kind = path.suffix.lower()
        if kind == ".parquet":
            path.stat()  # one that is not there is said to be missing here, and not when it is read
            return TrlLog(path)
        if kind in (".eval", ".json", ".jsonl"):
            with path.open("rb") as file:
                start = file.read(_START).lstrip()
            if start.startswith(b'{"plaudit_ledger"'):
                return None
            return _find_lines(path, start) if kind == ".jsonl" else InspectLog(path)
    except OSError as error:
        raise explain_unreadable(path, error) from None
    return None


def _find_in(folder: Path) -> Log | None:
    for name in (TRACES, RESULTS):
        if (folder / name).is_file():
            return VerifiersLog(folder / name, traces=name == TRACES)
    for inner in (folder, folder / "completions"):
        if next(inner.glob(PATTERN), None) is not None:
            return TrlLog(inner)
    return None


def _find_lines(path: Path, start: bytes) -> Log | None:
    """Return a log of verifiers, by what its first line has; a long line may not end within what is looked at."""
    if path.name == TRACES or (start.startswith(b'{"id"') and b'"env"' in start):
        return VerifiersLog(path, traces=True)
    try:
        first = json.loads(start.partition(b"\n")[0])
        is_result = isinstance(first, dict) and {"example_id", "completion"} <= first.keys()
    except ValueError:
        is_result = start.startswith(b'{"example_id"')
    return VerifiersLog(path, traces=False) if is_result or path.name == RESULTS else None


def name_run(path: Path) -> str:
    """Return the run that a log is recorded as, unless another is given: the folder, where the file is called as any.

    >>> name_run(Path("runs/grpo-7/completions")), name_run(Path("logs/sums_aXN.eval"))
    ('grpo-7', 'sums_aXN')
    """
    home = find_home(path)
    return home.name if home.is_dir() else home.stem


def find_home(path: Path) -> Path:
    """Return the file or the folder that a log is, whichever of its files was named."""
    path = path.absolute()
    if path.suffix.lower() not in (".eval", ".json") and (path.stem in ("traces", "results") or path.match(PATTERN)):
        path = path.parent
    return path.parent if path.name == "completions" else path
