"""Read decisions from a ledger, whole blocks at a time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.checks.bounds import Ranges
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.solver import Solver
from plaudit.errors import DefinitionError, MissingField, NotEvaluable, ShapeMismatch, did_you_mean
from plaudit.learn.off_policy.log import Codes, LoggedDecisions
from plaudit.learn.off_policy.records import Credit, DecisionNames, Records, add_credits, read_records
from plaudit.learn.ridge import Numbers
from plaudit.ledger.record import Page
from plaudit.ledger.rescore.translation import Translation, find_translation
from plaudit.ledger.storage.codec import RecordLayout, Rows
from plaudit.ledger.storage.schema import scopes
from plaudit.ledger.storage.specs import SpecCache
from plaudit.reward.reward import Reward
from plaudit.rows.on_bad import apply_on_bad, validate_on_bad
from plaudit.terminal import format_count

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger

Flags = NDArray[np.bool_]
_TOGETHER = 16_384
"""Records to take in together."""
_SECONDS = 3.0
"""How long to look for a tighter bound of a reward."""
NO_COUNTERPART = ("a terminal term",)
"""What `translation` says of terminal terms where the other reward has none."""


@dataclass(frozen=True, slots=True)
class Source:
    """The records that decisions were read from: the reward that scored them, and what was left out.

    Example:
        ```python
        found = evaluate(ledger, policy, decision_class="move")
        print(found.source.reward, found.source.credits, found.source.lacking)
        ```
    """

    decision_class: str
    reward: str
    """The reward that scored them, such as roadsense@R8."""
    rescored: bool = False
    """Whether it is another reward than the recorded one."""
    credits: int = 0
    """Records that added to the reward of an earlier decision."""
    unmatched: int = 0
    """Those whose decision is not among the selected records; they are ignored."""
    unpaid: int = 0
    """Those from terminal terms, if the other reward has none."""
    blocked: int = 0
    """Decisions that were blocked for learners."""
    refused: int = 0
    """Decisions left out because the other reward refuses their inputs."""
    lacking: int = 0
    """Decisions left out because they were recorded without an input that the other reward needs."""

    def describe(self) -> list[str]:
        """Describe what was left out.

        Returns:
            A sentence for each kind of record that was left out.
        """
        found = []
        if self.refused or self.lacking:
            left = format_count(self.refused + self.lacking, "decision")
            found.append(f"Left out: {left} that {self.reward} cannot score. The rest may differ from them.")
        if self.unmatched:
            text = f"Left out: {format_count(self.unmatched, 'extra credit')} for decisions that were not selected."
            found.append(f"{text} Select whole episodes to include them.")
        if self.unpaid:
            found.append(
                f"{format_count(self.unpaid, 'extra credit')} came from terminal terms; {self.reward} has none."
            )
        return found


@dataclass(frozen=True)
class Reading:
    """Decisions read from a ledger, and the records they come from.

    Example:
        ```python
        reading = read_decisions(ledger, decision_class="move")
        print(len(reading.decisions), reading.source.reward)
        ```
    """

    decisions: LoggedDecisions
    source: Source
    reward: Reward

    def find_range(self) -> tuple[float, float]:
        """Prove the lowest and the highest possible reward from the reward's definition.

        Returns:
            The two rewards.

        Raises:
            DefinitionError: The reward has no finite range, or decisions were credited more than once.
        """
        if self.source.credits:
            raise DefinitionError(
                "interval='anytime' needs the range of rewards, and decisions were credited more than once, which the "
                "reward's definition does not bound: pass reward_range=(lowest, highest)."
            )
        solver = Solver(Deadline.after(_SECONDS))
        total = Ranges(RewardModel(self.reward._as_declared), solver, facts=False).spans(["total"])["total"]
        if not (math.isfinite(total.low) and math.isfinite(total.high)):
            raise DefinitionError(
                f"interval='anytime' needs the range of rewards, and {self.source.reward} has none: its totals lie "
                f"between {total.low:g} and {total.high:g}. Pass reward_range=(lowest, highest), or declare the ranges "
                "of its fields."
            )
        return total.low, total.high


def read_decisions(
    ledger: "Ledger",
    *,
    decision_class: str,
    reward: Reward | None = None,
    on_bad: str = "raise",
    progress: Callable[[int, int], None] | None = None,
    **query: Any,
) -> Reading:
    """Read the decisions of a class from a ledger, with their rewards.

    A record holds its decision as `context["decision"]`. One with `context["again"]` is an extra credit: it adds to the
    reward of the decision that it names, by its id (within a run), its number or its step (within an episode), or to
    the last one of its episode.

    Args:
        ledger: The ledger.
        decision_class: Which decisions to read.
        reward: Another reward, to score the recorded inputs again; the recorded rewards if omitted.
        on_bad: "raise" an error for decisions that `reward` cannot score, "mask" to leave them out, or "clip" their
            inputs to the declared ranges.
        progress: Called with the number of records read and the number in total.
        **query: Further selection, as for `Ledger.history`.

    Returns:
        The decisions as columns, and what was left out.

    Raises:
        NotEvaluable: There are no such decisions, or their rewards are not comparable.
        MissingField: Records lack an input that `reward` needs.

    Example:
        ```python
        reading = read_decisions(ledger, decision_class="move", run="night-3")
        found = evaluate_decisions(reading.decisions, always("star"))
        ```
    """
    validate_on_bad(on_bad)
    reward = None if reward is None else apply_on_bad(reward, on_bad)
    history = ledger.history(decision_class=decision_class, **query)
    total = history.count() if progress is not None else 0
    columns = DecisionColumns(RecordScorer(ledger._store.specs, reward))
    done = 0
    for pages in history.read_batches(_TOGETHER):
        done += columns.add(pages)
        if progress is not None:
            progress(min(done, total), total)
    if not done:
        raise NotEvaluable(
            f"{ledger.name} has no record{history.query.describe()}.{_suggest_class(ledger, decision_class)}"
        )
    _check_rewards(columns.scorer, reward)
    used = reward or next(iter(columns.scorer.recorded)).reward
    label = f"{used.name}@{used.version}"
    found = columns.build_log(label, on_bad=on_bad)
    source = Source(
        decision_class=decision_class,
        reward=label,
        rescored=reward is not None,
        credits=len(columns.credits),
        unmatched=found.unmatched,
        unpaid=columns.unpaid,
        blocked=columns.blocked,
        refused=found.refused,
        lacking=found.lacking,
    )
    return Reading(found.log, source, used)


def _check_rewards(scorer: "RecordScorer", reward: Reward | None) -> None:
    """Refuse records of several rewards, whose numbers do not compare."""
    counts: dict[str, int] = {}
    for shape, count in scorer.recorded.items():
        label = f"{shape.reward.name}@{shape.reward.version}"
        counts[label] = counts.get(label, 0) + count
    if reward is None and len(counts) > 1:
        listed = ", ".join(f"{count:,} of {label}" for label, count in counts.items())
        raise NotEvaluable(
            f"the records belong to different rewards ({listed}), which are not comparable. Pass a reward to score all "
            "of them with it, or select a run or a period with one reward."
        )


def _suggest_class(ledger: "Ledger", decision_class: str) -> str:
    with ledger._store.backend.snapshot() as connection:
        known = {row.decision_class for row in connection.execute(scopes.select())} - {None}
    if decision_class in known:
        return ""
    listed = f" There are: {', '.join(sorted(known))}." if known else " No record has a decision class."
    return did_you_mean(decision_class, known) + listed


class Batch(NamedTuple):
    """Columns of some decisions, in order."""

    chosen: Codes
    probabilities: Numbers
    """NaN where a decision has none."""
    features: Numbers
    episodes: Codes
    """-1 where a record names no episode."""
    rewards: Numbers
    """NaN where the other reward gives none."""
    lacking: Flags
    """Whether that is for want of an input."""

    def at(self, where: Flags) -> "Batch":
        """Return the columns of some of the decisions."""
        return Batch(*(column[where] for column in self))  # type: ignore[arg-type]  # each stays what it is


class ReadLog(NamedTuple):
    """A log, and how many records are not in it."""

    log: LoggedDecisions
    unmatched: int
    lacking: int
    refused: int


class Numbering(dict[Any, int]):
    """Numbers what it is asked for, in order of appearance."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


