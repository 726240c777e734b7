"""Several rows at once: all of them or none, wherever the writer dies, for readers and for the next writer."""

import json
import os
import sys
from pathlib import Path

import pytest

from plaudit.errors import InputError, LedgerError
from plaudit.ledger.jsonl import JsonLines, encoding, read_lines
from support.forking import run_python

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
BEFORE = [{"n": n} for n in range(3)]
BATCH = [{"n": n, "pad": "x" * (7 * n % 40)} for n in range(3, 30)]
AFTER = {"n": "after"}


@pytest.fixture
def images(monkeypatch):
    """What a file was after each few bytes that were written to it, and after each cut: where a kill could leave it."""
    found = []

    def note(file):
        found.append(Path(f"/proc/self/fd/{file}").read_bytes())

    def write(file, data, real=os.write):
        done = real(file, data[:23])
        note(file)
        return done

    def cut(file, size, real=os.ftruncate):
        real(file, size)
        note(file)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "ftruncate", cut)
    return found


@pytest.mark.parametrize("before", [[], BEFORE], ids=["a new file", "a file with rows"])
def test_wherever_a_writer_dies_all_rows_of_a_batch_are_there_or_none(tmp_path, monkeypatch, images, before):
    with JsonLines(tmp_path / "rows.jsonl") as lines:
        for row in before:
            lines.append(row)
        del images[:]
        lines.extend(BATCH)
    monkeypatch.undo()
    outcomes = []
    for at, image in enumerate(images):
        left = tmp_path / f"{at}.jsonl"
        left.write_bytes(image)
        reader = read_lines(left)
        rows = list(reader)
        assert rows in (before, before + BATCH)
        assert bool(reader.dropped) == (rows == before)
        with JsonLines(left) as lines:
            assert lines.dropped == reader.dropped
            lines.append(AFTER)
            lines.extend(BATCH)
        assert list(read_lines(left)) == [*rows, AFTER, *BATCH]
        assert left.read_bytes().count(b"\0") == 0
        outcomes.append(rows == before)
    assert outcomes == [True] * (len(images) - 1) + [False]
    assert len(images) > 40


def test_a_file_ends_in_plain_lines(tmp_path):
    with JsonLines(tmp_path / "rows.jsonl") as lines:
        lines.extend(BATCH)
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == BATCH


def test_a_reader_never_sees_a_part_of_a_batch_that_is_being_written(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    seen = []

    def write(file, data, real=os.write):
        done = real(file, data[:31])
        seen.append(len(list(read_lines(path))))
        return done

    with JsonLines(path, fsync="never") as lines:
        lines.extend(BEFORE)
        early = read_lines(path)
        assert next(early) == BEFORE[0]
        monkeypatch.setattr(os, "write", write)
        lines.extend(BATCH)
        monkeypatch.undo()
    assert set(seen) == {len(BEFORE)}
    assert list(early) == BEFORE[1:] + BATCH  # who reads along gets what is finished meanwhile


def test_a_mark_that_says_nothing_sensible_cuts_no_row(tmp_path):
    path = tmp_path / "rows.jsonl"
    with JsonLines(path) as lines:
        lines.extend(BEFORE)
    whole = path.read_bytes()
    for start in (1, len(whole) - 1, 10**19):  # in the middle of a line, or beyond the end
        path.write_bytes(whole + b"\0unfinished batch from byte %020d" % start)
        assert list(read_lines(path)) == BEFORE
        with JsonLines(path) as lines:
            lines.append(AFTER)
        assert list(read_lines(path)) == [*BEFORE, AFTER]


def test_a_line_that_is_too_long_is_refused_by_writer_and_reader(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    with JsonLines(path) as lines:
        lines.append({"pad": "x" * 300_000})
        for module in (encoding, sys.modules["plaudit.ledger.jsonl.reading"]):
            monkeypatch.setattr(module, "LONGEST_LINE", 1 << 17)
        with pytest.raises(InputError, match="longer than"):
            lines.append({"pad": "x" * 300_000})
    with pytest.raises(LedgerError, match="line 1: a line is longer than"):
        list(read_lines(path))


# A child writes batches until it is killed; the file must hold whole batches, in order.
KILL = """
import json, os, random, signal, sys, time
from plaudit.ledger.jsonl import JsonLines, read_lines

path, kills, rows, width = sys.argv[1], *map(int, sys.argv[2:])
draw = random.Random(7)
acknowledged = mended = 0
for life in range(kills):
    ears, mouth = os.pipe()
    child = os.fork()
    if not child:
        lines = JsonLines(path, fsync="never")
        os.write(mouth, b"%d\\n" % bool(lines.dropped))
        batch = 0
        while True:
            lines.extend({"life": life, "batch": batch, "n": n, "pad": "x" * (n % 7 * width)} for n in range(rows))
            os.write(mouth, b"%d\\n" % batch)
            batch += 1
    os.close(mouth)
    with os.fdopen(ears) as said:
        mended += int(said.readline())
        said.readline()
        time.sleep(draw.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        told = [int(line) for line in said if line.endswith("\\n")]
    found = [(row["batch"], row["n"]) for row in read_lines(path) if row["life"] == life]
    batches = len(found) // rows
    assert found == [(batch, n) for batch in range(batches) for n in range(rows)], f"{len(found)} of {rows} rows"
    assert batches > len(told), "acknowledged and lost"
    acknowledged += 1 + len(told)
    if os.path.getsize(path) > 8_000_000:
        os.truncate(path, 0)
print(json.dumps({"kills": kills, "acknowledged": acknowledged, "mended": mended}))
"""


def kill(path, kills, rows, width, counted):
    command = [sys.executable, "-c", KILL, path, str(kills), str(rows), str(width)]
    done = run_python(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    counted("writers of batches of JSON lines killed (kill -9)", **result, torn=0)
    assert result["acknowledged"] >= kills


def test_no_batch_is_torn_in_15_kills(tmp_path, counted):
    kill(tmp_path / "rows.jsonl", 15, 100, 5_000, counted)


@pytest.mark.slow
def test_no_batch_is_torn_in_1000_kills(tmp_path, counted):
    for rows, width in ((2, 300_000), (100, 10_000), (2_000, 10), (2_000, 500)):
        kill(tmp_path / f"{rows}-{width}.jsonl", 250, rows, width, counted)
