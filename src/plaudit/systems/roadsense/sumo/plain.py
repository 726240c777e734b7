"""The roads that plaudit builds itself, in the plain XML that SUMO's netconvert reads."""

import math
from hashlib import sha256
from typing import NamedTuple

Point = tuple[float, float]


class PlainRoad(NamedTuple):
    """A single lane from its first point to its last."""

    points: tuple[Point, ...]
    limit: float
    """m/s."""

    @property
    def nodes(self) -> str:
        """The two ends, as netconvert's node file."""
        ends = zip("ab", (self.points[0], self.points[-1]), strict=True)
        nodes = "".join(f'<node id="{id}" x="{x:.2f}" y="{y:.2f}"/>' for id, (x, y) in ends)
        return f"<nodes>{nodes}</nodes>\n"

    @property
    def edges(self) -> str:
        """The one edge with its shape, as netconvert's edge file."""
        shape = " ".join(f"{x:.2f},{y:.2f}" for x, y in self.points)
        return (
            f'<edges><edge id="road" from="a" to="b" numLanes="1" speed="{self.limit}" spreadType="center"'
            f' shape="{shape}"/></edges>\n'
        )

    @property
    def digest(self) -> str:
        """A few letters that change whenever the road does."""
        return sha256((self.nodes + self.edges).encode()).hexdigest()[:12]


class Stretch(NamedTuple):
    """A part of a road: `length` metres, over which it turns by `turn` degrees to the left."""

    length: float
    turn: float = 0.0


def arc(radius: float, turn: float) -> Stretch:
    """Return a bend of a radius in metres.

    >>> round(arc(100.0, 90.0).length, 1)
    157.1
    """
    return Stretch(radius * math.radians(abs(turn)), turn)


def drawn(stretches: tuple[Stretch, ...], *, spacing: float = 4.0) -> tuple[Point, ...]:
    """Return the points of a road that starts at the origin towards the east; a bend has one at most every `spacing` m.

    >>> [(round(x), round(y)) for x, y in drawn((Stretch(100.0), Stretch(0.0, 90.0), Stretch(50.0)))]
    [(0, 0), (100, 0), (100, 50)]
    """
    x, y, angle = 0.0, 0.0, 0.0
    points = [(x, y)]
    for length, turn in stretches:
        pieces = max(1, math.ceil(length / spacing)) if turn else 1
        for _ in range(pieces):
            middle = angle + math.radians(turn) / pieces / 2
            x, y = x + math.cos(middle) * length / pieces, y + math.sin(middle) * length / pieces
            angle += math.radians(turn) / pieces
            if length:
                points.append((x, y))
    return tuple(points)


STRAIGHT = PlainRoad(((0.0, 0.0), (4000.0, 0.0)), limit=22.22)
"""Four kilometres without a bend."""

CURVED = PlainRoad(
    drawn(
        (
            Stretch(200.0),
            arc(200.0, 35.0),
            Stretch(120.0),
            arc(180.0, -60.0),
            Stretch(80.0),
            arc(25.0, 180.0),  # the hairpin
            Stretch(160.0),
            arc(200.0, -45.0),
            Stretch(250.0),
            arc(250.0, 40.0),
            Stretch(200.0),
            arc(160.0, -30.0),
            Stretch(400.0),
        )
    ),
    limit=13.89,
)
"""Gentle bends, a hairpin after 700 m, and gentle bends again: two kilometres in all."""

PLAIN = {"straight": STRAIGHT, "curved": CURVED}
"""The roads by name."""
