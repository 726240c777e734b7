"""Commands, each in a process of its own that need not import everything once more.

A process that has imported plaudit waits for command lines and forks one process for each: what a command does to its
modules, its streams and its folder is gone with it, and it begins in a tenth of the time. Where there is no fork, each
command is started as ever.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

COMMAND = "from plaudit.cli import main; main(prog_name='plaudit')"
IMPORTED = (
    *(f"plaudit.cli.{name}" for name in ("check", "score", "rescore", "evaluate", "prove", "show", "ledger.history")),
    *(f"plaudit.systems.{name}" for name in ("apex.controller", "deepthinker.advisor", "roadsense", "hackmatrix")),
    *("plaudit.checks.check", "plaudit.checks.formats.json", "plaudit.ledger.ledger", "rich.console", "rich.table"),
)
"""What most commands import. It starts no thread: a fork would lose it."""
LONGEST = 300
"""Seconds that a command may take."""

SERVER = f"""
import importlib, json, os, signal, sys
for module in {IMPORTED}:
    importlib.import_module(module)
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.alarm({LONGEST})
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(order["files"], start=1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
        sys.argv[1:] = order["arguments"]
        {COMMAND}
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def run_command(
    arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], apart: bool
) -> tuple[int, str, str]:
    """Return the exit code of `plaudit` with `arguments`, and what it printed; errors stand in it unless `apart`."""
    variables = {**os.environ, **environment}
    if not hasattr(os, "fork"):
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if apart else subprocess.STDOUT,
            timeout=LONGEST,
        )
        return done.returncode, _decode(done.stdout), _decode(done.stderr or b"")
    with tempfile.NamedTemporaryFile() as output, tempfile.NamedTemporaryFile() as errors:
        files = [output.name, errors.name if apart else output.name]
        order = {"arguments": arguments, "folder": str(folder), "environment": variables, "files": files}
        server = _start_server()
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps(order), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        return code, _decode(output.read()), _decode(errors.read())


def _decode(printed: bytes) -> str:
    return printed.decode().replace("\r\n", "\n")


@cache
def _start_server() -> "subprocess.Popen[str]":
    server = subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)
    return server
