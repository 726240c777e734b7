"""Write the command-line reference from the commands: `python scripts/command_line.py`.

It replaces the list of commands, the table of exit codes, and everything after the marker in
docs/reference/command-line.md; a test fails when the page is out of date.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from plaudit.cli import main
from plaudit.cli._support.groups import SystemGroup
from plaudit.systems import BUILT_IN
from plaudit.terminal import ExitCode

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "command-line.md"
CODES = "| exit code | meaning |\n|---|---|\n"
MARK = "<!-- What follows is made from the commands: python scripts/command_line.py -->"


def list_commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group with its full name; of system commands, only the built-in ones."""
    for own in sorted(group.commands):
        if isinstance(group, SystemGroup) and own not in BUILT_IN:
            continue
        command = group.commands[own]
        yield f"{name} {own}", command
        if isinstance(command, click.Group):
            yield from list_commands(command, f"{name} {own}")


def describe_command(name: str, command: click.Command) -> str:
    """Return the section of one command: usage, help, options and an example."""
    context = click.Context(command, info_name=name, **main.context_settings)  # -h is remembered by the command
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"### {name}", f"`{usage}`", format_help(command.help or "")]
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [option.get_help_record(context) for option in options if "--help" not in option.opts]
    if rows := [f"| `{_escape(names)}` | {_escape(text)} |" for names, text in filter(None, records)]:
        parts.append("\n".join(["| option | |", "|---|---|", *rows]))
    if command.epilog:
        parts.append(f"```sh\n{command.epilog.removeprefix('Example: ')}\n```")
    return "\n\n".join(parts)


def format_help(text: str) -> str:
    """Return the help of a command as Markdown, one paragraph per line; preformatted paragraphs become blocks."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(_format_paragraph(paragraph) for paragraph in paragraphs)


def _format_paragraph(text: str) -> str:
    if text.startswith("\b"):
        return f"```sh\n{inspect.cleandoc(text.lstrip().removeprefix(chr(8)))}\n```"
    line = " ".join(text.split())
    return f"`{line}`" if line.startswith("{") else line


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("[", "\\[")  # [x>=1] is not a link


def list_summaries() -> str:
    """Return the commands as `plaudit --help` lists them in a terminal of 100 columns."""
    formatter = click.HelpFormatter(width=98)
    main.format_commands(click.Context(main), formatter)
    return formatter.getvalue().lstrip("\n")


def write_reference(page: str) -> str:
    """Return a page with the reference of the current commands."""
    before, mark, _ = page.partition(MARK)
    assert mark, f"the page has no line {MARK}"
    codes = "".join(f"| {code} | {code.meaning} |\n" for code in ExitCode)
    before = re.sub(rf"{re.escape(CODES)}(\|.*\n)+", lambda _: CODES + codes, before, count=1)
    before = re.sub(r"(?<=…\n)Commands:\n.*?(?=…\n)", lambda _: list_summaries(), before, count=1, flags=re.DOTALL)
    commands = [describe_command(*each) for each in list_commands(main, "plaudit")]
    return before + "\n\n".join([MARK, "## Every command", *commands]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(write_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
