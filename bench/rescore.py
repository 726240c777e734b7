"""Re-scoring a Parquet file against merely reading and writing the same rows with pyarrow, in the same run.

`python bench/rescore.py [rows] [rounds] [folder] [narrow|wide]`. Two files: "narrow" has the three columns that
roadsense reads and nothing else, which is the hardest case; "wide" is a data set as people keep them, with seven
columns more. The peers read batches and write them again: with pyarrow's own settings, and told to leave out
dictionaries, which do not pay for such numbers. "cluster" is
the code that the processes of Ray and Spark run, here one after the other: a file is cut into four tasks, whose files
are joined. Every measurement is a process of its own, in turns; peak memory is
what the system says of that process, and rows a core-second are counted by the processor time of all its threads.

The last table is `diff` of two versions on a file and on a ledger of the wide kind, beside the re-scoring that answers
less: diff should take no more than 1.5 times as long.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peers import draw_roadsense
from timing import QUICK, measure, size, table

TOGETHER = 1 << 20
WAYS = ("score_file", "pyarrow", "pyarrow, no dictionaries", "cluster", "cluster, against")
PEERS = WAYS[1:3]


def main(rows: int, rounds: int, folder: str, layouts: tuple[str, ...]) -> None:
    print(f"{rows:,} rows, {rounds} rounds, {os.cpu_count()} cores, pyarrow {pa.__version__}")
    shown: list[tuple[str, ...]] = [
        ("what", "rows/s", "a core-second", "against pyarrow", "no dictionaries", "peak memory", "bytes a row")
    ]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for layout in layouts:
            source = Path(place, f"{layout}.parquet")
            generate(source, rows, wide=layout == "wide")
            best, written = dict.fromkeys(WAYS, float("inf")), dict.fromkeys(WAYS, 0)
            read = source.stat().st_size
            peak, work = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, float("inf"))
            for _ in range(rounds):
                for way in WAYS:
                    target = Path(place, "out.parquet")
                    seconds, memory, core = measured(way, source, target)
                    best[way], peak[way] = min(best[way], seconds), max(peak[way], memory)
                    work[way] = min(work[way], core)
                    size = target.stat().st_size
                    target.unlink()
                    written[way] = size
            for way in WAYS:
                against = [f"{best[peer] / best[way]:.2f}x" for peer in PEERS]
                bytes_a_row = f"{read / rows:.1f} → {written[way] / rows:.1f}"
                shown.append(
                    (
                        f"{layout}: {way}",
                        f"{rows / best[way]:,.0f}",
                        f"{rows / work[way]:,.0f}",
                        *against,
                        f"{peak[way]:.0f} MiB",
                        bytes_a_row,
                    )
                )
            source.unlink()
    table(shown)
    compare_versions(rows, rounds, folder)


def compare_versions(rows: int, rounds: int, folder: str) -> None:
    from plaudit import Ledger
    from plaudit.analysis import diff
    from plaudit.ledger.dataset import score_file
    from plaudit.systems import roadsense

    old, new = roadsense.reward, roadsense.reward.with_weights(comfort=2.0).with_version("heavier")
    rows = min(rows, 1_000_000)
    best = dict.fromkeys(("score_file", "diff, file", "ledger.rescore", "diff, ledger"), float("inf"))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        source, target = Path(place, "wide.parquet"), Path(place, "out.parquet")
        generate(source, rows, wide=True)
        with Ledger(Path(place, "rewards.db")) as ledger:
            names = ("distance", "deceleration", "action")
            for piece in pq.ParquetFile(source).iter_batches(50_000):
                columns = {name: piece[name].to_numpy() for name in names}
                context = {"episode": piece["episode"].to_pylist(), "step": piece["step"].to_pylist()}
                ledger.record_batch(old, columns, run="night", **context)
            for turn in range(rounds):
                label = new.with_version(f"heavier-{turn}")  # a re-scoring is done once
                ways = (
                    lambda: score_file(new, source, target, against=old, overwrite=True),
                    lambda: diff(old, new, data=source),
                    lambda label=label: ledger.rescore(label),
                    lambda: diff(old, new, ledger=ledger),
                )
                for name, way in zip(best, ways, strict=True):
                    best[name] = min(best[name], measure(way)[1])
    pairs = [("score_file", "diff, file"), ("ledger.rescore", "diff, ledger")]
    shown = [("two versions", "rows/s", "against the re-scoring")]
    for one, other in pairs:
        shown += [(name, f"{rows / best[name]:,.0f}", f"{best[name] / best[one]:.2f}x") for name in (one, other)]
    table(shown)


def generate(path: Path, rows: int, *, wide: bool) -> None:
    """Write a data set of steps, in pieces."""
    writer = None
    for piece in pieces(rows, wide=wide):
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    assert writer is not None
    writer.close()


def pieces(rows: int, *, wide: bool) -> Iterator[pa.Table]:
    rng = np.random.default_rng(0)
    for start in range(0, rows, TOGETHER):
        size = min(TOGETHER, rows - start)
        columns = draw_roadsense(size, rng)
        if wide:
            step = np.arange(start, start + size)
            columns |= {"run": pa.array([f"night-{i}" for i in range(50)]).take(pa.array(step // 20_000 % 50))}
            columns |= {"episode": step // 500, "step": step % 500}
            columns |= {f"obs_{i}": rng.normal(size=size) for i in range(4)}
        yield pa.table(columns)


def measured(way: str, source: Path, target: Path) -> tuple[float, float, float]:
    """Return the seconds that a process of its own takes for it, its peak memory in MiB, and its processor time."""
    told = subprocess.check_output([sys.executable, __file__, "--way", way, source, target], text=True)
    seconds, memory, core = map(float, told.split())
    return seconds, memory, core


class InTurn:
    """An engine in this process."""

    slots = 2

    def submit(self, work: Callable[[Any], Any], task: Any) -> Future[Any]:
        """Do a task at once."""
        done: Future[Any] = Future()
        done.set_result(work(task))
        return done


def one(way: str, source: str, target: str) -> None:
    """Do it, and print seconds and peak memory."""
    if way == "score_file":
        from plaudit.ledger.dataset import score_file
        from plaudit.rows import parquet_files
        from plaudit.systems import roadsense

        assert parquet_files  # loaded before the clock starts, as it is for the others
        start, before = time.perf_counter(), time.process_time()
        score_file(roadsense.reward, source, target)
    elif way.startswith("cluster"):
        from plaudit.ledger.dataset.cluster import score_on_engine
        from plaudit.ledger.dataset.job import Job
        from plaudit.systems import roadsense

        against = roadsense.reward.with_weights(comfort=2.0) if way.endswith("against") else None
        start, before = time.perf_counter(), time.process_time()
        score_on_engine(Job(roadsense.reward, against=against), source, target, "in turn", nullcontext(InTurn()))
    else:
        start, before = time.perf_counter(), time.process_time()
        file = pq.ParquetFile(source)
        options = {} if way == "pyarrow" else {"use_dictionary": False}
        with pq.ParquetWriter(target, file.schema_arrow, **options) as writer:
            for batch in file.iter_batches(TOGETHER):
                writer.write_batch(batch)
        with open(target, "rb+") as written:
            os.fsync(written.fileno())
    seconds, core = time.perf_counter() - start, time.process_time() - before
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, core)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--way"]:
        one(*sys.argv[2:])
    else:
        given = [argument for argument in sys.argv[1:] if argument != "--quick"]
        main(
            size(2_000_000, quick=1_000),
            int(given[1]) if len(given) > 1 else 1 if QUICK else 3,
            given[2] if len(given) > 2 else tempfile.gettempdir(),
            tuple(given[3:]) or (("wide",) if QUICK else ("narrow", "wide")),
        )
