"""The command line as a whole: help, exit codes, encodings, and a quick start."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import click
import pytest

from plaudit import PlauditError, errors
from plaudit.cli import main
from plaudit.cli._support.findings import refuse_unreadable
from plaudit.terminal import (
    BROKEN_PIPE,
    FAILED,
    INTERNAL,
    INTERRUPTED,
    SOME_BAD,
    TERMINATED,
    Terminated,
    handle_signals,
)
from support.forking import run_python


@pytest.mark.parametrize("name", main.commands)
def test_every_command_has_help_with_an_example(plaudit, name):
    result = plaudit(name, "--help")
    assert result.exit_code == 0
    assert main.commands[name].help.strip()
    assert f"Example: plaudit {name}" in " ".join(result.stdout.split())


def list_commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command and group, those of systems among them."""
    yield path
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from list_commands(command, (*path, name))
        else:
            yield (*path, name)


def test_h_is_short_for_help_of_every_command(plaudit):
    commands = list(list_commands())
    assert {(), ("ledger",), ("ledger", "why"), ("run", "apex"), ("train", "roadsense")} <= set(commands)
    for words in commands:
        result = plaudit(*words, "-h")
        assert result.exit_code == 0, words
        assert result.stdout == plaudit(*words, "--help").stdout
        assert "  -h, --help " in result.stdout


@pytest.mark.parametrize("name", main.commands)
def test_every_option_has_help(name):
    options = [option for option in main.commands[name].params if isinstance(option, click.Option)]
    assert all(option.help for option in options)


def test_help_names_every_command_and_every_kind_of_reward(plaudit):
    shown = plaudit("--help").stdout
    assert all(f"  {name} " in shown for name in main.commands)
    assert all(form in shown for form in ("roadsense@R8", "file.py:name", "package.module:name", "JSON"))


@pytest.mark.parametrize("group", ["plaudit", "ledger"])
def test_the_list_of_commands_says_what_each_says_of_itself(group):
    found = main if group == "plaudit" else main.commands[group]
    summaries = {name: command.get_short_help_str(1000) for name, command in found.commands.items()}
    assert summaries == found.summaries


def test_no_command_needs_an_extra_before_it_runs():
    script = (
        "import sys; from plaudit.cli import main\n"
        "groups = [main]\n"
        "for group in groups: groups += [each for each in group.commands.values() if hasattr(each, 'commands')]\n"
        "print(len(groups), *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    count, *modules = done.stdout.split()
    assert count == "6"  # the command line, its ledger, and the four kinds of commands that systems bring
    assert {"plaudit.cli.rescore", "plaudit.systems.roadsense.commands.train"} <= set(modules)
    extras = {"gymnasium", "hypothesis", "jax", "matplotlib", "numba", "pyarrow", "scipy", "sqlglot", "torch", "z3"}
    assert {name.partition(".")[0] for name in modules} & extras == set()


def test_version_is_shown(plaudit):
    result = plaudit("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("plaudit ")


@pytest.mark.parametrize("arguments", [["shw"], ["show"], ["show", "roadsense", "--sorce"], ["demo", "--rows", "0"]])
def test_wrong_usage_is_told_on_stderr(plaudit, arguments):
    result = plaudit(*arguments)
    assert result.exit_code == FAILED
    assert result.stdout == ""
    assert "Error: " in result.stderr


def test_a_command_that_is_nearly_right_is_guessed(plaudit):
    assert "Did you mean 'show'?" in plaudit("shw").stderr


def test_the_command_line_starts_without_numpy():
    assert "numpy" not in modules_of_the_command_line()


def test_the_command_line_starts_without_what_only_some_commands_need():
    assert modules_of_the_command_line() & {"rich", "plaudit.systems.apex", "plaudit.systems.roadsense"} == set()


@cache
def modules_of_the_command_line() -> set[str]:
    script = "import json, sys; import plaudit.cli; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout))


def failing(error: BaseException) -> click.Command:
    @click.command("fail")
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (PlauditError("no"), FAILED, "Error: no\n"),
        (FileNotFoundError(2, "No such file or directory", "x"), FAILED, "Error: x: No such file or directory\n"),
        (OSError("odd"), SOME_BAD, "Error: odd\n"),
        (OSError(28, "No space left on device", "x"), SOME_BAD, "Error: x: No space left on device\n"),
        (PermissionError(13, "Permission denied", "x"), FAILED, "Error: x: Permission denied\n"),
        (errors.DefinitionError("no"), FAILED, "Error: no\n"),
        (errors.SpecError("no"), FAILED, "Error: no\n"),
        (errors.MissingExtra("no"), FAILED, "Error: no\n"),
        (errors.UnsupportedNode("no"), FAILED, "Error: no\n"),
        (errors.FileError("no"), FAILED, "Error: no\n"),
        (errors.LedgerError("no"), FAILED, "Error: no\n"),
        (errors.UnusableFile("full"), SOME_BAD, "Error: full\n"),
        (errors.NotEvaluable("no"), SOME_BAD, "Error: no\n"),
        (errors.MissingField("no"), SOME_BAD, "Error: no\n"),
        (errors.NotInLedger("no"), SOME_BAD, "Error: no\n"),
        (errors.KeyConflict("no"), SOME_BAD, "Error: no\n"),
        (errors.LedgerBusy("away"), SOME_BAD, "Error: away\n"),
        (errors.LedgerBroken("damaged"), SOME_BAD, "Error: damaged\n"),
        (errors.LedgerTooNew("new"), SOME_BAD, "Error: new\n"),
        (KeyboardInterrupt(), INTERRUPTED, "\n"),
        (BrokenPipeError(32, "Broken pipe"), BROKEN_PIPE, ""),
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
    assert result.exit_code == INTERNAL
    assert result.stdout == ""
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.endswith(
        "\nZeroDivisionError\n\nThis is a fault of plaudit. Please report it with the lines above.\n"
    )


# -- real processes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
@pytest.mark.parametrize("command", [["list"], ["show", "hackmatrix"], ["show", "nothing.json"]])
def test_any_encoding_of_the_terminal_will_do(process, encoding, command):
    done = process(*command, PYTHONIOENCODING=encoding)
    printed, told = done.communicate()
    assert done.returncode == (2 if "nothing.json" in command else 0)
    assert b"Traceback" not in told
    assert b"\x1b" not in printed
    if command == ["list"]:
        assert ("6 × 6" if encoding in ("cp1252", "utf-8") else "6 x 6") in printed.decode(encoding)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
@pytest.mark.parametrize("command", [["list"], ["list", "--json"], ["show", "hackmatrix", "--spec"]])
def test_a_reader_that_leaves_early_is_no_error(process, command):
    running = process(*command)
    running.stdout.close()
    told = running.stderr.read()
    assert running.wait() == BROKEN_PIPE
    assert told == b""
    running.stderr.close()
    running.stdin.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout_is_told(tmp_path):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "plaudit", "list"]
        done = run_python(command, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
    assert done.returncode == SOME_BAD
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
    ("number", "code", "said"), [(signal.SIGINT, INTERRUPTED, b"\n"), (signal.SIGTERM, TERMINATED, b"")]
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
    with pytest.raises(Terminated), handle_signals(), refuse_unreadable():
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
    assert running.returncode == TERMINATED


@pytest.mark.skipif(os.name == "nt", reason="closing a stream of a child is a POSIX shell's business")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_stream_that_is_closed_is_no_failure(closed):
    command = f"{sys.executable} -m plaudit check --rules {closed}"
    result = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
