"""Archiving records to a lake against the plain upload of the same files, and reading one record from it.

`python bench/lake.py [records] [s3://bucket/folder]`. Without an address, the lake is a temporary folder on the disk
that holds this checkout; the plain upload is then a copy that is synced.
"""

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from peers import draw_roadsense
from timing import QUICK, measure, size, table

from plaudit import Ledger
from plaudit.ledger.storage.lake_files import copy_file
from plaudit.rows.addresses import find_local_path, join_address, upload_file
from plaudit.systems import roadsense

RUNS = 4


def main(records: int, address: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        lake = join_address(address or (Path(folder) / "lake").as_uri(), str(time.time_ns()))
        archive(Path(folder), records, lake)


def archive(folder: Path, records: int, lake: str) -> None:
    columns = draw_roadsense(records)
    with Ledger(folder / "rewards.db") as ledger:
        for run in range(RUNS):
            part = {name: column[run::RUNS] for name, column in columns.items()}
            ledger.record_batch(roadsense.reward, part, run=f"run {run}", step=range(len(part["distance"])))
        files = sorted(folder.glob("*.segments/*/*.parquet"))
        held = sum(each.stat().st_size for each in files)
        _, plain = measure(lambda: [upload(each, join_address(lake, "plain", each.name)) for each in files])
        cpu = time.process_time()
        done, taken = measure(partial(ledger.archive, join_address(lake, "runs")))
        cpu = time.process_time() - cpu
        draw = np.random.default_rng(2).integers(1, records, 20 if not QUICK else 2).tolist()
        _, read = measure(lambda: [ledger.why(number) for number in draw])
    assert done.records == records
    print(f"{records:,} records in {len(files)} files, {held / records:.1f} bytes each")
    table(
        [
            ("", "seconds", "records/s", "MB/s"),
            ("plain upload", f"{plain:.2f}", f"{records / plain:,.0f}", f"{held / plain / 1e6:.0f}"),
            ("archive", f"{taken:.2f}", f"{records / taken:,.0f}", f"{held / taken / 1e6:.0f}"),
            ("archive, processor time", f"{cpu:.2f}", f"{records / cpu:,.0f}", f"{held / cpu / 1e6:.0f}"),
            ("why, a record", f"{read / len(draw):.4f}", f"{len(draw) / read:,.0f}", ""),
        ]
    )
    print(f"archiving takes {taken / plain:.1f} times as long as the plain upload")


def upload(path: Path, address: str) -> None:
    local = find_local_path(address)
    if local is None:
        upload_file(str(path), address)
    else:
        copy_file(path, Path(local))


if __name__ == "__main__":
    places = [argument for argument in sys.argv[1:] if "://" in argument]
    sys.argv = [argument for argument in sys.argv if argument not in places]
    main(size(2_000_000, 20_000), places[0] if places else None)
