"""Taking in what another ledger exported: all of it or nothing, and no record twice."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert

from plaudit.errors import FileError, LedgerError, PlauditError, SpecError
from plaudit.ledger.blocks.block import Row
from plaudit.ledger.exchange.export import FORMAT
from plaudit.ledger.exchange.sources import known_sources
from plaudit.ledger.jsonl import text as json_text
from plaudit.ledger.places.schema import imported
from plaudit.ledger.record import text
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger

_TOGETHER = 4096
_NOTE = insert(imported).values(source=bindparam("source"), record=bindparam("record"))


def import_file(
    ledger: "Ledger", path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None
) -> int:
    """Add the records of an exported file that a ledger does not have, in one transaction; return how many they are."""
    total = _read_through(Path(path))

    def work(cursor: Any) -> int:
        place, pen = ledger.place, ledger.pen
        before, done = pen.recorded, 0
        for together in _gathered(_rows(ledger, Path(path))):
            there = known_sources(place, [source for source, _ in together])
            new = [(source, row) for source, row in together if source not in there]
            numbers = pen.write_within(cursor, [row for _, row in new])
            for (source, _), number in zip(new, numbers, strict=True):
                cursor.execute(place.text(_NOTE), (source, number))
            done += len(together)
            if progress is not None:
                progress(done, total)
        return pen.recorded - before

    return ledger.pen.transact(work)


def _gathered(rows: Iterator[tuple[str, Row]]) -> Iterator[list[tuple[str, Row]]]:
    while together := list(islice(rows, _TOGETHER)):
        yield together


def _read_through(path: Path) -> int:
    """Return how many records a file says it has; LedgerError where its end is missing or it is not as written."""
    digest = hashlib.sha256()
    held = b""
    try:
        with path.open("rb") as file:
            for line in file:
                digest.update(held)
                held = line
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    try:
        end = json_text.decode(held)["end"]
        said, count = end["sha256"], int(end["records"])
    except (ValueError, KeyError, TypeError):
        raise LedgerError(
            f"{path} is no export of a ledger, or its end is missing. What `export` wrote as JSONL can be imported."
        ) from None
    if said != digest.hexdigest():
        raise LedgerError(f"{path} is not as it was written: its checksum is another. Nothing was imported.")
    return count


def _rows(ledger: "Ledger", path: Path) -> Iterator[tuple[str, Row]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                content = json_text.decode(line)
                if "record" in content:
                    yield text("source", content["record"]["source"]) or "", _row(ledger, content["record"])
                elif "reward" in content:
                    ledger.shelf.shape(Reward.from_dict(content["reward"]))
                elif "plaudit_ledger" in content and content["plaudit_ledger"]["format"] != FORMAT:
                    raise LedgerError(f"it has format {content['plaudit_ledger']['format']}, not {FORMAT}")
            except (PlauditError, ValueError, KeyError, TypeError) as error:
                what = json_text.reason(error) if type(error) is ValueError else str(error)
                raise LedgerError(f"{path}, line {number}: {what}. Nothing was imported.") from None


def _row(ledger: "Ledger", record: Mapping[str, Any]) -> Row:
    if record.get("origin") is not None:
        raise SpecError("it is a re-scored record; import what was recorded, and re-score it there")
    signal = Signal.from_dict(record["signal"])
    names = ("key", "run", "episode", "step", "phase", "decision_class", "actor", "context")
    at = datetime.fromisoformat(record["at"])
    if record.get("target") not in ("python", "numpy"):
        raise SpecError(f"the target {record.get('target')!r} is not known")
    key, run, episode, step, phase, decision_class, actor, context = (record.get(name) for name in names)
    row = ledger.row(signal, key, run, episode, step, phase, decision_class, actor, context, at)
    return row._replace(target=record["target"])
