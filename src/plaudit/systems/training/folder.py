"""The folder of a run: the names of its files, and who may begin there."""

import json
from pathlib import Path
from typing import Any

from plaudit.drafts import Draft
from plaudit.errors import FileError

CHECKPOINT, POLICY, LOG, REPORT = "checkpoint.npz", "policy.npz", "log.jsonl", "report.json"
"""The files of a run, in its folder."""
SAVES = 20
"""How many checkpoints a run writes, unless told otherwise."""


def begin_in(out: Path) -> None:
    """Make the folder of a new run; FileError where it holds one already."""
    for name in (CHECKPOINT, LOG, REPORT):
        if (out / name).is_file() and (out / name).stat().st_size:
            raise FileError(f"{out} holds a run already ({name}). Go on with it: --resume; or name another folder.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{out} cannot be made: {error.strerror or error}") from None


def write_report(out: Path, report: dict[str, Any]) -> None:
    """Write the report of a run into its folder, all of it or nothing."""
    with Draft(out / REPORT) as draft:
        json.dump(report, draft.file, indent=2)
        draft.file.write("\n")
        draft.commit()


def installed() -> str:
    """Return the version of plaudit."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("plaudit")
    except PackageNotFoundError:
        return "(not installed)"
