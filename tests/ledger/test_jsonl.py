"""Logs of JSON lines: appended whole, mended where they were torn, read faithfully or not at all."""

import json
import math
import os
import threading
from itertools import accumulate
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.file_lock import hold_lock
from plaudit.ledger import jsonl
from plaudit.ledger.jsonl import append_line, decode, encode, mend_lines, read_lines
from support.examples import examples

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
ROWS = [{"step": step, "r_step": step / 7, "note": "ü\n\0\ud800"[: step % 5]} for step in range(2, 27)]


def write(path, rows=ROWS):
    for row in rows:
        assert append_line(path, row, fsync=False) == b""
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


@pytest.fixture
def calls(monkeypatch):
    """Every call to the operating system that writes or asks the disk, by name."""
    seen = []
    for name in ("write", "fdatasync", "fsync"):
        real = getattr(os, name)

        def counted(*args, name=name, real=real):
            seen.append(name)
            return real(*args)

        monkeypatch.setattr(os, name, counted)
    return seen


# -- writing -------------------------------------------------------------------------------------------------


def test_rows_come_back_in_order_and_nothing_but_the_file_is_left(path, tmp_path):
    write(path, ROWS[:5])
    write(path, ROWS[5:])
    assert list(read_lines(path)) == ROWS
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("fsync", [True, False])
def test_a_line_is_one_write_and_on_the_disk_unless_the_caller_does_without(path, calls, fsync):
    for row in ROWS:
        append_line(path, row, fsync=fsync)
    assert calls.count("write") == len(ROWS)
    assert calls.count("fdatasync") == fsync * len(ROWS)
    assert calls[0] == "fsync"  # the folder, before anything is in the file
    assert calls.count("fsync") == 1


