"""A radio on which packets are under way for a while, and the last one of each car is remembered."""

from collections.abc import Mapping
from heapq import heappop, heappush
from math import hypot

import numpy as np

from plaudit.systems.roadsense.radio.chance import Chance
from plaudit.systems.roadsense.radio.channel import Channel, no_ego, no_rng, received
from plaudit.systems.roadsense.radio.parameters import RadioParameters
from plaudit.systems.roadsense.world import CarState


class QueueRadio:
    """Broadcasts that arrive when their latency is over, and are known until a newer one comes.

    A packet takes 1 ms at least, so no message is there in the step in which it was sent: in steps of 100 ms it is
    100 ms old when it is first known, or older. What is overtaken by something newer is dropped. Nothing is relayed.
    """

    def __init__(self, parameters: RadioParameters, *, randomised: bool = True) -> None:
        self._parameters, self._randomised = parameters, randomised
        self.channel = Channel(parameters, episode=parameters)
        self._chance: Chance | None = None
        self._forget()

    def reset(self, rng: np.random.Generator) -> None:
        """Begin an episode: forget what was heard and what is under way, draw its parameters if they are randomised."""
        drawn = self._parameters.drawn(rng) if self._randomised else self._parameters
        self.channel = Channel(self._parameters, episode=drawn)
        self._chance = Chance(rng, self.channel)
        self._forget()

    def _forget(self) -> None:
        self._under_way: list[tuple[float, float, str, CarState]] = []  # arrives, sent, by whom, what
        self._heard: dict[str, tuple[float, CarState]] = {}  # by whom: sent, what
        self._lost: set[str] = set()

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Let every other car broadcast once; return the newest message of each that has arrived at `ego`."""
        if self._chance is None:
            raise no_rng()
        if ego not in cars:
            raise no_ego(ego, cars)
        here = cars[ego]
        self._lost = {
            name
            for name, car in cars.items()
            if name != ego and self._is_lost(self._chance, now, name, car, hypot(car.x - here.x, car.y - here.y))
        }
        while self._under_way and self._under_way[0][0] <= now:
            _, sent, source, said = heappop(self._under_way)
            if source not in self._heard or sent > self._heard[source][0]:
                self._heard[source] = sent, said
        # now − arrived + latency, as an age is told, is the time since it was sent
        return {source: said._replace(age=now - sent) for source, (sent, said) in self._heard.items()}

    def _is_lost(self, chance: Chance, now: float, name: str, car: CarState, distance: float) -> bool:
        """Send what a car says on its way; return whether it is lost."""
        link = self.channel.link(distance)
        if name in self._lost and chance.uniform() < self.channel.risk:
            link = self.channel.at_risk(link)
        loss, latency = link
        if chance.uniform() < loss:
            return True
        said = received(car, [chance.noise()], 0.0)
        heappush(self._under_way, (now + chance.taken(latency), now, name, said))
        return False
