"""What a car knows of those around it from their messages: what the reward reads, and what the policy sees."""

from collections.abc import Mapping, Sequence
from math import cos, hypot, inf, isfinite, prod, radians, sin
from struct import Struct
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from plaudit.errors import DefinitionError, MissingExtra, NotFinite, did_you_mean
from plaudit.systems.roadsense.world import STALE, CarState

if TYPE_CHECKING:
    from gymnasium import spaces

Array = np.ndarray[Any, np.dtype[np.float32]]
Kind = Literal["vector", "dict"]

BRAKES = -2.5
"""A peer at this acceleration or below it warns, in m/s²."""
SLOWS = -0.5
"""A peer at this acceleration or below it brakes, as R3 and R4 see it."""
STANDS = 0.5
"""A peer at this speed or below it stands, in m/s."""
ROOM = 8
"""How many peers the observation `dict` has room for: the nearest."""

# Sine and cosine of whole degrees are off by a few units in the last place; a micrometer is a rounding error.
_NEAR = 1e-6


def measure_forward(ego: CarState, car: CarState) -> float:
    """Return how far ahead of `ego` a car is along its heading, in meters; negative behind it, 0 right beside it.

    >>> ego = CarState(0.0, 0.0, 15.0, 0.0, 90.0)  # bound east
    >>> beside, ahead = CarState(0.0, 50.0, 15.0, 0.0, 90.0), CarState(30.0, 4.0, 15.0, 0.0, 90.0)
    >>> measure_forward(ego, ahead), measure_forward(ego, beside)
    (30.0, 0.0)
    """
    angle = radians(ego.heading)
    along = (car.x - ego.x) * sin(angle) + (car.y - ego.y) * cos(angle)
    return along if abs(along) > _NEAR else 0.0


class Sighting(NamedTuple):
    """What the reward reads of the messages that are fresh enough to count."""

    distance: float
    """Metres to the nearest car ahead; inf where none is heard."""
    closing_rate: float
    """Own speed less that of the nearest car ahead, m/s; 0 where none is heard."""
    nearest: str | None
    peer_braking: bool
    """Some peer is at −0.5 m/s² or below, or at 0.5 m/s or slower."""
    braking_peer: bool
    """Some peer, wherever it is, is at −2.5 m/s² or below."""
    fresh_braking: bool
    """Some peer within 45° of straight ahead is at −2.5 m/s² or below."""
    hearing: int
    """How many peers are heard."""


NOBODY = Sighting(inf, 0.0, None, False, False, False, 0)
"""What is sighted if no peer is heard."""


def build_sighting(ego: CarState, messages: Mapping[str, CarState]) -> Sighting:
    """Return what `ego` makes of its messages. Ahead is where the heading points, heading 0 is north, clockwise.

    >>> ego = CarState(0.0, 0.0, 15.0, 0.0, 0.0)
    >>> build_sighting(ego, {"V002": CarState(0.0, 30.0, 12.0, -3.0, 0.0, age=4.0)})
    Sighting(distance=30.0, closing_rate=3.0, nearest='V002', peer_braking=True, braking_peer=True,
        fresh_braking=True, hearing=1)
    """
    x, y, speed, _, heading, _, _ = ego
    angle = radians(heading)
    east, north = sin(angle), cos(angle)
    closest, closing, nearest = inf, 0.0, None
    peer_braking = braking_peer = fresh_braking = False
    hearing = 0
    for source, (px, py, peer_speed, acceleration, _, age, _) in messages.items():
        if age >= STALE:
            continue
        hearing += 1
        dx, dy = px - x, py - y
        along, across = dx * east + dy * north, dx * north - dy * east
        if not isfinite(along + across + peer_speed + acceleration):
            raise _not_finite_error(ego, source, messages[source])
        if along > _NEAR:
            away = hypot(dx, dy)
            if away < closest:
                closest, closing, nearest = away, speed - peer_speed, source
        if acceleration <= SLOWS or peer_speed <= STANDS:
            peer_braking = True
            if acceleration <= BRAKES:
                braking_peer = True
                if along > _NEAR and abs(across) <= along + _NEAR:
                    fresh_braking = True
    return tuple.__new__(Sighting, (closest, closing, nearest, peer_braking, braking_peer, fresh_braking, hearing))


