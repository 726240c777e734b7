"""`plaudit train`: an agent that learns, on one of two games, and a report on how well."""

import click

from plaudit.cli.train.hackmatrix import hackmatrix
from plaudit.cli.train.roadsense import roadsense

__all__ = ["train"]


@click.group(epilog="Example: plaudit train hackmatrix --steps 5_000_000 --reward potential --out runs/first")
def train() -> None:
    """Train an agent on a GAME with PPO, and report how well it plays."""


for _command in (hackmatrix, roadsense):
    train.add_command(_command)
