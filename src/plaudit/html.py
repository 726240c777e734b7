r"""HTML for notebooks, built so that no text can become markup.

Strings are escaped where they are put in; only `Markup`, which these functions make, goes in as it is. Nothing here
needs a script, and no color is set but the page's own, so that light and dark notebooks both fit.

>>> build_table(["term"], [["<b>"]])
'<table><thead><tr><th style="text-align:left">term</th></tr></thead><tbody><tr><td
style="text-align:left">&lt;b&gt;</td></tr></tbody></table>'
"""

import html
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from plaudit.terminal import format_value

MOST_ROWS = 30
"""How many rows of a table, or entries of a list, are shown; how many there are is said."""

_FAINT = "opacity:0.7;font-size:smaller"


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


Content = str | float | bool | None
"""What can be put into an element: markup as it is, a string escaped, a number with six digits, None as nothing."""


def escape(content: Content) -> Markup:
    r"""Return what shows a value as it is: no markup, no control characters, no marks that turn the text around.

    >>> escape("<i>\u202e"), escape(0.1 + 0.2), escape(1234567), escape(None)
    ('&lt;i&gt;\\u202e', '0.3', '1234567', '')
    """
    if isinstance(content, Markup):
        return content
    if content is None:
        return Markup("")
    plain = isinstance(content, int) and not isinstance(content, bool)  # numbers of records have all their digits
    return Markup(html.escape(str(content) if plain else format_value(content)))


def build_element(tag: str, *contents: Content, style: str = "") -> Markup:
    """Return an element with escaped contents: `build_element("b", name)`."""
    opening = f'{tag} style="{html.escape(style)}"' if style else tag
    return Markup(f"<{opening}>{''.join(map(escape, contents))}</{tag}>")


def join(*contents: Content, separator: str = "") -> Markup:
    """Return escaped contents one after another; those that are empty are left out."""
    return Markup(escape(separator).join(text for each in contents if (text := escape(each))))


def build_name(text: str) -> Markup:
    """Return a name as code, apart from the text around it where it is read from right to left."""
    return build_element("bdi", build_element("code", text))


def build_heading(text: Content, *details: Content) -> Markup:
    """Return a line in bold, and what is said beside it."""
    beside = join(*details, separator=" · ")
    return build_element("div", build_element("b", text), " " if beside else "", beside, style="margin-top:0.6em")


def build_note(*contents: Content) -> Markup:
    """Return a line in small letters."""
    return build_element("div", *contents, style=_FAINT)


def build_table(
    headers: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    right: Collection[str] = (),
    total: Sequence[Content] = (),
    most: int = MOST_ROWS,
    count: int | None = None,
) -> Markup:
    """Return a table; the rows beyond the first are left out, and how many there are is said.

    Columns that hold nothing are left out, too.

    Args:
        headers: What stands above the columns.
        rows: The cells of each row.
        right: The headers of columns of numbers, which stand to the right.
        total: A last row, below a line.
        most: How many rows are shown.
        count: How many rows there are, where `rows` are not all of them.
    """
    rows = list(rows) if count is None else list(islice(rows, most))
    count = len(rows) if count is None else count
    shown = rows[:most]
    filled = [row for row in (*shown, total) if row]
    kept = [at for at in range(len(headers)) if not filled or any(row[at] not in ("", None) for row in filled)]
    sides = ["right" if header in right else "left" for header in headers]

    def build_row(tag: str, cells: Sequence[Content], line: str = "") -> Markup:
        parts = (build_element(tag, cells[at], style=f"text-align:{sides[at]}{line}") for at in kept)
        return build_element("tr", *parts)

    parts = [
        build_element("thead", build_row("th", headers)),
        build_element("tbody", *(build_row("td", row) for row in shown)),
    ]
    if total:
        parts.append(build_element("tfoot", build_row("th", total, ";border-top:1px solid")))
    return join(build_element("table", *parts), _count_shown(len(shown), count))


def build_list(entries: Sequence[Content], *, most: int = MOST_ROWS) -> Markup:
    """Return a list; the entries beyond the first are left out, and how many there are is said."""
    shown = entries[:most]
    if not entries:
        return Markup("")
    return join(
        build_element("ul", *(build_element("li", each) for each in shown)), _count_shown(len(shown), len(entries))
    )


def build_folded(summary: Content, content: Markup) -> Markup:
    """Return contents that are opened by a click, without a script."""
    return build_element("details", build_element("summary", summary), content)


def _count_shown(shown: int, count: int) -> Markup:
    return build_note(f"{shown:,} of {count:,} shown") if shown < count else Markup("")
