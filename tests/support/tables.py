"""Data sets for tests: a reward that reads everything a table can hold, and rows for it."""

import numpy as np
import pytest

from plaudit import Field, Reward, term

pa = pytest.importorskip("pyarrow", reason="needs plaudit[data]")
import pyarrow.parquet as pq  # noqa: E402


@term
def near(distance):
    """Be near."""
    return 1.0 / distance


@term(weight=-0.5)
def effort(torque):
    """Be gentle."""
    return sum(abs(t) for t in torque)


@term(weight=2.0, low=-1, high=1)
def progress(prev, curr):
    """Get on."""
    return curr.done - prev.done


@term
def mode(phase, braking):
    """Test while you do not brake."""
    return 3.0 if phase == "testing" and not braking else 0.0


def made(version="1", **weights):
    return Reward(
        "mixed",
        version=version,
        terms=[near, effort, progress, mode],
        fields=[
            Field("distance", low=0, high=100),
            Field("torque", length=3, low=-5, high=5),
            Field("done", low=0, high=1),
            Field("phase", values=("planning", "testing", "other"), other="other"),
            Field("braking", flag=True),
        ],
    ).with_weights(**weights)


def table(rows, seed=0, **changed):
    rng = np.random.default_rng(seed)
    columns = {
        "id": pa.array(range(rows), pa.int64()),
        "distance": rng.uniform(0.5, 100, rows),
        "torque": pa.FixedSizeListArray.from_arrays(pa.array(rng.uniform(-5, 5, 3 * rows)), 3),
        "prev": pa.StructArray.from_arrays(
            [pa.array(rng.uniform(0, 1, rows)), pa.array(["x"] * rows)], ["done", "note"]
        ),
        "curr": pa.StructArray.from_arrays([pa.array(rng.uniform(0, 1, rows))], ["done"]),
        "phase": pa.array(rng.choice(["planning", "testing", "unheard of"], rows)),
        "braking": pa.array(rng.uniform(size=rows) < 0.5),
    }
    return pa.table({**columns, **changed})


def expected(reward, rows):
    """Return total, ok and each term's value of rows given as a list of dicts, from the reward itself."""
    found = []
    for row in rows:
        inputs = {name: row[name] for name in ("distance", "torque", "phase", "braking")}
        ends = {end: {"done": row[end]["done"]} for end in ("prev", "curr")}
        try:
            signal = reward.score(**inputs, **ends)
            found.append((signal.total, True, {name.name: signal[name.name].value for name in reward.terms}))
        except ValueError:
            found.append((None, False, dict.fromkeys([name.name for name in reward.terms])))
    return found


def read(path):
    return pq.ParquetFile(path).read()
