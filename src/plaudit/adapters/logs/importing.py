"""Rollouts of another tool's log as rollouts of a ledger, with what the tool paid for them as their reward."""

import hashlib
import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from plaudit.adapters.logs.find import find_home, name_run, open_log
from plaudit.adapters.logs.log import BadRow, Log, Logged
from plaudit.adapters.logs.scores import build_reward, name_terms
from plaudit.atomic import parse_path
from plaudit.errors import Abstained, LedgerError, UnknownInput, did_you_mean
from plaudit.ledger.context import validate_scope
from plaudit.ledger.exchange.quarantine import Refused
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.ledger.storage.texts import FOUND
from plaudit.llm.rollouts import Keep, Place, RolloutPacker
from plaudit.llm.sample import Sample
from plaudit.llm.scored import Scored
from plaudit.reward.reward import Reward
from plaudit.terminal import escape_controls, format_count

__all__ = ["ImportedLog", "import_log"]

Progress = Callable[[int, int], None]
_LOG = "log"
"""Under which name the context of a record says which log it is of."""
_TOGETHER = 512
"""Rollouts to write in one transaction."""


@dataclass(slots=True)
class ImportedLog:
    """The result of `import_log`; print it.

    Example:
        ```python
        found = import_log(ledger, "logs/sums.eval")
        print(found, found.run, found.unscored)
        ```
    """

    tool: str
    path: str
    run: str
    rollouts: int = 0
    """Rollouts that were added."""
    known: int = 0
    """Rollouts of the log that were in the ledger already."""
    quarantined: int = 0
    """Lines, rows or samples that were quarantined."""
    means: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By the reward that stands for what the tool paid: how many rollouts were added with it, and their mean total."""
    inputs: tuple[str, ...] = ()
    """Inputs of rewards that the log has, by name; which version of their features found them, it does not say."""
    unscored: Counter[str] = field(default_factory=Counter)
    """Why rollouts that were added have no reward, and how many."""

    def __str__(self) -> str:
        """Return a summary."""
        lines = [f"{format_count(self.rollouts, 'rollout')} imported from {self.path} as run {self.run!r}"]
        lines += [f"{self.known:,} already there"] if self.known else []
        lines += [
            f"{format_count(count, 'rollout')} of {name}: mean {mean:.4g}" for name, (count, mean) in self._rewards
        ]
        lines += [
            f"{format_count(count, 'rollout')} without a reward: {why}" for why, count in self.unscored.most_common(5)
        ]
        if self.inputs:
            lines.append(f"inputs in the log, of features whose version it does not say: {', '.join(self.inputs)}")
        return escape_controls("\n".join(lines))

    @property
    def _rewards(self) -> list[tuple[str, tuple[int, float]]]:
        return sorted(self.means.items(), key=lambda each: -each[1][0])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns:
            The counts, the mean of each reward and the reasons.
        """
        means = {name: {"rollouts": count, "mean": mean} for name, (count, mean) in self._rewards}
        return {**asdict(self), "means": means, "inputs": list(self.inputs), "unscored": dict(self.unscored)}


def import_log(
    ledger: Ledger,
    path: str | os.PathLike[str],
    *,
    run: str | None = None,
    scores: Mapping[str, float] | None = None,
    quarantine: bool = False,
    texts: Keep = "keep",
    progress: Progress | None = None,
) -> ImportedLog:
    """Import rollouts that TRL, verifiers or Inspect logged; what the tool paid is kept as their reward.

    The log is read to its end before anything is recorded. A rollout that is already in the ledger is not added again,
    so a log that has grown, or an import that was interrupted, can be imported again. A run holds one log.
    `rescore_rollouts` scores the rollouts with a reward and features of yours.

    Args:
        ledger: The ledger.
        path: A folder of TRL's `completions_*.parquet` or one of these files; verifiers' `traces.jsonl` or
            `results.jsonl`, or their folder; Inspect's `.eval` or `.json`.
        run: The run to record under; the name of the folder or of the file if omitted.
        scores: The scores that make the total, each with its weight, where the log does not say which.
        quarantine: Quarantine lines, rows and samples that cannot be read, instead of raising an error.
        texts: What to record of texts; see `Scoring`.
        progress: Called with the number of rollouts done and the number in total.

    Returns:
        What was imported.

    Raises:
        FileError: It is no such log, or not a whole one.
        LedgerError: A line, row or sample cannot be read, the log does not say which scores make the total, or the run
            has records of something else.
        UnknownInput: The log has no such score.

    Example:
        ```python
        with Ledger("rewards.db") as ledger:
            print(import_log(ledger, "runs/grpo-7/completions", scores={"right": 1.0, "brief": 0.5}))
        ```
    """
    log = open_log(parse_path(path))
    found = ImportedLog(log.tool, os.fspath(path), run or name_run(log.path))
    with _Spool() as spool:
        bad = _read(log, spool, quarantine=quarantine)
        chosen = _choose(log, spool.weights.keys(), scores)
        _require_own_run(ledger, log, found.run, spool)
        found.inputs = tuple(sorted(spool.inputs))
        _Writer(ledger, found, chosen, RolloutPacker(texts, {})).write(spool, progress)
        found.quarantined = _quarantine(ledger, log.tool, bad)
    return found


