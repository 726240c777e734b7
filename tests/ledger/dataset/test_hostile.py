"""Data sets that break, disks that fill, processes that are killed: never half a file under its name."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import FileError
from plaudit.ledger.dataset import score_file
from plaudit.rows import lines
from support.forking import PythonProcess
from support.mounts import need_root, small
from support.samples import following
from support.tables import read, table

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
FORMATS = ["parquet", "csv", "jsonl"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def plain(rows, seed=0):
    """Return rows of `following`, which every format can hold."""
    rng = np.random.default_rng(seed)
    return pa.table({
        "distance": rng.uniform(0, 60, rows),
        "deceleration": rng.uniform(-6, 6, rows),
        "action": rng.integers(0, 4, rows).astype(float),
    })  # fmt: skip


def saved(folder, kind, rows=2_000):
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(plain(rows), path, row_group_size=500)
    elif kind == "csv":
        import pyarrow.csv as arrow_csv

        arrow_csv.write_csv(plain(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in plain(rows).to_pylist()))
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_the_output_may_not_be_the_input(tmp_path, kind):
    source = saved(tmp_path, kind)
    before = source.read_bytes()
    for overwrite in (False, True):
        with pytest.raises(FileError, match="is the input file"):
            score_file(following, source, source, overwrite=overwrite)
    (tmp_path / f"link.{kind}").symlink_to(source)
    with pytest.raises(FileError, match="is the input file"):
        score_file(following, source, tmp_path / f"link.{kind}", overwrite=True)
    assert source.read_bytes() == before


@pytest.mark.parametrize("kind", FORMATS)
def test_an_output_that_exists_is_replaced_only_where_that_is_said(tmp_path, kind):
    source, target = saved(tmp_path, kind), tmp_path / f"out.{kind}"
    target.write_text("precious")
    with pytest.raises(FileError, match="already exists"):
        score_file(following, source, target)
    assert target.read_text() == "precious"
    assert score_file(following, source, target, overwrite=True).rows == 2_000
    assert names(tmp_path) == sorted([source.name, target.name])


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_not_there_or_cannot_be_written_is_told(tmp_path, kind):
    with pytest.raises(FileError, match="does not exist"):
        score_file(following, tmp_path / f"nothing.{kind}", tmp_path / f"out.{kind}")
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        score_file(following, saved(tmp_path, kind), tmp_path / "missing" / f"out.{kind}")
    assert names(tmp_path) == [f"rows.{kind}"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_what_is_no_parquet_is_told(tmp_path, content):
    (tmp_path / "rows.parquet").write_bytes(content)
    with pytest.raises(FileError, match=r"rows\.parquet cannot be read"):
        score_file(following, tmp_path / "rows.parquet", tmp_path / "out.parquet")


@pytest.mark.parametrize("kind", FORMATS)
def test_damage_in_the_middle_leaves_nothing(tmp_path, kind):
    source = saved(tmp_path, kind, 5_000)
    raw = bytearray(source.read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 3_000] = b"\xff\x00\xfe" * 1_000
    source.write_bytes(bytes(raw))
    try:
        done = score_file(following, source, tmp_path / f"out.{kind}")
        assert kind != "parquet"
        assert done.unreadable
    except FileError:
        assert names(tmp_path) == [source.name]


def test_an_error_in_the_progress_bar_leaves_nothing(tmp_path):
    def progress(done, total):
        if done:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        score_file(following, saved(tmp_path, "parquet"), tmp_path / "out.parquet", batch_rows=100, progress=progress)
    assert names(tmp_path) == ["rows.parquet"]


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of a few hundred KiB; only root can."""
    need_root("mount")
    with small(tmp_path / "small", "400k") as place:
        yield place


@pytest.mark.parametrize("kind", FORMATS)
def test_a_disk_that_is_full_is_told_and_leaves_nothing(tmp_path, small_disk, kind):
    source = saved(tmp_path, kind, 30_000)
    with pytest.raises(FileError, match=r"out\.\w+ cannot be written: .*[Nn]o space left"):
        score_file(following, source, small_disk / f"out.{kind}")
    assert names(small_disk) == []


SCRIPT = """
import sys
from plaudit import Reward
from plaudit.ledger.dataset import score_file

score_file(Reward.from_json(sys.argv[3]), sys.argv[1], sys.argv[2], batch_rows=200)
"""