def _not_finite_error(ego: CarState, source: str, message: CarState) -> NotFinite:
    return NotFinite(
        f"the message from {source!r} cannot be placed: {message}\nfor a car that is at {ego}.\n"
        "All numbers of both must be finite."
    )


class ObservationBuilder:
    """What the policy sees, of one of two kinds.

    `"vector"`: own speed/30, and of each of `peers` in turn distance/100, (its speed less the own)/30, its
    acceleration/10, age/500 and whether the message counts; zeros where nothing was ever heard.

    `"dict"`: of the peers whose messages count and that are within 45° of straight ahead, the nearest first: `peers`
    (8 × 6) with forward/100, left/100, (its speed less the own)/30, (its heading less the own)/180, acceleration/10 and
    age/500; `peer_mask` (8); and `ego` with own speed/30, own acceleration/10, peers/8, their lowest acceleration/10 or
    0, the fading signal of a warning, and the highest closing speed/30 or 0.

    What is beyond the ends of its space, such as a car more than 10 km away, is held to them.

    >>> builder = ObservationBuilder(peers=["V002"])
    >>> ego = CarState(0.0, 0.0, 15.0, 0.0, 0.0)
    >>> builder.build(ego, {"V002": CarState(0.0, 50.0, 9.0, -5.0, 0.0, age=50.0)}).tolist()
    [0.5, 0.5, -0.20000000298023224, -0.5, 0.10000000149011612, 1.0]
    """

    def __init__(self, kind: Kind = "vector", *, peers: Sequence[str]) -> None:
        if kind not in get_args(Kind):
            near = did_you_mean(str(kind), get_args(Kind))
            raise DefinitionError(f"observation={kind!r} must be one of {', '.join(get_args(Kind))}.{near}")
        self.kind = kind
        self.peers = tuple(peers)
        self._low, self._high = np.array(_OWN + _PEER * len(self.peers), np.float32).T.copy()
        self._pack = Struct(f"{len(self._low)}f").pack
        self._build = self._build_vector if kind == "vector" else self._build_dict

    def distance(self, ego: CarState, messages: Mapping[str, CarState]) -> float:
        """Return the distance to the nearest car ahead that is heard.

        Args:
            ego: The driven car.
            messages: The last message of each peer.

        Returns:
            The distance in meters; inf if there is none.
        """
        return build_sighting(ego, messages).distance

    def build(self, ego: CarState, messages: Mapping[str, CarState], *, braking: float = 0.0) -> Any:
        """Build the observation of the policy.

        Args:
            ego: The driven car.
            messages: The last message of each peer.
            braking: The fading signal of a warning.

        Returns:
            An array, or a dict of arrays for `"dict"`.
        """
        return self._build(ego, messages, braking)

    def _build_vector(self, ego: CarState, messages: Mapping[str, CarState], braking: float) -> Array:
        x, y, speed, _, _, _, _ = ego
        seen, odd = [speed / 30.0], speed > _FASTEST
        for name in self.peers:
            message = messages.get(name)
            if message is None:
                seen += _UNHEARD
                continue
            px, py, peer_speed, acceleration, _, age, _ = message
            away, faster = hypot(px - x, py - y), peer_speed - speed
            if away > _FARTHEST or age > _OLDEST or abs(acceleration) > _HARDEST or abs(faster) > _FASTEST:
                odd = True
            counts = 1.0 if age < STALE else 0.0
            seen += (away / 100.0, faster / 30.0, acceleration / 10.0, age / STALE, counts)
        if odd:
            return np.array(seen).clip(self._low, self._high).astype(np.float32)
        return np.frombuffer(bytearray(self._pack(*seen)), _FLOAT)

    def _build_dict(self, ego: CarState, messages: Mapping[str, CarState], braking: float) -> dict[str, Array]:
        rows = _build_rows(ego, messages)
        speed, own, count = ego.speed, ego.acceleration, len(rows)
        seen = [speed / 30.0, own / 10.0, count / ROOM, 0.0, braking, 0.0]
        odd, lowest, slowest = speed > _FASTEST or abs(own) > _HARDEST, 0.0, 0.0
        for _, row in rows:
            along, _, faster, _, acceleration, _ = row
            if along > 100.0 or abs(faster) > 2.0 or abs(acceleration) > 1.0:
                odd = True
            if acceleration < lowest:
                lowest = acceleration
            if faster < slowest:
                slowest = faster
            seen += row
        seen[3], seen[5] = lowest, 0.0 - slowest
        if odd:
            seen = np.array(seen).clip(_LOW[: len(seen)], _HIGH[: len(seen)]).tolist()
        memory = bytearray(_EMPTY[count])
        _PACK[count](memory, 0, *seen)
        peers, mask = np.ndarray((ROOM, 6), _FLOAT, memory, 4 * 6), np.ndarray(ROOM, _FLOAT, memory, 4 * _MASK)
        return {"ego": np.ndarray(6, _FLOAT, memory), "peers": peers, "peer_mask": mask}

    @property
    def space(self) -> "spaces.Space[Any]":
        """Every observation of this kind, as a Gymnasium space."""
        try:
            from gymnasium import spaces
        except ModuleNotFoundError:
            raise MissingExtra("the convoy's space needs gymnasium. Install it: pip install 'plaudit[gym]'") from None
        if self.kind == "vector":
            return spaces.Box(self._low, self._high)
        boxes: dict[str, spaces.Space[Any]] = {}
        for name, shape, start in _PARTS:
            part = slice(start, start + prod(shape))
            boxes[name] = spaces.Box(_LOW[part].reshape(shape), _HIGH[part].reshape(shape))
        return spaces.Dict(boxes)


