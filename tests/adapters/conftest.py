"""What the tests of engines share: a folder of Parquet parts with a few bad rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.tables import table


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "rows"
    place.mkdir()
    for at in range(3):
        rows = table(200, seed=at).to_pylist()
        for number, row in enumerate(rows):
            row["id"] = 200 * at + number
        rows[17]["distance"] = None
        rows[18]["torque"] = None
        rows[19]["prev"] = None
        rows[20]["phase"] = None
        rows[21]["distance"] = float("nan")
        rows[22]["distance"] = 0.0
        rows[23]["torque"] = [1.0, None, 2.0]
        pq.write_table(pa.Table.from_pylist(rows, table(1).schema), place / f"part-{at}.parquet")
    return place


@pytest.fixture
def ordered():
    """Read a folder in the order of its ids."""

    def read(folder):
        parts = [pq.ParquetFile(path).read() for path in folder.glob("*.parquet")]
        return pa.concat_tables(parts).sort_by("id").combine_chunks()

    return read
