"""Data sets written as text: CSV and JSON Lines, kept as they were, whatever they hold."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from plaudit import Field, FileError, InputError, OutOfRange, Reward, term
from plaudit.errors import MissingField, UnusableFile, WrongType
from plaudit.ledger.dataset import score_file
from plaudit.rows import lines
from plaudit.rows.jsonl_files import JsonLinesSource
from plaudit.rows.row import flatten_records
from plaudit.rows.streams import Source
from support.growth import measure_growth
from support.tables import expected, read, table

ROWS = [
    {"id": "a", "metres": 0.3, "fast": False, "kind": "wall"},
    {"id": "b", "metres": 2.5, "fast": True, "kind": "kerb"},
    {"id": "c", "metres": 1e3, "fast": False, "kind": "kerb"},
]


@term
def gap(metres, *, near=0.2):
    """Stop close."""
    return 1.0 if near <= metres <= 2 * near else -0.1 * metres


@term
def calm(fast, kind):
    """Be calm at walls."""
    return -1.0 if fast else (0.5 if kind == "wall" else 0.0)


@pytest.fixture(scope="module")
def parking():
    fields = [Field("metres", low=0, infinite=True), Field("fast", flag=True), Field("kind", values=("wall", "kerb"))]
    return Reward("parking", version="1", terms=[gap, calm], fields=fields)


def csv_file(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def csv_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def json_file(path, rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def json_objects(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def totals(reward, rows=ROWS):
    return [reward.score(**{k: row[k] for k in ("metres", "fast", "kind")}).total for row in rows]


# -- CSV --------------------------------------------------------------------------------------------------------------


def test_cells_are_kept_as_they_were_written(parking, tmp_path):
    text = 'id,metres,fast,kind\na,0.30,false,wall\n"b,b",2.500,1,kerb\n"c\n""c""",1e3,FALSE,"kerb"\n'
    done = score_file(parking, csv_file(tmp_path / "r.csv", text), tmp_path / "o.csv")
    found = csv_rows(tmp_path / "o.csv")
    assert done.rows == 3
    assert done.bad == 0
    assert [row["id"] for row in found] == ["a", "b,b", 'c\n"c"']
    assert [row["metres"] for row in found] == ["0.30", "2.500", "1e3"]
    assert [row["fast"] for row in found] == ["false", "1", "FALSE"]
    assert [float(row["total"]) for row in found] == totals(parking)
    assert [row["ok"] for row in found] == ["true"] * 3


def test_an_empty_cell_is_absent_and_a_wrong_one_is_a_bad_row(parking, tmp_path):
    text = (
        "metres,fast,kind\n,false,wall\nfar,false,wall\n1_0,true,kerb\ninf,0,wall\n2,maybe,wall\n1,true,wal\n1,true,\n"
    )
    done = score_file(parking, csv_file(tmp_path / "r.csv", text), tmp_path / "o.csv")
    found = csv_rows(tmp_path / "o.csv")
    assert [row["ok"] for row in found] == ["false", "false", "false", "false", "false", "false", "false"]
    assert done.reasons == {
        "metres is NULL": 1,
        "metres is not a number": 2,
        "total adds up to a number that is not finite": 1,
        "fast is not a bool": 1,
        "kind is outside its declared range": 1,
        "kind is NULL": 1,
    }
    assert {row["total"] for row in found} == {""}
    assert found[1]["metres"] == "far"


@pytest.mark.parametrize(
    ("row", "error", "told"),
    [
        ("far,false,wall", WrongType, "line 3: .*'far'"),
        ("1,maybe,wall", WrongType, "line 3: .*'maybe'"),
        (",true,wall", MissingField, "line 3: .*needs 'metres'"),
        ("-1,true,wall", OutOfRange, "line 3: .*-1"),
        ("9007199254740993,true,wall", OutOfRange, "beyond 2"),
    ],
)
def test_a_bad_cell_can_be_an_error(parking, tmp_path, row, error, told):
    source = csv_file(tmp_path / "r.csv", f"metres,fast,kind\n1,true,wall\n{row}\n")
    with pytest.raises(error, match=told):
        score_file(parking, source, tmp_path / "o.csv", on_bad="raise")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv"]


