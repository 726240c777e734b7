"""Boxes: what each input of a question can be, and how that is cut into parts."""

import math
from collections.abc import Iterator, Mapping

from plaudit.checks.domain import choices, span
from plaudit.language.interval import Interval
from plaudit.language.program import Program

MOST_OPEN = 5
"""So many inputs that can be infinite are looked at in every combination."""

Part = tuple[float, ...] | Interval
"""What one input can be inside a box: one of these values, or anything in an interval."""
Box = Mapping[str, Part]


def whole(program: Program) -> Iterator[Box]:
    """Yield what is declared as boxes: one, and one more for every combination of inputs that may be infinite.

    Where there are many such inputs the others of them reach to infinity in every box.
    """
    box: dict[str, Part] = {name: choices(field) or span(field) for name, field in program.inputs.items()}
    open_ends = [name for name, field in program.inputs.items() if field.infinite]
    boxes = [box | {name: Interval(box[name][0], math.inf) for name in open_ends[MOST_OPEN:]}]
    for name in open_ends[:MOST_OPEN]:
        boxes += [{**each, name: (math.inf,)} for each in boxes]
    yield from boxes


def nearest(part: Part, value: float) -> float:
    """Return the value of a part that is nearest to `value`."""
    if isinstance(part, Interval):
        return min(max(value, part.low), part.high)
    return min(part, key=lambda each: abs(each - value) if each != value else 0.0)


def hull(part: Part) -> Interval:
    """Return the interval that holds a part."""
    return Interval(part[0], part[-1])


def halves(part: Part) -> list[Part]:
    """Return a part in two; an interval over many magnitudes is cut at 0, then at the middle of its magnitudes."""
    if not isinstance(part, Interval):
        middle = len(part) // 2
        return [part[:middle], part[middle:]]
    low, high = part
    if low < 0 < high:
        at = 0.0
    elif max(abs(low), abs(high)) > 1e6:
        small = max(min(abs(low), abs(high)), 1.0)
        at = math.copysign(math.sqrt(small) * math.sqrt(max(abs(low), abs(high))), low + high)
    else:
        at = (low + high) / 2
    if not low < at < high:
        return []
    return [Interval(low, at), Interval(at, high)]
