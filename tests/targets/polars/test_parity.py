"""What Polars computes is what Python computes: every law of targets, and the edges of float64."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, Reward
from plaudit import term as as_term
from plaudit.language import nodes as n
from plaudit.targets.inputs import collect_columns
from plaudit.testing import check_target
from support.contract import TIMES, draw
from support.engines import assert_as_python
from support.frames import ENGINES, as_scores, score_frame, to_frame
from support.samples import EPISODES, SAMPLES
from support.strategies import load, rows

pl = pytest.importorskip("polars", reason="needs plaudit[polars]")

WITHOUT = {"knobs_at_run_time": "knobs are constants of the expressions"}


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("engine", ENGINES)
def test_polars_keeps_every_law(engine, times):
    def run(compiled, batch):
        return as_scores(
            batch.reward, compiled.select(to_frame(batch.reward, batch.rows).lazy()).collect(engine=engine)
        )

    report = check_target("polars", run=run, without=WITHOUT, **draw(6, times))
    assert {each.law for each in report.laws if each.outcome != "kept"} == set(WITHOUT)
    assert report.counts["aside"] <= 0.08 * report.counts["rows"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_reward_scores_its_episode_as_python_does(name):
    reward = SAMPLES[name]
    drawn = rows(SimpleNamespace(reward=reward, fields=tuple(reward.fields.values())), 4, 200)
    known = [*(collect_columns(reward.program, row) for row in EPISODES[name]), *drawn]
    assert_as_python(reward, known, score_frame(reward, to_frame(reward, known), on_bad="mask"))


# -- the edges of float64 ------------------------------------------------------------------------------------------

EDGES = (
    *(0.0, 5e-324, 1e-320, 2.2250738585072014e-308, 1e-300, 1.5e-162, 1.6e-162, 1e-17, 0.1, 0.5, 1.0, 1.5, 2.5, 3.5),
    *(7.0, 10.0, 1e16, 4503599627370495.5, 4503599627370497.0, 2.0**53, 1e150, 1.4e154, 1e300, 1.7976931348623157e308),
)
SIGNED = [number for edge in EDGES for number in (edge, -edge)]
PAIRS = [{"a": a, "b": b} for a in SIGNED for b in SIGNED]


def one_term(expression, *fields):
    """Return the reward of one expression."""
    names = [field.name for field in fields]
    space = load(f"import math\nimport plaudit\n\n\ndef only({', '.join(names)}):\n    return {expression}\n")
    return Reward("one", version="1", terms=[as_term(space["only"])], fields=fields)


def assert_equal_to_python(reward, given_rows, *, rel=0.0):
    compiled = reward.compile("python", on_bad="mask")
    found = score_frame(reward, to_frame(reward, given_rows), on_bad="mask")
    for i, row in enumerate(given_rows):
        wanted = compiled(row)
        assert found.ok[i] == wanted.ok, row
        if wanted.ok:
            near = math.isclose(found.total[i], wanted.total, rel_tol=rel, abs_tol=0.0)
            assert found.total[i] == wanted.total or near, (row, found.total[i], wanted.total)


@pytest.mark.parametrize(
    "expression",
    [
        *("a + b", "a - b", "a * b", "a / b", "a % b", "a // b", "a * b + a", "a - a * b"),
        *("min(a * b, 3.0)", "max(a * b - b * a, b)", "a * a - b * b", "-a if a < b else abs(b)"),
    ],
)
def test_the_edges_of_float64(expression):
    assert_equal_to_python(one_term(expression, Field("a"), Field("b")), PAIRS)


@pytest.mark.parametrize(
    "expression", ["a * 0.1", "a / -3.0", "a + 1e-200", "a % 0.5", "a // 1e200", "7 % a", "a ** 3"]
)
def test_the_edges_of_float64_with_a_constant(expression):
    assert_equal_to_python(one_term(expression, Field("a")), [{"a": a} for a in SIGNED])


@pytest.mark.parametrize(
    "expression",
    [
        *("a + 0.0", "0.0 + a", "a - 0.0", "0.0 - a", "a * 0.0", "-a", "a + b", "a - b", "plaudit.sign(a)", "abs(a)"),
        *("math.atan2(min(a, b), -1.0)", "math.atan2(max(a, b), -1.0)"),
    ],
)
def test_a_zero_has_the_sign_that_python_gives_it(expression):
    names = sorted(set(re.findall(r"\b[ab]\b", expression)))
    reward = one_term(expression, *map(Field, names))
    signs = [{"a": a, "b": b} for a in (0.0, -0.0, 1.5) for b in (0.0, -0.0, -1.5)]
    given_rows = [{name: row[name] for name in names} for row in signs]
    found = score_frame(reward, to_frame(reward, given_rows)).total
    wanted = [reward.score(**row).total for row in given_rows]
    assert [repr(float(number)) for number in found] == [repr(number) for number in wanted]


@pytest.mark.parametrize("function", ["round", "math.floor", "math.ceil"])
def test_rounding_is_python_s(function):
    values = [k / 4 for k in range(-40, 41)] + SIGNED + [-0.49999999999999994]
    assert_equal_to_python(one_term(f"{function}(a)", Field("a")), [{"a": a} for a in values])


@pytest.mark.parametrize("function", [kind.function for kind in n.FUNCTIONS if issubclass(kind, n.Unary)])
def test_functions_are_within_four_ulp_of_python_s(function):
    rng = np.random.default_rng(3)
    size = np.concatenate(
        [10.0 ** rng.uniform(-320, 3, 300), rng.uniform(0, 2, 300), [709.7, 709.79, 745.2, 746.0, 0.5]]
    )
    numbers = [{"a": float(a)} for x in size for a in (x, -x)]
    assert_equal_to_python(one_term(f"{function}(a)", Field("a")), numbers, rel=4 * 2.0**-52)


@pytest.mark.parametrize("function", ["math.atan2", "math.hypot"])
def test_functions_of_two_numbers_are_within_four_ulp_of_python_s(function):
    assert_equal_to_python(one_term(f"{function}(a, b)", Field("a"), Field("b")), PAIRS, rel=4 * 2.0**-52)


def test_a_nan_on_the_way_compares_as_in_python():
    """Inf - inf is NaN: less than nothing, equal to nothing, different from everything; to Polars it is the largest."""
    inside = "far - far"
    sides = ((f"({inside})", "a"), ("a", f"({inside})"), (f"({inside})", f"({inside} + 0 * a)"))
    signs = ("<", "<=", ">", ">=", "==", "!=")
    compared = [f"1.0 if {left} {sign} {right} else 0.0" for sign in signs for left, right in sides]
    chosen = [f"min(a, {inside})", f"max(a, {inside})", f"min({inside}, a)", f"max({inside}, a)"]
    for expression in (*compared, *chosen):
        reward = one_term(expression, Field("far", infinite=True), Field("a"))
        assert_equal_to_python(reward, [{"far": math.inf, "a": 1.0}, {"far": 2.0, "a": 0.5}])
