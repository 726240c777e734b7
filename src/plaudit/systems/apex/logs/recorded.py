"""The logs of a run into a ledger, and out of it again, row for row.

A reward becomes a record of `apex.logged`. The decision that earned it, taken in the state before, and how long that
took travel in the record's context. The end of an episode belongs to its last decision, which is then there `again`.
What has no reward is kept too: as a record of a reward that is always 0, and `blocked`, so that nobody learns from it.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from heapq import merge
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.drafts import Draft
from plaudit.errors import FileError, InputError, NotInLedger
from plaudit.systems.apex.logs.artifacts import (
    DECISIONS,
    LATENCIES,
    REWARDS,
    Rows,
    read_decisions,
    read_latencies,
    read_rewards,
)
from plaudit.systems.apex.logs.entries import rewarded, same, unrewarded, without_reward
from plaudit.systems.apex.logs.episodes import Place, check_places, placed
from plaudit.systems.apex.logs.log_reward import logged, logged_signal
from plaudit.systems.apex.logs.records import put_row
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow, Row

if TYPE_CHECKING:
    from plaudit.ledger.record import Entry, Record
    from plaudit.ledger.store import Ledger

TOLERANCE = 1e-9
"""How far a logged reward may be from the formula: logs that were printed rounded are no other formula."""

BATCH = 1000
"""Records in a transaction."""

_COUNTED: Mapping[type[Row], str] = {RewardRow: "rewards", DecisionRow: "decisions", LatencyRow: "latencies"}


class Imported(NamedTuple):
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
) -> Imported:
    """Record the logs in `folder`, or those that are named, as the run called `run`.

    Importing them again records only what is new. A file may hold several episodes: a row says its `episode`, or the
    next begins where the numbers begin again. Logs that do not agree on that are an InputError. `offset` is added to
    the steps of the rewards, for logs that number transitions.

    Rows whose reward is not what the formula gives are an InputError that lists them, and nothing is recorded; with
    `keep_differing` they are recorded with the formula's number, and the log's stays beside it and is exported again.
    """
    files = _files(folder, {REWARDS: rewards, DECISIONS: decisions, LATENCIES: latencies})
    rounded, in_order = _looked_through(files, offset, keep_differing)  # so that a bad row leaves nothing half done
    opened = _opened(files, offset)
    streams = [placed(rows) if in_order else sorted(placed(rows), key=_at) for rows in opened.values()]
    counts: Counter[str] = Counter()
    entries = _entries(run, merge(*streams, key=_at), counts)
    while batch := list(islice(entries, BATCH)):
        ledger.record_many(batch)
    dropped = {str(files[name]): rows.dropped for name, rows in opened.items() if rows.dropped}
    found = {name: counts[name] for name in ("rewards", "decisions", "latencies", "unrewarded")}
    return Imported(**found, rounded=rounded, dropped=dropped)


def export_artifacts(
    ledger: "Ledger",
    folder: str | os.PathLike[str],
    *,
    run: str,
    extras: bool = True,
) -> dict[str, int]:
    """Write the run called `run` to `folder` as the logs it came from, and return how many rows each has.

    Rows come back as they were, in order, but one episode after another where a log had mixed them; without `extras`
    with the keys of the schemas alone. Steps that were recorded
    by `Ledger.record` as they happened are exported too. A file is written whole or, if something fails, not at all.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{place} cannot be made: {error.strerror or error}") from None
    counts: dict[str, int] = {}
    with ExitStack() as stack:
        drafts: dict[str, Draft] = {}
        for name, row in _rows(ledger, run):
            if name not in drafts:
                drafts[name] = stack.enter_context(Draft(place / name))
            put_row(drafts[name], row.to_dict(extras=extras))
            counts[name] = counts.get(name, 0) + 1
        if not drafts:
            raise NotInLedger(f"{ledger!r} has no steps of apex in the run {run!r}.")
        for draft in drafts.values():
            draft.commit()
    return counts


# -- into a ledger ---------------------------------------------------------------------------------------------------


