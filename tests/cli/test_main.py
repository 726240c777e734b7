"""The command line as a whole: help, exit codes, encodings, and a quick start."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import click
import pytest

from plaudit.cli import main


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


def test_every_summary_fits_in_50_characters_and_is_never_cut(plaudit, monkeypatch):
    summaries = {words: summarise(words) for words in list_commands() if words}
    assert {words: summary for words, summary in summaries.items() if len(summary) > 50} == {}
    for columns in ("40", "80"):
        for group in [(), ("ledger",), ("play",), ("train",), ("run",), ("experiment",)]:
            monkeypatch.setenv("COLUMNS", columns)
            shown = " ".join(plaudit(*group, "--help").stdout.partition("Commands:")[2].split())
            assert "..." not in shown
            own = {words: each for words, each in summaries.items() if words[:-1] == group}
            assert all(f"{words[-1]} {summary}" in shown for words, summary in own.items())


def summarise(words):
    command = main
    for word in words:
        command = command.commands[word]
    return command.help.strip().splitlines()[0]


WIDEST = 38


@pytest.mark.parametrize("words", list(list_commands()), ids=" ".join)
def test_help_fits_a_terminal_of_40_columns_and_cuts_no_word(plaudit, monkeypatch, words):
    def shown(columns):
        monkeypatch.setenv("COLUMNS", columns)
        return plaudit(*words, "--help").stdout

    whole = {part for word in shown("300").split() for part in word.split("-")}
    lines = shown("40").splitlines()
    parts = {part for line in lines for word in line.split() for part in word.split("-")}
    assert parts - whole <= {part for part in parts if any(part in each for each in whole if len(each) > 20)}
    assert [
        line
        for line in lines
        if len(line) > WIDEST and len(line.split()) > 1 and not line.strip().startswith(("-", "plaudit "))
    ] == []


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


# -- real processes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding", ["ascii", "cp1252", *(pytest.param(each, marks=pytest.mark.slow) for each in ("cp437", "utf-8"))]
)
@pytest.mark.parametrize("command", [["list"], ["show", "hackmatrix"], ["show", "nothing.json"]])
def test_any_encoding_of_the_terminal_will_do(process, encoding, command):
    done = process(*command, PYTHONIOENCODING=encoding)
    printed, told = done.communicate()
    assert done.returncode == (2 if "nothing.json" in command else 0)
    assert b"Traceback" not in told
    assert b"\x1b" not in printed
    if command == ["list"]:
        assert ("6 × 6" if encoding in ("cp1252", "utf-8") else "6 x 6") in printed.decode(encoding)


@pytest.mark.parametrize(
    "command",
    [
        ["show", "roadsense"],
        *(pytest.param(each, marks=pytest.mark.slow) for each in (["list"], ["check", "--rules"], ["check", "--help"])),
    ],
)
def test_a_locale_without_utf_8_prints_what_it_can(process, command):
    done = process(*command, LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
    printed, told = done.communicate()
    assert (done.returncode, told) == (0, b"")
    assert printed.decode("ascii")


@pytest.mark.parametrize(
    "command",
    [["list"], ["check", "roadsense", "--only", "jump"], pytest.param(["demo", "--rows", "1"], marks=pytest.mark.slow)],
)
def test_no_color_prints_no_escape_codes(process, command):
    done = process(*command, NO_COLOR="1", FORCE_COLOR="", COLUMNS="40")
    printed, told = done.communicate()
    assert (done.returncode, b"Traceback" in told) == (0, False)
    assert b"\x1b" not in printed + told


@pytest.mark.skipif(os.name == "nt", reason="closing a stream of a child is a POSIX shell's business")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_stream_that_is_closed_is_no_failure(closed):
    command = f"{sys.executable} -m plaudit check --rules {closed}"
    result = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
