"""What `reward.compile("sql")` offers: expressions and statements, predecessors by LAG, names that nobody can break out of."""

import math
import os
import pickle
import sys
from pathlib import Path

import pytest
import sqlglot

from plaudit import Field, MissingExtra, Reward, TargetError, Task, fact, term
from plaudit.errors import UnsupportedNode
from plaudit.targets.sql.reward import READABLE
from plaudit.testing.batches import list_numbers
from plaudit.testing.rows import as_inputs
from support.engines import as_scores, flat, kinds_of, scored
from support.strategies import load

DIALECTS = ("duckdb", "sqlite", "postgres", "spark")
WRITTEN = Path(__file__).parent / "written"


def moved(prev, curr):
    return curr.place - prev.place


def calm(mood):
    return 1.0 if mood == "calm" else -1.0


@pytest.fixture
def walk():
    """A reward of a step: how far, and in what mood."""
    fields = [Field("place", low=-100, high=100), Field("mood", values=("calm", "wild", "other"), other="other")]
    return Reward("walk", version="1", terms=[term(moved), term(weight=0.5)(calm)], fields=fields)


@pytest.fixture
def rows(batch, reward):
    """The three good rows of `reward`, as dicts with texts for categories."""
    size = len(batch["distance"])
    found = []
    for i in range(size):
        row = {name: array[i].tolist() for name, array in batch.items()}
        row["mood"] = reward.fields["mood"].labels[row["mood"]]
        row["force"] = tuple(row["force"])
        found.append(row)
    return found


# -- statements and expressions ------------------------------------------------------------------------------------


def test_a_statement_scores_every_row(engine, reward, rows, totals):
    found = scored(engine, reward, rows)
    assert found.ok.all()
    assert found.total == pytest.approx(totals, rel=1e-15)
    assert list(found.values) == ["near", "pays", "calm", "effort", "moved", "ends"]


@pytest.mark.parametrize("readable", [READABLE, 10], ids=["plain", "as a subquery"])
def test_each_output_is_one_expression_too(engine, reward, rows, monkeypatch, readable):
    monkeypatch.setattr("plaudit.targets.sql.reward.READABLE", readable)
    rows = [*rows, {**rows[0], "distance": -1.0}, {**rows[0], "mood": None}]
    wanted = list_numbers(scored(engine, reward, rows), [t.name for t in reward.terms])
    compiled = reward.compile("sql", dialect=engine.name)
    texts = {"total": compiled.total}
    texts |= {f"{name}.value": text for name, text in compiled.values.items()}
    texts |= {f"{name}.score": text for name, text in compiled.scores.items()}
    for name, text in texts.items():
        found = [value for (value,) in engine.execute(f"SELECT {text} FROM steps ORDER BY id").fetchall()]
        assert [math.nan if value is None else value for value in found] == pytest.approx(
            wanted[name].tolist(), rel=0, abs=0, nan_ok=True
        )
    ok = [bool(value) for (value,) in engine.execute(f"SELECT {compiled.ok} FROM steps ORDER BY id").fetchall()]
    assert ok == [True, True, True, False, False]


def test_masked_outputs_are_null(engine, walk):
    columns = {"id": "id", **kinds_of(walk)}
    engine.fill(columns, [{"id": 1, "prev.place": 1.0, "curr.place": 500.0, "mood": "calm"}])
    compiled = walk.compile("sql", dialect=engine.name)
    [row] = engine.rows(compiled.select("steps", keep=["id"]))
    assert list(row) == ["id", "total", "moved", "calm", "moved.score", "calm.score", "ok"]
    assert list(row.values())[:-1] == [1, None, None, None, None, None]
    assert not row["ok"]


