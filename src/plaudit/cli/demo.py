"""`plaudit demo`: a tour of under a minute."""

import click


@click.command(epilog="Example: plaudit demo --rows 100000")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="How many made-up transitions each reward scores.",
)
def demo(rows: int) -> None:
    """Take a tour: four rewards, an episode of each, a million transitions."""
    from plaudit.cli.screen import Screen
    from plaudit.cli.tour import tour

    tour(Screen(), rows)
