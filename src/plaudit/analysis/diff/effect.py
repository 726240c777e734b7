"""What the change from one reward to another does to steps that were recorded: by step, by term, by episode."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plaudit.html import Markup, build_heading, build_note, build_table, join
from plaudit.ledger.rescore.changes import Changes
from plaudit.ledger.rescore.scored import RewardScores, ScoredBatch
from plaudit.ledger.summary.returns import EpisodeKey, name_episode, number_decisions
from plaudit.llm.groups import GroupChanges
from plaudit.reward.signal import Signal
from plaudit.terminal import escape_controls, escape_line, format_table

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

MOST = 10
"""How many steps, and how many episodes, are shown."""
_AS_RECORDED = "Features are as recorded; `plaudit rescore --features` reads the texts again."
_GAP = 4
"""Columns between two tables beside each other."""
_TERM_HEADERS = ("term", "before", "after", "changed in")
_EPISODE_HEADERS = ("episode", "steps", "before", "after", "rank")


@dataclass(slots=True)
class TermEffect:
    """What a term paid before and pays now, over all steps that both rewards score."""

    name: str
    before: float | None = None
    """The sum of its values; None where the reward has no such term."""
    after: float | None = None
    changed: int = 0
    """Steps in which its value is another one."""


@dataclass(frozen=True, slots=True)
class StepChange:
    """A step whose total changed much."""

    number: int
    """The number of the record, or of the row of a file from 0 on."""
    episode: EpisodeKey | None
    step: int | None
    totals: tuple[float, float]
    before: Signal | None
    """Why it was paid so; None at the end of an episode, where a reward without terminal terms pays nothing."""
    after: Signal | None

    @property
    def size(self) -> float:
        """How far the totals are apart."""
        return abs(self.totals[1] - self.totals[0])

    @property
    def name(self) -> str:
        """The display name of the step."""
        where = "" if self.episode is None else f" ({name_episode(self.episode)}, step {self.step})"
        return f"{self.number}{where if self.step is not None else where.replace(', step None', '')}"

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain data for JSON."""
        run, actor, episode = self.episode or (None, None, None)
        where = {"number": self.number, "run": run, "actor": actor, "episode": episode, "step": self.step}
        sides = {"before": self.before, "after": self.after}
        signals = {name: None if signal is None else signal.to_dict() for name, signal in sides.items()}
        return {**where, "totals": list(self.totals), **signals}


@dataclass(frozen=True, slots=True)
class EpisodeChange:
    """An episode, its returns and its ranks: 1 is the best of all; equal returns share a rank."""

    episode: EpisodeKey
    length: int
    before: float
    after: float
    rank_before: float
    rank_after: float

    def to_dict(self) -> dict[str, Any]:
        """Return the episode as plain data for JSON."""
        plain = {name: getattr(self, name) for name in EpisodeChange.__slots__ if name != "episode"}
        return {**dict(zip(("run", "actor", "episode"), self.episode, strict=True)), **plain}


