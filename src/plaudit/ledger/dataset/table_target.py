"""A Delta table that scores are written to: its files first, and then one commit that lists them."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from plaudit.errors import FileError
from plaudit.ledger.dataset.job import Job, Run
from plaudit.ledger.dataset.sources import Part
from plaudit.rows.delta_tables import check_schema, commit_files, list_names
from plaudit.rows.parquet_files import ParquetSource


class TableTarget:
    """A Delta table to be, or another version of one.

    A file is named after the one that it is made from and after the job: a file of a table never changes, and one that
    an interrupted run has finished is found again.
    """

    def __init__(self, target: str, run: Run, parts: Sequence[Part], *, overwrite: bool) -> None:
        """Look at what is there; FileError where it has rows of something else that may not be replaced."""
        self._target, self._schema = target, _build_schema(run)
        self.names = _name_files(run, parts)
        check_schema(self._schema)
        self._there = list_names(target)
        self._others = sorted(set(self._there or ()) - set(self.names))
        if self._others and not overwrite:
            raise FileError(
                f"{target} is a Delta table with other rows; name another folder, or pass overwrite=True (--force), "
                "which adds a version and keeps the old ones."
            )

    def commit(self, sizes: Mapping[str, int], rows: Sequence[int]) -> None:
        """List the files, which are complete, in one commit; what the table held of other jobs is left out of it."""
        counted = dict(zip(self.names, rows, strict=True))
        there = set(self._there or ())
        added = {name: (sizes[name], count) for name, count in counted.items() if name not in there}
        if added or self._others or self._there is None:
            held = None if self._there is None else len(there)
            commit_files(self._target, self._schema, added, self._others, held=held)


def _build_schema(run: Run) -> pa.Schema:
    assert isinstance(run.source, ParquetSource)
    numbers = [pa.field(name, pa.float64()) for name in run.job.new_columns[:-1]]
    kept = [run.source.schema.field(name) for name in run.kept]
    return pa.schema([*kept, *numbers, pa.field(run.job.new_columns[-1], pa.bool_())])


def _name_files(run: Run, parts: Sequence[Part]) -> list[str]:
    """Return the names of files of scores, which depend on those before where a reward carries something from them."""
    names, last = list[str](), ""
    for part in parts:
        names.append(_name_file(run.job, part, last))
        last = names[-1] if run.in_order else ""
    return names


def _name_file(job: Job, part: Part, last: str) -> str:
    """Return the name of a file of scores: another job, or other rows of the same file, give another name."""
    assert part.table is not None
    digest = hashlib.sha256(json.dumps(job.identity, sort_keys=True).encode())
    digest.update(f"{last}{part.name}\n{part.table.schema}\n".encode())
    digest.update(b"" if part.table.selected is None else part.table.selected.tobytes())
    stem = re.sub(r"[^\w.-]", "_", part.name.removesuffix(".parquet"), flags=re.ASCII).lstrip("_.")
    return f"{stem}-{digest.hexdigest()[:16]}.parquet"
