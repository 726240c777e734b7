"""Ten million transitions with breakdown: NumPy against hand-written np.select, Numba against a plain copy.

`python bench/batch.py [rows]`. Peak memory is that of the process while it scores, above what it held before.
"""

import threading
import time

import numpy as np
import peers
from timing import compare, size, table

from plaudit.systems import roadsense


def main(count: int) -> None:
    columns = peers.draw_roadsense(count)
    compiled = {guard: roadsense.reward.compile("numpy", guard=guard) for guard in (False, True)}
    by_hand = peers.roadsense_columns(**columns)
    scores = compiled[True](columns)
    for ours, theirs in zip([scores.total, *scores.values.values()], by_hand, strict=True):
        assert np.array_equal(ours, theirs)
    result = compare(
        {
            "np.select by hand": lambda: peers.roadsense_columns(**columns),
            "numpy, no guard": lambda: compiled[False](columns),
            "numpy, guarded": lambda: compiled[True](columns),
        },
        calls=1,
        rounds=5,
    )
    print(f"{count:,} transitions, 3 columns in, 4 out, float64")
    rows: list[tuple[str, ...]] = [("what", "rows/s", "against np.select by hand")]
    rows += [
        (name, f"{count / best:,.0f}", f"{result.ratio(name, 'np.select by hand'):.2f}x")
        for name, best in result.best.items()
    ]
    table(rows)
    moved = 7 * 8 * count
    extra = peak(lambda: compiled[True](columns))
    print(f"numpy, guarded: peak memory {extra / moved + 3 / 7:.2f}x inputs + outputs\n")
    numba_rows(columns, count)


def numba_rows(columns: dict[str, np.ndarray], count: int) -> None:
    try:
        compiled = {guard: roadsense.reward.compile("numba", guard=guard) for guard in (False, True)}
    except ImportError as error:
        print(f"numba left out: {error}")
        return
    import numba

    outs = {guard: reward(columns) for guard, reward in compiled.items()}
    check = roadsense.reward.compile("python").function
    few = [column[:1000] for column in columns.values()]
    for at, row in enumerate(zip(*few, strict=True)):
        assert check(*map(float, row))[0] == outs[True].total[at]
    targets = [np.empty(count) for _ in range(4)]
    sources = [*columns.values(), columns["distance"]]

    @numba.njit(parallel=True)
    def copy(a, b, c, d, w, x, y, z):
        for i in numba.prange(a.shape[0]):
            w[i], x[i], y[i], z[i] = a[i], b[i], c[i], d[i]

    result = compare(
        {
            "plain copy": lambda: copy(*sources, *targets),
            "numba, no guard": lambda: compiled[False](columns, out=outs[False]),
            "numba, guarded": lambda: compiled[True](columns, out=outs[True]),
        },
        calls=1,
        rounds=9,
    )
    rows: list[tuple[str, ...]] = [("what", "rows/s", "time against a plain copy")]
    rows += [
        (name, f"{count / best:,.0f}", f"{best / result.best['plain copy']:.2f}x") for name, best in result.best.items()
    ]
    table(rows)


def peak(work) -> int:
    """Return how many bytes the process grew by while `work` ran."""
    start, highest, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.is_set():
            highest = max(highest, resident())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return max(highest - start, 0)


def resident() -> int:
    """Return the resident memory of this process in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


if __name__ == "__main__":
    main(size(10_000_000, quick=100_000))
