"""Draw rows with Hypothesis, and shrink one on which two implementations differ."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, reject, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from plaudit.rows.row import FlatRow


class _Found(Exception):
    """A row on which the two differ."""


def find_simplest(
    draw_row: Callable[[Random], FlatRow],
    tells_apart: Callable[[FlatRow], bool | None],
    *,
    examples: int,
    seed: int,
) -> FlatRow | None:
    """Return the simplest row that `tells_apart`, or None if none of the examples does.

    Hypothesis makes what a row is drawn with; a row for which `tells_apart` returns None is no example.
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
    @given(st.randoms(use_true_random=False).map(draw_row))
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