def _read(log: Log, spool: "_Spool", *, quarantine: bool) -> list[BadRow]:
    bad = []
    for each in log.read():
        found = spool.add(each) if isinstance(each, Logged) else each
        if found is not None and not quarantine:
            raise LedgerError(
                f"{found.file}, line {found.line}: {found.reason}. Nothing was imported. Use quarantine=True "
                "(--quarantine) to quarantine what cannot be read."
            )
        bad += [] if found is None else [found]
    return bad


def _choose(log: Log, names: Set[str], scores: Mapping[str, float] | None) -> Mapping[str, float | None]:
    """Return the scores that make the total, each with its weight; None for that of the log."""
    if scores is None:
        return dict.fromkeys(log.choose(names))
    for name in scores:
        if name not in names:
            listed = f" It has: {', '.join(sorted(names))}." if names else ""
            raise UnknownInput(f"{log.path} has no score {name!r}.{did_you_mean(name, names)}{listed}")
    return scores


def _require_own_run(ledger: Ledger, log: Log, run: str, spool: "_Spool") -> None:
    """Refuse a run with records that are not of this log: groups of two logs may be named alike."""
    first = next(_list_recorded(ledger, run), None)
    if first is None or _is_of(log, first):
        return
    known = {f"{run} {each}" for each in spool.ids}
    other = next((record for record in _list_recorded(ledger, run) if record.key not in known), None)
    if other is not None:  # otherwise the log has been moved
        about = other.context.get(_LOG) if isinstance(other.context, dict) else None
        holds = f"the rollouts of another log ({about})" if about else f"other records, such as {other.id}"
        raise LedgerError(
            f"{ledger.name}: run {run!r} holds {holds}. Name another run for {log.path}: --run NAME (run= in Python)."
        )


def _list_recorded(ledger: Ledger, run: str) -> Iterator[Record]:
    return (record for record in ledger.history(run=run) if record.job is None)


def _is_of(log: Log, record: Record) -> bool:
    """Return whether a record was imported from a log, from any of its files."""
    about = record.context.get(_LOG) if isinstance(record.context, dict) else None
    home = f"{log.tool}: {find_home(log.path)}"
    return isinstance(about, str) and about.startswith((f"{home}{os.sep}", f"{home}, "))


def _quarantine(ledger: Ledger, tool: str, bad: Sequence[BadRow]) -> int:
    count = 0
    for file in dict.fromkeys(each.file for each in bad):
        rows = [each for each in bad if each.file == file]
        refused = [Refused(f"{tool} {file}", each.line, each.reason, {"content": each.content}) for each in rows]
        count += ledger._quarantine(file, refused)
    return count


