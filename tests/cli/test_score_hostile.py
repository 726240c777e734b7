"""`plaudit score` on everything that a file should not be: told, kept, and nothing half-written."""

import base64
import codecs
import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.rows import lines as limits
from plaudit.rows.csv_files import CsvSource
from plaudit.rows.scoring import find_columns
from plaudit.rows.streams import Source
from support.command_line import built_in
from support.growth import measure_growth
from support.samples import following

GOOD = '{"distance": 30.0, "deceleration": 1.0, "action": 0}'
HEADER = "distance,deceleration,action"


def files(folder) -> set[str]:
    return set(os.listdir(folder))


# -- bad rows: the others are scored --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "kind", "told"),
    [
        ("{", "InputError", "not valid JSON: Expecting property name"),
        ('{"distance": 30', "InputError", "not valid JSON: Expecting ',' delimiter (character 16)."),
        (f"{GOOD} {GOOD}", "InputError", "not valid JSON: Extra data"),
        ("[1, 2]", "InputError", "a row must be a JSON object, {…}, not [1, 2]."),
        ("null", "InputError", "a row must be a JSON object, {…}, not None."),
        (GOOD.replace("30.0", "NaN"), "NotFinite", "field 'distance': the value is NaN."),
        (GOOD.replace("30.0", "-Infinity"), "NotFinite", "field 'distance': -inf is not allowed."),
        (GOOD.replace("1.0", '"inf"'), "NotFinite", "field 'deceleration': inf is not allowed."),
        (GOOD.replace("30.0", "1e999"), None, ""),  # JSON for infinity, which the field allows
        (GOOD.replace("30.0", "-1"), "OutOfRange", "field 'distance': -1.0 is outside its declared range"),
        (GOOD.replace("30.0", str(2**53 + 1)), "OutOfRange", "2**53"),
        (GOOD.replace("30.0", "9" * 5_000), "InputError", "not a valid row: Exceeds the limit"),
        (GOOD.replace("30.0", '"30.0"'), "WrongType", "field 'distance': '30.0' is a str; a number is needed."),
        (GOOD.replace("30.0", "true"), "WrongType", "field 'distance': True is a bool; a number is needed."),
        (GOOD.replace("30.0", "null"), "MissingField", "needs 'distance', which was not given"),
        (GOOD.replace("30.0", "[30.0]"), "WrongType", "field 'distance': [30.0] is a list"),
        (GOOD.replace('"action": 0', '"action": 7'), "OutOfRange", "field 'action': 7.0 is not one of 0, 1, 2, 3."),
        (GOOD.replace("action", "actoin"), "MissingField", "needs 'action', which was not given"),
        ('{"distance": 30.0, "deceleration": 1.0}', "MissingField", "needs 'action', which was not given"),
        ('{"distance": 1, "distance": 2}', "InputError", "'distance' is given twice."),
        ("{}", "MissingField", "needs 'distance', which was not given"),
        ("[" * 10_000 + "]" * 10_000, "InputError", "the JSON is nested too deeply."),
        ('{"distance": ' + "[" * 10_000 + "]" * 10_000 + "}", "InputError", "the JSON is nested too deeply."),
        (GOOD.replace("30.0", "3\x000"), "InputError", "not valid JSON"),
    ],
)
def test_a_bad_row_of_json_is_told_and_kept(plaudit, write, objects, tmp_path, line, kind, told):
    write("rows.jsonl", GOOD, line, GOOD)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.jsonl")
    written = [json.loads(row) for row in (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    scored = [row["total"] for row in written if row["ok"]]
    if kind is None:
        assert scored == [1.0, 0.5, 1.0]
        return
    assert result.exit_code == 3
    assert scored == [1.0, 1.0]
    assert len(written) == (2 if kind == "InputError" else 3)  # a line that is no row has no columns to be kept
    assert result.stderr.startswith("line 2: ")
    assert told in result.stderr
    assert result.stdout.startswith("2 rows scored with roadsense@R0 and written to scores.jsonl.\n1 ")
    assert result.stdout.endswith("Bad rows are in scores.bad.jsonl.\n")
    [bad] = objects("scores.bad.jsonl")
    assert (bad["line"], bad["kind"], bad["row"]) == (2, kind, line)
    assert told in bad["error"]
    assert files(tmp_path) == {"rows.jsonl", "scores.jsonl", "scores.bad.jsonl"}


@pytest.mark.parametrize(
    ("line", "kind", "told"),
    [
        ("30,1", "InputError", "the row has 2 cells, but the header has 3."),
        ("30", "InputError", "the row has 1 cell, but the header has 3."),
        ("30,1,0,", "InputError", "the row has 4 cells, but the header has 3."),
        ('"30,1,0', "InputError", "not a valid line of CSV"),
        ('"30"x,1,0', "InputError", "not a valid line of CSV"),
        ("30;1;0", "InputError", "the row has 1 cell, but the header has 3."),
        ("thirty,1,0", "WrongType", "field 'distance': 'thirty' is not a number."),
        ("1_000,1,0", "WrongType", "field 'distance': '1_000' is not a number."),
        ("3\x000,1,0", "WrongType", "field 'distance': '3\\x000' is not a number."),
        ("nan,1,0", "NotFinite", "field 'distance': the value is NaN."),
        ("-inf,1,0", "NotFinite", "field 'distance': -inf is not allowed."),
        ("30,inf,0", "NotFinite", "field 'deceleration': inf is not allowed."),
        (f"{2**53 + 1},1,0", "OutOfRange", "2**53"),
        (",1,0", "MissingField", "needs 'distance', which was not given"),
        ("30,1,1.5", "OutOfRange", "field 'action': 1.5 is not one of 0, 1, 2, 3."),
        ("-3,1,0", "OutOfRange", "outside its declared range"),
        ('"inf", 1 ,0', None, ""),
        ("+3.0e1,1,0.0", None, ""),
    ],
)
def test_a_bad_row_of_csv_is_told_and_kept(plaudit, write, objects, line, kind, told):
    write("rows.csv", HEADER, "30,1,0", line, "30,1,0")
    result = plaudit("score", "roadsense", "rows.csv", "-o", "scores.jsonl")
    scored = [row["total"] for row in objects("scores.jsonl") if row["ok"]]
    if kind is None:
        assert len(scored) == 3
        return
    assert result.exit_code == 3
    assert scored == [1.0, 1.0]
    assert told in result.stderr
    [bad] = objects("scores.bad.jsonl")
    assert (bad["line"], bad["kind"], bad["row"]) == (3, kind, line)


@pytest.mark.parametrize(("name", "first"), [("rows.jsonl", GOOD), ("rows.csv", HEADER)])
def test_a_line_that_is_not_utf_8_is_kept_byte_for_byte(plaudit, write, objects, name, first):
    write(name, first, b'{"distance": "\xff"}', b"\x80\x81,\x00,")
    result = plaudit("score", "roadsense", name, "-o", "scores.csv")
    assert result.exit_code == 3
    assert "line 2: byte 15 of the line is not UTF-8." in result.stderr
    kept = [base64.b64decode(row["row_base64"]) for row in objects("scores.bad.jsonl")]
    assert kept == [b'{"distance": "\xff"}', b"\x80\x81,\x00,"]


@pytest.mark.parametrize("length", [50, 51, 52, 53, 99, 100, 101, 500])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_that_is_too_long_is_kept_byte_for_byte(plaudit, tmp_path, objects, monkeypatch, length, end):
    monkeypatch.setattr(limits, "LONGEST_LINE", 51)
    line = b'{"distance": ' + b"1" * length
    good = b'{"distance":9,"deceleration":1,"action":0}\n'
    (tmp_path / "rows.jsonl").write_bytes(good + line + end + (good if end else b""))
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.jsonl")
    assert result.exit_code == 3
    assert len(objects("scores.jsonl")) == (2 if end else 1)
    [bad] = objects("scores.bad.jsonl")
    assert base64.b64decode(bad["row_base64"]) == line
    assert "line 2: the line is longer than 51 bytes." in result.stderr


def test_only_the_first_ten_are_told_and_all_are_kept(plaudit, write, objects):
    write("rows.jsonl", GOOD, *["{}"] * 25)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "scores.jsonl")
    assert [f"line {n}: " in result.stderr for n in range(2, 14)] == [True] * 10 + [False] * 2
    assert result.stderr.endswith("\n…\n")
    assert "25 rows cannot be scored, and are written with NULL" in result.stdout
    assert [row["line"] for row in objects("scores.bad.jsonl")] == list(range(2, 27))


def test_bad_rows_can_go_elsewhere(plaudit, write, objects, tmp_path):
    write("rows.jsonl", GOOD, "{}")
    assert plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv", "--bad", "aside.log").exit_code == 3
    assert len(objects("aside.log")) == 1
    assert files(tmp_path) == {"rows.jsonl", "s.csv", "aside.log"}


def test_bad_rows_of_an_earlier_run_go_with_its_scores(plaudit, write, tmp_path):
    write("rows.jsonl", GOOD, "{}")
    plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv")
    assert files(tmp_path) == {"rows.jsonl", "s.csv", "s.bad.jsonl"}
    write("rows.jsonl", GOOD)
    plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv", "--force")
    assert files(tmp_path) == {"rows.jsonl", "s.csv"}
    plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv", "--bad", "aside.log", "--force")
    assert (tmp_path / "aside.log").read_bytes() == b""


def test_a_value_that_overflows_is_a_bad_row(plaudit, write, objects):
    write("rows.jsonl", {"x": 1.0}, {"x": 1e10})
    write(
        "big.py",
        "from plaudit import Field, Reward, term\n@term(weight=1e305)\ndef big(x):\n    return x\n"
        "reward = Reward('big', version='1', terms=[big], fields=[Field('x')])",
    )
    assert plaudit("score", "big.py:reward", "rows.jsonl", "-o", "s.jsonl").exit_code == 3
    assert [row["ok"] for row in objects("s.jsonl")] == [True, False]


@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([GOOD.encode(), b"", b" ", b"{}", b"30,1,0"]))))
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_no_line_is_ever_lost(tmp_path_factory, name, lines):
    from click.testing import CliRunner

    from plaudit.cli import main

    folder = tmp_path_factory.mktemp("lines")
    lines = [line.replace(b"\n", b"") for line in lines]
    first = HEADER if name == "rows.csv" else GOOD
    (folder / name).write_bytes(b"".join(line + b"\n" for line in [first.encode(), *lines]))
    output, kept = folder / f"s.{name[5:]}", folder / "s.bad.jsonl"
    result = CliRunner().invoke(
        main, ["score", "roadsense", str(folder / name), "-o", str(output)], catch_exceptions=False
    )
    bad = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []
    assert result.exit_code == (3 if bad else 0)
    assert [row["line"] for row in bad] == sorted({row["line"] for row in bad})
    no_rows = [
        row["row"].encode() if "row" in row else base64.b64decode(row["row_base64"])
        for row in bad
        if row["kind"] == "InputError"
    ]
    written = output.read_bytes()
    if name == "rows.csv":
        rows = re.findall(rb"(.*?)(?:,[^,\n]*){4},(?:true|false)\n", written.partition(b"\n")[2], re.DOTALL)
    else:
        rows = [line.rpartition(b'"total": ')[0].removesuffix(b", ") for line in written.splitlines()[1:]]
        lines = [
            line if line.rstrip(b"\r") in no_rows else line.rstrip()[:-1].rstrip() for line in lines if line.strip()
        ]
    found = [line for row in [*rows, *no_rows] for line in row.split(b"\n")]
    assert Counter(line.rstrip(b"\r") for line in found) == Counter(
        line.rstrip(b"\r") for line in lines if line.strip()
    )


