"""Files of JSON lines under force: writers killed, disks full and failing, four writers at once."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from plaudit.ledger.jsonl import JsonLines, read_lines
from support.forking import PythonProcess, run_python
from support.mounts import need_root, need_strace, small

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def python(script, *arguments, before=(), check=True):
    """Run a script in another process and return how it ended."""
    command = [*before, sys.executable, "-c", script, *map(str, arguments)]
    start = subprocess.run if before else run_python
    done = start(command, capture_output=True, text=True, timeout=600)
    assert not check or done.returncode == 0, done.stderr
    return done


# -- killed --------------------------------------------------------------------------------------------------

# Children are forked and killed in mid-append; a pipe tells what each had acknowledged. A third of the rows are large:
# the kernel writes them page by page, and a kill in the middle leaves a part of them.
KILL = """
import json, os, random, signal, sys, time
from plaudit.ledger.jsonl import JsonLines, read_lines

path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
acknowledged, torn = [], 0
for life in range(kills):
    ears, mouth = os.pipe()
    policy = ("always", "never", 0.005)[life % 3]
    child = os.fork()
    if not child:
        os.close(ears)
        lines = JsonLines(path, fsync=policy)
        os.write(mouth, b"%d\\n" % len(lines.dropped))
        n = 0
        while True:
            lines.append({"life": life, "n": n, "pad": "x" * (2_000_000 if n % 3 == 2 else 50)})
            os.write(mouth, b"%d\\n" % n)
            n += 1
    os.close(mouth)
    with os.fdopen(ears) as said:
        dropped = int(said.readline() or 0)
        time.sleep(draw.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        acknowledged += [(life, int(line)) for line in said if line.endswith("\\n")]
    torn += dropped > 0
    if os.path.getsize(path) > 60_000_000:  # check what there is, and begin anew
        rows = [(row["life"], row["n"]) for row in read_lines(path)]
        found = set(rows)
        assert len(found) == len(rows), "a row is there twice"
        assert rows == sorted(rows), "rows changed places"
        missing = [row for row in acknowledged if row not in found]
        assert not missing, f"acknowledged and lost: {missing[:5]}"
        print(json.dumps({"acknowledged": len(acknowledged), "found": len(rows)}))
        acknowledged = []
        os.unlink(path)
if os.path.exists(path):
    rows = [(row["life"], row["n"]) for row in read_lines(path)]
    assert set(acknowledged) <= set(rows) and rows == sorted(set(rows)), "lost, doubled or out of order"
    print(json.dumps({"acknowledged": len(acknowledged), "found": len(rows)}))
print(torn)
"""


def kill(path, kills, counted):
    *parts, mended = map(json.loads, python(KILL, path, kills, 7).stdout.splitlines())
    acknowledged = sum(part["acknowledged"] for part in parts)
    counted("writers of JSON lines killed (kill -9)", kills=kills, acknowledged=acknowledged, lost=0, mended=mended)
    assert acknowledged > kills / 4


def test_nothing_acknowledged_is_lost_in_60_kills(tmp_path, counted):
    kill(tmp_path / "rows.jsonl", 60, counted)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_1000_kills(tmp_path, counted):
    kill(tmp_path / "rows.jsonl", 1000, counted)


# -- several writers -----------------------------------------------------------------------------------------

APPEND = """
import sys
from plaudit.ledger.jsonl import JsonLines

path, me, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.stdin.readline()
with JsonLines(path, fsync="never") as lines:
    for n in range(rows):
        lines.append({"me": me, "n": n, "pad": "x" * (n * 7919 % 20_000)})
"""


def test_four_writers_do_not_mix_their_lines(tmp_path, counted):
    path, rows = tmp_path / "rows.jsonl", 500
    writers = [
        PythonProcess([sys.executable, "-c", APPEND, path, str(me), str(rows)], stdin=subprocess.PIPE)
        for me in range(4)
    ]
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    assert [writer.wait(timeout=300) for writer in writers] == [0] * 4
    found = [(row["me"], row["n"]) for row in read_lines(path)]
    turns = sum(one[0] != other[0] for one, other in pairwise(found))
    counted("JSON lines of four writers at once", lines=len(found), turns=turns, mixed=0)
    for me in range(4):
        assert [n for who, n in found if who == me] == list(range(rows))
    assert turns > 10


VICTIMS = """
import os, random, signal, sys, time
from plaudit.ledger.jsonl import JsonLines

path, rows = sys.argv[1], int(sys.argv[2])
draw = random.Random(7)

def fork(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child

def steady(me):
    with JsonLines(path, fsync="never") as lines:
        for n in range(rows):
            lines.append({"me": me, "n": n})
            time.sleep(0.0005)

def victim():
    with JsonLines(path, fsync="never") as lines:
        while True:
            lines.append({"me": "victim", "pad": "x" * 1_000_000})

children, kills = [fork(lambda me=me: steady(me)) for me in range(3)], 0
while children:
    doomed = fork(victim)
    time.sleep(draw.random() * 0.02)
    os.kill(doomed, signal.SIGKILL)
    os.waitpid(doomed, 0)
    kills += 1
    children = [child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)]
print(kills)
"""


def test_writers_go_on_behind_one_that_was_killed_in_the_middle_of_a_line(tmp_path, counted):
    path, rows = tmp_path / "rows.jsonl", 300
    kills = int(python(VICTIMS, path, rows).stdout)
    found = [(row["me"], row.get("n")) for row in read_lines(path)]
    steady = sum(who != "victim" for who, _ in found)
    counted("JSON lines beside writers that are killed", kills=kills, lines=steady, torn=0)
    for me in range(3):
        assert [n for who, n in found if who == me] == list(range(rows))


FORK = """
import os, sys
from plaudit.ledger.jsonl import JsonLines

with JsonLines(sys.argv[1], fsync="never") as lines:
    lines.append({"me": -1, "n": 0})
    children = []
    for me in range(3):
        children.append(os.fork())
        if not children[-1]:
            for n in range(300):
                lines.append({"me": me, "n": n, "pad": "x" * 5000})
            lines.close()
            os._exit(0)
    for n in range(1, 300):
        lines.append({"me": -1, "n": n})
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


def test_a_forked_process_takes_turns_with_its_parent(tmp_path):
    python(FORK, tmp_path / "rows.jsonl")
    found = [(row["me"], row["n"]) for row in read_lines(tmp_path / "rows.jsonl")]
    for me in range(-1, 3):
        assert [n for who, n in found if who == me] == list(range(300))


# -- full and failing disks ----------------------------------------------------------------------------------

FILL = """
import os, sys
from plaudit.errors import FileError
from plaudit.ledger.jsonl import JsonLines, read_lines

if len(sys.argv) > 2:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
n = 0
with JsonLines(sys.argv[1]) as lines:
    try:
        while True:
            lines.append({"n": n, "pad": "x" * 700})
            n += 1
    except FileError as error:
        print(n, error)
    assert [row["n"] for row in read_lines(sys.argv[1])] == list(range(n))
    assert open(sys.argv[1], "rb").read().endswith(b"}\\n")
    spare = os.path.join(os.path.dirname(sys.argv[1]), "spare")
    if os.path.exists(spare):  # there is room again
        os.unlink(spare)
        lines.append({"n": n})
        assert [row["n"] for row in read_lines(sys.argv[1])] == list(range(n + 1))
"""


def test_a_full_disk_takes_whole_lines_or_none(tmp_path, counted):
    need_root("mount")
    kept = []
    for size in range(64, 264, 40):
        with small(tmp_path / f"disk{size}", f"{size}k") as place:
            (place / "spare").write_bytes(bytes(8192))
            done = python(FILL, place / "rows.jsonl").stdout.split(maxsplit=1)
        assert done[1].endswith("cannot be written: No space left on device\n")
        kept.append(int(done[0]))
    counted("JSON lines on full disks", disks=len(kept), lines=sum(kept), lost=0)
    assert kept == sorted(kept)
    assert kept[0] > 10


@pytest.mark.parametrize("limit", [5000, 8192, 70_001])
def test_a_file_that_may_grow_no_more_takes_whole_lines_or_none(tmp_path, limit):
    pytest.importorskip("resource", reason="limits need POSIX")
    done = python(FILL, tmp_path / "rows.jsonl", limit)
    assert "cannot be written: File too large" in done.stdout


FAIL = """
import os, sys
from plaudit.errors import LedgerBroken
from plaudit.ledger.jsonl import JsonLines, read_lines

path = sys.argv[1]
lines, n = JsonLines(path), 0
try:
    for n in range(10):
        lines.append({"n": n})
        print("acknowledged", n)
except LedgerBroken as error:
    print("broken at", n)
for again in range(3):
    try:
        lines.append({"n": "after"})
        sys.exit("a broken file was written to")
    except LedgerBroken as error:
        assert "Open it again" in str(error)
lines.close()
with JsonLines(path) as lines:
    lines.append({"n": "reopened"})
rows = [row["n"] for row in read_lines(path)]
assert rows[:n] == list(range(n)) and rows[-1] == "reopened" and "after" not in rows, rows
"""


@pytest.fixture
def failing():
    """Return a function that gives the command in front of a script whose k-th system call fails."""
    need_strace()

    def command(call, number, error):
        inject = f"inject={call}:error={error}:when={number}"
        return ["strace", "-f", "-o", os.devnull, "-e", f"trace={call}", "-e", inject]

    return command


@pytest.mark.parametrize("number", [1, 5, *(pytest.param(each, marks=pytest.mark.slow) for each in (2, 10))])
def test_no_row_is_acknowledged_that_the_disk_did_not_keep(tmp_path, failing, number):
    done = python(FAIL, tmp_path / "rows.jsonl", before=failing("fdatasync", number, "EIO"))
    said = done.stdout.splitlines()
    assert said == [*(f"acknowledged {n}" for n in range(number - 1)), f"broken at {number - 1}"]


def test_a_folder_that_cannot_be_kept_is_an_error_at_opening(tmp_path, failing):
    script = "import sys; from plaudit.ledger.jsonl import JsonLines; JsonLines(sys.argv[1])"
    done = python(script, tmp_path / "rows.jsonl", before=failing("fsync", 1, "EIO"), check=False)
    assert "FileError" in done.stderr
    assert "rows.jsonl cannot be opened: Input/output error" in done.stderr


REFUSED = """
import os, sys
from plaudit.errors import FileError
from plaudit.ledger.jsonl import JsonLines

if os.geteuid() == 0:
    os.seteuid(65534)
for place in sys.argv[1:]:
    try:
        JsonLines(place)
    except FileError as error:
        print(error)
"""


def test_a_folder_or_file_that_may_not_be_written_is_an_error_at_opening(tmp_path):
    with JsonLines(tmp_path / "rows.jsonl") as lines:
        lines.append({"n": 0})
    (tmp_path / "rows.jsonl").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        said = python(REFUSED, tmp_path / "rows.jsonl", tmp_path / "new.jsonl").stdout.splitlines()
    finally:
        tmp_path.chmod(0o755)
    assert [line.partition(": ")[2] for line in said] == ["Permission denied"] * 2
    assert [Path(line.partition(" cannot")[0]).name for line in said] == ["rows.jsonl", "new.jsonl"]