def test_columns_of_whole_numbers_and_numbers_for_flags_serve_as_well(engine, reward, rows, totals):
    columns = {"id": "id", **kinds_of(reward)}
    for name in ("level", "lit", "terminal", "success"):
        columns[name] = "INTEGER"
    columns["distance"] = "NUMERIC" if engine.name == "postgres" else "INTEGER"
    whole = [
        {**flat(row), **{n: int(row[n]) for n in ("level", "lit", "terminal", "success", "distance")}} for row in rows
    ]
    engine.fill(columns, [{"id": i, **row} for i, row in enumerate(whole)])
    compiled = reward.compile("sql", dialect=engine.name)
    found = as_scores(reward, engine.rows(compiled.select("steps", keep=["id"]) + " ORDER BY 1"))
    assert found.total == pytest.approx(totals, rel=1e-15)


def test_whole_numbers_beyond_what_a_float_holds_do_not_count(engine):
    reward = Reward("big", version="1", terms=[term(as_it_is)], fields=[Field("count")])
    engine.fill({"id": "id", "count": "id"}, [{"id": i, "count": 2**53 + i} for i in (-1, 0, 1)])
    compiled = reward.compile("sql", dialect=engine.name)
    found = engine.rows(compiled.select("steps", keep=["id"]) + " ORDER BY 1")
    assert [bool(row["ok"]) for row in found] == [True, True, False]
    engine.fill({"id": "id", "count": "number"}, [{"id": 1, "count": 1e300}])
    assert engine.rows(compiled.select("steps"))[0]["total"] == 1e300


def as_it_is(count):
    return count


def test_sqlite_s_text_in_a_column_of_numbers_does_not_count(sqlite_engine):
    reward = Reward("big", version="1", terms=[term(as_it_is)], fields=[Field("count", low=0, high=9)])
    sqlite_engine.fill({"count": "BLOB"}, [{"count": value} for value in (3, "3", "three", b"3", None, 3.5)])
    found = sqlite_engine.rows(reward.compile("sql", dialect="sqlite").select("steps"))
    assert [row["total"] for row in found] == [3.0, None, None, None, None, 3.5]


def test_terminal_inputs_are_checked_only_at_the_end(engine, reward, rows):
    rows = [{**rows[0], "success": None}, {**rows[2], "success": None}]
    assert scored(engine, reward, rows).ok.tolist() == [True, False]


def test_parameters_are_those_of_the_reward_as_it_stands(engine, reward, rows):
    other = reward.with_params({"near.reach": 40.0}).with_weights(calm=3.0)
    wanted = [other.compile("python")(as_inputs(row)).total for row in rows]
    assert scored(engine, other, rows).total.tolist() == pytest.approx(wanted, rel=1e-15)


def test_facts_are_tested_when_asked_for(engine):
    space = load("def rising(prev, curr):\n    return curr.place >= prev.place\n")
    fields = [Field("place", low=-100, high=100)]
    reward = Reward("walk", version="1", terms=[term(moved)], fields=fields, task=Task(facts=[fact(space["rising"])]))
    rows = [{"prev.place": 1.0, "curr.place": 2.0}, {"prev.place": 2.0, "curr.place": 1.0}]
    assert scored(engine, reward, rows).ok.tolist() == [True, True]
    assert scored(engine, reward, rows, guard="facts").ok.tolist() == [True, False]


# -- predecessors --------------------------------------------------------------------------------------------------

KEYED = {"episode": "category", "step": "id", "place": "number", "mood": "category"}


def keyed(engine, walk, found, columns=KEYED, **options):
    """Return the result of `walk` over rows of (episode, step, place), by those keys."""
    rows = [dict(zip(("episode", "step", "place"), row, strict=True), mood="calm") for row in found]
    engine.fill(columns, rows)
    compiled = walk.compile("sql", dialect=engine.name, keys=("episode", "step"), **options)
    result = engine.rows(compiled.select("steps"))
    assert list(result[0])[:2] == ["episode", "step"]
    by_key = sorted(result, key=lambda row: (str(row["episode"]), str(row["step"])))
    return [(row["moved.score"], bool(row["ok"]), bool(row["no predecessor"])) for row in by_key]


