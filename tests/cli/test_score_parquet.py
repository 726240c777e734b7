"""`plaudit score` on Parquet: the numbers of every other format, in memory that does not grow, and nothing half-done."""

import json
import sys
from decimal import Decimal

import pytest

from plaudit import Field, Reward, term
from support.forking import run_python
from support.samples import EPISODES, SAMPLES

pa = pytest.importorskip("pyarrow", reason="needs plaudit[data]")
pq = pytest.importorskip("pyarrow.parquet", reason="needs plaudit[data]")

COLUMNS = {
    "distance": pa.array([30.0, float("inf"), 4.0]),
    "deceleration": pa.array([1.0, 0.0, 5.0]),
    "action": pa.array([0, 1, 3]),
}
TOTALS = [1.0, 0.5, -110.0]


@pytest.fixture
def table(tmp_path):
    """Write a Parquet file of roadsense's rows, with other columns in the place of some, and return its name."""

    def write(name="rows.parquet", **other):
        pq.write_table(pa.table({**COLUMNS, **other}), tmp_path / name)
        return name

    return write


def read(path):
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("name", SAMPLES)
def test_parquet_gives_what_the_reward_gives_to_the_bit(plaudit, write, tmp_path, name):
    reward, rows = SAMPLES[name], EPISODES[name]
    write("reward.json", reward.to_json())
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    pq.write_table(table, tmp_path / "rows.parquet")
    assert plaudit("score", "reward.json", "rows.parquet", "-o", "scores.parquet").exit_code == 0
    scored = [{"line": at, **reward.score(**row).to_row()} for at, row in enumerate(rows, start=1)]
    assert read(tmp_path / "scores.parquet") == scored


@pytest.mark.parametrize("output", ["s.csv", "s.jsonl", "s.parquet", "s.PQ"])
def test_every_format_becomes_every_other(plaudit, table, tmp_path, output):
    result = plaudit("score", "roadsense", table(), "-o", output)
    assert (result.exit_code, result.stderr) == (0, "3 rows scored with roadsense@R0.\n")
    assert (tmp_path / output).exists()
    if output.lower().endswith("q"):
        assert [row["total"] for row in read(tmp_path / output)] == TOTALS


