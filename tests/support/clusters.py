"""What the tests of clusters share: data that takes a while, and files that must be the same."""

import time

from support.tables import pa, pq, read, table


def grow(folder, *, parts, rows):
    """Write parts with ids that go on from part to part, in row groups that can be cut."""
    folder.mkdir()
    for at in range(parts):
        whole = table(rows, seed=at, id=pa.array(range(at * rows, (at + 1) * rows)))
        pq.write_table(whole, folder / f"part-{at}.parquet", row_group_size=rows // 4)
    return folder


def wait_for_part(folder, *, seconds=120):
    """Return when the first part is there."""
    deadline = time.monotonic() + seconds
    while not list(folder.glob("*.parquet")):
        assert time.monotonic() < deadline, "no part was written"
        time.sleep(0.01)


def assert_same(one, other):
    """Compare folders: the names of their parts, their rows in order, to the bit."""
    names = sorted(path.name for path in one.glob("*.parquet"))
    assert names == sorted(path.name for path in other.glob("*.parquet"))
    assert (one / "_plaudit.json").exists()
    for name in names:
        found, known = read(one / name), read(other / name)
        assert found.schema.equals(known.schema)
        assert repr(found.to_pylist()) == repr(known.to_pylist())  # NaN is equal to itself there
