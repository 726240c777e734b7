"""The sources on the command line: ledgers, opened read-only, and rewards."""

import math
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from time import monotonic

from plaudit.errors import LedgerBroken
from plaudit.ledger.record import Why
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.ledger.summary.episodes import Episode, Episodes
from plaudit.ledger.summary.returns import name_episode, read_steps
from plaudit.ledger.totals import Totals
from plaudit.page.addresses import UnknownDocument
from plaudit.page.documents.columns import Steps, read_episode, read_episodes
from plaudit.page.documents.paths import RewardPaths
from plaudit.plugins.arguments import find_reward, is_file_name, is_system, open_ledger
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task

FRESH = 0.25
"""Seconds between two checks of a ledger for new records: a view is made of several documents."""

MOST_NEW = 40
"""Episodes with new records that are looked up one by one; if there are more, all are listed again."""
MOST_KEPT = 100_000
"""Steps of episodes that are kept in memory, so that the next step is there at once."""
MOST_SCANNED = 10 * MOST_KEPT
"""Steps of a run that are gone through for its episodes; in a longer run, each episode is looked up."""


class RewardIds:
    """Rewards by their ids in addresses: the fingerprint, with a number if several share one."""

    def __init__(self, task: Task | None = None) -> None:
        """Start empty; every reward is shown with `task` joined to its own."""
        self._task = task
        self._ids: dict[tuple[str, str, str, str], str] = {}
        self._rewards: dict[str, Reward] = {}
        self._paths: dict[tuple[str, str], RewardPaths] = {}

    def add(self, reward: Reward) -> str:
        """Return the id of a reward; of two equal rewards, the one with a source is kept."""
        identity = (reward.name, reward.version, reward.fingerprint, reward.domain_fingerprint)
        if identity not in self._ids:
            same = sum(known[2] == reward.fingerprint for known in self._ids)
            self._ids[identity] = reward.fingerprint if not same else f"{reward.fingerprint}-{same + 1}"
        known = self._rewards.get(self._ids[identity])
        if known is None or known.terms[0].source is None:
            self._rewards[self._ids[identity]] = reward._join_task(self._task)
        return self._ids[identity]

    def __getitem__(self, reward: str) -> Reward:
        """Return the reward with an id; UnknownDocument if there is none."""
        if reward not in self._rewards:
            raise UnknownDocument(f"there is no reward {reward[:60]!r} on this page.")
        return self._rewards[reward]

    def __contains__(self, reward: object) -> bool:
        return reward in self._rewards

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._rewards))

    def find_paths(self, layout: RecordLayout) -> RewardPaths:
        """Return the paths through the terms of stored steps, by the source that the page shows of their reward."""
        key = self.add(layout.reward), layout.part
        reward = self[key[0]]
        known = self._paths.get(key)
        if known is None or known.reward is not reward:
            whole = RewardPaths(reward)
            known = self._paths[key] = whole if layout.part == "whole" else RewardPaths(reward._final, shown=whole)
        return known


class Listing:
    """The episodes of a run in the order in which they began, each with its own id."""

    def __init__(self, listed: Sequence[Episode]) -> None:
        """Name them; an id stays what it is when more episodes are recorded."""
        self.episodes = Episodes(listed)
        self.positions: dict[str, int] = {}
        for at, each in enumerate(listed):
            name = name_episode((None, each.actor, each.episode))
            label = f"{name} {each.reward}@{each.version}"
            free = (known for known in (name, label, f"{label} #{each.first_record}") if known not in self.positions)
            self.positions[next(free)] = at

    @cached_property
    def ids(self) -> list[str]:
        """Their ids."""
        return list(self.positions)

    @cached_property
    def _named(self) -> dict[tuple[str | None, str], list[int]]:
        """The positions of the episodes that an actor and a name stand for: one, unless several rewards paid it."""
        named: dict[tuple[str | None, str], list[int]] = {}
        for at, each in enumerate(self.episodes):
            named.setdefault((each.actor, each.episode), []).append(at)
        return named

    def locate(self, actor: str | None, episode: str | None, record: int | None = None) -> int | None:
        """Return the position of an episode by its actor and name; of several, the one that has the record."""
        found = self._named.get((actor, episode), []) if episode is not None else []
        holding = [at for at in found if record is None or self._holds(at, record)]
        return next(iter(holding), None)

    def _holds(self, at: int, record: int) -> bool:
        return self.episodes[at].first_record <= record <= self.episodes[at].last_record

    def name(self, at: int | None) -> str | None:
        """Return the id of the episode at a position; None where there is none."""
        return None if at is None else self.ids[at]

    @cached_property
    def finished(self) -> Episodes:
        """Those that count as returns."""
        return self.episodes.finished

    @property
    def unfinished(self) -> int:
        """How many have no end yet, or were cut off."""
        return len(self.episodes.unfinished)

    @cached_property
    def steps(self) -> int:
        """How many steps they have together."""
        return sum(each.length for each in self.episodes)

    def __len__(self) -> int:
        return len(self.episodes)