class Totals(NamedTuple):
    """The reward of each record of some pages, and why it is NaN where it is."""

    rewards: Numbers
    lacking: NDArray[np.bool_]
    """Records without an input that the other reward needs."""
    unpaid: NDArray[np.bool_]
    """Records of terminal terms, of which the other reward has none."""

    def at(self, where: slice) -> "Totals":
        """Return those of some of the records."""
        return Totals(self.rewards[where], self.lacking[where], self.unpaid[where])


class RecordScorer:
    """Gives records their rewards, and remembers by which rewards they were recorded and what they lack."""

    def __init__(self, specs: SpecCache, reward: Reward | None) -> None:
        """Keep the totals that were recorded, or score inputs with `reward`."""
        self._specs = specs
        self._layout = None if reward is None else specs.get_layout(reward)
        self._translations: dict[RecordLayout, Translation | tuple[str, ...]] = {}
        self.recorded: dict[RecordLayout, int] = {}
        """How many records there were of each reward."""

    def find_missing(self, layout: RecordLayout) -> tuple[str, ...]:
        """Return what records of a reward lack; nothing where they can be scored."""
        found = self._translations.get(layout, ())
        return found if isinstance(found, tuple) else ()

    def score(self, pages: Sequence[Page]) -> Totals:
        """Return the rewards of the chosen records of `pages`, one after the other."""
        counts = [len(page.positions()) for page in pages]
        ends = np.cumsum(counts)
        totals = Totals(np.full(ends[-1], np.nan), np.zeros(ends[-1], np.bool_), np.zeros(ends[-1], np.bool_))
        groups: dict[tuple[RecordLayout, str], list[int]] = {}
        for at, page in enumerate(pages):
            groups.setdefault((page.layout, page.row.target), []).append(at)
        for (layout, _), members in groups.items():
            where = np.concatenate([np.arange(ends[at] - counts[at], ends[at]) for at in members])
            self.recorded[layout] = self.recorded.get(layout, 0) + len(where)
            self._fill(totals, layout, [pages[at] for at in members], where)
        return totals

    def _fill(self, totals: Totals, layout: RecordLayout, pages: Sequence[Page], where: NDArray[np.intp]) -> None:
        if self._layout is None:
            totals.rewards[where] = _join_rows(layout, pages, "outputs")[:, 0]
            return
        if layout not in self._translations:
            self._translations[layout] = find_translation(self._specs, layout, self._layout)
        found = self._translations[layout]
        if isinstance(found, Translation):
            computation = found.find_computation(pages[0].row.target, as_recorded=False)
            totals.rewards[where] = found.score(_join_rows(layout, pages, "inputs"), computation)[1][:, 0]
        elif found == NO_COUNTERPART:
            totals.unpaid[where] = True
        else:
            totals.lacking[where] = True


