"""The jax target alone: traced, batched, differentiated and scanned with no adapter."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import NotFinite, OutOfRange
from support.hasty_compiler import usual_compiler
from support.running import need, plain, wide

jax = need("jax")
jnp = jax.numpy


@term(weight=2.0, high=3.0)
def near(x, *, reach=2.0):
    return x / reach if x < 10 else 0.0


@term
def lit(on):
    return on


REWARD = Reward("small", version="1", terms=[near, lit], fields=[Field("x", low=0), Field("on", flag=True)])
KEYS = ["lit", "near"]


@pytest.fixture
def _usual_compiler():
    with usual_compiler():
        yield


usually_compiled = pytest.mark.usefixtures("_usual_compiler")
"""Marks tests of what is compiled whole: that it computes the same is the law, whatever the compiler optimizes."""


def batch(*numbers):
    return {"x": jnp.array(numbers, jnp.float32), "on": jnp.array([True] * len(numbers))}


@usually_compiled
def test_jit_gives_what_a_plain_call_gives_with_every_key():
    compiled = REWARD.compile("jax")
    found, plainly = jax.jit(compiled)(batch(1.0, 20.0)), compiled(batch(1.0, 20.0))
    assert sorted(found.values) == sorted(found.scores) == KEYS
    jax.tree_util.tree_map(np.testing.assert_array_equal, found, plainly)
    assert found.total.tolist() == [2.0, 1.0]


def test_vmap_maps_over_rows_with_every_key():
    found = jax.vmap(REWARD.compile("jax"))(batch(1.0, 3.0, 20.0))
    assert sorted(found.values) == KEYS
    assert found.total.tolist() == [2.0, 4.0, 1.0]
    assert found.ok.shape == (3,)


def test_vmap_maps_over_parameters():
    compiled = REWARD.compile("jax")
    found = jax.vmap(lambda reach: compiled(batch(1.0, 3.0), {"near.reach": reach}))(jnp.array([1.0, 2.0, 4.0]))
    assert found.total.tolist() == [[3.0, 7.0], [2.0, 4.0], [1.5, 2.5]]


@usually_compiled
def test_grad_by_knobs_and_by_inputs_inside_jit():
    compiled = REWARD.compile("jax")

    def loss(params, x):
        return compiled({"x": x, "on": True}, params).total

    params = {"near.reach": 2.0, "near.weight": 2.0, "near.high": 3.0, "lit.weight": 1.0}
    by_params, by_x = jax.jit(jax.grad(loss, argnums=(0, 1)))(params, 3.0)
    assert by_x == 1.0
    assert {name: float(slope) for name, slope in by_params.items()} == {
        "near.reach": -1.5,
        "near.weight": 1.5,
        "near.high": 0.0,
        "lit.weight": 1.0,
    }


@usually_compiled
def test_the_slope_of_an_extreme_is_that_of_the_first_entry_that_is_one():
    @term
    def extremes(near, far):
        return max(a * b - 1 for a, b in zip(near, far, strict=True)) - min(near)

    fields = [Field("near", length=3), Field("far", length=3)]
    compiled = Reward("r", version="1", terms=[extremes], fields=fields).compile("jax", on_bad="mask")
    near = jnp.array([[2.0, 4.0, 2.0], [1.0, 1.0, 1.0]])
    far = jnp.array([[4.0, 2.0, 1.0], [3.0, 3.0, 3.0]])
    slope = jax.jit(jax.grad(lambda near: compiled({"near": near, "far": far}).total.sum()))
    assert slope(near).tolist() == [[3.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    each = jax.vmap(jax.grad(lambda near, far: compiled({"near": near, "far": far}).total))
    assert each(near, far).tolist() == [[3.0, 0.0, 0.0], [2.0, 0.0, 0.0]]


def test_scan_carries_it_through_an_episode():
    compiled = REWARD.compile("jax")

    def step(state, action):
        found = compiled({"x": state, "on": action > 0})
        return state + action, found

    last, found = jax.lax.scan(step, jnp.float32(1.0), jnp.array([1.0, 2.0, 0.0], jnp.float32))
    assert last == 4.0
    assert sorted(found.values) == sorted(found.scores) == KEYS
    assert found.total.tolist() == [2.0, 3.0, 4.0]


@usually_compiled
def test_inside_jit_a_bad_row_is_masked_and_outside_it_is_raised():
    compiled = REWARD.compile("jax")
    found = jax.jit(compiled)(batch(1.0, float("nan"), -1.0))
    assert found.ok.tolist() == [True, False, False]
    assert np.isnan(found.total[1:]).all()
    assert np.isnan(found.values["lit"][1:]).all()
    with pytest.raises(NotFinite, match="row 1"):
        compiled(batch(1.0, float("nan"), -1.0))


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"x": np.float32(1), "on": True}, "float32"),
        ({"x": 1.0, "on": True}, "float32"),
        ({"x": 1, "on": True}, "float32"),
        ({"x": np.ones(2, np.float16), "on": np.ones(2, bool)}, "float16"),
        ({"x": np.ones(2, jnp.bfloat16), "on": True}, "bfloat16"),
        ({"x": np.ones(2), "on": True}, "float32"),  # JAX keeps 64 bits only where it is told to
    ],
    ids=str,
)
def test_the_dtype_is_that_of_the_floating_inputs(columns, dtype):
    found = REWARD.compile("jax")(columns)
    for array in jax.tree_util.tree_leaves((found.total, found.values, found.scores)):
        assert str(array.dtype) == dtype
    assert found.total.reshape(-1)[0] == 2.0


def test_columns_of_numpy_score_what_arrays_of_jax_score():
    @term
    def odd(counts, lit, share):
        return counts[0] + 2 * counts[2] + lit + share

    fields = [Field("counts", length=3, low=-9), Field("lit", flag=True), Field("share", high=0.4)]
    compiled = Reward("odd", version="1", terms=[odd], fields=fields).compile("jax", on_bad="mask")
    columns = {
        "counts": np.array([[1, 0, 3], [-10, 0, 0], [2**25 + 1, 0, 1], [4, 5, 6]], np.int32),
        "lit": np.array([1, 0, 1, 2], np.int32),
        "share": np.array([0.4, 0.1, 0.1, 0.1], np.float16),
    }
    found = compiled(columns)
    assert found.ok.tolist() == [True, False, False, False]
    arrays = compiled({name: jnp.asarray(column) for name, column in columns.items()})
    jax.tree_util.tree_map(np.testing.assert_array_equal, found, arrays)


def test_a_scalar_of_numpy_of_which_jax_drops_the_upper_bits_is_refused():
    with pytest.raises(OutOfRange, match="an integer that the dtype cannot hold exactly"):
        REWARD.compile("jax")({"x": np.int64(2**40 + 7), "on": True})


def test_the_dtype_is_double_where_jax_has_it():
    with wide("jax"):
        found = REWARD.compile("jax")({"x": np.ones(2), "on": np.ones(2, bool)})
        assert found.total.dtype == np.float64
        assert REWARD.compile("jax")({"x": 1, "on": True}).total.dtype == np.float32


def test_the_dtype_can_be_said():
    found = REWARD.compile("jax", dtype=jnp.float16)(batch(1.0))
    assert found.total.dtype == jnp.float16


def test_constants_and_parameters_are_rounded_to_the_dtype():
    @term
    def edge(x, *, limit=0.1):
        return 1 if x == limit and x == 0.1 else 0

    reward = Reward("edge", version="1", terms=[edge], fields=[Field("x", low=0.1)])
    assert reward.compile("jax")({"x": jnp.float32(0.1)}).total == 1.0
    assert reward.compile("jax")({"x": jnp.float32(0.1)}, {"edge.limit": 0.1}).total == 1.0


@usually_compiled
def test_the_whole_reward_is_one_computation():
    compiled = REWARD.compile("jax")
    text = jax.jit(compiled).lower(batch(*range(1000))).compile().as_text()
    assert "custom-call" not in text
    assert plain(jax.jit(compiled)(batch(1.0))).total.tolist() == [2.0]