@dataclass(slots=True)
class Effect:
    """What a change of a reward does to recorded steps.

    Example:
        ```python
        effect = diff(before, after, ledger="rewards.db").effect
        effect.terms["near"].changed     # steps in which this term pays something else
        effect.moved[0].rank_after       # the episode whose rank changed most
        ```
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    """Renamed terms: the new name by the old one."""
    source: str = ""
    what: str = "record"
    """What a step is in the source: a record or a row."""
    changes: Changes = field(default_factory=Changes)
    terms: dict[str, TermEffect] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    """What was left out, and why."""
    groups: GroupChanges | None = None
    """What changes within groups; None if the steps are not rollouts of a language model."""
    _steps: list[tuple[float, int, StepChange]] = field(default_factory=list)
    _decision: tuple[Any, ...] = ()
    _number: int = 0

    @property
    def steps(self) -> list[StepChange]:
        """The steps that changed most, the largest change first."""
        return [step for _, _, step in sorted(self._steps, key=lambda each: each[:2], reverse=True)]

    @property
    def moved(self) -> list[EpisodeChange]:
        """Every episode whose rank changed, the longest way first."""
        returns = self.changes.episodes
        before, after = returns.ranks
        rows = zip(
            returns.keys,
            returns.lengths.tolist(),
            *(part.tolist() for part in (returns.old, returns.new, before, after)),
            strict=True,
        )
        changed = [EpisodeChange(*row) for row in rows if row[-1] != row[-2]]
        return sorted(changed, key=lambda each: (-abs(each.rank_after - each.rank_before), each.rank_after))

    def add(self, batch: ScoredBatch) -> None:
        """Add steps that both rewards scored.

        Args:
            batch: The scores of both.
        """
        before, after = batch.scores
        self.changes.add(
            before.total,
            after.total,
            batch.decision_class,
            self._number_decisions(batch),
            episode=batch.episodes,
            step=batch.steps,
        )
        both = ~(np.isnan(before.total) | np.isnan(after.total))
        self._add_terms(before, after, both)
        self._keep_largest(batch, np.where(both, np.abs(after.total - before.total), 0.0))

    def _number_decisions(self, batch: ScoredBatch) -> NDArray[np.int64] | None:
        """Return which decision each step is a candidate of; None if the steps have no numbers."""
        if batch.episodes is None or batch.steps is None or not len(batch.steps) or np.isnan(batch.steps).all():
            return None
        labels, codes = batch.episodes
        numbers = number_decisions(codes, batch.steps)
        first = (labels[codes[0]], batch.steps[0])
        numbers += self._number if first == self._decision else self._number + 1
        self._number, self._decision = int(numbers[-1]), (labels[codes[-1]], batch.steps[-1])
        return numbers

    def _add_terms(self, before: RewardScores, after: RewardScores, both: NDArray[np.bool_]) -> None:
        old = {self.renamed.get(name, name): column for name, column in before.values.items()}
        new = after.values
        for name in dict.fromkeys((*new, *old)):
            found = self.terms.setdefault(name, TermEffect(name))
            if name in old:
                found.before = (found.before or 0.0) + float(old[name].sum(where=both))
            if name in new:
                found.after = (found.after or 0.0) + float(new[name].sum(where=both))
            changed = old.get(name, 0.0) != new.get(name, 0.0)
            found.changed += int(np.count_nonzero(changed & both))

    def _keep_largest(self, batch: ScoredBatch, sizes: NDArray[np.float64]) -> None:
        least = self._steps[0][0] if len(self._steps) == MOST else 0.0
        rows = np.flatnonzero(sizes > least)
        if len(rows) > MOST:
            rows = rows[np.argsort(-sizes[rows], kind="stable")[:MOST]]
        for row in rows.tolist():
            entry = (float(sizes[row]), -int(batch.numbers[row]), _build_step(batch, row))
            if len(self._steps) < MOST:
                heapq.heappush(self._steps, entry)
            elif entry[:2] > self._steps[0][:2]:
                heapq.heapreplace(self._steps, entry)

    def plot(
        self, *, names: tuple[str, str] = ("before", "after"), terms: bool = False, ax: "Axes | None" = None
    ) -> "Axes":
        """Plot new against old returns, or steps; or what each term paid, side by side.

        Args:
            names: Names of the two versions.
            terms: Plot the sum of each term instead.
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            InputError: There is nothing to plot.
            MissingExtra: matplotlib is not installed.
        """
        if not terms:
            return self.changes.plot(names=names, ax=ax)
        from plaudit.plots.versions import plot_sides

        rows = [*self.terms.values(), self._whole] if self.changes.records else []
        return plot_sides(
            [each.name for each in rows],
            [each.before for each in rows],
            [each.after for each in rows],
            names=names,
            measured=f"sum over {self.changes.records:,} {self.what}s",
            title="Both versions, by term",
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        return {
            "source": self.source,
            "changes": self.changes.to_dict(),
            "groups": None if self.groups is None else self.groups.to_dict(),
            "terms": [{name: getattr(each, name) for name in TermEffect.__slots__} for each in self.terms.values()],
            "moved": [each.to_dict() for each in self.moved],
            "steps": [each.to_dict() for each in self.steps],
            "remarks": list(self.remarks),
        }

    @property
    def _whole(self) -> TermEffect:
        changes = self.changes
        return TermEffect("total", changes.old.total, changes.new.total, changes.records - changes.unchanged)

    def _repr_html_(self) -> str:
        whole = self.changes._repr_html_() if self.groups is None else self.changes.render_rollouts()
        parts = [build_heading(f"On {self.source}"), *map(build_note, self.remarks), Markup(whole)]
        parts += [] if self.groups is None else [build_note(line) for line in (str(self.groups), _AS_RECORDED) if line]
        if self.changes.records:
            rows, total = [*map(_format_term, self.terms.values())], _format_term(self._whole)
            parts.append(build_table(_TERM_HEADERS, rows, right=_TERM_HEADERS[1:], total=total))
            if self.groups is None and (moved := [_format_episode(each) for each in self.moved]):
                parts.append(build_table(_EPISODE_HEADERS, moved, right=_EPISODE_HEADERS[1:], most=MOST))
        return join(*parts)

    def describe(self, width: int = 120) -> Iterator[str]:
        """Describe the effect as text.

        Args:
            width: Maximum line length, where possible.

        Yields:
            The lines.
        """
        yield f"\nOn {escape_line(self.source)}"
        yield from self.remarks
        if self.groups is None:
            yield str(self.changes)
        else:
            yield from filter(None, (self.changes.format_rollouts(), str(self.groups), _AS_RECORDED))
        if not self.changes.records:
            return
        yield f"\nBy term, summed over these {'steps' if self.groups is None else 'rollouts'}"
        rows = [_TERM_HEADERS, *map(_format_term, self.terms.values())]
        yield format_table(rows, total=_format_term(self._whole))
        moved = self.moved if self.groups is None else []
        if moved:
            yield f"\nEpisodes that changed rank most, of {len(moved):,}"
            yield format_table([_EPISODE_HEADERS, *map(_format_episode, moved[:MOST])])
        if self._steps:
            yield f"\nThe {self.what}s that changed most"
        for step in self.steps:
            yield escape_controls(f"\n{self.what} {step.name}: {step.totals[0]:z.6g} → {step.totals[1]:z.6g}")
            yield from set_tables(_explain(step.before), _explain(step.after), width, indent=2)


def _build_step(batch: ScoredBatch, row: int) -> StepChange:
    old, new = batch.scores
    episode = None if batch.episodes is None else batch.episodes.labels[batch.episodes.codes[row]]
    step = None if batch.steps is None or np.isnan(batch.steps[row]) else int(batch.steps[row])
    known = None if episode is None or episode[-1] is None else episode
    totals = float(old.total[row]), float(new.total[row])
    return StepChange(int(batch.numbers[row]), known, step, totals, old.explain(row), new.explain(row))


def _explain(signal: Signal | None) -> str:
    return "nothing is paid at the end of an episode" if signal is None else signal.explain()


def _format_term(term: TermEffect) -> tuple[str, ...]:
    sums = ("-" if value is None else f"{value:z.6g}" for value in (term.before, term.after))
    return (term.name, *sums, f"{term.changed:,}")


def _format_episode(each: EpisodeChange) -> tuple[str, ...]:
    ranks = f"{each.rank_before:g} → {each.rank_after:g}"
    name = escape_line(name_episode(each.episode))
    return (name, f"{each.length:,}", f"{each.before:z.6g}", f"{each.after:z.6g}", ranks)


def set_tables(before: str, after: str, width: int, *, indent: int = 0) -> Iterator[str]:
    """Yield the lines of two tables side by side, or one below the other if there is no room."""
    left, right = before.splitlines(), after.splitlines()
    room = max(map(len, left), default=0)
    if room + _GAP + max(map(len, right), default=0) > width - indent:
        yield from (f"{' ' * indent}{line}" for line in (*left, *right))
        return
    for at in range(max(len(left), len(right))):
        one, other = (side[at] if at < len(side) else "" for side in (left, right))
        yield f"{' ' * indent}{one.ljust(room + _GAP)}{other}".rstrip()
