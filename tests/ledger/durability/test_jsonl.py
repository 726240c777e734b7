"""Logs of JSON lines under force: writers killed, disks full and failing, power lost, four writers at once."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from plaudit.ledger.jsonl import append_line, read_lines
from support.forking import PythonProcess, run_python
from support.mounts import made_image, mounted, need_root, need_strace, small

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
from plaudit.ledger.jsonl import append_line, mend_lines, read_lines

path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
acknowledged, torn = [], 0
for life in range(kills):
    ears, mouth = os.pipe()
    child = os.fork()
    if not child:
        os.close(ears)
        os.write(mouth, b"%d\\n" % len(mend_lines(path)))
        n = 0
        while True:
            append_line(path, {"life": life, "n": n, "pad": "x" * (2_000_000 if n % 3 == 2 else 50)}, fsync=life % 2 == 0)
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
        assert len(found) == len(rows), "a row appears twice"
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
from plaudit.ledger.jsonl import append_line

path, me, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.stdin.readline()
for n in range(rows):
    append_line(path, {"me": me, "n": n, "pad": "x" * (n * 7919 % 20_000)}, fsync=False)
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
from plaudit.ledger.jsonl import append_line

path, rows = sys.argv[1], int(sys.argv[2])
draw = random.Random(7)

def fork(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child

def steady(me):
    for n in range(rows):
        append_line(path, {"me": me, "n": n}, fsync=False)
        time.sleep(0.0005)

def victim():
    while True:
        append_line(path, {"me": "victim", "pad": "x" * 1_000_000}, fsync=False)

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


# -- full and failing disks ----------------------------------------------------------------------------------

FILL = """
import os, sys
from plaudit.errors import FileError
from plaudit.ledger.jsonl import append_line, read_lines

if len(sys.argv) > 2:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
n = 0
try:
    while True:
        append_line(sys.argv[1], {"n": n, "pad": "x" * 700})
        n += 1
except FileError as error:
    print(n, error)
assert [row["n"] for row in read_lines(sys.argv[1])] == list(range(n))
assert open(sys.argv[1], "rb").read().endswith(b"}\\n")
spare = os.path.join(os.path.dirname(sys.argv[1]), "spare")
if os.path.exists(spare):  # there is room again
    os.unlink(spare)
    append_line(sys.argv[1], {"n": n})
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
import sys
from plaudit.errors import FileError
from plaudit.ledger.jsonl import append_line, read_lines

path = sys.argv[1]
for n in range(10):
    try:
        append_line(path, {"n": n})
        print(n)
    except FileError as error:
        assert "cannot be written: Input/output error" in str(error)
assert [row["n"] for row in read_lines(path)] == [n for n in range(10) if n != int(sys.argv[2])]
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
    done = python(FAIL, tmp_path / "rows.jsonl", number - 1, before=failing("fdatasync", number, "EIO"))
    assert done.stdout.split() == [str(n) for n in range(10) if n != number - 1]


def test_a_folder_that_cannot_be_kept_is_an_error_before_anything_is_written(tmp_path, failing):
    script = "import sys; from plaudit.ledger.jsonl import append_line; append_line(sys.argv[1], {})"
    done = python(script, tmp_path / "rows.jsonl", before=failing("fsync", 1, "EIO"), check=False)
    assert "FileError" in done.stderr
    assert "rows.jsonl cannot be written: Input/output error" in done.stderr
    assert (tmp_path / "rows.jsonl").read_bytes() == b""


REFUSED = """
import os, sys
from plaudit.errors import FileError
from plaudit.ledger.jsonl import append_line

if os.geteuid() == 0:
    os.seteuid(65534)
for place in sys.argv[1:]:
    try:
        append_line(place, {})
    except FileError as error:
        print(error)
"""


def test_a_folder_or_file_that_may_not_be_written_is_an_error(tmp_path):
    append_line(tmp_path / "rows.jsonl", {"n": 0})
    (tmp_path / "rows.jsonl").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        said = python(REFUSED, tmp_path / "rows.jsonl", tmp_path / "new.jsonl").stdout.splitlines()
    finally:
        tmp_path.chmod(0o755)
    assert [line.partition(": ")[2] for line in said] == ["Permission denied"] * 2
    assert [Path(line.partition(" cannot")[0]).name for line in said] == ["rows.jsonl", "new.jsonl"]


# -- power lost ----------------------------------------------------------------------------------------------

WRITE = """
import sys
from plaudit.ledger.jsonl import append_line

print("open", flush=True)
n = 0
while True:
    append_line(sys.argv[1], {"n": n, "pad": "x" * (n * 7919 % 3000)}, fsync=sys.argv[2] == "True")
    print(n, flush=True)
    n += 1
"""


@pytest.fixture
def disk(tmp_path):
    """An empty file system in a file."""
    need_root("mkfs.ext4", "mount")
    path = tmp_path / "disk.img"
    made_image(path, 64)
    return path


def power_lost(image, tmp_path, fsync):
    """Let a writer run, take what the disk has at some moment, and return what was acknowledged and what is found."""
    copy = tmp_path / "after.img"
    with mounted("-o", "loop", image, at=tmp_path / "disk") as disk:
        (disk / "rows.jsonl").unlink(missing_ok=True)
        os.sync()
        command = [sys.executable, "-c", WRITE, disk / "rows.jsonl", str(fsync)]
        writer = PythonProcess(command, stdout=subprocess.PIPE, text=True)
        try:
            assert writer.stdout.readline() == "open\n"
            time.sleep(0.1)
            writer.send_signal(signal.SIGSTOP)
            status = Path(f"/proc/{writer.pid}/status")
            while "\nState:\tT" not in status.read_text():
                time.sleep(0.001)
            shutil.copyfile(image, copy)
        finally:
            writer.kill()
        acknowledged = [int(line) for line in writer.communicate()[0].split()]
    with mounted("-o", "loop", copy, at=tmp_path / "after") as disk:
        if not (disk / "rows.jsonl").exists():
            return acknowledged, []
        rows = [row["n"] for row in read_lines(disk / "rows.jsonl")]
        append_line(disk / "rows.jsonl", {"n": "after"})  # and it goes on
        assert [row["n"] for row in read_lines(disk / "rows.jsonl")] == [*rows, "after"]
    return acknowledged, rows


def test_what_was_acknowledged_survives_a_loss_of_power(disk, tmp_path, counted):
    total, losses = 0, 3
    for _ in range(losses):
        acknowledged, found = power_lost(disk, tmp_path, True)
        assert found[: len(acknowledged)] == acknowledged == list(range(len(acknowledged)))
        total += len(acknowledged)
    counted("JSON lines and losses of power", snapshots=losses, acknowledged=total, lost=0)
    assert total > losses


def test_without_fsync_rows_are_lost_so_the_test_can_tell(disk, tmp_path, counted):
    acknowledged, found = power_lost(disk, tmp_path, False)
    lost = len(acknowledged) - len(found)
    counted("JSON lines and losses of power without fsync, as a control", acknowledged=len(acknowledged), lost=lost)
    assert lost > 0
