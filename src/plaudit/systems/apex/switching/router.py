"""The router: what it lets through it stamps, copies for each recipient, and delivers in order."""

import asyncio
import copy
import json
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload
from weakref import WeakValueDictionary

from plaudit.errors import OutOfRange, WrongType
from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.phases import SENDERS
from plaudit.systems.apex.switching.messages import Message, Queues, encode_payload
from plaudit.systems.apex.switching.topologies import Topologies, Topology
from plaudit.systems.apex.values import parse_nonnegative_integer, parse_positive_integer

DEAD_LETTERS = 100
"""How many of the messages that were given up are kept to be looked at."""


class Router:
    """Carries messages between the agents of some roles: each in order from its sender, none lost, none twice.

    A message that was accepted is received once, unless it expires first; then it is counted in `dropped` and kept in
    `dead_letters`. `capacity` bounds what waits for one role, in both epochs together: where there is no room, the
    sender is refused. All calls come from one thread, that of the event loop; only `topology_changed` waits.

    >>> router = Router(["researcher", "writer", "editor"], hub="editor")
    >>> sent = router.send(sender="writer", recipient="editor", payload={"draft": 1})
    >>> router.receive("editor") == sent[0]
    True
    """

    def __init__(
        self,
        roles: Iterable[str] = SENDERS,
        *,
        hub: str | None = None,
        chain: Sequence[str] | None = None,
        topologies: Mapping[str, Topology] | None = None,
        topology: str = "star",
        capacity: int = 10_000,
        ttl: float = 60.0,
        max_attempts: int = 5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin in epoch 0.

        Args:
            roles: Who sends and receives; the four of the specification unless given.
            hub: The middle of the star: the planner if there is one, else the first role.
            chain: The order of the chain, every role once; it closes with the first. The order of `roles` unless given.
            topologies: Topologies of your own beside star, chain and flat, by name: functions of sender and recipient
                that return whether the one may send to the other. Each is asked about every pair once, here.
            topology: The one to begin with.
            capacity: How many messages may wait for one role.
            ttl: How long a message lives, in the clock's seconds.
            max_attempts: How often a message may be put back.
            clock: Returns the time in seconds.
        """
        self._rules = Topologies(roles, hub=hub, chain=chain, own=topologies)
        self.roles = self._rules.roles
        self._topology = self._rules.validate(topology)
        if not ttl > 0:
            raise OutOfRange(f"ttl={ttl!r} must be a number of seconds above 0.")
        self.max_attempts = parse_nonnegative_integer("max_attempts", max_attempts)
        self._ttl = ttl
        self._clock = clock
        self._queues = Queues(self.roles, parse_positive_integer("capacity", capacity))
        self._sent = 0
        self._dropped: Counter[str] = Counter()
        self._dead: deque[Message] = deque(maxlen=DEAD_LETTERS)
        # What agents hold and may put back, for as long as they hold it. By identity: payloads have no hash.
        self._received: WeakValueDictionary[int, Message] = WeakValueDictionary()
        self._changed_in = 0  # the epoch that began with another topology than the one before
        self._waiters: dict[asyncio.Future[None], None] = {}  # in the order in which they began to wait

    @property
    def topology(self) -> str:
        """The topology whose rules hold."""
        return self._topology

    @property
    def topologies(self) -> tuple[str, ...]:
        """The topologies it can switch to: star, chain, flat, then your own."""
        return self._rules.names

    @property
    def hub(self) -> str:
        """The role in the middle of the star."""
        return self._rules.hub

    @property
    def chain(self) -> tuple[str, ...]:
        """The order of the chain, which closes with the first role."""
        return self._rules.chain

    @property
    def epoch(self) -> int:
        """The epoch whose messages are delivered."""
        return self._queues.epoch

    @property
    def dropped(self) -> Counter[str]:
        """How many messages were given up after they had been accepted, by reason: "expired" or "max_attempts"."""
        return Counter(self._dropped)

    @property
    def dead_letters(self) -> tuple[Message, ...]:
        """The last hundred messages that were given up, each with its `drop_reason`."""
        return tuple(self._dead)

    def count_pending(self, role: str | None = None) -> int:
        """Count waiting messages, in both epochs.

        Args:
            role: The recipient; None for all roles.

        Returns:
            The number of messages.
        """
        return sum(map(self._queues.count_waiting, self.roles if role is None else [self._validate_role(role)]))

    def find_next_hop(self, sender: str, recipient: str) -> str | None:
        """Find the next role on the shortest path to a recipient, under the current topology.

        Args:
            sender: The role that sends.
            recipient: The role to reach.

        Returns:
            The role to send to; None if there is no path.
        """
        return self._rules.find_next_hop(self._topology, sender, recipient)

    def topology_changed(self, since: int | None = None) -> Awaitable[str]:
        """Wait for the next change of topology.

        Any number of tasks may wait. The time of this call counts, not that of the `await`, so a change in between is
        not missed. An agent that must not miss a change while it works passes the epoch it last saw:

            seen = router.epoch
            while True:
                topology = await router.topology_changed(since=seen)
                seen = router.epoch

        Args:
            since: The last epoch seen; if it is over, the awaitable returns at once. None means the current epoch.

        Returns:
            An awaitable of the new topology.
        """
        return self._wait_for_change(self.epoch if since is None else parse_nonnegative_integer("since", since))

    async def _wait_for_change(self, since: int) -> str:
        while self._changed_in <= since:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters[waiter] = None
            try:
                await waiter
            finally:
                del self._waiters[waiter]
        return self._topology

    @overload
    def send(self, message: Message) -> tuple[Message, ...]: ...

    @overload
    def send(
        self,
        *,
        sender: str,
        recipient: str,
        payload: Any,
        episode_id: str = "",
        msg_id: str = ...,
        created_ts: float = 0.0,
        expires_ts: float = 0.0,
    ) -> tuple[Message, ...]: ...

    def send(self, message: Message | None = None, **parts: Any) -> tuple[Message, ...]:
        """Send a message to one role or to all.

        Every recipient gets its own copy of the payload, as JSON, with attempt 0. Either every recipient gets one, or
        the message is refused. During a switch the rules of the active topology hold.

        Args:
            message: The message.
            parts: The fields of a message, instead of `message`.

        Returns:
            The message that each recipient will get.

        Raises:
            MessageRefused: The message is not allowed. `reason` is one of those of `Topologies.find_recipients`,
                "payload_too_large", "payload_not_json", "expired" or "queue_full".
            WrongType: Both `message` and `parts` are given, or neither.
        """
        if (message is None) is (not parts):
            raise WrongType("send takes a message or its fields by name; use dataclasses.replace to change a message.")
        if message is None:
            message = Message(**{"episode_id": "", "msg_id": self._next_id(), **parts})
        reached = self._rules.find_recipients(self._topology, message.sender, message.recipient)
        encoded = encode_payload(message.payload)
        now = self._clock()
        expires = _validate_expiry(message, now) or now + self._ttl
        copies = tuple(self._copy(message, role, json.loads(encoded), now, expires) for role in reached)
        for role in reached:
            self._make_room(role, now)
        for each in copies:
            self._queues.put(replace(each, payload=json.loads(encoded)))
        return copies

    def receive(self, role: str) -> Message | None:
        """Receive the oldest message of the active epoch.

        Args:
            role: The recipient.

        Returns:
            The message; None if there is none.
        """
        self._give_up("expired", self._queues.expire(self._validate_role(role), self._clock()))
        message = self._queues.take(role)
        if message is not None:
            self._received[id(message)] = message
        return message

    def retry(self, message: Message) -> Message:
        """Put a received message back, behind all others.

        A message can be put back once each time it is received, and `max_attempts` times in all; its time to live goes
        on. This is the only way in which messages of one sender change their order.

        Args:
            message: The message, as `receive` returned it.

        Returns:
            The message as it is queued again.

        Raises:
            MessageRefused: `reason` is "not_received" or "queue_full", or "max_attempts" or "expired", after which the
                message is dropped.
        """
        if self._received.get(id(message)) is not message:
            raise MessageRefused(
                f"message {message.msg_id!r} is not held: only a message from receive() can be put back, once.",
                reason="not_received",
            )
        now = self._clock()
        reason = _find_drop_reason(message, now, self.max_attempts)
        if reason is None:
            self._make_room(message.recipient, now)
        del self._received[id(message)]
        if reason is not None:
            self._give_up(reason, [message])
            raise MessageRefused(
                f"message {message.msg_id!r} for {message.recipient!r} is dropped after {message.attempt} retries: "
                f"{'it has expired' if reason == 'expired' else 'no more are allowed'}.",
                reason=reason,
            )
        again = replace(message, topo_epoch=self._queues.ingress, attempt=message.attempt + 1, redelivered=True)
        self._queues.put(replace(again, payload=copy.deepcopy(again.payload)))
        return again

    def prepare(self) -> None:
        """Let what is sent from now on wait for the next epoch; SwitchInFlight where it already does."""
        self._queues.prepare()

    def is_drained(self) -> bool:
        """Report whether every message of the active epoch was received; expired ones are dropped.

        Returns:
            Whether the active epoch is empty.
        """
        now = self._clock()
        for role in self.roles:
            self._give_up("expired", self._queues.expire(role, now))
        return self._queues.drained

    def commit(self, topology: str) -> None:
        """Begin the next epoch; every queue of the active one must be empty.

        Args:
            topology: The topology of the next epoch.
        """
        self._rules.validate(topology)
        self._queues.commit()
        if topology == self._topology:
            return
        self._topology, self._changed_in = topology, self.epoch
        for waiter in self._waiters:
            if not waiter.done() and not waiter.get_loop().is_closed():  # else nothing waits any more
                waiter.set_result(None)

    def abort(self) -> int:
        """Cancel a prepared switch: queue the messages of the next epoch behind those of the active one.

        Returns:
            The number of messages moved.
        """
        return self._queues.abort()

    def _copy(self, message: Message, role: str, payload: Any, now: float, expires: float) -> Message:
        return replace(
            message,
            recipient=role,
            payload=payload,
            topo_epoch=self._queues.ingress,
            attempt=0,
            created_ts=message.created_ts or now,
            expires_ts=expires,
            redelivered=False,
            drop_reason=None,
        )

    def _next_id(self) -> str:
        self._sent += 1
        return f"m{self._sent}"

    def _validate_role(self, role: str) -> str:
        if role not in self.roles:
            known = ", ".join(self.roles)
            raise MessageRefused(f"there is no role {role!r}; the roles are {known}.", reason="unknown_recipient")
        return role

    def _make_room(self, role: str, now: float) -> None:
        """Refuse a message that does not fit, even when all that has expired is given up."""
        if self._queues.count_waiting(role) < self._queues.capacity:
            return
        self._give_up("expired", self._queues.sweep(role, now))
        if self._queues.count_waiting(role) >= self._queues.capacity:
            raise MessageRefused(
                f"the queue of {role!r} is full ({self._queues.capacity:,} messages). Let it receive, then send.",
                reason="queue_full",
            )

    def _give_up(self, reason: str, messages: list[Message]) -> None:
        self._dropped.update([reason] * len(messages))
        self._dead.extend(replace(message, drop_reason=reason) for message in messages)


def _validate_expiry(message: Message, now: float) -> float:
    """Return when `message` expires, 0 where it does not say."""
    if not message.expires_ts >= 0:
        raise OutOfRange(f"message {message.msg_id!r}: expires_ts is {message.expires_ts!r}, not a time of 0 or later.")
    if 0 < message.expires_ts <= now:
        raise MessageRefused(f"message {message.msg_id!r} expired before it was sent.", reason="expired")
    return message.expires_ts


def _find_drop_reason(message: Message, now: float, max_attempts: int) -> str | None:
    """Return why `message` is not delivered again, None where it is."""
    if message.attempt >= max_attempts:
        return "max_attempts"
    return "expired" if message.expires_ts <= now else None
