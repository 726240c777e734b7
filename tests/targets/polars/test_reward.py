"""What `reward.compile("polars")` offers: expressions in any query, planned by the schema, errors that are ours."""

import pickle
import sys

import numpy as np
import pytest

from plaudit import Field, MissingExtra, Reward, State, TargetError, Task, fact, term
from plaudit.errors import (
    MissingField,
    NotFinite,
    OutOfRange,
    OutsideDomain,
    ShapeMismatch,
    UnknownCategory,
    UnknownInput,
    UnsupportedNode,
    WrongType,
)
from support.frames import ENGINES, as_frame
from support.strategies import load

pl = pytest.importorskip("polars", reason="needs plaudit[polars]")


def make(function, *fields, **options):
    return Reward("made", version="1", terms=[term(function)], fields=fields, **options)


def push(torque):
    return torque


def inverse(torque):
    return 1 / torque


def is_calm(mood):
    return mood == "calm"


def is_lit(lit):
    return lit


def effort(force):
    return force[0] + 2 * force[1] - force[2]


def moved(prev, curr):
    return curr.place - prev.place


@pytest.fixture
def frame(reward, batch):
    return as_frame(reward, batch)


# -- expressions in queries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_each_output_is_an_expression_with_a_name(reward, frame, totals, engine):
    compiled = reward.compile("polars")
    wanted = [compiled.total, compiled.ok, *compiled.values.values(), *compiled.scores.values()]
    found = frame.lazy().select(wanted).collect(engine=engine)
    terms = [each.name for each in reward.terms]
    assert found.columns == ["total", "ok", *terms, *(f"{each}.score" for each in terms)]
    assert found["total"].to_list() == pytest.approx(totals, rel=1e-15)
    assert found.select(sorted(found.columns)).equals(compiled.select(frame).select(sorted(found.columns)))


@pytest.mark.parametrize("engine", ENGINES)
def test_expressions_stand_wherever_polars_takes_one(reward, frame, totals, engine):
    compiled = reward.compile("polars")
    lazy = frame.lazy()
    assert lazy.with_columns(compiled.total).collect(engine=engine).columns == [*frame.columns, "total"]
    assert lazy.filter(compiled.total < 0).select(pl.len()).collect(engine=engine).item() == sum(t < 0 for t in totals)
    assert lazy.sort(compiled.total).collect(engine=engine)["distance"].to_list() == [2.0, 1.0, 30.0]
    grouped = lazy.with_columns(compiled.total).group_by("lit").agg(pl.col("total").sum()).sort("lit")
    assert grouped.collect(engine=engine)["total"].to_list() == pytest.approx([totals[2], totals[0] + totals[1]])
    grouped = frame.group_by("lit").agg(compiled.total.sum()).sort("lit")  # `lit` is read too
    assert grouped["total"].to_list() == pytest.approx([totals[2], totals[0] + totals[1]])
    assert frame.with_columns(earned=compiled.total * 2)["earned"].to_list() == pytest.approx([2 * t for t in totals])


def test_a_struct_holds_everything(reward, frame):
    compiled = reward.compile("polars")
    whole = frame.select(compiled.struct)
    assert whole.columns == ["all"]
    assert whole.unnest("all").equals(compiled.select(frame))
    kept = compiled.select(frame.lazy(), keep=["distance", "level"])
    assert isinstance(kept, pl.LazyFrame)
    assert kept.collect_schema().names()[:3] == ["distance", "level", "total"]
    again = compiled.select(frame.rename({"level": "plaudit"}).with_columns(level="plaudit"), keep="plaudit")
    assert again["plaudit"].to_list() == frame["level"].to_list()
    with pytest.raises(TargetError, match="two columns 'total'"):
        compiled.select(frame.rename({"distance": "total"}), keep=["total"])


