"""What databases compute is what Python computes: random rewards on rows aimed at their cliffs, and every built-in one."""

import contextlib
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batches import Batch, Tally, examples, named
from columns import as_columns, as_inputs
from engines import scored
from plaudit import MissingField, UnknownInput
from plaudit.systems import BUILT_IN, system
from plaudit.targets.rows import columns
from running import scored as scored_on
from strategies import BAD, cases, rows
from tolerance import EXACT, exactly_rounded

SEEDS = st.integers(0, 2**32)


def stored_in(engine):
    """Return what a database makes of a row: SQLite stores NaN as NULL."""

    def without_nan(value):
        if isinstance(value, tuple):
            return tuple(map(without_nan, value))
        return None if isinstance(value, float) and math.isnan(value) else value

    return (lambda row: {name: without_nan(value) for name, value in row.items()}) if engine.name == "sqlite" else dict


def test_databases_give_the_numbers_of_the_plain_functions(engine):
    tally = Tally()

    @examples(0.6)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed, size=32, stored=stored_in(engine))
        tally.compare(batch, scored(engine, case.reward, batch.rows), bits=exactly_rounded(case))

    agrees()
    tally.assert_that_most_rows_counted(aside=0.08)


def test_without_ranges_only_the_domains_of_operations_count(engine):
    """NumPy checks no ranges then either; what is refused at the door, as None is, stays refused."""
    compared = 0

    @examples(0.3)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        nonlocal compared
        batch = Batch(case, seed, size=32, stored=stored_in(engine))
        known = [row for row in batch.rows if not any(bad(part) for value in row.values() for part in parts(value))]
        if known and exactly_rounded(case):
            wanted = scored_on(case.reward, "numpy", as_columns(case, known), guard=False)
            found = scored(engine, case.reward, known, guard=False)
            assert found.ok.tolist() == wanted.ok.tolist(), known
            np.testing.assert_array_equal(found.total, wanted.total)
            compared += len(known)

    agrees()
    assert compared > 100


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def bad(value):
    """Return whether a value is refused at the door, with or without ranges."""
    return value is None or value == BAD


# -- the built-in systems ------------------------------------------------------------------------------------------

VERSIONS = [(name, label) for name in BUILT_IN for label in system(name).VERSIONS]


@pytest.mark.parametrize(("name", "label"), VERSIONS, ids=map("@".join, VERSIONS))
def test_every_version_of_every_system_scores_as_python_does(engine, name, label):
    reward = system(name).version(label)
    played = episode_rows(reward, system(name).episode())
    assert played or label != system(name).VERSIONS[0]
    drawn = rows(SimpleNamespace(reward=reward, fields=tuple(reward.fields.values())), 4, 200)
    known = [*played, *map(stored_in(engine), drawn)]
    assert_as_python(reward, known, scored(engine, reward, known))


def episode_rows(reward, episode):
    """Return the rows of an episode by column name, defaults filled in; none for a version that reads other inputs."""
    found = []
    for row in episode:
        with contextlib.suppress(MissingField, UnknownInput):
            found.append(columns(reward.program, row))
    return found


def assert_as_python(reward, known, found):
    """Assert that scores are what the `python` target gives for each row, to the bit where IEEE 754 says so."""
    compiled = reward.compile("python", on_bad="mask")
    bits = all(isinstance(node, EXACT) for node in reward.program.nodes)
    for i, row in enumerate(known):
        wanted = compiled(as_inputs(row))
        assert found.ok[i] == wanted.ok, row
        for name, number in named(wanted, found.values).items():
            got = named(found, found.values)[name][i]
            same = got == number or (math.isnan(got) and math.isnan(number))
            assert same or (not bits and got == pytest.approx(number, rel=1e-13, abs=1e-13)), (name, got, number, row)
