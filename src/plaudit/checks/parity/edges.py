"""Boundaries that no single input has by itself: found by halving the way between two rows that turn differently."""

import math
import struct

from plaudit.checks.parity.inside import Inside
from plaudit.checks.parity.rows import Row


def edge(inside: Inside, row: Row, name: str, far: float, *, past: int) -> Row:
    """Return `row` with the input `name` moved towards `far`, up to where some turn is taken otherwise.

    It comes to stand so many floats `past` the last one before that: 0 is this last one, 1 the first one beyond. Where
    nothing turns differently at `far`, the row stays as it is.
    """
    near = row[name]
    if isinstance(near, str) or not math.isfinite(near) or near == far:
        return row
    here = inside.turned(inside.values(row))
    low, high = _order(float(near)), _order(far)
    if inside.turned(inside.values({**row, name: far})) == here:
        return row
    while abs(high - low) > 1:
        middle = (low + high) // 2
        if inside.turned(inside.values({**row, name: _float(middle)})) == here:
            low = middle
        else:
            high = middle
    moved = _float(low + past * (high - low))
    return {**row, name: moved if inside.program.inputs[name].holds(moved) else _float(low)}


def _order(number: float) -> int:
    """Return the place of a float among all floats.

    >>> _order(0.0), _order(5e-324), _order(-5e-324)
    (0, 1, -1)
    """
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _float(place: int) -> float:
    """Return the float at a place: the inverse of `_order`."""
    bits = place if place >= 0 else -place | -0x8000_0000_0000_0000
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])