def test_only_the_columns_that_are_read_are_loaded(reward, frame, tmp_path):
    frame.with_columns(unread=pl.lit(1)).write_parquet(tmp_path / "steps.parquet")
    compiled = reward.compile("polars").values["near"]
    lazy = pl.scan_parquet(tmp_path / "steps.parquet").select(compiled)
    assert f"PROJECT {len(frame.columns)}/{len(frame.columns) + 1} COLUMNS" in lazy.explain()
    assert lazy.collect(engine="streaming").height == 3


def test_a_shared_value_is_computed_once():
    """Twenty values, each made of the one before twice: written out they would be a million operations."""
    lines = "".join(f"    x = x * x / (1 + x * x) + {k}\n" for k in range(20))
    grow = load(f"def grow(x):\n{lines}    return x\n")["grow"]
    reward = make(grow, Field("x", low=0, high=10))
    assert len(str(reward.compile("polars").plan("total", {"x": pl.Float64()}))) < 20_000
    found = pl.DataFrame({"x": [0.5, 2.0]}).select(reward.compile("polars").total)["total"].to_list()
    assert found == [reward.score(x=0.5).total, reward.score(x=2.0).total]


def test_a_reward_that_reads_nothing_scores_every_row():
    def living():
        return -0.5

    compiled = Reward("alive", version="1", terms=[term(living)], fields=[]).compile("polars")
    rows = pl.DataFrame({"id": [1, 2, 3]})
    assert compiled.select(rows)["total"].to_list() == [-0.5, -0.5, -0.5]
    for engine in ENGINES:
        assert rows.lazy().with_columns(compiled.total).collect(engine=engine)["total"].to_list() == [-0.5] * 3
    assert compiled.select(rows.clear()).height == 0


def test_an_empty_frame_has_the_columns_of_a_full_one(reward, frame):
    compiled = reward.compile("polars")
    assert compiled.select(frame.clear()).schema == compiled.select(frame).schema


def test_knobs_are_those_of_the_reward(reward, frame):
    found = reward.with_params(near={"reach": 0.5}).compile("polars").select(frame)
    assert found["near"].to_list() == [-1.0 / 40, -2.0 / 40, -30.0 / 40]


def test_a_compiled_reward_and_its_expressions_can_be_pickled(reward, frame, totals):
    compiled = reward.compile("polars", on_bad="mask")
    again = pickle.loads(pickle.dumps(compiled))
    assert again.on_bad == "mask"
    assert frame.select(again.total)["total"].to_list() == pytest.approx(totals)
    expression = pickle.loads(pickle.dumps(compiled.total))
    assert frame.select(expression)["total"].to_list() == pytest.approx(totals)


# -- bad rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bad_row_is_an_error_when_it_is_collected(engine):
    compiled = make(push, Field("torque", low=-1, high=1)).compile("polars")
    lazy = pl.LazyFrame({"torque": [0.5, 2.0, 0.7]}).with_columns(compiled.total)
    with pytest.raises(
        OutOfRange, match=r"reward 'made', field 'torque': 2\.0 is outside its declared range \[-1, 1\]"
    ):
        lazy.collect(engine=engine)
    kept = pl.LazyFrame({"torque": [0.5, 2.0]}).filter(compiled.ok).with_columns(compiled.total)
    assert kept.collect(engine=engine)["total"].to_list() == [0.5]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_masked_row_is_null(engine):
    compiled = make(push, Field("torque", low=-1, high=1)).compile("polars", on_bad="mask")
    rows = pl.LazyFrame({"torque": [0.5, 2.0, None, float("nan"), -1.0]})
    found = compiled.select(rows).collect(engine=engine)
    assert found["total"].to_list() == found["push.score"].to_list() == [0.5, None, None, None, -1.0]
    assert found["ok"].to_list() == [True, False, False, False, True]


