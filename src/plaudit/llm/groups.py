"""What scoring rollouts again changed: totals, advantages within groups, and features."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.ledger.rescore.rescore import Rescoring, count_reasons
from plaudit.ledger.storage.texts import FOUND
from plaudit.terminal import escape_controls, format_count, format_table

__all__ = ["FeatureChange", "RolloutChanges"]


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
class RolloutChanges:
    """The result of `rescore_rollouts`; print it.

    Example:
        ```python
        changes = rescore_rollouts(ledger, reward, features, run="night-3")
        print(changes.groups, changes.flipped, changes.gained, changes.lost)
        ```
    """

    rescoring: Rescoring
    groups: int = 0
    """Groups with two rollouts or more that have both totals."""
    flipped: int = 0
    """Rollouts whose advantage, the total less the mean of the group, changed its sign."""
    gained: int = 0
    """Groups that had no gradient, since all totals were equal, and have one now."""
    lost: int = 0
    """Groups that had a gradient and have none now."""
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
        if self.groups:
            lines.append(
                f"of {format_count(self.groups, 'group')}, {self.gained:,} gained a gradient, {self.lost:,} lost it; "
                f"{format_count(self.flipped, 'rollout')} changed the sign of the advantage"
            )
        if self.features:
            rows = [("feature", "run", "changed", "mean before", "mean after")]
            for name, each in self.features.items():
                compared = (f"{each.changed:,} of {each.rollouts:,}", f"{each.before:.4g}", f"{each.after:.4g}")
                rows.append((name, f"{each.ran:,}", *(compared if each.rollouts else ("", "", ""))))
            lines += ["", format_table(rows)]
        return escape_controls("\n".join(lines))

    def _find_example(self, why: str) -> str:
        return f" (record {self.examples[why]})" if why in self.examples else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns:
            What `Rescoring.to_dict` has, the counts of groups, the features, and the reasons with an example of each.
        """
        names = ("groups", "flipped", "gained", "lost")
        features = {name: each._to_dict() for name, each in self.features.items()}
        counts = {name: getattr(self, name) for name in names}
        reasons = {"reasons": dict(self.reasons), "examples": dict(self.examples)}
        return {**self.rescoring.to_dict(), **counts, "features": features, **reasons}


def compare_rollouts(ledger: Ledger, done: Rescoring, ran: Mapping[str, int], **query: Any) -> RolloutChanges:
    """Compare the records of a re-scoring with those that they came from."""
    found = RolloutChanges(done)
    before = {
        record.id: (record.total, _list_inputs(record)) for record in ledger.history(**query) if record.job is None
    }
    for reason, count in count_reasons(ledger._store, done.job).items():
        place = _RECORD.search(reason)
        why = reason if place is None else reason[: place.start()]
        found.reasons[why] += count
        if place is not None:
            found.examples[why] = min(int(place[1]), found.examples.get(why, int(place[1])))
    groups: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for record in ledger.history(job=done.job):
        old, inputs = before.get(record.origin or 0, (math.nan, {}))
        if math.isnan(old) or math.isnan(record.total):
            continue
        group = record.run, record.actor, (record.context or {}).get("group")
        groups.setdefault(group, []).append((old, record.total))
        for name, value in record.signal.inputs.items():
            old_value = inputs.get(name)
            if isinstance(old_value, int | float) and not isinstance(value, str):
                _add_feature(found.features.setdefault(name, FeatureChange()), old_value, value)
    for each in found.features.values():
        each.before, each.after = each.before / each.rollouts, each.after / each.rollouts
    for name, count in ran.items():
        if count or name in found.features:
            found.features.setdefault(name, FeatureChange()).ran = count
    for pairs in groups.values():
        if len(pairs) > 1:
            _add_group(found, pairs)
    return found


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


def _add_group(found: RolloutChanges, pairs: list[tuple[float, float]]) -> None:
    found.groups += 1
    means = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    had, has = (max(side) > min(side) for side in zip(*pairs, strict=True))
    found.gained += has and not had
    found.lost += had and not has
    if had and has:
        found.flipped += sum((old - means[0]) * (new - means[1]) < 0 for old, new in pairs)
