"""A reward over a Parquet data set: every row, every column, every number, and what cannot be scored."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import DefinitionError, Field, FileError, OutOfRange, Reward, term
from plaudit.errors import MissingField, WrongType
from plaudit.ledger.dataset import score_file
from plaudit.ledger.rescore.changes import Changes
from plaudit.rows import scoring
from support.samples import following, handover
from support.tables import expected, made, read, table


def same(found, rows, reward):
    for at, (row, (total, ok, values)) in enumerate(zip(found.to_pylist(), expected(reward, rows), strict=True)):
        assert (row["total"], row["ok"]) == (total, ok), at
        for name, value in values.items():
            assert row[name] == value, (at, name)


def test_every_row_gets_the_numbers_that_the_reward_gives(mixed, write, tmp_path):
    source = write("rows.parquet", table(500))
    done = score_file(mixed, source, tmp_path / "out.parquet", batch_rows=64)
    found = read(tmp_path / "out.parquet")
    assert (done.rows, done.bad, done.engine) == (500, 0, "numpy")
    assert found.schema.names == [*table(1).schema.names, "total", *(t.name for t in mixed.terms), "ok"]
    assert found.select(table(1).schema.names).equals(table(500))
    same(found, table(500).to_pylist(), mixed)


def test_numba_gives_the_same_bits(mixed, write, tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="needs plaudit[fast]")
    source = write("rows.parquet", table(500))
    score_file(mixed, source, tmp_path / "numpy.parquet", scores=True)
    monkeypatch.setattr(scoring, "COMPILED_FROM", 0)
    done = score_file(mixed, source, tmp_path / "numba.parquet", scores=True)
    assert done.engine == "numba"
    assert read(tmp_path / "numba.parquet").equals(read(tmp_path / "numpy.parquet"))


def test_operations_that_libraries_round_differently_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(scoring, "COMPILED_FROM", 0)
    assert scoring.choose_target(following.program, 1) == "numba"

    @term
    def soft(x):
        """Be small."""
        return math.exp(-x)

    reward = Reward("soft", version="1", terms=[soft], fields=[Field("x", low=0, high=1)])
    assert scoring.choose_target(reward.program, None) == "numpy"


def test_scores_come_where_they_are_asked_for(mixed, write, tmp_path):
    source = write("rows.parquet", table(3))
    score_file(mixed, source, tmp_path / "out.parquet", scores=True, keep=[])
    found = read(tmp_path / "out.parquet").to_pylist()[0]
    assert list(found) == ["total", *(t.name for t in mixed.terms), *(f"{t.name}.score" for t in mixed.terms), "ok"]
    assert found["effort"] == -0.5 * found["effort.score"]


@pytest.mark.parametrize("null", ["distance", "torque", "phase", "braking", "prev", "curr"])
def test_a_null_is_a_bad_row_and_no_error(mixed, write, tmp_path, null):
    rows = table(20).to_pylist()
    rows[7][null] = None
    source = write("rows.parquet", pa.Table.from_pylist(rows, table(1).schema))
    done = score_file(mixed, source, tmp_path / "out.parquet", batch_rows=6)
    found = read(tmp_path / "out.parquet").to_pylist()
    name = f"{null}.done" if null in ("prev", "curr") else null
    assert (done.bad, done.reasons) == (1, {f"{name} is NULL": 1})
    assert [row["ok"] for row in found] == [at != 7 for at in range(20)]
    assert found[7]["total"] is None
    assert found[7]["mode"] is None
    rows[7] = rows[6]
    assert [row["total"] for row in found if row["ok"]] == [
        total for at, (total, _, _) in enumerate(expected(mixed, rows)) if at != 7
    ]


def test_a_null_within_a_vector_or_a_record_is_a_bad_row(mixed, write, tmp_path):
    rows = table(4).to_pylist()
    rows[1]["torque"][2] = None
    rows[2]["prev"]["done"] = None
    source = write("rows.parquet", pa.Table.from_pylist(rows, table(1).schema))
    done = score_file(mixed, source, tmp_path / "out.parquet")
    assert done.reasons == {"torque is NULL": 1, "prev.done is NULL": 1}
    assert read(tmp_path / "out.parquet")["ok"].to_pylist() == [True, False, False, True]


def test_bad_rows_are_counted_by_reason(mixed, write, tmp_path):
    rows = table(10).to_pylist()
    rows[0]["distance"] = -1.0
    rows[1]["distance"] = float("nan")
    rows[2]["distance"] = 0.0
    rows[3]["prev"]["done"] = 1.5
    rows[4]["prev"]["done"] = 1.5
    done = score_file(mixed, write("r.parquet", pa.Table.from_pylist(rows)), tmp_path / "out.parquet")
    assert done.bad == 5
    assert done.reasons == {
        "prev.done is outside its declared range": 2,
        "distance is NaN": 1,
        "distance is outside its declared range": 1,
        "near divides by zero": 1,
    }
    assert "2 × prev.done is outside its declared range" in str(done)


def test_a_bad_row_can_be_an_error_that_names_it(mixed, write, tmp_path):
    rows = table(50).to_pylist()
    rows[33]["distance"] = 101.0
    source = write("rows.parquet", pa.Table.from_pylist(rows))
    with pytest.raises(OutOfRange, match=r"rows\.parquet, row 34: .*'distance': 101\.0 is outside"):
        score_file(mixed, source, tmp_path / "out.parquet", on_bad="raise", batch_rows=8)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    rows[33]["distance"] = None
    source = write("rows.parquet", pa.Table.from_pylist(rows))
    with pytest.raises(MissingField, match=r"row 34: .*needs 'distance'"):
        score_file(mixed, source, tmp_path / "out.parquet", on_bad="raise")


def test_the_reasons_of_every_bad_row_add_up(write, tmp_path):
    rng = np.random.default_rng(5)
    distance = rng.choice([1.0, 30.0, -1.0, np.nan, np.inf, -np.inf], 1_000)
    action = rng.choice([0.0, 1.0, 7.0, 0.5], 1_000)
    source = write("r.parquet", pa.table({"distance": distance, "deceleration": np.zeros(1_000), "action": action}))
    done = score_file(following, source, tmp_path / "out.parquet")
    masked = following.compile("numpy", on_bad="mask")
    ok = masked({"distance": distance, "deceleration": np.zeros(1_000), "action": action}).ok
    assert read(tmp_path / "out.parquet")["ok"].to_pylist() == ok.tolist()
    assert sum(done.reasons.values()) == done.bad == 1_000 - ok.sum()


# -- where columns lie ------------------------------------------------------------------------------------------------


def test_missing_columns_are_told_before_any_row_is_read(mixed, write, tmp_path):
    content = table(5).drop_columns(["distance", "phase"]).append_column("distnce", pa.array([1.0] * 5))
    with pytest.raises(MissingField) as caught:
        score_file(mixed, write("rows.parquet", content), tmp_path / "out.parquet")
    text = str(caught.value)
    assert "lacks 'distance', 'phase', which reward 'mixed' needs" in text
    assert "distance: Did you mean 'distnce'?" in text
    assert "prev.done" in text
    assert not (tmp_path / "out.parquet").exists()


def test_a_record_that_lacks_one_key_is_told(mixed, write, tmp_path):
    content = table(5).drop_columns(["prev"])
    with pytest.raises(MissingField, match="lacks 'prev.done'"):
        score_file(mixed, write("rows.parquet", content), tmp_path / "out.parquet")


def test_columns_may_have_dotted_names(mixed, write, tmp_path):
    nested = table(40)
    flat = nested.flatten()
    assert "prev.done" in flat.schema.names
    score_file(mixed, write("nested.parquet", nested), tmp_path / "a.parquet")
    score_file(mixed, write("flat.parquet", flat), tmp_path / "b.parquet")
    assert read(tmp_path / "a.parquet")["total"].equals(read(tmp_path / "b.parquet")["total"])


def test_vectors_may_be_lists_or_a_column_an_entry(mixed, write, tmp_path):
    content = table(40)
    entries = content["torque"].to_pylist()
    ragged = content.set_column(2, "torque", pa.array(entries, pa.list_(pa.float32())))
    apart = content.drop_columns(["torque"])
    for at in range(3):
        apart = apart.append_column(f"torque[{at}]", pa.array([entry[at] for entry in entries]))
    score_file(mixed, write("a.parquet", content), tmp_path / "oa.parquet")
    score_file(mixed, write("c.parquet", apart), tmp_path / "oc.parquet")
    assert read(tmp_path / "oa.parquet")["total"].equals(read(tmp_path / "oc.parquet")["total"])
    score_file(mixed, write("b.parquet", ragged), tmp_path / "ob.parquet")
    same(read(tmp_path / "ob.parquet"), ragged.to_pylist(), mixed)


def test_a_list_of_another_length_is_a_bad_row(mixed, write, tmp_path):
    rows = table(6).to_pylist()
    rows[2]["torque"] = [1.0, 2.0]
    rows[3]["torque"] = []
    rows[4]["torque"] = [1.0, 2.0, 3.0, 4.0]
    source = write("rows.parquet", pa.Table.from_pylist(rows))
    done = score_file(mixed, source, tmp_path / "out.parquet", batch_rows=4)
    assert done.reasons == {"torque is not a list of 3": 3}
    assert read(tmp_path / "out.parquet")["ok"].to_pylist() == [True, True, False, False, False, True]
    same(read(tmp_path / "out.parquet"), rows, mixed)


def test_a_vector_of_another_fixed_length_is_refused_beforehand(mixed, write, tmp_path):
    content = table(2).set_column(2, "torque", pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float64(), 2)))
    with pytest.raises(WrongType, match="holds 2 entries, not 3"):
        score_file(mixed, write("rows.parquet", content), tmp_path / "out.parquet")


def test_categories_may_be_dictionaries_and_flags_numbers(mixed, write, tmp_path):
    content = table(40)
    other = content.set_column(5, "phase", content["phase"].combine_chunks().dictionary_encode())
    other = other.set_column(6, "braking", content["braking"].cast(pa.int8()))
    score_file(mixed, write("a.parquet", content), tmp_path / "oa.parquet")
    score_file(mixed, write("b.parquet", other), tmp_path / "ob.parquet")
    assert read(tmp_path / "oa.parquet")["total"].equals(read(tmp_path / "ob.parquet")["total"])


def test_a_plain_field_may_lie_in_the_record_after_the_step(write, tmp_path):
    @term
    def here(x):
        """Be far."""
        return x

    @term
    def moved(prev, curr):
        """Move."""
        return curr.y - prev.y

    reward = Reward("both", version="1", terms=[here, moved], fields=[Field("x"), Field("y")])
    content = pa.table({"prev": [{"y": 1.0}], "curr": [{"y": 3.0, "x": 10.0}]})
    score_file(reward, write("rows.parquet", content), tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet")["total"].to_pylist() == [12.0]


def test_inputs_may_lie_under_other_names(mixed, write, tmp_path):
    content = table(5).rename_columns(["id", "gap_m", "torque", "prev", "curr", "phase", "braking"])
    source = write("rows.parquet", content)
    score_file(mixed, source, tmp_path / "out.parquet", columns={"distance": "gap_m"})
    same(read(tmp_path / "out.parquet"), table(5).to_pylist(), mixed)
    with pytest.raises(MissingField, match="lacks 'gap_n'.*\n.*Did you mean 'gap_m'"):
        score_file(mixed, source, tmp_path / "o2.parquet", columns={"distance": "gap_n"})
    with pytest.raises(MissingField, match="columns= names 'distnce'.*Did you mean 'distance'"):
        score_file(mixed, source, tmp_path / "o2.parquet", columns={"distnce": "gap_m"})


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("distance", ["near", "far"], "a column of string does not hold a number"),
        ("distance", [True, False], "a column of bool does not hold a number"),
        ("phase", [1, 2], "a column of int64 does not hold a string"),
        ("braking", ["yes", "no"], "a column of string does not hold a bool"),
        ("torque", [1.0, 2.0], "is not a vector of 3"),
        ("torque", [["a"] * 3] * 2, "does not hold a number"),
    ],
)
def test_a_column_of_another_kind_is_refused_beforehand(mixed, write, tmp_path, column, values, told):
    content = table(2)
    content = content.set_column(content.schema.get_field_index(column), column, pa.array(values))
    with pytest.raises(WrongType, match=told):
        score_file(mixed, write("rows.parquet", content), tmp_path / "out.parquet")


def test_two_columns_of_one_name_are_refused(mixed, write, tmp_path):
    content = table(2)
    content = pa.Table.from_arrays([*content.columns, content["distance"]], [*content.schema.names, "distance"])
    with pytest.raises(FileError, match="has the column 'distance' twice"):
        score_file(mixed, write("rows.parquet", content), tmp_path / "out.parquet")


def test_whole_numbers_that_no_float_holds_are_bad_rows(write, tmp_path):
    @term
    def size(x):
        """Be large."""
        return x

    reward = Reward("large", version="1", terms=[size], fields=[Field("x")])
    source = write("r.parquet", pa.table({"x": pa.array([2**53, 2**53 + 1, -(2**60)], pa.int64())}))
    done = score_file(reward, source, tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet")["total"].to_pylist() == [2.0**53, None, None]
    assert sum(done.reasons.values()) == 2


def test_a_stand_in_for_missing_values_is_used(write, tmp_path):
    @term
    def size(x, kind, on):
        """Be large."""
        return x + (1 if kind == "b" else 0) + (10 if on else 0)

    fields = [
        Field("x", missing=5.0),
        Field("kind", values=("a", "b"), missing="b"),
        Field("on", flag=True, missing=True),
    ]
    reward = Reward("large", version="1", terms=[size], fields=fields)
    rows = [{"x": None, "kind": None, "on": None}, {"x": 1.0, "kind": "a", "on": False}]
    done = score_file(reward, write("r.parquet", pa.Table.from_pylist(rows[::-1])), tmp_path / "out.parquet")
    assert done.bad == 0
    assert read(tmp_path / "out.parquet")["total"].to_pylist() == [1.0, 16.0]
    score_file(reward, write("s.parquet", pa.table({"x": [1.0]})), tmp_path / "o2.parquet")
    assert read(tmp_path / "o2.parquet")["total"].to_pylist() == [12.0]


def test_what_only_the_end_needs_may_be_null_before_it(write, tmp_path):
    @term
    def step(x):
        """Be large."""
        return x

    @term(terminal=True)
    def won(score):
        """Win."""
        return score

    reward = Reward("game", version="1", terms=[step, won], fields=[Field("x"), Field("score", low=0)])
    content = pa.table({"x": [1.0, 1.0, 1.0], "score": [None, 5.0, None], "terminal": [False, True, True]})
    done = score_file(reward, write("r.parquet", content), tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet")["total"].to_pylist() == [1.0, 6.0, None]
    assert done.reasons == {"score is NULL": 1}
    score_file(reward, write("s.parquet", content.select(["x"])), tmp_path / "o2.parquet")
    assert read(tmp_path / "o2.parquet")["total"].to_pylist() == [1.0, 1.0, 1.0]
    with pytest.raises(MissingField, match="'score'"):
        score_file(reward, write("t.parquet", content.drop_columns(["score"])), tmp_path / "o3.parquet")


def test_a_reward_of_transitions_of_real_steps(write, tmp_path):
    states = [
        {"phase": "plan", "test_pass_rate": 0.1, "tokens_used": 300, "switch_committed": False},
        {"phase": "code", "test_pass_rate": 0.4, "tokens_used": 900, "switch_committed": True},
    ]
    rows = [{"prev": states[0], "curr": states[1]}, {"prev": states[1], "curr": states[1]}]
    score_file(handover, write("r.parquet", pa.Table.from_pylist(rows)), tmp_path / "out.parquet")
    ours = read(tmp_path / "out.parquet")["total"].to_pylist()
    assert ours == [handover.score(**row).total for row in map(_declared, rows)]


def _declared(row):
    keys = {place.name.rpartition(".")[2] for place in scoring.list_slots(handover.program)}
    return {end: {key: value for key, value in state.items() if key in keys} for end, state in row.items()}


# -- what is written --------------------------------------------------------------------------------------------------


def test_columns_may_be_left_out(mixed, write, tmp_path):
    source = write("rows.parquet", table(5))
    score_file(mixed, source, tmp_path / "out.parquet", keep=["id"])
    assert read(tmp_path / "out.parquet").schema.names[:2] == ["id", "total"]
    with pytest.raises(MissingField, match="lacks 'idd'.*\n.*Did you mean 'id'"):
        score_file(mixed, source, tmp_path / "o2.parquet", keep=["idd"])


def test_a_file_that_was_scored_is_scored_again_under_a_prefix(mixed, heavier, write, tmp_path):
    source = write("rows.parquet", table(5))
    score_file(mixed, source, tmp_path / "one.parquet")
    with pytest.raises(DefinitionError, match="already has a column 'total'.*prefix="):
        score_file(heavier, tmp_path / "one.parquet", tmp_path / "two.parquet")
    done = score_file(heavier, tmp_path / "one.parquet", tmp_path / "two.parquet", prefix="v2.", against="total")
    assert read(tmp_path / "two.parquet").schema.names[-1] == "v2.ok"
    assert done.changes.records == 5
    assert done.changes.old.mean == pytest.approx(np.mean(read(tmp_path / "one.parquet")["total"].to_pylist()))


@pytest.mark.parametrize("codec", ["snappy", "zstd", "lz4", "none", "gzip"])
def test_columns_stay_compressed_as_they_were(mixed, write, tmp_path, codec):
    source = write("rows.parquet", table(500), compression=codec)
    score_file(mixed, source, tmp_path / "out.parquet")
    group = pq.ParquetFile(tmp_path / "out.parquet").metadata.row_group(0)
    used = {group.column(i).path_in_schema: group.column(i).compression for i in range(group.num_columns)}
    assert used["distance"] == {"none": "UNCOMPRESSED", "gzip": "ZSTD"}.get(codec, codec.upper())
    assert used["total"] == "SNAPPY"


def test_types_and_notes_of_the_schema_are_kept(mixed, write, tmp_path):
    content = table(
        5, day=pa.array([1, 2, 3, None, 5], pa.date32()), money=pa.array([1] * 5).cast(pa.decimal128(38, 2))
    )
    content = content.replace_schema_metadata({"made": "by hand"})
    score_file(mixed, write("rows.parquet", content), tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    assert found.schema.metadata[b"made"] == b"by hand"
    assert found.select(["day", "money"]).equals(content.select(["day", "money"]))


@pytest.mark.parametrize("rows", [0, 1])
def test_a_file_without_rows_has_its_columns(mixed, write, tmp_path, rows):
    done = score_file(mixed, write("rows.parquet", table(rows)), tmp_path / "out.parquet", against=mixed)
    assert done.rows == rows
    assert read(tmp_path / "out.parquet").num_rows == rows
    assert "total" in read(tmp_path / "out.parquet").schema.names
    assert done.changes.records == rows


def test_a_reward_that_reads_nothing_scores_every_row(write, tmp_path):
    @term
    def living():
        """Live."""
        return 1.0

    reward = Reward("living", version="1", terms=[living], fields=[])
    score_file(reward, write("r.parquet", pa.table({"a": [1, 2, 3]})), tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet")["total"].to_pylist() == [1.0, 1.0, 1.0]


def test_progress_counts_rows_to_the_last(mixed, write, tmp_path):
    told = []
    source = write("rows.parquet", table(100))
    score_file(mixed, source, tmp_path / "o.parquet", batch_rows=30, progress=lambda *one: told.append(one))
    assert told[0] == (0, 100)
    assert told[-1] == (100, 100)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


# -- what changed -----------------------------------------------------------------------------------------------------


def test_changes_against_another_reward(mixed, heavier, write, tmp_path):
    content = table(300, decision=pa.array([at // 3 for at in range(300)]))
    source = write("rows.parquet", content)
    done = score_file(
        heavier,
        source,
        tmp_path / "o.parquet",
        against=mixed,
        decision_class="phase",
        decision="decision",
        batch_rows=64,
    )
    known = Changes()
    old = [total for total, _, _ in expected(mixed, content.to_pylist())]
    new = [total for total, _, _ in expected(heavier, content.to_pylist())]
    known.add(old, new, content["phase"].to_pylist(), content["decision"].to_numpy())
    assert done.changes.flipped > 0
    found, wanted = done.changes.to_dict(), known.to_dict()
    for part in ("old", "new", "difference"):
        assert found.pop(part) == pytest.approx(wanted.pop(part))
    classes = lambda told: sorted(told.pop("decision_classes"), key=lambda one: one["decision_class"])  # noqa: E731
    assert classes(found) == classes(wanted)
    assert found == wanted


def test_the_other_reward_may_need_columns_that_lack(mixed, write, tmp_path):
    content = pa.table({"distance": [1.0], "deceleration": [0.0]})
    with pytest.raises(MissingField, match="which reward 'mixed' needs"):
        score_file(following.select_terms("gap"), write("r.parquet", content), tmp_path / "o.parquet", against=mixed)


def test_the_other_reward_may_not_read_a_column_that_lies_elsewhere(mixed, write, tmp_path):
    content = table(5).rename_columns(["id", "distance", "torque", "prev", "curr", "stage", "braking"])
    source = write("rows.parquet", content)
    done = score_file(
        mixed, source, tmp_path / "o.parquet", against=mixed.select_terms("near"), columns={"phase": "stage"}
    )
    assert done.changes.records == 5


def test_a_column_of_old_totals_must_be_there_and_hold_numbers(mixed, write, tmp_path):
    source = write("rows.parquet", table(5, old=pa.array([1.0, None, 2.0, 3.0, 4.0])))
    assert score_file(mixed, source, tmp_path / "o.parquet", against="old").changes.gained == 1
    with pytest.raises(MissingField, match="lacks 'olld'"):
        score_file(mixed, source, tmp_path / "o2.parquet", against="olld")
    with pytest.raises(WrongType, match="'torque' does not hold totals"):
        score_file(mixed, source, tmp_path / "o2.parquet", against="torque")


def test_wrong_arguments_are_refused(mixed, write, tmp_path):
    source = write("rows.parquet", table(1))
    with pytest.raises(DefinitionError, match="on_bad='skip' is not one of"):
        score_file(mixed, source, tmp_path / "o.parquet", on_bad="skip")
    with pytest.raises(DefinitionError, match="batch_rows=0"):
        score_file(mixed, source, tmp_path / "o.parquet", batch_rows=0)
    with pytest.raises(DefinitionError, match="does not end in"):
        score_file(mixed, source, tmp_path / "o.xlsx")


def test_the_outcome_is_plain_data(mixed, write, tmp_path):
    done = score_file(mixed, write("rows.parquet", table(5)), tmp_path / "o.parquet", against=made("0"))
    told = json.loads(json.dumps(done.to_dict()))
    assert (told["reward"], told["rows"], told["changes"]["unchanged"]) == ("mixed@1", 5, 5)


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
     pa.decimal128(30, 2), pa.dictionary(pa.int32(), pa.float64()), pa.null()],
    ids=str,
)  # fmt: skip
def test_numbers_of_any_type_are_read(write, tmp_path, kind):
    @term
    def size(x):
        """Be large."""
        return x

    reward = Reward("large", version="1", terms=[size], fields=[Field("x", low=0, high=100)])
    given = [1, 2, None, 101, 5] if kind != pa.null() else [None] * 5
    column = (
        pa.array(given).cast(kind)
        if kind != pa.dictionary(pa.int32(), pa.float64())
        else pa.array(given, pa.float64()).dictionary_encode()
    )
    score_file(reward, write("r.parquet", pa.table({"x": column})), tmp_path / "o.parquet", batch_rows=3)
    found = read(tmp_path / "o.parquet")["total"].to_pylist()
    assert found == ([1.0, 2.0, None, None, 5.0] if kind != pa.null() else [None] * 5)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_of_any_type_are_read(write, tmp_path, kind):
    @term
    def going(phase):
        """Go."""
        return 1.0 if phase == "go" else 0.0

    reward = Reward("going", version="1", terms=[going], fields=[Field("phase", values=("go", "stop"))])
    column = pa.array(["go", "stop", None, "halt", "go"], pa.string()).cast(kind)
    done = score_file(reward, write("r.parquet", pa.table({"phase": column})), tmp_path / "o.parquet", batch_rows=3)
    assert read(tmp_path / "o.parquet")["total"].to_pylist() == [1.0, 0.0, None, None, 1.0]
    assert done.reasons == {"phase is NULL": 1, "phase is outside its declared range": 1}


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.int64(), 3)], ids=str
)
def test_lists_of_any_type_are_read_in_slices(write, tmp_path, kind):
    @term
    def size(v):
        """Be large."""
        return sum(x for x in v)

    reward = Reward("large", version="1", terms=[size], fields=[Field("v", length=3)])
    column = pa.array([[i, i + 1, i + 2] for i in range(9)] + [None, [0, None, 0], [1, 1, 1]], kind)
    score_file(reward, write("r.parquet", pa.table({"v": column})), tmp_path / "o.parquet", batch_rows=5)
    assert read(tmp_path / "o.parquet")["total"].to_pylist() == [*(3.0 * i + 3 for i in range(9)), None, None, 3.0]


@pytest.mark.parametrize(
    "inner", [pa.list_(pa.float64()), pa.large_list(pa.int32()), pa.list_(pa.float32(), 2)], ids=str
)
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_lists_of_lists_are_matrices(write, tmp_path, inner, ending):
    @term
    def size(v):
        """Be large."""
        return sum(sum(x for x in row) for row in v)

    reward = Reward("large", version="1", terms=[size], fields=[Field("v", shape=(2, 2))])
    good = [[[i, i + 1], [i + 2, 0]] for i in range(9)]
    column = pa.array([*good, None, [[0, None], [0, 0]], [[1, 1], None], [[1, 1]], [[1, 1], [1, 1]]], pa.list_(inner))
    if ending == "parquet":
        source = write("r.parquet", pa.table({"v": column}))
    else:
        source = tmp_path / "r.jsonl"
        source.write_text("".join(json.dumps({"v": row}) + "\n" for row in column.to_pylist()), encoding="utf-8")
    report = score_file(reward, source, tmp_path / "o.parquet", batch_rows=5)
    wanted = [*(3.0 * i + 3 for i in range(9)), None, None, None, None, 4.0]
    assert read(tmp_path / "o.parquet")["total"].to_pylist() == wanted
    assert report.reasons["v is not a list of 2 × 2"] == 1


def test_a_column_that_is_no_matrix_is_refused_before_any_row_is_read(write, tmp_path):
    @term
    def size(v):
        """Be large."""
        return sum(sum(x for x in row) for row in v)

    reward = Reward("large", version="1", terms=[size], fields=[Field("v", shape=(2, 2), missing=0.0)])
    for column in (
        pa.array([1.0]),
        pa.array([[1.0, 2.0]]),
        pa.array([[[1.0], [2.0]]], pa.list_(pa.list_(pa.float64(), 1))),
    ):
        with pytest.raises(WrongType, match="field 'v'"):
            score_file(reward, write("r.parquet", pa.table({"v": column})), tmp_path / "o.parquet")
    hole = pa.array([[[1.0, None], [1.0, 1.0]], [[1.0, 1.0], None]])
    score_file(reward, write("h.parquet", pa.table({"v": hole})), tmp_path / "h_o.parquet")
    assert read(tmp_path / "h_o.parquet")["total"].to_pylist() == [3.0, None]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_vector_that_lacks_takes_its_stand_in_as_the_reward_does(write, tmp_path, ending):
    @term
    def size(v):
        """Be large."""
        return sum(x for x in v)

    reward = Reward("large", version="1", terms=[size], fields=[Field("v", length=2, missing=1.5)])
    rows = [{"v": [1.0, 2.0]}, {"v": None}, {"v": [None, 1.0]}, {"v": [1.0]}]
    if ending == "parquet":
        source = write("r.parquet", pa.Table.from_pylist(rows))
    else:
        source = tmp_path / "r.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    score_file(reward, source, tmp_path / "o.parquet")
    wanted = [*(reward.score(**row).total for row in rows[:3]), None]
    assert read(tmp_path / "o.parquet")["total"].to_pylist() == wanted == [3.0, 3.0, 2.5, None]


def test_what_changed_speaks_of_episodes_where_a_column_names_them(tmp_path):
    @term
    def speed(x):
        """Be fast."""
        return x

    old = Reward("fast", version="1", terms=[speed], fields=[Field("x", low=-9, high=9)])
    where = {"run": ["a", "a", "b", "b"], "episode": [1, 1, 1, 1], "step": ["x", None, "y", "z"]}
    pq.write_table(pa.table({**where, "x": [1.0, 2.0, 4.0, 5.0]}), tmp_path / "rows.parquet")
    slow = old.with_weights(speed=-1.0).with_version("2")
    done = score_file(slow, tmp_path / "rows.parquet", tmp_path / "out.parquet", against=old, keep=["x"])
    assert done.changes.episodes.keys == [("a", None, 1), ("b", None, 1)]
    assert done.changes.episodes.new.tolist() == [-3.0, -9.0]
    assert done.changes.to_dict()["episodes"]["rank_correlation"] == -1.0
    nested = pa.table({"episode": [[1], [2]], "x": [1.0, 2.0]})
    pq.write_table(nested, tmp_path / "nested.parquet")
    done = score_file(slow, tmp_path / "nested.parquet", tmp_path / "other.parquet", against=old)
    assert done.changes.to_dict()["episodes"] is None
