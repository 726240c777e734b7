"""Two texts beside each other, with a mark where they differ."""

import difflib
import textwrap
from collections.abc import Iterator

_LEAST = 20
_BETWEEN = 4


def set_side_by_side(before: str, after: str, width: int, *, indent: int = 0) -> Iterator[str]:
    r"""Yield the lines of two texts beside each other; those that are too long for half of `width` are wrapped.

    >>> print(*set_side_by_side("return 1", "return 2", 30), sep="\n")
    return 1 |  return 2
    """
    room = max((width - indent - _BETWEEN) // 2, _LEAST)
    left, right = ([line for each in text.splitlines() for line in _wrap(each, room)] for text in (before, after))
    room = max(map(len, left), default=0)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        for at in range(max(end - start, last - first)):
            one = left[start + at] if start + at < end else ""
            other = right[first + at] if first + at < last else ""
            mark = " " if tag == "equal" else "<" if not other else ">" if not one else "|"
            yield f"{' ' * indent}{one.ljust(room)} {mark}  {other}".rstrip()


def set_tables(before: str, after: str, width: int, *, indent: int = 0) -> Iterator[str]:
    """Yield the lines of two tables beside each other, or one below the other where there is no room."""
    left, right = before.splitlines(), after.splitlines()
    room = max(map(len, left), default=0)
    if room + _BETWEEN + max(map(len, right), default=0) > width - indent:
        yield from (f"{' ' * indent}{line}" for line in (*left, *right))
        return
    for at in range(max(len(left), len(right))):
        one, other = (side[at] if at < len(side) else "" for side in (left, right))
        yield f"{' ' * indent}{one.ljust(room + _BETWEEN)}{other}".rstrip()


def _wrap(line: str, room: int) -> list[str]:
    own = len(line) - len(line.lstrip())
    return textwrap.wrap(line, room, subsequent_indent=" " * (own + 4)) or [""]
