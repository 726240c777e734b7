"""Student's t without SciPy is Student's t."""

import pytest

from plaudit.quantiles import t_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 30, 99, 100, 101, 102, 1000, 10**6])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_quantiles_are_those_of_scipy(freedom, confidence):
    stats = pytest.importorskip("scipy.stats", reason="needs plaudit[learn]")
    assert t_quantile(confidence, freedom) == pytest.approx(stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-5)