# -- files that cannot be scored at all -------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("name", "lines"), [("rows.jsonl", ["", GOOD, "  ", GOOD]), ("rows.csv", [HEADER, "30,1,0", "", "30,1,0"])]
)
def test_marks_line_ends_and_blank_lines_do_not_matter(plaudit, write, objects, tmp_path, name, lines, end, mark):
    path = write(name, *lines, end=end)
    path.write_bytes(mark + path.read_bytes().removesuffix(end))
    result = plaudit("score", "roadsense", name, "-o", "s.jsonl")
    assert result.exit_code == 0, result.stderr
    assert [row["total"] for row in objects("s.jsonl")] == [1.0, 1.0]
    assert files(tmp_path) == {name, "s.jsonl"}


@pytest.mark.parametrize(
    ("name", "content"), [("rows.jsonl", b""), ("rows.jsonl", b"\n\n"), ("rows.csv", HEADER.encode())]
)
def test_a_file_without_rows_has_no_scores(plaudit, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    result = plaudit("score", "roadsense", name, "-o", "s.jsonl")
    assert (result.exit_code, result.stdout) == (0, "0 rows scored with roadsense@R0 and written to s.jsonl.\n")
    assert (tmp_path / "s.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("rows.csv", b"", "rows.csv is empty; a CSV file starts with a line of column names."),
        ("rows.csv", b"\n", "rows.csv is empty"),
        ("rows.csv", b"distnce,deceleration,action\n", "lacks 'distance', which reward 'roadsense' needs."),
        ("rows.csv", b"distnce,deceleration,action\n", "distance: Did you mean 'distnce'?"),
        ("rows.csv", b"distance,action,deceleration,action\n", "rows.csv has the column 'action' twice."),
        ("rows.csv", b'"distance,deceleration,action\n', "rows.csv, line 1: not a valid line of CSV"),
        ("rows.csv", b"\xffdistance\n", "rows.csv, line 1: byte 1 is not UTF-8."),
        ("rows.csv", "distance\n".encode("utf-16"), "rows.csv is UTF-16 text; save it as UTF-8."),
        ("rows.csv", b"x" * (limits.LONGEST_LINE + 1), "rows.csv is not CSV: its first line is longer than"),
        ("rows.jsonl", GOOD.encode("utf-16"), "rows.jsonl is UTF-16 text; save it as UTF-8."),
        ("rows.jsonl", GOOD.replace("action", "actoin").encode(), "action: Did you mean 'actoin'?"),
    ],
)
def test_a_file_that_cannot_be_is_one_error_and_no_output(plaudit, tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "s.jsonl").write_bytes(b"as it was")
    result = plaudit("score", "roadsense", name, "-o", "s.jsonl", "--force")
    assert result.exit_code == 2
    assert told in result.stderr
    assert files(tmp_path) == {name, "s.jsonl"}
    assert (tmp_path / "s.jsonl").read_bytes() == b"as it was"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("rows.csv", ["speed,distance,deceleration,,action", "9,30,1,x,0"]),
        ("rows.jsonl", ['{"distance": 30.0, "deceleration": 1.0, "action": 0, "speed": {"x": 3}}']),
    ],
)
def test_other_columns_are_kept(plaudit, write, tmp_path, name, lines):
    write(name, *lines)
    output = name.replace("rows", "out")
    assert plaudit("score", "roadsense", name, "-o", output).exit_code == 0
    assert (tmp_path / output).read_text(encoding="utf-8").splitlines()[-1].startswith(lines[-1].rstrip("}"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"prev.phase": "coding"}, "'prev.phase' is given twice."),
        ({"prev": [1]}, "'prev' must be an object, not [1]."),
        ({"curr": None}, "'curr' must be an object, not None."),
    ],
)
def test_a_transition_that_cannot_be_is_told(plaudit, write, change, told):
    state = {"phase": "coding", "test_pass_rate": 0.5, "tokens_used": 9}
    row = {"prev": state, "curr": {**state, "switch_committed": True}}
    write("rows.jsonl", row, {**row, **change})
    result = plaudit("score", "apex", "rows.jsonl", "-o", "s.jsonl")
    assert result.exit_code == 3
    assert told in result.stderr


