"""Every number, every bit: literals, the edges of float64, remainders, rounding, and functions that a database lacks."""

import math
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward
from plaudit import term as as_term
from plaudit.language import nodes as n
from plaudit.targets.sql.dialects import DIALECTS
from support.engines import scored
from support.examples import examples
from support.strategies import load

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
EDGES = (
    *(0.0, 5e-324, 1e-320, 2.2250738585072014e-308, 1e-300, 1.5e-162, 1.6e-162, 1e-17, 0.1, 0.5, 1.0, 1.5, 2.5, 3.5),
    *(7.0, 10.0, 1e16, 4503599627370495.5, 4503599627370497.0, 2.0**53, 1e150, 1.4e154, 1e300, 1.7976931348623157e308),
)


def bits(value):
    return struct.pack("<d", value)


@cache  # read once for all databases
def one_term(expression, *fields):
    """Return the reward of one expression over unbounded numbers."""
    names = [field.name for field in fields]
    space = load(f"import math\nimport plaudit\n\n\ndef only({', '.join(names)}):\n    return {expression}\n")
    return Reward("one", version="1", terms=[as_term(space["only"])], fields=fields)


def assert_equal_to_python(engine, reward, rows, *, rel=0.0):
    compiled = reward.compile("python", on_bad="mask")
    found = scored(engine, reward, rows)
    for i, row in enumerate(rows):
        wanted = compiled(row)
        assert found.ok[i] == wanted.ok, (engine.name, row)
        if wanted.ok:
            near = math.isclose(found.total[i], wanted.total, rel_tol=rel, abs_tol=0.0)
            assert found.total[i] == wanted.total or near, (engine.name, row, found.total[i], wanted.total)


@examples(0.3)
@given(st.lists(FLOATS | st.decimals(-(10**6), 10**6, places=6).map(float), min_size=50, max_size=50))
def test_a_literal_is_the_float_to_the_bit(sqlite_engine, duckdb_engine, postgres_engine, values):
    for engine in (sqlite_engine, duckdb_engine, postgres_engine):
        texts = ", ".join(DIALECTS[engine.name].format_literal(value) for value in values)
        [row] = engine.execute(f"SELECT {texts}").fetchall()
        for wanted, got in zip(values, row, strict=True):
            assert wanted == 0 or bits(got) == bits(wanted), (engine.name, wanted)


def test_literals_that_sqlite_reads_wrongly_as_decimals_are_written_otherwise(sqlite_engine):
    [(got,)] = sqlite_engine.execute("SELECT 854.578913").fetchall()
    literal = DIALECTS["sqlite"].format_literal(854.578913)
    [(exact,)] = sqlite_engine.execute(f"SELECT {literal}").fetchall()
    assert exact == 854.578913
    assert literal == "(854578913 / 1000000.0)" or got == exact


PAIRS = [{"a": a, "b": b} for x in EDGES for y in EDGES for a in (x, -x) for b in (y, -y)]


@pytest.mark.parametrize(
    "expression",
    [
        "a + b",
        "a - b",
        "a * b",
        "a / b",
        "a % b",
        "a // b",
        "min(a * b, 3.0)",
        "max(a * b - b * a, b)",
        "a * a - b * b",
    ],
)
def test_the_edges_of_float64(engine, expression):
    """Overflow, underflow, subnormal numbers; PostgreSQL would refuse each of them."""
    assert_equal_to_python(engine, one_term(expression, Field("a"), Field("b")), PAIRS)


@pytest.mark.parametrize("constant", ["0.1", "-3.0", "1e-200", "1e200", "5e-324", "0.5"])
@pytest.mark.parametrize("sign", ["*", "/", "+", "%"])
def test_the_edges_of_float64_with_a_constant(engine, sign, constant):
    rows = [{"a": a} for x in EDGES for a in (x, -x)]
    assert_equal_to_python(engine, one_term(f"a {sign} {constant}", Field("a")), rows)


