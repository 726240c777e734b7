"""Messages between agents, and the queues that they wait in."""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from plaudit.systems.apex.errors import MessageRefused, SwitchInFlight, SwitchNotPrepared

BROADCAST = "BROADCAST"
"""The recipient that stands for every agent but the sender."""

SYSTEM = "system"
"""The sender that is not an agent: it starts an episode, and no topology holds it back."""

LARGEST_PAYLOAD = 512 * 1024
"""How many bytes a payload may have as compact JSON."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Message:
    """What one agent says to another; times are readings of the router's clock.

    >>> Message(episode_id="e1", msg_id="m1", sender="planner", recipient="coder", payload={"do": "it"}).attempt
    0
    """

    episode_id: str
    msg_id: str
    sender: str
    recipient: str
    """An agent, or `BROADCAST`; in a copy that the router made, the agent it is for."""
    payload: Any
    """Whatever JSON can hold."""
    topo_epoch: int = 0
    """The epoch it is delivered in: the router's to say, whatever the sender wrote."""
    attempt: int = 0
    """How often it was put back after it had been received."""
    created_ts: float = 0.0
    """When it was made; 0 stands for the moment it is sent."""
    expires_ts: float = 0.0
    """From when on it is delivered no more; 0 stands for the router's own time to live."""
    redelivered: bool = False
    """Whether it was queued more than once: put back by its receiver, or moved by a switch that was called off."""
    drop_reason: str | None = None
    """Why it was given up, where it was."""


def encode_payload(payload: Any) -> str:
    """Return `payload` as compact JSON, or refuse what is too large or not JSON.

    >>> encode_payload({"pass": 3, "of": 4})
    '{"pass":3,"of":4}'
    """
    try:
        text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageRefused(
            f"the payload is not JSON: {error}. Send strings, finite numbers, bools, None, lists and dicts of them.",
            reason="payload_not_json",
        ) from None
    if size > LARGEST_PAYLOAD:
        raise MessageRefused(
            f"the payload has {size:,} bytes as compact JSON; a message holds up to {LARGEST_PAYLOAD:,}. "
            "Write larger data to a file and send its name.",
            reason="payload_too_large",
        )
    return text


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

    def count_waiting(self, agent: str) -> int:
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
        following = self._get_next()
        if not self.drained:
            raise SwitchNotPrepared(
                f"an agent still has messages of epoch {self.epoch}; they must be received before it ends."
            )
        self._active, self._next = following, None
        self.epoch += 1

    def abort(self) -> int:
        """Move what waits for the next epoch behind what is active, in order, and return how many messages that were.

        They are stamped with the active epoch again, and marked as redelivered.
        """
        following, self._next = self._get_next(), None
        for agent, queue in following.items():
            self._active[agent].extend(replace(each, topo_epoch=self.epoch, redelivered=True) for each in queue)
        return sum(map(len, following.values()))

    def _get_next(self) -> dict[str, deque[Message]]:
        if self._next is None:
            raise SwitchNotPrepared(
                "no switch is prepared, so there is nothing to commit or abort; call prepare() first."
            )
        return self._next
