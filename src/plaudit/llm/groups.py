"""What scoring rollouts again changed: totals, advantages within groups, and features."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.ledger.rescore.rescore import Rescoring, count_reasons
from plaudit.ledger.storage.texts import FOUND
from plaudit.llm.grouping import GROUP_SIZE, GroupKey, find_group
from plaudit.reward.signal import Signal
from plaudit.terminal import escape_controls, format_count, format_table

__all__ = ["FeatureChange", "GroupChanges", "RolloutChanges", "TermChange"]


@dataclass(slots=True)
class FeatureChange:
    """What a feature found before and after, over rollouts that have both.

    Example:
        ```python
        changes = rescore_rollouts(ledger, reward, features, run="night-3")
        print(changes.features["right"].before, changes.features["right"].after)
        ```
    """

    rollouts: int = 0
    changed: int = 0
    before: float = 0.0
    """The mean before; of a flag, its pass rate."""
    after: float = 0.0
    ran: int = 0
    """How many times it was run; 0 where everything it found was reused."""

    def _to_dict(self) -> dict[str, Any]:
        means = {"before": self.before, "after": self.after} if self.rollouts else {"before": None, "after": None}
        return {"rollouts": self.rollouts, "changed": self.changed, **means, "ran": self.ran}


@dataclass(slots=True)
class TermChange:
    """What a term paid before and after, over rollouts that have both totals.

    Example:
        ```python
        changes = rescore_rollouts(ledger, reward, features, run="night-3")
        print(changes.terms["brief"].changed)
        ```
    """

    rollouts: int = 0
    changed: int = 0
    """Rollouts that it pays something else; where one of the rewards has no such term, that pays 0."""
    before: float | None = None
    """The mean before; None if it was no term."""
    after: float | None = None

    def _add(self, old: float | None, new: float | None) -> None:
        self.rollouts += 1
        self.changed += (old or 0.0) != (new or 0.0)
        self.before = self.before if old is None else (self.before or 0.0) + old
        self.after = self.after if new is None else (self.after or 0.0) + new

    def _settle(self) -> None:
        """Turn sums into means."""
        self.before = None if self.before is None else self.before / self.rollouts
        self.after = None if self.after is None else self.after / self.rollouts


@dataclass(slots=True)
class GroupChanges:
    """What another reward changes within groups: advantages, and whether there is a gradient.

    Example:
        ```python
        print(diff(before, after, ledger="rewards.db", run="night-3").effect.groups)
        ```
    """

    groups: int = 0
    """Groups with two rollouts or more that have both totals."""
    flipped: int = 0
    """Rollouts whose advantage, the total less the mean of the group, changed its sign."""
    gained: int = 0
    """Groups that had no gradient, since all totals were equal, and have one now."""
    lost: int = 0
    """Groups that had a gradient and have none now."""
    partial: int = 0
    """Groups that were left out, since not all of their rollouts were chosen or are in the ledger."""

    def __str__(self) -> str:
        """Return one line; an empty text if there are no groups."""
        lines = []
        if self.groups:
            lines.append(
                f"of {format_count(self.groups, 'group')}, {self.gained:,} gained a gradient, {self.lost:,} lost it; "
                f"{format_count(self.flipped, 'rollout')} changed the sign of the advantage"
            )
        if self.partial:
            verb = "is" if self.partial == 1 else "are"
            lines.append(
                f"{format_count(self.partial, 'group')} {verb} not compared: a part was not chosen, or is not there"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON.

        Returns:
            The counts by name.
        """
        return {name: getattr(self, name) for name in GroupChanges.__slots__}


class GroupComparison:
    """Totals before and after, by group."""

    def __init__(self) -> None:
        """Begin with none."""
        self._totals: dict[GroupKey, list[tuple[float, float]]] = {}
        self._sizes: dict[GroupKey, int | None] = {}

    def add(self, group: GroupKey, size: int | None, old: float, new: float) -> None:
        """Add a rollout of a group that has so many; NaN stands for no total."""
        self._sizes[group] = size
        self._totals.setdefault(group, []).append((old, new))

    def count(self, found: GroupChanges) -> None:
        """Count what changed."""
        for group, totals in self._totals.items():
            pairs = [(old, new) for old, new in totals if not math.isnan(old) and not math.isnan(new)]
            if len(totals) < (self._sizes[group] or 0):
                found.partial += 1
            elif len(pairs) > 1:
                _count_group(found, pairs)


