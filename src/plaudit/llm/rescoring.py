"""Scoring recorded rollouts again: only features that changed are run, and answers of judges are reused."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plaudit.errors import Abstained, LedgerError, MissingField
from plaudit.ledger.context import encode_context
from plaudit.ledger.history import find_records
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Page, Record, read_records
from plaudit.ledger.rescore.rescore import ReadAgain, Reading
from plaudit.ledger.storage.episode_parts import LOST_TERMS, MASKED
from plaudit.ledger.storage.texts import FEATURES, FOUND, ID_KEY, TEXTS, StoredText, seal_text
from plaudit.llm.answers import LaterAnswers
from plaudit.llm.feature import Feature
from plaudit.llm.grouping import GroupKey, LedgerGroups
from plaudit.llm.groups import RolloutChanges, compare_rollouts
from plaudit.llm.rollouts import APPLIES, Rollout, clean_reason, encode_found, pack_numbers, read_rollouts
from plaudit.llm.running import Results
from plaudit.llm.sample import Sample
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Features, Scoring
from plaudit.reward.reward import Reward
from plaudit.targets import OnBad

__all__ = ["rescore_rollouts"]

Progress = Callable[[int, int], None]
_PLACE = re.compile(r"\b(of|in) sample \d+$")
_OF_A_SCORE = (MASKED, LOST_TERMS, APPLIES, FOUND)
"""What the context of a record says of its score, and not of its rollout."""
_TOGETHER = 512
"""Rollouts to read, and whose judges to ask, before they are recorded with their new scores."""


def rescore_rollouts(
    ledger: Ledger,
    reward: Reward,
    features: Features,
    *,
    applies: Callable[..., bool] | None = None,
    ask: bool = False,
    on_bad: OnBad = "mask",
    concurrency: int = 64,
    timeout: float | None = 60.0,
    progress: Progress | None = None,
    **query: Any,
) -> RolloutChanges:
    """Score recorded rollouts with another reward or other features; new scores stand beside the old ones.

    Only features whose fingerprint changed are run; of the others, what was recorded is used. Of rollouts that were
    imported with inputs, which have no fingerprints, the answers of judges are used, and other features are run.

    Call it again after an interruption to resume: no rollout is scored twice, and no judge asked twice, since what
    judges said until then is recorded as a job of its own.

    Args:
        ledger: The ledger, with rollouts that a `Scoring` recorded.
        reward: The reward to score with.
        features: Its features.
        applies: A function of a sample that says whether the reward applies to it; what was recorded, if omitted.
        ask: Ask judges again, also where their answers were kept.
        on_bad: What to do with a rollout that cannot be scored; as for `Scoring`. With "raise", nothing of the rollouts
            that are read with it is recorded.
        concurrency: As for `Scoring`.
        timeout: As for `Scoring`.
        progress: Called with the number of rollouts done and the number in total.
        **query: Which records; see `Ledger.history`. All of them if omitted.

    Returns:
        What changed: totals, groups, features. Rollouts that cannot be scored are recorded with the reason.

    Raises:
        LedgerError: A chosen record is not a rollout.
        MissingField: No record was chosen, or a feature needs a part that was recorded with none of them.
        InputError: A rollout cannot be scored, and `on_bad` is "raise".
        VersionConflict: The ledger has another formula under the reward's label.

    Example:
        ```python
        changes = rescore_rollouts(ledger, reward.with_version("2"), [better_parser, judge], run="night-3")
        print(changes)
        ```
    """
    options: dict[str, Any] = {"on_bad": on_bad, "max_masked": 1, "concurrency": concurrency, "timeout": timeout}
    scoring = Scoring(reward, features, applies=applies, **options)
    reader = _Reader(ledger, scoring, run=query.get("run"), ask=ask, on_bad=on_bad)
    reader.check(**query)
    about = {"features": scoring.fingerprints, **({"asked": True} if ask else {})}
    about |= {} if applies is None else {APPLIES: Feature(applies).fingerprint}
    reading = Reading(about, reader.read, _TOGETHER, reader.rescue)
    done = ledger._rescore_read(scoring.reward, reading, progress, **query)
    return compare_rollouts(ledger, done, reader.ran, **query)


class _Reader:
    """Reads pages of rollouts again."""

    def __init__(self, ledger: Ledger, scoring: Scoring, *, run: str | None, ask: bool, on_bad: OnBad) -> None:
        self._ledger, self._scoring, self._ask = ledger, scoring, ask
        self._sealed: dict[frozenset[str], StoredText] = {}
        """The fingerprints of the features, as a text, by the judges that are left out."""
        self._raises = on_bad == "raise"
        self._judges = {each.name: scoring.fingerprints[each.name] for each in scoring.features.ordered if each.judge}
        self._of_groups = [each for each in scoring.features.ordered if each.scope == "group"]
        self._later = LaterAnswers(ledger, self._judges, ask=ask)
        self._groups = LedgerGroups(ledger, run)
        self._asked: tuple[Sequence[Page], Sequence[Rollout], Results] | None = None
        """What is being read, with what features have found so far."""
        self.ran: dict[str, int] = dict.fromkeys(scoring.fingerprints, 0)
        """How many times each feature was run."""

    def check(self, **query: Any) -> None:
        """Raise MissingField if a feature has to be run and needs a part that was recorded with no rollout."""
        lacking = {each.name: each for each in self._scoring.features.ordered}
        first: MissingField | None = None
        for rollout in read_rollouts(self._ledger, self._ledger.history(**query)):
            for each in list(lacking.values()) if rollout.sample is not None else ():
                try:
                    if self._find_kept(each, rollout) is None:
                        each.require(rollout.sample or {}, self._scoring.features.by_name.keys())
                    del lacking[each.name]
                except MissingField as error:
                    error.add_note(f"in record {rollout.record.id}")
                    first = first or error
            if not lacking:
                return
        if first is not None:
            raise first

    def read(self, job: int, pages: Sequence[Page]) -> list[ReadAgain]:
        self._asked = None
        records = [record for page in pages for record in read_records(page)]
        rollouts = self._list_rollouts(records)
        if not self._of_groups:
            self._later.clear()
        self._later.load(job, pages)
        scored = self._score(pages, rollouts, self._find_rest_of_groups(rollouts))
        if self._raises:
            for at in sorted(at for at in scored.reasons if at < len(rollouts)):
                raise _name_record(scored.errors[at], rollouts[at])
        packed = pack_numbers(scored, self._ledger._store.specs.get_layout)
        found, start = [], 0
        for page in pages:
            end = start + len(page.positions())
            width = packed[start][0].width
            inputs = np.frombuffer(b"".join(packed[at][2] for at in range(start, end))).reshape(end - start, width)
            texts: list[StoredText] = []
            contexts = [self._describe(rollouts[at], scored, at, texts) for at in range(start, end)]
            texts += self._sealed.values()
            found.append(ReadAgain(inputs, contexts, texts))
            start = end
        return found

    def rescue(self) -> list[tuple[Page, ReadAgain]]:
        """Return the rollouts for which judges were asked before reading was stopped, with what they said."""
        if self._asked is None:
            return []
        pages, rollouts, results = self._asked
        count = len(rollouts)
        scored = Scored(results.samples, results.group_of, [None] * count, [None] * count, {}, [self._reward] * count)
        scored.found = {name: results.values[name] for name in self._judges if name in results.values}
        scored.answers, scored.outside = results.answers, frozenset(results.outside)
        scored.abstained = dict.fromkeys(range(count), "the re-scoring was stopped")
        scored.errors = {at: Abstained(why) for at, why in scored.abstained.items()}
        width = self._ledger._store.specs.get_layout(self._reward).width
        found: list[tuple[Page, ReadAgain]] = []
        start = 0
        for page in pages:
            positions = page.positions()
            said = [at for at in range(len(positions)) if self._list_said(scored, start + at, rollouts[start + at])]
            texts: list[StoredText] = []
            contexts = [self._describe(rollouts[start + at], scored, start + at, texts) for at in said]
            texts += self._sealed.values()
            if said:
                blank = np.full((len(said), width), np.nan)
                found.append((replace(page, chosen=positions[said]), ReadAgain(blank, contexts, texts)))
            start += len(positions)
        return found

    @property
    def _reward(self) -> Reward:
        return self._scoring.reward

    def _list_rollouts(self, records: Sequence[Record]) -> list[Rollout]:
        rollouts = list(read_rollouts(self._ledger, records))
        if len(rollouts) < len(records):
            known = {rollout.record.id for rollout in rollouts}
            other = next(record.id for record in records if record.id not in known)
            raise LedgerError(
                f"{self._ledger.name}: record {other} is not a rollout: no texts were recorded with it. Choose "
                "rollouts, as by --run, or re-score without features."
            )
        return rollouts

    def _find_rest_of_groups(self, rollouts: Sequence[Rollout]) -> list[Rollout]:
        """Return what else is in the ledger of groups that a feature has to be run for, whoever recorded it."""
        groups = {_name_group(rollout): None for rollout in rollouts if self._has_to_run_groups(rollout)}
        if not groups:
            return []
        there = {rollout.record.id for rollout in rollouts}
        self._groups.read_until(max(there))
        others = {number for group in groups for number in self._groups.list_members(group)} - there
        return list(read_rollouts(self._ledger, find_records(self._ledger._store, others)))

    def _has_to_run_groups(self, rollout: Rollout) -> bool:
        """Return whether what a feature of its group finds is not known."""
        return any(self._find_kept(each, rollout) is None for each in self._of_groups)

    def _find_incomplete(self, rollouts: Sequence[Rollout]) -> dict[int, Abstained]:
        """Return why a feature of a group cannot be run for some of the rollouts: a part of their group is not there.

        Rollouts that the reward is not about are in no group.
        """
        groups: dict[GroupKey, list[Rollout]] = {}
        for rollout in rollouts if self._of_groups else ():
            groups.setdefault(_name_group(rollout), []).append(rollout)
        why = {group: self._describe_gap(members) for group, members in groups.items()}
        return {
            at: Abstained(said)
            for at, rollout in enumerate(rollouts if self._of_groups else ())
            if (said := why[_name_group(rollout)]) and rollout.sample is not None and self._has_to_run_groups(rollout)
        }

    def _describe_gap(self, members: Sequence[Rollout]) -> str:
        """Return what is missing of a group; an empty text if nothing is."""
        size = members[0].group_size or len(members)
        absent = size - len(members)
        empty = sum(rollout.sample is None and rollout.applies for rollout in members)
        gaps = [f"{absent:,} are not in the ledger"] if absent > 0 else []
        gaps += [f"of {empty:,} the texts were not kept, or were forgotten"] if empty else []
        unknown = (each.name for each in self._of_groups if any(self._find_kept(each, one) is None for one in members))
        name = next(unknown, None) if gaps else None
        return "" if name is None else f"{name} needs all {size:,} completions of a group, and {' and '.join(gaps)}"

    def _score(self, pages: Sequence[Page], own: Sequence[Rollout], around: Sequence[Rollout]) -> Scored:
        """Score rollouts; those around them complete their groups."""
        scoring, rollouts = self._scoring, [*own, *around]
        known: dict[str, dict[int, Any]] = {name: {} for name in scoring.fingerprints}
        for at, rollout in enumerate(rollouts):
            for each in scoring.features.ordered:
                kept = self._find_kept(each, rollout)
                if kept is not None:
                    known[each.name][at] = kept
        samples = [rollout.sample or Sample() for rollout in rollouts]
        groups = [_name_group(rollout) for rollout in rollouts]
        steps = [rollout.record.step for rollout in rollouts]
        again = scoring.applies_to_some
        applies = {at: each.applies for at, each in enumerate(rollouts) if each.sample is None or not again}
        results = Results(samples, groups)
        incomplete = self._find_incomplete(rollouts)
        results.errors.update(incomplete)
        self._asked = pages, rollouts, results
        unanswered = {at: why for at, rollout in enumerate(rollouts) if (why := _explain_silence(rollout)) is not None}
        results.errors |= {at: Abstained(why) for at, why in unanswered.items()}
        scored = scoring.score_again(samples, groups, known, steps, applies=applies, into=results)
        for name, there in known.items():
            counted = len(rollouts) if name in self._judges else len(own)  # others are run again with their own page
            left_out = there.keys() | incomplete.keys() | unanswered.keys() | scored.outside
            self.ran[name] += sum(at not in left_out and bool(samples[at]) for at in range(counted))
        for at, rollout in enumerate(rollouts if self._of_groups else ()):  # which others of its group may need
            for name, value in self._list_said(scored, at, rollout).items():
                self._later.add(rollout.record.id, name, value, scored.answers.get(at, {}).get(name))
        return scored

    def _find_kept(self, each: Feature, rollout: Rollout) -> Any:
        """Return what a feature found earlier; None where it has changed, or is not known."""
        found = self._find_recorded(each, rollout)
        return self._later.find(rollout.record.id, each.name) if found is None and each.judge else found

    def _find_recorded(self, each: Feature, rollout: Rollout) -> Any:
        """Return what a feature found when the rollout was recorded; None where it has changed, or is not known."""
        if self._ask and each.judge:
            return None
        if _is_of_unknown_version(each, rollout):
            return rollout.found[each.name]
        if rollout.features.get(each.name) != self._scoring.fingerprints[each.name]:
            return None
        if each.name in rollout.found:
            return rollout.found[each.name]
        return None if rollout.record.masked is not None else rollout.record.signal.inputs.get(each.name)

    def _describe(self, rollout: Rollout, scored: Scored, at: int, texts: list[StoredText]) -> str:
        """Return the context of the new record, after adding what judges said now to `texts`."""
        about = {name: said for name, said in rollout.record.context.items() if name not in _OF_A_SCORE}
        about |= {APPLIES: False} if at in scored.outside else {}
        named = {name: text for name, text in about[TEXTS].items() if name != ID_KEY}
        named |= {FEATURES: self._seal_features(rollout).name}
        answers = {**self._later.find_texts(rollout.record.id), **scored.answers.get(at, {})}
        said = self._list_said(scored, at, rollout)
        if (answers or said) and rollout.sample is not None:
            found = {name: value for name, value in encode_found(scored, at).items() if name in said}
            text = seal_text(json.dumps({"answers": {**rollout.answers, **answers}, FOUND: found}))
            texts.append(text)
            named["answers"] = text.name
        about[TEXTS] = named
        reason = scored.reasons.get(at) or scored.abstained.get(at)
        if reason is not None:
            if isinstance(scored.errors[at], MissingField) and rollout.left_out:
                reason = f"{', '.join(rollout.left_out)}: not recorded, as it is not plain data. {reason}"
            about[MASKED] = clean_reason(_PLACE.sub(rf"\1 record {rollout.record.id}", reason))
        return encode_context(about)

    def _seal_features(self, rollout: Rollout) -> StoredText:
        """Return the fingerprints of the features, but of judges whose answers are those of an unknown version."""
        kept = () if self._ask else self._scoring.features.ordered
        unknown = frozenset(each.name for each in kept if _is_of_unknown_version(each, rollout))
        if unknown not in self._sealed:
            known = {name: each for name, each in self._scoring.fingerprints.items() if name not in unknown}
            self._sealed[unknown] = seal_text(json.dumps(known, sort_keys=True), salt=b"")
        return self._sealed[unknown]

    def _list_said(self, scored: Scored, at: int, rollout: Rollout) -> dict[str, Any]:
        """Return what judges found since the rollout was recorded, by feature."""
        found = {name: scored.found[name][at] for name in self._judges if name in scored.found}
        by_name = self._scoring.features.by_name
        return {
            name: value
            for name, value in found.items()
            if value is not None and self._find_recorded(by_name[name], rollout) is None
        }


def _name_record(error: Exception, rollout: Rollout) -> Exception:
    """Return an error that names the record instead of its place among those that were read with it."""
    error.__notes__ = [_PLACE.sub(rf"\1 record {rollout.record.id}", note) for note in getattr(error, "__notes__", ())]
    return error


def _is_of_unknown_version(each: Feature, rollout: Rollout) -> bool:
    """Return whether a judge was asked, as the log of another tool says, and by which version is not known."""
    return each.judge and each.name in rollout.found and each.name not in rollout.features


def _explain_silence(rollout: Rollout) -> str | None:
    """Return why a rollout stays without a reward, where the model wrote nothing that could have one."""
    if rollout.record.masked is None or rollout.sample is None:
        return None
    said = rollout.sample.get("completion", "")
    is_empty = said is None or (isinstance(said, list | tuple) and not said)
    return f"the model wrote nothing: {rollout.record.masked}" if is_empty else None


def _name_group(rollout: Rollout) -> GroupKey:
    return rollout.record.run, rollout.group or ""
