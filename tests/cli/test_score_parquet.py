"""`plaudit score` on Parquet: the numbers of every other format, in memory that does not grow, and nothing half-done."""

import json
import os
import signal
import sys
import time
from decimal import Decimal

import pytest

from plaudit import Field, Reward, term
from support.command_line import built_in
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
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture
def table(tmp_path):
    """Write a Parquet file of roadsense's rows, with other columns in the place of some, and return its name."""

    def write(name="rows.parquet", **other):
        pq.write_table(pa.table({**COLUMNS, **other}), tmp_path / name)
        return name

    return write


STEPS = {
    "distance": [30.0, 12.0, 4.0, 50.0],
    "deceleration": [1.0, 3.5, 5.0, 0.0],
    "action": [0.0, 1.0, 3.0, 0.0],
    "kind": ["keep", "brake", "brake", None],
}


@pytest.fixture
def steps(tmp_path):
    pq.write_table(pa.table(STEPS), tmp_path / "steps.parquet")
    return "steps.parquet"


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    """A data set that takes a while."""
    path = tmp_path_factory.mktemp("many") / "rows.parquet"
    many = pa.concat_tables([pa.table(STEPS)] * 50_000).combine_chunks()
    with pq.ParquetWriter(path, many.schema) as writer:
        for _ in range(50):
            writer.write_table(many)
    return path


def read(path):
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("name", SAMPLES)
def test_parquet_gives_what_the_reward_gives_to_the_bit(plaudit, write, tmp_path, name):
    reward, rows = SAMPLES[name], EPISODES[name]
    write("reward.json", reward.to_json())
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    pq.write_table(table, tmp_path / "rows.parquet")
    done = plaudit(
        "score", "reward.json", "rows.parquet", "-o", "scores.parquet", "--scores", "--keep", next(iter(names))
    )
    assert done.exit_code == 0, done.output
    found = read(tmp_path / "scores.parquet")
    for row, scored in zip(rows, found, strict=True):
        assert list(scored.items())[1:] == [*reward.score(**row).to_row().items(), ("ok", True)]


@pytest.mark.parametrize("output", ["s.csv", "s.jsonl", "s.parquet", "s.PQ"])
def test_every_format_becomes_every_other(plaudit, table, tmp_path, output):
    result = plaudit("score", "roadsense", table(), "-o", output)
    told = f"3 rows scored with roadsense@R0 and written to {output}.\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, told, "")
    assert (tmp_path / output).exists()
    if output.lower().endswith("q"):
        assert [row["total"] for row in read(tmp_path / output)] == TOTALS


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
    assert [row["total"] for row in read(tmp_path / "s.parquet")] == [11.0, 0.0, None, None]
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
    ],
    ids=["timestamp", "list", "struct", "string"],
)
def test_a_column_that_cannot_be_is_told_with_the_file(plaudit, table, tmp_path, other, told):
    result = plaudit("score", "roadsense", table(**other), "-o", "s.parquet")
    assert result.exit_code == 2
    assert told in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


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
    assert (found.num_rows, found.column_names[2:5]) == (0, ["action", "total", "safety"])


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


def test_without_pyarrow_text_is_scored_and_for_parquet_the_extra_is_named(write, tmp_path):
    script = "import sys; sys.modules['pyarrow'] = None; from plaudit.cli import main; main()"

    def score(*arguments):
        command = [sys.executable, "-c", script, "score", "roadsense", *arguments]
        return run_python(command, cwd=tmp_path, capture_output=True)

    write("rows.csv", "distance,deceleration,action", "30,1,0")
    write("rows.parquet", "")
    write("rows.jsonl", {"distance": 30, "deceleration": 1, "action": 0})
    for source, output in (("rows.csv", "s.jsonl"), ("rows.jsonl", "s.csv")):
        done = score(source, "-o", output, "--against", "roadsense")
        assert done.returncode == 0, done.stderr
        assert b"1 of them bit-identical" in done.stdout
    assert score("rows.csv", "--format", "csv").stdout.splitlines()[1] == b"30,1,0,1.0,1.0,0.0,0.0,true"
    for files in (["rows.csv", "-o", "s.parquet"], ["rows.parquet", "-o", "o.csv"]):
        done = score(*files)
        assert done.returncode == 2
        assert b"pip install 'plaudit[data]'" in done.stderr


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


# -- data sets: what changed, other names, engines --------------------------------------------------------------------


def list_totals(reward=None):
    reward = reward or built_in("roadsense")
    names = ("distance", "deceleration", "action")
    return [
        reward.score(**dict(zip(names, row, strict=True))).total for row in zip(*(STEPS[n] for n in names), strict=True)
    ]


def test_a_data_set_gets_the_rewards(plaudit, steps, tmp_path):
    done = plaudit("score", "roadsense", steps, "--output", "out.parquet")
    assert done.exit_code == 0
    assert done.stdout == "4 rows scored with roadsense@R0 and written to out.parquet.\n"
    assert pq.read_table(tmp_path / "out.parquet")["total"].to_pylist() == list_totals()