def _join_rows(layout: RecordLayout, pages: Sequence[Page], side: str) -> Rows:
    """Return the inputs or the outputs of the chosen records of pages of one reward."""
    data = b"".join(getattr(page.row, side) for page in pages)
    count = sum(page.row.records for page in pages)
    rows = layout.decode_inputs(data, count) if side == "inputs" else layout.decode_outputs(data, count)
    if all(page.chosen is None for page in pages):
        return rows
    starts = np.cumsum([0, *(page.row.records for page in pages[:-1])])
    chosen: Rows = rows[np.concatenate([page.positions() + start for page, start in zip(pages, starts, strict=True)])]
    return chosen


@dataclass(eq=False)
class DecisionColumns:
    """What was read so far."""

    scorer: RecordScorer
    batches: list[Batch] = field(default_factory=list)
    actions: Numbering = field(default_factory=Numbering)
    episodes: Numbering = field(default_factory=Numbering)
    names: list[DecisionNames] = field(default_factory=list)
    credits: list[Credit] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)
    """On how many features decisions were made, and the first record of which that is true."""
    decisions: int = 0
    unpaid: int = 0
    blocked: int = 0

    def add(self, pages: Sequence[Page]) -> int:
        """Add the chosen records of some pages, and return how many they are."""
        totals = self.scorer.score(pages)
        start = 0
        for found in read_records(pages):
            end = start + found.count
            self._add_records(found, totals.at(slice(start, end)))
            start = end
        return start

    def _add_records(self, found: Records, totals: Totals) -> None:
        for extra in found.extras:
            if totals.unpaid[extra.at]:
                self.unpaid += 1
            else:
                self.credits.append(Credit(extra.name, float(totals.rewards[extra.at]), self.decisions + extra.before))
        if not len(found.kept):
            return
        numbering, (codes, episodes) = self.episodes, found.episodes
        self.names.append(found.names)
        self.blocked += found.blocked
        self.decisions += len(found.kept)
        self.widths.setdefault(found.features.shape[1], int(found.numbers[0]))
        self.batches.append(
            Batch(
                np.array([self.actions[name] for name in found.actions.values], np.intp)[found.actions.codes],
                found.probabilities,
                found.features,
                np.array([-1 if each[1] is None else numbering[each] for each in episodes], np.intp)[codes],
                totals.rewards[found.kept],
                (totals.lacking | totals.unpaid)[found.kept],
            )
        )

    def build_log(self, reward: str, *, on_bad: str) -> "ReadLog":
        """Return the log and what was left out of it; `reward` is what the rewards are called."""
        batch = self._concatenate()
        names = (name for some in self.names for name in some.build())
        unmatched = add_credits(batch.rewards, names, self.credits)
        bad = ~np.isfinite(batch.rewards)
        lacking = int((batch.lacking & bad).sum())
        refused = int(bad.sum()) - lacking
        if (lacking or refused) and (on_bad != "mask" or bad.all()):
            raise self._unscorable(reward, lacking, refused)
        if bad.any():
            batch = batch.at(~bad)
        actions = sorted(self.actions)
        positions = np.array([actions.index(name) for name in self.actions], np.intp)
        log = LoggedDecisions(
            tuple(actions),
            positions[batch.chosen],
            batch.probabilities,
            batch.rewards,
            batch.features if batch.features.shape[1] else None,
            _number_episodes(batch.episodes),
        )
        return ReadLog(log, unmatched, lacking, refused)

    def _concatenate(self) -> Batch:
        if not self.decisions:
            raise NotEvaluable("the records hold only extra credits (again) and none of the decisions they belong to.")
        if len(self.widths) > 1:
            widths = ", ".join(f"{width} (such as record {record})" for width, record in self.widths.items())
            raise ShapeMismatch(f"decisions were made on different numbers of features: {widths}. Choose one kind.")
        return Batch(*map(np.concatenate, zip(*self.batches, strict=True)))

    def _unscorable(self, reward: str, lacking: int, refused: int) -> MissingField | NotEvaluable:
        offer = "Choose other records, or leave these out and count them with on_bad='mask'."
        if not lacking:
            what = f"{reward} refuses the inputs of {format_count(refused, 'decision')} (outside its ranges)"
            return NotEvaluable(f"{what}, so there is no estimate. {offer}")
        needed = {name for layout in self.scorer.recorded for name in self.scorer.find_missing(layout)}
        counted = format_count(lacking, "decision")
        what = f"{counted} were recorded without what {reward} needs: {', '.join(sorted(needed))}."
        return MissingField(f"{what} {offer}")


def _number_episodes(episodes: Codes) -> Codes | None:
    """Return episodes as a log takes them: None where no record names one, and where some do not, each its own."""
    unnamed = episodes < 0
    if unnamed.all():
        return None
    if unnamed.any():
        episodes = episodes.copy()
        episodes[unnamed] = episodes.max() + 1 + np.arange(unnamed.sum())
    return episodes
