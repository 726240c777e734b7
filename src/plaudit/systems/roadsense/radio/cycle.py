"""One cycle of a mesh: cars pass on what they hear of those in front, and what reaches the last of them is told."""

from collections.abc import Sequence
from math import inf

from plaudit.systems.roadsense.radio.chance import LEAST, Chance
from plaudit.systems.roadsense.radio.links import Links, Pose

Noise = list[float]
Copy = tuple[float, tuple[Noise, ...]]
"""A source's message as it arrived: how old it is, and what each sender added to it, from the source on."""
NOTHING: Copy = (inf, ())
Relay = tuple[float, int, Noise]
"""How old a message is at a car that passes it on, which one that is, and what it adds."""

_NEAR = 1e-6  # metres: what rounding makes of a car right beside


class Cycle:
    """What becomes of messages in a cycle in which all cars have broadcast. The last car is the one that listens.

    Chance is drawn only where it can still change what arrives: each hop takes a millisecond at least, so a relay that
    is later than another copy already is left out.
    """

    __slots__ = ("_chance", "_links", "_poses", "_to")

    def __init__(self, poses: Sequence[Pose], links: Links, chance: Chance) -> None:
        self._poses, self._links, self._to, self._chance = poses, links, links.to, chance

    def arrived(self, source: int) -> Copy:
        """Return what arrives of a source: the youngest copy, of equals the one with fewer hops."""
        links, lost, to = self._links, self._links.lost[source], self._to[source]
        cars = links.relays[source]
        if lost[-1] and not cars:
            return NOTHING
        poses, noise, jitter = self._poses, self._chance.noise, self._chance.jitter
        own = noise()
        x, y, _, _ = poses[source]
        place = x + own[0], y + own[1]
        best = NOTHING if lost[-1] else (self._chance.taken(to[-1][1]), (own,))
        relays = []
        for car in cars:
            if not lost[car] and _in_front(poses[car], place):
                age = to[car][1] + jitter()
                if age + LEAST < best[0]:
                    if age < LEAST:
                        age = LEAST
                    blur = noise()
                    relays.append((age, car, blur))
                    age += self._hop(car, -1)
                    if age < best[0]:
                        best = age, (own, blur)
        if relays:
            for car in links.last:
                if lost[car] and car != source:
                    best = self._relayed_again(car, relays, place, best, own)
        return best

    def _relayed_again(self, car: int, relays: list[Relay], place: tuple[float, float], best: Copy, own: Noise) -> Copy:
        """Return the best copy so far, or what a car passes on that it hears by relays alone, if that is younger."""
        first, blur = best[0] - LEAST, own
        for age, relay, added in relays:
            if age + LEAST < first:
                age += self._hop(relay, car)
                if age < first:
                    first, blur = age, added
        if blur is own:  # it hears none of them, or none in time
            return best
        if not _in_front(self._poses[car], (place[0] + blur[0], place[1] + blur[1])):
            return best
        age = first + self._hop(car, -1)
        return (age, (own, blur, self._chance.noise())) if age < best[0] else best

    def _hop(self, sender: int, receiver: int) -> float:
        """Return the milliseconds that a packet takes that is passed on; inf where it is lost."""
        chance, (loss, latency) = self._chance, self._to[sender][receiver]
        return chance.taken(latency) if chance.uniform() >= loss else inf


def _in_front(pose: Pose, place: tuple[float, float]) -> bool:
    """Return whether a place is within 45° of straight ahead of a car."""
    here_x, here_y, east, north = pose
    dx, dy = place[0] - here_x, place[1] - here_y
    along = dx * east + dy * north
    return along > _NEAR and abs(dx * north - dy * east) <= along + _NEAR
