"""A radio on which cars pass on what they hear: one cycle of broadcasts and relays in every step.

As in the runs that it is modelled on, a cycle is over within its step: a message is there in the step in which it was
sent, and its latency shows only as its age; and nothing is remembered, so a source of which every packet was lost is
not heard of in that step. The `queue` does both differently.
"""

from collections.abc import Mapping, Sequence
from math import cos, hypot, inf, radians, sin

from plaudit.systems.roadsense.radio.channel import LEAST_DELAY, Channel, Link, LossyRadio, RandomDraws, apply_noise
from plaudit.systems.roadsense.world import CarState

Pose = tuple[float, float, float, float]
"""Where a car is, and the east and the north of a metre ahead of it."""
OUT: Link = (1.0, 0.0)
"""The link to a car out of reach, and to oneself: this very one."""
_NEW: Link = (0.0, 0.0)  # between cars that have just met, until the first broadcast
Noise = list[float]
Copy = tuple[float, tuple[Noise, ...]]
"""A source's message as it arrived: how old it is, and what each sender added to it, from the source on."""
NOTHING: Copy = (inf, ())
Relay = tuple[float, int, Noise]
"""How old a message is at a car that passes it on, which one that is, and what it adds."""
Place = tuple[float, float]
_NEAR = 1e-6  # meters: what rounding makes of a car right beside


class MeshRadio(LossyRadio):
    """Broadcasts that are passed on, from the front of a convoy to its end.

    Every car broadcasts once. A car that hears of a source within 45° of straight ahead, as far as it can tell, says it
    again, once; so does a car that hears only that. A message takes three hops at most. Of several copies the ego keeps
    the youngest, and among equals the one with fewer hops. Each sender adds its own noise. What a sender says to a
    car that did not hear its last broadcast is at risk of a burst.
    """

    def _forget(self) -> None:
        self._links = Links()
        self._names: list[str] = []
        self._place = 0  # the ego's

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Let every car broadcast and relay once; return the best message of each source at `ego`."""
        draws = self._begin_exchange(cars, ego)
        names = list(cars)
        if names != self._names or ego != names[self._place]:
            self._update_cars(names, ego)
        states = list(cars.values())
        states.append(states.pop(self._place))
        poses = [(x, y, sin(look := radians(heading)), cos(look)) for x, y, _, _, heading, _, _ in states]
        self._links.broadcast(poses, self.channel, draws)
        cycle = Cycle(poses, self._links, draws)
        heard = {}
        for source, name in enumerate(self._links.names[:-1]):
            age, noises = cycle.find_arrival(source)
            if age < inf:
                heard[name] = apply_noise(states[source], noises, age)
        return heard

    def _update_cars(self, names: list[str], ego: str) -> None:
        self._names, self._place = names, names.index(ego)
        self._links = self._links.restrict_to([*(name for name in names if name != ego), ego])


class Links:
    """The links between cars, by sender and receiver. The last car is the one that listens."""

    __slots__ = ("_moved", "last", "lost", "names", "relays", "to")

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = list(names)
        self.to = [[OUT if one == other else _NEW for other in names] for one in names]
        """How good each is."""
        self.lost = [[one == other for other in names] for one in names]
        """Whether the sender's own broadcast did not get to the receiver."""
        self.last: list[int] = []
        """The cars in reach of the one that listens: no other car can make the last hop."""
        self.relays: list[list[int]] = []
        """By source, the cars in its reach by which its message may get to the listener in three hops."""
        self._moved = True  # into reach, or out of it

    def restrict_to(self, names: Sequence[str]) -> "Links":
        """Return the links between these cars; of those who were there before, it is remembered what was lost."""
        links = Links(names)
        then = {name: place for place, name in enumerate(self.names)}
        stay = [(place, then[name]) for place, name in enumerate(names) if name in then]
        for sender, sender_then in stay:
            for receiver, receiver_then in stay:
                links.lost[sender][receiver] = self.lost[sender_then][receiver_then]
        return links

    def broadcast(self, poses: Sequence[Pose], channel: Channel, draws: RandomDraws) -> None:
        """Let every car broadcast but the one that listens: what comes back to that one is no news to it.

        All that a sender says in a cycle to a car that did not hear its last broadcast is at risk of a burst.
        """
        uniform, risk, reach = draws.uniform, channel.risk, channel.reach
        find_link, worsen_link = channel.find_link, channel.worsen_link
        listener = len(poses) - 1
        for one in range(listener):
            x, y, _, _ = poses[one]
            to, lost = self.to[one], self.lost[one]
            for other in range(one + 1, listener + 1):
                there_x, there_y, _, _ = poses[other]
                distance = hypot(there_x - x, there_y - y)
                if distance > reach:
                    if to[other] is not OUT:
                        self._mark_out_of_reach(one, other)
                    continue
                if to[other] is OUT:
                    self._moved = True
                alone = find_link(distance)
                to[other] = link = worsen_link(alone) if lost[other] and uniform() < risk else alone
                lost[other] = uniform() < link[0]
                if other < listener:
                    back = self.lost[other]
                    self.to[other][one] = link = worsen_link(alone) if back[one] and uniform() < risk else alone
                    back[one] = uniform() < link[0]
        if self._moved:
            self._find_relays()

    def _mark_out_of_reach(self, one: int, other: int) -> None:
        self._moved = True
        for sender, receiver in ((one, other), (other, one)):
            self.to[sender][receiver] = OUT
            self.lost[sender][receiver] = True

    def _find_relays(self) -> None:
        """Take note of who may pass something on to the listener, now that cars have moved."""
        self._moved = False
        peers = range(len(self.names) - 1)
        self.last = [car for car in peers if self.to[car][-1] is not OUT]
        useful = [car for car in peers if any(self.to[car][other] is not OUT for other in (-1, *self.last))]
        self.relays = [[car for car in useful if self.to[source][car] is not OUT] for source in peers]