def test_a_clipped_row_is_within_its_range():
    compiled = make(push, Field("torque", low=-1, high=1)).compile("polars", on_bad="clip")
    assert pl.DataFrame({"torque": [0.5, 2.0, -9.0]}).select(compiled.total)["total"].to_list() == [0.5, 1.0, -1.0]
    with pytest.raises(NotFinite, match="NaN"):
        pl.DataFrame({"torque": [float("nan")]}).select(compiled.total)


BAD_VALUES = [
    (push, Field("torque"), [0.0, float("nan")], NotFinite, "the value is NaN"),
    (push, Field("torque"), [0.0, None], MissingField, "a value is None"),
    (push, Field("torque"), [0, 2**53 + 1], OutOfRange, "is beyond 2"),
    (inverse, Field("torque"), [1.0, 0.0], OutsideDomain, "term 'inverse' of reward 'made' divides by zero"),
    (is_calm, Field("mood", values=("calm", "wild")), ["calm", "clam"], UnknownCategory, "Did you mean 'calm'"),
    (is_calm, Field("mood", values=("calm", "wild")), ["calm", None], MissingField, "a value is None"),
    (is_lit, Field("lit", flag=True), [1, 2], WrongType, r"a bool \(True, False, 1 or 0\) is needed"),
    (effort, Field("force", length=3), [[1.0, 2.0, 3.0], [1.0, 2.0]], ShapeMismatch, "field 'force'"),
    (effort, Field("force", length=3, high=5), [[1.0, 2.0, 3.0], [1.0, 9.0, 0.0]], OutOfRange, r"'force\[1\]'"),
]


@pytest.mark.parametrize(("function", "field", "column", "error", "message"), BAD_VALUES)
def test_the_error_is_the_one_of_python(function, field, column, error, message):
    compiled = make(function, field)
    rows = pl.DataFrame({field.name: column})
    with pytest.raises(error, match=message):
        rows.select(compiled.compile("polars").total)
    masked = rows.select(compiled.compile("polars", on_bad="mask").struct).unnest("made")
    assert masked["ok"].to_list() == [True, False]
    assert masked["total"].is_null().to_list() == [False, True]


def test_facts_are_guarded_where_that_is_asked_for():
    @fact
    def gentle(torque):
        return torque < 0.5

    reward = make(push, Field("torque"), task=Task(facts=[gentle]))
    rows = pl.DataFrame({"torque": [0.0, 1.0]})
    assert rows.select(reward.compile("polars").total)["total"].to_list() == [0.0, 1.0]
    with pytest.raises(OutOfRange, match="breaks the fact 'gentle'"):
        rows.select(reward.compile("polars", guard="facts").total)


# -- columns -------------------------------------------------------------------------------------------------------


def test_a_column_that_is_not_there_is_named(reward, frame):
    compiled = reward.compile("polars")
    for use in (lambda rows: rows.select(compiled.total), compiled.select, lambda rows: rows.filter(compiled.ok)):
        with pytest.raises(MissingField, match=r"reward 'all' needs 'distance', which was not given\. Did you mean"):
            use(frame.rename({"distance": "distnce"}))
    with pytest.raises(MissingField, match="needs 'distance'"):
        frame.lazy().drop("distance").select(compiled.total).collect_schema()


WRONG = [
    (push, Field("torque"), pl.Series(["1.0"]), "a column of String does not hold numbers"),
    (push, Field("torque"), pl.Series([True]), "a column of Boolean does not hold numbers"),
    (push, Field("torque"), pl.Series([[1.0]]), r"a column of List\(Float64\) does not hold numbers"),
    (is_lit, Field("lit", flag=True), pl.Series(["yes"]), "a column of String does not hold bools"),
    (is_calm, Field("mood", values=("calm", "wild")), pl.Series([0]), "Int64 does not hold strings, each one of calm"),
    (effort, Field("force", length=3), pl.Series([1.0]), "Float64 does not hold lists or arrays of 3 values"),
]


