"""Several lines at once: until all of them are there, a mark at the end of the file says where they begin.

The mark is put behind the room that the lines will take, then they are written, then the file is cut to its new end.
The cut is the one moment in which they come to be there. A file that ends in a mark ends, for whoever reads or writes
it, where the mark says.
"""

import os
import re

_MARK = b"\0unfinished batch from byte %020d"
_MARKED = re.compile(rb"\0unfinished batch from byte (\d{20})")
_BLOCK = 65_536


def format_mark(start: int) -> bytes:
    """Return the mark of lines that begin at the byte `start`."""
    return _MARK % start


def find_end(file: int) -> int:
    """Return where the finished lines of an open file end: its size, unless lines after that were never finished."""
    size = os.fstat(file).st_size
    length = len(_MARK % 0)
    marked = _MARKED.fullmatch(read_between(file, size - length, size)) if size >= length else None
    if marked:
        start = int(marked[1])
        if start <= size - length and (start == 0 or read_between(file, start - 1, start) == b"\n"):
            return start
    begin = find_line_start(file, size)  # what a mark begins with, or room without one, is no line
    return begin if read_between(file, begin, begin + 1) == b"\0" else size


def find_line_start(file: int, end: int) -> int:
    """Return where the line that ends before the byte `end` begins."""
    while end > 0:
        begin = max(0, end - _BLOCK)
        at = read_between(file, begin, end).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0


def read_between(file: int, begin: int, end: int) -> bytes:
    """Return the bytes from `begin` to `end`, fewer where the file ends."""
    os.lseek(file, begin, os.SEEK_SET)
    parts = []
    while begin < end and (part := os.read(file, end - begin)):
        parts.append(part)
        begin += len(part)
    return b"".join(parts)
