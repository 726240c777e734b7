"""Rows of a data set as several rewards score them, in batches; nothing is written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from plaudit.errors import WrongType
from plaudit.ledger.dataset.arrow import to_numpy
from plaudit.ledger.dataset.files import find_parts
from plaudit.ledger.dataset.job import Job, Source, read_ahead, read_classes
from plaudit.ledger.dataset.scoring import Scored, Scoring
from plaudit.ledger.returns import Classes, Numbers
from plaudit.ledger.scored import RewardScores, ScoredBatch
from plaudit.ledger.storage.batch import collect_inputs
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.reward.reward import Reward

CONTEXT = ("run", "actor", "episode", "step", "decision_class")
"""Columns that say where a row belongs, as an exported ledger names them."""


class FileScorer:
    """Two rewards over the rows of a data set; `reasons` counts rows that one of them cannot score."""

    def __init__(self, rewards: tuple[Reward, Reward], source: str) -> None:
        """Find the columns of every file: a missing one is an error here, before any row is read."""
        self.rewards = rewards
        parts = find_parts(source) or [Path(source)]
        job = Job(reward=rewards[1], against=rewards[0])
        self._files = [job.open(str(part)) for part in parts]
        self._layouts = [RecordLayout(reward) for reward in rewards]
        self._scorings = [[self._find_columns(reward, file) for reward in rewards] for file in self._files]

    def _find_columns(self, reward: Reward, file: Source) -> Scoring:
        return Scoring(reward, file.schema, file.name, texts=file.texts, rows=file.rows)

    @property
    def reasons(self) -> list[dict[str, int]]:
        """Why rows cannot be scored and how many, by each of the rewards."""
        counted: list[dict[str, int]] = [{} for _ in self.rewards]
        for scorings in self._scorings:
            for reasons, scoring in zip(counted, scorings, strict=True):
                for reason, count in scoring.reasons.items():
                    reasons[reason] = reasons.get(reason, 0) + count
        return counted

    @property
    def unreadable(self) -> int:
        """Lines that are no row at all."""
        return sum(file.unreadable for file in self._files)

    def score(self, progress: Callable[[int, int], None] | None = None) -> Iterator[ScoredBatch]:
        """Yield the rows in order."""
        first, total = 0, sum(file.total for file in self._files)
        passed = 0
        for file, scorings in zip(self._files, self._scorings, strict=True):
            context = [name for name in CONTEXT if name in file.schema.names]
            needed = dict.fromkeys([*context, *(one.dotted for scoring in scorings for one in scoring.found)])
            for chunk in read_ahead(file.chunks(list(needed), None)):
                rows = chunk.batch.num_rows
                scored = [scoring(chunk.batch, chunk.wrong) for scoring in scorings]
                scores = tuple(self._stack(at, each, rows) for at, each in enumerate(scored))
                numbers = np.arange(first, first + rows)
                yield ScoredBatch(numbers, *_read_context(chunk.batch, context, file.name), scores)
                first += rows
                if progress is not None:
                    progress(passed + chunk.done, total)
            passed += file.total

    def _stack(self, at: int, scored: Scored, rows: int) -> RewardScores:
        layout = self._layouts[at]
        outputs = layout.stack_scores(scored.scores, rows)
        if scored.bad:
            outputs[~scored.ok] = np.nan

        def read_inputs(row: int) -> list[float]:
            one = {name: column[row : row + 1] for name, column in scored.columns.items()}
            found: list[float] = collect_inputs(layout, one, 1)[0].tolist()
            return found

        return RewardScores(layout, outputs, read_inputs)


def _read_context(
    batch: pa.RecordBatch, names: Sequence[str], file: str
) -> tuple[Classes | None, Numbers | None, Classes]:
    columns = {name: batch.column(batch.schema.get_field_index(name)) for name in names}
    steps = _read_steps(columns["step"], file) if "step" in columns else None
    classes = (
        read_classes(columns["decision_class"])
        if "decision_class" in columns
        else Classes([None], np.zeros(batch.num_rows, np.intp))
    )
    return (_read_episodes(columns) if "episode" in columns else None), steps, classes


def _read_episodes(columns: Mapping[str, Any]) -> Classes:
    """Return run, actor and episode of each row as one label."""
    parts = [read_classes(columns[name]) if name in columns else None for name in ("run", "actor", "episode")]
    whole = np.zeros(len(columns["episode"]), np.int64)
    for part in parts:
        if part is not None:
            whole = whole * len(part.labels) + part.codes
    _, firsts, codes = np.unique(whole, return_index=True, return_inverse=True)
    labels = [tuple(None if part is None else part.labels[part.codes[at]] for part in parts) for at in firsts]
    return Classes(labels, codes)


def _read_steps(column: pa.Array, file: str) -> Numbers:
    try:
        return np.asarray(to_numpy(column.cast(pa.float64()).fill_null(float("nan"))), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise WrongType(f"{file}: the column 'step' of {column.type} holds something that is no number.") from None
