"""Files of JSON lines and a loss of power: what the disk had at some moment, looked at as after a restart."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from plaudit.ledger.jsonl import JsonLines, read_lines

NEEDS = "a loss of power needs root, mkfs.ext4 and loop devices"

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


@contextmanager
def mounted(image, place):
    """Mount a file system that lies in a file; only root can."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True)
    if done.returncode:
        pytest.skip(NEEDS)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def image(tmp_path):
    """An empty file system in a file."""
    if os.name == "nt" or os.geteuid() != 0 or not (shutil.which("mkfs.ext4") and shutil.which("mount")):
        pytest.skip(NEEDS)
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", path], check=True)
    return path


def power_lost(image, tmp_path, fsync):
    """Let a writer run, take what the disk has at some moment, and return what was acknowledged and what is found."""
    copy = tmp_path / "after.img"
    with mounted(image, tmp_path / "disk") as disk:
        (disk / "rows.jsonl").unlink(missing_ok=True)
        os.sync()
        command = [sys.executable, "-c", WRITE, disk / "rows.jsonl", fsync]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert writer.stdout.readline() == "open\n"
            time.sleep(0.2)
            writer.send_signal(signal.SIGSTOP)
            os.waitpid(writer.pid, os.WUNTRACED)
            shutil.copyfile(image, copy)
        finally:
            writer.kill()
        acknowledged = [int(line) for line in writer.communicate()[0].split()]
    with mounted(copy, tmp_path / "after") as disk:
        if not (disk / "rows.jsonl").exists():
            return acknowledged, []
        rows = [row["n"] for row in read_lines(disk / "rows.jsonl")]
        with JsonLines(disk / "rows.jsonl") as lines:  # and it goes on
            lines.append({"n": "after"})
        assert [row["n"] for row in read_lines(disk / "rows.jsonl")] == [*rows, "after"]
    return acknowledged, rows


def test_what_was_acknowledged_survives_a_loss_of_power(image, tmp_path):
    total, losses = 0, 6
    for _ in range(losses):
        acknowledged, found = power_lost(image, tmp_path, "always")
        assert found[: len(acknowledged)] == acknowledged == list(range(len(acknowledged)))
        total += len(acknowledged)
    print(f"\n{losses} losses of power: {total} rows acknowledged, 0 lost")
    assert total > losses


def test_without_fsync_rows_are_lost_so_the_test_can_tell(image, tmp_path):
    acknowledged, found = power_lost(image, tmp_path, "never")
    print(
        f"\na loss of power without fsync: {len(acknowledged)} rows acknowledged, {len(acknowledged) - len(found)} lost"
    )
    assert len(found) < len(acknowledged)