def test_a_line_with_other_cells_is_left_out_and_counted(parking, tmp_path):
    source = csv_file(tmp_path / "r.csv", "metres,fast,kind\n1,true,wall\n1,true\n1,true,wall,4\n2,true,kerb\n")
    done = score_file(parking, source, tmp_path / "o.csv")
    assert (done.rows, done.unreadable) == (2, 2)
    assert "2 lines left out: not readable as rows" in str(done)
    with pytest.raises(InputError, match="line 3: the row has 2 cells, but the header has 3"):
        score_file(parking, source, tmp_path / "o2.csv", on_bad="raise")


def test_csv_becomes_parquet_with_texts_for_what_is_kept(parking, tmp_path):
    source = csv_file(tmp_path / "r.csv", "id,metres,fast,kind\na,0.3,false,wall\n")
    score_file(parking, source, tmp_path / "o.parquet")
    found = read(tmp_path / "o.parquet").to_pylist()
    assert found[0]["metres"] == "0.3"
    assert found[0]["total"] == totals(parking)[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "is empty"),
        (b"metres,fast,kind,metres\n1,true,wall,2\n", "has the column 'metres' twice"),
        (b"\xff\xfem\x00", "r.csv is UTF-16 text; save it as UTF-8."),
        (b"\xffm\n", "r.csv, line 1: byte 1 is not UTF-8."),
        (b'"metres,fast,kind', "line 1: not a valid line of CSV"),
    ],
)
def test_what_is_no_csv_is_refused(parking, tmp_path, text, told):
    with pytest.raises(FileError, match=told):
        score_file(parking, csv_file(tmp_path / "r.csv", text), tmp_path / "o.csv")
    assert not (tmp_path / "o.csv").exists()


