"""Rows before a piece of a data set, of the episodes that began there: what a reward carries into the piece."""

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass

from plaudit.ledger.dataset.context import find_context, read_episodes, read_steps
from plaudit.ledger.dataset.files import find_parts, locate
from plaudit.ledger.dataset.job import Job, Run
from plaudit.rows.chunks import RowSource
from plaudit.rows.files import open_rows
from plaudit.rows.streams import Format, choose_format


@dataclass(frozen=True, slots=True)
class _Place:
    """Some rows of a part: one row group of Parquet, or a whole file of text."""

    part: str
    read: Format
    groups: range | None

    def open(self) -> RowSource:
        return open_rows(self.part, self.read, None, self.groups)


def find_first_step(part: str, read: Format) -> float | None:
    """Return the number of the step that the first row of a part is; None where there is no row, or it has none."""
    source = open_rows(part, read)
    try:
        for chunk in source.chunks(find_context(source)):
            steps = read_steps(chunk, source)
            if chunk.rows and steps is not None:
                return float(steps[0])
    finally:
        source.close()
    return None


def catch_up(job: Job, data: str, run: Run, groups: range | None, read: Format, begins: float | None) -> None:
    """Take what is carried into the rows of a run, some row groups of a part of `data`, from the rows before them.

    Row groups are passed over backwards until the episodes have begun, whose first step is `begins`.
    """
    before = _list_before(data, run.source.name, groups, read)
    if not before:
        return
    wanted = {
        label for label, steps in _find_steps(_Place(run.source.name, read, groups), None).items() if steps[0] != begins
    }
    replays = any(scoring.replays for scoring in run.in_order)
    missing, chain = set(wanted), []
    for place in _walk_back(before):
        if not missing:
            break
        found = _find_steps(place, missing)
        if found:
            chain.append(place)
        missing -= {label for label, (_, lowest) in found.items() if lowest == begins or not replays}
    for place in reversed(chain):
        earlier = Run(job, place.part, place.read, place.read, None, place.groups, run.tracks)
        for chunk in earlier.source.chunks(earlier.needed):
            for scoring in earlier.in_order if chunk.rows else ():
                scoring.follow(chunk, wanted)
        earlier.source.close()


def _list_before(data: str, part: str, groups: range | None, read: Format) -> list[tuple[str, Format, int | None]]:
    """Return the parts with rows before a piece, and how many of the row groups; None for all of them."""
    found = find_parts(data)
    parts = [locate(data)] if found is None else [locate(part.path) for part in found]
    at = parts.index(part)
    before: list[tuple[str, Format, int | None]] = [(path, choose_format(path, read), None) for path in parts[:at]]
    return before + ([(part, read, groups.start)] if groups and groups.start else [])


def _walk_back(before: list[tuple[str, Format, int | None]]) -> Iterator[_Place]:
    for part, read, count in reversed(before):
        if read != "parquet":
            yield _Place(part, read, None)
            continue
        if count is None:
            source = open_rows(part, read)
            count = len(getattr(source, "groups", ()))
            source.close()
        for group in reversed(range(count)):
            yield _Place(part, read, range(group, group + 1))


def _find_steps(place: _Place, wanted: Collection[Hashable] | None) -> dict[Hashable, tuple[float, float]]:
    """Return the first step that each episode has in a place, and the lowest; of all, or of those `wanted`."""
    source = place.open()
    found: dict[Hashable, tuple[float, float]] = {}
    try:
        if wanted is not None and not source.may_hold("episode", [label[-1] for label in wanted]):  # type: ignore[index]
            return found
        for chunk in source.chunks(find_context(source)):
            episodes, steps = read_episodes(chunk, source), read_steps(chunk, source)
            if episodes is None or steps is None or not chunk.rows:
                continue
            for code, label in enumerate(episodes.labels):
                if label[-1] is not None and (wanted is None or label in wanted):
                    own = steps[episodes.codes == code]
                    first, lowest = found.get(label, (float(own[0]), float(own[0])))
                    found[label] = first, min(lowest, float(own.min()))
    finally:
        source.close()
    return found
