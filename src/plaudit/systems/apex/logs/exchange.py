"""The logs of a run into a ledger, and out of it again, row for row.

A reward becomes a record of `apex.logged`. The decision that earned it, taken in the state before, and how long that
took travel in the record's context. The end of an episode belongs to its last decision, which is then there `again`.
What has no reward is kept too: as a record of a reward that is always 0, and `blocked`, so that nothing learns from it.
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
    """The counts of an import; `import_artifacts` returns it.

    >>> ImportSummary(rewards=25, decisions=24, latencies=24, unrewarded=0, rounded=0, dropped={}).rewards
    25
    """

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
    """Record the logs of a run in a ledger.

    Importing again records only new rows. A file may hold several episodes: a row names its `episode`, or a new one
    begins where the step numbers restart. Logs that do not agree on that are an InputError.

    Rows whose reward does not match the formula are an InputError that lists them, and nothing is recorded.

    Args:
        ledger: The ledger.
        folder: The folder of the logs.
        run: The name of the run in the ledger.
        rewards: The log of rewards, instead of the one in `folder`.
        decisions: The log of decisions, likewise.
        latencies: The log of latencies, likewise.
        offset: Number to add to the steps of rewards, for logs that number transitions.
        keep_differing: Whether to record rows that do not match, with the formula's number and the log's own.

    Returns:
        What was imported.

    Example:
        with Ledger("rewards.db") as ledger:
            print(import_artifacts(ledger, "runs/7/artifacts", run="run 7"))
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
    """Write a run from a ledger as the logs it came from.

    Rows come back unchanged and in order; if a log mixed its episodes, they come one after another. Values beyond the
    schemas go to `extras.jsonl`. Steps recorded with `Ledger.record` are exported too. A file is written whole or not
    at all.

    Args:
        ledger: The ledger.
        folder: The folder to write to.
        run: The name of the run.

    Returns:
        The number of rows of each file.

    Raises:
        InputError: The ledger has no steps of apex in the run, or a record lacks what a log needs.

    Example:
        export_artifacts(ledger, "logs", run="run 7")
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
            f"{path}: {count} of its rewards do not match the formula:\n  "
            + "\n  ".join(differing)
            + more
            + "\nNothing was recorded. Pass keep_differing=True to record both numbers."
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
            raise InputError(f"{name} has two rows for the same step of an episode. Nothing was recorded.")
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
            raise _build_ambiguity(f"{DECISIONS}: the steps go back, but not to 1: episodes may be mixed")
    decided = {position.key for position in decisions}
    lost = max(decided, default=(0, 0)) if torn else None
    for each in logs.get(REWARDS, ()) if decided else ():
        if not each.end and each.key not in decided and (lost is None or each.key < lost):
            raise _build_ambiguity(
                f"{REWARDS}: no decision is logged for step {each.decision} of episode {each.episode}"
            )


def _build_ambiguity(what: str) -> InputError:
    return InputError(
        f"{what}. It is unclear which reward belongs to which decision, so nothing was recorded. Import one episode "
        "at a time, or add an extras.jsonl with the `episode` of each row."
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
        raise InputError(f"record {record.id} has no step: pass Ledger.record the number of the state reached as step.")
    extras = {name: context.get(name) for name in ("detector", "episode")}
    row = RewardRow.from_signal(record.step, record.signal, **extras)
    return replace(row, r_step=context.get("r_step", row.r_step), more=context.get("more", {}))
