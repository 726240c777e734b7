"""What becomes of packets in one episode: how likely they are lost, how long they take, how blurred they are.

Random numbers are drawn many at a time: one by one they would take longer than all else.
"""

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.systems.roadsense.radio.parameters import RadioParameters
from plaudit.systems.roadsense.world import CarState

NUMBERS_SENT = 5
"""How many numbers a car says of itself: x, y, speed, acceleration, heading."""
HARDEST = 10.0
"""No car says that it speeds up or brakes harder than this, in m/s²."""
DRAWN_AT_ONCE = 256
"""How many random numbers are drawn at a time: few enough to stay near at hand."""
LEAST_DELAY = 1.0
"""No packet takes less than this, in milliseconds."""

Link = tuple[float, float]
"""How likely a packet is lost, and its latency in milliseconds, give or take the jitter."""


class Channel:
    """The air between the cars in one episode, with `episode` drawn for it from `parameters`."""

    def __init__(self, parameters: RadioParameters, *, episode: RadioParameters) -> None:
        self.episode = episode
        self.risk = 1.0 - 1.0 / episode.burst_length if episode.bursts else 0.0
        """How likely a packet after a lost one is at risk of being lost too."""
        position = episode.position_noise
        self.spread = (position, position, episode.speed_noise, episode.acceleration_noise, episode.heading_noise)
        """Standard deviations of the noise on what a car says."""
        self._latency, self._per_metre = episode.base_latency, episode.latency_per_metre
        self._lines = _build_loss_lines(parameters, episode)
        self._starts = [start for start, _, _ in self._lines[1:]]
        start, loss, _ = self._lines[-1]
        self.reach = inf if loss < 1.0 else nextafter(start, 0.0)
        """Beyond this distance nothing is heard."""

    def find_link(self, distance: float) -> Link:
        """Return how good a link over a distance is, for a packet that is not at risk."""
        start, loss, slope = self._lines[bisect(self._starts, distance)]
        return loss + slope * (distance - start), self._latency + self._per_metre * distance

    def worsen_link(self, link: Link) -> Link:
        """Return how good a link is for a packet that is at risk."""
        loss, latency = link
        worse, cap = loss * self.episode.burst_factor, self.episode.burst_cap
        if worse > cap:
            worse = cap
        return (worse, latency) if worse > loss else link


def _build_loss_lines(parameters: RadioParameters, episode: RadioParameters) -> list[tuple[float, float, float]]:
    """Return losses as lines, in order of distance: where one begins, the loss there, and how it rises a metre."""
    if parameters.bins:
        # What was measured at other distances rises and falls with the loss nearby.
        scale = episode.base_loss / parameters.base_loss if parameters.base_loss else 1.0
        ends, losses = zip(*parameters.bins, strict=True)
        lines = [(start, min(1.0, scale * loss), 0.0) for start, loss in zip((0.0, *ends), losses, strict=False)]
    else:
        slope = (episode.middle_loss - episode.base_loss) / (episode.far - episode.near)
        near, far = (episode.near, episode.base_loss, slope), (episode.far, episode.far_loss, 0.0)
        lines = [(0.0, episode.base_loss, 0.0), near, far]
    if episode.reach == inf:
        return lines
    return [*(line for line in lines if line[0] <= episode.reach), (nextafter(episode.reach, inf), 1.0, 0.0)]


def apply_noise(car: CarState, noises: Sequence[Sequence[float]], age: float) -> CarState:
    """Return what a car says of itself as it is heard: each sender adds noise, and it is held to what a car can say.

    >>> apply_noise(CarState(0.0, 0.0, 0.2, -9.9, 359.0), [[1.0, -1.0, -0.5, -0.5, 2.0]], 4.0)
    CarState(x=1.0, y=-1.0, speed=0.0, acceleration=-10.0, heading=1.0, age=4.0, hops=1)
    """
    x, y, speed, acceleration, heading, _, _ = car
    for east, north, faster, harder, turned in noises:
        x += east
        y += north
        speed += faster
        if speed < 0.0:
            speed = 0.0
        acceleration += harder
        if acceleration < -HARDEST:
            acceleration = -HARDEST
        elif acceleration > HARDEST:
            acceleration = HARDEST
        heading = (heading + turned) % 360.0
    # in a third of the time that CarState(…) takes
    return tuple.__new__(CarState, (x, y, speed, acceleration, heading, age, len(noises)))


class RandomDraws:
    """What is left to chance on a channel, all of it from one generator."""

    __slots__ = ("jitter", "noise", "uniform")

    uniform: Callable[[], float]
    """Returns the next number from 0 to 1."""
    jitter: Callable[[], float]
    """Returns the milliseconds by which the next packet is late, or early."""
    noise: Callable[[], list[float]]
    """Returns what the next sender adds to a message: to x, y, speed, acceleration and heading."""

    def __init__(self, rng: np.random.Generator, channel: Channel) -> None:
        jitter, spread = channel.episode.jitter, np.array(channel.spread)
        self.uniform = _draw_each(lambda: rng.random(DRAWN_AT_ONCE))
        self.jitter = _draw_each(lambda: jitter * rng.standard_normal(DRAWN_AT_ONCE))
        self.noise = _draw_each(lambda: spread * rng.standard_normal((DRAWN_AT_ONCE, NUMBERS_SENT)))

    def draw_delay(self, latency: float) -> float:
        """Return the milliseconds that the next packet takes, which has this latency give or take the jitter."""
        taken = latency + self.jitter()
        return taken if taken > LEAST_DELAY else LEAST_DELAY


def _draw_each(draw: Callable[[], NDArray[Any]]) -> Callable[[], Any]:
    """Return what gives one number after the other, or one row, of all that is drawn."""
    return chain.from_iterable(iter(lambda: draw().tolist(), None)).__next__


class LossyRadio(ABC):
    """A radio that loses, delays and blurs packets, by parameters that an episode may draw again."""

    def __init__(self, parameters: RadioParameters, *, randomised: bool = True) -> None:
        self._parameters, self._randomised = parameters, randomised
        self.channel = Channel(parameters, episode=parameters)
        self._draws: RandomDraws | None = None
        self._forget()

    def reset(self, rng: np.random.Generator) -> None:
        """Begin an episode: forget what was before, and draw its parameters if they are randomised."""
        episode = self._parameters.sample(rng) if self._randomised else self._parameters
        self.channel = Channel(self._parameters, episode=episode)
        self._draws = RandomDraws(rng, self.channel)
        self._forget()

    @abstractmethod
    def _forget(self) -> None:
        """Forget all that was sent, lost or heard."""

    @abstractmethod
    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Let every car broadcast once, at `now` milliseconds; return the newest message of each source at `ego`."""

    def _begin_exchange(self, cars: Mapping[str, CarState], ego: str) -> RandomDraws:
        """Return the random numbers of the episode; an error before the first one, and for a car that is not there."""
        if self._draws is None:
            raise InputError("the radio has no random numbers yet: call reset(rng) before the first exchange.")
        if ego not in cars:
            raise InputError(f"{ego!r} is not on the road, so it hears nothing. On it: {', '.join(cars) or 'no car'}.")
        return self._draws