NONE = (None, False, True)


def test_the_row_before_is_the_predecessor_whatever_the_order_of_rows(engine, walk):
    rows = [("b", 1, 5.0), ("a", 3, 4.0), ("a", 1, 1.0), ("b", 2, 7.5), ("a", 2, 3.0)]
    assert keyed(engine, walk, rows) == [NONE, (2.0, True, False), (1.0, True, False), NONE, (2.5, True, False)]


def test_a_row_after_a_gap_has_no_predecessor(engine, walk):
    rows = [("a", 1, 1.0), ("a", 2, 2.0), ("a", 4, 9.0), ("a", 5, 9.5)]
    assert keyed(engine, walk, rows) == [NONE, (1.0, True, False), NONE, (0.5, True, False)]


def test_a_step_that_stands_twice_has_no_predecessor_and_is_none(engine, walk):
    rows = [("a", 1, 1.0), ("a", 2, 2.0), ("a", 2, 3.0), ("a", 3, 9.0), ("a", 4, 9.5)]
    assert keyed(engine, walk, rows) == [NONE, NONE, NONE, NONE, (0.5, True, False)]


def test_a_row_without_keys_has_no_predecessor(engine, walk):
    rows = [(None, 1, 1.0), (None, 2, 2.0), ("a", None, 3.0), ("a", 1, 4.0), ("a", 2, 5.0)]
    assert sorted(map(str, keyed(engine, walk, rows))) == sorted(map(str, [NONE, NONE, NONE, NONE, (1.0, True, False)]))


def test_bad_data_is_not_counted_as_no_predecessor(engine, walk):
    rows = [("a", 1, 1.0), ("a", 2, 999.0), ("a", 3, 1.0), ("a", 4, None), ("a", 5, 1.0), ("a", 6, 2.0)]
    bad = (None, False, False)
    assert keyed(engine, walk, rows) == [NONE, bad, bad, bad, bad, (1.0, True, False)]


@pytest.mark.parametrize("step", [10, 0.5])
def test_steps_may_be_further_apart(engine, walk, step):
    rows = [("a", 0 * step, 1.0), ("a", 1 * step, 2.0), ("a", 3 * step, 4.0)]
    columns = {**KEYED, "step": "number"}
    assert keyed(engine, walk, rows, columns, order_step=step) == [NONE, (1.0, True, False), NONE]


def test_several_columns_name_an_episode(engine, walk):
    engine.fill({"run": "id", **KEYED}, [
        {"run": run, "episode": "a", "step": step, "place": 10.0 * run + step, "mood": "wild"}
        for run in (1, 2) for step in (1, 2)
    ])  # fmt: skip
    compiled = walk.compile("sql", dialect=engine.name, keys=("run", "episode", "step"))
    found = engine.rows(compiled.select("steps", keep=["run", "step"]) + " ORDER BY 1, 2")
    assert [row["total"] for row in found] == [None, 0.5, None, 0.5]


def test_expressions_take_the_row_before_too(engine, walk):
    rows = [("a", 1, 1.0), ("a", 2, 3.0), ("b", 3, 4.0)]
    keyed(engine, walk, rows)
    compiled = walk.compile("sql", dialect=engine.name, keys=("episode", "step"))
    found = engine.execute(f"SELECT {compiled.values['moved']} FROM steps ORDER BY episode, step").fetchall()
    assert [value for (value,) in found] == [None, 2.0, None]


def test_a_reward_that_looks_at_one_moment_needs_no_predecessor(engine):
    fields = [Field("mood", values=("calm", "wild"))]
    reward = Reward("calm", version="1", terms=[term(calm)], fields=fields)
    engine.fill(KEYED, [{"episode": "a", "step": 1, "place": 1.0, "mood": "calm"}])
    [row] = engine.rows(reward.compile("sql", dialect=engine.name, keys=("episode", "step")).select("steps"))
    assert row["total"] == 1.0
    assert not row["no predecessor"]


