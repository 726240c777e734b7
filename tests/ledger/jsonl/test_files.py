"""Files of JSON lines: written whole, mended where they were torn, read faithfully or not at all."""

import json
import os
import threading
from itertools import accumulate

import pytest

from plaudit import errors
from plaudit.file_lock import hold_lock
from plaudit.ledger.jsonl import JsonLines, read_lines

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
ROWS = [{"step": step, "r_step": step / 7, "note": "ü\n\0\ud800"[: step % 5]} for step in range(2, 27)]


def write(path, rows=ROWS, **options):
    with JsonLines(path, **options) as lines:
        for row in rows:
            lines.append(row)
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


def test_rows_come_back_in_order(path):
    assert list(read_lines(write(path))) == ROWS


def test_a_file_is_appended_to(path):
    write(path, ROWS[:5])
    write(path, ROWS[5:])
    assert list(read_lines(path)) == ROWS


def test_a_line_is_one_write(path, calls):
    write(path, fsync="never")
    assert calls.count("write") == len(ROWS)


def test_nothing_but_the_file_is_left(path, tmp_path):
    write(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("fsync", "asked"), [("always", 3), ("never", 0), (0, 1)])
def test_several_rows_are_two_writes_however_many_they_are(path, calls, fsync, asked):
    with JsonLines(path, fsync=fsync) as lines:
        lines.extend(ROWS)
    assert (calls.count("write"), calls.count("fdatasync")) == (2, asked)
    assert list(read_lines(path)) == ROWS


def test_of_several_rows_all_are_written_or_none(path):
    write(path, ROWS[:2])
    with JsonLines(path) as lines, pytest.raises(errors.NotFinite):
        lines.extend([ROWS[2], {"r_step": float("nan")}])
    assert list(read_lines(path)) == ROWS[:2]


@pytest.mark.parametrize(
    ("fsync", "asked"), [("always", len(ROWS)), ("never", 0), (3600, 1), (0, len(ROWS)), (0.0, len(ROWS))]
)
def test_the_caller_chooses_when_the_disk_is_asked(path, calls, fsync, asked):
    write(path, fsync=fsync)
    assert calls.count("fdatasync") == asked
    assert calls.count("fsync") == 1  # the folder


