"""Disks that fail: file systems of our own, one in a file that a loss of power can strike and small ones; and strace."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

NOT_ALLOWED = "not allowed on this machine"
"""How the reason of a skip begins that no package could prevent."""


def need_root(*programs):
    """Skip where a test may not mount, or lacks what it mounts with."""
    if os.name == "nt" or os.geteuid() != 0:
        pytest.skip(f"{NOT_ALLOWED}: mounting a file system needs root")
    for program in programs:
        if shutil.which(program) is None and not os.path.exists(f"/usr/sbin/{program}"):
            pytest.skip(f"{program} is not installed")


def need_strace():
    """Skip where strace is not installed or may not trace."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    if subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode:
        pytest.skip(f"{NOT_ALLOWED}: strace may not trace")


def call(*command):
    """Run a command that must succeed; return what went wrong otherwise."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, "PATH": path})
    return done.stderr.strip() if done.returncode else None


@contextmanager
def mounted(*arguments, at):
    """Mount something at a folder, and unmount it whatever happens."""
    at.mkdir(exist_ok=True)
    wrong = call("mount", *arguments, at)
    if wrong:
        pytest.skip(f"{NOT_ALLOWED}: {wrong}")
    try:
        yield at
    finally:
        wrong = call("umount", at)
        if wrong:
            call("umount", "--lazy", at)


@contextmanager
def image(path, at, megabytes=48):
    """Make an ext4 file system in a file and mount it."""
    made_image(path, megabytes)
    with mounted("-o", "loop", path, at=at):
        yield at


def made_image(path, megabytes):
    """Make an ext4 file system in a file."""
    with path.open("wb") as file:
        file.truncate(megabytes << 20)
    wrong = call("mkfs.ext4", "-q", "-F", path)
    assert wrong is None, wrong


def small(at, size):
    """Mount a file system in memory that is soon full."""
    return mounted("-t", "tmpfs", "-o", f"size={size}", "tmpfs", at=at)
