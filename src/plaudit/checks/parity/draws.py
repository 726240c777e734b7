"""Hypothesis draws the rows, and makes the one that tells two implementations apart as simple as it can."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, reject, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from plaudit.checks.parity.candidates import Pool
from plaudit.checks.parity.trace import FLOATS_BETWEEN, PAST, Trace, move_to_edge, to_float32
from plaudit.rows.row import FlatRow, Value

FRACTIONS = 64
"""Into how many parts the room between two boundaries is cut: alike, or the finer the nearer to the lower one."""


class _Found(Exception):
    """A row that tells the two apart."""


def find_simplest(
    rows: st.SearchStrategy[FlatRow], tells_apart: Callable[[FlatRow], bool | None], *, examples: int, seed: int
) -> FlatRow | None:
    """Return the simplest row that `tells_apart`, or None where none of so many examples does.

    A row for which it returns None is no example.
    """
    last: list[FlatRow] = []

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,  # the seed decides
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(rows)
    def look(row: FlatRow) -> None:
        differs = tells_apart(row)
        if differs:
            last[:] = [row]
            raise _Found
        if differs is None:
            reject()

    try:
        with _without_storage(), _without_local_constants(), contextlib.suppress(Unsatisfiable):
            look()
    except _Found:
        return last[0]
    return None


def draw_rows(
    pools: Mapping[str, Pool], trace: Trace, mend: Callable[[FlatRow], FlatRow], *, single: bool = False
) -> st.SearchStrategy[FlatRow]:
    """Return a strategy for rows: boundaries, what lies between, and boundaries that several inputs make together."""
    values = {name: _value_strategy(pool) for name, pool in pools.items()}
    numbers = [name for name, pool in pools.items() if pool.marks]

    @st.composite
    def row(draw: st.DrawFn) -> FlatRow:
        found: FlatRow = {}
        for name, strategy in values.items():
            found[name] = draw(strategy)
            if name in numbers and draw(st.integers(0, 4)) == 4:
                found[name] = _copy_other_value(found, name, pools, draw(st.integers(0, len(pools) - 1)))
        if bool(numbers) and draw(st.booleans()):
            name = draw(st.sampled_from(numbers))
            past = draw(st.sampled_from(PAST)) * (FLOATS_BETWEEN if single else 1)
            found = move_to_edge(trace, found, name, draw(st.sampled_from(pools[name].marks)), past=past)
        if single:
            found |= {name: to_float32(float(found[name])) for name in numbers}
        return mend(found)

    return row()


def _value_strategy(pool: Pool) -> st.SearchStrategy[Value]:
    aimed = st.sampled_from(pool.values)
    sharp = st.sampled_from(pool.cuts) if pool.cuts else aimed
    marks = pool.marks
    if len(marks) < 2:
        return st.one_of(aimed, sharp)

    def between(at: int, part: int, bend: int) -> Value:
        low, high = marks[at], marks[at + 1]
        return min(max(low + (high - low) * (part / FRACTIONS) ** bend, low), high)

    zones = st.builds(between, st.integers(0, len(marks) - 2), st.integers(0, FRACTIONS), st.sampled_from((1, 6)))
    anywhere = st.floats(marks[0], marks[-1], allow_subnormal=False)
    return st.one_of(aimed, aimed, sharp, zones, anywhere)


def _copy_other_value(row: FlatRow, name: str, pools: Mapping[str, Pool], which: int) -> Value:
    """Return the value of another number, where this input can have it: two inputs may be compared with one another."""
    other = list(pools)[which]
    value = row.get(other, row[name])
    return value if pools[other].marks and pools[name].field.holds(value) else row[name]


@contextlib.contextmanager
def _without_local_constants() -> Iterator[None]:
    """Let Hypothesis draw no constants of the modules that happen to be imported.

    It would parse the sources of all of them, which takes longer than the comparison, and draw other rows for the same
    seed wherever another module is imported.
    """
    providers = sys.modules.get("hypothesis.internal.conjecture.providers")
    if not hasattr(providers, "_get_local_constants"):  # a version that draws none
        yield
        return
    known, before = vars(providers), dict(vars(providers))
    known |= {"_get_local_constants": known["Constants"], "CONSTANTS_CACHE": {}}
    try:
        yield
    finally:
        known |= {name: before[name] for name in ("_get_local_constants", "CONSTANTS_CACHE")}


@contextlib.contextmanager
def _without_storage() -> Iterator[None]:
    """Let Hypothesis write no files: it would keep the constants of the caller's modules in a folder of its own."""
    home = vars(configuration).get("__hypothesis_home_directory")
    configuration.set_hypothesis_home_dir(Path(os.devnull, "hypothesis"))
    try:
        yield
    finally:
        configuration.set_hypothesis_home_dir(home)