def test_a_struct_column_serves_as_prev(duckdb_engine, postgres_engine, walk):
    duckdb_engine.execute("DROP TABLE IF EXISTS steps")
    duckdb_engine.execute("CREATE TABLE steps AS SELECT {'place': 1.0} AS prev, {'place': 3.5} AS curr, 'calm' AS mood")
    postgres_engine.execute("DROP TABLE IF EXISTS steps")
    postgres_engine.execute("DROP TYPE IF EXISTS state")
    postgres_engine.execute("CREATE TYPE state AS (place float8)")
    postgres_engine.execute(
        "CREATE TABLE steps AS SELECT ROW(1.0)::state AS prev, ROW(3.5)::state AS curr, 'calm' AS mood"
    )
    for engine in (duckdb_engine, postgres_engine):
        compiled = walk.compile("sql", dialect=engine.name, struct=True)
        assert compiled.columns == ("curr", "prev", "mood")
        assert engine.rows(compiled.select("steps"))[0]["total"] == 3.0
    postgres_engine.execute("DROP TABLE steps")
    with pytest.raises(UnsupportedNode, match="SQLite has no struct columns"):
        walk.compile("sql", dialect="sqlite", struct=True)


# -- names and texts -----------------------------------------------------------------------------------------------

NASTY = (
    "it's",
    'say "hi"',
    "`tick`",
    "back\\slash",
    "\\'); DROP TABLE steps; --",
    "'; DROP TABLE steps; --",
    '"; DROP TABLE steps; --',
    "/* not */ -- a comment",
    "two\nlines",
    "{0} %s ? :name $1",
    "größer → 𝄞",
    "",
    " calm",
    "CALM",
)


def test_categories_are_texts_whatever_they_hold(engine):
    """Each text counts for itself alone: no case, no blank, no quote is lost on the way."""
    space = load(f"NASTY = {NASTY!r}\n\n\ndef which(mood):\n    return NASTY.index(mood) + 1\n")
    reward = Reward("moods", version="1", terms=[term(space["which"])], fields=[Field("mood", values=NASTY)])
    found = scored(engine, reward, [{"mood": text} for text in (*NASTY, "calm", "nobody", None)])
    assert found.total[: len(NASTY)].tolist() == [float(i + 1) for i in range(len(NASTY))]
    assert not found.ok[len(NASTY) :].any()
    for label in NASTY[:3]:
        space = load(f"def is_it(mood):\n    return 1.0 if mood == {label!r} else 0.0\n")
        reward = Reward("moods", version="1", terms=[term(space["is_it"])], fields=[Field("mood", values=NASTY)])
        assert scored(engine, reward, [{"mood": text} for text in NASTY]).total.sum() == 1


def test_an_empty_text_may_stand_in_for_what_is_absent_or_unknown(engine):
    field = Field("mood", values=("calm", ""), other="", missing="")
    reward = Reward("mood", version="1", terms=[term(calm)], fields=[field])
    found = scored(engine, reward, [{"mood": text} for text in ("calm", "", "wild", None)])
    assert found.total.tolist() == [1.0, -1.0, -1.0, -1.0]


@pytest.mark.parametrize("name", [name for name in NASTY if name] + ["select", "plaudit_1", "total; --"])
def test_names_of_tables_and_columns_are_quoted(engine, walk, name):
    rows = [{name: "e", "n'o\"": i, "place": float(i), "mood": "calm"} for i in (1, 2)]
    engine.fill({name: "category", "n'o\"": "id", "place": "number", "mood": "category"}, rows, table=name)
    compiled = walk.compile("sql", dialect=engine.name, keys=(name, "n'o\""))
    found = engine.rows(compiled.select(name))
    assert sorted(row["n'o\""] for row in found if row["ok"]) == [2]
    assert {row[name] for row in found} == {"e"}
    engine.execute('DROP TABLE "{}"'.format(name.replace('"', '""')))