@pytest.mark.parametrize(("function", "field", "column", "message"), WRONG)
def test_a_column_of_another_kind_is_refused_before_anything_runs(function, field, column, message):
    lazy = pl.LazyFrame({field.name: column}).select(make(function, field).compile("polars").total)
    with pytest.raises(WrongType, match=rf"reward 'made', field '{field.name}': .*{message}"):
        lazy.collect_schema()


def test_an_array_of_another_size_is_refused_before_anything_runs():
    compiled = make(effort, Field("force", length=3)).compile("polars")
    rows = pl.LazyFrame({"force": np.ones((2, 4))})
    with pytest.raises(ShapeMismatch, match="field 'force': 3 values are needed, but the column holds 4 in each row"):
        rows.select(compiled.total).collect_schema()


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.UInt8, pl.Int16, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64, pl.Int128, pl.Float32, pl.Float64]
)
def test_numbers_of_any_dtype_are_float64_inside(dtype):
    compiled = make(push, Field("torque", missing=7)).compile("polars")
    found = pl.DataFrame({"torque": pl.Series([1, None, 3], dtype=dtype)}).select(compiled.total)["total"]
    assert found.dtype == pl.Float64
    assert found.to_list() == [1.0, 7.0, 3.0]


def test_a_column_of_float32_has_bounds_of_its_own_dtype():
    compiled = make(push, Field("torque", low=-0.4, high=0.4)).compile("polars", on_bad="mask")
    narrow = pl.DataFrame({"torque": pl.Series([0.4, -0.4, 0.41], dtype=pl.Float32)})
    assert narrow.select(compiled.total)["total"].to_list() == [0.4, -0.4, None]
    assert narrow.cast(pl.Float64).select(compiled.total)["total"].to_list() == [None, None, None]
    vectors = make(effort, Field("force", length=3, low=-0.4, high=0.4)).compile("polars")
    rows = pl.DataFrame({"force": np.array([[0.4, -0.4, 0.41]], np.float32)})
    for dtype in (pl.Array(pl.Float32, 3), pl.List(pl.Float32)):
        with pytest.raises(OutOfRange, match=r"'force\[2\]': 0\.4099"):
            rows.cast(dtype).select(vectors.total)
    with pytest.raises(OutOfRange, match=r"0\.4099"):
        narrow.select(make(push, Field("torque", low=-0.4, high=0.4)).compile("polars").total)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["wild", "martian", "calm"])])
def test_categories_are_strings_of_any_dtype(dtype):
    field = Field("mood", values=("calm", "wild", "other"), other="other", missing="calm")

    def rank(mood):
        return ("wild", "calm", "other").index(mood)

    compiled = make(rank, field).compile("polars")
    rows = pl.DataFrame({"mood": pl.Series(["wild", "martian", None, "calm"], dtype=dtype)})
    assert rows.select(compiled.total)["total"].to_list() == [0.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Int8, pl.Float64])
def test_bools_may_be_0_and_1(dtype):
    compiled = make(is_lit, Field("lit", flag=True, missing=True)).compile("polars")
    rows = pl.DataFrame({"lit": pl.Series([True, False, None]).cast(dtype)})
    assert rows.select(compiled.total)["total"].to_list() == [1.0, 0.0, 1.0]


def test_a_column_of_nulls_holds_absent_values_of_any_kind():
    for function, field in ((push, Field("torque", missing=2)), (is_lit, Field("lit", flag=True, missing=True))):
        compiled = make(function, field).compile("polars")
        assert pl.DataFrame({field.name: [None]}).select(compiled.total)["total"].to_list() == [float(field.missing)]
    compiled = make(push, Field("torque")).compile("polars", on_bad="mask")
    assert pl.DataFrame({"torque": [None]}).select(compiled.ok)["ok"].to_list() == [False]


def test_what_may_be_missing_may_have_no_column():
    compiled = make(push, Field("torque", missing=2)).compile("polars")
    assert pl.DataFrame({"other": [1, 2]}).select(compiled.total)["total"].to_list() == [2.0, 2.0]


