"""C gives what the plain Python functions give: on random rewards, at zeros and infinities, on both sides of everything."""

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from support.batches import Batch
from support.c_compilers import CFunction
from support.examples import examples
from support.running import by_row, scored
from support.strategies import cases
from support.tolerance import ARITHMETIC, exactly_rounded

SEEDS = st.integers(0, 2**32)
DRAW = (Phase.explicit, Phase.reuse, Phase.generate)  # compiling is too slow to look for the smallest example


def assert_same(found, wanted, allowed, *, bits):
    """Assert that the same rows count, and that numbers are equal: to the bit, or within what rounding allows."""
    aside = np.zeros(len(wanted.ok), bool) if bits else allowed.aside
    assert (found.ok == wanted.ok)[~aside].all()
    pairs = [(found.total, wanted.total)]
    pairs += [(found.values[each], wanted.values[each]) for each in wanted.values]
    pairs += [(found.scores[each], wanted.scores[each]) for each in wanted.scores]
    for got, number in pairs:
        if bits:
            assert as_bits(got) == as_bits(number)
        else:
            near = np.abs(got - number) <= allowed.bound
            assert (near | (got == number) | ~wanted.ok | aside).all()
            assert np.isnan(got[~wanted.ok & ~aside]).all()


def as_bits(array):
    """Return numbers as their bits, every NaN the same."""
    array = np.asarray(array, np.float64)
    return np.where(np.isnan(array), np.nan, array).tobytes()


def drop_unknown_labels(reward, columns):
    """Return columns without positions for labels that `other` takes in: only a string can be unknown."""
    found = dict(columns)
    for name, field in reward.program.inputs.items():
        if field.other is not None:
            found[name] = np.where(np.isin(columns[name], range(len(field.labels))), columns[name], 0)
    return found


@pytest.mark.parametrize("knobs", ["constant", "struct"])
def test_c_gives_the_numbers_of_python_to_the_bit(knobs):
    counted = []

    @examples(0.08, phases=DRAW)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed)
        columns = drop_unknown_labels(case.reward, batch.columns)
        found = CFunction(case.reward.compile("c", knobs=knobs), flags=("-O0",)).score(columns)
        wanted = by_row(case.reward, columns, on_bad="mask")
        bits = exactly_rounded(case)
        assert_same(found, wanted, batch.allowed(None), bits=bits)
        counted.append((bits, wanted.ok.mean()))

    agrees()
    assert 0.3 < np.mean([share for _, share in counted]) < 0.95
    assert any(bits for bits, _ in counted)


def test_c_in_floats_gives_the_numbers_of_numpy_in_floats():
    @examples(0.08, phases=DRAW)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed, dtype=np.float32)
        found = CFunction(case.reward.compile("c", real="float"), flags=("-O0",)).score(batch.columns)
        wanted = scored(case.reward, "numpy", batch.columns, dtype="float32")
        assert_same(found, wanted, batch.allowed(ARITHMETIC), bits=exactly_rounded(case))

    agrees()
