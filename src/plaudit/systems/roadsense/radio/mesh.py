"""A radio on which cars pass on what they hear: one cycle of broadcasts and relays in every step.

As in the runs that it is modelled on, a cycle is over within its step: a message is there in the step in which it was
sent, and its latency shows only as its age; and nothing is remembered, so a source of which every packet was lost is
not heard of in that step. The `queue` does both differently.
"""

from collections.abc import Mapping
from math import cos, inf, radians, sin

import numpy as np

from plaudit.systems.roadsense.radio.chance import Chance
from plaudit.systems.roadsense.radio.channel import Channel, no_ego, no_rng, received
from plaudit.systems.roadsense.radio.cycle import Cycle
from plaudit.systems.roadsense.radio.links import Links
from plaudit.systems.roadsense.radio.parameters import RadioParameters
from plaudit.systems.roadsense.world import CarState


class MeshRadio:
    """Broadcasts that are passed on, from the front of a convoy to its end.

    Every car broadcasts once. A car that hears of a source within 45° of straight ahead, as far as it can tell, says it
    again, once; so does a car that hears only that. A message takes three hops at most. Of several copies the ego keeps
    the youngest, and among equals the one with fewer hops. Each sender adds its own noise. What a sender says to a
    car that did not hear its last broadcast is at risk of a burst.
    """

    def __init__(self, parameters: RadioParameters, *, randomised: bool = True) -> None:
        self._parameters, self._randomised = parameters, randomised
        self.channel = Channel(parameters, episode=parameters)
        self._chance: Chance | None = None
        self._links = Links()
        self._names: list[str] = []
        self._place = 0  # the ego's

    def reset(self, rng: np.random.Generator) -> None:
        """Begin an episode: forget all losses, and draw its parameters if they are randomised."""
        drawn = self._parameters.drawn(rng) if self._randomised else self._parameters
        self.channel = Channel(self._parameters, episode=drawn)
        self._chance = Chance(rng, self.channel)
        self._links, self._names, self._place = Links(), [], 0

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Let every car broadcast and relay once; return the best message of each source at `ego`."""
        chance = self._chance
        if chance is None:
            raise no_rng()
        if ego not in cars:
            raise no_ego(ego, cars)
        names = list(cars)
        if names != self._names or ego != names[self._place]:
            self._meet(names, ego)
        states = list(cars.values())
        states.append(states.pop(self._place))
        poses = [(x, y, sin(look := radians(heading)), cos(look)) for x, y, _, _, heading, _, _ in states]
        self._links.broadcast(poses, self.channel, chance)
        cycle = Cycle(poses, self._links, chance)
        heard = {}
        for source, name in enumerate(self._links.names[:-1]):
            age, noises = cycle.arrived(source)
            if age < inf:
                heard[name] = received(states[source], noises, age)
        return heard

    def _meet(self, names: list[str], ego: str) -> None:
        """Take note of who is on the road."""
        self._names, self._place = names, names.index(ego)
        self._links = self._links.among([*(name for name in names if name != ego), ego])
