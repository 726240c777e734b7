"""Spark computes what Python computes: one local session, random rewards, the edges of float64, and predecessors."""

import math

import pytest

from plaudit import Field, Reward, term
from plaudit.language import nodes as n
from plaudit.targets.sql.reward import READABLE
from plaudit.testing import LAWS, check_target
from support.contract import WRITTEN
from support.engines import as_scores, flat, kinds_of
from support.samples import EPISODES, research
from support.strategies import load as load_text

WITHOUT = {**WRITTEN, "knobs_at_run_time": "knobs are constants of the text"}
TYPES = {"number": "double", "flag": "boolean", "category": "string", "id": "bigint"}


def table(spark, columns, rows):
    """Put rows, dicts by column name, into a view called `steps`."""
    schema = ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in columns.items())
    values = [tuple(as_declared(columns[name], row.get(name)) for name in columns) for row in rows]
    spark.createDataFrame(values, schema).createOrReplaceTempView("steps")


def as_declared(kind, value):
    return float(value) if kind == "number" and value is not None else value


def scored(spark, reward, rows):
    return select(spark, reward.compile("sql", dialect="spark"), reward, rows)


def select(spark, compiled, reward, rows):
    table(spark, {"id": "id", **kinds_of(reward)}, [{"id": i, **flat(row)} for i, row in enumerate(rows)])
    found = [row.asDict() for row in spark.sql(compiled.select("steps", keep=["id"])).collect()]
    return as_scores(reward, sorted(found, key=lambda row: row["id"]))


QUICK = ("random_rewards", "categories", "unusual_names")
"""Each query takes Spark a second or more."""


