"""CUDA, compiled as C++, gives what the plain Python functions give: the row function is the one of the kernels."""

import pytest

from plaudit.testing import check_target
from support.contract import TIMES, WRITTEN, draw
from support.cuda_batches import CudaFunction

CONSTANT = {**WRITTEN, "knobs_at_run_time": "knobs are constants of the text"}


def run_cuda(compiled, batch):
    """Compile the header as C++, and score the columns of a batch with its loop."""
    params = batch.params if compiled.knobs == "struct" else None
    return CudaFunction(compiled, flags=("-O0",)).score(batch.columns, params=params)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(
    ("knobs", "without"), [pytest.param("constant", CONSTANT, marks=pytest.mark.slow), ("struct", WRITTEN)]
)
def test_cuda_keeps_every_law(knobs, without, times):
    report = check_target("cuda", run=run_cuda, options={"knobs": knobs}, without=without, **draw(3, times))
    assert {each.law for each in report.laws if each.outcome != "kept"} == set(without)
    assert report.counts["refused"] == 0
    assert 0.3 < report.counts["good"] / report.counts["rows"] < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("times", TIMES)
def test_cuda_keeps_every_law_in_floats(times):
    report = check_target(
        "cuda", run=run_cuda, options={"real": "float"}, without=CONSTANT, **draw(3, times), dtype="float32"
    )
    assert {each.law for each in report.laws if each.outcome != "kept"} == set(CONSTANT)
