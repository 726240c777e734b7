"""What each target alone does with random rewards and single operations; what all of them owe is in test_contract."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import OutsideDomain
from plaudit.language import nodes as n
from plaudit.testing.laws import _UNTAKEN as UNTAKEN
from support.running import BATCHES, SCORING, mark_numba_slow, scored
from support.strategies import load

DTYPES = {"float64": np.float64, "float32": np.float32}


# -- functions of two numbers --------------------------------------------------------------------------------------

TWO = [kind for kind in n.FUNCTIONS if issubclass(kind, n.Binary) and kind is not n.Power]
ENDS = (0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 1e-200, 1e200, 1e308, np.inf)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", SCORING)
@pytest.mark.parametrize("kind", TWO, ids=lambda kind: kind.function)
def test_a_function_of_two_numbers_is_python_s_at_zeros_and_infinities(kind, target, dtype):
    if dtype == "float32" and target not in ("jax", "torch"):
        dtype = "float64"
    header = "import math\n\n\ndef only(a, b):\n"
    only = load(f"{header}    return 1 / (1 + abs({kind.function}(a, b))) if a == b else {kind.function}(a, b)\n")[
        "only"
    ]
    fields = [Field("a", infinite=True), Field("b", infinite=True)]
    reward = Reward("two", version="1", terms=[term(only)], fields=fields)
    ends = [end for end in ENDS if dtype == "float64" or end in (0, np.inf) or 1e-30 < abs(end) < 1e30]
    a, b = (part.reshape(-1).astype(DTYPES[dtype]) for part in np.meshgrid(ends, ends))
    found = scored(reward, target, {"a": a, "b": b})
    wanted = np.array([only(float(y), float(x)) for y, x in zip(a, b, strict=True)])
    assert (found.ok == np.isfinite(wanted)).all()
    fine = found.ok
    limits = np.finfo(DTYPES[dtype])  # JAX has no subnormal numbers
    np.testing.assert_allclose(found.total[fine], wanted[fine], rtol=8 * limits.eps, atol=limits.tiny)


# -- the branch that is taken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each.name for each in UNTAKEN.terms])
@pytest.mark.parametrize("target", ["python", "numpy"])
def test_each_partial_operation_is_refused_by_itself_where_it_is_reached(target, name):
    alone = UNTAKEN.reward.select_terms(name)
    columns = {"x": np.array([0.0]), "flag": np.array([True]), "mood": np.array([0])}
    columns = {key: column for key, column in columns.items() if key in alone.fields}
    assert scored(alone, target, columns).ok.tolist() == [False]
    with pytest.raises(OutsideDomain, match=rf"term '{name}' of reward 'random'"):
        scored(alone, target, columns, on_bad="raise")


# -- categories ----------------------------------------------------------------------------------------------------

MOODS = """\
RANK = ("wild", "calm", "other")


def rank(mood):
    return RANK.index(mood)


def wild(mood):
    return mood == "wild"
"""


@pytest.mark.parametrize("target", mark_numba_slow(BATCHES))
def test_an_unknown_or_absent_category_is_what_its_field_says_on_every_target(target):
    space = load(MOODS)
    field = Field("mood", values=("calm", "wild", "other"), other="other", missing="calm")
    reward = Reward("moods", version="1", terms=[term(space["rank"]), term(space["wild"])], fields=[field])
    texts = np.array(["wild", "martian", None, "calm"], object)
    wanted = [reward.score(mood=text).total for text in texts]
    assert wanted == [1.0, 2.0, 1.0, 1.0]
    assert scored(reward, target, reward.encode({"mood": texts})).total.tolist() == wanted


@pytest.mark.parametrize("target", mark_numba_slow(BATCHES))
def test_a_position_that_names_no_category_is_refused_on_every_target(target):
    space = load(MOODS)
    reward = Reward("moods", version="1", terms=[term(space["wild"])], fields=[Field("mood", values=("calm", "wild"))])
    found = scored(reward, target, {"mood": np.array([0, 1, 2, -1])})
    assert found.ok.tolist() == [True, True, False, False]
    assert found.total[:2].tolist() == [0.0, 1.0]