# -- files that cannot be read or written -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["row.jsonl", "-o", "s.csv"], "row.jsonl does not exist. Did you mean 'rows.jsonl'?"),
        (["no/rows.jsonl", "-o", "s.csv"], "does not exist."),
        (["folder.csv", "-o", "s.csv"], "the folder folder.csv has no .parquet file."),
        (["rows.jsonl", "-o", "folder.csv"], "folder.csv is a directory; name a file in it."),
        (["rows.jsonl", "-o", "no/s.csv"], "s.csv cannot be written: there is no folder"),
        (["rows.jsonl", "-o", "s.csv", "--bad", "no/s.csv"], "cannot be written: there is no folder"),
        (["rows.jsonl", "-o", "rows.jsonl"], "rows.jsonl is the input file"),
        (["rows.jsonl", "-o", "./folder.csv/../rows.jsonl"], "is the input file"),
        (["rows.jsonl", "-o", "link.jsonl"], "link.jsonl is the input file"),
        (["rows.jsonl", "-o", "s.csv", "--bad", "rows.jsonl"], "rows.jsonl is the input file"),
        (["rows.jsonl", "-o", "s.csv", "--bad", "s.csv"], "s.csv cannot hold both the scores and the bad rows"),
    ],
)
def test_files_that_cannot_be_used_are_told(plaudit, write, tmp_path, options, told):
    rows = write("rows.jsonl", GOOD)
    os.link(rows, tmp_path / "link.jsonl")
    (tmp_path / "folder.csv").mkdir()
    result = plaudit("score", "roadsense", *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert files(tmp_path) == {"rows.jsonl", "link.jsonl", "folder.csv"}
    assert rows.read_text(encoding="utf-8") == f"{GOOD}\n"


def denied(*arguments, **options):
    raise PermissionError(13, "Permission denied")


def test_an_input_without_permission_is_told(plaudit, write, monkeypatch):
    write("rows.jsonl", GOOD)
    monkeypatch.setattr("plaudit.rows.streams.open", denied, raising=False)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv")
    assert (result.exit_code, result.stderr) == (2, "Error: rows.jsonl cannot be read: Permission denied\n")


def test_a_folder_without_permission_is_told(plaudit, write, monkeypatch, tmp_path):
    write("rows.jsonl", GOOD)
    monkeypatch.setattr("pathlib.Path.open", denied)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv")
    assert (result.exit_code, result.stderr) == (2, "Error: s.csv cannot be written: Permission denied\n")
    assert files(tmp_path) == {"rows.jsonl"}


def test_an_output_that_is_read_only_is_left_alone(plaudit, write, monkeypatch):
    write("rows.jsonl", GOOD)
    output = write("s.csv", "as it was")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv", "--force")
    assert (result.exit_code, result.stderr) == (2, "Error: s.csv cannot be written: Permission denied\n")
    assert output.read_text(encoding="utf-8") == "as it was\n"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX links and modes")
def test_links_and_modes_of_an_output_are_kept(plaudit, write, tmp_path):
    write("rows.jsonl", GOOD)
    target = write("real.csv", "as it was")
    target.chmod(0o600)
    (tmp_path / "s.csv").symlink_to("real.csv")
    assert plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv", "--force").exit_code == 0
    assert (tmp_path / "s.csv").is_symlink()
    assert target.read_text(encoding="utf-8").startswith("distance,")
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_disk_that_fails_leaves_what_was_there(plaudit, write, monkeypatch, tmp_path, step):
    write("rows.jsonl", GOOD, "{}")
    output = write("s.csv", "as it was")

    def fails(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, fails)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "s.csv", "--force")
    assert result.exit_code == 2
    assert "cannot be written: No space left on device" in result.stderr
    assert files(tmp_path) == {"rows.jsonl", "s.csv"}
    assert output.read_text(encoding="utf-8") == "as it was\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_told(plaudit, write):
    write("rows.jsonl", GOOD)
    result = plaudit("score", "roadsense", "rows.jsonl", "-o", "/dev/full", "--format", "csv")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    command = [sys.executable, "-m", "plaudit", "score", "roadsense", "rows.jsonl"]
    with open("/dev/full", "wb") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": ""}  # so that Python, too, flushes at the end
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (done.returncode, done.stderr) == (2, "Error: standard output cannot be written: No space left on device\n")


def test_the_reward_is_found_before_any_file_is_touched(plaudit, tmp_path):
    result = plaudit("score", "rodsense", "rows.jsonl", "-o", "s.csv")
    assert result.exit_code == 2
    assert "Did you mean 'roadsense'?" in result.stderr
    assert files(tmp_path) == set()


def test_a_specification_scores_like_the_reward_it_came_from(plaudit, write, objects, tmp_path):
    (tmp_path / "r.json").write_text(built_in("roadsense").to_json(), encoding="utf-8")
    write("rows.jsonl", GOOD)
    assert plaudit("score", "r.json", "rows.jsonl", "-o", "s.jsonl").exit_code == 0
    assert objects("s.jsonl")[0]["total"] == 1.0


def test_a_header_is_read_in_time_that_grows_with_its_columns_and_not_with_their_square(tmp_path):
    def work(size):
        path = tmp_path / f"{size}.csv"
        path.write_text(",".join([HEADER, *(f"c{n}" for n in range(size))]))
        with Source(str(path)) as source:
            find_columns(following, CsvSource(source))

    assert measure_growth(work, 500, 8_000) < 60  # 16 times as many; the square would be 256