def test_what_changed_is_told(plaudit, steps):
    command = ("score", "roadsense", steps, "--set", "safety.weight=-1", "--against", "roadsense")
    done = plaudit(*command, "--decision-class", "kind", "--output", "o.csv")
    assert done.exit_code == 0
    assert "4 totals compared" in done.stdout
    assert "Rank correlation of steps (Spearman)" in done.stdout
    assert "brake" in done.stdout
    told = json.loads(plaudit(*command, "--output", "p.jsonl", "--json").stdout)
    assert told["rows"] == told["changes"]["records"] == 4
    assert told["changes"]["new"]["mean"] == pytest.approx(
        sum(list_totals(built_in("roadsense").with_weights(safety=-1))) / 4
    )


def test_a_column_of_old_totals_a_prefix_and_columns_to_keep(plaudit, steps, tmp_path):
    plaudit("score", "roadsense", steps, "--output", "one.parquet", "--scores")
    done = plaudit(
        "score",
        "roadsense",
        "one.parquet",
        "--against",
        "total",
        "--prefix",
        "new.",
        "--keep",
        "kind",
        "--output",
        "t.csv",
    )
    assert "4 of them bit-identical" in done.stdout
    assert (tmp_path / "t.csv").read_text().splitlines()[0].startswith("kind,new.total,")


def test_bad_rows_are_told_and_make_the_exit_code_1(plaudit, tmp_path):
    pq.write_table(pa.table({**STEPS, "distance": [30.0, None, -1.0, 50.0]}), tmp_path / "steps.parquet")
    done = plaudit("score", "roadsense", "steps.parquet", "--output", "out.parquet")
    assert done.exit_code == 3
    assert "2 rows cannot be scored, and are written with NULL:\n  1 × distance is NULL\n" in done.stdout
    stopped = plaudit("score", "roadsense", "steps.parquet", "--output", "o2.parquet", "--on-bad", "raise")
    assert stopped.exit_code == 2
    assert "steps.parquet, row 2: " in stopped.stderr
    assert not (tmp_path / "o2.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["roadsense", "nothing.parquet"], "does not exist"),
        (["roadsense", "."], "becomes a folder of parts: name it with --output"),
        (["roadsense", ".", "--output", "o", "--bad", "b.jsonl"], "and do not use --bad"),
        (["roadsense", ".", "--engine", "ray"], "ray reads and writes files: name DATA, and what to write"),
        (["roadsense", ".", "--engine", "ray", "--output", "o", "--bad", "b.jsonl"], "and do not use --bad"),
        (["rodsense", "steps.parquet"], "Did you mean 'roadsense'"),
        (["roadsense", "steps.parquet", "--column", "distance"], "--column distance: write INPUT=COLUMN"),
        (["roadsense", "steps.parquet", "--decision-class", "kind"], "need --against"),
        (["roadsense", "steps.parquet", "--output", "steps.parquet"], "is the input file"),
    ],
)
def test_what_cannot_be_done_is_told(plaudit, steps, tmp_path, arguments, told):
    done = plaudit("score", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == [steps]


def test_data_that_lack_a_column_are_no_wrong_usage(plaudit, steps, tmp_path):
    done = plaudit("score", "roadsense@R8", "steps.parquet", "-o", "o.csv")
    assert done.exit_code == 2
    assert "lacks 'closing_rate'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [steps]


def test_inputs_may_lie_under_other_names(plaudit, tmp_path):
    names = ["gap_m", "deceleration", "action", "kind"]
    pq.write_table(pa.table(STEPS).rename_columns(names), tmp_path / "steps.parquet")
    done = plaudit("score", "roadsense", "steps.parquet", "-o", "o.parquet", "--column", "distance=gap_m")
    assert done.exit_code == 0
    assert pq.read_table(tmp_path / "o.parquet")["total"].to_pylist() == list_totals()


@posix
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_command_that_is_stopped_leaves_nothing(process, tmp_path, many_rows, number, code):
    os.link(many_rows, tmp_path / "steps.parquet")
    running = process("score", "roadsense", "steps.parquet", "--output", "out.parquet")
    while not any(path.name.endswith(".part") and path.stat().st_size for path in tmp_path.iterdir()):
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    running.send_signal(number)
    _, stderr = running.communicate()
    assert running.returncode == code, stderr
    assert b"Traceback" not in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["steps.parquet"]


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_engines_beyond_one_process_are_called(plaudit, steps, tmp_path, monkeypatch, engine):
    from plaudit.ledger.dataset import FileScoring

    asked = {}

    def pretend(reward, source, target, **options):
        asked.update(options, source=source, target=target)
        return FileScoring(f"{reward.name}@{reward.version}", "f", source, target, engine, rows=4)

    import importlib

    module = importlib.import_module(f"plaudit.adapters.{engine}")
    monkeypatch.setattr(module, f"score_with_{engine}", pretend)
    done = plaudit("score", "roadsense", steps, "--engine", engine, "--output", "out", "--keep", "kind")
    assert done.exit_code == 0
    assert asked["target"] == "out"
    assert asked["keep"] == ("kind",)
