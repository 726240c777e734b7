"""The terminal, as Rich draws on it: tables and lines in one quiet style."""

from collections.abc import Sequence
from typing import Literal, NoReturn

from rich.box import Box
from rich.console import Console
from rich.table import Table

QUIET = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n", ascii=True)
"""Lines below the header and between sections. "ascii" says that no other box is needed where the encoding lacks
the line: it is spelled then (see `texts`)."""


class Screen(Console):
    """A console that prints texts as they are: `[x]` is no markup and `:x:` no picture."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Draw on stdout, or on stderr."""
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> NoReturn:
        """Leave a reader that has gone to the caller, as with any other output."""
        raise BrokenPipeError


def table(*headers: str, right: Sequence[str] = ()) -> Table:
    """Return an empty table; columns in `right` hold numbers."""
    made = Table(box=QUIET, pad_edge=False, show_edge=False, header_style="dim", border_style="dim")
    for at, header in enumerate(headers):  # names and numbers stay whole as long as others can give way
        number = header in right
        justify: Literal["left", "right"] = "right" if number else "left"
        made.add_column(header, justify=justify, no_wrap=number or not at, overflow="fold")
    return made
