"""Python processes that need not import everything once more.

A process that has imported plaudit waits for orders and forks one process for each: what a program does to its modules,
its streams and its folder is gone with it, and it begins in a tenth of the time. Its output is
buffered whatever PYTHONUNBUFFERED says. Where there is no fork, or the environment holds something else that Python
reads as it starts, the program is started as ever. Either way a Ctrl-C reaches it also where pytest itself ignores that,
as it does when a script runs it with `&`.
"""

import array
import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

IMPORTED = (
    *(f"plaudit.cli.{name}" for name in ("check", "score", "rescore", "evaluate", "prove", "show", "ledger.history")),
    *(f"plaudit.systems.{name}" for name in ("apex.controller", "deepthinker.advisor", "roadsense", "hackmatrix")),
    *("plaudit.checks.check", "plaudit.checks.formats.json", "plaudit.ledger.ledger", "rich.console", "rich.table"),
)
"""What most programs import. It starts no thread: a fork would lose it."""
LONGEST_ORDER = 1 << 17

SERVER = f"""
import array, atexit, contextlib, gc, importlib, json, os, runpy, signal, socket, sys, threading

def receive(orders):
    text, control, *_ = orders.recvmsg({LONGEST_ORDER}, socket.CMSG_SPACE(4 * 4))
    files = array.array("i")
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: 4 * 4])
    return text, files

def run(order, files):
    signal.signal(signal.SIGINT, signal.SIG_IGN if order["ignore_ctrl_c"] else signal.default_int_handler)
    if order["new_session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    encoding = os.environ.get("PYTHONIOENCODING") or "utf-8"
    sys.stdin = open(0, encoding=encoding)
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding)
    sys.stderr = open(2, "w", 1, encoding, "backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    kind, *arguments = order["arguments"]
    if kind == "-c":
        sys.path.insert(0, "")
        code, *arguments = arguments
        sys.argv = ["-c", *arguments]
        exec(compile(code, "<string>", "exec"), vars(sys.modules["__main__"]))
    elif kind == "-m":
        sys.path.insert(0, order["folder"])
        module, *arguments = arguments
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(kind))
        sys.argv = [kind, *arguments]
        runpy.run_path(kind, run_name="__main__")

def end(code):
    # As Python does, but for taking every module to pieces: that takes longer than most programs.
    from gc import collect
    from os import _exit as leave
    threading._shutdown()
    atexit._run_exitfuncs()
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream is not None and not stream.closed]
    try:
        for stream in streams:
            stream.flush()
    except OSError:
        sys.exit(code)  # and Python says what is wrong with it
    vars(sys.modules["__main__"]).clear()  # and closes what the program has left open
    collect()
    for stream in streams:
        stream.flush()
    leave(code)

for module in sys.argv[2:]:
    importlib.import_module(module)
gc.freeze()
orders = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait for the programs
while True:
    text, files = receive(orders)
    if not text:
        os._exit(0)
    *files, told = files
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        orders.close()
        program = os.fork()
        if not program:
            os.close(told)
            try:
                run(json.loads(text), files)
            except SystemExit as ending:
                if not isinstance(ending.code, int | None):
                    raise
                code = ending.code or 0
            else:
                code = 0
            end(code)
        for file in files:
            os.close(file)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, b"%d " % program)
            os.write(told, b"%d " % os.waitstatus_to_exitcode(os.waitpid(program, 0)[1]))
        os._exit(0)
    for file in (*files, told):
        os.close(file)
"""


class PythonProcess(subprocess.Popen):
    """What `subprocess.Popen` is, for a command that begins with Python and `-c`, `-m` or the path of a script."""

    imported = IMPORTED

    def __init__(self, command: Sequence[Any], *, ignore_ctrl_c: bool = False, **options: Any) -> None:
        """Begin; `options` are those of `subprocess.Popen`."""
        self._told = -1
        self._ignore_ctrl_c = ignore_ctrl_c
        if os.name == "posix" and (signal.getsignal(signal.SIGINT) == signal.SIG_IGN) != ignore_ctrl_c:
            handler = signal.SIG_IGN if ignore_ctrl_c else signal.SIG_DFL
            options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, handler)  # which takes a real fork
        super().__init__([os.fsdecode(each) for each in command], **options)

    def _execute_child(self, args: Any, executable: Any, *rest: Any) -> None:
        environment = os.environ if rest[4] is None else rest[4]
        cwd, new_session = rest[3], rest[19]
        python, *arguments = args
        plain = arguments[0] in ("-c", "-m") or not arguments[0].startswith("-")
        known = _python_variables(environment) == _python_variables(os.environ)
        if not (hasattr(os, "fork") and python == sys.executable and plain and known):
            return super()._execute_child(args, executable, *rest)
        into, _, _, out, _, errors = ends = rest[8:14]
        self._told, told = os.pipe()
        order = {
            "arguments": arguments,
            "folder": os.fspath(cwd or os.getcwd()),
            "environment": dict(environment),
            "new_session": bool(new_session),
            "ignore_ctrl_c": self._ignore_ctrl_c,
        }
        files = [standard if given == -1 else given for standard, given in enumerate((into, out, errors))]
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [*files, told]))]
        _start_server(self.imported).sendmsg([json.dumps(order).encode()], rights)
        os.close(told)
        self._close_pipe_fds(*ends)
        self._child_created = True
        self.pid = int(self._read_told())
        return None

    def _read_told(self) -> str:
        text = b""
        while not text.endswith(b" "):
            byte = os.read(self._told, 1)
            assert byte, "the process that forks others has ended"
            text += byte
        return text.decode()

    def _finish(self) -> int:
        self.returncode = int(self._read_told())
        os.close(self._told)
        self._told = -1
        return self.returncode

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:
        if self._told == -1:
            return super()._internal_poll(*args, **options)
        return self._finish() if self.returncode is None and select.select([self._told], [], [], 0)[0] else None

    def _wait(self, timeout: float | None) -> int:
        if self._told == -1:
            return super()._wait(timeout)
        if not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self._finish()


def run_python(
    command: Sequence[Any], *, capture_output: bool = False, check: bool = False, timeout: float = 600, **options: Any
) -> "subprocess.CompletedProcess[Any]":
    """Do what `subprocess.run` does, by a `PythonProcess`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with PythonProcess(command, **options) as process:
        try:
            printed, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args, printed, errors)
    return subprocess.CompletedProcess(process.args, process.returncode, printed, errors)


def kill_running(processes: Sequence["subprocess.Popen[Any]"]) -> None:
    """Kill those that have not ended, and close their pipes."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _python_variables(environment: Any) -> dict[str, str]:
    """Return what Python, or a library that is imported already, reads as it starts, and no fork could heed."""
    prefixes = ("PYTHON", "LC_", "LANG", "OMP_", "OPENBLAS_", "COVERAGE")
    found = {name: text for name, text in environment.items() if name.startswith(prefixes) and text}
    names = ("PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUNBUFFERED")
    heeded = {("PYTHONUTF8", "1"), *((name, found.get(name)) for name in names)}
    return dict(found.items() - heeded)


@cache
def _start_server(imported: tuple[str, ...]) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_ORDER)
    server = subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", SERVER, str(theirs.fileno()), *imported],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours
