"""The command line: one module a command. A command parses, calls the library and prints."""

from typing import Any

import click

from plaudit.cli import (
    check,
    demo,
    evaluate,
    experiment,
    ledger,
    listing,
    parity,
    play,
    prove,
    rescore,
    run,
    score,
    show,
    train,
)
from plaudit.cli.errors import told
from plaudit.cli.texts import accept_any_text

__all__ = ["main"]


class _Commands(click.Group):
    """A group whose commands end in a message and an exit code, whatever happens."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        with told():
            return super().invoke(ctx)

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments, run and exit."""
        accept_any_text()
        return super().main(*arguments, **options)


def _print_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"plaudit {version()}")
        ctx.exit()


def version() -> str:
    """Return the version that is installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("plaudit")
    except PackageNotFoundError:
        return "(not installed)"


@click.group(cls=_Commands, epilog="Begin with: plaudit demo", context_settings={"max_content_width": 100})
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
    path/to/file.py:name, package.module:name, or a JSON file written by `plaudit show --spec`.
    """


for _command in (
    demo.demo,
    listing.list_,
    show.show,
    score.score,
    rescore.rescore,
    evaluate.evaluate,
    check.check,
    prove.prove,
    parity.parity,
    ledger.ledger,
    play.play,
    train.train,
    run.run,
    experiment.experiment,
):
    main.add_command(_command)
