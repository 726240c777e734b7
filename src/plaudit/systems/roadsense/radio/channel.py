"""What becomes of packets in one episode: how likely they are lost, how long they take, how blurred they are."""

from bisect import bisect
from collections.abc import Mapping, Sequence
from math import inf, nextafter

from plaudit.errors import InputError
from plaudit.systems.roadsense.radio.parameters import RadioParameters
from plaudit.systems.roadsense.world import CarState

SAID = 5
"""How many numbers a car says of itself: x, y, speed, acceleration, heading."""
HARDEST = 10.0
"""No car says that it speeds up or brakes harder than this, in m/s²."""


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
        self._lines = _lines(parameters, episode)
        self._starts = [start for start, _, _ in self._lines[1:]]
        start, loss, _ = self._lines[-1]
        self.reach = inf if loss < 1.0 else nextafter(start, 0.0)
        """Beyond this distance nothing is heard."""

    def link(self, distance: float) -> Link:
        """Return how good a link over a distance is, for a packet that is not at risk."""
        start, loss, slope = self._lines[bisect(self._starts, distance)]
        return loss + slope * (distance - start), self._latency + self._per_metre * distance

    def at_risk(self, link: Link) -> Link:
        """Return how good a link is for a packet that is at risk."""
        loss, latency = link
        worse, cap = loss * self.episode.burst_factor, self.episode.burst_cap
        if worse > cap:
            worse = cap
        return (worse, latency) if worse > loss else link


def _lines(parameters: RadioParameters, episode: RadioParameters) -> list[tuple[float, float, float]]:
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


def received(car: CarState, noises: Sequence[Sequence[float]], age: float) -> CarState:
    """Return what a car says of itself as it is heard: each sender adds noise, and it is held to what a car can say.

    >>> received(CarState(0.0, 0.0, 0.2, -9.9, 359.0), [[1.0, -1.0, -0.5, -0.5, 2.0]], 4.0)
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


def no_rng() -> InputError:
    """Return the error of a radio that is used before its first episode."""
    return InputError("the radio has no random numbers yet: call reset(rng) before the first exchange.")


def no_ego(ego: str, cars: Mapping[str, CarState]) -> InputError:
    """Return the error of a car that listens but is not there."""
    return InputError(f"{ego!r} is not on the road, so it hears nothing. On it: {', '.join(cars) or 'no car'}.")
