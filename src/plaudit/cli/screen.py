"""The terminal, as Rich draws on it: tables and lines in one quiet style."""

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

QUIET = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n", ascii=True)
"""Lines below the header and between sections. "ascii" says that no other box is needed where the encoding lacks
the line: it is spelled then (see `texts`)."""


_NARROWEST = 6
"""How many characters of a text stand side by side at least."""


class Screen(Console):
    """A console that prints texts as they are: `[x]` is no markup and `:x:` no picture."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Draw on stdout, or on stderr."""
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a line that is too long is for the terminal to wrap, and loses nothing."""
        super().print(*objects, **({"crop": False} | options))

    def on_broken_pipe(self) -> NoReturn:
        """Leave a reader that has gone to the caller, as with any other output."""
        raise BrokenPipeError


class _Numbers(Table):
    """A table whose numbers are never cut: where there is no room for them, its lines are too long."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            cells = [column.header, *column.cells]
            whole = max(Measurement.get(console, options, cell).maximum for cell in cells)
            column.min_width = whole if column.justify == "right" else min(whole, _NARROWEST)
        return super().__rich_console__(console, options)


def table(*headers: str, right: Sequence[str] = ()) -> Table:
    """Return an empty table; columns in `right` hold numbers, which stay whole whatever else has to give way."""
    made = _Numbers(box=QUIET, pad_edge=False, show_edge=False, header_style="dim", border_style="dim")
    texts = [header for header in headers if header not in right]
    for header in headers:
        number = header in right
        justify: Literal["left", "right"] = "right" if number else "left"
        name = header == headers[0] and len(texts) > 1  # which stays whole as long as other texts can give way
        made.add_column(header, justify=justify, no_wrap=number or name, overflow="fold")
    return made
