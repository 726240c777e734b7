"""`plaudit run`: the agent systems alive, each in a small example."""

import click

from plaudit.cli.run.apex import apex
from plaudit.cli.run.deepthinker import deepthinker

__all__ = ["run"]


@click.group(epilog="Example: plaudit run apex --seed 7 --out runs/apex")
def run() -> None:
    """Run an agent system: see what it decides, what that earns, and what it learns."""


for _command in (apex, deepthinker):
    run.add_command(_command)
