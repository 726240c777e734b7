"""C gives what the plain Python functions give: on random rewards, at zeros and infinities, on both sides of everything."""

import pytest

from plaudit.testing import check_target
from support.c_compilers import CFunction
from support.contract import TIMES, WRITTEN, draw

CONSTANT = {**WRITTEN, "knobs_at_run_time": "knobs are constants of the text"}


def run_c(compiled, batch):
    """Compile the header with a loop around it, and score the columns of a batch."""
    return CFunction(compiled, flags=("-O0",), knobs=batch.params).score(batch.columns)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(
    ("knobs", "without"), [pytest.param("constant", CONSTANT, marks=pytest.mark.slow), ("struct", WRITTEN)]
)
def test_c_keeps_every_law(knobs, without, times):
    report = check_target("c", run=run_c, options={"knobs": knobs}, without=without, **draw(3, times))
    assert {each.law for each in report.laws if each.outcome != "kept"} == set(without)
    assert report.counts["refused"] == 0
    assert 0.3 < report.counts["good"] / report.counts["rows"] < 0.95


@pytest.mark.parametrize("times", TIMES)
def test_c_keeps_every_law_in_floats(times):
    report = check_target(
        "c", run=run_c, options={"real": "float"}, without=CONSTANT, **draw(3, times), dtype="float32"
    )
    assert {each.law for each in report.laws if each.outcome != "kept"} == set(CONSTANT)
