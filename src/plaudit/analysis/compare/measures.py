"""What distances and correlations are made of: canonical rewards, and moments that can be resampled by block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import Block, Columns, Steps, select_inputs
from plaudit.analysis.compare.separate import AFTER, BEFORE, PairMean, separate
from plaudit.language import nodes as n
from plaudit.language.static import analyse_program
from plaudit.ledger.summary.ranks import compute_ranks
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import InputSlot, list_slots
from plaudit.targets.numpy import NumpyReward

Numbers = NDArray[np.float64]

RESAMPLES = 1000
CONFIDENCE = 0.95
CONSTANT = 1e-9
"""A reward that varies by less than this, measured by its own size, is constant but for rounding."""


class Scorer:
    """Scores steps by one reward; NaN where a step cannot be scored."""

    def __init__(self, reward: Reward, *, guard: bool) -> None:
        """Compile the total of `reward`; with `guard`, steps outside declared ranges cannot be scored."""
        self.reward = reward
        program = reward.program
        total = replace(program, terms=(), outputs={"total": program.outputs["total"]}).prune()
        self._compiled = NumpyReward(total, guard=guard, on_bad="mask")
        self._program, self._guard = total.bind(), guard
        starts = [slot for slot in list_slots(program) if slot.record == "prev"]
        self._before = tuple(slot.plain for slot in starts)
        self._listed = all(slot.field.kind != "number" or slot.field.numbers for slot in starts)

    def score(self, steps: Steps) -> Numbers:
        """Return the total of each step, as it was recorded to end an episode or not."""
        terminal = False if steps.terminal is None else steps.terminal
        return self._score(steps.before, steps.after, terminal, len(steps))

    def _score(self, before: Columns, after: Columns, terminal: Any, size: int) -> Numbers:
        total = self._compiled(select_inputs(self.reward, before, after, terminal)).total
        return np.broadcast_to(np.asarray(total, np.float64), size)

    def canonicalise(self, block: Block, discount: float) -> Numbers:
        """Return the canonical reward of EPIC of each step, in episodes that go on (Gleave et al., 2021).

        It is R + E[g R(s', A, S') - R(s, A, S') - g R(S, A, S')] with the discount g. An action and what follows it
        are drawn together, so that facts that tie them are kept; the S of the last mean are the same draws, so that
        shaping cancels exactly.
        """
        steps, means = block.steps, block.means
        raw = self._score(steps.before, steps.after, False, len(steps))
        if not self._before:
            return raw - np.nanmean(self._score(means.before, means.after, False, len(means)))
        size = len(steps)
        starts = {
            name: np.concatenate((steps.before[name], steps.after[name], means.after[name])) for name in self._before
        }
        mean = self._average(starts, means.after, 2 * size + len(means), len(means))
        return raw + discount * mean[size : 2 * size] - mean[:size] - discount * np.nanmean(mean[2 * size :])

    def _average(self, starts: Columns, follows: Columns, size: int, count: int) -> Numbers:
        inverse = None
        if self._listed and size > 64:
            table = np.stack([starts[name].astype(np.float64) for name in starts])
            _, first, inverse = np.unique(table, axis=1, return_index=True, return_inverse=True)
            starts, size = {name: column[first] for name, column in starts.items()}, len(first)

        def find(slot: InputSlot) -> Any:
            return False if slot.name == "terminal" else (starts if slot.record == "prev" else follows)[slot.plain]

        mean = np.full(size, np.nan)
        if self._parts and self._can_score_all(starts, follows):
            mean = np.zeros(size)
            for side, part in self._parts.items():
                mean += part.compute(find, 1 if side == AFTER else size, 1 if side == BEFORE else count)
        if not np.isfinite(mean).all():
            mean = self._whole.compute(find, size, count)
        return mean if inverse is None else mean[inverse.reshape(-1)]

    @cached_property
    def _whole(self) -> PairMean:
        """The whole total; of steps that were drawn from declared ranges, without conditions that hold there."""
        program = self._program
        sure = frozenset[int]() if self._guard else analyse_program(program).holds
        guards = tuple(guard for guard in program.value_guards if guard.node not in sure)
        return PairMean(replace(program, value_guards=guards), guard=self._guard)

    @cached_property
    def _parts(self) -> dict[int, PairMean]:
        """The parts that the total is the sum of; none where a step within declared ranges can be one without score.

        That the total is too large for a float is seen by the mean.
        """
        program = self._program
        sure, total = analyse_program(program).holds, n.IsFinite(program.outputs["total"])
        if any(guard.node not in sure and program.nodes[guard.node] != total for guard in program.value_guards):
            return {}
        return {side: PairMean(part, guard=False) for side, part in separate(program).items()}

    def _can_score_all(self, starts: Columns, follows: Columns) -> bool:
        """Return whether each start can be scored with one that follows, and each of those with one start."""
        if not self._guard:
            return True
        one_start = {name: column[0] for name, column in starts.items()}
        one_after = {name: column[0] for name, column in follows.items()}
        return all(
            bool(np.all(self._compiled(select_inputs(self.reward, before, after)).ok))
            for before, after in ((starts, one_after), (one_start, follows))
        )


@dataclass
class Moments:
    """Counts, means and centred products of some rewards, block by block; no step is kept."""

    within: bool = False
    """Whether each block stands for itself, as canonical rewards do, whose constant differs from block to block."""

    def __post_init__(self) -> None:
        self._counts: list[int] = []
        self._means: list[Numbers] = []
        self._products: list[Numbers] = []
        self._size: Numbers | float = 0.0

    def add(self, values: Numbers, size: Numbers | None = None) -> None:
        """Add a block: a row of numbers for each reward; `size` is how large the numbers are that they came from."""
        if values.shape[1] == 0:
            return
        mean = values.mean(axis=1)
        centred = values - mean[:, None]
        self._counts.append(values.shape[1])
        self._means.append(mean)
        self._products.append(centred @ centred.T)
        own = np.abs(values).max(axis=1)
        self._size = np.maximum(self._size, own if size is None else np.maximum(own, size))

    def correlate(self, *, exact: bool, seed: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return Pearson's correlation of all pairs, and between what it lies; NaN where a reward is constant."""
        ones = np.ones((1, len(self._counts)))
        value = self._weigh(ones)[0]
        if exact or len(self._counts) < 2:
            nothing = value if exact else np.full_like(value, np.nan)
            return value, nothing, nothing
        rng = np.random.default_rng([seed, 3])
        count = len(self._counts)
        draws = (rng.multinomial(count, np.full(count, 1 / count), size=50) for _ in range(RESAMPLES // 50))
        found = np.concatenate([self._weigh(weights.astype(np.float64)) for weights in draws])
        tail = (1 - CONFIDENCE) / 2
        usable = np.isfinite(found).mean(axis=0) > 0.5
        low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
        if usable.any():
            low[usable], high[usable] = np.nanquantile(found[:, usable], (tail, 1 - tail), axis=0)
        return value, np.minimum(low, value), np.maximum(high, value)

    def _weigh(self, weights: Numbers) -> Numbers:
        counts, means, products = np.array(self._counts), np.stack(self._means), np.stack(self._products)
        total = weights @ counts
        spread = np.tensordot(weights, products, 1)
        if not self.within:
            means = means - counts @ means / counts.sum()
            mean = (weights * counts) @ means / total[:, None]
            between = np.tensordot(weights * counts, means[:, :, None] * means[:, None, :], 1)
            spread = spread + between - total[:, None, None] * mean[:, :, None] * mean[:, None, :]
        own = np.einsum("rii->ri", spread)
        limit = (CONSTANT * np.asarray(self._size)) ** 2 * total[:, None]
        own = np.where(own <= limit, np.nan, own)
        with np.errstate(invalid="ignore"):
            found = spread / np.sqrt(own[:, :, None] * own[:, None, :])
        clipped: Numbers = np.clip(found, -1.0, 1.0)
        return clipped


def to_distance(correlation: Numbers) -> Numbers:
    """Return Pearson's distance: 0 where two rewards agree, √½ where they are unrelated, 1 where they are opposed.

    >>> to_distance(np.array([1.0, 0.0, -1.0])).round(4).tolist()
    [0.0, 0.7071, 1.0]
    """
    return np.sqrt((1 - correlation) / 2)


def rank(values: Numbers) -> Numbers:
    """Return the rank of each number of each row from 1 up; equal numbers share the mean of their ranks.

    >>> rank(np.array([[3.0, 1.0, 3.0]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    return np.stack([compute_ranks(each) for each in values])


def split(values: Numbers, blocks: int) -> Iterator[Numbers]:
    """Yield the columns of a table in `count` stretches."""
    yield from np.array_split(values, min(blocks, values.shape[1]), axis=1)


def drop_unscored(values: Sequence[Numbers]) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return rows of numbers without the columns in which one is not finite, and which were kept."""
    table = np.stack(values)
    kept: NDArray[np.bool_] = np.asarray(np.isfinite(table).all(axis=0))
    return (table if kept.all() else table[:, kept]), kept
