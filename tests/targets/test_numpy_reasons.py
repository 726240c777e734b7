"""Why rows are bad, counted: every bad row once, for the reason that the plain error gives."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, InputError, OutOfRange, Reward, term
from plaudit.errors import NotFinite, OutsideDomain, UnknownCategory
from plaudit.targets.numpy import ReasonCounter


@term
def ratio(a, b):
    """Divide."""
    return a / b


@term
def kind(phase, on):
    """Be on."""
    return 1.0 if phase == "go" and on else 0.0


REWARD = Reward(
    "reasons",
    version="1",
    terms=[ratio, kind],
    fields=[Field("a", low=0, high=10), Field("b"), Field("phase", values=("go", "stop")), Field("on", flag=True)],
)
numbers = st.sampled_from([0.0, 1.0, 10.0, -1.0, 11.0, float("nan"), float("inf"), 1e-320])


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 2), st.booleans()), max_size=20))
def test_every_bad_row_has_one_reason(rows):
    columns = {
        "a": np.array([row[0] for row in rows], float),
        "b": np.array([row[1] for row in rows], float),
        "phase": np.array([row[2] for row in rows], np.int64),
        "on": np.array([row[3] for row in rows], bool),
    }
    ok = REWARD.compile("numpy", on_bad="mask")(columns).ok
    bad = {name: column[~ok] for name, column in columns.items()}
    found = ReasonCounter(REWARD.program)(bad)
    assert found.total() == (~ok).sum()
    assert found["another reason"] == 0
    wanted: Counter[type] = Counter()
    labels = ("go", "stop", "who knows")
    for a, b, phase, on in rows:
        try:
            REWARD.score(a=a, b=b, phase=labels[phase], on=on)
        except InputError as error:
            wanted[type(error)] += 1
    nan = sum(count for reason, count in found.items() if reason.endswith("is NaN"))
    outside = sum(count for reason, count in found.items() if reason.endswith("is outside its declared range"))
    assert nan <= wanted[NotFinite] + wanted[UnknownCategory] + wanted[OutOfRange]
    assert nan + outside == wanted[NotFinite] + wanted[OutOfRange] + wanted[UnknownCategory]
    assert found.total() - nan - outside == wanted[OutsideDomain]