def test_scores_are_written_in_row_groups_of_bounded_size(plaudit, table, tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.ledger.dataset.parquet_rows.GROUP", 2)
    assert plaudit("score", "roadsense", table(), "-o", "s.parquet").exit_code == 0
    footer = pq.ParquetFile(tmp_path / "s.parquet").metadata
    assert [footer.row_group(at).num_rows for at in range(footer.num_row_groups)] == [2, 1]


def test_parquet_goes_to_standard_output_and_does_not_come_from_standard_input(process, table, tmp_path):
    running = process("score", "roadsense", table(), "--format", "parquet")
    printed, _ = running.communicate()
    (tmp_path / "piped.parquet").write_bytes(printed)
    assert [row["total"] for row in read(tmp_path / "piped.parquet")] == TOTALS
    running = process("score", "roadsense", "--format", "parquet")
    printed, told = running.communicate((tmp_path / "rows.parquet").read_bytes())
    assert (running.returncode, printed) == (2, b"")
    assert b"standard input cannot be read as Parquet" in told
    with open(tmp_path / "rows.parquet", "rb") as file:
        command = [sys.executable, "-m", "plaudit", "score", "roadsense", "--format", "parquet"]
        redirected = run_python(command, stdin=file, capture_output=True)
    assert (redirected.returncode, redirected.stdout) == (2, b"")
    assert b"standard input cannot be read as Parquet" in redirected.stderr


@pytest.mark.parametrize(
    "other",
    [
        {"distance": pa.array([Decimal("30.0"), Decimal("99.0"), Decimal("4.0")], pa.decimal128(6, 2))},
        {"distance": pa.array([30, 99, 4], pa.uint8())},
        {"distance": pa.array([30, 99, 4], pa.float16())},
        {"action": pa.array([0, 1, 3]).dictionary_encode()},
        {"action": pa.array([0.0, 1.0, 3.0], pa.float32())},
    ],
    ids=["decimal", "uint8", "float16", "dictionary", "float32"],
)
def test_a_number_is_a_number_in_whatever_type(plaudit, table, tmp_path, other):
    assert plaudit("score", "roadsense", table(**other), "-o", "s.parquet").exit_code == 0
    assert [row["safety"] for row in read(tmp_path / "s.parquet")][::2] == [1.0, -100.0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_strings_and_flags_come_in_whatever_type(plaudit, write, tmp_path, kind):
    @term
    def both(ready, colour):
        return (10 if ready else 0) + (1 if colour == "red" else 0)

    fields = [Field("ready", flag=True), Field("colour", values=("red", "blue"))]
    write("odd.json", Reward("odd", version="1", terms=[both], fields=fields).to_json())
    colours = pa.array(["red", "blue", "green", None]).cast(kind)
    pq.write_table(pa.table({"ready": pa.array([1, 0, 1, 1]), "colour": colours}), tmp_path / "rows.parquet")
    result = plaudit("score", "odd.json", "rows.parquet", "-o", "s.parquet")
    assert result.exit_code == 3
    assert [row["total"] for row in read(tmp_path / "s.parquet")] == [11.0, 0.0]
    assert "row 3: reward 'odd', field 'colour': 'green'" in result.stderr
    assert "row 4: reward 'odd' needs 'colour', which was not given." in result.stderr


def test_bad_rows_are_kept_with_their_number(plaudit, table, objects):
    nulls = {"distance": pa.array([30.0, None, -1.0])}
    result = plaudit("score", "roadsense", table(**nulls), "-o", "s.csv")
    assert result.exit_code == 3
    assert "row 2: reward 'roadsense' needs 'distance', which was not given." in result.stderr
    kept = objects("s.bad.jsonl")
    assert [(bad["line"], bad["kind"]) for bad in kept] == [(2, "MissingField"), (3, "OutOfRange")]
    assert json.loads(kept[0]["row"]) == {"deceleration": 0.0, "action": 1}


TIMES = pa.array([1, 2, 3], pa.timestamp("s"))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"distance": TIMES}, "rows.parquet: reward 'roadsense', field 'distance': a column of timestamp"),
        ({"distance": pa.array([[1.0], [2.0], [3.0]])}, "field 'distance': a column of list"),
        ({"distance": pa.array([{"a": 1}] * 3)}, "field 'distance': a column of struct"),
        ({"distance": pa.array(["1", "2", "3"])}, "field 'distance': a column of string does not hold a number"),
        ({"when": TIMES}, "rows.parquet: reward 'roadsense' does not read 'when'."),
        ({"distnce": TIMES}, "does not read 'distnce'. Did you mean 'distance'?"),
        ({"prev": pa.array([{"a": 1}] * 3)}, "does not read 'prev.a'"),
    ],
    ids=["timestamp", "list", "struct", "string", "extra", "misspelt", "record"],
)
def test_a_column_that_cannot_be_is_told_with_the_file(plaudit, table, tmp_path, other, told):
    result = plaudit("score", "roadsense", table(**other), "-o", "s.parquet")
    assert result.exit_code == 2
    assert told in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_other_columns_can_be_left_out_whatever_they_hold(plaudit, table):
    result = plaudit("score", "roadsense", table(when=TIMES, prev=pa.array([{"a": 1}] * 3)), "--ignore-extra")
    assert [json.loads(line)["total"] for line in result.stdout.splitlines()] == TOTALS


def test_a_column_that_lacks_is_told(plaudit, tmp_path):
    pq.write_table(pa.table({"distance": [1.0], "action": [0]}), tmp_path / "rows.parquet")
    result = plaudit("score", "roadsense", "rows.parquet", "-o", "s.parquet")
    assert result.exit_code == 2
    assert "rows.parquet lacks 'deceleration', which reward 'roadsense' needs." in result.stderr


