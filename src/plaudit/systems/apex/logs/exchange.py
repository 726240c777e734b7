"""The logs of a run into a ledger, and out of it again, row for row.

A reward becomes a record of `apex.logged`. The decision that earned it, taken in the state before, and how long that
took travel in the record's context. The end of an episode belongs to its last decision, which is then there `again`.
What has no reward is kept too: as a record of a reward that is always 0, and `blocked`, so that nobody learns from it.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.atomic import AtomicFile
from plaudit.errors import FileError, InputError, NotInLedger
from plaudit.systems.apex.logs.artifacts import (
    DECISIONS,
    EXTRAS,
    LATENCIES,
    REWARDS,
    Rows,
    build_extras,
    create_folder,
    write_row,
)
from plaudit.systems.apex.logs.logbook import build_reward_entry, build_unrewarded_entry, is_identical
from plaudit.systems.apex.logs.rewards import logged, score_row, unrewarded
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow, Row

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger
    from plaudit.ledger.record import Entry, Record


TOLERANCE = 1e-9
"""How far a logged reward may be from the formula: logs that were printed rounded are still of the same formula."""

BATCH = 1000
"""Records in a transaction."""

_KINDS: Mapping[str, type[Row]] = {REWARDS: RewardRow, DECISIONS: DecisionRow, LATENCIES: LatencyRow}

_COUNTERS: Mapping[type[Row], str] = {RewardRow: "rewards", DecisionRow: "decisions", LatencyRow: "latencies"}


class ImportSummary(NamedTuple):
    """What a log held."""

    rewards: int
    decisions: int
    latencies: int
    unrewarded: int
    """Decisions and latencies without a reward, kept as records of their own."""
    rounded: int
    """Rewards that are not the formula's to the bit; the log's own number is kept beside the formula's."""
    dropped: Mapping[str, bytes]
    """What was left out because the last line of a file was torn."""


class RowPosition(NamedTuple):
    """Where a row belongs."""

    episode: int
    decision: int
    """The step of the decision that it is about."""
    stated: bool = True
    """Whether the row says its episode; else it was counted."""
    end: bool = False
    """Whether it is the end of the episode, which may be of no decision."""

    @property
    def key(self) -> tuple[int, int]:
        """What tells the position from others."""
        return self[:2]


def import_artifacts(
    ledger: "Ledger",
    folder: str | os.PathLike[str] | None = None,
    *,
    run: str,
    rewards: str | os.PathLike[str] | None = None,
    decisions: str | os.PathLike[str] | None = None,
    latencies: str | os.PathLike[str] | None = None,
    offset: int = 0,
    keep_differing: bool = False,
) -> ImportSummary:
    """Record the logs in `folder`, or those that are named, as the run called `run`.

    Importing them again records only what is new. A file may hold several episodes: a row says its `episode`, or the
    next begins where the numbers begin again. Logs that do not agree on that are an InputError. `offset` is added to
    the steps of the rewards, for logs that number transitions.

    Rows whose reward is not what the formula gives are an InputError that lists them, and nothing is recorded; with
    `keep_differing` they are recorded with the formula's number, and the log's stays beside it and is exported again.
    """
    files = _find_files(folder, {REWARDS: rewards, DECISIONS: decisions, LATENCIES: latencies})
    located: dict[str, list[tuple[RowPosition, Any]]] = {}
    dropped: dict[str, bytes] = {}
    rounded = 0
    for name, path in files.items():  # all of them before anything is recorded: a bad row leaves nothing half done
        rows: Rows[Any] = Rows(path, _KINDS[name], offset if name == REWARDS else 0)
        if name == REWARDS:
            located[name], rounded = _read_rewards(rows, path, keep_differing)
        else:
            located[name] = list(locate_rows(rows))
        dropped |= {str(path): rows.dropped} if rows.dropped else {}
    validate_positions(located, torn=str(files.get(DECISIONS)) in dropped)
    counts: Counter[str] = Counter()
    entries = _build_entries(run, sorted(chain(*located.values()), key=_get_key), counts)
    while batch := list(islice(entries, BATCH)):
        ledger.record_many(batch)
    totals = {name: counts[name] for name in ("rewards", "decisions", "latencies", "unrewarded")}
    return ImportSummary(**totals, rounded=rounded, dropped=dropped)