@pytest.mark.parametrize("function", ["round", "math.floor", "math.ceil"])
def test_rounding_is_python_s(engine, function):
    values = [k / 4 for k in range(-40, 41)] + [x for e in EDGES for x in (e, -e)] + [-0.49999999999999994]
    assert_equal_to_python(engine, one_term(f"{function}(a)", Field("a")), [{"a": a} for a in values])


@pytest.mark.parametrize("function", [kind.function for kind in n.FUNCTIONS if issubclass(kind, n.Unary)])
def test_functions_are_within_four_ulp_of_python_s(engine, function):
    rng = np.random.default_rng(3)
    size = np.concatenate([10.0 ** rng.uniform(-320, 3, 60), rng.uniform(0, 2, 60), [709.7, 709.79, 745.2, 746.0, 0.5]])
    rows = [{"a": float(a)} for x in size for a in (x, -x)]
    assert_equal_to_python(engine, one_term(f"{function}(a)", Field("a")), rows, rel=4 * 2.0**-52)


# A power is tested in test_power.py: close to the largest float SQL refuses it, because some databases raise there.
BINARY = [kind.function for kind in n.FUNCTIONS if issubclass(kind, n.Binary) and kind is not n.Power]


@pytest.mark.parametrize("function", BINARY)
def test_functions_of_two_numbers_are_within_four_ulp_of_python_s(engine, function):
    signed = engine.name != "sqlite"  # it has no negative zero
    pairs = [pair for pair in PAIRS if signed or "-0.0" not in map(repr, pair.values())]
    assert_equal_to_python(engine, one_term(f"{function}(a, b)", Field("a"), Field("b")), pairs, rel=4 * 2.0**-52)


REMAINDERS = [one_term(expression, Field("a"), Field("b")) for expression in ("a % b", "a // b")]


@examples(0.5)
@given(st.lists(st.tuples(FLOATS, FLOATS | st.floats(-20, 20)), min_size=40, max_size=40))
def test_remainders_are_exact(sqlite_engine, duckdb_engine, postgres_engine, pairs):
    rows = [{"a": a, "b": b} for a, b in pairs]
    for engine in (sqlite_engine, duckdb_engine, postgres_engine):
        for reward in REMAINDERS:
            assert_equal_to_python(engine, reward, rows)


def test_a_nan_on_the_way_compares_as_in_python(engine):
    """Inf - inf is NaN: less than nothing, equal to nothing, different from everything."""
    inside = "far - far"
    for sign in ("<", "<=", ">", ">=", "==", "!="):
        for expression in (f"({inside}) {sign} a", f"a {sign} ({inside})", f"not (({inside}) {sign} a)"):
            reward = one_term(f"1.0 if {expression} else 0.0", Field("far", infinite=True), Field("a"))
            assert_equal_to_python(engine, reward, [{"far": math.inf, "a": 1.0}, {"far": 2.0, "a": 0.0}])
    for expression in (f"min(a, {inside})", f"max(a, {inside})", f"a if ({inside}) == ({inside}) else 0.0"):
        reward = one_term(expression, Field("far", infinite=True), Field("a"))
        assert_equal_to_python(engine, reward, [{"far": math.inf, "a": 1.0}, {"far": 2.0, "a": 0.5}])


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_a_column_of_float32_has_bounds_of_its_own_dtype(request, name):
    @as_term
    def push(torque):
        return torque

    engine = request.getfixturevalue(f"{name}_engine")
    reward = Reward("pushes", version="1", terms=[push], fields=[Field("torque", low=-0.4, high=0.4)])
    statement = reward.compile("sql", dialect=name).select("steps")
    rows = [{"torque": value} for value in (0.4, -0.4, 0.41, None)]
    engine.fill({"torque": "REAL"}, rows)
    assert [row["total"] for row in engine.rows(statement)] == [0.4, -0.4, None, None]
    engine.fill({"torque": "number"}, [{"torque": float(np.float32(0.4))}, {"torque": 0.4}])
    assert [row["total"] for row in engine.rows(statement)] == [None, 0.4]