def test_threads_take_turns(path):
    work = [
        threading.Thread(target=lambda me=me: write(path, [{"me": me, "n": n} for n in range(200)])) for me in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    rows = list(read_lines(path))
    for me in range(4):
        assert [row["n"] for row in rows if row["me"] == me] == list(range(200))


# -- what the system does to a writer ------------------------------------------------------------------------


def test_short_writes_lose_nothing(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[: max(1, len(data) // 2)]))
    assert list(read_lines(write(path))) == ROWS


@pytest.mark.parametrize(
    ("error", "wanted", "match"),
    [
        (
            OSError(28, "No space left on device"),
            errors.FileError,
            "rows.jsonl cannot be written: No space left on device",
        ),
        (KeyboardInterrupt("Ctrl-C"), KeyboardInterrupt, "Ctrl-C"),
    ],
    ids=["full", "Ctrl-C"],
)
@pytest.mark.parametrize("taken", range(0, 40, 6))
def test_a_line_that_fails_in_the_middle_is_taken_back(path, monkeypatch, taken, error, wanted, match):
    before = write(path, ROWS[:3]).read_bytes()
    real, left = os.write, [taken]

    def fail(file, data):
        if not left[0]:
            raise error
        data = data[: left[0]]
        left[0] -= len(data)
        return real(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(wanted, match=match):
            append_line(path, {"pad": "x" * 50})
    assert path.read_bytes() == before
    write(path, ROWS[3:4])  # there is room again
    assert list(read_lines(path)) == ROWS[:4]


def refuse(*args):
    raise OSError(5, "Input/output error")


def test_a_line_that_cannot_be_taken_back_is_cut_before_the_next(path, monkeypatch):
    write(path, ROWS[:1])
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: real(file, data[:9]) if len(data) > 30 else refuse())
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(errors.FileError, match="cannot be written: Input/output error"):
            append_line(path, {"pad": "x" * 22})
    assert append_line(path, ROWS[1]) == b'{"pad": "'
    assert list(read_lines(path)) == ROWS[:2]


@posix
def test_a_line_that_the_disk_does_not_keep_is_an_error(path, monkeypatch):
    write(path, ROWS[:1])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with pytest.raises(errors.FileError, match="cannot be written: Input/output error"):
            append_line(path, ROWS[1])
    append_line(path, ROWS[2])
    assert list(read_lines(path)) == [ROWS[0], ROWS[2]]


@posix
def test_a_file_that_is_replaced_in_this_moment_takes_no_row(path, monkeypatch):
    write(path, ROWS[:1])
    opened = os.open

    def replaced(where, *options):
        file = opened(where, *options)
        if where == str(path):
            path.unlink()
            path.write_text("")
        return file

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", replaced)
        with pytest.raises(errors.FileError, match="replaced just now; nothing was written"):
            append_line(path, ROWS[1])
    assert path.read_bytes() == b""


@posix
def test_another_writer_that_does_not_let_go_is_an_error_with_its_time(path):
    path.touch()
    with (
        path.open("rb") as other,
        hold_lock(other.fileno(), "", 1.0),
        pytest.raises(errors.LedgerBusy, match=r"rows.jsonl for 0.05 s"),
    ):
        append_line(path, ROWS[0], timeout=0.05)
    assert path.read_bytes() == b""


@posix
def test_a_place_that_cannot_be_used_is_one_clear_error(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for place in ("folder", "no/such/folder/rows.jsonl", "pipe", "nul\0"):
        with pytest.raises(errors.FileError, match="cannot be written: "):
            append_line(tmp_path / place, ROWS[0])
    for place in ("folder", "missing.jsonl"):
        with pytest.raises(errors.FileError, match="cannot be read: "):
            read_lines(tmp_path / place)


# -- torn and damaged files ----------------------------------------------------------------------------------


def test_a_file_cut_at_every_byte_of_its_last_three_rows_keeps_the_others(path, counted):
    whole = write(path).read_bytes()
    ends = list(accumulate(len(line) for line in whole.splitlines(keepends=True)))
    cuts = range(ends[-4], len(whole) + 1)
    for cut in cuts:
        path.write_bytes(whole[:cut])
        # A row is whole once its closing brace is there; the newline after it adds nothing.
        rows = sum(end - 1 <= cut for end in ends)
        torn = whole[:cut][ends[rows - 1] :]
        reader = read_lines(path)
        assert list(reader) == ROWS[:rows]
        assert reader.dropped == torn
        if cut % 2:
            assert mend_lines(path) == torn
            torn = b""
        assert append_line(path, {"after": cut}, fsync=False) == torn
        assert list(read_lines(path)) == [*ROWS[:rows], {"after": cut}]
    counted("JSON lines cut short", cuts=len(cuts), lost=0)


def test_a_flipped_bit_is_found_or_read_as_it_stands(path, counted):
    whole = write(path).read_bytes()
    found = 0
    for at in range(0, len(whole), 3):  # each bit of a byte in turn
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        reader, rows = read_lines(path), []
        try:
            rows.extend(reader)
        except errors.LedgerError:  # which names the line: another test shows it
            found += 1
        lines = bytes(flipped).split(b"\n")
        assert rows == [json.loads(line) for line in lines[: len(rows)]]
        assert len(rows) == len(ROWS) or reader.dropped or reader.number == len(rows) + 1
    counted("bits flipped in JSON lines", flips=len(whole) // 3, told=found, misread=0)
    assert found > len(whole) / 12


@pytest.mark.parametrize("size", [1, 40, 512])
def test_a_hole_in_the_middle_is_an_error_and_not_an_end(path, size):
    whole = bytearray(write(path).read_bytes())
    whole[200 : 200 + size] = bytes(size)
    path.write_bytes(whole)
    with pytest.raises(errors.LedgerError, match=r"rows.jsonl, line \d: .*fix or remove the line"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (b'{"step": 3, "step": 4}', "the key 'step' appears twice"),
        (b'{"r_step": NaN}', "NaN is not a number"),
        (b'{"step": 3', "not JSON"),
        (b"[3]", "not an object"),
        (b'{"a": "\xff"}', "not UTF-8"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_bad_line_is_named_wherever_it_stands(path, bad, match, end):
    for lines, number in (([bad, b"{}"], 1), ([b"{}", b"", bad, b"{}"], 3), ([b"{}", bad], 2)):
        path.write_bytes(end.join(lines) + end)
        with pytest.raises(errors.LedgerError, match=rf"rows.jsonl, line {number}: .*{match}"):
            list(read_lines(path))


def test_a_last_line_that_is_whole_and_wrong_is_not_taken_for_a_torn_one(path):
    for bad in (b'{"a": 1, "a": 1}', b"12", b'{"a": NaN}'):
        path.write_bytes(b"{}\n" + bad)
        with pytest.raises(errors.LedgerError, match="line 2"):
            list(read_lines(path))
        with pytest.raises(errors.LedgerError, match="last line"):
            append_line(path, ROWS[0])
        assert path.read_bytes() == b"{}\n" + bad


@pytest.mark.parametrize("text", ["hello", "a,b\n1,2", '{\n  "a": 1\n}', "[1,\n2", "\ufeff{}\n{", "{}\nhello"])
def test_what_is_no_file_of_json_lines_is_left_alone(path, text):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.LedgerError, match="is not a JSON Lines file|last line"):
        append_line(path, ROWS[0])
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", [b"", b"\n", b"{}", b"{}\r\n", b"{}\r\n\r\n{}", b" {} \n\t\n{}\n"])
def test_line_ends_of_every_kind_are_read(path, text):
    path.write_bytes(text)
    reader = read_lines(path)
    assert list(reader) == [{}] * text.count(b"{}")
    assert reader.dropped == b""
    assert append_line(path, ROWS[0]) == b""
    assert list(read_lines(path)) == [{}] * text.count(b"{}") + ROWS[:1]


def test_a_torn_line_longer_than_a_block_is_cut_whole(path):
    write(path, [{"pad": "x" * 200_000}, {"pad": "y" * 200_000}])
    whole = path.read_bytes()
    path.write_bytes(whole[:-70_000])
    assert len(mend_lines(path)) == 200_012 - 70_000
    assert [row["pad"][0] for row in read_lines(path)] == ["x"]


def test_rows_are_read_as_they_are_asked_for(path):
    write(path, [{"n": n} for n in range(5)])
    with path.open("ab") as file:
        file.write(b"not JSON\n")
    reader = read_lines(path)
    assert next(reader) == {"n": 0}
    assert reader.number == 1
    with pytest.raises(errors.LedgerError, match="line 6"):
        list(reader)


def test_a_line_that_is_too_long_is_refused_by_writer_and_reader(path, monkeypatch):
    write(path, [{"pad": "x" * 300_000}])
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 1 << 17)
    with pytest.raises(errors.InputError, match="longer than"):
        append_line(path, {"pad": "x" * 300_000})
    with pytest.raises(errors.LedgerError, match="line 1: it is longer than"):
        list(read_lines(path))


# -- one row as JSON, and back -------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=20)  # lone surrogates and NUL among them
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20)
ANY_ROWS = st.dictionaries(TEXTS, VALUES)


def same(one, other):
    """Return whether two values are equal to the bit: 1 is not 1.0, and 0.0 is not -0.0."""
    return repr(one) == repr(other)


@examples(0.4)
@given(row=ANY_ROWS)
def test_what_is_read_again_is_what_was_written(row):
    line = encode(row)
    assert line.isascii()
    assert line.isprintable()  # so it is one line for every reader
    assert same(decode(line), row)
    assert same(decode(line.encode()), row)


@pytest.mark.parametrize(
    "row",
    [
        {"note": "Robert'); DROP TABLE records;-- \" ` \\ % _"},
        {"note": "\0\x01\x1f\x7f\u2028\u2029\ufeff"},
        {"note": "\ud800 alone, and \udfff"},
        {"number": 2**200, "small": 5e-324, "zero": -0.0},
        {"": {"": [{}]}},
        {"x": "y" * 10_000_000},
    ],
    ids=["SQL", "control characters", "lone surrogates", "numbers", "empty", "10 MB"],
)
def test_hostile_content_comes_back_as_it_was(row):
    assert same(decode(encode(row)), row)


def deep(levels):
    row = {}
    for _ in range(levels):
        row = {"in": row}
    return row


@pytest.mark.parametrize(
    ("row", "kind", "match"),
    [
        ({"r_step": math.nan}, errors.NotFinite, "is nan"),
        ({"r_step": [math.inf]}, errors.NotFinite, "is inf"),
        ({1: "a"}, errors.WrongType, "key 1"),
        ({"in": [{None: 1}]}, errors.WrongType, "key None"),
        ({"in": {1, 2}}, errors.WrongType, "set"),
        ({"in": object()}, errors.WrongType, "object"),
        ({"in": b"bytes"}, errors.WrongType, "bytes"),
        ({"in": 10**5000}, errors.InputError, "digits"),
        (deep(100_000), errors.InputError, "nested too deeply"),
        ([1, 2], errors.WrongType, "a JSON line must be an object"),
        ("text", errors.WrongType, "a JSON line must be an object"),
    ],
    ids=[
        "NaN",
        "infinity",
        "number as key",
        "null as key",
        "set",
        "object",
        "bytes",
        "digits",
        "depth",
        "list",
        "text",
    ],
)
def test_what_would_come_back_as_something_else_is_refused(row, kind, match):
    with pytest.raises(kind, match=match):
        encode(row)


def test_any_mapping_is_a_row():
    assert encode(MappingProxyType({"step": 2})) == '{"step": 2}'


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('{"a": 1, "b": 2, "a": 1}', "the key 'a' appears twice"),
        ('{"in": [{"b": 1, "b": 1}]}', "the key 'b' appears twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ('{"a": 1e999}', "1e999 is too large for a double"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "not an object"),
        ("null", "not an object"),
        ("12", "not an object"),
        ('{"a": 1} {"a": 1}', "not JSON .Extra data at character 10"),
        ("\ufeff{}", "not JSON .*BOM"),
        (b'{"a": "\xff"}', "not UTF-8 .byte 8"),
    ],
)
def test_what_cannot_be_trusted_is_refused(line, match):
    with pytest.raises(ValueError, match=match):
        decode(line)


def test_a_line_is_spelt_as_json_spells_it():
    row = {"step": 5, "delta_pass_rate": 0.0, "phase_advance": True, "error": None}
    assert encode(row) == json.dumps(row) == '{"step": 5, "delta_pass_rate": 0.0, "phase_advance": true, "error": null}'
