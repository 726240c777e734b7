"""`plaudit score` stopped in the middle, on a file of any size, and on a terminal."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

ROW = b'{"distance": 30.0, "deceleration": 1.0, "action": 0}\n'
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def drafts(folder) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def stopped(process, folder, number, output="scores.jsonl") -> int:
    """Send a signal to a command that has scored some rows and waits for more; return how it ended."""
    running = process("score", "roadsense", "-", "-o", output, "--format", "jsonl", "--force")
    running.stdin.write(b"".join(ROW.replace(b"30.0", b"%d.5" % at) for at in range(40_000)))
    running.stdin.flush()
    written = 0
    while written < 50_000:  # bytes of the draft: it is in the middle
        assert running.poll() is None
        time.sleep(0.01)
        with suppress(FileNotFoundError):
            written = max((os.path.getsize(folder / name) for name in drafts(folder)), default=0)
    assert not (folder / output).exists() or (folder / output).read_bytes() == b"as it was"
    running.send_signal(number)
    code = running.wait(timeout=300)
    for stream in (running.stdin, running.stdout, running.stderr):
        with suppress(BrokenPipeError):
            stream.close()
    return code


@posix
@pytest.mark.parametrize(
    ("number", "code", "before"),
    [
        (signal.SIGINT, 130, None),
        (signal.SIGTERM, 143, b"as it was"),
        pytest.param(signal.SIGINT, 130, b"as it was", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, None, marks=pytest.mark.slow),
    ],
)
def test_what_is_interrupted_leaves_nothing_behind(process, tmp_path, number, code, before):
    if before:
        (tmp_path / "scores.jsonl").write_bytes(before)
    assert stopped(process, tmp_path, number) == code
    assert os.listdir(tmp_path) == (["scores.jsonl"] if before else [])
    assert before is None or (tmp_path / "scores.jsonl").read_bytes() == before


@posix
@pytest.mark.parametrize("before", [pytest.param(None, marks=pytest.mark.slow), b"as it was"])
def test_what_is_killed_leaves_no_half_of_an_output(process, tmp_path, before):
    if before:
        (tmp_path / "scores.jsonl").write_bytes(before)
    assert stopped(process, tmp_path, signal.SIGKILL) == -signal.SIGKILL
    assert drafts(tmp_path)  # only hidden drafts, beside an output that is whole or absent
    assert {name for name in os.listdir(tmp_path) if not name.startswith(".")} == (
        {"scores.jsonl"} if before else set()
    )
    assert before is None or (tmp_path / "scores.jsonl").read_bytes() == before


@posix
@pytest.mark.parametrize(
    ("number", "code"), [pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_nothing_of_parquet_is_seen_before_it_is_whole(process, tmp_path, number, code):
    pytest.importorskip("pyarrow", reason="needs plaudit[data]")
    assert stopped(process, tmp_path, number, "scores.parquet") == code
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == []
    assert bool(drafts(tmp_path)) is (number == signal.SIGKILL)


@posix
def test_a_reader_of_the_scores_that_leaves_is_no_error(process, tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(ROW * 20_000)
    running = process("score", "roadsense", "rows.jsonl", "-o", "-")
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait(timeout=300) == 141
    running.stderr.close()
    running.stdin.close()


# A process remembers the memory of the one that it was forked from, so a small one stands between.
MEASURED = """
import resource, subprocess, sys
code = subprocess.call([sys.executable, "-m", "plaudit", *sys.argv[1:]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def most_memory(folder, suffix: str, count: int, longest: int) -> int:
    """Return how much memory it takes to score so many rows, and a bad one of so many letters."""
    with open(folder / f"rows.{suffix}", "wb") as file:
        file.write(b"distance,deceleration,action\n" if suffix == "csv" else b"")
        for _ in range(count // 1_000):
            file.write((b"30.0,1.0,0\n" if suffix == "csv" else ROW) * 1_000)
        file.writelines(b"x" * 1_000 for _ in range(longest // 1_000))  # one bad row, which is kept whole
        file.write(b"\n" + b"{}\n" * (count // 10))  # and many small ones
    command = ["score", "roadsense", f"rows.{suffix}", "-o", f"scores.{suffix}"]
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], cwd=folder, capture_output=True)
    assert done.returncode == 3, done.stderr
    rows = (
        count if suffix == "csv" else count + count // 10
    )  # one with no key at all is a row, and {} is no line of CSV
    with open(folder / f"scores.{suffix}", "rb") as file:
        assert sum(1 for _ in file) == rows + (suffix == "csv")
    with open(folder / "scores.bad.jsonl", "rb") as file:
        assert sum(1 for _ in file) == 1 + count // 10
    return int(done.stdout.split()[-1])


@pytest.fixture(scope="module")
def little_memory(tmp_path_factory):
    """What a small file takes."""
    return most_memory(tmp_path_factory.mktemp("small"), "jsonl", 1_000, 1_000_000)


@posix
@pytest.mark.parametrize("rows", [40_000, pytest.param(300_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_memory_does_not_grow_with_the_file(tmp_path, little_memory, suffix, rows):
    assert most_memory(tmp_path, suffix, rows, 30_000_000) < 1.25 * little_memory


def test_a_terminal_shows_progress_and_a_pipe_does_not(tmp_path, process, terminal):
    (tmp_path / "rows.jsonl").write_bytes(ROW * 20_000 + b"{}\n")
    code, printed, drawn = terminal("score", "roadsense", "rows.jsonl", "-o", "s.jsonl", "--json")
    assert code == 3
    assert json.loads(printed)["rows"] == 20_001
    assert b"rows.jsonl" in drawn
    assert b"\x1b[" in drawn
    assert b"line 20001: reward 'roadsense' needs 'distance'" in drawn

    piped = process("score", "roadsense", "rows.jsonl", "-o", "s.jsonl", "--force")
    _, told = piped.communicate()
    assert b"\x1b" not in told
