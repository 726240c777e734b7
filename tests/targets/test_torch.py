"""The torch target alone: tensors in, tensors out, differentiable, and whole under torch.compile."""

import shutil
import sys

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import NotFinite
from support.running import need

torch = need("torch")


@term(weight=2.0, high=3.0)
def near(x, *, reach=2.0):
    return x / reach if x < 10 else 0.0


@term
def lit(on):
    return on


REWARD = Reward("small", version="1", terms=[near, lit], fields=[Field("x", low=0), Field("on", flag=True)])


def batch(*numbers, dtype=None):
    return {"x": torch.tensor(numbers, dtype=dtype), "on": torch.tensor([True] * len(numbers))}


def test_tensors_come_out_with_every_key():
    found = REWARD.compile("torch")(batch(1.0, 20.0))
    assert [*found.values] == [*found.scores] == ["near", "lit"]
    assert all(isinstance(t, torch.Tensor) for t in (found.total, found.ok, *found.values.values()))
    assert found.total.tolist() == [2.0, 1.0]
    assert found.total.device == torch.device("cpu")


def test_gradients_flow_to_inputs_and_parameters():
    x = torch.tensor([3.0, 8.0], requires_grad=True)
    reach = torch.tensor(2.0, requires_grad=True)
    found = REWARD.compile("torch")({"x": x, "on": torch.tensor([True, False])}, {"near.reach": reach})
    found.total.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]  # the second is clamped
    assert reach.grad == -1.5


def test_a_bad_row_is_raised_or_masked():
    with pytest.raises(NotFinite, match="row 1"):
        REWARD.compile("torch")(batch(1.0, float("nan")))
    found = REWARD.compile("torch", on_bad="mask")(batch(1.0, float("nan"), -1.0))
    assert found.ok.tolist() == [True, False, False]
    assert torch.isnan(found.values["lit"][1:]).all()


def test_a_bad_row_can_be_raised_while_gradients_are_recorded():
    with pytest.raises(NotFinite, match="row 0"):
        REWARD.compile("torch")({"x": torch.tensor([float("nan")], requires_grad=True), "on": torch.tensor([True])})


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"x": torch.ones(2), "on": torch.ones(2, dtype=torch.bool)}, torch.float32),
        ({"x": torch.ones(2, dtype=torch.float64), "on": True}, torch.float64),
        ({"x": torch.ones(2, dtype=torch.float16), "on": True}, torch.float16),
        ({"x": torch.ones(2, dtype=torch.bfloat16), "on": True}, torch.bfloat16),
        ({"x": torch.ones(2, dtype=torch.int32), "on": True}, torch.float32),
        ({"x": 1.0, "on": True}, torch.float32),
        ({"x": np.ones(2), "on": True}, torch.float64),
        ({"x": np.ones(2, np.float32), "on": True}, torch.float32),
    ],
    ids=str,
)
def test_the_dtype_is_that_of_the_floating_inputs(columns, dtype):
    found = REWARD.compile("torch")(columns)
    assert {t.dtype for t in (found.total, *found.values.values(), *found.scores.values())} == {dtype}
    assert found.total.reshape(-1)[0] == 2.0


def test_the_dtype_can_be_said():
    assert REWARD.compile("torch", dtype=torch.float64)(batch(1.0)).total.dtype == torch.float64


def test_constants_are_rounded_to_the_dtype():
    @term
    def edge(x, *, limit=0.1):
        return 1 if x == limit and x == 0.1 else 0

    reward = Reward("edge", version="1", terms=[edge], fields=[Field("x", low=0.1)])
    assert reward.compile("torch")({"x": torch.tensor(0.1)}).total == 1.0
    assert reward.compile("torch")({"x": torch.tensor(0.1)}, {"edge.limit": 0.1}).total == 1.0


def test_an_empty_batch_under_gradients_is_empty():
    found = REWARD.compile("torch")({"x": torch.ones(0, requires_grad=True), "on": torch.ones(0, dtype=torch.bool)})
    found.total.sum().backward()
    assert found.total.shape == (0,)


def test_columns_that_do_not_lie_in_order_score_the_same():
    column = np.arange(6.0)
    found = REWARD.compile("torch")({"x": column[::-1], "on": np.ones(6, bool)})
    assert found.total.tolist() == REWARD.compile("numpy")({"x": column[::-1], "on": np.ones(6, bool)}).total.tolist()


def test_vmap_maps_over_rows():
    compiled = REWARD.compile("torch", on_bad="mask")
    found = torch.vmap(lambda x: compiled({"x": x, "on": True}).total)(torch.tensor([1.0, 3.0, 20.0]))
    assert found.tolist() == [2.0, 4.0, 1.0]


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("cc") is None and shutil.which("gcc") is None and sys.platform != "win32",
    reason="torch.compile needs a C compiler",
)
def test_compiled_whole_it_gives_what_it_gives_plainly():
    inductor = pytest.importorskip("torch._inductor", reason="needs torch.compile")
    compiled = REWARD.compile("torch", on_bad="mask")
    whole = torch.compile(compiled, fullgraph=True)
    inputs = batch(1.0, 3.0, float("nan"), 20.0)
    with inductor.config.patch({"cpp.vec_isa_ok": False}):  # else it first compiles a dozen trials of the processor
        found, plainly = whole(inputs), compiled(inputs)
    assert [*found.values] == ["near", "lit"]
    torch.testing.assert_close(found.total, plainly.total, equal_nan=True)
    assert found.ok.tolist() == [True, True, False, True]


def test_traced_whole_without_a_compiler_it_gives_what_it_gives_plainly():
    compiled = REWARD.compile("torch")
    whole = torch.compile(compiled, fullgraph=True, backend="eager")
    found = whole(batch(1.0, 3.0, float("nan")))  # a bad row is masked: nothing can be raised in there
    assert found.ok.tolist() == [True, True, False]
    assert found.total[:2].tolist() == [2.0, 4.0]
    x = torch.tensor([3.0], requires_grad=True)
    whole({"x": x, "on": torch.tensor([True])}).total.sum().backward()
    assert x.grad.tolist() == [1.0]
