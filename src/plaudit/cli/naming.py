"""Options that name a file or a folder."""

import click


def named(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse a name that is empty: a variable of the shell was."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty; give a name, or leave the option out.")
    return value
