"""The recorded steps of an episode as columns, read block by block, without an object per step."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.history import History
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Page
from plaudit.ledger.rescore.scored import RewardScores, ScoredBatch
from plaudit.ledger.storage.codec import RecordLayout, decode_column
from plaudit.ledger.storage.episode_parts import find_original_reward
from plaudit.ledger.summary.episodes import Episode
from plaudit.ledger.summary.returns import Classes, EpisodeKey, read_steps
from plaudit.reward.reward import Reward

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """Steps of one block, all of the same reward: inputs and outputs side by side, as they are stored."""

    layout: RecordLayout
    records: NDArray[np.int64]
    numbers: list[int | None]
    """Which step of its episode each is."""
    contexts: list[Any]
    inputs: Numbers
    outputs: Numbers

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms, then the adjustments between their sum and the total."""
        return self.layout.scored.program.terms

    @property
    def total(self) -> Numbers:
        """The reward of each step."""
        return self.outputs[:, 0]

    @property
    def scores(self) -> dict[str, Numbers]:
        """The score of each term."""
        return {term: self.outputs[:, 1 + 2 * at] for at, term in enumerate(self.terms)}

    @property
    def values(self) -> dict[str, Numbers]:
        """What each term adds to the total."""
        return {term: self.outputs[:, 2 + 2 * at] for at, term in enumerate(self.terms)}

    @property
    def native(self) -> list[float | None]:
        """The environment reward, if its wrapper recorded it."""
        return [find_original_reward(each) for each in self.contexts]

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Which steps have a score."""
        return ~np.isnan(self.total)

    @property
    def scored(self) -> "Steps":
        """The steps that have a score."""
        return self.choose(np.flatnonzero(self.is_scored))

    def choose(self, rows: NDArray[np.intp]) -> "Steps":
        """Return some of the steps."""
        if len(rows) == len(self.records):
            return self
        numbers, contexts = ([column[row] for row in rows] for column in (self.numbers, self.contexts))
        return Steps(self.layout, self.records[rows], numbers, contexts, self.inputs[rows], self.outputs[rows])


def query_episode(ledger: Ledger, episode: Episode) -> History:
    """Return the records of an episode, among them those of others that have its name."""
    return ledger.history(**_choose_records(episode))


def _choose_records(episode: Episode) -> dict[str, Any]:
    named = {"run": episode.run, "actor": episode.actor}
    return {name: value for name, value in named.items() if value is not None} | {
        "reward": episode.reward,
        "version": episode.version,
        "episode": episode.episode,
    }


def read_episode(ledger: Ledger, episode: Episode, most: int | None = None) -> Iterator[Steps]:
    """Yield the steps of an episode block by block, in the order in which they were recorded, at most `most`."""
    left = most
    for page in query_episode(ledger, episode).pages():
        if left == 0:
            return
        if (page.row.run, page.row.actor) != (episode.run, episode.actor):
            continue  # an episode of the same name, without a run or an actor
        with page.report_damage():
            found = _read_page(page, left)
        left = None if left is None else left - len(found.records)
        yield found
        if page.holds(episode.last_record):
            return


def read_episodes(ledger: Ledger, episodes: Sequence[Episode]) -> list[list[Steps]]:
    """Return the steps of each of several episodes of a run, block by block; the run is read once."""
    found: list[list[Steps]] = [[] for _ in episodes]
    places = {(each.actor, each.episode, each.reward, each.version): at for at, each in enumerate(episodes)}
    run = episodes[0].run
    for page in ledger.history(**({} if run is None else {"run": run})).pages():
        if page.row.run != run:
            continue
        with page.report_damage():
            classes, steps = read_steps(page.row, page.chosen)[0], None
            for code, (_, actor, episode) in enumerate(classes.labels):
                at = places.get((actor, episode or "", page.layout.reward.name, page.layout.reward.version))
                if at is not None:
                    steps = steps or _read_page(page, None)
                    found[at].append(steps.choose(np.flatnonzero(classes.codes == code)))
    return found


def _read_page(page: Page, most: int | None) -> Steps:
    row, count = page.row, page.row.records
    chosen = page.positions()[:most]
    steps, contexts = (_pick(column, count, chosen) for column in (row.steps, row.contexts))
    return Steps(
        page.layout,
        row.first + chosen.astype(np.int64),
        steps,
        contexts,
        page.inputs[chosen],
        page.outputs[chosen],
    )


def _pick(column: str | None, count: int, chosen: NDArray[np.intp]) -> list[Any]:
    if column is None:
        return [None] * len(chosen)
    listed = json.loads(column) if count == 1 else list(decode_column(column, count))
    return [listed[at] for at in chosen.tolist()]


def score_run(ledger: Ledger, run: str | None, rewards: Sequence[Reward], **query: Any) -> Iterator[ScoredBatch]:
    """Yield the steps of a run as each of some rewards scores them; without a run, those that have none."""
    chosen = {} if run is None else {"run": run}
    return _select_labels(ledger.score_history(*rewards, **chosen, **query), lambda label: label[0] == run)


def score_episode(ledger: Ledger, episode: Episode, rewards: Sequence[Reward]) -> Iterator[ScoredBatch]:
    """Yield the steps of an episode as each of some rewards scores them; other actors have episodes of its name."""
    own = episode.run, episode.actor, episode.episode
    return _select_labels(ledger.score_history(*rewards, **_choose_records(episode)), lambda label: label == own)


def _select_labels(batches: Iterable[ScoredBatch], wanted: Callable[[EpisodeKey], bool]) -> Iterator[ScoredBatch]:
    for batch in batches:
        assert batch.episodes is not None  # a ledger knows the run of every record
        chosen = np.array([wanted(label) for label in batch.episodes.labels], np.bool_)
        rows = np.flatnonzero(chosen[batch.episodes.codes])
        if len(rows) == len(batch.numbers):
            yield batch
        elif len(rows):
            yield _select_rows(batch, batch.episodes, rows)


def drop_masked(batch: ScoredBatch) -> ScoredBatch:
    """Return the steps that at least one of the rewards can score; the others count in no sum and no return."""
    assert batch.episodes is not None
    rows = np.flatnonzero(~np.isnan([scores.total for scores in batch.scores]).all(axis=0))
    return batch if len(rows) == len(batch.numbers) else _select_rows(batch, batch.episodes, rows)


def _select_rows(batch: ScoredBatch, episodes: Classes, rows: NDArray[np.intp]) -> ScoredBatch:
    def select(scores: RewardScores) -> RewardScores:
        values = {name: column[rows] for name, column in scores.values.items()}
        return RewardScores(scores.total[rows], values, lambda row: scores.explain(int(rows[row])))

    used, codes = np.unique(episodes.codes[rows], return_inverse=True)  # an episode without rows has no return
    return ScoredBatch(
        batch.numbers[rows],
        Classes([episodes.labels[at] for at in used], codes),
        None if batch.steps is None else batch.steps[rows],
        Classes(batch.decision_class.labels, batch.decision_class.codes[rows]),
        tuple(map(select, batch.scores)),
    )


def join(parts: Sequence[list[Any]]) -> list[Any]:
    """Return lists as one."""
    return [each for part in parts for each in part]