def test_a_table_may_be_given_in_parts(duckdb_engine, walk):
    duckdb_engine.execute('CREATE SCHEMA IF NOT EXISTS "my schema"')
    duckdb_engine.execute(
        'CREATE OR REPLACE TABLE "my schema"."my table" ("prev.place" INT, "curr.place" INT, mood TEXT)'
    )
    statement = walk.compile("sql", dialect="duckdb").select(("my schema", "my table"))
    assert duckdb_engine.rows(statement) == []


def test_a_column_collated_without_case_does_not_change_what_counts(sqlite_engine, duckdb_engine, walk):
    for engine in (sqlite_engine, duckdb_engine):
        engine.execute("DROP TABLE IF EXISTS steps")
        engine.execute('CREATE TABLE steps ("prev.place" INT, "curr.place" INT, mood TEXT COLLATE NOCASE)')
        engine.execute("INSERT INTO steps VALUES (0, 1, 'CALM')")
        assert engine.rows(walk.compile("sql", dialect=engine.name).select("steps"))[0]["calm.score"] == -1.0


@pytest.mark.parametrize("text", ["a\0b", "half \ud800"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_no_statement_can_hold_is_refused(walk, dialect, text):
    compiled = walk.compile("sql", dialect=dialect)
    with pytest.raises(UnsupportedNode, match="NUL|half a surrogate pair"):
        compiled.select(text)
    with pytest.raises(UnsupportedNode, match="NUL|half a surrogate pair"):
        compiled.select("steps", keep=[text])


def test_a_missing_column_is_the_database_s_error(engine, walk):
    """SQLite would take a name in double quotes for a text."""
    engine.fill({"prev.place": "number", "curr.place": "number", "temper": "category"}, [])
    statement = walk.compile("sql", dialect=engine.name).select("steps")
    with pytest.raises(Exception, match="mood"):
        engine.rows(statement)


# -- size ----------------------------------------------------------------------------------------------------------


def chain(length):
    """Return a reward that changes one value so many times, each time reading it twice."""
    lines = ["def chained(a, b):", "    x = a + b"]
    for i in range(length):
        lines += [f"    if x > {i}.5:", f"        x = x * 0.5 + {i}", "    else:", "        x = x + b"]
    space = load("\n".join([*lines, "    return x"]) + "\n")
    fields = [Field("a", low=0, high=100), Field("b", low=0, high=100)]
    return Reward("chain", version="1", terms=[term(space["chained"])], fields=fields)


def test_a_statement_grows_with_the_program_and_not_with_its_paths(engine):
    lengths = [len(chain(n).compile("sql", dialect=engine.name).select("steps")) for n in (10, 20, 40)]
    assert lengths[1] < 3 * lengths[0]
    assert lengths[2] < 3 * lengths[1]
    rows = [{"a": a, "b": 1.25} for a in (0.0, 7.3, 55.5)]
    reward = chain(40)
    wanted = [reward.score(**row).total for row in rows]
    assert scored(engine, reward, rows).total.tolist() == wanted


def test_an_expression_stays_of_reasonable_size(engine):
    rows = [{"a": a, "b": 1.25} for a in (0.0, 7.3, 55.5)]
    reward = chain(12)
    compiled = reward.compile("sql", dialect=engine.name)
    scored(engine, reward, rows)
    assert len(compiled.total) < 20_000
    found = engine.execute(f"SELECT {compiled.total} FROM steps ORDER BY id").fetchall()
    assert [value for (value,) in found] == [reward.score(**row).total for row in rows]


def test_an_expression_too_large_for_a_window_says_what_to_use(walk):
    lines = ["def chained(prev, curr):", "    x = curr.a - prev.a"]
    for i in range(20):
        lines += [f"    x = x * x - {i} if x > {i}.5 else x + curr.a"]
    space = load("\n".join([*lines, "    return x"]) + "\n")
    reward = Reward("chain", version="1", terms=[term(space["chained"])], fields=[Field("a", low=0, high=1)])
    compiled = reward.compile("sql", dialect="duckdb", keys=("episode", "step"))
    assert "LAG" in compiled.select("steps")
    with pytest.raises(TargetError, match=r"Use select\(table\)"):
        str(compiled.total)


# -- the object ----------------------------------------------------------------------------------------------------


def test_it_lists_the_columns_it_reads(reward, walk):
    columns = reward.compile("sql").columns
    assert set(columns) == set(reward.inputs)
    assert {"distance", "force[0]", "force[1]", "curr.place", "prev.place", "terminal"} <= set(columns)
    assert walk.compile("sql", keys=("episode", "step")).columns == ("place", "mood", "episode", "step")


def test_it_travels_and_never_changes(walk):
    compiled = walk.compile("sql", dialect="postgres", keys=["run", "step"], order_step=2, guard=False)
    again = pickle.loads(pickle.dumps(compiled))
    assert again.select("steps") == compiled.select("steps")
    assert repr(again) == "SqlReward(walk, dialect='postgres')"
    with pytest.raises(AttributeError, match="is read-only"):
        compiled.dialect = "sqlite"
    with pytest.raises(TypeError):
        compiled.values["moved"] = "1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "postgre"}, "no SQL dialect 'postgre'. Did you mean 'postgres'?"),
        ({"keys": "step"}, "must be a sequence of column names"),
        ({"keys": ("step",)}, "at least two columns"),
        ({"keys": ("step", "step")}, "names a column twice"),
        ({"keys": ("a", "b"), "order_step": 0}, "above 0"),
        ({"keys": ("a", "b"), "order_step": math.nan}, "above 0"),
        ({"keys": ("a", "b"), "struct": True}, "pass keys= .`prev` is the row before. or struct=True"),
        ({"key": ("a", "b")}, "no option 'key'. Did you mean 'keys'?"),
        ({"guard": "no"}, "guard='no'"),
    ],
)
def test_wrong_options_are_refused(walk, options, message):
    with pytest.raises(TargetError, match=message.replace("?", r"\?")):
        walk.compile("sql", **options)


