"""What the totals of many records are like, in flat memory."""

import numpy as np
import pytest

from plaudit.ledger.totals import Tally, Totals


def test_a_tally_of_very_many_sums_stays_small_and_keeps_the_mean():
    tally = Tally()
    for _ in range(100_000):
        tally.add_sum(2, 0.2, 0.1, 0.1)
    tally.add(np.full(70_000, 0.1))
    assert len(tally.sums) < 70_000
    assert tally.finish() == Totals(270_000, pytest.approx(0.1, rel=1e-15), 0.1, 0.1)


def test_records_without_a_score_have_no_mean_and_no_range():
    totals = Totals(masked=3)
    assert totals.format_cells() == ("0", "-", "-", "-")
    assert totals.to_dict() == {"records": 0, "mean": None, "low": None, "high": None, "masked": 3}
