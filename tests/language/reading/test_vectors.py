"""Arrays as values: arithmetic, indexing, reductions and loops mean what NumPy and Python mean, entry by entry."""

import json
from pathlib import Path

import numpy as np
import pytest

from golden.make import identity
from golden.vectors import VECTOR_REWARDS
from plaudit import Field, ReadError, Reward, check, term
from plaudit.errors import OutsideDomain
from support.arrays import FIELDS, assert_means, draw_row, read_of, refusal, write
from support.engines import DuckDB, scored
from support.written import plain, reward_from

KEPT = json.loads((Path(__file__).parents[2] / "golden" / "vectors.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", VECTOR_REWARDS)
def test_what_was_read_before_keeps_its_fingerprint_and_specification(name):
    assert identity(VECTOR_REWARDS[name]) == KEPT[name]


MEANT = {
    "arithmetic": "np.sum((v * w - 2) / 3 + v // 2 - v % 2)",
    "a scalar on the left": "(2 - v).max() + (1 / (abs(w) + 1)).sum()",
    "unary": "(-v).max() + (+w).min() + abs(v).sum()",
    "a power": "(v ** 2).sum() + np.sum(v ** 3)",
    "constant arrays": "(v - GOAL).sum() + (GOAL * 2)[1] * x",
    "a tuple and an array": "(v - POSE).sum() + (POSE * v).max()",
    "comparisons": "(v > 0).sum() + np.sum(v >= w) + (v == v).all() + (v != w).any()",
    "bools": "((v > 0) & (w > 0)).sum() + ((v > 0) | c).sum() + (~c).sum() + ((v > 0) ^ (w > 0)).any()",
    "sums of bools": "((v > 0) + (w > 0)).sum() + np.sum((v > 0) + (w > 0) + c > 0) + 2.0 * (c + (x > 0))[1] + np.add(c, v > 0)[0]",
    "sums of bools that count": "sum([v > 0, w > 0]).max() + np.sum([v > 0, c], axis=0).max() + (1.0 * c + (v > 0)).max() + (0 + c + c)[2]",
    "bools of one value": "1.0 if (x > 0) & (v[0] > 0) | (w[0] > 0) else -1.0",
    "rows of a matrix": "(m - v).sum() + (m * m[1]).min() + (v / (abs(m) + 1)).max()",
    "axes of size 1": "(m / np.linalg.norm(m, axis=1, keepdims=True)).sum() + (m - m.mean(axis=0, keepdims=True)).max()",
    "products": "v @ w + (m @ v).sum() + (v @ m.T)[1] + (m @ m.T).max()",
    "entries": "v[0] - v[-1] + m[1, 2] * m[0][1] + m[-1][-1]",
    "slices": "u[:2].sum() + u[2:].max() + u[::2].min() + u[::-1][0] + u[1:-1][0]",
    "slices of a matrix": "m[:, 2].sum() + m[..., 0].max() + m[0, 1:].sum() + m[:, ::2][1, 1] + m[1, ...].min()",
    "lists of indices": "u[[0, 3]].sum() + v[ODD].max() + m[[1, 0]][0, 0] + m[:, [2, 0]].sum()",
    "arrays of indices": "u[np.array([[0, 3], [-1, 1]])][1, 0] + m[:, [[2], [0]]][1, 1, 0] + m[[[0, 1]]].sum() + m[[[1], [0]], 2][0, 0]",
    "several lists": "m[[0, 1], [2, 0]] @ v[:2] + m[[[0], [1]], [0, 2]].sum() + m[np.arange(2), [i, 1]].max() + m[1, [0, 2]].sum()",
    "masks of matrices": "m[np.array([[True, False, True], [False, False, True]])].max() + m[np.array([False, True])][0, 1] + m[:, MASK].sum() + m[np.array([True, True]), 1].sum()",
    "masks of nothing": "v[np.array([False, False, False])].sum() + u[[]].sum() + v[0] * u[1]",
    "masks": "v[MASK].sum() + v[[True, False, True]].max()",
    "an index of the row": "v[i] + GOAL[i] + POSE[i] + TABLE[i][1] + np.array(TABLE)[i, 0] + u.reshape(3, 2)[i][1]",
    "a row by an index": "u.reshape(3, 2)[i].sum() + max(TABLE[i])",
    "reductions": "v.sum() + v.mean() + v.min() + v.max() + v.prod() + np.sum(m) + np.mean(m) + np.min(m) + np.max(m)",
    "axes": "np.sum(m, axis=0).max() + m.sum(axis=1)[0] + m.mean(-1)[1] + m.max(axis=0).sum() + np.any(m > 1, axis=1).sum()",
    "an axis of a vector": "np.sum(v, axis=-1) + v.max(axis=0)",
    "builtins": "sum(v) + min(v) + max(w) + any(v > 1) + all(v < 1) + len(u) * x + sum(m)[1] + min(*v)",
    "shapes": "v.shape[0] * v[0] + m.shape[1] * x + u.size * u[0] + m.ndim",
    "other shapes": "u.reshape(2, 3)[1, 0] + u.reshape(3, -1)[2, 1] + m.ravel()[4] + m.flatten()[0] + m.T[2, 1]",
    "joined": "np.concatenate([v, w])[4] + np.concatenate((v, [x, 1.0])).max() + np.concatenate([m, m], axis=1)[1, 5]",
    "stacked": "np.stack([v, w])[1, 2] + np.stack([v, w], axis=1)[2, 0] + np.stack([m, m], axis=-1)[1, 2, 0]",
    "made": "np.zeros(3).sum() + np.ones((2, 3))[1, 2] * x + np.full(3, x)[2] + np.arange(3) @ v + np.array([x, v[1]]).sum()",
    "alike": "(np.zeros_like(v) + v).sum() + (np.ones_like(m) * m).sum() + np.full_like(v, x).sum()",
    "chosen": "(v if x > 0 else w).sum() + (v if x > 0 else (1.0, 2.0, x))[1]",
    "stars": "[*v, x][2] + (*w, 0.0)[1] + math.hypot(*v[:2]) + max(*v, x)",
    "lists": "sum([x, *v]) + max([x, 0.0]) + (POSE + (x,))[3] + ((x,) * 3)[2] + [x, 1.0][0]",
    "membership": "1.0 if x in (v[0], 0.5) or i in [0, 2] else 0.0",
}


@pytest.mark.parametrize("text", MEANT.values(), ids=MEANT)
def test_an_expression_on_arrays_means_what_numpy_means(text):
    assert_means(text)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_a_sum_of_arrays_of_bools_is_the_same_in_every_library(library):
    arrays = pytest.importorskip(library)
    for one, other in [(True, True), (True, False), (False, True), (False, False)]:
        assert bool((arrays.asarray([one]) + arrays.asarray([other]))[0]) is (one or other)
        assert str((arrays.asarray([one]) + arrays.asarray(other)).dtype).endswith("bool")


def test_a_sum_of_arrays_of_bools_is_noted():
    (note,) = read_of("((v > 0) + (w > 0)).sum()").notes
    assert note.what.startswith("`(v > 0) + (w > 0)` adds arrays of bools, which is `or`")
    assert "1.0 * a + 1.0 * b" in note.what


LOOPS = {
    "a zip of three": "sum(a * b * g for a, b, g in zip(v, w, GOAL, strict=True))",
    "two loops": "sum(a * b for a in v for b in w)",
    "rows": "sum(max(row) for row in m) + sum(a for row in m for a in row)",
    "a range": "sum(v[j] * w[2 - j] for j in range(3)) + sum(u[j] for j in range(1, 6, 2)) + sum(v[j] for j in range(len(v)))",
    "enumerate": "sum(j * a for j, a in enumerate(v)) + sum(j * a for j, a in enumerate(w, 1)) + sum(a for j, a in enumerate(u, start=2))",
    "reversed": "sum(a * b for a, b in zip(v, reversed(w))) + list(v)[0] + tuple(w)[1]",
    "nested targets": "sum(j * a - b for j, (a, b) in enumerate(zip(v, w)))",
    "a transposed zip": "sum(a * b for a, b in zip(*m))" ,
    "sorted": "sorted(v)[0] + sum(sorted(w)[:2]) + sorted([x, v[0], 0.5], reverse=True)[1] + sorted(a * a for a in u)[-2] + sorted(m[1])[1]",
    "sorted constants": "sorted(POSE, reverse=True)[0] * x + sorted(['b', 'a']).index('b') * v[0] + sorted({'z': 1, 'y': 2})[0].count('y') * v[1]",
    "a list": "max([a - b for a, b in zip(v, w)]) + np.sum([a * 2 for a in v]) + np.array([a * a for a in v]).mean()",
    "a filter by a constant": "sum(a for j, a in enumerate(v) if j != 1) + max(a for j, a in enumerate(u) if j % 2 if j > 1)",
    "a filter that depends on data": "sum(a for a in v if a > 0) + sum(a * b for a in v if a > 0 for b in w if b > a)",
    "any and all with a filter": "any(a > 0 for a in v if a < 1) + 2 * all(a > 0 for a in v if a > -1)",
    "a loop over a list": "sum(e for e in [x, v[0], 2.0]) + sum(len(row) * row[1] for row in (v, w))",
}  # fmt: skip


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_a_loop_means_what_python_means(text):
    assert_means(text)


SAME = {
    "norm": ("np.linalg.norm(v)", "math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])"),
    "mean": ("np.mean(v)", "(v[0] + v[1] + v[2]) / 3"),
    "squares": ("np.sum((v - POSE) ** 2)", "sum((a - b) ** 2 for a, b in zip(v, POSE))"),
    "dot": ("v @ w", "v[0] * w[0] + v[1] * w[1] + v[2] * w[2]"),
    "clip": ("np.clip(x, -1.0, 1.0)", "min(max(x, -1.0), 1.0)"),
    "where": ("np.where(x > 0, x, 2.0)", "x if x > 0 else 2.0"),
    "abs": ("np.max(np.abs(v))", "max(abs(v[0]), abs(v[1]), abs(v[2]))"),
    "any": ("np.any(v > 0)", "any(a > 0 for a in v)"),
    "slice": ("np.sum(u[1:3] * 2)", "u[1] * 2 + u[2] * 2"),
    "filter": ("sum(a for a in v if a > 0)", "sum(a if a > 0 else 0 for a in v)"),
    "axis": ("np.max(np.sum(m, axis=1))", "max(m[0, 0] + m[0, 1] + m[0, 2], m[1, 0] + m[1, 1] + m[1, 2])"),
}


@pytest.mark.parametrize(("short", "long"), SAME.values(), ids=SAME)
def test_an_expression_on_arrays_has_the_fingerprint_of_the_one_written_out(short, long):
    assert read_of(short).fingerprint == read_of(long).fingerprint


REFUSED = {
    "shapes that differ": ("sum(v + u)", "the shapes (3,) and (6,) do not fit", "a row of the other"),
    "rows and a longer vector": ("np.sum(m * u)", "the shapes (2, 3) and (6,) do not fit", "equal"),
    "ragged rows": ("np.sum(np.array([v, u]))", "differ in shape: (3,) and (6,)", "the same number of entries"),
    "two tuples": ("sum(POSE - POSE) * x", "a tuple or list supports only", "np.array"),
    "a product of lengths that differ": ("v @ u", "the shapes (3,) and (6,) do not fit", "as long as"),
    "a product of a number": ("v @ x", "`@` takes vectors and matrices", ""),
    "a chain of comparisons": ("sum(0 < v < 1)", "comparisons of arrays cannot be chained", "(low < v) & (v < high)"),
    "an array as a condition": ("1 if v > 0 else 2", "a vector of 3", "any(v > 0)"),
    "and of arrays": ("sum(v > 0 and w > 0)", "a vector of 3", "`&`"),
    "bits of numbers": ("sum(v & w)", "bit operations", "and"),
    "~ of a bool": ("~(x > 0)", "works on bits", "not condition"),
    "a difference of bools": ("sum((v > 0) - (w > 0))", "do not subtract arrays of bools", "1.0 * a - 1.0 * b"),
    "sorted by a key": ("sorted(v, key=abs)[0]", "cannot be read with these arguments", "sorted(f(x) for x in v)"),
    "sorted pairs": ("sorted(zip(v, w))[0][0]", "orders numbers here, and this is a tuple of 2", "sorted(x for x, y"),
    "many sorted": ("sorted([*u, *v])[0]", "at most 8 numbers are sorted, and here are 9", "before scoring"),
    "sorted by data": ("sorted(v, reverse=x > 0)[0]", "reverse= must be a constant", "reverse=True"),
    "sorted without order": ("sorted(['a', 1])[0] * x", "have no order: '<' not supported", ""),
    "math of an array": ("sum(math.exp(v))", "one number at a time", "np.exp(v)"),
    "a builtin minimum of rows": ("min(m)", "`min` compares numbers", "np.min(m)"),
    "a builtin maximum of two arrays": ("sum(max(v, w))", "`max` compares numbers", "np.maximum(a, b)"),
    "an index beyond": ("v[3]", "3 is not an index into 3 entries", ""),
    "an index beyond in a row": ("m[0, 3]", "3 is not an index into 3 entries", ""),
    "a batch axis": ("v[:, 2]", "2 indices into 1 axis", "write v[2] for v[:, 2]"),
    "a slice by data": ("sum(v[: round(x)])", "constant integers", "np.where"),
    "a step of 0": ("sum(v[::0])", "step of a slice cannot be 0", ""),
    "the first that a mask picks": ("v[v > 0][0]", "how many entries a mask picks", "np.where(m, v, 0.0)"),
    "a mask of another length": ("sum(u[MASK])", "a mask of the shape (3,) does not fit an array of the shape (6,)", "np.where"),
    "a list among indices": ("sum(m.reshape(2, 1, 3)[0, :, [0, 1]])", "combined with other indices", "on its own"),
    "an axis that is not there": ("np.sum(v, axis=1)", "there is no axis 1: this has 1 axis", "no batch axis"),
    "an axis of data": ("np.sum(v, axis=x)", "a constant integer", ""),
    "a maximum with a filter by data": ("max(a for a in v if a > 0)", "may have no element", "if condition else"),
    "a list with a filter by data": ("np.sum([a for a in v if a > 0])", "of unknown length", "take a filter"),
    "a range of data": ("sum(a for a in range(round(x)))", "a constant integer is needed", "constant range"),
    "names that do not fit": ("sum(a for a, b, d in zip(v, w))", "the left side takes 3", ""),
    "zips of other lengths": ("sum(a * b for a, b in zip(v, u))", "differ in length: 3 and 6", ""),
    "a shape that does not fit": ("np.sum(u.reshape(2, 2))", "(6,) and (2, 2) have different numbers", ""),
    "four axes": ("np.sum(np.zeros((1, 1, 1, 1, 3)) * v)", "more than 4 axes", "before scoring"),
    "too many entries": ("np.sum(np.zeros((65, 64)) * x)", "more than 4,096 entries", "before scoring"),
    "a hostile range": ("sum(x for a in range(10 ** 9))", "more than 4,096", "before scoring"),
    "hostile loops": ("sum(x for a in range(4000) for b in range(4000))", "more than 4,096 iterations", "before scoring"),
    "hostile lists of lists": (
        "sum([sum([x for a in range(4000)]) for b in range(4000)])",
        "more than 20,000 iterations in all",
        "before scoring",
    ),
    "a hostile tuple": ("sum(POSE * 10 ** 9) * x", "more than 4,096 entries", "before scoring"),
    "branches of other lengths": ("sum(v if x > 0 else u)", "a vector of 3 on one path, a vector of 6", "the same number"),
    "reversed of nothing": ("sum(reversed()) * x", "does not take 0 arguments", ""),
    "reversed of two": ("sum(reversed(v, w))", "does not take 2 arguments", ""),
    "a large constant": ("sum(LARGE[0]) * x", "is too large", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_what_arrays_do_not_have_is_refused_with_what_to_write(text, what, advice):
    message = refusal(text)
    assert what in message
    assert advice in message
    assert "^" in message


def test_an_index_outside_counts_only_where_it_is_reached():
    fields = Field("v", length=3), Field("i", low=0, high=9)
    reward = reward_from("def f(v, i): return v[i] if i < 3 else -1.0", *fields)
    assert [reward.score(v=(1, 2, 3), i=i).total for i in (0, 2, 7)] == [1.0, 3.0, -1.0]
    bare = reward_from("def f(v, i): return v[i]", *fields)
    assert bare.score(v=(1, 2, 3), i=1).total == 2.0
    for outside in (3, 1.5):
        with pytest.raises(OutsideDomain, match="indexes a vector of 3 outside it"):
            bare.score(v=(1, 2, 3), i=outside)


def test_a_division_counts_only_for_the_elements_that_a_filter_keeps():
    reward = reward_from("def f(v): return sum(1 / a for a in v if a != 0)", Field("v", length=2))
    assert reward.score(v=(0.0, 4.0)).total == 0.25


def test_a_constant_array_is_kept_as_it_was_when_the_term_was_defined():
    function = plain("import numpy as np\nGAIN = np.array([1.0, 2.0])\ndef f(v): return v @ GAIN")
    made = term(function)
    function.__globals__["GAIN"][:] = 50.0
    reward = Reward("kept", version="1", terms=[made], fields=[Field("v", length=2)])
    assert reward.score(v=(1.0, 1.0)).total == 3.0
    assert function(np.array([1.0, 1.0])) == 100.0


@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_a_constant_array_of_any_library_is_read_and_compared_later(library):
    pytest.importorskip(library)
    make = "tensor" if library == "torch" else "array"
    function = plain(f"import {library} as lib\nGAIN = lib.{make}([1.0, 2.0])\ndef f(v): return v @ GAIN")
    reward = Reward("kept", version="1", terms=[term(function)], fields=[Field("v", length=2, low=-1, high=1)])
    assert reward.score(v=(1.0, 1.0)).total == 3.0
    assert not [finding for finding in check(reward).findings if finding.code == "changed-since-read"]
    function.__globals__["GAIN"] = function.__globals__["lib"].zeros(2)
    assert [finding.code for finding in check(reward).findings if finding.code == "changed-since-read"]


def test_an_error_points_to_the_line_of_the_author():
    text = "import numpy as np\ndef f(v, u):\n    total = 1.0\n    gap = v - u\n    return total + np.sum(gap)"
    with pytest.raises(ReadError) as caught:
        reward_from(text, FIELDS["v"], FIELDS["u"])
    assert "    gap = v - u\n          ^^^^^" in str(caught.value)


ALL = {
    "reach": "np.exp(-np.linalg.norm(v - GOAL) / 4) + 0.1 * np.dot(v, w)",
    "smooth": "-np.mean(np.square(u[1:] - u[:-1])) + np.where(np.abs(v) > 0.5, v, 0.0).sum()",
    "limits": "np.sum(np.clip(np.abs(u) - 0.5, 0.0, None)) + np.max(m @ v) + np.sum(m, axis=0)[1] + np.cross(v, w)[2]",
    "counted": "np.sum(c & (v > 0)) + any(a > 1 for a in w) + sum(a for a in v if a > 0) + 2.0 * np.all(~c)",
    "picked": "w[i] + np.tanh(np.minimum(v, w)).min() + TABLE[i][1] + sum(j * a for j, a in enumerate(u))",
}


@pytest.fixture(scope="module")
def everything():
    terms = [term(name=name)(write(text)) for name, text in ALL.items()]
    return Reward("everything", version="1", terms=terms, fields=[FIELDS[name] for name in "vwuci"])


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    return [{name: value for name, value in draw_row(random).items() if name != "x"} for _ in range(50)]


@pytest.fixture(scope="module")
def wanted(rows):
    """What the plain functions make of each row, called with arrays."""
    functions = [write(text) for text in ALL.values()]
    arguments = [function.__code__.co_varnames[: function.__code__.co_argcount] for function in functions]
    pairs = list(zip(functions, arguments, strict=True))
    return np.array([[float(f(**{name: row[name] for name in names})) for f, names in pairs] for row in rows])


@pytest.mark.parametrize(
    ("target", "terms"),
    [
        ("numpy", [*ALL]),
        ("torch", [*ALL]),
        ("numba", ["counted"]),
        ("jax", ["counted"]),
        pytest.param("numba", [*ALL], marks=pytest.mark.slow),
        pytest.param("jax", [*ALL], marks=pytest.mark.slow),
    ],
    ids=lambda part: part if isinstance(part, str) else f"{len(part)} terms",
)
def test_every_array_target_agrees_with_the_plain_functions(target, terms, everything, rows, wanted):
    pytest.importorskip(target)
    reward = everything.select_terms(*terms)
    columns = {name: np.array([row[name] for row in rows]) for name in reward.fields}
    if target == "torch":
        columns = {name: pytest.importorskip("torch").as_tensor(column) for name, column in columns.items()}
    scores = reward.compile(target)(columns)
    found = np.stack([np.asarray(scores.scores[name], dtype=float) for name in terms], axis=1)
    wanted = wanted[:, [list(ALL).index(name) for name in terms]]
    assert np.asarray(scores.ok).all()
    near = 1e-5 if target == "jax" else 1e-12  # JAX computes in float32 here
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)


def test_python_and_sql_agree_with_the_plain_functions(everything, rows, wanted):
    pytest.importorskip("duckdb")
    plain_rows = [{name: tuple(v.tolist()) if name != "i" else v for name, v in row.items()} for row in rows]
    found = [list(everything.score(**row).values.values()) for row in plain_rows]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    scores = scored(DuckDB(), everything, plain_rows)
    np.testing.assert_allclose(np.stack(list(scores.scores.values()), axis=1), wanted, rtol=1e-12, atol=1e-12)
