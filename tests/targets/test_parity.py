"""Every target gives what the plain Python functions give, on random rewards and on rows aimed at their cliffs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward, Scores, term
from plaudit.errors import OutsideDomain
from plaudit.language import nodes as n
from support.batches import ROWS, Batch, Tally
from support.columns import as_columns, as_inputs
from support.examples import examples
from support.running import BATCHES, SCORING, by_row, installed, need, scored
from support.strategies import LABELS, cases, load, rows
from support.tolerance import ARITHMETIC, exactly_rounded

SEEDS = st.integers(0, 2**32)
DTYPES = {"float64": np.float64, "float32": np.float32}


# -- random rewards ------------------------------------------------------------------------------------------------


def test_python_numpy_and_torch_give_the_numbers_of_the_plain_functions():
    """Python calls the very functions the plain ones call; NumPy's and PyTorch's own may differ in the last bits."""
    tallies = {target: Tally() for target in ("python", "numpy", "torch") if installed(target)}

    @examples(0.5)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed)
        for target, tally in tallies.items():
            found = one_by_one(batch) if target == "python" else scored(case.reward, target, batch.columns)
            bits = {"python": not case.powers, "numpy": exactly_rounded(case), "torch": False}[target]
            tally.compare(batch, found, bits=bits)

    agrees()
    for tally in tallies.values():
        tally.assert_that_most_rows_counted(aside=0.08)


def one_by_one(batch):
    """Return the scores of a batch on the `python` target, each row as it came: None and unknown texts in it."""
    compiled = batch.case.reward.compile("python", on_bad="mask")
    results = [compiled(as_inputs(row)) for row in batch.rows]
    first = results[0]
    return Scores(
        np.array([r.total for r in results]),
        {t: np.array([r.values[t] for r in results]) for t in first.values},
        {t: np.array([r.scores[t] for r in results]) for t in first.scores},
        np.array([r.ok for r in results]),
    )


def test_numba_gives_the_numbers_of_the_plain_functions():
    need("numba")
    tally = Tally()

    @examples(0.05)  # each takes a second to compile, so more rows of smaller ones
    @given(cases(depth=1), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed, size=256)
        tally.compare(batch, scored(case.reward, "numba", batch.columns), bits=exactly_rounded(case))

    agrees()
    tally.assert_that_most_rows_counted(aside=0.3)


@pytest.mark.parametrize(
    ("target", "dtype", "share"),
    [("jax", "float64", 0.08), ("jax", "float32", 0.08), ("torch", "float32", 0.2)],
    ids=str,
)
def test_a_target_that_rounds_on_its_own_gives_the_numbers_of_the_plain_functions(target, dtype, share):
    """The oracle gets inputs and constants rounded to the dtype; JAX joins products and sums as it sees fit."""
    need(target)
    tally = Tally()

    @examples(share)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed, dtype=DTYPES[dtype])
        scores = scored(case.reward, target, batch.columns)
        assert scores.total.dtype == DTYPES[dtype]
        tally.compare(batch, scores, inexact=ARITHMETIC)

    agrees()
    tally.assert_that_most_rows_counted(aside=0.25)


@examples(0.2)
@given(cases(), SEEDS)
def test_without_ranges_only_the_domains_of_operations_count(case, seed):
    found = rows(case, seed, ROWS)
    columns = as_columns(case, found)
    checked, unchecked = (scored(case.reward, "numpy", columns, guard=guard) for guard in (True, False))
    by_hand = by_row(case.reward, columns, guard=False, on_bad="mask")
    known = np.array([all_categories_known(case, row) for row in found])  # a text that is unknown has no position
    assert (unchecked.ok | ~checked.ok).all()
    np.testing.assert_array_equal(unchecked.total[checked.ok], checked.total[checked.ok])
    if exactly_rounded(case):
        np.testing.assert_array_equal(by_hand.ok[known], unchecked.ok[known])
        np.testing.assert_array_equal(by_hand.total[known], unchecked.total[known])


def all_categories_known(case, row):
    moods = {f.name for f in case.fields if f.kind == "category"}
    return all(value in LABELS for column, value in row.items() if column.rpartition(".")[2] in moods)


# -- both sides of every comparison --------------------------------------------------------------------------------

SIGNS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
COMPARISONS = "\n\n".join(
    f"def {name}(x, *, knob=0.3):\n    return (1 if x {sign} 0.1 else 0) + (2 if knob {sign} x else 0)"
    for sign, name in SIGNS.items()
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", SCORING)
def test_both_sides_of_every_comparison_agree(target, dtype):
    if dtype == "float32" and target not in ("jax", "torch"):
        dtype = "float64"
    kind = DTYPES[dtype]
    space = load(COMPARISONS)
    reward = Reward("edges", version="1", terms=[term(space[name]) for name in SIGNS.values()], fields=[Field("x")])
    edges = [kind(0.1), kind(0.3), kind(0.0)]
    column = np.array([side for e in edges for side in (e, np.nextafter(e, kind(9)), np.nextafter(e, kind(-9)))], kind)
    column = np.where(np.abs(column) < np.finfo(kind).tiny, kind(0), column)  # JAX has no subnormal numbers
    found = scored(reward, target, {"x": column})
    limit, knob = float(kind(0.1)), float(kind(0.3))
    for sign, name in SIGNS.items():
        wanted = [
            eval(f"(1 if x {sign} a else 0) + (2 if b {sign} x else 0)", {"x": float(x), "a": limit, "b": knob})
            for x in column
        ]
        assert found.scores[name].tolist() == wanted


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


# -- the branch not taken ------------------------------------------------------------------------------------------

UNTAKEN = """\
import math