@dataclass(slots=True)
class RolloutChanges(GroupChanges):
    """The result of `rescore_rollouts`; print it.

    Example:
        ```python
        changes = rescore_rollouts(ledger, reward, features, run="night-3")
        print(changes.groups, changes.flipped, changes.gained, changes.lost)
        ```
    """

    rescoring: Rescoring = field(kw_only=True)
    terms: dict[str, TermChange] = field(default_factory=dict)
    """By name, those first that changed in most rollouts."""
    features: dict[str, FeatureChange] = field(default_factory=dict)
    """By name: inputs that both rewards read, and every feature that was run."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why rollouts have no new reward, and how many."""
    examples: dict[str, int] = field(default_factory=dict)
    """By reason, the first record that has it."""

    def __str__(self) -> str:
        """Return a summary."""
        done = self.rescoring
        lines = [f"job {done.job}: {done.records:,} rollouts scored with {done.reward}@{done.version}"]
        lines += [
            f"{format_count(count, 'rollout')} without a reward: {why}{self._find_example(why)}"
            for why, count in self.reasons.most_common(5)
        ]
        lines += ["", done.changes.format_rollouts(), ""]
        lines += [GroupChanges.__str__(self)] if self.groups or self.partial else []
        if changed := {name: each for name, each in self.terms.items() if each.changed}:
            rows: list[tuple[str, ...]] = [("term", "changed", "mean before", "mean after")]
            for name, term in changed.items():
                means = ("-" if mean is None else f"{mean:.4g}" for mean in (term.before, term.after))
                rows.append((name, f"{term.changed:,} of {term.rollouts:,}", *means))
            lines += ["", format_table(rows)]
        if self.features:
            table: list[tuple[str, ...]] = [("feature", "run", "changed", "mean before", "mean after")]
            for name, each in self.features.items():
                compared = (f"{each.changed:,} of {each.rollouts:,}", f"{each.before:.4g}", f"{each.after:.4g}")
                table.append((name, f"{each.ran:,}", *(compared if each.rollouts else ("", "", ""))))
            lines += ["", format_table(table)]
        return escape_controls("\n".join(lines))

    def _find_example(self, why: str) -> str:
        return f" (record {self.examples[why]})" if why in self.examples else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns:
            What `Rescoring.to_dict` has, the counts of groups, the terms and features, and the reasons with an example
            of each.
        """
        features = {name: each._to_dict() for name, each in self.features.items()}
        terms = {name: asdict(each) for name, each in self.terms.items()}
        reasons = {"reasons": dict(self.reasons), "examples": dict(self.examples)}
        counts = GroupChanges.to_dict(self)
        return {**self.rescoring.to_dict(), **counts, "terms": terms, "features": features, **reasons}


def compare_rollouts(ledger: Ledger, done: Rescoring, ran: Mapping[str, int], **query: Any) -> RolloutChanges:
    """Compare the records of a re-scoring with those that they came from."""
    found, groups = RolloutChanges(rescoring=done), GroupComparison()
    _add_reasons(found, count_reasons(ledger._store, done.job))
    after = {record.origin: record.signal for record in ledger.history(job=done.job)}
    for record in ledger.history(**query):
        old, new = record.signal, after.get(record.id)
        group = find_group(record.run, record.context)
        if group is not None:
            size = record.context.get(GROUP_SIZE)
            groups.add(group, size, old.total, math.nan if new is None else new.total)
        if new is not None and not math.isnan(old.total):
            _add_signals(found, record, new)
    groups.count(found)
    for each in found.features.values():
        each.before, each.after = each.before / each.rollouts, each.after / each.rollouts
    for term in found.terms.values():
        term._settle()
    found.terms = dict(sorted(found.terms.items(), key=lambda each: -each[1].changed))
    for name, count in ran.items():
        if count or name in found.features:
            found.features.setdefault(name, FeatureChange()).ran = count
    return found


def _add_reasons(found: RolloutChanges, reasons: Mapping[str, int]) -> None:
    """Add why rollouts have no new reward, with the first record of each reason."""
    for reason, count in reasons.items():
        place = _RECORD.search(reason)
        why = reason if place is None else reason[: place.start()]
        found.reasons[why] += count
        if place is not None:
            found.examples[why] = min(int(place[1]), found.examples.get(why, int(place[1])))


def _add_signals(found: RolloutChanges, record: Record, new: Signal) -> None:
    """Add what terms paid a rollout and what features found in it, before and after."""
    old, inputs = record.signal, _list_inputs(record)
    for name in dict.fromkeys((*new.values, *old.values)):
        found.terms.setdefault(name, TermChange())._add(old.values.get(name), new.values.get(name))
    for name, value in new.inputs.items():
        before = inputs.get(name)
        if isinstance(before, int | float) and not isinstance(value, str):
            _add_feature(found.features.setdefault(name, FeatureChange()), before, value)


_RECORD = re.compile(r" (?:of|in) record (\d+)$")


def _list_inputs(record: Record) -> dict[str, Any]:
    """Return the inputs of a record; of an imported one, also those that its log has of other rewards."""
    context = record.context if isinstance(record.context, dict) else {}
    return {**record.signal.inputs, **context.get(FOUND, {})}


def _add_feature(change: FeatureChange, old: float, new: float) -> None:
    change.rollouts += 1
    change.changed += old != new
    change.before += old
    change.after += new


def _count_group(found: GroupChanges, pairs: list[tuple[float, float]]) -> None:
    found.groups += 1
    means = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    had, has = (max(side) > min(side) for side in zip(*pairs, strict=True))
    found.gained += has and not had
    found.lost += had and not has
    if had and has:
        found.flipped += sum((old - means[0]) * (new - means[1]) < 0 for old, new in pairs)