@posix
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("number", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_a_process_that_is_stopped_leaves_no_file_under_the_name(tmp_path, kind, number):
    source = saved(tmp_path, kind, 200_000 if kind == "parquet" else 40_000)
    target = tmp_path / f"out.{kind}"
    running = PythonProcess([sys.executable, "-c", SCRIPT, source, target, following.to_json()], stderr=subprocess.PIPE)
    written = 0
    while not written:
        assert running.poll() is None
        time.sleep(0.005)
        parts = [path for path in tmp_path.iterdir() if path.name.endswith(".part")]
        written = max((path.stat().st_size for path in parts), default=0)
    running.send_signal(number)
    running.communicate()
    assert running.returncode != 0
    assert not target.exists()
    left = [name for name in names(tmp_path) if name != source.name]
    assert len(left) == (2 if number == signal.SIGKILL else 0)  # a draft, and whose it is
    assert score_file(following, saved(tmp_path, kind, 10), target).rows == 10
    assert names(tmp_path) == sorted([source.name, target.name])  # which removes what was left


# The peak since the process began its program: what `getrusage` says may be the memory of the one it was forked from.
MEMORY = """
import sys
from plaudit import Reward
from plaudit.ledger.dataset import score_file

reward = Reward.from_json(sys.argv[3])
done = score_file(reward, sys.argv[1], sys.argv[2], against=reward.with_weights(gap=2.0))
print(done.rows, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def repeat(first, source, times):
    """Write the rows of a file so many times into another."""
    if first.suffix == ".parquet":
        with pq.ParquetWriter(source, plain(1).schema) as writer:
            for _ in range(times):
                writer.write_table(read(first))
        return
    head, body = b"", first.read_bytes()
    if first.suffix == ".csv":
        head, _, body = body.partition(b"\n")
        head += b"\n"
    with source.open("wb") as file:
        file.write(head)
        for _ in range(times):
            file.write(body)


def measure_peak(work):
    """Return the most bytes that Python, NumPy and Arrow held while `work` ran."""
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@pytest.mark.parametrize("kind", FORMATS)
def test_memory_does_not_grow_with_the_rows(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 1 << 15)
    peaks = {}
    for times in (1, 2, 8):  # the first compiles what the others use
        source, target = tmp_path / f"{times}.{kind}", tmp_path / f"out.{times}.{kind}"
        repeat(saved(tmp_path, kind, 1_000), source, times)
        peaks[times] = measure_peak(lambda s=source, t=target: score_file(following, s, t, batch_rows=500))
    assert peaks[8] < 2 * peaks[2], peaks


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize(("kind", "rows"), [("parquet", 500_000), ("csv", 100_000), ("jsonl", 30_000)])
def test_memory_does_not_grow_with_the_data_set(tmp_path, kind, rows):
    peaks = []
    for times in (1, 8):
        source = tmp_path / f"{times}.{kind}"
        repeat(saved(tmp_path, kind, rows), source, times)
        target = tmp_path / f"out.{times}.{kind}"
        told = subprocess.check_output([sys.executable, "-c", MEMORY, source, target, following.to_json()])
        found, peak = map(int, told.split())
        assert found == times * rows
        peaks.append(peak / 1024)
        target.unlink()
    print(f"{kind}: {peaks[0]:.0f} MiB for {rows:,} rows, {peaks[1]:.0f} MiB for {8 * rows:,}")
    assert peaks[1] < 1_024
    assert peaks[1] < 2.5 * peaks[0]  # of eight times the rows; a small one does not fill every buffer


def test_one_row_group_of_any_size_is_read_in_pieces(tmp_path):
    pq.write_table(plain(30_000), tmp_path / "rows.parquet", row_group_size=30_000)
    done = score_file(following, tmp_path / "rows.parquet", tmp_path / "out.parquet", batch_rows=1_000)
    assert done.rows == 30_000
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_row_groups == 30


def test_long_texts_make_blocks_of_fewer_rows(mixed, tmp_path):
    rows = 1_500
    content = table(rows, text=pa.array(["x" * 50_000] * rows).dictionary_encode().cast(pa.string()))
    pq.write_table(content, tmp_path / "rows.parquet")
    score_file(mixed, tmp_path / "rows.parquet", tmp_path / "out.parquet")
    found = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert max(found.row_group(at).num_rows for at in range(found.num_row_groups)) <= 1_024