def test_a_header_alone_gives_a_header(parking, tmp_path):
    score_file(parking, csv_file(tmp_path / "r.csv", "metres,fast,kind\n"), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "metres,fast,kind,total,gap,calm,ok\n"


def test_a_csv_without_a_column_is_told_at_once(parking, tmp_path):
    with pytest.raises(MissingField, match=r"lacks 'metres'.*\n.*Did you mean 'meters'"):
        score_file(parking, csv_file(tmp_path / "r.csv", "meters,fast,kind\n1,0,wall\n"), tmp_path / "o.csv")


def test_an_empty_text_and_an_absent_one_stay_apart(parking, tmp_path):
    text = 'note,metres,fast,kind\n"",1,1,wall\n,1,1,wall\n'
    score_file(parking, csv_file(tmp_path / "r.csv", text), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text().splitlines()[1].startswith('""')
    assert (tmp_path / "o.csv").read_text().splitlines()[2].startswith(",")


def test_a_byte_order_mark_and_windows_line_ends_are_no_mistake(parking, tmp_path):
    source = csv_file(tmp_path / "r.csv", b"\xef\xbb\xbfmetres,fast,kind\r\n0.3,false,wall\r\n")
    score_file(parking, source, tmp_path / "o.csv")
    assert [float(row["total"]) for row in csv_rows(tmp_path / "o.csv")] == totals(parking)[:1]


def test_json_lines_in_utf_16_are_refused(parking, tmp_path):
    (tmp_path / "r.jsonl").write_bytes(json.dumps(ROWS[0]).encode("utf-16"))
    with pytest.raises(FileError, match=r"r.jsonl is UTF-16 text; save it as UTF-8."):
        score_file(parking, tmp_path / "r.jsonl", tmp_path / "o.jsonl")


def test_a_file_that_is_not_there_is_told_with_one_that_is(parking, tmp_path):
    csv_file(tmp_path / "rows.csv", "metres,fast,kind\n")
    with pytest.raises(FileError, match=r"row.csv does not exist. Did you mean 'rows.csv'\?"):
        score_file(parking, tmp_path / "row.csv", tmp_path / "o.csv")


def test_csv_cannot_hold_lists(mixed, write, tmp_path):
    with pytest.raises(FileError, match="CSV cannot hold the column 'torque'"):
        score_file(mixed, write("rows.parquet", table(2)), tmp_path / "o.csv")
    score_file(mixed, write("rows.parquet", table(2)), tmp_path / "o.csv", keep=["id", "prev"])
    assert (tmp_path / "o.csv").read_text().startswith("id,prev.done,prev.note,total,")


# -- JSON Lines -------------------------------------------------------------------------------------------------------


def test_lines_are_kept_as_they_were_written(parking, tmp_path):
    texts = ['{"metres":0.30, "fast":false,"kind":"wall", "z": [1, {"y": null}]}', *map(json.dumps, ROWS[1:])]
    done = score_file(parking, json_file(tmp_path / "r.jsonl", texts), tmp_path / "o.jsonl")
    written = (tmp_path / "o.jsonl").read_text().splitlines()
    assert done.rows == 3
    assert all(new.startswith(old[:-1] + ', "total": ') for old, new in zip(texts, written, strict=True))
    assert [row["total"] for row in json_objects(tmp_path / "o.jsonl")] == totals(parking)


def test_values_of_another_kind_are_bad_rows(parking, tmp_path):
    rows = [
        ROWS[0],
        {**ROWS[0], "metres": "far"},
        {**ROWS[0], "metres": "inf"},
        {**ROWS[0], "metres": None},
        {**ROWS[0], "metres": True},
        {**ROWS[0], "fast": 1},
        {**ROWS[0], "fast": "yes"},
        {**ROWS[0], "kind": 3},
        {**ROWS[0], "metres": 2**53 + 1},
        {"id": "x"},
    ]
    done = score_file(parking, json_file(tmp_path / "r.jsonl", rows), tmp_path / "o.jsonl")
    found = json_objects(tmp_path / "o.jsonl")
    assert [row["ok"] for row in found] == [True, False, False, False, False, True, False, False, False, False]
    assert done.reasons == {
        "metres is not a number": 3,
        "metres is NULL": 2,
        "total adds up to a number that is not finite": 1,
        "fast is not a bool": 1,
        "kind is not a string": 1,
    }
    assert found[1]["total"] is None
    with pytest.raises(WrongType, match=r"line 2: .*'far' is a str; a number is needed"):
        score_file(parking, tmp_path / "r.jsonl", tmp_path / "o2.jsonl", on_bad="raise")


def test_a_torn_last_line_is_left_out_and_counted(parking, tmp_path):
    source = tmp_path / "r.jsonl"
    source.write_text(json.dumps(ROWS[0]) + "\n\n" + json.dumps(ROWS[1]) + "\n" + json.dumps(ROWS[2])[:20])
    done = score_file(parking, source, tmp_path / "o.jsonl")
    assert (done.rows, done.unreadable) == (2, 1)
    assert [row["id"] for row in json_objects(tmp_path / "o.jsonl")] == ["a", "b"]
    with pytest.raises(InputError, match="line 4: not valid JSON"):
        score_file(parking, source, tmp_path / "o2.jsonl", on_bad="raise")


@pytest.mark.parametrize("line", ["[1, 2]", '{"metres": 1, "metres": 2}', "{} {}", "nonsense", '"text"', "\udcff"])
def test_a_line_that_is_no_row_is_left_out(parking, tmp_path, line):
    source = tmp_path / "r.jsonl"
    source.write_bytes(f"{json.dumps(ROWS[0])}\n{line}\n{json.dumps(ROWS[1])}\n".encode(errors="surrogateescape"))
    done = score_file(parking, source, tmp_path / "o.jsonl")
    assert (done.rows, done.unreadable, done.bad) == (2, 1, 0)


def test_records_may_be_nested_or_dotted_from_line_to_line(mixed, tmp_path):
    rows = table(6).to_pylist()
    dotted = [
        {k: v for k, v in row.items() if k not in ("prev", "curr")}
        | {f"{end}.{k}": v for end in ("prev", "curr") for k, v in row[end].items()}
        for row in rows
    ]
    mixture = [one if at % 2 else two for at, (one, two) in enumerate(zip(rows, dotted, strict=True))]
    for name, content in (("nested", rows), ("dotted", dotted), ("first", mixture), ("second", mixture[::-1])):
        source = json_file(tmp_path / f"{name}.jsonl", content)
        score_file(mixed, source, tmp_path / "o.jsonl", overwrite=True)
        wanted = [total for total, _, _ in expected(mixed, rows)]
        found = [row["total"] for row in json_objects(tmp_path / "o.jsonl")]
        assert found == (wanted[::-1] if name == "second" else wanted), name


@pytest.mark.parametrize("at", [0, 5])
@pytest.mark.parametrize("first", ["nested", "dotted"])
def test_a_row_that_gives_a_name_flat_and_in_a_record_is_left_out(mixed, tmp_path, first, at):
    rows = table(6).to_pylist()
    if first == "dotted":
        rows = [flatten_records(row) for row in rows]
    name, value = next((name, value) for name, value in flatten_records(rows[at]).items() if name.startswith("prev."))
    rows[at] = {**rows[at], name: value, "prev": {name.removeprefix("prev."): value}}
    done = score_file(mixed, json_file(tmp_path / "r.jsonl", rows), tmp_path / "o.jsonl")
    assert (done.rows, done.unreadable, done.bad) == (5, 1, 0)


def test_many_blocks_give_what_one_gives(mixed, tmp_path, monkeypatch):
    rows = table(200).to_pylist()
    source = json_file(tmp_path / "r.jsonl", rows)
    monkeypatch.setattr(lines, "BLOCK", 1_000)
    told = []
    score_file(mixed, source, tmp_path / "o.jsonl", progress=lambda *one: told.append(one), batch_rows=3)
    assert [row["total"] for row in json_objects(tmp_path / "o.jsonl")] == [t for t, _, _ in expected(mixed, rows)]
    assert told[-1] == (source.stat().st_size, source.stat().st_size)


def test_json_lines_become_parquet_and_back(mixed, tmp_path):
    rows = table(20).to_pylist()
    score_file(mixed, json_file(tmp_path / "r.jsonl", rows), tmp_path / "o.parquet")
    found = read(tmp_path / "o.parquet")
    assert found.schema.field("prev").type == pa.struct([("done", pa.float64()), ("note", pa.string())])
    assert [row["total"] for row in found.to_pylist()] == [total for total, _, _ in expected(mixed, rows)]
    score_file(mixed, tmp_path / "o.parquet", tmp_path / "back.jsonl", prefix="again.", against="total")
    assert json_objects(tmp_path / "back.jsonl")[0]["again.total"] == found["total"][0].as_py()


def test_a_column_that_changes_its_kind_is_told(parking, tmp_path):
    rows = [{**ROWS[0], "note": 1}, {**ROWS[0], "note": "one"}]
    source = json_file(tmp_path / "r.jsonl", [rows[0]] * 10 + [rows[1]])
    with pytest.raises(FileError, match="'note'"):
        score_file(
            parking, json_file(tmp_path / "r.jsonl", [rows[0]] * 10 + [rows[1]]), tmp_path / "o.parquet", batch_rows=2
        )
    score_file(parking, source, tmp_path / "o.jsonl")


def test_a_key_that_is_taken_is_told(parking, tmp_path):
    source = json_file(tmp_path / "r.jsonl", [ROWS[0], {**ROWS[0], "total": 3}])
    with pytest.raises((FileError, ValueError), match="already has a column 'total'"):
        score_file(parking, source, tmp_path / "o.jsonl")
    score_file(parking, source, tmp_path / "o.jsonl", prefix="new.")


def test_a_file_whose_rows_all_lack_a_key_is_told_and_one_without_rows_is_scored(parking, tmp_path):
    with pytest.raises(MissingField, match="lacks 'metres', 'fast' and 'kind'"):
        score_file(parking, json_file(tmp_path / "r.jsonl", [{"id": 1}]), tmp_path / "o.jsonl")
    assert score_file(parking, json_file(tmp_path / "r.jsonl", []), tmp_path / "o.jsonl").rows == 0


def test_an_input_with_a_default_may_come_in_a_later_block(tmp_path, monkeypatch):
    @term
    def late(x):
        return x

    reward = Reward("late", version="1", terms=[late], fields=[Field("x", missing=1.0)])
    monkeypatch.setattr(lines, "BLOCK", 100)
    source = json_file(tmp_path / "r.jsonl", [*[{"id": at} for at in range(50)], {"id": 50, "x": 7.0}])
    score_file(reward, source, tmp_path / "o.jsonl")
    assert [row["total"] for row in json_objects(tmp_path / "o.jsonl")] == [*[1.0] * 50, 7.0]


def test_only_some_keys_may_be_kept(parking, tmp_path):
    score_file(parking, json_file(tmp_path / "r.jsonl", ROWS), tmp_path / "o.jsonl", keep=["id"])
    assert json_objects(tmp_path / "o.jsonl")[0] == {
        "id": "a", "total": 1.5, "gap": 1.0, "calm": 0.5, "ok": True,
    }  # fmt: skip


def test_keys_that_every_line_has_others_of_cost_no_more_than_their_number(parking, tmp_path):
    def work(size):
        rows = [{**ROWS[0], f"k{n}": n} for n in range(size)]
        with Source(str(json_file(tmp_path / f"{size}.jsonl", rows))) as source:
            JsonLinesSource(source)

    assert measure_growth(work, 100, 1_600) < 60  # 16 times as many; the square would be 256


INTEGERS = [
    ([{"x": 3, "prev": {"y": 1}, "id": 7}, {"x": None, "prev": {"y": 2}, "id": 8}], ["int64", "int64"]),
    ([{"x": 3, "prev.y": 1, "id": 7}, {"x": 4.0, "prev.y": 2, "id": 8}], ["double", "int64"]),
    ([{"x": 3, "prev": {"y": 1}, "id": 7}, {"x": "inf", "prev": {"y": 2.5}, "id": 8}], ["double", "double"]),
    ([{"x": 3, "prev": {"y": 1}, "id": 7}, {"x": True, "prev.y": 2, "id": 8}], ["double", "int64"]),
]


@pytest.mark.parametrize(("rows", "kinds"), INTEGERS, ids=["whole", "float", "infinite", "mixed"])
@pytest.mark.parametrize("many", [1, 2_000])
def test_integers_of_json_lines_are_integers_in_parquet(tmp_path, monkeypatch, rows, kinds, many):
    @term
    def both(x, prev):
        return x + prev.y

    reward = Reward("whole", version="1", terms=[both], fields=[Field("x", infinite=True), Field("y")])
    monkeypatch.setattr(lines, "BLOCK", 4_096)  # the last line is not in the first block
    texts = [json.dumps(row) for row in [rows[0]] * many + [rows[1]]]
    (tmp_path / "rows.jsonl").write_text("\n".join(texts), encoding="utf-8")
    score_file(reward, tmp_path / "rows.jsonl", tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet").flatten()
    assert [str(found.schema.field(name).type) for name in ("x", "prev.y", "id")] == [*kinds, "int64"]
    assert found["total"].to_pylist()[0] == 4.0
    assert json.dumps(found["prev.y"].to_pylist()[0]) == ("1" if kinds[1] == "int64" else "1.0")


# -- columns that may be misspelt --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def braking():
    @term
    def calm(distance, fresh_braking, torque):
        return distance - fresh_braking - torque[0] - torque[1]

    fields = [Field("distance"), Field("fresh_braking", missing=0.5), Field("torque", length=2, missing=0.0)]
    return Reward("braking", version="1", terms=[calm], fields=fields)


def write_rows(path, rows):
    """Write flat rows in the format of a file's name."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]))
    else:
        json_file(path, rows)
    return path


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_a_column_that_has_nearly_the_name_of_an_input_with_a_default_is_remarked(braking, tmp_path, name):
    row = {"distance": 9.0, "fresh_breaking": 2.0, "torqe[0]": 1.0, "torque[1]": 1.0}
    source = write_rows(tmp_path / name, [row, row])
    found = score_file(braking, source, tmp_path / f"scored-{name}")
    remarks = (
        "fresh_braking is not among the columns, so its default is used. Did you mean 'fresh_breaking'? "
        "(--column fresh_braking=fresh_breaking)",
        "torque[0] is not among the columns, so its default is used. Did you mean 'torqe[0]'? "
        "(--column 'torque[0]=torqe[0]')",
    )
    if name == "rows.jsonl":  # whose rows may give a vector whole, or each its own entries
        remarks = remarks[:1]
    assert found.remarks == remarks
    assert found.to_dict()["remarks"] == remarks
    assert str(found).splitlines()[1:] == [*remarks]
    columns = {"fresh_braking": "fresh_breaking", "torque[0]": "torqe[0]"}
    if name != "rows.jsonl":
        assert score_file(braking, source, tmp_path / f"again-{name}", columns=columns).remarks == ()


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_a_column_that_is_read_or_has_another_name_is_not_remarked(braking, tmp_path, name):
    rows = [{"distance": 9.0, "fresh_braking": 2.0, "fresh_breaking": 1.0, "colour": 3}]
    assert score_file(braking, write_rows(tmp_path / name, rows), tmp_path / f"scored-{name}").remarks == ()


def test_a_column_that_parquet_has_no_type_for_is_told(parking, tmp_path):
    rows = [{**ROWS[0], "x": None}, {**ROWS[0], "x": {"a": [1, {"b": None}]}}]
    with pytest.raises(UnusableFile, match="'x' starts as string and later changes"):
        score_file(parking, json_file(tmp_path / "r.jsonl", rows), tmp_path / "o.parquet")


def test_values_of_every_kind_become_parquet_however_they_are_mixed(tmp_path):
    @term
    def both(x, torque, fast, phase, prev):
        return (x + torque[0] + prev.y) if fast and phase == "near" else x

    fields = [Field("x"), Field("y"), Field("torque", length=2), Field("fast", flag=True)]
    fields.append(Field("phase", values=["near", "far"], other="far"))
    reward = Reward("mixed", version="1", terms=[both], fields=fields)
    good = {"x": 1.5, "torque": [1, 2], "fast": True, "phase": "near", "prev": {"y": 1}}
    odd = [{"fast": 1}, {"fast": 0}, {"fast": 2}, {"fast": "yes"}, {"phase": 5}, {"prev": 3}, {"x": 10**30}]
    odd += [{"torque": [1]}, {"torque": [[1], 2]}, {"torque": "inf"}, {"phase": "unheard of"}, {"prev": {"y": "inf"}}]
    source = json_file(tmp_path / "r.jsonl", [{**good, **each} for each in [{}, *odd]])
    text = score_file(reward, source, tmp_path / "o.jsonl")
    assert score_file(reward, source, tmp_path / "o.parquet").reasons == text.reasons
    written, told = pa.parquet.read_table(tmp_path / "o.parquet").to_pylist(), json_objects(tmp_path / "o.jsonl")
    assert [(row["total"], row["ok"]) for row in written] == [(row["total"], row["ok"]) for row in told]
    assert [row["fast"] for row in written[:5]] == [True, True, False, None, None]
    for row, wanted in zip(written, told, strict=True):
        kept = {name: row[name] for name in ("x", "torque", "fast", "phase")}
        assert not row["ok"] or kept == {name: wanted[name] for name in kept}
