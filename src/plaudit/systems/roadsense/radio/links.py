"""The links of a mesh: how good each is in a cycle, and whether the broadcast that went over it was lost."""

from collections.abc import Sequence
from math import hypot

from plaudit.systems.roadsense.radio.chance import Chance
from plaudit.systems.roadsense.radio.channel import Channel, Link

Pose = tuple[float, float, float, float]
"""Where a car is, and the east and the north of a metre ahead of it."""
OUT: Link = (1.0, 0.0)
"""The link to a car out of reach, and to oneself: this very one."""
_NEW: Link = (0.0, 0.0)  # between cars that have just met, until the first broadcast


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
        """The cars in reach of the one that listens: nobody else can make the last hop."""
        self.relays: list[list[int]] = []
        """By source, the cars in its reach by which its message may get to the listener in three hops."""
        self._moved = True  # into reach, or out of it

    def among(self, names: Sequence[str]) -> "Links":
        """Return the links between these cars; of those who were there before, it is remembered what was lost."""
        links = Links(names)
        then = {name: place for place, name in enumerate(self.names)}
        stay = [(place, then[name]) for place, name in enumerate(names) if name in then]
        for sender, sender_then in stay:
            for receiver, receiver_then in stay:
                links.lost[sender][receiver] = self.lost[sender_then][receiver_then]
        return links

    def broadcast(self, poses: Sequence[Pose], channel: Channel, chance: Chance) -> None:
        """Let every car broadcast but the one that listens: what comes back to that one is no news to it.

        All that a sender says in a cycle to a car that did not hear its last broadcast is at risk of a burst.
        """
        uniform, risk, reach = chance.uniform, channel.risk, channel.reach
        link_of, at_risk = channel.link, channel.at_risk
        listener = len(poses) - 1
        for one in range(listener):
            x, y, _, _ = poses[one]
            to, lost = self.to[one], self.lost[one]
            for other in range(one + 1, listener + 1):
                there_x, there_y, _, _ = poses[other]
                distance = hypot(there_x - x, there_y - y)
                if distance > reach:
                    if to[other] is not OUT:
                        self._part(one, other)
                    continue
                if to[other] is OUT:
                    self._moved = True
                alone = link_of(distance)
                to[other] = link = at_risk(alone) if lost[other] and uniform() < risk else alone
                lost[other] = uniform() < link[0]
                if other < listener:
                    back = self.lost[other]
                    self.to[other][one] = link = at_risk(alone) if back[one] and uniform() < risk else alone
                    back[one] = uniform() < link[0]
        if self._moved:
            self._route()

    def _part(self, one: int, other: int) -> None:
        """Take note that two cars are out of each other's reach."""
        self._moved = True
        for sender, receiver in ((one, other), (other, one)):
            self.to[sender][receiver] = OUT
            self.lost[sender][receiver] = True

    def _route(self) -> None:
        """Take note of who may pass something on to the listener, now that cars have moved."""
        self._moved = False
        peers = range(len(self.names) - 1)
        self.last = [car for car in peers if self.to[car][-1] is not OUT]
        useful = [car for car in peers if any(self.to[car][other] is not OUT for other in (-1, *self.last))]
        self.relays = [[car for car in useful if self.to[source][car] is not OUT] for source in peers]
