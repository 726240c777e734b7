"""Powers with an exponent that is a knob or data: the same everywhere, guarded, differentiable, bounded."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, check, prove, term
from plaudit.errors import OutsideDomain, ReadError
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import power
from support.engines import DuckDB, Postgres, SQLite
from support.engines import scored as scored_in_sql
from support.running import GRADIENTS, SCORING, need, scored, wide
from support.strategies import load

XS = (0.0, -0.0, 1e-300, 0.3, 1.0, 2.5, 1e150, 1e308, -1e-300, -2.0, -8.0)
YS = (0.0, 0.5, 1.0, 2.0, 3.7, -0.5, -2.0, 300.0, -300.0)


@term
def raised(x, y, *, bend=0.75):
    return x**y + (2.0**bend if x > 0 else 0.0)


RAISED = Reward("raised", version="1", terms=[raised], fields=[Field("x"), Field("y")])


def expect(x, y):
    """Return what Python says; NaN where the row does not count."""
    if not (x > 0 or (x == 0 and y > 0)):
        return math.nan
    try:
        return math.pow(x, y) + (2.0**0.75 if x > 0 else 0.0)
    except OverflowError:
        return math.nan


@pytest.mark.parametrize("target", SCORING)
def test_a_power_is_python_s_inside_its_domain_and_guarded_outside(target):
    x, y = (part.reshape(-1) for part in np.meshgrid(XS, YS))
    found = scored(RAISED, target, {"x": x, "y": y})
    wanted = np.array([expect(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    assert found.ok.tolist() == np.isfinite(wanted).tolist()
    np.testing.assert_allclose(found.total[found.ok], wanted[found.ok], rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_sql_raises_to_powers_too(engine, request):
    made = {"duckdb": DuckDB, "sqlite": SQLite, "postgres": Postgres}[engine]
    opened = made(request.getfixturevalue("postgres_url")) if engine == "postgres" else made()
    rows = [{"x": x, "y": y} for x in XS for y in YS]
    found = scored_in_sql(opened, RAISED, rows)
    if engine == "postgres":
        opened.connection.close()
    wanted = np.array([expect(row["x"], row["y"]) for row in rows])
    assert found.ok.tolist() == np.isfinite(wanted).tolist()
    np.testing.assert_allclose(found.total[found.ok], wanted[found.ok], rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "spark"])
def test_every_dialect_can_write_it(dialect):
    assert "pow" in RAISED.compile("sql", dialect=dialect).select("steps")


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (-2.0, 2.0, "raises to a power outside its domain"),
        (0.0, 0.0, "raises to a power outside its domain"),
        (0.0, -1.0, "raises to a power outside its domain"),
        (1e200, 2.0, "raises a power beyond every float"),
    ],
)
def test_the_error_says_what_went_wrong_and_where(x, y, why):
    with pytest.raises(OutsideDomain, match=why) as caught:
        RAISED.score(x=x, y=y)
    assert "x**y" in str(caught.value)


def make(text, *fields):
    return Reward("one", version="1", terms=[term(load(f"import math\n\n\n{text}")["f"])], fields=list(fields))


X = Field("x", low=-4, high=4)


@pytest.mark.parametrize(
    ("text", "x", "wanted"),
    [
        ("x ** 0.5", 2.25, 1.5),
        ("x ** -1", -4.0, -0.25),
        ("x ** -2", -2.0, 0.25),
        ("x ** 2.0", -2.0, 4.0),
        ("2 ** x", -1.0, 0.5),
        ("math.pow(x, 3.5)", 4.0, 128.0),
        ("math.pow(x, 2)", -3.0, 9.0),
        ("x ** True", 3.0, 3.0),
        ("x ** (x > 0)", 3.0, 3.0),
    ],
)
def test_constant_exponents_and_bases(text, x, wanted):
    assert make(f"def f(x):\n    return {text}\n", X).score(x=x).total == wanted


def test_a_constant_integer_exponent_is_written_out_as_before():
    nodes = make("def f(x):\n    return x ** 3\n", X).program.nodes
    assert not any(isinstance(node, n.Power | n.Div) for node in nodes)
    with pytest.raises(ReadError, match="from -64 to 64"):
        make("def f(x):\n    return x ** 65\n", X)


def test_a_knob_as_exponent_is_a_parameter():
    reward = make("def f(x, *, p=2.0):\n    return abs(x) ** p\n", X)
    assert reward.with_params(f={"p": 0.5}).score(x=-4.0).total == 2.0
    assert reward.gradients()["f.p"]
    assert Reward.from_json(reward.to_json()) == reward
    assert "abs(x) ** p" in reward.source()
    assert r"\left|\text{x}\right|^{\text{p}}" in reward.formula()


@pytest.mark.parametrize("target", GRADIENTS)
def test_gradients_are_finite_and_right(target):
    library = need(target)
    reward = make("def f(x, *, p=1.5):\n    return abs(x) ** p\n", X)
    xs = np.array([0.0, 0.5, 2.0])
    compiled = reward.compile(target)
    with wide(target):
        if target == "jax":
            to_x, to_p = library.grad(lambda x, p: compiled({"x": x}, {"f.p": p}).total.sum(), argnums=(0, 1))(
                library.numpy.asarray(xs), 1.5
            )
        else:
            x, p = (
                library.tensor(xs, requires_grad=True),
                library.tensor(1.5, dtype=library.float64, requires_grad=True),
            )
            compiled({"x": x}, {"f.p": p}).total.sum().backward()
            to_x, to_p = x.grad, p.grad
    np.testing.assert_allclose(np.asarray(to_x), 1.5 * xs**0.5, rtol=1e-12)
    np.testing.assert_allclose(float(to_p), sum(x**1.5 * math.log(x) for x in xs[1:]), rtol=1e-12)


@pytest.mark.parametrize("base", [(0.5, 2.0), (0.0, 2.0), (-1.0, 0.5), (-2.0, -1.0), (1.0, 1e9), (0.0, math.inf)])
@pytest.mark.parametrize("exponent", [(0.5, 2.0), (-1.0, 1.0), (0.0, 0.0), (-3.0, -2.0), (0.0, 9.0)])
def test_intervals_hold_every_power(base, exponent):
    program = RAISED.program.bind()
    at = next(at for at, node in enumerate(program.nodes) if isinstance(node, n.Power))
    found = bound_nodes_within(program, {"x": Interval(*base), "y": Interval(*exponent)})[at]
    ends = [min(max(end, -1e300), 1e300) for end in base]
    for x in np.linspace(*ends, 41):
        for y in np.linspace(*exponent, 13):
            assert found.low <= power(float(x), float(y)) <= found.high


def test_checks_and_proofs_know_powers():
    reward = make("def f(x, *, p=1.5):\n    return abs(x) ** p\n", X)
    other = make("def f(x, *, p=1.5):\n    return abs(x) ** p + 1\n", X)
    assert prove(reward, reward).verdict == "equal"
    assert prove(reward, other).verdict == "different"
    fails = check(make("def f(x):\n    return x ** 0.5\n", X)).findings
    assert any("raises to a power outside its domain" in finding.message for finding in fails)
