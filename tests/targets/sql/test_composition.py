"""Composed and scheduled rewards in databases: each row of a total is a column."""

import numpy as np

from plaudit.schedules import cosine, exponential
from support.composed import COUNTS, STEPS, training, walking
from support.engines import assert_as_python, scored

ROWS = [{name: column[at].item() for name, column in (STEPS | COUNTS).items()} for at in range(7)]


def test_databases_give_every_row_of_a_composed_total(engine):
    rows = [{name: row[name] for name in STEPS} for row in ROWS]
    found = scored(engine, walking(), rows)
    assert_as_python(walking(), rows, found)
    assert found.ok.all()
    np.testing.assert_allclose(sum(found.values.values()), found.total, atol=1e-12)


def test_databases_follow_schedules(engine):
    rows = [{**row, "step": float(row["step"]), "epoch": float(row["epoch"])} for row in ROWS]
    assert_as_python(training(), rows, scored(engine, training(), rows))
    smooth = training().with_params(
        {"forward.weight": cosine(0, 2, over=9), "override.fell": exponential(-1, -4, over=9)}
    )
    assert_as_python(smooth, rows, scored(engine, smooth, rows))


def test_the_rows_of_a_total_are_columns_of_their_own():
    compiled = walking().compile("sql")
    assert set(compiled.values) == {"forward", "effort", "termination", "gate", "clamp", "fell", "ran"}
    for name in ("gate", "clamp", "fell", "gate.score"):
        assert f'"{name}"' in compiled.select("steps")
