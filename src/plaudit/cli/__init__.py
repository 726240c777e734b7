"""The command line: one module a command, imported when asked for. A command parses, calls the library and prints."""

from typing import Any

import click

from plaudit import __version__
from plaudit.cli._support.errors import translate_errors
from plaudit.cli._support.groups import LazyGroup
from plaudit.terminal import accept_any_text, handle_signals

__all__ = ["main"]

SUMMARIES = {
    "demo": "Take a tour: four rewards, an episode of each, a million transitions.",
    "list": "List the named rewards: what they reward, their versions and their terms.",
    "show": "Show a REWARD: its terms, formula, fields, knobs and fingerprint; or a TASK.",
    "score": "Score every row of DATA with a REWARD.",
    "rescore": "Apply a REWARD to every record of a LEDGER, and tell what changes.",
    "evaluate": "Estimate what a POLICY would have earned on the decisions in a LEDGER.",
    "declare": "Print the task of a REWARD to fill in: what is known, and what is left to say.",
    "check": "Find what is wrong with each REWARD, and show it.",
    "audit": "Find what really happened under each reward of a LEDGER.",
    "prove": "Prove that two rewards are equal, or show where they differ.",
    "diff": "Tell what is different between two versions of a reward, and what that does to recorded steps.",
    "compare": "Tell how far apart REWARDS are in what they make an agent want.",
    "probe": "Tell what earns most in ENV, paid by a REWARD, and whether it is what is wanted.",
    "observe": "Learn a task from ENV or from recorded steps: ranges, rates, events, ends, facts.",
    "parity": "Compare a REWARD with another implementation of it.",
    "report": "Write what ledgers and rewards hold as a page: one file, opened with a double click.",
    "dashboard": "Look at ledgers and rewards in a browser, while runs are being recorded.",
    "export": "Write a REWARD as the text of another language: C or JavaScript.",
    "ledger": "Look into a ledger of recorded rewards, verify it, copy it.",
    "systems:play": "Play a GAME: see the board, choose a move, see what it earned and why.",
    "systems:train": "Train an agent on a GAME with PPO, and report how well it plays.",
    "systems:run": "Run an agent system: see what it decides, what that earns, and what it learns.",
    "systems:experiment": "Put every version of a reward to the test: which policies does it pay best?",
}
"""What each command does, as its own help begins."""


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
    epilog="Begin with: plaudit demo",
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
    """Write a reward once, run it anywhere, and know why every number is what it is.

    Wherever a command takes a REWARD it takes a built-in (roadsense, or roadsense@R8 for a version),
    path/to/file.py:name (the name can be left out where the file has one reward), package.module:name,
    or a JSON file written by `plaudit show --spec`. A task is named for --task in the same ways, or by a JSON
    file written by `plaudit observe` or `plaudit declare --json`. A file or module of Python is run: name those
    you trust.
    """
