"""A radio on which packets are under way for a while, and the last one of each car is remembered."""

from collections.abc import Mapping
from heapq import heappop, heappush
from math import hypot

from plaudit.systems.roadsense.radio.channel import LossyRadio, RandomDraws, apply_noise
from plaudit.systems.roadsense.world import CarState


class QueueRadio(LossyRadio):
    """Broadcasts that arrive when their latency is over, and are known until a newer one comes.

    A packet takes 1 ms at least, so no message is there in the step in which it was sent: in steps of 100 ms it is
    100 ms old when it is first known, or older. What is overtaken by something newer is dropped. Nothing is relayed.
    """

    def _forget(self) -> None:
        self._under_way: list[tuple[float, float, str, CarState]] = []  # arrives, sent, by whom, what
        self._heard: dict[str, tuple[float, CarState]] = {}  # by whom: sent, what
        self._lost: set[str] = set()

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Let every other car broadcast once; return the newest message of each that has arrived at `ego`."""
        draws, here = self._begin_exchange(cars, ego), cars[ego]
        self._lost = {
            name
            for name, car in cars.items()
            if name != ego and self._send(draws, now, name, car, hypot(car.x - here.x, car.y - here.y))
        }
        while self._under_way and self._under_way[0][0] <= now:
            _, sent, source, message = heappop(self._under_way)
            if source not in self._heard or sent > self._heard[source][0]:
                self._heard[source] = sent, message
        # now − arrived + latency, as an age is defined, is the time since it was sent
        return {source: message._replace(age=now - sent) for source, (sent, message) in self._heard.items()}

    def _send(self, draws: RandomDraws, now: float, name: str, car: CarState, distance: float) -> bool:
        """Send what a car says on its way; return whether it is lost."""
        link = self.channel.find_link(distance)
        if name in self._lost and draws.uniform() < self.channel.risk:
            link = self.channel.worsen_link(link)
        loss, latency = link
        if draws.uniform() < loss:
            return True
        message = apply_noise(car, [draws.noise()], 0.0)
        heappush(self._under_way, (now + draws.draw_delay(latency), now, name, message))
        return False
