"""`audit`: a reward and its history joined, in the form of findings."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from plaudit.analysis.audit import actions, branches, clamps, declared, outcomes, returns, terms, walks
from plaudit.analysis.audit.context import AuditContext, Detector, Thresholds
from plaudit.analysis.audit.data_sets import record_rows
from plaudit.analysis.audit.episodes import EpisodeTable
from plaudit.analysis.audit.happened import Happenings
from plaudit.analysis.audit.rollouts import answers, copies, groups, lengths
from plaudit.analysis.audit.rollouts.table import RolloutHistory
from plaudit.analysis.audit.steps import read_batches
from plaudit.checks.check import describe_failure, list_codes, separate_allowed
from plaudit.checks.finding import SEVERITIES, Failed, Finding
from plaudit.checks.model import RewardModel
from plaudit.checks.report import Report, TaskLabel
from plaudit.checks.rules import RULES
from plaudit.checks.rules.registry import Rule, collect_rules
from plaudit.errors import DefinitionError, NotInLedger, PlauditError, did_you_mean
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task
from plaudit.rows.streams import is_data_set
from plaudit.terminal import format_count

Progress = Callable[[int, int], None]

HISTORY_RULES: Mapping[str, Rule] = collect_rules(
    *(walks, outcomes, returns, actions, clamps, branches, terms, declared, groups, lengths, copies, answers)
)
"""Every rule that only recorded steps can answer, by its code, in the order in which they are listed."""
_OF_EPISODES = frozenset(rule.code for rule in collect_rules(walks, outcomes, actions).values()) | {
    "length-paid",
    "shaping-reordered",
}
"""Rules about states, actions and what follows what, which rollouts, episodes of one step, do not have."""


def audit(
    ledger: Ledger | str | os.PathLike[str],
    reward: Reward | str | None = None,
    *,
    task: Task | None = None,
    checked: Report | None = None,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    thresholds: Thresholds | None = None,
    progress: Progress | None = None,
    **query: Any,
) -> Report:
    """Audit what happened under a reward in recorded steps, and return findings with the records that show them.

    >>> import tempfile
    >>> from plaudit import Field, Ledger, Reward, term
    >>> @term
    ... def rush(speed):
    ...     return speed
    >>> moving = Reward("moving", version="1", terms=[rush], fields=[Field("speed", low=0, high=9)])
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/rewards.db") as ledger:
    ...     _ = ledger.record_batch(moving, {"speed": [3.0] * 4000}, run="night", episode="0", step=range(4000))
    ...     report = audit(ledger, moving)
    >>> [finding.code for finding in report]
    ['constant-in-practice']

    Args:
        ledger: A ledger, or its path or URL. Or a data set (a file or folder of rows, an `s3://` or `gs://` address, a
            Delta table), whose rows `reward` scores into a temporary ledger. Nothing else is written.
        reward: The reward to audit, with its current declarations; or its recorded name, such as "maze" or "maze@1". If
            omitted, the only reward in the records.
        task: The task to add to the reward's own: the stated objective and what can happen.
        checked: A report of `check` on the same reward. The result holds its findings too, each with how often it
            happened, in which episodes, and what it earned.
        only: The code of one history rule, or of several, to run. If omitted, all of them.
        ignore: The code of one history rule, or of several, to skip.
        thresholds: When to report a finding. If omitted, `Thresholds()`.
        progress: Called with the number of records read and their total.
        **query: Which records to read, as for `Ledger.history`: `run="night-3"`.

    Returns:
        The findings, as `check` returns them.

    Raises:
        NotInLedger: There are no such records, or they belong to other rewards.
        DefinitionError: No reward is given and the records belong to several, or an argument is invalid.
    """
    if not isinstance(ledger, Ledger) and is_data_set(os.fspath(ledger)):
        source = os.fspath(ledger)
        if not isinstance(reward, Reward):
            raise DefinitionError(f"{source} does not say which reward paid; pass the Reward to score its rows with.")
        chosen = _choose_codes(list_codes(only), list_codes(ignore))
        with record_rows(reward, source, progress) as (recorded, remarks):
            given = (recorded, reward, thresholds or Thresholds(), query, checked, task)
            return Audit(*given, name=source, remarks=remarks).run(chosen, progress)
    if not isinstance(ledger, Ledger):
        with Ledger(ledger, read_only=True) as opened:
            return audit(
                opened,
                reward,
                task=task,
                checked=checked,
                only=only,
                ignore=ignore,
                thresholds=thresholds,
                progress=progress,
                **query,
            )
    if isinstance(reward, str):
        name, _, version = reward.partition("@")
        query |= {"reward": name, **({"version": version} if version else {})}
        reward = None
    if reward is not None and not isinstance(reward, Reward):
        raise DefinitionError(f"audit takes a Reward or the name of one, but got a {type(reward).__name__}.")
    chosen = _choose_codes(list_codes(only), list_codes(ignore))
    return Audit(ledger, reward, thresholds or Thresholds(), query, checked, task).run(chosen, progress)


class Audit:
    """A reward, its records, and the detectors that look at them."""

    def __init__(
        self,
        ledger: Ledger,
        reward: Reward | None,
        thresholds: Thresholds,
        query: Mapping[str, Any],
        checked: Report | None = None,
        task: Task | None = None,
        *,
        name: str | None = None,
        remarks: Iterable[str] = (),
    ) -> None:
        """Find the records; nothing but sums of episodes is read yet.

        Of a data set in a temporary ledger, `name` is its own, and `remarks` say what was left out.
        """
        self._name = name or ledger.name
        self._ledger, self._query = ledger, dict(query)
        counts = ledger.history(**query).counts()
        if not counts:
            ledger.history(**query).first()  # which raises an error that names what was not found
        found, self._layouts = _choose_layouts(ledger, reward, counts)
        self.reward = found._join_task(task)
        labels = {(each.reward.name, each.reward.version) for each in self._layouts}
        self._remarks = list(remarks) + [
            f"Left out: {format_count(count, 'record')} of {layout.reward.name}@{layout.reward.version}."
            for layout, count in counts
            if (layout.reward.name, layout.reward.version) not in labels
        ]
        listed = [each for each in ledger.episodes(**query) if (each.reward, each.version) in labels]
        terminal = any(term.terminal for term in self.reward.terms)
        recorded = frozenset.intersection(*(frozenset(each.scored.program.inputs) for each in self._layouts))
        self.context = AuditContext(
            ledger, RewardModel(self.reward), EpisodeTable(listed, terminal), thresholds, recorded
        )
        self.clamps = clamps.ClampCounts(self.reward)
        ends = outcomes.EpisodeOutcomes(self.context)
        self.walks = walks.Walks(self.context, ends)
        fingerprints = frozenset(each.reward.fingerprint for each in self._layouts)
        self._rollouts = rollouts = RolloutHistory(self.context, self._query, fingerprints)
        self._checked = checked
        self.happened = Happenings(self.context, () if checked is None else checked.findings)
        self._failed: list[Failed] = []
        self._detectors: list[Detector] = [
            self.happened,
            self.walks,
            ends,
            returns.EpisodeReturns(ends),
            actions.ActionCounts(self.context),
            self.clamps,
            branches.BranchesTaken(self.context),
            terms.TermStatistics(self.reward, thresholds.drowned),
            declared.Declarations(self.context),
            rollouts,
            groups.RolloutGroups(rollouts),
            lengths.RolloutLengths(rollouts),
            copies.RolloutCopies(rollouts),
            answers.RolloutAnswers(rollouts),
        ]

    def run(self, chosen: Collection[str], progress: Progress | None = None) -> Report:
        """Read every step once, and return what was found."""
        started = time.perf_counter()
        for batch in read_batches(self._ledger, self._layouts, self.context.table, self._query, progress):
            self.context.steps += len(batch)
            for detector in tuple(self._detectors):
                if not self._try(detector.codes, partial(detector.add, batch)):
                    self._detectors.remove(detector)
        found: list[Finding] = []
        for detector in self._detectors:
            for rule in detector.rules:
                self._try([rule.code], lambda: found.extend(self._ask(rule, detector)))  # noqa: B023 - called at once
        kept, suppressed = separate_allowed(self.reward, [each for each in found if each.code in chosen])
        of_rollouts = self._rollouts.count == self.context.steps > 0
        remarks = [] if of_rollouts else self.context.table.list_remarks()
        left_out = _OF_EPISODES if of_rollouts else ()
        report = Report(
            reward=self.reward.name,
            version=self.reward.version,
            fingerprint=self.reward.fingerprint,
            task=TaskLabel.of(self.reward.task),
            findings=kept,
            suppressed=suppressed,
            failed=tuple(each for each in self._failed if each.code in chosen or each.code not in HISTORY_RULES),
            remarks=(self._describe(of_rollouts), *self._remarks, *self.context.remarks, *remarks),
            skipped={
                code: self.context.skipped[code]
                for code in chosen
                if code in self.context.skipped and code not in left_out
            },
            seconds=time.perf_counter() - started,
        )
        return report if self._checked is None else self._join(self._checked, report)

    def _join(self, checked: Report, audited: Report) -> Report:
        """Return what was found in the definition, with what came of it, and what was found in the history."""
        told: Iterable[Finding] = checked.findings
        if not self._failed:  # otherwise the counts are incomplete
            told = [self.happened.tell(self.context, each, self.walks, self.clamps) for each in told]
        findings = sorted((*told, *audited.findings), key=lambda each: -SEVERITIES.index(each.severity))
        return replace(
            checked,
            findings=tuple(findings),
            suppressed=(*checked.suppressed, *audited.suppressed),
            failed=(*checked.failed, *audited.failed),
            remarks=audited.remarks,
            skipped={**checked.skipped, **audited.skipped},
            seconds=checked.seconds + audited.seconds,
        )

    def _ask(self, rule: Rule, detector: Detector) -> Iterator[Finding]:
        self.context.rule = rule
        return (each for each in rule.find(detector, self.context) if isinstance(each, Finding))

    def _try(self, codes: Iterable[str], ask: Callable[[], None]) -> bool:
        """Ask a detector or a rule, and return whether it answered; one that fails stops no other."""
        try:
            ask()
        except (PlauditError, MemoryError):  # a damaged ledger is not a failure of a rule
            raise
        except Exception as error:
            self._failed += [Failed(code, describe_failure(error)) for code in codes]
            return False
        return True

    def _describe(self, of_rollouts: bool) -> str:
        steps, episodes = self.context.steps, len(self.context.table)
        if of_rollouts:
            return f"Read: {format_count(steps, 'rollout')} in {self._name}."
        of = f" of {format_count(episodes, 'episode')}" if episodes else ""
        return f"Read: {format_count(steps, 'step')}{of} in {self._name}."


def _choose_codes(only: Collection[str], ignore: Collection[str]) -> list[str]:
    """Return the codes of the history rules to run."""
    for code in (*only, *ignore):
        if code not in RULES and code not in HISTORY_RULES:
            raise DefinitionError(f"there is no rule {code!r}.{did_you_mean(code, {**RULES, **HISTORY_RULES})}")
    return [code for code in HISTORY_RULES if (not only or code in only) and code not in ignore]


def _choose_layouts(
    ledger: Ledger, reward: Reward | None, counts: Sequence[tuple[RecordLayout, int]]
) -> tuple[Reward, list[RecordLayout]]:
    """Return the reward and the layouts of its steps; raise an error that lists what the ledger has instead."""
    steps = [layout for layout, _ in counts if layout.part == "whole"]
    held = dict.fromkeys(f"{each.reward.name}@{each.reward.version}" for each in steps)
    if reward is None:
        if len({each.reward.fingerprint for each in steps}) > 1:
            raise DefinitionError(f"{ledger.name} has records of several rewards: {', '.join(held)}. Name one of them.")
        if not steps:
            raise NotInLedger(f"{ledger.name} has only episode ends among these records, and no steps to audit.")
        return steps[-1].reward, steps
    found = [each for each in steps if each.reward.fingerprint == reward.fingerprint]
    if not found:
        label = f"{reward.name}@{reward.version}"
        same = f" Records of {label} were computed by another formula." if label in held else ""
        raise NotInLedger(
            f"{ledger.name} has no records of {label} ({reward.fingerprint[:12]}) here, only of "
            f"{', '.join(held) or 'episode ends'}.{same} To score these records with {label}, run plaudit rescore, "
            "then choose the new records with job=."
        )
    return reward, found
