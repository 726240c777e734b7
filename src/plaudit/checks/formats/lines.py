"""Lines of a report: spans of text, each with the part it plays, so that a terminal can colour what a file cannot."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Literal, NamedTuple

Part = Literal["", "title", "warning", "advice", "dim"]


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    part: Part = ""


Line = tuple[Span, ...]


def plain(line: Line) -> str:
    """Return the text of a line.

    >>> plain((Span("warning", "warning"), Span("  jump")))
    'warning  jump'
    """
    return "".join(span.text for span in line).rstrip()


def paragraph(text: str, *, width: int, indent: int = 0, first: str = "", part: Part = "") -> Iterator[Line]:
    """Yield a text in lines of at most `width`; `first` opens it, and the others are indented as deep.

    >>> [plain(line) for line in paragraph("one two three", width=12, first="- ")]
    ['- one two', '  three']
    """
    lead = " " * indent + first
    room = max(width - len(lead), 12)
    for at, piece in enumerate(wrap(text, room, break_on_hyphens=False) or [""]):
        yield (Span(lead if not at else " " * len(lead)), Span(piece, part))
