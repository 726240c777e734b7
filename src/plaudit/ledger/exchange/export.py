"""Records as a file: JSON lines that another ledger takes in, or Parquet for analysis."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from plaudit.drafts import Draft, HiddenFile
from plaudit.errors import FileError, LedgerError, PlauditError
from plaudit.ledger.exchange.sources import sourced
from plaudit.ledger.history import History
from plaudit.ledger.places.place import Place

FORMAT = 1
FORMATS = ("jsonl", "parquet")


def export(
    place: Place,
    history: History,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write records to a file that appears when it is complete, or not at all; return how many there are."""
    place.check_other(path)
    if Path(path).is_file() and not overwrite:
        raise FileError(f"{os.fspath(path)} exists already; choose another name or say overwrite=True.")
    kind = format or Path(path).suffix.lstrip(".")
    if kind not in FORMATS:
        raise LedgerError(f"{path}: a ledger is exported as {' or '.join(FORMATS)}; name the file so, or say format=.")
    told = _counted(progress, history.count() if progress else 0)
    try:
        return _to_jsonl(place, history, path, told) if kind == "jsonl" else _to_parquet(history, path, told)
    except OSError as error:
        if isinstance(error, PlauditError):
            raise
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None


def _counted(progress: Callable[[int, int], None] | None, total: int) -> Callable[[int], None]:
    return (lambda done: None) if progress is None else (lambda done: progress(min(done, total), total))


def _to_jsonl(place: Place, history: History, path: str | os.PathLike[str], told: Callable[[int], None]) -> int:
    """Write a line for each record, before the first of a reward one with its definition, and one at the end."""
    digest = hashlib.sha256()
    seen: set[tuple[str, str]] = set()
    count = 0
    with Draft(path) as draft:

        def line(kind: str, content: object) -> None:
            text = json.dumps({kind: content}, allow_nan=False) + "\n"
            digest.update(text.encode())
            draft.file.write(text)

        line("plaudit_ledger", {"format": FORMAT, "chosen": history.choice.to_dict()})
        for count, (source, record) in enumerate(sourced(place, history), start=1):
            reward = record.signal.frame.source
            assert reward is not None  # a stored record's frame comes from its stored reward
            identity = (reward.fingerprint, reward.domain_fingerprint)
            if identity not in seen:
                seen.add(identity)
                line("reward", reward.to_dict())
            line("record", {"source": source, **record.to_dict()})
            if count % 1000 == 0:
                told(count)
        draft.file.write(json.dumps({"end": {"records": count, "sha256": digest.hexdigest()}}) + "\n")
        draft.commit()
    told(count)
    return count


def _to_parquet(history: History, path: str | os.PathLike[str], told: Callable[[int], None]) -> int:
    """Write a row group for each batch; a Parquet file has the columns of one reward."""
    from plaudit.ledger.exchange.arrow import LABEL, parquet_writer

    count = 0
    writer = None
    with HiddenFile(path) as draft:
        try:
            for batch in history.arrow():
                if writer is not None and (batch.schema.metadata or {}).get(LABEL) != writer.schema.metadata[LABEL]:
                    raise LedgerError(
                        f"{path}: the records chosen are of several rewards, which have different columns. Choose one "
                        "with reward= and version=, or export as JSONL."
                    )
                writer = writer or parquet_writer(draft.path, batch.schema)
                writer.write_batch(batch.replace_schema_metadata(writer.schema.metadata))
                count += batch.num_rows
                told(count)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise LedgerError(f"{path}: there are no records to export, and so no columns.")
        draft.commit()
    return count