FORCE = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 0.125]])


@pytest.mark.parametrize(
    "columns",
    [
        {"force": FORCE},
        {"force": FORCE.tolist()},
        {"force": FORCE.astype(np.float32)},
        {"force": [tuple(map(int, row * 8)) for row in FORCE]},
        {f"force[{at}]": FORCE[:, at] for at in range(3)},
    ],
    ids=["array", "list", "float32", "integers", "apart"],
)
def test_a_vector_is_one_column_or_one_a_number(columns):
    compiled = make(effort, Field("force", length=3)).compile("polars")
    found = pl.DataFrame(columns).select(compiled.total)["total"].to_list()
    scale = 8 if isinstance(columns.get("force"), list) and isinstance(columns["force"][0], tuple) else 1
    assert found == [2.0 * scale, 0.875 * scale]


def test_a_vector_given_twice_or_in_part_is_refused():
    compiled = make(effort, Field("force", length=3)).compile("polars")
    with pytest.raises(UnknownInput, match="given twice"):
        pl.DataFrame({"force": FORCE, "force[1]": FORCE[:, 1]}).select(compiled.total)
    with pytest.raises(MissingField, match=r"needs 'force\[2\]'"):
        pl.DataFrame({"force[0]": FORCE[:, 0], "force[1]": FORCE[:, 1]}).select(compiled.total)


def test_an_absent_vector_is_what_stands_in_for_its_entries():
    compiled = make(effort, Field("force", length=3, missing=1)).compile("polars")
    assert pl.DataFrame({"force": [None, [3.0, None, 1.0]]}).select(compiled.total)["total"].to_list() == [2.0, 4.0]


def test_what_was_before_is_a_column_or_a_field_of_a_struct():
    compiled = make(moved, Field("place")).compile("polars")
    apart = pl.DataFrame({"prev.place": [1.0, 2.0], "curr.place": [4.0, 8.0]})
    nested = pl.DataFrame({"prev": [{"place": 1.0, "x": 0}, {"place": 2.0, "x": 0}], "curr.place": [4.0, 8.0]})
    for rows in (apart, nested):
        assert rows.select(compiled.total)["total"].to_list() == [3.0, 6.0]
    with pytest.raises(UnknownInput, match=r"'prev\.place' is given twice"):
        nested.with_columns(pl.lit(1.0).alias("prev.place")).select(compiled.total)
    with pytest.raises(MissingField, match=r"needs 'prev\.place'"):
        nested.drop("prev").select(compiled.total)


def test_names_that_polars_reads_otherwise_are_names_here():
    """Nothing of a reward's text is ever a pattern: Polars takes `^.*$` for a regular expression."""
    compiled = make(push, Field("torque")).compile("polars")
    rows = pl.DataFrame({"^.*$": [1.0], "*": [2.0], "torque": [3.0], "x0": [4.0], "ok": [False]})
    assert rows.select(compiled.total)["total"].to_list() == [3.0]
    odd = Reward("^.*$", version="1", terms=[term(push)], fields=[Field("torque")]).compile("polars")
    assert odd.select(rows)["total"].to_list() == [3.0]
    assert rows.select(odd.struct).columns == ["^.*$"]


# -- the row before ------------------------------------------------------------------------------------------------


