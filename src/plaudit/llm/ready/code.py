"""Whether the code in an answer passes its tests."""

import math
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from plaudit.errors import DefinitionError, InputError, WrongType
from plaudit.llm.feature import Feature
from plaudit.llm.ready.building import build_feature, check_number
from plaudit.llm.ready.fences import iterate_blocks
from plaudit.llm.ready.processes import Child, NoAnswer

Run = Callable[[str, list[str]], float]
_PYTHON = ("python", "py", "python3")
_START = 60.0
"""Seconds within which Python starts on a busy machine."""
_LONGEST_START = 2.0
"""Seconds that the start of a process is waited for, to end it."""
_KERNEL_THREAD = 0x200000
"""The flag of Linux for a process that has no program of its own."""
_MEBIBYTE = 1024**2
_LARGEST_FILE = 16 * _MEBIBYTE


def runs_code(
    tests: str = "tests", *, seconds: float = 5.0, memory: int = 256 * _MEBIBYTE, run: Run | None = None
) -> Feature:
    r"""This is no sandbox: run the Python code of the answer, and compute the share of its tests that pass.

    The code runs with your rights: it can read and delete your files and use the network. Limits stop accidents, such
    as endless loops, not attacks. A model that is rewarded for passing tests will sooner or later write what you did
    not expect: run all of this in a container that has nothing to lose, or pass a sandbox of yours as `run`.

    The code is the last block marked as Python, or else the last one not marked at all, or else the whole answer. It
    runs as a module, in a new process in an empty folder, with no environment variables of yours, no input, and its
    output thrown away; packages that are installed can be imported. Code that raises an error or exits passes no
    test. Tests run after it one by one in the same module; those that pass before time is up count. The code cannot
    start threads or processes, unless you are root; those are killed with it, on Linux also where they have left its
    group.

    Code that is out to cheat can: it runs in the same process as the tests, and an object that is equal to everything
    passes `assert f(2) == 4`. Test types as well as values.

    Args:
        tests: The column with the tests: a list of assert statements, or a string of code, which is one test.
        seconds: How long all may take, from the first line of the code on.
        memory: Bytes of memory that the process may have, where the system can limit it.
        run: A function from the code and a list of tests to the share that passes, instead of all this.

    Returns:
        A feature of `text` and the column, called "runs_code": a number from 0 to 1. It raises InputError for a column
        that is not a list of tests.

    Raises:
        DefinitionError: An argument is invalid.

    >>> passed = runs_code()
    >>> passed("def double(x):\n    return x * 2", ["assert double(2) == 4", "assert double('a') == 'a'"])
    0.5
    """
    _check(seconds, memory, run)
    settings = {"seconds": seconds, "memory": memory, "run": run}
    return build_feature(_share_passed, name="runs_code", columns={"tests": tests}, settings=settings)


def _check(seconds: Any, memory: Any, run: Any) -> None:
    check_number("seconds", seconds, low=0, exclusive=True)
    check_number("memory", memory, low=0, exclusive=True)
    if run is not None and not callable(run):
        raise DefinitionError(f"run={run!r:.60} is not a function.")


def _share_passed(
    text: str,
    tests: str | Sequence[str],
    *,
    seconds: float = 5.0,
    memory: int = 256 * _MEBIBYTE,
    run: Run | None = None,
) -> float:
    _check(seconds, memory, run)
    if hasattr(tests, "tolist"):
        tests = tests.tolist()
    listed = [tests] if isinstance(tests, str) else list(tests) if isinstance(tests, list | tuple) else []
    if not listed or not all(isinstance(each, str) and each.strip() for each in listed):
        raise InputError(f"the tests are not a list of assert statements or a string of code: {tests!r:.60}")
    code = find_code(text)
    if run is None:
        return len(_run(code, listed, seconds, int(memory))) / len(listed)
    found = run(code, listed)
    if not isinstance(found, int | float):
        raise WrongType(f"run returned {found!r:.60}, which is not a number.")
    return float(found)


def find_code(text: str) -> str:
    """Return the code of an answer: of its last block, or all of it."""
    last: dict[bool, str] = {}
    for language, body in iterate_blocks(text):
        if not language or language in _PYTHON:
            last[bool(language)] = body
    return last.get(True, last.get(False, text))


def _run(code: str, tests: list[str], seconds: float, memory: int) -> set[int]:
    """Return the numbers of the tests that pass."""
    limits = {
        "RLIMIT_AS": memory,
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": math.ceil(seconds) + 1,
        "RLIMIT_FSIZE": _LARGEST_FILE,
        "RLIMIT_NPROC": 0,  # but for root
    }
    passed: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="plaudit-code-", ignore_cleanup_errors=True) as folder:
        mark = secrets.token_hex(16)
        began = time.monotonic()
        child = Child("code_child.py", folder=folder, environment=_build_environment(folder, mark), once=True)
        try:
            child.send([code, tests, limits])
            if child.receive(time.monotonic() + _START) != "ready":
                raise RuntimeError(f"{sys.executable} ended before it ran the code of the answer")
            until = time.monotonic() + seconds
            while isinstance(at := child.receive(until), int) and 0 <= at < len(tests):
                passed.add(at)
        except NoAnswer:
            pass
        finally:
            try:
                _end(child, mark, began)
            except BaseException:  # a deadline from outside, which can arrive at any point
                _end(child, mark, began)
                raise
    return passed


def _build_environment(folder: str, mark: str) -> dict[str, str]:
    """Return the environment: nothing of this process, but for what Windows needs to start a program."""
    single = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return {"HOME": folder, "LANG": "C.UTF-8", "TMPDIR": folder, "PLAUDIT_MARK": mark, **single, **kept}


def _end(child: Child, mark: str, began: float) -> None:
    child.kill()
    _kill_marked(mark, began)
    child.end()


def _kill_marked(mark: str, began: float) -> None:
    """Kill what has left the group of the process, found by its environment; only Linux shows that."""
    wanted = f"PLAUDIT_MARK={mark}".encode()
    until = time.monotonic() + _LONGEST_START
    while sys.platform == "linux" and time.monotonic() < until:
        found = False  # one that is killed may just have started another
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read()
                if wanted in environment:
                    os.kill(int(name), 9)
                found = found or wanted in environment or (not environment and _is_starting(name, began))
        if not found:
            return
        time.sleep(0.002)


def _is_starting(name: str, began: float) -> bool:
    """Return whether a process as young as `began` may be replacing its program, which hides its environment."""
    with open(f"/proc/{name}/stat") as file:
        state, *numbers = file.read().rpartition(")")[2].split()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(numbers[18]) / os.sysconf("SC_CLK_TCK")
    return state != "Z" and not int(numbers[5]) & _KERNEL_THREAD and age <= time.monotonic() - began + 1
