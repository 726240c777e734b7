"""`plaudit experiment`: rewards put to the test in a simulator."""

import click

from plaudit.cli.experiment.roadsense import roadsense

__all__ = ["experiment"]


@click.group(epilog="Example: plaudit experiment roadsense --only R0,R8")
def experiment() -> None:
    """Put every version of a reward to the test: which policies does it pay best?"""


experiment.add_command(roadsense)
