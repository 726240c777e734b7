"""Matrices as inputs: the same scores on every target, whole or entry by entry, and clear words for other shapes."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import MissingField, OutOfRange, ShapeMismatch, UnknownInput
from support.running import BATCHES, SCORING, given, mark_numba_slow, need, options, plain, scored


@term
def impact(foot_force, *, limit=2.0):
    return -sum(sum(f * f for f in foot) for foot in foot_force) / limit


@term
def climbed(prev, curr):
    return curr.heights[1][2] - prev.heights[0][1] + sum(max(row) for row in curr.heights)


@term
def stacked(cube):
    return cube[1][0][1] - cube[0][1][1]


FORCE = Field("foot_force", shape=(4, 3), low=-10, high=10)
WALK = Reward(
    "walk",
    version="1",
    terms=[impact, climbed, stacked],
    fields=[FORCE, Field("heights", shape=(2, 3), low=0, high=5), Field("cube", shape=(2, 2, 2))],
)
IMPACT = Reward("impact", version="1", terms=[impact], fields=[FORCE])
CLIMB = Reward("climb", version="1", terms=[climbed, stacked], fields=list(WALK.fields.values())[1:])


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(7)
    sizes = {"foot_force": (4, 3), "prev.heights": (2, 3), "curr.heights": (2, 3), "cube": (2, 2, 2)}
    return {name: rng.uniform(0, 5, (6, *shape)) for name, shape in sizes.items()}


def expect(columns):
    """Return what the terms say, with NumPy's own arrays."""
    force, before, after, cube = columns.values()
    squares = (force * force).tolist()
    impacts = [
        -reduce(add, (reduce(add, foot) for foot in row)) / 2.0 for row in squares
    ]  # not `sum`: 3.12 compensates
    heights = after[:, 1, 2] - before[:, 0, 1] + (after[:, 0].max(-1) + after[:, 1].max(-1))
    return np.array(impacts) + heights + (cube[:, 1, 0, 1] - cube[:, 0, 1, 1])


@pytest.mark.parametrize("target", SCORING)
def test_a_matrix_is_scored_alike_everywhere(target, columns):
    rows = columns
    if target == "python":
        rows = {name: np.empty(6, object) for name in columns}
        for name, column in columns.items():
            rows[name][:] = list(column)
        compiled = WALK.compile("python")
        found = [compiled({name: column[at] for name, column in columns.items()}).total for at in range(6)]
        listed = {name: column[0].tolist() for name, column in columns.items()}
        assert compiled(listed).total == found[0]
    else:
        found = scored(WALK, target, columns).total
    if target in ("jax", "torch"):
        np.testing.assert_allclose(found, expect(columns), rtol=1e-12)
    else:
        assert np.asarray(found).tolist() == expect(columns).tolist()


@pytest.mark.parametrize("target", mark_numba_slow(BATCHES))
def test_any_batch_shape_stands_in_front_of_the_axes(target, columns):
    columns = {name: column for name, column in columns.items() if name != "foot_force"}
    one = scored(CLIMB, target, columns).total
    grid = {name: column.reshape(2, 3, *column.shape[1:]) for name, column in columns.items()}
    assert scored(CLIMB, target, grid).total.tolist() == one.reshape(2, 3).tolist()
    single = scored(CLIMB, target, {name: column[0] for name, column in columns.items()}).total
    assert single.shape == ()
    np.testing.assert_allclose(single, one[0], rtol=1e-12)
    empty = {name: column[:0] for name, column in columns.items()}
    assert scored(CLIMB, target, empty).total.shape == (0,)


@pytest.mark.parametrize("target", mark_numba_slow(BATCHES))
def test_a_matrix_may_come_entry_by_entry(target, columns):
    force = columns["foot_force"]
    apart = {f"foot_force[{i}][{j}]": force[:, i, j] for i in range(4) for j in range(3)}
    np.testing.assert_allclose(
        scored(IMPACT, target, apart).total, scored(IMPACT, target, {"foot_force": force}).total, rtol=1e-12
    )
    del apart["foot_force[3][1]"]
    need(target)
    with pytest.raises(MissingField, match=r"'foot_force\[3\]\[1\]'"):
        IMPACT.compile(target, **options(target))(apart)
    with pytest.raises(UnknownInput, match="given twice"):
        IMPACT.compile(target, **options(target))({"foot_force": force, "foot_force[0][0]": force[:, 0, 0]})


@pytest.mark.parametrize("target", BATCHES)
@pytest.mark.parametrize("shape", [(5, 4, 2), (5, 3, 4), (5, 12), (12,), (3,), ()], ids=str)
def test_a_column_of_another_shape_is_refused_with_both(target, shape):
    need(target)
    with pytest.raises(ShapeMismatch) as caught:
        IMPACT.compile(target, **options(target))(given(target, {"foot_force": np.ones(shape)}))
    assert "field 'foot_force': its last axes must be (4, 3), but the shape is " in str(caught.value)
    assert str(shape) in str(caught.value)


@pytest.mark.parametrize("target", BATCHES)
def test_an_entry_out_of_range_is_named(target):
    column = np.ones((3, 4, 3))
    column[2, 1, 2] = 11.0
    need(target)
    with pytest.raises(OutOfRange, match=r"field 'foot_force\[1\]\[2\]', row 2"):
        plain(IMPACT.compile(target, **options(target))(given(target, {"foot_force": column})))
    assert scored(IMPACT, target, {"foot_force": column}).ok.tolist() == [True, True, False]


def test_structured_arrays_hold_matrices(columns):
    table = np.zeros(6, [("foot_force", np.float32, (4, 3))])
    table["foot_force"] = columns["foot_force"]
    found = IMPACT.compile("numpy")(table).total
    wide = IMPACT.compile("numpy")({"foot_force": columns["foot_force"].astype(np.float32)}).total
    assert found.tolist() == wide.tolist()


@pytest.mark.parametrize("whole", [True, False])
def test_categories_in_a_matrix_are_encoded(whole):
    @term
    def dry(ground):
        return sum(sum(1 if cell == "dry" else 0 for cell in row) for row in ground)

    reward = Reward("ground", version="1", terms=[dry], fields=[Field("ground", shape=(2, 2), values=("wet", "dry"))])
    cells = np.array([[["wet", "dry"], ["dry", "dry"]], [["wet", "wet"], ["dry", "wet"]]])
    apart = {f"ground[{i}][{j}]": cells[:, i, j] for i in range(2) for j in range(2)}
    encoded = reward.encode({"ground": cells} if whole else apart)
    assert reward.compile("numpy")(encoded).total.tolist() == [3.0, 1.0]
    assert reward.score(ground=cells[0].tolist()).total == 3.0


@pytest.mark.parametrize("side", [16, pytest.param(64, marks=pytest.mark.slow)])
def test_a_field_of_up_to_4_096_entries_is_scored(side):
    @term
    def energy(image):
        return sum(sum(x * x for x in row) for row in image)

    reward = Reward("image", version="1", terms=[energy], fields=[Field("image", shape=(side, side), low=0, high=1)])
    image = np.random.default_rng(0).uniform(size=(2, side, side))
    found = reward.compile("numpy")({"image": image}).total
    assert found[1] == reward.score(image=image[1]).total
    np.testing.assert_allclose(found, (image**2).sum((1, 2)))
