"""Exit codes: what each means, shown by real commands, and that nothing ends in another way."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress

import click
import pytest

from plaudit import Ledger, PlauditError, errors
from plaudit.cli import main
from plaudit.terminal import ExitCode, Terminated, handle_signals
from support.forking import run_python
from support.samples import EPISODES, following

FAULTY = """
from plaudit import Field, Reward, term

@term
def pay(x):
    return x

class Faulty(Reward):
    @property
    def inputs(self):
        return 1 / 0

reward = Faulty("faulty", version="1", terms=[pay], fields=[Field("x", low=0, high=1)])
"""
ERRORS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, PlauditError)]


@pytest.fixture
def folder(tmp_path, write):
    """Ledgers as they were written, edited and damaged; a reward that fails; rows, of which one is bad."""
    for name in ("rewards.db", "edited.db"):
        with Ledger(tmp_path / name) as ledger:
            for step, row in enumerate(EPISODES["following"]):
                ledger.record(following.score(**row), run="night", episode=1, step=step)
    with sqlite3.connect(tmp_path / "edited.db") as connection:
        connection.execute("UPDATE blocks SET steps = '[5]' WHERE first = 1")
    connection.close()
    whole = (tmp_path / "rewards.db").read_bytes()
    (tmp_path / "damaged.db").write_bytes(whole[:100] + bytes(len(whole) - 100))
    write("faulty.py", FAULTY)
    write("rows.csv", "distance,deceleration,action", "30,1,0", "far,1,0")
    write("other.csv", "speed", "30")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("list", 0),
        ("prove roadsense roadsense", 0),
        ("diff roadsense roadsense", 0),
        ("check roadsense --only unused-field", 0),
        ("check roadsense --fail-on never --only order-inversion", 0),
        ("ledger verify rewards.db", 0),
        ("ledger rank rewards.db", 0),
        ("prove roadsense roadsense@R8", 1),
        ("diff roadsense roadsense@R8", 1),
        ("check hackmatrix --only loop-that-pays", 1),
        ("ledger verify edited.db", 1),
        ("shw", 2),
        ("show", 2),
        ("show roadsense --sorce", 2),
        ("demo --rows 0", 2),
        ("show nothing.json", 2),
        ("score roadsense other.csv", 2),
        ("audit damaged.db", 2),
        ("audit nothing.db", 2),
        ("audit rewards.db --run day", 2),
        ("check roadsense --ledger damaged.db", 2),
        ("compare roadsense roadsense@R8 --ledger damaged.db", 2),
        ("diff roadsense roadsense@R8 --ledger damaged.db", 2),
        ("evaluate damaged.db --decision-class x --policy uniform", 2),
        ("rescore roadsense damaged.db", 2),
        ("report damaged.db", 2),
        ("ledger verify damaged.db", 2),
        ("ledger history damaged.db", 2),
        ("ledger history rewards.db --run day", 2),
        ("ledger why rewards.db 99", 2),
        ("score roadsense rows.csv", 3),
        ("show faulty.py:reward", 4),
    ],
)
def test_a_command_ends_with(plaudit, command, code):
    result = plaudit(*command.split())
    assert result.exit_code == code, result.output
    assert code != ExitCode.FAILED or ("Error: " in result.stderr and "Traceback" not in result.stderr)
    assert code != ExitCode.FAULT or result.stderr.endswith("Please report it with the traceback above.\n")


def failing(error: BaseException) -> click.Command:
    @click.command("fail")
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        *((error("no"), ExitCode.FAILED, "Error: no\n") for error in ERRORS),
        (OSError("odd"), ExitCode.FAILED, "Error: odd\n"),
        (OSError(28, "No space left on device", "x"), ExitCode.FAILED, "Error: x: No space left on device\n"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "\n"),
        (BrokenPipeError(32, "Broken pipe"), ExitCode.BROKEN_PIPE, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_stops_a_command_is_one_message_and_an_exit_code(plaudit, monkeypatch, error, code, told):
    monkeypatch.setitem(main.commands, "fail", failing(error))
    result = plaudit("fail")
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr == told


def test_notes_on_an_error_are_told(plaudit, monkeypatch):
    error = PlauditError("no")
    error.add_note("in step 3")
    monkeypatch.setitem(main.commands, "fail", failing(error))
    assert plaudit("fail").stderr == "Error: no\nin step 3\n"


def test_a_bug_is_not_hidden(plaudit, monkeypatch):
    monkeypatch.setitem(main.commands, "fail", failing(ZeroDivisionError()))
    result = plaudit("fail")
    assert result.exit_code == ExitCode.FAULT
    assert result.stdout == ""
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.endswith(
        "\nZeroDivisionError\n\nThis is a bug in plaudit. Please report it with the traceback above.\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
@pytest.mark.parametrize("command", [["list"], ["list", "--json"], ["show", "hackmatrix", "--spec"]])
def test_a_reader_that_leaves_early_is_no_error(process, command):
    running = process(*command)
    running.stdout.close()
    told = running.stderr.read()
    assert running.wait() == ExitCode.BROKEN_PIPE
    assert told == b""
    running.stderr.close()
    running.stdin.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout_is_told(tmp_path):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "plaudit", "list"]
        done = run_python(command, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    assert done.stderr == b"Error: No space left on device\n"


SLOW = """
import sys, time
print("started", flush=True)
sys.stdin.readline()
print("still here", flush=True)
while True: time.sleep(0.01)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, ExitCode.INTERRUPTED, b"\n"), (signal.SIGTERM, ExitCode.TERMINATED, b"")],
)
def test_a_signal_in_a_real_process_ends_it_quietly(process, tmp_path, number, code, said):
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    running = process("show", "slow.py:reward")  # a command that does nothing about signals
    assert running.stderr.readline() == b"started\n"
    running.send_signal(number)
    assert running.communicate(timeout=300) == (b"", said)
    assert running.returncode == code


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_what_fails_because_of_a_signal_is_not_printed(capsys):
    with pytest.raises(Terminated), handle_signals():
        with suppress(Terminated):
            signal.raise_signal(signal.SIGTERM)
        raise errors.LedgerError("a consequence")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_where_the_parent_ignores_ctrl_c_so_does_every_command_and_it_ends_on_sigterm(process, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    running = process("show", "slow.py:reward", ignore_ctrl_c=True)
    assert running.stderr.readline() == b"started\n"
    running.send_signal(signal.SIGINT)
    running.stdin.write(b"\n")
    running.stdin.flush()
    assert running.stderr.readline() == b"still here\n"
    running.send_signal(signal.SIGTERM)
    assert running.communicate(timeout=300) == (b"", b"")
    assert running.returncode == ExitCode.TERMINATED
