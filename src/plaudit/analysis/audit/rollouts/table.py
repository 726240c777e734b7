"""Recorded rollouts as columns: what each was paid, its group, how long its text is, and whether it copies."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.context import AuditContext, Detector, compile_goal
from plaudit.analysis.audit.rollouts.copying import copies_prompt, count_words, strip_tags
from plaudit.analysis.audit.steps import Numbers, Positions, StepBatch
from plaudit.ledger.ledger import Ledger
from plaudit.llm.rollouts import Rollout, read_rollouts
from plaudit.terminal import format_count

Flags = NDArray[np.bool_]

LEAST_GROUPS = 10
"""With fewer groups of several completions nothing is said about groups."""


@dataclass(frozen=True, eq=False)
class RolloutTable:
    """Rollouts in the order in which they were recorded."""

    numbers: NDArray[np.int64]
    """The numbers of the records."""
    names: Sequence[str | None]
    """The runs by name."""
    runs: Positions
    groups: Positions
    """Completions of one prompt in one step have the same number, which no other group has."""
    prompts: Positions
    texts: Positions
    """Equal completions have the same number."""
    totals: Numbers
    values: Mapping[str, Numbers]
    """What each term paid."""
    inputs: Mapping[str, Numbers]
    """Numbers and flags."""
    lengths: Mapping[str, Numbers]
    """The characters of the text without tags, and of the reasoning; NaN where texts are not there."""
    words: Numbers
    copied: Flags
    """Whether the text repeats the prompt, and adds nothing."""
    judges: frozenset[str]
    """The inputs that judges gave."""

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def has_text(self) -> Flags:
        """Where the texts are there."""
        return np.isfinite(self.words)

    @cached_property
    def progress(self) -> Numbers:
        """How much of its run was over when each rollout was recorded, from 0 to 1."""
        found = np.zeros(len(self))
        for run in range(len(self.names)):
            rows = np.flatnonzero(self.runs == run)
            found[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        return found

    @cached_property
    def group_sizes(self) -> Positions:
        """How many completions each group has."""
        return np.bincount(self.groups)

    @cached_property
    def group_progress(self) -> Numbers:
        """How much of its run was over when each group began."""
        found = np.ones(len(self.group_sizes))
        np.minimum.at(found, self.groups, self.progress)
        return found

    @cached_property
    def group_prompts(self) -> Positions:
        """The prompt of each group."""
        found = np.zeros(len(self.group_sizes), np.intp)
        found[self.groups] = self.prompts
        return found

    @property
    def several(self) -> Flags:
        """The groups of more than one completion."""
        return self.group_sizes > 1

    def average(self, column: Numbers) -> Numbers:
        """Return the mean of each group."""
        found: Numbers = np.bincount(self.groups, column) / self.group_sizes
        return found

    def name_runs(self, runs: Sequence[int]) -> str:
        """Return the names of some runs."""
        return ", ".join("no run" if self.names[run] is None else str(self.names[run]) for run in runs)


class RolloutHistory(Detector):
    """Notices which steps are rollouts; they are read, with their texts, when the first rule asks for them."""

    codes = ["rollouts"]  # noqa: RUF012 - what the base class computes

    def __init__(self, context: AuditContext, query: Mapping[str, Any], fingerprints: frozenset[str]) -> None:
        self._context, self._query, self._fingerprints = context, query, fingerprints
        self._goal = compile_goal(context)
        self._numbers: list[NDArray[np.int64]] = []
        self._reached: list[Flags] = []

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        if batch.names_texts:
            self._numbers.append(batch.numbers)
            if self._goal is not None:
                self._reached.append(self._goal.evaluate(batch)["goal"])

    @cached_property
    def table(self) -> RolloutTable | None:
        """The rollouts; None where there are none."""
        if not self._numbers:
            return None
        known = frozenset(np.concatenate(self._numbers).tolist())
        listed = list(_read(self._context.ledger, self._query, self._fingerprints, known))
        return build_table(listed) if listed else None

    @property
    def count(self) -> int:
        """How many rollouts there are."""
        return 0 if self.table is None else len(self.table)

    @cached_property
    def goal(self) -> Flags | None:
        """Where the goal of the reward's task was reached; None if it has none."""
        if not self._reached or self.table is None:
            return None
        numbers, reached = np.concatenate(self._numbers), np.concatenate(self._reached)
        order = np.argsort(numbers)
        found: Flags = reached[order][np.searchsorted(numbers[order], self.table.numbers)]
        return found

    def take(self, *, texts: bool = False) -> RolloutTable | None:
        """Return the rollouts, if there are enough groups of several; if not, skip the current rule.

        Args:
            texts: Whether the rule needs texts: rollouts without are named.
        """
        table, context = self.table, self._context
        if table is None:
            return None
        count = int(table.several.sum())
        if count < LEAST_GROUPS:
            context.skip(f"at least {LEAST_GROUPS} groups of several completions are needed; there are {count:,}")
            return None
        lacking = int((~table.has_text).sum()) if texts else 0
        if lacking == len(table):
            context.skip("the texts of these rollouts were not kept, or were forgotten")
            return None
        if lacking:
            what = format_count(lacking, "rollout")
            remark = f"Not compared by length: {what} whose texts were not kept, or were forgotten."
            if remark not in context.remarks:
                context.remarks.append(remark)
        return table


def _read(
    ledger: Ledger, query: Mapping[str, Any], fingerprints: frozenset[str], known: frozenset[int]
) -> Iterator[dict[str, Any]]:
    """Yield of each rollout what is compared; of its texts, no more than that."""
    job: Any = ...
    for rollout in read_rollouts(ledger, ledger.history(**query)):
        record = rollout.record
        if record.id not in known or record.signal.fingerprint not in fingerprints:
            continue
        job = record.job if job is ... else job
        if record.job == job:  # scored again with the same reward, a rollout would count twice
            yield _describe(rollout)


def _describe(rollout: Rollout) -> dict[str, Any]:
    record, sample = rollout.record, rollout.sample
    run = record.run
    found: dict[str, Any] = {
        "number": record.id,
        "run": run,
        "group": (run, rollout.group),
        "prompt": (run, rollout.prompt_id),
        "text": (run, record.context.get("text_id")),
        "total": record.total,
        "values": record.signal.values,
        "inputs": record.signal.inputs,
        "judges": rollout.answers.keys(),
        "lengths": (np.nan, np.nan),
        "words": np.nan,
        "copied": False,
    }
    if sample is None or "completion" not in sample:
        return found
    text = " ".join(sample.text.split())
    prompt = sample.get("prompt")
    found["prompt"] = hash(json.dumps(prompt, sort_keys=True, default=repr))
    found["text"] = hash(text)
    found["lengths"] = (len(strip_tags(text)), len(sample.reasoning))
    found["words"] = count_words(text)
    found["copied"] = copies_prompt(text, prompt)
    return found


def build_table(listed: Sequence[Mapping[str, Any]]) -> RolloutTable:
    """Return rollouts as columns."""
    runs: dict[Hashable, int] = {}
    names = list(dict.fromkeys(name for each in listed for name in each["values"]))
    inputs = list(dict.fromkeys(name for each in listed for name in each["inputs"]))
    return RolloutTable(
        np.array([each["number"] for each in listed], np.int64),
        list(dict.fromkeys(each["run"] for each in listed)),
        _number([each["run"] for each in listed], runs),
        _number([each["group"] for each in listed]),
        _number([each["prompt"] for each in listed]),
        _number([each["text"] for each in listed]),
        np.array([each["total"] for each in listed], np.float64),
        {name: np.array([each["values"].get(name, 0.0) for each in listed], np.float64) for name in names},
        {name: _to_numbers([each["inputs"].get(name) for each in listed]) for name in inputs},
        {
            name: np.array([each["lengths"][at] for each in listed], np.float64)
            for at, name in enumerate(("text", "reasoning"))
        },
        np.array([each["words"] for each in listed], np.float64),
        np.array([each["copied"] for each in listed], np.bool_),
        frozenset(name for each in listed for name in each["judges"]) & frozenset(inputs),
    )


def _number(keys: Sequence[Hashable], codes: dict[Hashable, int] | None = None) -> Positions:
    codes = {} if codes is None else codes
    return np.array([codes.setdefault(key, len(codes)) for key in keys], np.intp)


def _to_numbers(column: Sequence[Any]) -> Numbers:
    """Return numbers and flags; NaN for anything else."""
    return np.array([float(each) if isinstance(each, bool | int | float) else np.nan for each in column], np.float64)
