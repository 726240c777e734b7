"""Every document of the page, by its address: what a server sends and a report embeds."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.page.addresses import UnknownDocument, format_address, parse_address
from plaudit.page.documents.episode import build_episode
from plaudit.page.documents.episodes import build_episodes
from plaudit.page.documents.frames import build_frames
from plaudit.page.documents.index import build_index
from plaudit.page.documents.run import build_run
from plaudit.page.documents.steps import build_steps
from plaudit.page.documents.values import Document
from plaudit.page.documents.whatif import build_whatif, rescore_run
from plaudit.page.sources import LedgerSource, RewardIds, RewardSource, Source, names_reward
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task


class Library:
    """Ledgers and rewards, and the documents that are made of them; threads may share one.

    >>> with_reward = Library(["roadsense@R8"])
    >>> [reward["version"] for reward in with_reward.get("index")["sources"][0]["rewards"]]
    ['R8']
    >>> with_reward.close()
    """

    def __init__(
        self, given: Sequence[str], *, run: str | None = None, live: bool = False, task: Task | None = None
    ) -> None:
        """Open what the command line named.

        Args:
            given: Ledgers (a file, or postgresql://…) and rewards (roadsense@R8, file.py:name, a JSON file).
            run: The only run to show; all if None.
            live: Whether documents follow new records; otherwise they stay as they were at first.
            task: A task for every reward; it overrides their own tasks where both say something.

        Raises:
            PlauditError: One of them cannot be opened; those opened before are closed again.
        """
        if not given:
            raise DefinitionError("give a ledger or a reward to show.")
        self.live = live
        self.rewards = RewardIds(task)
        self.sources: list[Source] = []
        self._lock = threading.Lock()
        self._kept: dict[str, Document] = {}
        try:
            for text in dict.fromkeys(given):
                self._open(text, run)
            for source in self.sources if task is not None else ():
                if isinstance(source, LedgerSource):
                    source.list_rewards()  # a task that does not fit one of them is an error here
        except BaseException:
            self.close()
            raise

    def _open(self, text: str, run: str | None) -> None:
        kind = RewardSource if names_reward(text) else LedgerSource
        number = sum(isinstance(each, kind) for each in self.sources)
        if kind is RewardSource:
            self.sources.append(RewardSource(number, text, self.rewards))
        else:
            self.sources.append(LedgerSource(number, text, self.rewards, run, live=self.live))

    def get(self, address: str) -> Document:
        """Return the document of an address, made of what is there now.

        Raises:
            UnknownDocument: There is no such document.
        """
        kind, parts = parse_address(address)
        return _BUILDERS[kind](self, *parts)

    def rescore(
        self, source: str, run: str, settings: Mapping[str, Any], go_on: Callable[[], None] = lambda: None
    ) -> Document:
        """Rescore a whole run with other knobs; nothing is written.

        `go_on` is called repeatedly meanwhile; an exception from it stops the work.

        Raises:
            UnknownDocument: There is no such run.
            DefinitionError: The reward has no such knob, or it cannot have such a value.
        """
        return rescore_run(self.find_ledger(source), self.rewards, run, settings, go_on)

    def changed(self) -> list[str]:
        """Return the addresses of documents that changed since the last call: those of runs with new records.

        Episodes are not listed one by one: a page that shows one of these runs asks for it again.
        """
        found: list[str] = []
        for source in self.sources:
            for run in source.list_changed() if isinstance(source, LedgerSource) else ():
                found += [format_address(kind, source.id, run) for kind in ("run", "steps", "episodes", "whatif")]
        return ["index", *found] if found else []

    @property
    def has_runs(self) -> bool:
        """Whether a ledger has a record, of the run that was chosen."""
        return any(source.runs for source in self.sources if isinstance(source, LedgerSource))

    def find_ledger(self, source: str) -> LedgerSource:
        """Return the ledger with an id."""
        for each in self.sources:
            if each.id == source and isinstance(each, LedgerSource):
                return each
        raise UnknownDocument(f"there is no ledger {source[:60]!r} on this page.")

    def find_reward(self, reward: str) -> Reward:
        """Return the reward with an id, of those that were named or that a ledger holds by now."""
        if reward not in self.rewards:
            self.list_rewards()
        return self.rewards[reward]

    def list_rewards(self) -> list[str]:
        """Return the ids of all rewards: those that were named, and those of the ledgers."""
        for source in self.sources:
            if isinstance(source, LedgerSource):
                source.list_rewards()
        return list(self.rewards)

    def keep(self, key: str, build: Callable[[], Document]) -> Document:
        """Return a document that never changes; it is built once."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        made = build()
        with self._lock:
            return self._kept.setdefault(key, made)

    def close(self) -> None:
        """Close the ledgers."""
        for source in self.sources:
            source.close()


# Checks and comparisons are imported on first use, so the first view does not wait for them.


def _build_definition(library: Library, reward: str) -> Document:
    from plaudit.page.documents.reward import build_definition

    found = library.find_reward(reward)
    return library.keep(f"definition/{reward}", lambda: build_definition(reward, found))


def _build_reward(library: Library, reward: str) -> Document:
    from plaudit.page.documents.reward import build_reward

    found = library.find_reward(reward)
    return library.keep(f"reward/{reward}", lambda: build_reward(_build_definition(library, reward), found))


def _build_step(library: Library, source: str, run: str, episode: str, step: str) -> Document:
    from plaudit.page.documents.step import build_step

    return build_step(library.find_ledger(source), run, episode, step)


def _build_comparison(library: Library, source: str, run: str, one: str, other: str) -> Document:
    from plaudit.page.documents.compare import build_comparison

    ledger, rewards = library.find_ledger(source), [library.find_reward(each) for each in (one, other)]
    return build_comparison(ledger, run, (one, other), rewards)


def _build_audit(library: Library, source: str, run: str) -> Document:
    from plaudit.page.documents.audit import build_audit

    ledger = library.find_ledger(source)
    _, listing = ledger.find_run(run)
    reward = library.find_reward(ledger.find_reward_id(listing.episodes[-1])) if len(listing) else None
    return build_audit(ledger, run, reward)


def _build_matrix(library: Library) -> Document:
    from plaudit.page.documents.compare import build_matrix

    rewards = [library.rewards[each] for each in library.list_rewards()]
    return library.keep(f"matrix of {len(rewards)}", lambda: build_matrix(rewards))


_BUILDERS: dict[str, Callable[..., Document]] = {
    "index": lambda library: build_index(library.sources, library.rewards, live=library.live),
    "definition": _build_definition,
    "reward": _build_reward,
    "run": lambda library, source, run: build_run(library.find_ledger(source), run),
    "steps": lambda library, source, run: build_steps(library.find_ledger(source), run),
    "episodes": lambda library, source, run: build_episodes(library.find_ledger(source), run),
    "episode": lambda library, source, *where: build_episode(library.find_ledger(source), *where),
    "frames": lambda library, source, *where: build_frames(library.find_ledger(source), *where),
    "step": _build_step,
    "whatif": lambda library, source, run: build_whatif(library.find_ledger(source), run, live=library.live),
    "audit": _build_audit,
    "compare": _build_comparison,
    "matrix": _build_matrix,
}
