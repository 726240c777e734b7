"""`compare`: how far apart rewards are in what they make an agent want."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.actions import find_action, measure_disagreement
from plaudit.analysis.compare.comparison import TITLES, Comparison, Measure
from plaudit.analysis.compare.coverage import BLOCKS, Coverage, keep_shared_terms
from plaudit.analysis.compare.draws import Ranges, draw_coverage
from plaudit.analysis.compare.measures import Moments, Scorer, drop_unscored, rank, split, to_distance
from plaudit.analysis.compare.tabular import MEASURES, build_tables, measure_tables, resample_tables
from plaudit.analysis.compare.transitions import Given, Transitions, read_ledger, read_transitions
from plaudit.errors import DefinitionError, InputError
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task

Numbers = NDArray[np.float64]
Fields = Literal["same", "shared", "all"]
Progress = Callable[[int, int], None]

DISCOUNT = 0.99
MOST_RANKED = 100_000
WIDE = 0.2
"""An interval that is wider than this is said to be."""


def compare(
    first: Reward,
    second: Reward,
    *more: Reward,
    task: Task | None = None,
    transitions: Mapping[str, Any] | Transitions | None = None,
    episodes: Any = None,
    ledger: Ledger | None = None,
    discount: float | None = None,
    samples: int = 1_000_000,
    means: int = 512,
    ranges: Ranges | None = None,
    fields: Fields = "same",
    seed: int = 0,
    progress: Progress | None = None,
    **query: Any,
) -> Comparison:
    """Measure how far apart rewards are, by distances (EPIC, DARD, STARC) and by correlations.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def fast(speed):
    ...     return speed
    >>> @term
    ... def slow(speed):
    ...     return 1 - 2 * speed
    >>> speed = Field("speed", low=0, high=9)
    >>> rewards = [Reward(each.name, version="1", terms=[each], fields=[speed]) for each in (fast, slow)]
    >>> round(compare(*rewards, samples=1000)["epic"].value, 6)
    1.0

    Args:
        first: A reward.
        second: Another one.
        *more: More rewards; every pair is measured.
        task: The task to add to those of the rewards.
        transitions: Steps to compare on, as columns by name: `prev.x` and `curr.x` or `x` of each field, and the
            action. If omitted, steps are drawn from the declared ranges.
            `plaudit.analysis.environments.sample_transitions` collects them from an environment.
        episodes: The episode of each transition. With it, returns are compared and intervals resample episodes.
        ledger: A ledger whose recorded steps and episodes to compare on instead.
        discount: Discount factor. If omitted, the one that the rewards declare, or 0.99.
        samples: Number of steps to draw.
        means: Number of actions and next states per mean.
        ranges: Ranges to draw fields from, by name, instead of the declared ones.
        fields: What to do if the rewards read different fields: refuse ("same"), leave out terms that read fields that
            not all rewards read ("shared"), or compare on all fields ("all").
        seed: Random seed.
        progress: Called with the number of steps scored and their total.
        **query: Which records of the ledger to use, as for `Ledger.history`.

    Returns:
        Every measure of every pair.

    Raises:
        DefinitionError: The rewards cannot be compared, because of their fields, discounts or declarations.
        InputError: The transitions lack a column, or are too few.
    """
    rewards = (first, second, *more)
    rewards = tuple(each._join_task(task) for each in rewards)
    if samples < 1000 or means < 2:
        raise DefinitionError(f"samples={samples} must be at least 1,000, and means={means} at least 2.")
    worth = _find_discount(rewards, discount)
    names = tuple(f"{reward.name}@{reward.version}" for reward in rewards)
    rewards, remarks = _match_fields(rewards, names, fields)
    if query and ledger is None:
        raise DefinitionError(f"{', '.join(query)}= selects records of a ledger; give ledger= too.")
    if ledger is not None:
        if transitions is not None:
            raise DefinitionError("give either a ledger or transitions, not both.")
        history = ledger.history(**query)
        history.first()  # where there is none, this says so
        coverage = read_ledger(rewards, history, ledger.name, means=means, seed=seed)
    elif transitions is None:
        if episodes is not None:
            raise DefinitionError("episodes= assigns transitions to episodes; give transitions= too.")
        coverage = draw_coverage(rewards, samples=samples, means=means, seed=seed, ranges=ranges or {})
    else:
        given = transitions if isinstance(transitions, Transitions) else Transitions(transitions)
        given = given if episodes is None else replace(given, episodes=episodes)
        coverage = read_transitions(rewards, given, means=means, seed=seed)
    found = _Measuring(rewards, names, coverage, worth, seed)
    found.run(progress, len(coverage.blocks.steps) if isinstance(coverage.blocks, Given) else samples)
    return Comparison(
        rewards=names,
        discount=worth,
        coverage=coverage,
        measures={name: found.measures[name] for name in TITLES if name in found.measures},
        left_out=found.left_out,
        remarks=(*remarks, *found.remarks),
    )


class _Measuring:
    """Measures pairs of rewards, block by block."""

    def __init__(
        self, rewards: Sequence[Reward], names: Sequence[str], coverage: Coverage, discount: float, seed: int
    ) -> None:
        self.rewards, self.names, self.coverage, self.discount, self.seed = rewards, names, coverage, discount, seed
        self.measures: dict[str, Measure] = {}
        self.left_out: dict[str, str] = {}
        self.remarks: list[str] = []
        self._given = coverage.blocks if isinstance(coverage.blocks, Given) else None

    def run(self, progress: Progress | None, total: int) -> None:
        """Measure everything that the coverage allows."""
        scorers = [Scorer(reward, guard=self._given is not None) for reward in self.rewards]
        raw, canonical = Moments(), Moments(within=self._given is None)
        kept_values: list[Numbers] = []
        done = unscored = ranked = 0
        for block in self.coverage:
            values, kept = drop_unscored([scorer.score(block.steps) for scorer in scorers])
            raw.add(values)
            size = np.abs(values).max(axis=1) if values.shape[1] else None
            canonical.add(drop_unscored([each.canonicalise(block, self.discount) for each in scorers])[0], size)
            unscored += int((~kept).sum())
            done += len(kept)
            if ranked < MOST_RANKED:
                kept_values.append(values[:, : MOST_RANKED - ranked])
                ranked += kept_values[-1].shape[1]
            if progress is not None:
                progress(done, total)
        if unscored == done:
            raise InputError("no step can be scored by all rewards.")
        if unscored:
            self.remarks.append(f"{unscored / done:.1%} of the steps cannot be scored by all rewards and are excluded.")
        self._add_distance("epic", canonical)
        self._measure_tables()
        self._measure_actions()
        self._add("pearson", *self._correlate(raw))
        self._add("spearman", *self._correlate(_rank_blocks(kept_values)))
        self._measure_returns(scorers)
        self._remark_constants()
        self._remark_terminal()

    def _correlate(self, moments: Moments) -> tuple[Numbers, Numbers, Numbers]:
        return moments.correlate(exact=self.coverage.exact, seed=self.seed)

    def _add_distance(self, name: str, moments: Moments) -> None:
        value, low, high = self._correlate(moments)
        self._add(name, to_distance(value), to_distance(high), to_distance(low))

    def _add(self, name: str, value: Numbers, low: Numbers, high: Numbers) -> None:
        self.measures[name] = Measure(name, value, low, high)
        if (high - low > WIDE).any():
            self.remarks.append(
                f"{TITLES[name]}: an interval is wider than {WIDE}, because too few steps vary. "
                "Use more steps, or do not rely on it."
            )

    def _measure_tables(self) -> None:
        try:
            if self._given is None:
                raise InputError("no transitions show where actions lead")
            if self.discount == 1:
                raise InputError("state values need a discount below 1")
            tables = build_tables(self.rewards, self._given, find_action(self.rewards))
        except InputError as error:
            self.left_out |= dict.fromkeys(("dard", *MEASURES), str(error))
            return
        found = measure_tables(tables, tables.count(), self.discount)
        ends = resample_tables(tables, self._given.groups, self.discount, self.seed)
        if ends is None:
            self.remarks.append("No intervals for STARC and DARD: too few transitions, or too many states.")
        for name, value in found.items():
            low, high = (np.full_like(value, np.nan),) * 2 if ends is None else ends[name]
            self._add(name, value, np.minimum(low, value), np.maximum(high, value))

    def _measure_actions(self) -> None:
        found = measure_disagreement(self.rewards, self.coverage, self.seed)
        if isinstance(found, str):
            self.left_out["argmax"] = found
            return
        self._add("argmax", found.value, found.low, found.high)
        self.remarks.append(
            f"Best action differs: a share of {found.steps:,} steps with a choice; {found.tied:.0%} of choices are "
            "ties, where any of the best actions counts."
        )

    def _measure_returns(self, scorers: Sequence[Scorer]) -> None:
        given = self._given
        if given is None or given.episodes is None:
            why = "there are no episodes" if given is None else "steps are not assigned to episodes"
            self.left_out |= dict.fromkeys(("pearson-returns", "spearman-returns"), why)
            return
        values, kept = drop_unscored([scorer.score(given.steps) for scorer in scorers])
        whole = np.bincount(given.episodes, weights=~kept) == 0
        rows = given.episodes[kept]
        returns = np.stack([np.bincount(rows, weights=each, minlength=len(whole))[whole] for each in values])
        if returns.shape[1] < 3:
            why = f"{returns.shape[1]} complete episodes are too few"
            self.left_out |= dict.fromkeys(("pearson-returns", "spearman-returns"), why)
            return
        for name, table in (("pearson-returns", returns), ("spearman-returns", rank(returns))):
            moments = Moments()
            for part in split(table, 4 * BLOCKS):
                moments.add(part)
            self._add(name, *self._correlate(moments))

    def _remark_constants(self) -> None:
        constant = np.isnan(np.diag(self.measures["pearson"].value))
        shaping = np.isnan(np.diag(self.measures["epic"].value)) & ~constant
        for name, is_constant, is_shaping in zip(self.names, constant, shaping, strict=True):
            if is_constant:
                self.remarks.append(
                    f"{name} pays the same for every step here, so its distance to others is undefined."
                )
            elif is_shaping:
                self.remarks.append(f"{name} is pure potential shaping, so its distance to others is undefined.")

    def _remark_terminal(self) -> None:
        ends = [
            name for name, reward in zip(self.names, self.rewards, strict=True) if "terminal" in reward.program.inputs
        ]
        if ends:
            self.remarks.append(
                f"EPIC treats every step as non-terminal; rewards with terminal terms: {', '.join(ends)}."
            )


def _rank_blocks(blocks: Sequence[Numbers]) -> Moments:
    moments = Moments()
    ranks = rank(np.concatenate(blocks, axis=1))
    ends = np.cumsum([each.shape[1] for each in blocks])[:-1]
    for part in np.split(ranks, ends, axis=1):
        moments.add(part)
    return moments


def _find_discount(rewards: Sequence[Reward], given: float | None) -> float:
    declared = {reward.task.discount for reward in rewards} - {None}
    if given is None:
        if len(declared) > 1:
            listed = ", ".join(f"{each:g}" for each in sorted(filter(None, declared)))
            raise DefinitionError(
                f"the rewards declare different discounts ({listed}); choose one with discount= (--discount)."
            )
        return next(iter(declared)) or DISCOUNT if declared else DISCOUNT
    if not 0 <= given <= 1:
        raise DefinitionError(f"discount={given} must be between 0 and 1.")
    return float(given)


def _match_fields(
    rewards: tuple[Reward, ...], names: Sequence[str], fields: Fields
) -> tuple[tuple[Reward, ...], list[str]]:
    if fields not in ("same", "shared", "all"):
        raise DefinitionError(f"fields={fields!r} must be 'same', 'shared' or 'all'.")
    reads = [_list_fields(reward) for reward in rewards]
    common = set.intersection(*reads)
    apart = {name: sorted(each - common) for name, each in zip(names, reads, strict=True) if each - common}
    if not apart or fields == "all":
        return rewards, []
    if fields == "same":
        text = "; ".join(f"{name} reads {', '.join(each)}" for name, each in apart.items())
        raise DefinitionError(
            f"these rewards do not read the same fields: {text}.\nLeave out the terms that read other fields with "
            "fields='shared' (--fields shared), or compare on all fields with fields='all'."
        )
    kept, left_out = keep_shared_terms(rewards, _list_fields)
    listed = [f"{name}: {term}" for name, terms in zip(names, left_out, strict=True) for term in terms]
    return kept, [f"Compared on shared fields; terms left out: {', '.join(listed)}."]


def _list_fields(reward: Reward) -> set[str]:
    return {each.name for each in reward.program.inputs.values()} - {"terminal"}