class LedgerSource:
    """A ledger, and its last listing."""

    kind = "ledger"

    def __init__(self, number: int, where: str, rewards: RewardIds, run: str | None, *, live: bool) -> None:
        """Open it read-only; unless `live`, its episodes are listed once."""
        self.id = f"l{number}"
        self._where = where
        self.ledger = open_ledger(where)
        self.name = Path(where).name if is_file_name(where) else self.ledger.name
        self.rewards = rewards
        self._run = run
        self._live = live
        self._lock = threading.RLock()
        self._read_until = -1
        self._fresh_until = 0.0
        self._runs: dict[str | None, Listing] = {}
        self._records: dict[str | None, Totals] = {}
        self._labels: dict[tuple[str, str], str] = {}
        self._kept: dict[tuple[int, int, str, str], list[Steps]] = {}
        self._explained: dict[int, Why] = {}
        self._seen: set[str | None] = set()
        self._opened = 0
        self._reported = self._opened, self.find_newest()

    def hide_path(self, text: str) -> str:
        """Return a text that names the ledger by the last part of its path, as the page does."""
        return text.replace(self.ledger.name, self.name)

    def find_newest(self) -> int:
        """Return the number of the newest record after which no older one can appear; 0 where there is none."""
        with self._lock:
            self._reopen_if_replaced()
        return self.ledger.history(after=0).find_last()

    def _reopen_if_replaced(self) -> None:
        """Open the file again if it was replaced by another. An error if it is gone."""
        try:
            self.ledger.check_in_place()
        except LedgerBroken:
            self.ledger = open_ledger(self._where)
            self._opened += 1
            self._read_until, self._fresh_until = -1, 0.0
            self._labels, self._kept, self._explained = {}, {}, {}

    @property
    def runs(self) -> dict[str | None, Listing]:
        """The episodes of every run, in the order in which runs began."""
        self._refresh()
        return self._runs

    @property
    def records(self) -> dict[str | None, Totals]:
        """The records of every run and their totals, including records without an episode."""
        self._refresh()
        return self._records

    def count_records(self, run: str | None) -> int:
        """Return how many records a run has, with those that could not be scored."""
        totals = self.records[run]
        return totals.records + totals.masked

    def _refresh(self) -> None:
        """Read what is kept of episodes again, if there are new records."""
        with self._lock:
            if monotonic() < self._fresh_until:
                return
            newest = self.find_newest()
            self._fresh_until = monotonic() + FRESH if self._live else math.inf
            if newest == self._read_until:
                return
            counted = {key[0]: totals for key, totals in self.ledger.totals("run", **self._query).items()}
            listed = self._list_new() or self._list_all()
            names = dict.fromkeys((*listed, *counted))
            self._runs = {run: listed.get(run) or Listing([]) for run in names}
            self._records = {run: counted.get(run, Totals()) for run in names}
            self._seen |= set(names)
            self._read_until = newest

    @property
    def _query(self) -> dict[str, str]:
        return {} if self._run is None else {"run": self._run}

    def _list_all(self) -> dict[str | None, Listing]:
        listed: dict[str | None, list[Episode]] = {}
        for each in self.ledger.episodes(**self._query):
            listed.setdefault(each.run, []).append(each)
        return {run: Listing(episodes) for run, episodes in listed.items()}

    def _list_new(self) -> dict[str | None, Listing] | None:
        """Return the episodes of all runs, listing those with new records again; None if these are too many."""
        if self._read_until < 0:
            return None
        touched: dict[tuple[str | None, str], None] = {}
        for page in self.ledger.history(after=self._read_until, **self._query).pages():
            labels = read_steps(page.row, page.chosen)[0].labels
            touched |= dict.fromkeys((run, episode) for run, _, episode in labels if episode is not None)
            if len(touched) > MOST_NEW:
                return None
        listed = dict(self._runs)
        for run in dict.fromkeys(run for run, _ in touched):
            chosen: dict[str, str] = {} if run is None else {"run": run}
            known = {_identify(each): each for each in (listed[run].episodes if run in listed else ())}
            new: dict[tuple[str | None, ...], Episode] = {}
            for name in [episode for of, episode in touched if of == run]:
                found = self.ledger.episodes(episode=name, **chosen)
                new |= {_identify(each): each for each in found if each.run == run}
            known |= new
            telling = {each.actor for each in new.values() if each.ended or (each.is_scored and not each.finished)}
            if any(each.finished and not each.ended and each.actor in telling for each in known.values()):
                return None  # the first end of an actor says that its episodes without one are unfinished
            listed[run] = Listing(sorted(known.values(), key=lambda each: each.first_record))
        return listed

    def list_rewards(self) -> dict[tuple[str, str], str]:
        """Return the ids of its rewards by name and version."""
        with self._lock:
            for stored in self.ledger.rewards():
                self._labels[stored.name, stored.version] = self.rewards.add(stored.reward)
            return self._labels

    def find_reward_id(self, episode: Episode) -> str:
        """Return the id of the reward that paid an episode."""
        label = episode.reward, episode.version
        return self._labels[label] if label in self._labels else self.list_rewards()[label]

    def find_run(self, name: str) -> tuple[str | None, Listing]:
        """Return the run that an address names, and its episodes."""
        run, runs = name or None, self.runs
        if run not in runs:
            raise UnknownDocument(f"{self.name} has no run {name[:60]!r}.")
        return run, runs[run]

    def find_episode(self, run: str, name: str) -> tuple[Listing, int]:
        """Return the episodes of a run, and which of them an address names."""
        _, listing = self.find_run(run)
        if name not in listing.positions:
            raise UnknownDocument(f"the run {run[:60]!r} of {self.name} has no episode {name[:60]!r}.")
        return listing, listing.positions[name]

    def read_steps(self, run: str, name: str, most: int | None = None) -> list[Steps]:
        """Return the steps of an episode, at most `most`; whole episodes are kept for paging through steps."""
        listing, at = self.find_episode(run, name)
        key = self._opened, self._read_until, run, name
        with self._lock:
            if key in self._kept and (most is None or _count_steps(self._kept[key]) <= most):
                self._kept[key] = found = self._kept.pop(key)
                return found
        found = list(read_episode(self.ledger, listing.episodes[at], most))
        with self._lock:
            if most is None:
                self._kept[key] = found
            while len(self._kept) > 1 and sum(map(_count_steps, self._kept.values())) > MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
        return found

    def preload_steps(self, run: str, positions: Sequence[int]) -> None:
        """Read the steps of many short episodes of a run in one go; to look each up takes milliseconds."""
        _, listing = self.find_run(run)
        wanted = [listing.episodes[at] for at in positions]
        if len(wanted) < 2 or listing.steps > MOST_SCANNED or sum(each.length for each in wanted) > MOST_KEPT:
            return
        try:
            found = read_episodes(self.ledger, wanted)
        except LedgerBroken:
            return  # each episode that is damaged says so itself
        with self._lock:
            for at, parts in zip(positions, found, strict=True):
                self._kept[self._opened, self._read_until, run, listing.ids[at]] = parts

    def preload_explanations(self, records: Collection[int]) -> None:
        """Explain records in one go, as `explain` is asked for them next; those before are dropped."""
        try:
            found = self.ledger._explain_many(records)
        except LedgerBroken:
            found = []  # each record that is damaged says so itself
        with self._lock:
            self._explained = {why.record.id: why for why in found}

    def explain(self, record: int) -> Why:
        """Return a record with its texts and what is known of its writer."""
        with self._lock:
            found = self._explained.get(record)
        return found or self.ledger.why(record)

    def list_changed(self) -> set[str | None]:
        """Return the runs with new records since the last call."""
        newest = self.find_newest()
        (opened, after), self._reported = self._reported, (self._opened, newest)
        if (opened, after) == self._reported:
            return set()
        self._fresh_until = 0.0  # the pages ask for it at once
        if opened != self._opened:
            return {*self.runs, *self._seen}
        query = {} if self._run is None else {"run": self._run}
        return {page.row.run for page in self.ledger.history(after=after, **query).pages()}

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


def _identify(episode: Episode) -> tuple[str | None, ...]:
    return episode.actor, episode.episode, episode.reward, episode.version


def _count_steps(parts: Sequence[Steps]) -> int:
    return sum(len(part.records) for part in parts)


class RewardSource:
    """A reward from the command line, recorded or not."""

    kind = "reward"

    def __init__(self, number: int, text: str, rewards: RewardIds) -> None:
        """Find it."""
        self.id = f"r{number}"
        self.name = PurePath(text).name
        self.reward_id = rewards.add(find_reward(text))

    def close(self) -> None:
        """Nothing is open."""


Source = LedgerSource | RewardSource


def names_reward(text: str) -> bool:
    """Return whether an argument that may be a ledger or a reward is a reward.

    >>> names_reward("roadsense@R8"), names_reward("my_rewards.py:reward"), names_reward("rewards.db")
    (True, True, False)
    """
    if "://" in text or Path(text).is_dir():
        return False
    if is_system(text.partition("@")[0]) or text.endswith((".py", ".json")):
        return True
    return not Path(text).is_file() and re.fullmatch(r".*:[A-Za-z_][\w.]*|\w+(@.*)?", text, re.DOTALL) is not None
