"""How results read: counts with their nouns, and tables of text."""

from collections.abc import Sequence


def format_count(count: int, noun: str) -> str:
    """Return how many there are of something.

    >>> format_count(1, "row"), format_count(1200, "bad row")
    ('1 row', '1,200 bad rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as columns, the first row above a line; names stand left, numbers right.

    >>> print(format_table([("reward", "records"), ("maze", "12")]))
    reward  records
    ──────  ───────
    maze         12
    """
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])
