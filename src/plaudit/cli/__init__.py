"""The command line: one module per command, imported on demand. A command parses, calls the library and prints."""

from typing import Any

import click

from plaudit import __version__
from plaudit.cli._support.errors import translate_errors
from plaudit.cli._support.groups import LazyGroup
from plaudit.terminal import accept_any_text, handle_signals

__all__ = ["main"]

SUMMARIES = {
    "demo": "Take a tour of four built-in rewards.",
    "list": "List the built-in and installed rewards.",
    "show": "Show a reward or a task.",
    "score": "Score every row of a file with a reward.",
    "rescore": "Score a ledger's records with another reward.",
    "evaluate": "Estimate what another policy would have earned.",
    "declare": "Print a task for a reward, to fill in.",
    "check": "Find flaws in a reward, with a witness for each.",
    "audit": "Audit recorded episodes for reward hacking.",
    "stress": "Attack a reward of texts with built completions.",
    "prove": "Prove two rewards equal, or show a difference.",
    "diff": "Show what changed between two reward versions.",
    "compare": "Measure the distance between rewards.",
    "probe": "Find what earns most in an environment.",
    "observe": "Learn a task from an environment or records.",
    "parity": "Test another implementation of a reward.",
    "report": "Write ledgers and rewards to one HTML page.",
    "dashboard": "Browse ledgers and rewards in a live web page.",
    "export": "Export a reward to C, CUDA or JavaScript.",
    "ledger": "Inspect, verify, copy and compact a ledger.",
    "systems:play": "Play a game and see what each move earns.",
    "systems:train": "Train an agent with PPO and report the results.",
    "systems:run": "Run an agent system and see what it earns.",
    "systems:experiment": "Test every reward version on fixed policies.",
}
"""The summary of each command: the first line of its help."""


class _Commands(LazyGroup):
    """A group whose commands end in a message and an exit code, whatever happens."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        with translate_errors(), handle_signals():
            return super().invoke(ctx)

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments, run and exit."""
        accept_any_text()
        return super().main(*arguments, **options)


def _print_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"plaudit {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    package="plaudit.cli",
    summaries=SUMMARIES,
    epilog="Start with: plaudit demo",
    context_settings={"max_content_width": 100, "help_option_names": ["--help", "-h"]},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Write, check and explain reward functions.

    A REWARD is a built-in (roadsense, or roadsense@R8 for a version), path/to/file.py:name (the name is optional if
    the file has one reward), package.module:name, or a JSON file written by `plaudit show --spec`. --task takes the
    same forms, and JSON files written by `plaudit observe` or `plaudit declare --json`. Python files and modules are
    executed: name only those you trust.
    """
