"""Vector parameters handed to compiled rewards: whole, on every target, and differentiable as one array."""

import numpy as np
import pytest

from plaudit import DefinitionError, Field, Reward, term
from plaudit.errors import UnknownParameter
from support.running import GRADIENTS, SCORING, TARGETS, need, options, scored, wide

DEFAULT = np.array([0.1, 0.8, -1.5, 0.3])


@term(weight=-1.0)
def pose(joints, *, default=DEFAULT, scale=2.0):
    return sum(scale * (q - d) ** 2 for q, d in zip(joints, default, strict=True)) + default[1]


REWARD = Reward("posed", version="1", terms=[pose], fields=[Field("joints", length=4, low=-3, high=3)])
JOINTS = np.random.default_rng(3).uniform(-3, 3, (5, 4))
OTHER = np.array([0.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("target", SCORING)
@pytest.mark.parametrize("given", [OTHER, OTHER.tolist(), tuple(OTHER)], ids=["array", "list", "tuple"])
def test_a_vector_is_handed_over_whole(target, given):
    wanted = [REWARD.with_params({"pose.default": OTHER}).score(joints=row).total for row in JOINTS]
    found = scored(REWARD, target, {"joints": JOINTS}, params={"pose.default": given}).total
    apart = {f"pose.default[{at}]": float(number) for at, number in enumerate(OTHER)}
    assert found.tolist() == scored(REWARD, target, {"joints": JOINTS}, params=apart).total.tolist()
    if target in GRADIENTS:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    else:
        assert found.tolist() == wanted


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "given", [[1.0, 2.0], 1.0, np.zeros((2, 2)), [1.0, 2.0, 3.0, "x"], [1.0, 2.0, 3.0, np.nan], None, "abcd"], ids=str
)
def test_a_vector_of_another_shape_is_refused(target, given):
    need(target)
    with pytest.raises(DefinitionError, match=r"pose\.default"):
        REWARD.compile(target, **options(target))({"joints": JOINTS[0]}, {"pose.default": given})


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_entry_is_refused(target):
    need(target)
    with pytest.raises(UnknownParameter, match=r"Its parameters: pose.default, pose.scale, pose.weight\."):
        REWARD.compile(target, **options(target))({"joints": JOINTS[0]}, {"pose.default[4]": 1.0})


@pytest.mark.parametrize("target", GRADIENTS)
def test_the_gradient_is_an_array(target):
    library = need(target)
    slope = (2 * 2.0 * (JOINTS - OTHER)).sum(0) - np.array([0.0, len(JOINTS), 0.0, 0.0])
    compiled = REWARD.compile(target)
    with wide(target):
        if target == "jax":
            columns = {"joints": library.numpy.asarray(JOINTS)}

            def loss(default):
                return compiled(columns, {"pose.default": default}).total.sum()

            whole = library.numpy.asarray(OTHER)
            assert library.jit(loss)(whole) == pytest.approx(float(loss(whole)))
            found = library.jit(library.grad(loss))(whole)
        else:
            whole = library.tensor(OTHER, requires_grad=True)
            compiled({"joints": library.as_tensor(JOINTS)}, {"pose.default": whole}).total.sum().backward()
            found = whole.grad
    np.testing.assert_allclose(np.asarray(found), slope, rtol=1e-10)


@pytest.mark.parametrize("target", GRADIENTS)
def test_a_bad_row_is_told_with_a_vector_given(target):
    library = need(target)
    given = library.numpy.asarray(OTHER) if target == "jax" else library.as_tensor(OTHER)
    with pytest.raises(Exception, match=r"field 'joints\[2\]', row 0"):
        REWARD.compile(target)({"joints": np.array([[0.0, 0.0, 9.0, 0.0]])}, {"pose.default": given})


def test_entries_of_a_vector_that_nobody_reads_may_be_given():
    @term
    def first(joints, *, gains=DEFAULT):
        return gains[0] * joints[0]

    reward = Reward("first", version="1", terms=[first], fields=[Field("joints", length=2)])
    assert scored(
        reward, "numpy", {"joints": np.ones((2, 2))}, params={"first.gains": [5.0, 0, 0, 0]}
    ).total.tolist() == [
        5.0,
        5.0,
    ]