def test_a_column_that_is_there_twice_is_told(plaudit, tmp_path):
    twice = pa.Table.from_arrays([*COLUMNS.values(), COLUMNS["action"]], names=[*COLUMNS, "action"])
    pq.write_table(twice, tmp_path / "rows.parquet")
    result = plaudit("score", "roadsense", "rows.parquet", "-o", "s.parquet")
    assert result.exit_code == 2
    assert "rows.parquet has the column 'action' twice" in result.stderr


def test_a_file_without_rows_becomes_one_without_rows(plaudit, table, tmp_path):
    none = {name: column.slice(0, 0) for name, column in COLUMNS.items()}
    assert plaudit("score", "roadsense", table(**none), "-o", "s.parquet").exit_code == 0
    found = pq.read_table(tmp_path / "s.parquet")
    assert (found.num_rows, found.column_names[:3]) == (0, ["line", "total", "safety"])


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "page"])
def test_a_damaged_file_is_told_and_nothing_is_written(plaudit, table, tmp_path, damage):
    path = tmp_path / table()
    whole = path.read_bytes()
    pages = b"\xff" * (len(whole) // 4)
    damaged = {
        "empty": b"",
        "cut": whole[:-9],
        "text": b"distance\n1\n",
        "page": whole[:4] + pages + whole[4 + len(pages) :],
    }
    path.write_bytes(damaged[damage])
    result = plaudit("score", "roadsense", "rows.parquet", "-o", "s.parquet")
    assert result.exit_code == 2
    assert "rows.parquet cannot be read" in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["rows.parquet"]


def test_without_pyarrow_the_extra_is_named(plaudit, write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in [name for name in sys.modules if name.startswith(("plaudit.ledger.dataset", "pyarrow."))]:
        monkeypatch.delitem(sys.modules, name)
    write("rows.csv", "distance,deceleration,action", "1,1,0")
    write("rows.parquet", "")
    for files in (["rows.csv", "-o", "s.parquet"], ["rows.parquet", "-o", "s.csv"]):
        result = plaudit("score", "roadsense", *files)
        assert result.exit_code == 2
        assert "pip install 'plaudit[data]'" in result.stderr


def test_the_old_option_for_rows_still_works_and_one_file_is_enough(plaudit, write):
    write("rows.csv", "distance,deceleration,action", "30,1,0")
    assert plaudit("score", "roadsense", "-i", "rows.csv").stdout == plaudit("score", "roadsense", "rows.csv").stdout
    result = plaudit("score", "roadsense", "rows.csv", "--input", "other.csv")
    assert result.exit_code == 2
    assert "name one file" in result.stderr


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32()])
def test_a_column_of_narrow_floats_has_bounds_of_its_own_dtype(plaudit, write, tmp_path, kind):
    @term
    def push(force, torque):
        return force + torque[0] + torque[1]

    fields = [Field("force", low=-0.4, high=0.4), Field("torque", length=2, low=-0.1, high=0.1)]
    write("reward.json", Reward("pushes", version="1", terms=[push], fields=fields).to_json())
    torque = pa.array([[0.1, -0.1], [0.0, 0.0]]).cast(pa.list_(kind))
    table = pa.table({"force": pa.array([0.4, -0.4]).cast(kind), "torque": torque})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert plaudit("score", "reward.json", "rows.parquet", "-o", "scores.parquet").exit_code == 0
    assert [row["total"] for row in read(tmp_path / "scores.parquet")] == [0.4, -0.4]
    assert plaudit("rescore", "reward.json", "rows.parquet", "-o", "again.parquet").exit_code == 0
    assert [row["total"] for row in read(tmp_path / "again.parquet")] == [0.4, -0.4]
