"""Rows of a data set as several rewards score them, in batches; nothing is written."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from plaudit.ledger.dataset.context import find_context, read_classes, read_episodes, read_steps
from plaudit.ledger.dataset.job import mask_totals
from plaudit.ledger.dataset.sources import Part, list_parts
from plaudit.ledger.rescore.scored import RewardScores, ScoredBatch
from plaudit.ledger.storage.batch import collect_inputs
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.ledger.summary.returns import Classes
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.rows.addresses import resolve_address
from plaudit.rows.files import open_rows, read_ahead
from plaudit.rows.scoring import Scored, Scoring
from plaudit.rows.streams import choose_format
from plaudit.targets.compiled import Scores


class FileScorer:
    """Two rewards over the rows of a data set; `reasons` counts rows that one of them cannot score."""

    def __init__(self, rewards: tuple[Reward, Reward], source: str) -> None:
        """Find the columns of every file: a missing one is an error here, before any row is read."""
        self.rewards = rewards
        source = resolve_address(source)
        parts = list_parts(source) or [Part(source, source)]
        self._files = [open_rows(part.path, choose_format(part.path, None), table=part.table) for part in parts]
        self._layouts = [RecordLayout(reward) for reward in rewards]
        self._scorings = [[Scoring(reward, file) for reward in rewards] for file in self._files]
        self.unreadable = 0
        """Lines that are not rows."""

    @property
    def reasons(self) -> list[dict[str, int]]:
        """Why rows cannot be scored and how many, by each of the rewards."""
        counted: list[dict[str, int]] = [{} for _ in self.rewards]
        for scorings in self._scorings:
            for reasons, scoring in zip(counted, scorings, strict=True):
                for reason, count in scoring.reasons.items():
                    reasons[reason] = reasons.get(reason, 0) + count
        return counted

    def score(self, progress: Callable[[int, int], None] | None = None) -> Iterator[ScoredBatch]:
        """Yield the rows in order."""
        first, total = 0, sum(file.total or 0 for file in self._files)
        passed = 0
        for file, scorings in zip(self._files, self._scorings, strict=True):
            context = find_context(file)
            decided = "decision_class" in file.columns
            context += ["decision_class"] if decided else []
            needed = dict.fromkeys([*context, *(one.dotted for scoring in scorings for one in scoring.found)])
            for chunk in read_ahead(file.chunks(list(needed))):
                self.unreadable += len(chunk.refused)
                rows = chunk.rows
                if not rows:
                    continue
                scored = [scoring(chunk) for scoring in scorings]
                scores = tuple(self._build_scores(at, each, rows) for at, each in enumerate(scored))
                numbers = np.arange(first, first + rows)
                classes = read_classes(chunk, "decision_class") if decided else Classes([None], np.zeros(rows, np.intp))
                yield ScoredBatch(numbers, read_episodes(chunk, file), read_steps(chunk, file), classes, scores)
                first += rows
                if progress is not None:
                    progress(passed + chunk.done, total)
            file.close()
            passed += file.total or 0

    def _build_scores(self, at: int, scored: Scored, rows: int) -> RewardScores:
        layout, scores = self._layouts[at], scored.scores

        def explain(row: int) -> Signal:
            one = {name: column[row : row + 1] for name, column in scored.columns.items()}
            inputs, outputs = collect_inputs(layout, one, 1)[0], layout.stack_scores(_take_row(scores, row, rows), 1)[0]
            return layout.build_signal(inputs.tolist(), outputs.tolist())

        values = {name: np.broadcast_to(column, rows) for name, column in scores.values.items()}
        return RewardScores(mask_totals(scores.total, scored.ok, rows), values, explain)


def _take_row(scores: Scores, row: int, rows: int) -> Scores:
    """Return the scores of one row of a batch; what no row changes is the same in all of them."""

    def take(column: Any) -> Any:
        return np.broadcast_to(column, rows)[row : row + 1]

    values, raw = ({name: take(each) for name, each in part.items()} for part in (scores.values, scores.scores))
    return Scores(take(scores.total), values, raw, take(scores.ok))
