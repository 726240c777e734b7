"""Files of JSON lines and a loss of power: what the disk had at some moment, looked at as after a restart."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plaudit.ledger.jsonl import JsonLines, read_lines
from support.forking import PythonProcess
from support.mounts import made_image, mounted, need_root

WRITE = """
import sys
from plaudit.ledger.jsonl import JsonLines

with JsonLines(sys.argv[1], fsync=sys.argv[2]) as lines:
    print("open", flush=True)
    n = 0
    while True:
        lines.append({"n": n, "pad": "x" * (n * 7919 % 3000)})
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
        command = [sys.executable, "-c", WRITE, disk / "rows.jsonl", fsync]
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
        with JsonLines(disk / "rows.jsonl") as lines:  # and it goes on
            lines.append({"n": "after"})
        assert [row["n"] for row in read_lines(disk / "rows.jsonl")] == [*rows, "after"]
    return acknowledged, rows


def test_what_was_acknowledged_survives_a_loss_of_power(disk, tmp_path, counted):
    total, losses = 0, 3
    for _ in range(losses):
        acknowledged, found = power_lost(disk, tmp_path, "always")
        assert found[: len(acknowledged)] == acknowledged == list(range(len(acknowledged)))
        total += len(acknowledged)
    counted("JSON lines and losses of power", snapshots=losses, acknowledged=total, lost=0)
    assert total > losses


def test_without_fsync_rows_are_lost_so_the_test_can_tell(disk, tmp_path, counted):
    acknowledged, found = power_lost(disk, tmp_path, "never")
    lost = len(acknowledged) - len(found)
    counted("JSON lines and losses of power without fsync, as a control", acknowledged=len(acknowledged), lost=lost)
    assert lost > 0