TABLE = (1.0, 2.0, 3.0)
NAMES = ("b", "c")


def divides(x, flag):
    return 1 / x if flag else 0.5


def floors(x, flag):
    return 0.5 if not flag else 7 // x


def takes_modulo(x, flag):
    if flag:
        return 7 % x
    return 0.5


def roots(x, flag):
    y = math.sqrt(x - 1) if flag else 0.5
    return y


def takes_log(x, flag):
    if not flag:
        return 0.5
    return math.log(x) + math.log1p(x - 1)


def indexes(x, flag):
    result = 0.5
    if flag:
        result = TABLE[round(x * 5 - 4)]
    return result


def looks_up(mood, flag):
    return NAMES.index(mood) if flag else 0.5


def exponentiates(x, flag):
    return 1.0 if flag and math.exp(800 * (1 - x)) > 2 else 0.5


def cuts_short(x, flag):
    return 1.0 if not flag or 1 / x > 2 else 0.5


def raises_power(x, flag):
    return (1e10 * (1 - x)) ** 40 * 0 + 0.5 if flag else 0.5
"""
UNTAKEN_TERMS = [line[4:].partition("(")[0] for line in UNTAKEN.splitlines() if line.startswith("def ")]


@pytest.fixture(scope="module")
def untaken():
    """One term for each partial operation, which fails at x = 0 (or mood = a) where `flag` is set."""
    space = load(UNTAKEN)
    fields = [Field("x"), Field("flag", flag=True), Field("mood", values=("a", "b", "c"))]
    return Reward("untaken", version="1", terms=[term(space[name]) for name in UNTAKEN_TERMS], fields=fields)


@pytest.mark.parametrize("target", SCORING)
def test_what_a_row_does_not_reach_does_not_spoil_it(untaken, target):
    columns = {"x": np.array([0.0, 1.0, 0.0]), "flag": np.array([False, True, True]), "mood": np.array([0, 1, 0])}
    found = scored(untaken, target, columns)
    assert found.ok.tolist() == [True, True, False]
    assert found.scores["divides"].tolist()[:2] == [0.5, 1.0]
    assert found.scores["cuts_short"].tolist()[:2] == [1.0, 0.5]
    assert all(found.scores[name][0] == 0.5 for name in UNTAKEN_TERMS if name != "cuts_short")
    assert all(np.isnan(score[2]) for score in found.scores.values())


@pytest.mark.parametrize("name", UNTAKEN_TERMS)
@pytest.mark.parametrize("target", ["python", "numpy"])
def test_each_partial_operation_is_refused_by_itself_where_it_is_reached(untaken, target, name):
    alone = untaken.only(name)
    columns = {"x": np.array([0.0]), "flag": np.array([True]), "mood": np.array([0])}
    columns = {key: column for key, column in columns.items() if key in alone.fields}
    assert scored(alone, target, columns).ok.tolist() == [False]
    with pytest.raises(OutsideDomain, match=rf"term '{name}' of reward 'untaken'"):
        scored(alone, target, columns, on_bad="raise")


# -- categories ----------------------------------------------------------------------------------------------------

MOODS = """\
RANK = ("wild", "calm", "other")


def rank(mood):
    return RANK.index(mood)


def wild(mood):
    return mood == "wild"
"""


@pytest.mark.parametrize("target", BATCHES)
def test_an_unknown_or_absent_category_is_what_its_field_says_on_every_target(target):
    space = load(MOODS)
    field = Field("mood", values=("calm", "wild", "other"), other="other", missing="calm")
    reward = Reward("moods", version="1", terms=[term(space["rank"]), term(space["wild"])], fields=[field])
    texts = np.array(["wild", "martian", None, "calm"], object)
    wanted = [reward.score(mood=text).total for text in texts]
    assert wanted == [1.0, 2.0, 1.0, 1.0]
    assert scored(reward, target, reward.encode({"mood": texts})).total.tolist() == wanted


@pytest.mark.parametrize("target", BATCHES)
def test_a_position_that_names_no_category_is_refused_on_every_target(target):
    space = load(MOODS)
    reward = Reward("moods", version="1", terms=[term(space["wild"])], fields=[Field("mood", values=("calm", "wild"))])
    found = scored(reward, target, {"mood": np.array([0, 1, 2, -1])})
    assert found.ok.tolist() == [True, True, False, False]
    assert found.total[:2].tolist() == [0.0, 1.0]
