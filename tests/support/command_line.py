"""Fixtures for tests of commands: commands in this process, and real ones; files to read and write."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plaudit import Reward
from plaudit.cli import main
from support.forking import PythonProcess, kill_running
from support.samples import EPISODES

DRIVE = (3 * EPISODES["following"])[:12]
"""Twelve steps of `samples.following`."""

Command = Callable[..., Result]


@cache
def built_in(name: str) -> Reward:
    """Return the reward that a name stands for on the command line."""
    return Reward.from_json(CliRunner().invoke(main, ["show", name, "--spec"], catch_exceptions=False).stdout)


@pytest.fixture
def plaudit(tmp_path, monkeypatch) -> Command:
    """Run a command in an empty folder; what is no clean exit fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
        texts = [str(argument) for argument in arguments]
        return CliRunner().invoke(main, texts, input=stdin, prog_name="plaudit", catch_exceptions=False)

    return run


@pytest.fixture
def process(tmp_path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a command as its own process in an empty folder; one that still runs after the test is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: object, ignore_ctrl_c: bool = False, **environment: str) -> subprocess.Popen[bytes]:
        running = PythonProcess(
            [sys.executable, "-m", "plaudit", *map(str, arguments)],
            ignore_ctrl_c=ignore_ctrl_c,
            cwd=tmp_path,
            env=os.environ | {"PYTHONUNBUFFERED": ""} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(running)
        return running

    yield start
    kill_running(started)


@pytest.fixture
def terminal(tmp_path) -> Callable[..., tuple[int, bytes, bytes]]:
    """Run a command whose stderr is a terminal; return its exit code, what it printed and what was drawn."""
    pty = pytest.importorskip("pty", reason="needs a POSIX terminal")

    def run(*arguments: object) -> tuple[int, bytes, bytes]:
        master, slave = pty.openpty()
        running = PythonProcess(
            [sys.executable, "-m", "plaudit", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=slave,
        )
        os.close(slave)
        drawn = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(master, 65_536):
                drawn += piece
        os.close(master)
        printed, _ = running.communicate()
        return running.returncode, printed, drawn

    return run


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """Write a file of lines: texts, bytes, or rows as JSON."""

    def written(name: str, *lines: object, end: bytes = b"\n") -> Path:
        encoded = [
            line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
            for line in lines
        ]
        path = tmp_path / name
        path.write_bytes(b"".join(line + end for line in encoded))
        return path

    return written


@pytest.fixture
def objects(tmp_path) -> Callable[[str], list[dict]]:
    """Read the JSON objects of a file, one a line; a NaN in it would be an error."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    def read(name: str) -> list[dict]:
        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line, parse_constant=refuse) for line in lines]

    return read
