"""Delta Lake tables of records: made, checked, and appended to, each file once however often that is tried."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from plaudit.errors import FileError, MissingExtra
from plaudit.ledger.storage.lake_files import name_day, split_address
from plaudit.ledger.storage.record_table import RecordTable
from plaudit.rows.addresses import explain_storage_errors, find_local_path, storage_options

if TYPE_CHECKING:
    from deltalake import DeltaTable

_PROTOCOL = (1, 2)
"""The versions for readers and for writers of a table that plaudit makes."""
_ATTEMPTS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LakeFile(NamedTuple):
    """A file of a lake that a table is to list."""

    address: str
    run: str | None
    size: int
    footer: pq.FileMetaData


class LakeTable:
    """The Delta Lake table of the records of one reward, with one set of columns; made when it is not there."""

    def __init__(self, address: str, records: RecordTable) -> None:
        """Open it.

        Raises:
            FileError: The storage does not answer, or another table is there.
            MissingExtra: deltalake is not installed.
        """
        self._address, self._records = address, records
        self._partitions = [records.names["run"], name_day(records)]
        types = {name: _name_type(kind) for name, kind in records.list_types().items()} | {name_day(records): "date"}
        self._table = self._open(types)
        self._check(types)

    def _open(self, types: dict[str, str]) -> "DeltaTable":
        from deltalake import DeltaTable, Field, Schema
        from deltalake.exceptions import DeltaError, TableNotFoundError
        from deltalake.schema import PrimitiveType

        where, options = find_local_path(self._address) or self._address, storage_options(self._address)
        reward = self._records.layout.reward
        with _explain(self._address):
            with suppress(TableNotFoundError):
                return DeltaTable(where, storage_options=options)
            try:
                return DeltaTable.create(
                    where,
                    Schema([Field(name, PrimitiveType(kind)) for name, kind in types.items()]),
                    partition_by=self._partitions,
                    name=f"{reward.name}@{reward.version}",
                    description="Records of a plaudit ledger.",
                    configuration={"delta.appendOnly": "true"},
                    storage_options=options,
                )
            except DeltaError:  # somebody else has made it, perhaps
                return DeltaTable(where, storage_options=options)

    def _check(self, types: dict[str, str]) -> None:
        """Raise FileError unless files of these columns can be added."""
        protocol = self._table.protocol()
        versions = protocol.min_reader_version, protocol.min_writer_version
        if versions[0] > _PROTOCOL[0] or versions[1] > _PROTOCOL[1]:
            raise FileError(
                f"{self._address} is a Delta table of protocol {versions[0]}/{versions[1]}, and plaudit writes "
                f"{_PROTOCOL[0]}/{_PROTOCOL[1]}: something else has upgraded it. Archive to another address."
            )
        found = {field.name: str(getattr(field.type, "type", field.type)) for field in self._table.schema().fields}
        partitions = self._table.metadata().partition_columns
        if found != types or partitions != self._partitions:
            different = sorted(dict(found.items() ^ types.items())) or partitions
            raise FileError(
                f"{self._address} is a Delta table with other columns ({', '.join(different)}). Archive to another "
                "address."
            )

    def add(self, files: Sequence[LakeFile]) -> int:
        """List files in the table; of those that it lists or has listed, none again. Return how many were new.

        Each is added under its name as the number of a transaction, which the table takes once: of two that add it
        at the same moment, one is refused.
        """
        from deltalake.exceptions import CommitFailedError
        from deltalake.transaction import CommitProperties, Transaction

        for attempt in range(_ATTEMPTS):
            with _explain(self._address):
                self._table.update_incremental()
                new = [each for each in files if self._table.transaction_version(_name(each)) is None]
                if not new:
                    return 0
                now = int(time.time() * 1000)
                names = [Transaction(_name(each), 1, now) for each in new]
                try:
                    self._table.create_write_transaction(
                        [self._describe(each) for each in new],
                        "append",
                        self._table.schema(),
                        self._partitions,
                        commit_properties=CommitProperties(app_transactions=names),
                    )
                    return len(new)
                except CommitFailedError:
                    if attempt == _ATTEMPTS - 1:
                        raise
        raise AssertionError("unreachable")

    def _describe(self, file: LakeFile) -> Any:
        from deltalake.transaction import AddAction

        _, path, day = split_address(file.address)
        values = {self._partitions[0]: file.run, self._partitions[1]: day}
        names = (self._records.names["time"], self._records.names["step"])
        stats = {"numRecords": file.footer.num_rows, **_find_ranges(file.footer, names)}
        return AddAction(path, file.size, values, int(time.time() * 1000), True, json.dumps(stats))


def check_installed() -> None:
    """Raise MissingExtra without deltalake."""
    try:
        import deltalake  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("a lake needs deltalake. Install it: pip install 'plaudit[lake]'") from None


def _name(file: LakeFile) -> str:
    return file.address.rpartition("/")[2]


def _name_type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return "string"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return {pa.bool_(): "boolean", pa.int64(): "long", pa.float32(): "float", pa.float64(): "double"}[kind]


def _find_ranges(footer: pq.FileMetaData, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what the footer of a file says of the ranges of columns, by which engines skip files."""
    places = {footer.schema.column(at).name: at for at in range(footer.num_columns)}
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name in names:
        groups = [footer.row_group(at).column(places[name]).statistics for at in range(footer.num_row_groups)]
        if any(each is None or not each.has_null_count for each in groups):
            continue
        nulls[name] = sum(each.null_count for each in groups)
        known = [each for each in groups if each.has_min_max]
        if known and all(each.has_min_max or not each.num_values for each in groups):
            lows[name] = _format(min(each.min for each in known), 0)
            highs[name] = _format(max(each.max for each in known), 999)
    return {"minValues": lows, "maxValues": highs, "nullCount": nulls}


def _format(value: Any, more: int) -> Any:
    """Return a bound as Delta has it: times in milliseconds, the upper ones rounded up."""
    if not isinstance(value, datetime):
        return value
    since = value.astimezone(UTC) - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    millis = (micros + more) // 1000
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000))
    return f"{stamp}.{millis % 1000:03d}Z"


@contextmanager
def _explain(address: str) -> Iterator[None]:
    """Turn the errors of deltalake into FileError."""
    from deltalake.exceptions import DeltaError

    with explain_storage_errors(address):
        try:
            yield
        except DeltaError as error:
            if "Unsupported" in str(error):
                raise FileError(
                    f"{address} is a Delta table that this deltalake does not know ({error}). Archive to another "
                    "address."
                ) from None
            raise OSError(str(error)) from None
