"""Numbers in the dtype they came in: a column is compared with bounds rounded to its own dtype, on every target."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from plaudit import Field, Reward, term
from plaudit.errors import InputError, NotFinite, OutOfRange, TargetError
from plaudit.targets.dtypes import NARROW, find_rounded, round_to

BATCHES = ("numpy", "numba", "jax", "torch")
NUMPY_DTYPES = ("float16", "float32")


@term
def effort(torque):
    """Push gently."""
    return sum(t * t for t in torque)


@term
def room(reach):
    """Stay inside: the root is defined up to the declared bound, and no further."""
    return math.sqrt(0.4 - reach) if reach <= 0.4 else -100.0


@pytest.fixture(scope="module")
def saturated() -> Reward:
    fields = [Field("torque", length=3, low=-0.4, high=0.4), Field("reach", low=-0.7, high=0.4)]
    return Reward("saturated", version="1", terms=[effort, room], fields=fields)


@pytest.fixture(scope="module")
def compiled(saturated) -> dict[str, Any]:
    return {target: saturated.compile(target) for target in BATCHES}


def build_batch(dtype: str, *, torque: float = 0.4, reach: float = 0.4) -> dict[str, Any]:
    return {"torque": np.full((2, 3), torque, dtype), "reach": np.full(2, reach, dtype)}


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("target", BATCHES)
def test_a_value_at_its_rounded_bound_is_inside_on_every_target(compiled, target, dtype):
    scores = compiled[target](build_batch(dtype))
    assert np.asarray(scores.ok).all()
    tolerance = 1e-12 if target in ("numpy", "numba") else 4 * float(np.finfo(dtype).eps)
    assert np.asarray(scores.total, np.float64) == pytest.approx([0.48, 0.48], abs=tolerance)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("target", BATCHES)
def test_the_number_after_the_rounded_bound_is_outside_on_every_target(compiled, target, dtype):
    beyond = np.nextafter(np.dtype(dtype).type(0.4), np.dtype(dtype).type(1))
    beyond = np.nextafter(beyond, np.dtype(dtype).type(1))  # float16 rounds 0.4 down: the next may be inside
    with pytest.raises(OutOfRange, match=r"'reach', row 0"):
        compiled[target]({**build_batch(dtype), "reach": np.full(2, beyond, dtype)})


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_a_value_of_numpy_counts_as_the_bound_in_python(saturated, dtype):
    low, high = np.dtype(dtype).type(-0.7), np.dtype(dtype).type(0.4)
    for torque in (np.full(3, high), [high] * 3, torch.full((3,), 0.4, dtype=getattr(torch, dtype))):
        signal = saturated.score(torque=torque, reach=low)
        assert signal.row == (0.4, 0.4, 0.4, -0.7)
    scores = saturated.compile("python")({"torque": np.full(3, high), "reach": np.array(high)})
    assert scores.total == 0.4800000000000001


def test_a_python_float_is_a_float64(saturated):
    with pytest.raises(OutOfRange, match="0.4000000059604645 is outside"):
        saturated.score(torque=[0.4] * 3, reach=0.4000000059604645)
    with pytest.raises(OutOfRange, match="0.4000000059604645 is outside"):
        saturated.compile("numpy")(build_batch("float64", reach=float(np.float32(0.4))))


def test_what_counts_as_a_bound_is_the_bound_in_the_formula():
    """The root of 0.4 - reach would not be defined at 0.4000000059604645, and no bound would hold."""
    reward = Reward("roots", version="1", terms=[room], fields=[Field("reach", low=-0.7, high=0.4)])
    column = np.array([0.4, -0.7], np.float32)
    totals = reward.compile("numpy")({"reach": column}).total.tolist()
    assert totals == [0.0, math.sqrt(0.4 + 0.7)]
    assert totals == [reward.score(reach=value).total for value in column]


@pytest.mark.parametrize("target", ["jax", "torch"])
def test_a_narrow_column_among_wider_ones_is_compared_in_its_own_dtype(saturated, target):
    import jax

    with jax.enable_x64(True):
        scores = saturated.compile(target)({**build_batch("float32"), "reach": np.zeros(2)})
        assert np.asarray(scores.total).dtype == np.float64
        assert (
            np.asarray(scores.total).tolist()
            == saturated.compile("numpy")({**build_batch("float32"), "reach": np.zeros(2)}).total.tolist()
        )


def test_bfloat16_is_a_dtype_of_a_column_too(saturated):
    import jax.numpy as jnp

    batch = {"torque": jnp.full((2, 3), 0.4, jnp.bfloat16), "reach": jnp.full(2, 0.4, jnp.float32)}
    assert saturated.compile("jax")(batch).total.tolist() == pytest.approx([0.48, 0.48])
    tensors = {"torque": torch.full((2, 3), 0.4, dtype=torch.bfloat16), "reach": torch.full((2,), 0.4)}
    assert saturated.compile("torch")(tensors).total.tolist() == pytest.approx([0.48, 0.48])
    assert saturated.score(torque=tensors["torque"][0], reach=0.0).row[:3] == (0.4, 0.4, 0.4)


def test_a_bad_row_is_told_for_what_is_wrong_with_it_and_not_for_its_bound(compiled):
    for target in BATCHES:
        with pytest.raises(OutOfRange, match="'reach', row 0: 5.0 is outside"):
            compiled[target](build_batch("float32", reach=5.0))


def test_listed_numbers_count_as_bounds_do():
    @term
    def gear(ratio):
        return ratio

    reward = Reward("gears", version="1", terms=[gear], fields=[Field("ratio", values=(0.1, 0.35, 1))])
    column = np.array([0.1, 0.35, 1], np.float32)
    assert reward.compile("numpy")({"ratio": column}).total.tolist() == [0.1, 0.35, 1.0]
    assert [reward.score(ratio=value).total for value in column] == [0.1, 0.35, 1.0]
    with pytest.raises(OutOfRange):
        reward.score(ratio=np.nextafter(np.float32(0.1), np.float32(1)))


@pytest.mark.parametrize(("outside", "expected"), [("clip", 0.4), ("allow", float(np.float32(0.4)))])
def test_a_field_that_clips_gives_its_bound_and_one_that_allows_anything_what_came(outside, expected):
    @term
    def push(torque):
        return torque

    reward = Reward("pushes", version="1", terms=[push], fields=[Field("torque", low=-0.4, high=0.4, outside=outside)])
    column = np.array([0.4], np.float32)
    assert reward.score(torque=column[0]).total == expected
    assert reward.compile("numpy")({"torque": column}).total.tolist() == [expected]


def test_infinity_is_no_bound_that_a_dtype_cannot_hold():
    @term
    def push(torque):
        return 1.0 / (1.0 + torque)

    reward = Reward("pushes", version="1", terms=[push], fields=[Field("torque", low=0, high=1e39)])
    assert find_rounded(reward.program.inputs["torque"], "float32") == {}
    with pytest.raises(NotFinite):
        reward.score(torque=np.float32(np.inf))
    with pytest.raises(NotFinite):
        reward.compile("numpy")({"torque": np.array([np.inf], np.float32)})


@pytest.mark.parametrize("dtype", NARROW)
def test_rounding_is_that_of_the_libraries(dtype):
    numbers = [*np.random.default_rng(0).normal(size=2000).tolist(), 0.0, -0.0, 1e-45, 3e38, 1e39, -1e300]
    kept = torch.tensor(numbers, dtype=torch.float64).to(getattr(torch, dtype)).double().tolist()
    if dtype == "float16":  # PyTorch goes by float32, which rounds twice
        with np.errstate(over="ignore"):
            kept = np.array(numbers).astype(np.float16).astype(np.float64).tolist()
    assert [round_to(number, dtype) for number in numbers] == kept


def test_sql_says_nothing_of_float32_where_its_bounds_are_exact():
    @term
    def push(torque):
        return torque

    exact = Reward("pushes", version="1", terms=[push], fields=[Field("torque", low=-1, high=0.5)])
    assert "FLOAT" not in exact.compile("sql").total
    rounded = Reward("pushes", version="1", terms=[push], fields=[Field("torque", low=-1, high=0.4)])
    assert "typeof" not in rounded.compile("sql", dialect="sqlite").total.replace("typeof(`torque`) IN", "")


def test_parameters_and_masks_see_the_bound_too(saturated):
    masked = saturated.compile("numpy", on_bad="mask")
    rows = {**build_batch("float32"), "reach": np.array([0.4, 0.41], np.float32)}
    assert masked(rows, {"effort.weight": 2.0}).ok.tolist() == [True, False]
    with pytest.raises(InputError):
        saturated.compile("numpy")(rows)


@term
def mixed(reach, gear):
    """Thresholds, tables, roots and remainders."""
    near = (0.1, 0.2, 0.7)[gear] * min(reach, 0.3) // 0.07
    return near + (math.sqrt(abs(reach)) * 0.3 if reach > 0.1 else reach % 0.03)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_in_a_narrower_dtype_computes_what_pytorch_and_jax_compute(dtype):
    fields = [Field("torque", length=3, low=-0.4, high=0.4), Field("reach", low=-0.7, high=0.4)]
    reward = Reward("mixed", version="1", terms=[effort, mixed], fields=[*fields, Field("gear", values=(0, 1, 2))])
    rng, rows = np.random.default_rng(0), 2000
    batch = {
        "torque": rng.uniform(-0.4, 0.4, (rows, 3)).astype(dtype),
        "reach": rng.uniform(-0.7, 0.4, rows).astype(dtype),
        "gear": rng.integers(0, 3, rows),
    }
    batch["reach"][:2] = 0.1, 0.4
    found = reward.compile("numpy", dtype=dtype)(batch)
    assert found.total.dtype == np.float64
    for target in ("torch", "jax"):
        other = reward.compile(target)(batch)
        if dtype == "float32":
            away = np.abs(np.asarray(other.total, np.float64) - found.total)
            assert (away == 0).mean() > 0.98  # on Intel's processors PyTorch's root may be the float beside the nearest
            assert away.max() <= 4 * np.finfo(np.float32).eps * np.abs(found.total).max()
        assert np.asarray(other.scores["mixed"])[:2].tolist() == found.scores["mixed"][:2].tolist()
    assert found.total.tolist() != reward.compile("numpy")(batch).total.tolist()


def test_numpy_in_a_narrower_dtype_takes_parameters_and_masks_what_it_cannot_hold(saturated):
    narrow = saturated.compile("numpy", dtype="float32", on_bad="mask")
    scores = narrow({**build_batch("float32"), "reach": np.array([0.4, 0.41], np.float32)}, {"effort.weight": 0.1})
    assert scores.ok.tolist() == [True, False]
    assert scores.values["effort"][0] == float(np.float32(0.1) * np.float32(scores.scores["effort"][0]))

    @term
    def count(steps):
        return steps

    counting = Reward("counting", version="1", terms=[count], fields=[Field("steps")])
    assert counting.compile("numpy", dtype="float32", on_bad="mask")({"steps": [2**24, 2**24 + 1]}).ok.tolist() == [
        True,
        False,
    ]


def test_numpy_has_no_other_dtype(saturated):
    with pytest.raises(TargetError, match="'bfloat16' is not one of float64, float32, float16"):
        saturated.compile("numpy", dtype="bfloat16")