_FLOAT = np.dtype(np.float32)
# What is beyond these is held to the ends of its space: m, ms, m/s², m/s.
_FARTHEST, _OLDEST, _HARDEST, _FASTEST = 10_000.0, 9999.0, 10.0, 60.0
_UNHEARD = (0.0, 0.0, 0.0, 0.0, 0.0)
# The ends of a vector, by peer.
_OWN, _PEER = [(0.0, 2.0)], [(0.0, 100.0), (-2.0, 2.0), (-1.0, 1.0), (0.0, _OLDEST / STALE), (0.0, 1.0)]
# Of a dict: ego, peers, mask, one after the other in one piece of memory; their shapes, and where they begin in it.
_EGO = [(0.0, 2.0), (-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (0.0, 1.0), (0.0, 2.0)]
_ROW = [(0.0, 100.0), (-100.0, 100.0), (-2.0, 2.0), (-1.0, 1.0), (-1.0, 1.0), (0.0, 1.0)]
_LOW, _HIGH = np.array(_EGO + _ROW * ROOM + [(0.0, 1.0)] * ROOM, np.float32).T.copy()
_MASK = 6 + 6 * ROOM
_PARTS = (("ego", (6,), 0), ("peers", (ROOM, 6), 6), ("peer_mask", (ROOM,), _MASK))
# By number of peers: that memory with only the mask in it, and what puts the rest there.
_EMPTY = [np.array([0.0] * _MASK + [1.0] * n + [0.0] * (ROOM - n), _FLOAT).tobytes() for n in range(ROOM + 1)]
_PACK = [Struct(f"{6 + 6 * n}f").pack_into for n in range(ROOM + 1)]


def _build_rows(ego: CarState, messages: Mapping[str, CarState]) -> list[tuple[float, tuple[float, ...]]]:
    """Return the rows of the peers in front whose messages count, the nearest first, each after its distance."""
    x, y, speed, _, heading, _, _ = ego
    angle = radians(heading)
    east, north = sin(angle), cos(angle)
    rows: list[tuple[float, tuple[float, ...]]] = []
    for px, py, peer_speed, acceleration, peer_heading, age, _ in messages.values():
        dx, dy = px - x, py - y
        along, left = dx * east + dy * north, dy * east - dx * north
        if age < STALE and along > _NEAR and abs(left) <= along + _NEAR:
            turned = ((peer_heading - heading + 180.0) % 360.0 - 180.0) / 180.0
            faster = (peer_speed - speed) / 30.0
            row = (along / 100.0, left / 100.0, faster, turned, acceleration / 10.0, age / STALE)
            rows.append((hypot(dx, dy), row))
    rows.sort()
    return rows[:ROOM]