def test_seconds_are_the_longest_that_an_append_leaves_rows_behind(path, calls, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("plaudit.ledger.jsonl.files.time.monotonic", lambda: now[0])
    durable = []
    with JsonLines(path, fsync=10) as lines:
        for row in ROWS[:7]:
            now[0] += 4
            lines.append(row)
            durable.append(lines.durable)
    assert durable == [False, False, True, False, False, True, False]
    assert calls.count("fdatasync") == 3  # and once at the end


def test_durable_says_whether_the_disk_has_everything(path):
    with JsonLines(path, fsync="never") as lines:
        assert lines.durable
        lines.append(ROWS[0])
        assert not lines.durable
        lines.sync()
        assert lines.durable
    with JsonLines(path) as lines:
        lines.append(ROWS[0])
        assert lines.durable


@pytest.mark.parametrize("fsync", ["sometimes", -1, float("nan"), float("inf"), True, None])
def test_a_policy_that_is_none_is_refused(path, fsync):
    with pytest.raises(errors.InputError, match='say "always", "never" or a number of seconds'):
        JsonLines(path, fsync=fsync)
    assert not path.exists()


def test_a_closed_file_takes_no_rows(path):
    lines = JsonLines(path)
    lines.close()
    lines.close()
    with pytest.raises(errors.LedgerError, match="is closed"):
        lines.append({})


def test_threads_take_turns(path):
    with JsonLines(path, fsync="never") as lines:
        threads = [
            threading.Thread(target=lambda me=me: [lines.append({"me": me, "n": n}) for n in range(200)])
            for me in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = list(read_lines(path))
    for me in range(4):
        assert [row["n"] for row in rows if row["me"] == me] == list(range(200))


# -- what the system does to a writer ------------------------------------------------------------------------


def test_short_writes_lose_nothing(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[: max(1, len(data) // 2)]))
    assert list(read_lines(write(path))) == ROWS


@pytest.mark.parametrize("taken", range(0, 40, 3))
def test_a_line_that_fails_in_the_middle_is_taken_back(path, monkeypatch, taken):
    write(path, ROWS[:3])
    before = path.read_bytes()
    real, left = os.write, [taken]

    def full(file, data):
        if not left[0]:
            raise OSError(28, "No space left on device")
        data = data[: left[0]]
        left[0] -= len(data)
        return real(file, data)

    with JsonLines(path) as lines:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(errors.FileError, match="rows.jsonl cannot be written: No space left on device"):
            lines.append({"pad": "x" * 50})
        assert path.read_bytes() == before
        monkeypatch.setattr(os, "write", real)
        lines.append(ROWS[3])  # there is room again
    assert list(read_lines(path)) == ROWS[:4]


def test_a_line_is_taken_back_when_somebody_presses_ctrl_c(path, monkeypatch):
    real = os.write

    def interrupted(file, data):
        real(file, data[:5])
        raise KeyboardInterrupt

    with JsonLines(path) as lines:
        lines.append(ROWS[0])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                lines.append(ROWS[1])
        lines.append(ROWS[2])
    assert list(read_lines(path)) == [ROWS[0], ROWS[2]]


def failing(*args):
    raise OSError(5, "Input/output error")


def test_a_line_that_cannot_be_taken_back_stops_the_writer(path, monkeypatch):
    write(path, ROWS[:1])
    real = os.write
    with JsonLines(path) as lines:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda file, data: real(file, data[:9]) if len(data) > 30 else failing())
            patch.setattr(os, "ftruncate", failing)
            with pytest.raises(errors.LedgerBroken, match="may end in half a line.*Open it again"):
                lines.append({"pad": "x" * 22})
        with pytest.raises(errors.LedgerBroken, match="Open it again"):
            lines.append(ROWS[1])
    with JsonLines(path) as lines:
        assert lines.dropped == b'{"pad": "'
        lines.append(ROWS[1])
    assert list(read_lines(path)) == ROWS[:2]


def test_after_a_failure_of_the_disk_nothing_more_is_believed(path, monkeypatch):
    lines = JsonLines(path)
    lines.append(ROWS[0])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing)
        with pytest.raises(errors.LedgerBroken, match="failed to keep the last append .Input/output error."):
            lines.append(ROWS[1])
    assert not lines.durable
    for again in (lambda: lines.append(ROWS[2]), lines.sync):
        with pytest.raises(errors.LedgerBroken, match="Open it again"):
            again()
    lines.close()
    with JsonLines(path) as lines:
        lines.append(ROWS[2])
    assert list(read_lines(path))[-1] == ROWS[2]


@posix
def test_a_file_that_is_removed_or_replaced_takes_no_more_rows(path):
    with JsonLines(path) as lines:
        path.unlink()
        with pytest.raises(errors.LedgerBroken, match="removed or replaced"):
            lines.append(ROWS[0])
    with JsonLines(path) as lines:
        path.with_suffix(".new").write_text("")
        path.with_suffix(".new").replace(path)
        with pytest.raises(errors.LedgerBroken, match="removed or replaced"):
            lines.append(ROWS[0])
    assert path.read_bytes() == b""


@posix
def test_another_writer_that_does_not_let_go_is_an_error_with_its_time(path):
    with JsonLines(path, timeout=0.05) as lines:
        with (
            path.open("rb") as other,
            hold_lock(other.fileno(), "", 1.0),
            pytest.raises(errors.LedgerBusy, match=r"rows.jsonl for 0.05 s"),
        ):
            lines.append(ROWS[0])
        assert path.read_bytes() == b""
        lines.append(ROWS[0])
    assert list(read_lines(path)) == ROWS[:1]


@posix
def test_a_place_that_cannot_be_opened_is_one_clear_error(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for place in ("folder", "no/such/folder/rows.jsonl", "pipe", "nul\0"):
        with pytest.raises(errors.FileError, match="cannot be opened: "):
            JsonLines(tmp_path / place)
    for place in ("folder", "missing.jsonl"):
        with pytest.raises(errors.FileError, match="cannot be read: "):
            read_lines(tmp_path / place).__next__()


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
        with JsonLines(path, fsync="never") as lines:
            assert lines.dropped == torn
            lines.append({"after": cut})
        assert list(read_lines(path)) == [*ROWS[:rows], {"after": cut}]
    counted("JSON lines cut short", cuts=len(cuts), lost=0)


def test_what_another_process_tore_is_cut_before_the_next_row(path):
    with JsonLines(path) as lines:
        lines.append(ROWS[0])
        with path.open("ab") as other:
            other.write(b'{"half": "a li')
        lines.append(ROWS[1])
        assert lines.dropped == b'{"half": "a li'
    assert list(read_lines(path)) == ROWS[:2]


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
    with pytest.raises(errors.LedgerError, match=r"rows.jsonl, line \d: .*mend or remove the line"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (b'{"step": 3, "step": 4}', "the key 'step' is there twice"),
        (b'{"r_step": NaN}', "NaN is not a number"),
        (b'{"step": 3', "not JSON"),
        (b"[3]", "no object"),
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
            JsonLines(path)
        assert path.read_bytes() == b"{}\n" + bad


@pytest.mark.parametrize("text", ["hello", "a,b\n1,2", '{\n  "a": 1\n}', "[1,\n2", "\ufeff{}\n{"])
def test_what_is_no_file_of_json_lines_is_left_alone(path, text):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.LedgerError, match="is not a file of JSON lines|last line"):
        JsonLines(path)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", [b"", b"\n", b"{}", b"{}\r\n", b"{}\r\n\r\n{}", b" {} \n\t\n{}\n"])
def test_line_ends_of_every_kind_are_read(path, text):
    path.write_bytes(text)
    reader = read_lines(path)
    assert list(reader) == [{}] * text.count(b"{}")
    assert reader.dropped == b""
    with JsonLines(path) as lines:
        assert lines.dropped == b""
        lines.append(ROWS[0])
    assert list(read_lines(path)) == [{}] * text.count(b"{}") + ROWS[:1]


def test_a_torn_line_longer_than_a_block_is_cut_whole(path):
    write(path, [{"pad": "x" * 200_000}, {"pad": "y" * 200_000}])
    whole = path.read_bytes()
    path.write_bytes(whole[:-70_000])
    with JsonLines(path) as lines:
        assert len(lines.dropped) == 200_012 - 70_000
    assert [row["pad"][0] for row in read_lines(path)] == ["x"]


def test_rows_are_read_as_they_are_asked_for(path):
    write(path, [{"n": n} for n in range(5)])
    with path.open("ab") as file:
        file.write(b"not JSON\n")
    with read_lines(path) as reader:
        assert next(reader) == {"n": 0}
        assert reader.number == 1
    assert list(reader) == []