def _files(
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


def _opened(files: Mapping[str, Path], offset: int) -> dict[str, Rows[Any]]:
    """Return the rows of each log, from the beginning."""
    made: dict[str, Rows[Any]] = {}
    for name, path in files.items():
        if name == REWARDS:
            made[name] = read_rewards(path, offset=offset)
        else:
            made[name] = read_decisions(path) if name == DECISIONS else read_latencies(path)
    return made


def _looked_through(files: Mapping[str, Path], offset: int, keep: bool) -> tuple[int, bool]:
    """Return how many rewards are rounded, and whether the episodes of each log follow one another."""
    rounded, torn, places = 0, [], {}
    for name, rows in _opened(files, offset).items():
        found = places[name] = list[Place]()
        if name == REWARDS:
            rounded = _check_rewards(rows, files[name], keep, found)
        else:
            found.extend(place for place, _ in placed(rows))
        torn += [name] * bool(rows.dropped)
    return rounded, check_places(places, torn)


def _check_rewards(rows: Rows[RewardRow], path: Path, keep: bool, found: list[Place]) -> int:
    """Return how many rewards are not the formula's to the bit; InputError if one is another number altogether."""
    rounded = 0
    differing: list[str] = []
    count = 0
    for place, row in placed(rows):
        found.append(place)
        total = logged_signal(row).total
        rounded += not same(total, row.r_step)
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
    return rounded


def _at(each: tuple[Place, Row]) -> tuple[int, int]:
    return each[0].key


def _entries(run: str, rows: Iterable[tuple[Place, Row]], counts: Counter[str]) -> "Iterator[Entry]":
    """Yield a record for each reward, with the decision that earned it, and for what has no reward."""
    last: dict[int, Any] = {}
    for (episode, _), group in groupby(rows, key=_at):
        parts = {type(row): row for _, row in group}
        counts.update(_COUNTED[kind] for kind in parts)
        decision, latency, reward = (parts.get(kind) for kind in (DecisionRow, LatencyRow, RewardRow))
        assert decision is None or isinstance(decision, DecisionRow)
        assert latency is None or isinstance(latency, LatencyRow)
        if isinstance(reward, RewardRow):
            again = reward.terminal and decision is None and episode in last
            earned = logged_signal(reward)
            yield rewarded(run, episode, reward, earned, last[episode] if again else decision, latency, again=again)
        else:
            missing = [row for row in (decision, latency) if row is not None]
            counts["unrewarded"] += len(missing)
            yield from (without_reward(run, episode, row) for row in missing)
        if decision is not None:
            last = {episode: decision}


# -- out of a ledger -------------------------------------------------------------------------------------------------


def _rows(ledger: "Ledger", run: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a run, each with the name of its log."""
    alone: set[tuple[str | None, str, Any]] = set()
    for record in ledger.history(run=run):
        if record.signal.reward not in (logged.name, unrewarded.name):
            continue
        context = record.context if isinstance(record.context, Mapping) else {}
        paid = record.signal.reward == logged.name
        if paid:
            yield REWARDS, _reward_row(record, context)
        for key, name, kind in (("decision", DECISIONS, DecisionRow), ("latency", LATENCIES, LatencyRow)):
            if key not in context or (key == "decision" and context.get("again")):
                continue
            row = kind.from_dict(context[key], f"record {record.id}, context[{key!r}]")
            which = (record.episode, name, row.step if isinstance(row, DecisionRow) else row.decision)
            if not paid:
                alone.add(which)
            elif which in alone:  # its reward was imported later than itself
                continue
            yield name, row


def _reward_row(record: "Record", context: Mapping[str, Any]) -> RewardRow:
    """Return the row of a recorded step."""
    if record.step is None:
        raise InputError(f"record {record.id} has no step: give Ledger.record the number of the state reached.")
    said = {name: context.get(name) for name in ("detector", "episode")}
    row = RewardRow.from_signal(record.step, record.signal, **said)
    return replace(row, r_step=context.get("r_step", row.r_step), more=context.get("more", {}))