def test_without_sqlglot_it_says_what_to_install(walk, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("sqlglot", "plaudit.targets.sql"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtra, match=r"pip install 'plaudit\[data\]'"):
        walk.compile("sql")


def test_two_columns_of_one_name_are_refused(walk):
    compiled = walk.compile("sql")
    for keep in (["total"], ["id", "id"], ["moved"]):
        with pytest.raises(TargetError, match="two columns"):
            compiled.select("steps", keep=keep)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_text_is_sql_to_an_independent_parser(reward, walk, dialect):
    for compiled in (reward.compile("sql", dialect=dialect), walk.compile("sql", dialect=dialect, keys=("a", "b"))):
        for text in (compiled.total, compiled.ok, *compiled.values.values(), *compiled.scores.values()):
            sqlglot.parse_one(text, dialect=dialect)
        [statement] = sqlglot.parse(compiled.select("steps", keep=["id"]), dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_small_reward_reads_as_it_is_written_down(walk, dialect):
    """The files in `written/` are what a reader sees; write them again with PLAUDIT_WRITE=1."""
    text = walk.compile("sql", dialect=dialect, keys=("episode", "step")).select("steps") + ";\n"
    path = WRITTEN / f"walk.{dialect}.sql"
    if os.environ.get("PLAUDIT_WRITE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_more_columns_than_databases_hold_are_refused():
    @term
    def effort(torque):
        return sum(t * t for t in torque)

    def build(entries):
        return Reward("arm", version="1", terms=[effort], fields=[Field("torque", length=entries)])

    assert len(build(1_000).compile("sql").columns) == 1_000
    with pytest.raises(UnsupportedNode, match="'arm' reads 1,001 numbers per row"):
        build(1_001).compile("sql")