@pytest.mark.parametrize(
    ("laws", "rewards"), [(QUICK, 1), pytest.param(tuple(LAWS), 15, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_spark_keeps_the_laws(spark, laws, rewards):
    def run(compiled, batch):
        return select(spark, compiled, batch.reward, batch.rows)

    without = {law: reason for law, reason in WITHOUT.items() if law in laws}
    report = check_target(
        "sql", run=run, options={"dialect": "spark"}, laws=laws, without=without, rewards=rewards, rows=48
    )
    assert {each.law for each in report.laws if each.outcome != "kept"} == without.keys()


def test_spark_has_every_function(spark):
    texts = {}
    for kind in n.FUNCTIONS:
        domain = kind.domain or n.Domain()
        low, high = max(domain.smallest, -1.0), min(domain.largest, 1.0)
        call = f"{kind.function}(a{', b' * issubclass(kind, n.Binary)})"
        texts[f"take_{kind.__name__.lower()}"] = f"{call} if {low!r} <= a <= {high!r} else b"
    lines = [f"def {name}(a, b):\n    return {text}" for name, text in texts.items()]
    space = load_text("\n\n\n".join(["import math\n\nimport plaudit", *lines]) + "\n")
    reward = Reward("all", version="1", terms=[term(space[name]) for name in texts], fields=[Field("a"), Field("b")])
    sizes = [sign * size for size in (1e-300, 0.1, 0.5, 0.999, 1.0, 7.0) for sign in (1, -1)]
    rows = [{"a": a, "b": b} for a in (0.0, *sizes) for b in (0.0, *sizes)]  # its atan2 has no negative zero
    found, compiled = scored(spark, reward, rows), reward.compile("python", on_bad="mask")
    for i, row in enumerate(rows):
        wanted = compiled(row)
        assert found.ok[i] == wanted.ok, row
        for name in texts if wanted.ok else ():
            assert math.isclose(found.scores[name][i], wanted.scores[name], rel_tol=4 * 2.0**-52), (name, row)


def test_spark_computes_the_edges_of_float64(spark):
    source = (
        "def edges(a, b):\n    return min(a * b, 3.0) + (a % b if b != 0 else 0.0) + round(a) - a // (abs(b) + 1)\n"
    )
    reward = Reward("edges", version="1", terms=[term(load_text(source)["edges"])], fields=[Field("a"), Field("b")])
    sizes = (0.0, 5e-324, 1e-300, 0.1, 0.5, 1.5, 2.5, 7.0, 1e16, 1e300, 1.7976931348623157e308)
    rows = [{"a": a, "b": b} for x in sizes for y in sizes for a in (x, -x) for b in (y, -y)]
    rows += [{"a": math.nan, "b": 1.0}, {"a": None, "b": 1.0}, {"a": math.inf, "b": 1.0}]
    found = scored(spark, reward, rows)
    compiled = reward.compile("python", on_bad="mask")
    for i, row in enumerate(rows):
        wanted = compiled(row)
        assert found.ok[i] == wanted.ok, row
        assert found.total[i] == wanted.total or not wanted.ok, row


def test_spark_scores_an_episode_by_its_keys(spark):
    def moved(prev, curr):
        return curr.place - prev.place

    reward = Reward("walk", version="1", terms=[term(moved)], fields=[Field("place", low=-9, high=9)])
    rows = [("b", 1, 5.0), ("a", 4, 4.0), ("a", 1, 1.0), ("b", 2, 7.5), ("a", 2, 3.0), ("b", 2, 7.0)]
    columns = {"episode": "category", "step": "id", "place": "number"}
    table(spark, columns, [dict(zip(columns, row, strict=True)) for row in rows])
    compiled = reward.compile("sql", dialect="spark", keys=("episode", "step"))
    found = {}
    for row in spark.sql(compiled.select("steps")).collect():
        found.setdefault((row["episode"], row["step"]), []).append((row["total"], row["no predecessor"]))
    none = (None, True)
    assert found == {
        ("a", 1): [none],
        ("a", 2): [(2.0, False)],
        ("a", 4): [none],
        ("b", 1): [none],
        ("b", 2): [none, none],
    }


@pytest.mark.parametrize("readable", [READABLE, 10], ids=["plain", "as a subquery"])
def test_spark_takes_an_expression_in_a_query_of_its_own(spark, monkeypatch, readable):
    monkeypatch.setattr("plaudit.targets.sql.reward.READABLE", readable)
    reward, rows = research, EPISODES["research"]
    table(spark, {"id": "id", **kinds_of(reward)}, [{"id": i, **row} for i, row in enumerate(rows)])
    total = reward.compile("sql", dialect="spark").total
    found = spark.sql(f"SELECT id, {total} AS total FROM steps").collect()
    by_id = {row["id"]: row["total"] for row in found}
    for i, row in enumerate(rows):
        assert by_id[i] == pytest.approx(reward.score(**row).total, rel=1e-14)


def test_spark_takes_structs_and_texts_that_look_like_code(spark):
    source = "def calm(curr):\n    return 1.0 if curr.mood == 'it\\'s \\\\ \"calm\"; --' else 0.0\n"
    label = 'it\'s \\ "calm"; --'
    fields = [Field("mood", values=(label, "wild"))]
    reward = Reward("mood", version="1", terms=[term(load_text(source)["calm"])], fields=fields)
    schema = "id bigint, curr struct<mood: string>"
    rows = [(0, (label,)), (1, ("wild",)), (2, (label.upper(),)), (3, (None,))]
    spark.createDataFrame(rows, schema).createOrReplaceTempView("steps")
    compiled = reward.compile("sql", dialect="spark", struct=True)
    found = {row["id"]: row["total"] for row in spark.sql(compiled.select("steps", keep=["id"])).collect()}
    assert found == {0: 1.0, 1: 0.0, 2: None, 3: None}


def test_spark_compares_a_column_of_float_with_bounds_of_its_own_dtype(spark):
    @term
    def push(torque):
        return torque

    reward = Reward("pushes", version="1", terms=[push], fields=[Field("torque", low=-0.4, high=0.4)])
    statement = reward.compile("sql", dialect="spark").select("steps")
    spark.createDataFrame([(0.4,), (-0.4,), (0.41,)], "torque float").createOrReplaceTempView("steps")
    assert [row["total"] for row in spark.sql(statement).collect()] == [0.4, -0.4, None]
