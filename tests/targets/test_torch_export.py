"""`torch.export` takes the PyTorch target: what it makes, and the ONNX file, score rows as the target does."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from support.strategies import load

torch = pytest.importorskip("torch")

TERMS = """\
import math

PAY = (0.0, 0.5, 2.0)


def near(distance, *, reach=2.0):
    return reach - distance if distance < reach else -math.log(distance)


def effort(torque):
    return sum(t * t for t in torque)


def calm(mood, level, lit):
    return (1.0 if mood == "calm" else 0.0) + (PAY[level] if lit else 0.0)


def moved(prev, curr):
    return math.tanh(curr.place - prev.place) / prev.place
"""


@pytest.fixture(scope="module")
def grasping():
    space = load(TERMS)
    return Reward(
        "grasping",
        version="1",
        terms=[term(space[name]) for name in ("near", "effort", "calm", "moved")],
        fields=[
            Field("distance", low=0, high=9),
            Field("torque", length=3, low=-5, high=5),
            Field("mood", values=("calm", "wild")),
            Field("level", values=(0, 1, 2)),
            Field("lit", flag=True),
            Field("place", low=-4, high=4),
        ],
        low=-20.0,
    )


def draw(rows):
    rng = np.random.default_rng(rows)
    place = rng.integers(-2, 3, (2, rows)).astype(np.float32)  # a division by 0 now and then
    columns = {
        "distance": rng.choice([0.0, 0.5, 2.0, 3.0, -1.0, np.nan], rows).astype(np.float32),
        "torque": rng.normal(0, 2, (rows, 3)).astype(np.float32),
        "mood": rng.integers(0, 2, rows),
        "level": rng.integers(0, 3, rows).astype(np.float32),
        "lit": rng.random(rows) < 0.5,
        "prev.place": place[0],
        "curr.place": place[1],
    }
    return {name: torch.as_tensor(column) for name, column in columns.items()}


@pytest.fixture(scope="module")
def program(grasping):
    score = grasping.compile("torch", on_bad="mask")

    class Grasping(torch.nn.Module):
        def forward(self, columns):
            scores = score(columns)
            return scores.total, scores.values["effort"], scores.ok

    rows, columns = torch.export.Dim("rows"), draw(16)
    return torch.export.export(Grasping(), (columns,), dynamic_shapes=({name: {0: rows} for name in columns},))


@pytest.mark.parametrize("rows", [2, 16, 1000])
def test_an_exported_program_scores_any_number_of_rows(grasping, program, rows):
    columns = draw(rows)
    total, effort, ok = program.module()(columns)
    wanted = grasping.compile("torch", on_bad="mask")(columns)
    assert torch.equal(ok, wanted.ok)
    assert rows < 1000 or 0.2 < ok.float().mean() < 0.8
    torch.testing.assert_close(total, wanted.total, equal_nan=True)
    torch.testing.assert_close(effort, wanted.values["effort"], equal_nan=True)


def test_onnx_scores_the_same_rows(grasping, program, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    path = tmp_path / "grasping.onnx"
    torch.onnx.export(program, dynamo=True, verbose=False).save(str(path))
    session = onnxruntime.InferenceSession(str(path))
    columns = draw(1000)
    names = [each.name for each in session.get_inputs()]
    given = dict(zip(names, (column.numpy() for column in columns.values()), strict=True))
    total, effort, ok = session.run(None, given)
    wanted = grasping.compile("torch", on_bad="mask")(columns)
    assert ok.tolist() == wanted.ok.tolist()
    np.testing.assert_allclose(total, wanted.total, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(effort, wanted.values["effort"], rtol=1e-5)
