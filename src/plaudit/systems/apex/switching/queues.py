"""What waits for each agent: the messages of the active epoch and, while a switch runs, those of the next."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from plaudit.errors import SwitchInFlight, SwitchNotPrepared
from plaudit.systems.apex.switching.message import Message


class Queues:
    """A queue per agent, first in, first out, and a second one while the next epoch is prepared.

    `capacity` holds for both queues of an agent together. What is held for the next epoch therefore always fits behind
    what is active: a switch that is called off loses nothing, and a sender learns at once that there is no room.
    """

    def __init__(self, agents: Iterable[str], capacity: int) -> None:
        """Begin with empty queues, in epoch 0."""
        self.epoch = 0
        self.capacity = capacity
        self._active: dict[str, deque[Message]] = {agent: deque() for agent in agents}
        self._next: dict[str, deque[Message]] | None = None

    @property
    def prepared(self) -> bool:
        """Whether the next epoch takes messages."""
        return self._next is not None

    @property
    def ingress(self) -> int:
        """The epoch that a message enters which comes now."""
        return self.epoch + self.prepared

    @property
    def drained(self) -> bool:
        """Whether no agent has a message of the active epoch."""
        return not any(self._active.values())

    def waiting(self, agent: str) -> int:
        """Return how many messages wait for `agent`, in both epochs."""
        return len(self._active[agent]) + (len(self._next[agent]) if self._next is not None else 0)

    def put(self, message: Message) -> None:
        """Append a message to its recipient's queue, that of the epoch it enters."""
        (self._active if self._next is None else self._next)[message.recipient].append(message)

    def take(self, agent: str) -> Message | None:
        """Remove and return the oldest message of the active epoch; one of the next is out of reach."""
        queue = self._active[agent]
        return queue.popleft() if queue else None

    def expire(self, agent: str, now: float) -> list[Message]:
        """Remove and return the messages at the front of the active queue that are too old."""
        queue = self._active[agent]
        expired = []
        while queue and queue[0].expires_ts <= now:
            expired.append(queue.popleft())
        return expired

    def sweep(self, agent: str, now: float) -> list[Message]:
        """Remove and return every message for `agent` that is too old, wherever it stands."""
        expired = []
        for queue in (self._active[agent], *([self._next[agent]] if self._next is not None else [])):
            expired += [message for message in queue if message.expires_ts <= now]
            left = [message for message in queue if message.expires_ts > now]
            queue.clear()
            queue.extend(left)
        return expired

    def prepare(self) -> None:
        """Let what comes from now on wait for the next epoch."""
        if self.prepared:
            raise SwitchInFlight(f"the switch to epoch {self.ingress} is still running; wait until it ends.")
        self._next = {agent: deque() for agent in self._active}

    def commit(self) -> None:
        """Make the next epoch the active one; the queues of the old one, which are empty, are let go."""
        following = self._following()
        if not self.drained:
            raise SwitchNotPrepared(
                f"an agent still has messages of epoch {self.epoch}, which are received before it ends."
            )
        self._active, self._next = following, None
        self.epoch += 1

    def abort(self) -> int:
        """Move what waits for the next epoch behind what is active, in order, and return how many messages that were.

        They are stamped with the active epoch again, and marked as redelivered.
        """
        following, self._next = self._following(), None
        for agent, queue in following.items():
            self._active[agent].extend(replace(each, topo_epoch=self.epoch, redelivered=True) for each in queue)
        return sum(map(len, following.values()))

    def _following(self) -> dict[str, deque[Message]]:
        if self._next is None:
            raise SwitchNotPrepared(
                "no switch is prepared, so there is none to commit or to call off; call prepare() first."
            )
        return self._next
