"""Pictures of an episode: the environment at each step as the reward's system draws it, sanitized for the page."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from plaudit.errors import DefinitionError
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.ledger.summary.episodes import Episode
from plaudit.page.documents.columns import query_episode
from plaudit.page.documents.values import Document
from plaudit.page.sources import LedgerSource
from plaudit.page.svg import UnsafePicture, clean_svg
from plaudit.plugins.registry import find_drawing
from plaudit.reward.reward import Reward

MOST_FRAMES = 2000
"""Steps of an episode that are drawn."""
MOST_BYTES = 4_000_000
"""Of the pictures of an episode together, before they are compressed."""
SECONDS = 5.0
"""Time limit for drawing an episode; the pictures drawn by then are shown."""

Draw = Callable[[Record, Reward], object]

_at_work: dict[Draw, "_Drawing"] = {}
"""Drawings that timed out while a system was still busy: it is not asked for another one meanwhile."""


def build_frames(source: LedgerSource, run: str, name: str) -> Document:
    """Return the pictures of an episode; remarks say what could not be drawn, and why."""
    listing, at = source.find_episode(run, name)
    episode = listing.episodes[at]
    frames, remarks = _draw_episode(source, episode)
    return {
        "run": episode.run,
        "source": source.id,
        "episode": name,
        "frames": frames,
        "of": episode.length,
        "remarks": remarks,
    }


def has_frames(reward: str) -> bool:
    """Return whether a system draws the steps of a reward, or would if it could be loaded."""
    try:
        return find_drawing(reward) is not None
    except DefinitionError:
        return True


def _draw_episode(source: LedgerSource, episode: Episode) -> tuple[list[str | None], list[str]]:
    try:
        draw = find_drawing(episode.reward)
    except DefinitionError as error:
        return [], [f"No pictures: {error}"]
    if draw is None:
        return [], []
    earlier = _at_work.get(draw)
    if earlier is not None and earlier.is_alive():
        return [], ["No pictures: the system is still drawing an earlier episode and takes too long."]
    records = list(islice(_list_records(source.ledger, episode), MOST_FRAMES))
    drawing = _Drawing(draw, records, source.rewards[source.find_reward_id(episode)])
    drawing.start()
    drawing.join(SECONDS)
    if drawing.is_alive():
        drawing.given_up = True
        _at_work[draw] = drawing
    return drawing.tell(episode.length)


def _list_records(ledger: Ledger, episode: Episode) -> Iterator[Record]:
    for record in query_episode(ledger, episode):
        if (record.run, record.actor) == (episode.run, episode.actor):
            yield record
        if record.id == episode.last_record:
            return


class _Drawing(threading.Thread):
    """Draws pictures in a daemon thread: a system may never finish, and the program does not wait for it."""

    def __init__(self, draw: Draw, records: Sequence[Record], reward: Reward) -> None:
        super().__init__(name="plaudit-frames", daemon=True)
        self._draw, self._records, self._reward = draw, records, reward
        self._frames: list[str | None] = []
        self._bytes = 0
        self._problems: Counter[str] = Counter()
        self._first: dict[str, str] = {}
        self._left_out: set[str] = set()
        self.given_up = False

    def run(self) -> None:
        for at, record in enumerate(self._records):
            picture = self._draw_one(record, f"step {at if record.step is None else record.step}")
            self._bytes += len(picture or "")
            if self.given_up or self._bytes > MOST_BYTES:
                return
            self._frames.append(picture)

    def _draw_one(self, record: Record, step: str) -> str | None:
        try:
            found = self._draw(record, self._reward)
            if found is None:
                return None
            if not isinstance(found, str):
                raise UnsafePicture(f"draw_step returned a {type(found).__name__}, not a string or None")
            picture = clean_svg(found)
        except UnsafePicture as error:
            problem = str(error)
        except (Exception, SystemExit) as error:
            problem = f"draw_step raised {type(error).__name__}"  # its message may name files of this machine
        else:
            self._left_out |= picture.left_out
            return picture.markup
        self._problems[problem] += 1
        self._first.setdefault(problem, step)
        return None

    def tell(self, length: int) -> tuple[list[str | None], list[str]]:
        """Return the pictures so far, and remarks on them."""
        frames = list(self._frames)
        remarks = [_describe_problem(each, count, self._first[each]) for each, count in self._problems.most_common(3)]
        if self._left_out:
            names = ", ".join(sorted(self._left_out)[:8])
            remarks.append(f"Removed from the pictures, which may not run, load or link anything: {names}.")
        if len(frames) < length:
            why = _explain_cut(self.given_up, self._bytes)
            remarks.append(f"Pictures of the first {len(frames):,} of {length:,} steps only: {why}.")
        return (frames if any(frames) else []), remarks


def _describe_problem(problem: str, count: int, first: str) -> str:
    where = first if count == 1 else f"{count:,} steps, {first} first"
    return f"No picture of {where}: {problem}."


def _explain_cut(given_up: bool, size: int) -> str:
    if given_up:
        return f"drawing them took more than {SECONDS:g} s"
    if size > MOST_BYTES:
        return f"together they exceed {MOST_BYTES / 1e6:g} MB"
    return f"the limit is {MOST_FRAMES:,} pictures"
