"""Logs of TRL: the Parquet files that GRPO writes with `log_completions=True`, one for each step that is logged."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np

from plaudit.adapters.logs.log import BadRow, Logged, refuse, require
from plaudit.errors import FileError, LedgerError, UnusableFile
from plaudit.rows.files import explain_missing_arrow

PATTERN = "completions_*.parquet"
_STEP, _PROMPT, _COMPLETION, _ADVANTAGE = "step", "prompt", "completion", "advantage"
_OWN = {_STEP, _PROMPT, _COMPLETION, _ADVANTAGE}
_TOGETHER = 1024
_TOLERANCE = 1e-3
"""How far advantages, which TRL computes in float32, may be from what follows from the rewards."""
_Row = dict[str, Any]


class TrlLog:
    """A folder of such files, or one of them."""

    tool = "trl"

    def __init__(self, path: Path) -> None:
        """Keep the path."""
        self.path = path
        self._varying: set[str] = set()
        """Scores that differ within some group."""
        self._explained = self._unexplained = 0
        """Groups whose advantages follow from the sum of the scores, and others."""

    def read(self) -> Iterator[Logged | BadRow]:
        """Yield its rows; a batch that TRL logged at several steps, since it was trained on in all of them, once."""
        files = sorted(self.path.glob(PATTERN)) if self.path.is_dir() else [self.path]
        before = b""
        for file in files:
            try:
                for _, step in groupby(_read_rows(file), key=lambda numbered: numbered[1].get(_STEP)):
                    rows = list(step)
                    bare = [[part for name, part in row.items() if name != _STEP] for _, row in rows]
                    found = hashlib.sha256(json.dumps(bare, default=str).encode()).digest()
                    if found != before:
                        before = found
                        yield from self._read_step(str(file), rows)
            except UnusableFile as error:
                yield refuse(str(file), 1, error, "")

    def _read_step(self, file: str, rows: Sequence[tuple[int, _Row]]) -> Iterator[Logged | BadRow]:
        """Yield the rows of a step; completions of one prompt follow each other."""
        for _, same in groupby(rows, key=lambda numbered: json.dumps(numbered[1].get(_PROMPT), default=str)):
            group: list[Logged] = []
            advantages: list[float | None] = []
            for number, row in same:
                try:
                    logged = _build(file, number, row, group[0].group if group else None)
                except (KeyError, TypeError, ValueError) as error:
                    yield refuse(file, number, error, json.dumps(row, default=str))
                    continue
                group.append(logged)
                advantages.append(row.get(_ADVANTAGE))
            self._compare(group, advantages)
            yield from group

    def _compare(self, group: Sequence[Logged], advantages: Sequence[float | None]) -> None:
        """Note whether the advantages of a group follow from the sum of its scores, and which scores differ."""
        pairs = [
            (sum(each.scores.values()), advantage)
            for each, advantage in zip(group, advantages, strict=True)
            if each.scores and advantage is not None
        ]
        for name in {name for each in group for name in each.scores}:
            if len({each.scores.get(name) for each in group}) > 1:
                self._varying.add(name)
        if len(pairs) > 2:
            totals, given = (np.array(side) for side in zip(*pairs, strict=True))
            totals, given = totals - totals.mean(), given - given.mean()
            size = float(np.linalg.norm(totals) * np.linalg.norm(given))
            same = abs(float(totals @ given) - size) <= _TOLERANCE * size
            self._explained += same
            self._unexplained += not same

    def choose(self, names: Set[str]) -> Sequence[str]:
        """Return the scores: columns of numbers, if the advantages are theirs; TRL does not say which they are."""
        listed = sorted(names)
        if len(listed) < 2:
            return listed
        if self._unexplained or not self._explained:
            why = "the advantages do not follow from their sum"
        elif flat := [name for name in listed if name not in self._varying]:
            why = f"{flat[0]} is the same for all completions of a prompt, and may be a column of the data set"
        else:
            return listed
        chosen = " ".join(f"--score {name}=WEIGHT" for name in listed)
        raise LedgerError(
            f"{self.path}: the log does not say which columns are rewards, nor their weights; numbers are in "
            f"{', '.join(listed)}, and {why}. Choose rewards with their weights: {chosen} (scores= in Python)."
        )


def _read_rows(path: Path) -> Iterator[tuple[int, _Row]]:
    """Yield the rows of a file with their numbers, from 1."""
    with explain_missing_arrow("a log of TRL"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if lacking := [name for name in (_STEP, _PROMPT, _COMPLETION) if name not in names]:
                raise FileError(f"{path} is not a log of TRL: it has no column {lacking[0]!r}.")
            batches = file.iter_batches(_TOGETHER)
            yield from enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileError):
            raise
        raise UnusableFile(f"it cannot be read as Parquet: {error}") from None


def _build(file: str, number: int, row: _Row, group: str | None) -> Logged:
    step = require(row, _STEP, int)
    prompt, completion = (_drop_nulls(require(row, name, (str, list))) for name in (_PROMPT, _COMPLETION))
    numbers = {name: part for name, part in row.items() if isinstance(part, float) and _may_be_score(name)}
    scores = {name: part for name, part in numbers.items() if not math.isnan(part)}
    inputs = {column: name for column in row if (name := _find_input(column)) is not None}
    content = json.dumps([prompt, completion, scores], default=str).encode()
    return Logged(
        id=f"{step} {number} {hashlib.blake2s(content, digest_size=8).hexdigest()}",
        group=group or f"{step} {number}",
        file=file,
        line=number,
        parts={
            **{name: part for name, part in row.items() if name not in _OWN and name not in inputs},
            _PROMPT: prompt,
            _COMPLETION: completion,
        },
        scores=scores,
        inputs=_read_inputs(row, inputs),
        failed=None if scores or not numbers else "no reward function applies",
        step=step,
    )


def _may_be_score(name: str) -> bool:
    """Return whether a column of numbers may hold rewards; plaudit logs terms and inputs as `reward/term`."""
    return name not in _OWN and "/" not in name


def _find_input(column: str) -> str | None:
    """Return the input of a reward that plaudit logged in a column; None for other columns.

    >>> _find_input("sums/inputs/clear"), _find_input("sums/clarity")
    ('clear', None)
    """
    reward, _, name = column.rpartition("/inputs/")
    return name if reward and name and "/" not in name else None


def _read_inputs(row: _Row, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the inputs of a row; not those of which two rewards have logged different ones."""
    found: dict[str, Any] = {}
    unsure = set()
    for column, name in columns.items():
        value = row[column]
        if isinstance(value, str) or (isinstance(value, bool | int | float) and math.isfinite(value)):
            unsure |= {name} if found.setdefault(name, value) != value else set()
    return {name: value for name, value in found.items() if name not in unsure}


def _drop_nulls(part: Any) -> Any:
    """Return messages without the entries that only others have: a column of Parquet has one type."""
    if isinstance(part, Mapping):
        return {name: _drop_nulls(each) for name, each in part.items() if each is not None}
    return [_drop_nulls(each) for each in part] if isinstance(part, list) else part
