"""A report: the page as one file that needs no server, with as many episodes as its size limit allows."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from time import monotonic
from typing import NamedTuple

from plaudit.errors import DefinitionError, LedgerBroken, PlauditError
from plaudit.page.addresses import format_address
from plaudit.page.assets import build_shell
from plaudit.page.documents.episode import build_episode
from plaudit.page.documents.episodes import rank_episodes
from plaudit.page.documents.frames import has_frames
from plaudit.page.documents.values import Document
from plaudit.page.documents.whatif import build_whatif
from plaudit.page.library import Library
from plaudit.page.sources import LedgerSource, Listing

MAX_SIZE = 3_000_000
"""Bytes. A report n times as large may take n times as long: other limits grow with it."""
MOST_EPISODES = 2000
"""Episodes that are embedded at most."""
MOST_STEPS = 20_000
"""Steps of one embedded episode: a longer one is cut, and says so."""
MOST_PAIRS = 3
"""Comparisons with other rewards that each run gets."""
MOST_SINGLE = 100
"""Steps that are embedded on their own, or the worst of each episode if these are more: each takes up to 20 ms."""
READ_TOGETHER = 64
"""Single steps to read at a time, with their texts: they share pages of records, each of which takes 10 ms."""
DRAWING_SECONDS = 30.0
"""Time limit for drawing pictures."""
SPENT_ON_EPISODES = 0.8
"""Share of the room that summaries leave; the rest is for single steps."""
SPARE = 200
"""Bytes for counts that are known in the end."""
SUMMARISED = 0.3
"""Share of the work that is done when the summaries are."""

Progress = Callable[[int, int], None]
_Run = tuple[LedgerSource, str | None, Listing]


class _Step(NamedTuple):
    """A step that may be embedded on its own."""

    source: LedgerSource
    address: str
    record: int


@dataclass(frozen=True, slots=True)
class Report:
    """The text of a report, and what is in it."""

    html: str
    episodes: int
    of: int
    steps: int
    of_steps: int
    left_out: tuple[str, ...] = ()
    """What is not in it, and why."""

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return len(self.html.encode())

    def to_dict(self) -> Document:
        """Return what is in it, as plain data for JSON."""
        counts = {"episodes": self.episodes, "of": self.of, "steps": self.steps, "of_steps": self.of_steps}
        return {"bytes": self.size, **counts, "left_out": list(self.left_out)}


def build_report(library: Library, *, max_size: int = MAX_SIZE, progress: Progress | None = None) -> Report:
    """Return a report on everything in a library, of at most `max_size` bytes.

    Summaries come first. Then come episodes, as long as there is room: the worst, the best, the first and the last of
    each run, and others spread evenly over it. Then come explanations of single steps, the worst of each episode first.
    Pictures, if a system draws them, come last: no episode is left out for them.

    Raises:
        DefinitionError: The summaries alone do not fit.
    """
    return _Writer(library, max_size, progress).write()


@dataclass
class _Writer:
    """Documents that are gathered until there is no room."""

    library: Library
    max_size: int
    progress: Progress | None
    packed: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    embedded: dict[tuple[str, str | None], list[int]] = field(default_factory=dict)
    """The positions of the episodes of each source and run that are in it."""
    steps: int = 0
    size: int = 0
    """How many bytes the documents take so far."""

    def _scale(self, most: float) -> int:
        """Return a limit for a report of this size: a larger one may take as much longer."""
        return int(most * max(1.0, self.max_size / MAX_SIZE))

    def write(self) -> Report:
        """Gather documents while there is room, the most useful first."""
        ledgers = [source for source in self.library.sources if isinstance(source, LedgerSource)]
        runs = [(source, run, listing) for source in ledgers for run, listing in source.runs.items()]
        self._add_summaries(runs)
        shell = len(build_shell("{}", live=False)[0].encode())
        room = self.max_size - shell - SPARE
        if self.size > room:
            raise DefinitionError(
                f"the summaries alone take {(self.size + shell) / 1e6:.1f} MB, and the limit is "
                f"{self.max_size / 1e6:g} MB. Raise --max-size, or select one run with --run."
            )
        self._add_episodes(runs, self.size + SPENT_ON_EPISODES * (room - self.size))
        self._add_steps(runs, room, 1)
        self._add_episodes(runs, room)
        self._add_steps(runs, room, self._scale(MOST_SINGLE))
        self._add_frames(runs, room)
        counts = self._add_tables(runs)
        html, _ = build_shell(json.dumps(self.packed), live=False)
        return Report(html, **counts, left_out=tuple(self.left_out))

    # -- summaries ---------------------------------------------------------------------------------------------------

    def _add_summaries(self, runs: list[_Run]) -> None:
        addresses = [format_address("reward", each) for each in self.library.list_rewards()]
        addresses += [
            format_address(kind, source.id, run) for source, run, _ in runs for kind in ("run", "steps", "audit")
        ]
        addresses += [address for each in runs for address in self._list_pairs(*each)]
        addresses += ["matrix"] if len(list(self.library.rewards)) > 1 else []
        for at, address in enumerate(addresses):
            self._tell(SUMMARISED * at / len(addresses))
            try:
                self._add(address, self.library.get(address))
            except PlauditError as error:
                self._leave_out(address, error)
        # Which episodes are embedded is known at the end; until then, keep room for the maximum.
        most = self._scale(MOST_EPISODES)
        self.embedded = {(source.id, run): rank_episodes(listing)[:most] for source, run, listing in runs}
        self._add_tables(runs)
        self.embedded = {key: [] for key in self.embedded}

    def _list_pairs(self, source: LedgerSource, run: str | None, listing: Listing) -> Iterator[str]:
        """Yield the addresses of comparisons: the reward of a run with other versions of it."""
        if not len(listing):
            return
        own = source.find_reward_id(listing.episodes[-1])
        name = self.library.rewards[own].name
        others = [each for each in self.library.rewards if each != own and self.library.rewards[each].name == name]
        for other in others[:MOST_PAIRS]:
            yield format_address("compare", source.id, run, own, other)

    def _add_tables(self, runs: list[_Run]) -> dict[str, int]:
        """Add what says which episodes are embedded, and return how many."""
        for source, run, listing in runs:
            positions = self.embedded[source.id, run]
            address = format_address("episodes", source.id, run)
            table = self.library.get(address)
            self._add(address, {**table, "embedded": [listing.ids[at] for at in positions]})
            if len(listing):
                whatif = build_whatif(source, run or "", live=False, embedded=positions)
                self._add(format_address("whatif", source.id, run), whatif)
        counts = {
            "episodes": sum(map(len, self.embedded.values())),
            "of": sum(len(listing) for *_, listing in runs),
            "steps": self.steps,
            "of_steps": sum(listing.steps for *_, listing in runs),
        }
        explained = sum(address.startswith("step/") for address in self.packed)
        embedded = {**counts, "explained": explained} if runs else None
        self._add("index", {**self.library.get("index"), "embedded": embedded})
        return counts

    # -- episodes and steps ------------------------------------------------------------------------------------------

    def _add_episodes(self, runs: list[_Run], room: float) -> None:
        """Add episodes of all runs in turn, those most worth showing first, until the next does not fit."""
        ranked = [[(source, run, listing, at) for at in rank_episodes(listing)] for source, run, listing in runs]
        turns = [each for turn in zip_longest(*ranked) for each in turn if each is not None]
        turns = turns[: self._scale(MOST_EPISODES)]
        full: set[tuple[str, str | None]] = set()
        for source, run, listing in runs:
            source.preload_steps(run or "", [at for *where, at in turns if where == [source, run, listing]])
        for source, run, listing, at in turns:
            self._tell(SUMMARISED + (1 - SUMMARISED) * self.size / self.max_size)
            address = format_address("episode", source.id, run, listing.ids[at])
            if (source.id, run) in full or address in self.packed:
                continue
            try:
                document = build_episode(source, run or "", listing.ids[at], most=MOST_STEPS)
            except LedgerBroken as error:
                self._leave_out(f"episode {listing.ids[at]!r:.60}", error)
                continue
            packed = pack(document)
            if self.size + _measure_entry(address, packed) > room:
                full.add((source.id, run))
                if len(full) == len(runs):
                    break
                continue
            self._put(address, packed)
            self.embedded[source.id, run].append(at)
            self.steps += document["shown"]

    def _add_steps(self, runs: list[_Run], room: float, most: int) -> None:
        """Add single steps of the embedded episodes, the worst of each first, until the next does not fit."""
        ranked = [
            self._rank_steps(source, run, listing.ids[at])[:most]
            for source, run, listing in runs
            for at in self.embedded[source.id, run]
        ]
        turns = [step for turn in zip_longest(*ranked) for step in turn if step is not None]
        turns = [step for step in turns[: max(most, len(ranked))] if step.address not in self.packed]
        for place, step in enumerate(turns):
            if place % READ_TOGETHER == 0:
                _preload_explanations(turns[place : place + READ_TOGETHER])
            self._tell(SUMMARISED + (1 - SUMMARISED) * self.size / self.max_size)
            packed = pack(self.library.get(step.address))
            if self.size + _measure_entry(step.address, packed) > room:
                return
            self._put(step.address, packed)

    def _rank_steps(self, source: LedgerSource, run: str | None, name: str) -> list[_Step]:
        """Return the steps of an embedded episode, the worst first."""
        episode = unpack(self.packed[format_address("episode", source.id, run, name)])
        order = sorted(range(episode["shown"]), key=[*map(_rank, episode["total"])].__getitem__)
        found = ((episode["step_ids"][row], episode["record_ids"][row]) for row in order)
        return [_Step(source, format_address("step", source.id, run, name, step), record) for step, record in found]

    def _add_frames(self, runs: list[_Run], room: float) -> None:
        """Add the pictures of embedded episodes in order, until the next do not fit or time is up."""
        ranked = [
            [
                format_address("frames", source.id, run, listing.ids[at])
                for at in self.embedded[source.id, run]
                if has_frames(listing.episodes[at].reward)
            ]
            for source, run, listing in runs
        ]
        end = monotonic() + self._scale(DRAWING_SECONDS)
        for address in [each for turn in zip_longest(*ranked) for each in turn if each is not None]:
            self._tell(SUMMARISED + (1 - SUMMARISED) * self.size / self.max_size)
            packed = pack(self.library.get(address))
            if self.size + _measure_entry(address, packed) > room:
                return
            self._put(address, packed)
            if monotonic() > end:
                return

    # -- packing -----------------------------------------------------------------------------------------------------

    def _add(self, address: str, document: Document) -> None:
        self._put(address, pack(document))

    def _leave_out(self, what: str, error: PlauditError) -> None:
        told = f"{what}: {error}"
        if told not in self.left_out:
            self.left_out.append(told)

    def _put(self, address: str, packed: str) -> None:
        if address in self.packed:
            self.size -= _measure_entry(address, self.packed[address])
        self.packed[address] = packed
        self.size += _measure_entry(address, packed)

    def _tell(self, share: float) -> None:
        if self.progress is not None:
            self.progress(int(100 * share), 100)


def _preload_explanations(steps: Sequence[_Step]) -> None:
    for source in {id(step.source): step.source for step in steps}.values():
        source.preload_explanations([step.record for step in steps if step.source is source])


def _rank(total: float | str | None) -> tuple[bool, float]:
    """Return how to sort totals: the worst first, steps without a score last."""
    return total is None, 0.0 if total is None else float(total)


def pack(document: Document) -> str:
    """Return a document as a report embeds it: JSON, deflated without a header, in base64."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(text.encode()) + deflate.flush()).decode()


def unpack(packed: str) -> Document:
    """Return the document that `pack` wrote.

    >>> unpack(pack({"run": "night-3"}))
    {'run': 'night-3'}
    """
    found: Document = json.loads(zlib.decompress(base64.b64decode(packed), -15))
    return found


def _measure_entry(address: str, packed: str) -> int:
    """Return how many bytes a document takes in the report, with its address, quotation marks and comma."""
    return len(json.dumps(address)) + len(packed) + 6


_UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3}


def parse_size(text: str) -> int:
    """Parse a size such as 3MB into bytes.

    >>> parse_size("3MB"), parse_size("1.5 MiB"), parse_size("200000")
    (3000000, 1572864, 200000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text, re.ASCII)
    if found is None or found[2].upper() not in _UNITS:
        raise DefinitionError(f"{text!r:.60} is not a size; write 3MB, 500KB or a number of bytes.")
    return int(float(found[1]) * _UNITS[found[2].upper()])