def export_artifacts(ledger: "Ledger", folder: str | os.PathLike[str], *, run: str) -> dict[str, int]:
    """Write the run called `run` to `folder` as the logs it came from, and return how many rows each has.

    Rows come back as they were, in order, but one episode after another where a log had mixed them; what they say
    beyond their schemas is in `extras.jsonl`. Steps that were recorded by `Ledger.record` as they happened are
    exported too. A file is written whole or, if something fails, not at all.
    """
    out = create_folder(Path(folder))
    counts: dict[str, int] = {}
    with ExitStack() as stack:
        files: dict[str, AtomicFile] = {}
        for name, row in _read_rows(ledger, run):
            counts[name] = counts.get(name, 0) + 1
            for log, line in ((name, row.to_dict()), (EXTRAS, build_extras(name, counts[name], row))):
                if line is None:
                    continue
                if log not in files:
                    files[log] = stack.enter_context(AtomicFile(out / log))
                write_row(files[log], line)
        if not files:
            raise NotInLedger(f"{ledger!r} has no steps of apex in the run {run!r}.")
        if EXTRAS not in files and (out / EXTRAS).exists():  # of an earlier export: they are about other rows
            files[EXTRAS] = stack.enter_context(AtomicFile(out / EXTRAS))
        for file in files.values():
            file.commit()
    return counts


def _find_files(
    folder: str | os.PathLike[str] | None, named: Mapping[str, str | os.PathLike[str] | None]
) -> dict[str, Path]:
    """Return the logs there are, in the order rewards, decisions, latencies."""
    found = {}
    for name, path in named.items():
        if path is not None:
            found[name] = Path(path)
        elif folder is not None and Path(folder, name).exists():
            found[name] = Path(folder, name)
    if not found:
        raise FileError(f"{os.fspath(folder or '.')} has none of {', '.join(named)}: name the folder of a run's logs.")
    return found


def _read_rewards(rows: Rows[RewardRow], path: Path, keep: bool) -> tuple[list[tuple[RowPosition, RewardRow]], int]:
    """Return the rewards, and how many are not the formula's to the bit; another number altogether is an InputError."""
    located = []
    rounded = count = 0
    differing: list[str] = []
    for position, row in locate_rows(rows):
        located.append((position, row))
        total = score_row(row).total
        rounded += not is_identical(total, row.r_step)
        if abs(total - row.r_step) > TOLERANCE:
            count += 1
            if len(differing) < 5:
                differing.append(f"line {rows.number} (step {row.step}): {row.r_step!r}, by the formula {total!r}")
    if count and not keep:
        more = f"\n  and {count - len(differing)} more" if count > len(differing) else ""
        raise InputError(
            f"{path}: {count} of its rewards are not what the formula gives:\n  "
            + "\n  ".join(differing)
            + more
            + "\nNothing was recorded. With keep_differing=True both numbers are."
        )
    return located, rounded


def locate_rows(rows: Iterable[Any]) -> Iterator[tuple[RowPosition, Any]]:
    """Yield the rows of a log with their positions.

    A row that does not say its episode is of that of the row before, or of the next where the steps do not go up.
    """
    episode, last = 1, -1
    for row in rows:
        episode = row.episode or episode + (row.decision <= last)
        last = row.decision
        end = isinstance(row, RewardRow) and row.terminal
        yield RowPosition(episode, row.decision, row.episode is not None, end), row


def validate_positions(logs: Mapping[str, Sequence[tuple[RowPosition, Any]]], *, torn: bool) -> None:
    """Raise an InputError where the logs do not agree on their episodes.

    Where rows say their episode, that is taken. Where it was counted, all logs must have the same episodes, and every
    reward a decision; `torn` says that the last decision was lost.
    """
    positions = {name: [position for position, _ in rows] for name, rows in logs.items()}
    for name, found in positions.items():
        if len({position.key for position in found}) < len(found):
            raise InputError(f"{name} has two rows of the same step in the same episode. Nothing was recorded.")
    if not all(position.stated for found in positions.values() for position in found):
        _validate_counted(positions, torn)


