"""How the time of some work grows with its size, for what must not become quadratic."""

import time
from collections.abc import Callable


def measure_growth(work: Callable[[int], object], small: int, large: int) -> float:
    """Return by how many times the processor works longer for `large` than for `small`, at best of three."""

    def measure(size: int) -> float:
        start = time.process_time()
        work(size)
        return time.process_time() - start

    return min(measure(large) for _ in range(3)) / max(min(measure(small) for _ in range(3)), 1e-4)