class _Spool:
    """Rollouts on disk, which are read back group by group: a log may have completions of a prompt far apart."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed on leaving
        self._groups: dict[str, list[int]] = {}
        self._seen: dict[str, bytes] = {}
        self.inputs: set[str] = set()
        """The inputs that some rollout has."""
        self.weights: dict[str, float] = {}
        """The scores that some rollout has, with the first weight of each."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def ids(self) -> Set[str]:
        """What tells the rollouts from each other."""
        return self._seen.keys()

    def add(self, logged: Logged) -> BadRow | None:
        """Keep a rollout; one that is there twice, once. Return what is wrong with one whose id another has."""
        for name, score in logged.scores.items():
            if math.isinf(score):
                return BadRow(logged.file, logged.line, f"the score {name!r} is {score}")
        line = json.dumps(asdict(logged), default=str).encode() + b"\n"
        same = json.dumps(asdict(logged) | {"line": 0, "file": ""}, default=str).encode()
        digest = hashlib.blake2s(same, digest_size=16).digest()
        if logged.id in self._seen:
            if self._seen[logged.id] == digest:
                return None
            return BadRow(logged.file, logged.line, f"another rollout has its id {logged.id!r}", line.decode())
        self._seen[logged.id] = digest
        self._groups.setdefault(logged.group, []).append(self._file.tell())
        self._file.write(line)
        self.inputs |= logged.inputs.keys()
        self.weights = {name: logged.weights.get(name, 1.0) for name in logged.scores} | self.weights
        return None

    def __iter__(self) -> Iterator[Logged]:
        for places in self._groups.values():
            for place in places:
                self._file.seek(place)
                yield Logged(**json.loads(self._file.readline()))


class _Writer:
    """Writes rollouts of a log into a ledger."""

    def __init__(
        self, ledger: Ledger, found: ImportedLog, chosen: Mapping[str, float | None], packer: RolloutPacker
    ) -> None:
        self._ledger, self._found, self._chosen, self._packer = ledger, found, chosen, packer
        self._scope = validate_scope(found.run, None, None, None)
        self._terms = name_terms(chosen)

    def write(self, spool: _Spool, progress: Progress | None) -> None:
        whole = self._build_reward({name: spool.weights[name] if w is None else w for name, w in self._chosen.items()})
        left, done = iter(spool), 0
        while some := list(islice(left, _TOGETHER)):
            known = self._ledger._find_keys([self._name(each) for each in some])
            new = [each for each in some if self._name(each) not in known]
            self._found.known += len(some) - len(new)
            if new:
                scored = self._score(new, whole)
                places = [self._place(each) for each in new]
                self._ledger._write_with_texts(*self._packer.pack(self._ledger, scored, places))
                self._count(scored)
            done += len(some)
            if progress is not None:
                progress(done, len(spool))

    def _name(self, logged: Logged) -> str:
        return f"{self._found.run} {logged.id}"

    def _place(self, logged: Logged) -> Place:
        at = self._ledger._store.writer.now() if logged.at is None else logged.at
        about: dict[str, Any] = {_LOG: f"{self._found.tool}: {Path(logged.file).absolute()}, line {logged.line}"}
        if numbers := {name: found for name, found in logged.inputs.items() if not isinstance(found, str)}:
            about[FOUND] = numbers
        where = self._name(logged), logged.id, logged.group, logged.step, logged.policy
        return Place(self._scope, at, *where, about)

    def _score(self, new: Sequence[Logged], whole: Reward) -> Scored:
        """Return rollouts with what the tool paid for each; `whole` is the reward of one that has no total."""
        count = len(new)
        samples, groups = [Sample(each.parts) for each in new], [each.group for each in new]
        scored = Scored(samples, groups, [None] * count, [None] * count, {}, [whole] * count)
        names = {name: None for each in new for name in each.inputs}
        scored.found = {name: [each.inputs.get(name) for each in new] for name in names}
        for at, each in enumerate(new):
            paid = {name: each.scores[name] for name in self._chosen if name in each.scores}
            if each.failed is not None or not paid:
                why = each.failed or "the log has no score of it"
                scored.errors[at], scored.abstained[at] = Abstained(why), why
                continue
            weights = {name: each.weights.get(name, 1.0) if w is None else w for name, w in self._chosen.items()}
            scored.rewards[at] = self._build_reward({name: weights[name] for name in paid})
            row = {self._terms[name]: score for name, score in paid.items()}
            scored.inputs[at], scored.totals[at] = row, scored.rewards[at].score(**row).total
        return scored

    def _build_reward(self, weights: Mapping[str, float]) -> Reward:
        return build_reward(self._found.tool, {self._terms[name]: (name, weight) for name, weight in weights.items()})

    def _count(self, scored: Scored) -> None:
        self._found.rollouts += len(scored.samples)
        self._found.unscored.update(scored.abstained.values())
        for reward, total in zip(scored.rewards, scored.totals, strict=True):
            if total is not None:
                name = f"{reward.name}@{reward.version}"
                count, mean = self._found.means.get(name, (0, 0.0))
                self._found.means[name] = count + 1, mean + (total - mean) / (count + 1)
