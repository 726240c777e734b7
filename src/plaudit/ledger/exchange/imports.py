"""Taking in what a ledger exported: each record once and as it was, and none that could never be verified."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import bindparam, insert

from plaudit.atomic import parse_path
from plaudit.errors import FileError, InputError, LedgerError, PlauditError, SpecError
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import Scope, validate_string
from plaudit.ledger.exchange.quarantine import Refused, add_quarantined
from plaudit.ledger.jsonl import LONGEST_LINE, decode
from plaudit.ledger.record import EXPORT_FORMAT
from plaudit.ledger.storage.codec import PackedRecord, RecordLayout
from plaudit.ledger.storage.computation import parse_computation
from plaudit.ledger.storage.contents import build_content, list_differences, read_contents
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.ledger.storage.schema import imported
from plaudit.ledger.storage.sources import find_sources
from plaudit.ledger.storage.store import Store
from plaudit.ledger.storage.texts import add_texts, forget_texts, import_text
from plaudit.ledger.storage.writer import BlockWriter, describe_platform, list_numbers
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.rows.lines import read_lines
from plaudit.rows.streams import STANDARD, Source

_BATCH = 4096
"""Records to look at together."""
_ADD_SOURCE = insert(imported).values(source=bindparam("source"), record=bindparam("record"))
_UNKNOWN = "unknown"
"""What computed the records of a file that does not say."""


class Imported(NamedTuple):
    """What an import brought."""

    added: int
    quarantined: int


class _Incoming(NamedTuple):
    """A record of a file."""

    line: int
    source: str
    made_with: str
    given: Mapping[str, Any]
    packed: PackedRecord


def import_file(
    store: Store,
    path: str | os.PathLike[str],
    *,
    quarantine: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Imported:
    """Add the records of an exported file that a ledger does not have, in one transaction.

    One that its reward does not compute is an error, or with `quarantine` kept apart.
    """
    file = parse_path(path)
    total = _check_file(file)
    return store.writer.transact(lambda cursor: _Import(store, file, cursor, quarantine).run(total, progress))


class _Import:
    """One file on its way into a ledger, inside a transaction."""

    def __init__(self, store: Store, path: Path, cursor: Any, quarantine: bool) -> None:
        self.store = store
        self.path = path
        self.cursor = cursor
        self.quarantine = quarantine
        self.here = describe_platform()
        self.writers: dict[str, BlockWriter] = {self.here: store.writer}
        self.made_with: dict[Any, str] = {}
        """By the number of a writer in the file, what computed its records."""
        self.refused: list[Refused] = []
        self.quarantined = 0

    def run(self, total: int, progress: Callable[[int, int], None] | None) -> Imported:
        self.store.backend.take_turn(self.cursor, rising=True)  # the rows of `imported` are chained by their numbers
        before, done = self.store.writer.recorded, 0
        records = self._read_records()
        while together := list(islice(records, _BATCH)):
            computed = self._keep_computed(together)
            with report_damage(self.store.backend.name, "a record that is there already"):
                missing = self._keep_missing(computed)
            self._insert(missing)
            done += len(together)
            self._quarantine()
            if progress is not None:
                progress(min(done, total), total)
        self._quarantine()
        return Imported(sum(writer.recorded for writer in self.writers.values()) - before, self.quarantined)

    # -- reading ----------------------------------------------------------------------------------------------------

    def _read_records(self) -> Iterator[_Incoming]:
        for number, line in read_export(self.path):
            try:
                content = decode(line)
                if "record" in content:
                    record = self._build_record(number, content["record"])
                    if record is not None:
                        yield record
                elif "text" in content:
                    self._take_text(content["text"])
                elif "reward" in content:
                    self.store.specs.get_layout(Reward.from_dict(content["reward"]))
                elif "writer" in content:
                    self.made_with[content["writer"]["id"]] = str(content["writer"]["made_with"])
                elif "plaudit_ledger" in content and content["plaudit_ledger"]["format"] != EXPORT_FORMAT:
                    raise LedgerError(f"it has format {content['plaudit_ledger']['format']}, not {EXPORT_FORMAT}")
            except (PlauditError, ValueError, KeyError, TypeError) as error:
                raise self._build_error(number, str(error).removesuffix(".")) from None

    def _take_text(self, given: Mapping[str, Any]) -> None:
        """Add a text that records name, or note that it was forgotten where it came from."""
        backend, found = self.store.backend, import_text(given)
        if isinstance(found, str):
            rows = forget_texts(backend, self.cursor, [found], self.store.writer.now(), known=False)
            self.store.writer.chain_rows(self.cursor, "forgotten", rows)
        else:
            add_texts(backend, self.cursor, [found])

    def _build_record(self, line: int, given: Mapping[str, Any]) -> _Incoming | None:
        """Return a record of the file; None where it was refused, to be kept apart."""
        source = validate_string("source", given["source"]) or ""
        if given.get("origin") is not None:
            raise SpecError("it is a re-scored record; import the original record and re-score it in the new ledger")
        signal = Signal.from_dict(given["signal"])
        scope = tuple(given.get(name) for name in Scope._fields)
        key, episode, step, context = (given.get(name) for name in ("key", "episode", "step", "context"))
        at = datetime.fromisoformat(given["at"])
        try:
            layout, now = self.store.specs.find_layout(signal), self.store.writer.now
            computation = parse_computation(str(given.get("target")), layout.scored.program)
            if not computation.is_installed:
                raise SpecError(
                    f"it was scored by {computation.target}, which is not installed here, so it cannot be checked"
                )
            packed = layout.pack(signal, now, key, scope, episode, step, context, at)
        except InputError as error:  # inputs that its reward refuses
            if not self.quarantine:
                raise
            self.refused.append(Refused(source, line, str(error), given))
            return None
        made_with = self.made_with.get(given.get("writer"), _UNKNOWN)
        return _Incoming(line, source, made_with, given, packed._replace(target=given["target"]))

    # -- what is taken in -------------------------------------------------------------------------------------------

    def _keep_computed(self, records: Sequence[_Incoming]) -> list[_Incoming]:
        """Return the records that their rewards compute, as `verify` will ask of them."""
        groups: dict[tuple[RecordLayout, str, bool], list[int]] = {}
        for at, record in enumerate(records):
            kind = record.packed.layout, record.packed.target, record.made_with == self.here
            groups.setdefault(kind, []).append(at)
        wrong: dict[int, str] = {}
        for (layout, target, here), places in groups.items():
            again = get_recomputer(layout)
            rows = layout.decode_inputs(b"".join(records[at].packed.inputs for at in places), len(places))
            stored = layout.decode_outputs(b"".join(records[at].packed.outputs for at in places), len(places))
            bad = again.find_different(rows, stored, target=target, here=here) | again.find_wrong_sums(stored, target)
            for at in np.flatnonzero(bad).tolist():
                wrong[places[at]] = again.describe_difference(rows[at], stored[at], target=target)
        if wrong and not self.quarantine:
            at = min(wrong)
            raise self._build_error(
                records[at].line,
                f"the record from {records[at].source} does not recompute: {wrong[at]}",
                " Use quarantine=True (--quarantine) to quarantine such records.",
            )
        for at, reason in wrong.items():
            self.refused.append(Refused(records[at].source, records[at].line, reason, records[at].given))
        return [record for at, record in enumerate(records) if at not in wrong]

    def _keep_missing(self, records: Sequence[_Incoming]) -> list[_Incoming]:
        """Return the records that the ledger does not have; one that it has must be the same."""
        backend = self.store.backend
        numbers = find_sources(backend, self.cursor, {record.source for record in records})
        there = read_contents(self.store.segments, self.cursor, numbers.values())
        new: dict[str, _Incoming] = {}
        for record in records:
            number, other = numbers.get(record.source), new.get(record.source)
            if number is not None and number not in there:
                raise LedgerError(
                    f"{backend.name}: record {number}, from {record.source}, is missing; verify the ledger."
                )
            if number is None and other is None:
                new[record.source] = record
                continue
            known = there[number] if number is not None else build_content(other.packed)  # type: ignore[union-attr]
            different = list_differences(known, build_content(record.packed))
            if different:
                where = f"record {number}" if other is None else f"in line {other.line}"
                raise self._build_error(
                    record.line,
                    f"the record from {record.source} is already there as {where}, which differs: "
                    f"{'; '.join(different)}",
                )
        return list(new.values())

    def _insert(self, records: Sequence[_Incoming]) -> None:
        """Write records, each to a writer of what computed it, and remember where they are from."""
        backend, cursor = self.store.backend, self.cursor
        for made_with, group in groupby(records, key=lambda record: record.made_with):
            members = list(group)
            if made_with not in self.writers:
                self.writers[made_with] = self.store.writer.open_sibling(made_with)
            numbers = self.writers[made_with].insert(cursor, [record.packed for record in members])
            new = set(list_numbers(self.writers[made_with].written))  # others were there under their keys
            rows = []
            for record, number in zip(members, numbers, strict=True):
                if number in new:
                    new.remove(number)
                    rows.append((number, record.source))
            cursor.executemany(backend.render(_ADD_SOURCE), [(source, number) for number, source in rows])
            self.store.writer.chain_rows(cursor, "imported", rows)

    def _quarantine(self) -> None:
        if self.refused:
            self.quarantined += add_quarantined(self.store, self.cursor, os.fspath(self.path), self.refused)
            self.refused = []

    def _build_error(self, line: int, what: str, advice: str = "") -> LedgerError:
        return LedgerError(f"{self.path}, line {line}: {what}. Nothing was imported.{advice}")


# -- the file ----------------------------------------------------------------------------------------------------------


def read_export(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an exported file with their numbers; one that is too long is an error at once."""
    with Source(os.fspath(path)) as source:
        for number, line in read_lines(source.file, source.name, LONGEST_LINE):
            if line is None:
                raise LedgerError(f"{path}, line {number}: it is longer than {LONGEST_LINE >> 20} MiB.")
            yield number, line


def _check_file(path: Path) -> int:
    """Return how many records a file says it has; LedgerError where its end is missing or it is not as written."""
    if os.fspath(path) == STANDARD or (path.exists() and not path.is_file() and not path.is_dir()):
        raise FileError(
            f"{path} cannot be imported: it is not a regular file, and an import reads it twice. Save it to a "
            "file first."
        )
    digest = hashlib.sha256()
    held = b""
    for number, line in read_export(path):
        if number == 1 and not line.startswith(b'{"plaudit_ledger"'):
            break
        digest.update(held)
        held = line + b"\n"
    try:
        end = decode(held)["end"]
        said, count = end["sha256"], int(end["records"])
    except (ValueError, KeyError, TypeError):
        raise LedgerError(
            f"{path} is not an export of a ledger, or its end is missing. Only JSONL files written by `export` can "
            "be imported."
        ) from None
    if said != digest.hexdigest():
        raise LedgerError(f"{path} is not intact: its checksum does not match. Nothing was imported.")
    return count