def _validate_counted(logs: Mapping[str, Sequence[RowPosition]], torn: bool) -> None:
    counts = {name: len({each.episode for each in positions if not each.end}) for name, positions in logs.items()}
    if len({count for count in counts.values() if count}) > 1:
        held = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise _build_ambiguity(f"the logs hold different numbers of episodes: {held}")
    decisions = logs.get(DECISIONS, ())
    for episode, positions in groupby(decisions, key=lambda position: position.episode):
        if episode > 1 and next(positions).decision != 1:
            raise _build_ambiguity(f"{DECISIONS}: the steps go back, but not to 1, as if episodes were mixed")
    decided = {position.key for position in decisions}
    lost = max(decided, default=(0, 0)) if torn else None
    for each in logs.get(REWARDS, ()) if decided else ():
        if not each.end and each.key not in decided and (lost is None or each.key < lost):
            raise _build_ambiguity(
                f"{REWARDS}: no decision of step {each.decision} in episode {each.episode} is logged"
            )


def _build_ambiguity(what: str) -> InputError:
    return InputError(
        f"{what}. Which reward belongs to which decision is unclear, and nothing was recorded. Import the logs of "
        "one episode at a time, or with the extras.jsonl that says the `episode` of each row."
    )


def _build_entries(run: str, rows: Iterable[tuple[RowPosition, Row]], counts: Counter[str]) -> "Iterator[Entry]":
    """Yield a record for each reward, with the decision that earned it, and for what has no reward."""
    last: dict[int, Any] = {}
    for (episode, _), group in groupby(rows, key=_get_key):
        parts = {type(row): row for _, row in group}
        counts.update(_COUNTERS[kind] for kind in parts)
        decision, latency, reward = (parts.get(kind) for kind in (DecisionRow, LatencyRow, RewardRow))
        assert decision is None or isinstance(decision, DecisionRow)
        assert latency is None or isinstance(latency, LatencyRow)
        if isinstance(reward, RewardRow):
            again = reward.terminal and decision is None and episode in last
            earned = score_row(reward)
            yield build_reward_entry(
                run, episode, reward, earned, last[episode] if again else decision, latency, again=again
            )
        else:
            missing = [row for row in (decision, latency) if row is not None]
            counts["unrewarded"] += len(missing)
            yield from (build_unrewarded_entry(run, episode, row) for row in missing)
        if decision is not None:
            last = {episode: decision}


def _get_key(each: tuple[RowPosition, Row]) -> tuple[int, int]:
    return each[0].key


def _read_rows(ledger: "Ledger", run: str) -> Iterator[tuple[str, Row]]:
    unpaid: set[tuple[str | None, str, Any]] = set()
    for record in ledger.history(run=run):
        if record.signal.reward not in (logged.name, unrewarded.name):
            continue
        context = record.context if isinstance(record.context, Mapping) else {}
        paid = record.signal.reward == logged.name
        for key, name, kind in (("decision", DECISIONS, DecisionRow), ("latency", LATENCIES, LatencyRow)):
            if key not in context or (key == "decision" and context.get("again")):
                continue
            row = kind.from_dict(context[key], f"record {record.id}, context[{key!r}]")
            which = (record.episode, name, row.decision)
            if not paid:
                unpaid.add(which)
            elif which in unpaid:  # its reward was imported later than itself
                continue
            yield name, row
        if paid:
            yield REWARDS, _read_reward_row(record, context)


def _read_reward_row(record: "Record", context: Mapping[str, Any]) -> RewardRow:
    if record.step is None:
        raise InputError(f"record {record.id} has no step: give Ledger.record the number of the state reached.")
    extras = {name: context.get(name) for name in ("detector", "episode")}
    row = RewardRow.from_signal(record.step, record.signal, **extras)
    return replace(row, r_step=context.get("r_step", row.r_step), more=context.get("more", {}))