class Cycle:
    """What becomes of messages in a cycle in which all cars have broadcast. The last car is the one that listens.

    Chance is drawn only where it can still change what arrives: each hop takes a millisecond at least, so a relay that
    is later than another copy already is left out.
    """

    __slots__ = ("_draws", "_links", "_poses", "_to")

    def __init__(self, poses: Sequence[Pose], links: Links, draws: RandomDraws) -> None:
        self._poses, self._links, self._to, self._draws = poses, links, links.to, draws

    def find_arrival(self, source: int) -> Copy:
        """Return what arrives of a source: the youngest copy, of equals the one with fewer hops."""
        links, lost, to = self._links, self._links.lost[source], self._to[source]
        cars = links.relays[source]
        if lost[-1] and not cars:
            return NOTHING
        poses, noise, jitter = self._poses, self._draws.noise, self._draws.jitter
        own = noise()
        x, y, _, _ = poses[source]
        place = x + own[0], y + own[1]
        best = NOTHING if lost[-1] else (self._draws.draw_delay(to[-1][1]), (own,))
        relays = []
        for car in cars:
            if not lost[car] and _is_in_front(poses[car], place):
                age = to[car][1] + jitter()
                if age + LEAST_DELAY < best[0]:
                    if age < LEAST_DELAY:
                        age = LEAST_DELAY
                    blur = noise()
                    relays.append((age, car, blur))
                    age += self._draw_hop(car, -1)
                    if age < best[0]:
                        best = age, (own, blur)
        if relays:
            for car in links.last:
                if lost[car] and car != source:
                    best = self._find_second_relay(car, relays, place, best, own)
        return best

    def _find_second_relay(self, car: int, relays: list[Relay], place: Place, best: Copy, own: Noise) -> Copy:
        """Return the best copy so far, or what a car passes on that it hears by relays alone, if that is younger."""
        first, blur = best[0] - LEAST_DELAY, own
        for age, relay, added in relays:
            if age + LEAST_DELAY < first:
                age += self._draw_hop(relay, car)
                if age < first:
                    first, blur = age, added
        if blur is own:  # it hears none of them, or none in time
            return best
        if not _is_in_front(self._poses[car], (place[0] + blur[0], place[1] + blur[1])):
            return best
        age = first + self._draw_hop(car, -1)
        return (age, (own, blur, self._draws.noise())) if age < best[0] else best

    def _draw_hop(self, sender: int, receiver: int) -> float:
        """Return the milliseconds that a packet takes that is passed on; inf where it is lost."""
        draws, (loss, latency) = self._draws, self._to[sender][receiver]
        return draws.draw_delay(latency) if draws.uniform() >= loss else inf


def _is_in_front(pose: Pose, place: Place) -> bool:
    x, y, east, north = pose
    dx, dy = place[0] - x, place[1] - y
    along = dx * east + dy * north
    return along > _NEAR and abs(dx * north - dy * east) <= along + _NEAR