@pytest.fixture
def walks():
    return pl.DataFrame(
        {
            "episode": ["a", "a", "a", "a", "b", "b", None],
            "step": [1, 2, 4, 5, 1, 2, 3],
            "place": [0.0, 1.5, 9.0, 9.5, 3.0, 500.0, 1.0],
        }
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_with_keys_prev_is_the_row_before(walks, engine):
    compiled = make(moved, Field("place", low=0, high=100)).compile("polars", keys=("episode", "step"), on_bad="mask")
    assert compiled.columns == ("place", "episode", "step")
    shuffled = walks.lazy().sort("place")
    found = compiled.select(shuffled).collect(engine=engine).sort("episode", "step", nulls_last=True)
    assert found.columns == ["episode", "step", "total", "moved", "moved.score", "ok", "no predecessor"]
    assert found["total"].to_list() == [None, 1.5, None, 0.5, None, None, None]
    assert found["no predecessor"].to_list() == [True, False, True, False, True, False, True]


def test_a_row_without_predecessor_is_no_error(walks):
    compiled = make(moved, Field("place", low=0, high=100)).compile("polars", keys=("episode", "step"))
    good = walks.filter(pl.col("place") < 100)
    assert good.select(compiled.total)["total"].to_list() == [None, 1.5, None, 0.5, None, None]
    with pytest.raises(OutOfRange, match=r"field 'curr\.place': 500\.0"):
        walks.select(compiled.total)


def test_a_step_that_stands_twice_has_no_place(walks):
    compiled = make(moved, Field("place")).compile("polars", keys=("episode", "step"), order_step=1)
    rows = pl.DataFrame({"episode": ["a"] * 4, "step": [1, 2, 2, 3], "place": [0.0, 1.0, 2.0, 3.0]})
    assert rows.select(compiled.total)["total"].to_list() == [None] * 4


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("step", "must be a sequence"),
        (("step",), "at least two columns"),
        (("a", "a"), "names a column twice"),
    ],
)
def test_keys_that_name_no_row_before_are_refused(keys, message):
    with pytest.raises(TargetError, match=message):
        make(moved, Field("place")).compile("polars", keys=keys)


def test_keys_that_are_not_there_or_no_numbers_are_refused(walks):
    reward = make(moved, Field("place"))
    with pytest.raises(TargetError, match="there is no column 'run'"):
        walks.select(reward.compile("polars", keys=("run", "step")).total)
    with pytest.raises(TargetError, match="steps are numbers, and 'episode' is a column of String"):
        walks.select(reward.compile("polars", keys=("step", "episode")).total)
    with pytest.raises(TargetError, match="order_step=0"):
        reward.compile("polars", keys=("episode", "step"), order_step=0)


# -- states and refusals -------------------------------------------------------------------------------------------


@pytest.fixture
def hopping():
    def rise(prev, contact):
        return 0.0 if contact else prev.air + 0.5

    @term
    def landed(prev, contact):
        return prev.air if contact else 0.0

    return Reward(
        "hopping",
        version="1",
        terms=[landed],
        fields=[Field("contact", flag=True), State("air", reset=0.0, low=0, high=9, update=rise)],
    )


def test_a_state_before_the_step_is_a_column(hopping):
    compiled = hopping.compile("polars")
    rows = pl.DataFrame({"contact": [True, False], "prev.air": [1.5, 2.0]})
    assert rows.select(compiled.total)["total"].to_list() == [1.5, 0.0]
    with pytest.raises(MissingField, match=r"(?s)needs 'prev\.air'.*a state that the reward carries"):
        rows.drop("prev.air").select(compiled.total)
    with pytest.raises(TargetError, match="keeps no state from row to row"):
        compiled.step({"contact": True}, {"air": 0.0})


def test_options_that_it_has_not_are_refused(reward):
    with pytest.raises(TargetError, match="the target 'polars' has no option 'dialect'"):
        reward.compile("polars", dialect="duckdb")


def test_a_row_of_too_many_numbers_is_refused():
    def whole(image):
        return sum(image)

    with pytest.raises(UnsupportedNode, match=r"reads 1,200 numbers per row.*reward\.compile\('numpy'\)"):
        make(whole, Field("image", length=1200)).compile("polars")


def test_without_polars_the_error_says_what_to_install(reward, monkeypatch):
    for name in [name for name in sys.modules if name == "polars" or name.startswith("plaudit.targets.polars")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(
        MissingExtra, match=r"the target 'polars' needs polars\. Install it: pip install 'plaudit\[polars\]'"
    ):
        reward.compile("polars")
