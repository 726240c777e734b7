"""A million transitions with breakdown: the `polars` target against expressions and NumPy by hand.

`python bench/frames.py [rows]`. The target tests the declared ranges, and masks a row that is outside or raises; by
hand it is written without that and with it. All score the same columns, in turns.
"""

import numpy as np
import peers
from timing import compare, size, table

from plaudit.systems import roadsense


def main(count: int) -> None:
    try:
        import polars as pl
    except ImportError:
        print("frames: 0 rows, as Polars is not installed")
        return
    columns = peers.draw_roadsense(count)
    frame = pl.DataFrame(columns)
    compiled = {on_bad: roadsense.reward.compile("polars", on_bad=on_bad) for on_bad in ("mask", "raise")}
    arrays = roadsense.reward.compile("numpy")
    by_hand, checked = (peers.roadsense_expressions(ranges=ranges) for ranges in (False, True))
    for found in (compiled["raise"].select(frame), frame.select(**by_hand), frame.select(**checked)):
        for name, wanted in zip(
            ("total", "safety", "comfort", "appropriateness"), arrays_of(arrays(columns)), strict=True
        ):
            assert np.array_equal(found[name].to_numpy(), wanted)
    lazy = frame.lazy()
    result = compare(
        {
            "np.select by hand": lambda: peers.roadsense_columns(**columns),
            "numpy": lambda: arrays(columns),
            "polars by hand, no ranges": lambda: lazy.select(**by_hand).collect(),
            "polars by hand": lambda: lazy.select(**checked).collect(),
            "polars, masked": lambda: compiled["mask"].select(lazy).collect(),
            "polars": lambda: compiled["raise"].select(lazy).collect(),
            "polars, total alone": lambda: lazy.select(compiled["raise"].total).collect(),
            "streaming by hand": lambda: lazy.select(**checked).collect(engine="streaming"),
            "streaming": lambda: compiled["raise"].select(lazy).collect(engine="streaming"),
        },
        calls=1,
        rounds=15,
    )
    print(f"{count:,} transitions of roadsense, 3 columns in, every term out, {pl.thread_pool_size()} threads")
    rows: list[tuple[str, ...]] = [("what", "rows/s", "against np.select by hand", "against polars by hand")]
    rows += [
        (
            name,
            f"{count / best:,.0f}",
            *(f"{result.ratio(name, peer):.2f}x" for peer in ("np.select by hand", "polars by hand")),
        )
        for name, best in result.best.items()
    ]
    table(rows)
    first = frame.head(1)
    planned = compare({"plan": lambda: first.select(compiled["raise"].struct)}, calls=1, rounds=15).best["plan"]
    print(f"to plan a query and score one row takes {planned * 1e3:.1f} ms")


def arrays_of(scores):
    return scores.total, *scores.values.values()


if __name__ == "__main__":
    main(size(1_000_000, 20_000))
