"""What databases compute is what Python computes: random rewards on rows aimed at their cliffs, and small ones on episodes."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.targets.inputs import collect_columns
from support.batches import Batch, Tally
from support.columns import as_columns
from support.engines import assert_as_python, scored, stored_in
from support.examples import examples
from support.running import scored as scored_on
from support.samples import EPISODES, SAMPLES
from support.strategies import BAD, cases, rows
from support.tolerance import exactly_rounded

SEEDS = st.integers(0, 2**32)


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
    """NumPy checks no ranges then either; what no field holds, as None, stays refused."""
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
    """Return whether a value is refused with or without ranges."""
    return value is None or value == BAD


@pytest.mark.parametrize("name", SAMPLES)
def test_a_reward_scores_its_episode_as_python_does(engine, name):
    reward = SAMPLES[name]
    drawn = rows(SimpleNamespace(reward=reward, fields=tuple(reward.fields.values())), 4, 200)
    played = [collect_columns(reward.program, row) for row in EPISODES[name]]
    known = [*played, *map(stored_in(engine), drawn)]
    assert_as_python(reward, known, scored(engine, reward, known))
