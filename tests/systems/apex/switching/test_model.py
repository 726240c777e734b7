"""The router and the engine against one plain list per agent: in whatever order things happen, both say the same."""

import asyncio
import types
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plaudit.systems.apex.errors import MessageRefused, SwitchInFlight
from plaudit.systems.apex.switching import BROADCAST, TOPOLOGIES, Router, SwitchEngine, SwitchPhase, Topologies
from support.examples import examples

AGENTS = ("planner", "coder", "critic")
CAPACITY = 4
TTL = 8
MAX_ATTEMPTS = 2
TIMEOUT = 3

agents = st.sampled_from(AGENTS)
topologies = st.sampled_from(TOPOLOGIES)


@dataclass
class Entry:
    """A copy of a message, as the model knows it."""

    number: int
    sender: str
    recipient: str
    expires: float
    epoch: int
    attempt: int = 0
    moved: bool = False


@types.coroutine
def turn(seconds):
    """Give the turn to the machine."""
    yield


class Model(RuleBasedStateMachine):
    """What waits for each agent, in the order it was accepted in, and the router and engine that should agree."""

    @initialize(topology=topologies)
    def begin(self, topology):
        self.now = 1
        self.router = Router(
            AGENTS, topology=topology, capacity=CAPACITY, ttl=TTL, max_attempts=MAX_ATTEMPTS, clock=lambda: self.now
        )
        self.engine = SwitchEngine(self.router, quiesce_timeout=TIMEOUT, poll=1, clock=lambda: self.now, sleep=turn)
        self.waiting = {agent: [] for agent in AGENTS}
        self.hand = []  # messages that were received and may be put back
        self.topology, self.epoch, self.switch = topology, 0, None
        self.dropped, self.accepted, self.settled, self.numbers = Counter(), 0, 0, 0
        self.last = {}  # the number of the last message that came for the first time, by sender and recipient
        self.last_epoch = 0

    def teardown(self):
        if getattr(self, "switch", None) is not None:
            self.switch.close()
            assert self.engine.phase is SwitchPhase.IDLE

    # -- what the model does -----------------------------------------------------------------------------------------

    @property
    def ingress(self):
        return self.epoch + (self.switch is not None)

    def active(self, agent):
        return [entry for entry in self.waiting[agent] if entry.epoch == self.epoch]

    def drop(self, entries):
        for entry in entries:
            self.waiting[entry.recipient].remove(entry)
            self.dropped["expired"] += 1
            self.settled += 1

    def expire(self, agent):
        """Give up what is too old at the front of what an agent may receive."""
        while (left := self.active(agent)) and left[0].expires <= self.now:
            self.drop(left[:1])

    def room(self, agent):
        if len(self.waiting[agent]) == CAPACITY:
            self.drop([entry for entry in self.waiting[agent] if entry.expires <= self.now])
        return len(self.waiting[agent]) < CAPACITY

    def same(self, message, entry):
        assert message.payload == {"number": entry.number}
        assert (message.sender, message.recipient) == (entry.sender, entry.recipient)
        assert (message.attempt, message.topo_epoch) == (entry.attempt, entry.epoch)
        assert message.expires_ts == entry.expires
        assert message.redelivered == (entry.moved or entry.attempt > 0)

    # -- messages ----------------------------------------------------------------------------------------------------

    @rule(
        sender=agents | st.just("system"), recipient=agents | st.just(BROADCAST), life=st.none() | st.integers(-1, 12)
    )
    def send(self, sender, recipient, life):
        self.numbers += 1
        expires = 0 if life is None else self.now + life
        parts = {"sender": sender, "recipient": recipient, "payload": {"number": self.numbers}, "expires_ts": expires}
        try:
            reached, reason = Topologies(AGENTS).find_recipients(self.topology, sender, recipient), None
        except MessageRefused as refusal:
            reached, reason = (), refusal.reason
        if reason is None and 0 < expires <= self.now:
            reason = "expired"
        if reason is None and not all(self.room(agent) for agent in reached):
            reason = "queue_full"
        if reason is not None:
            with pytest.raises(MessageRefused) as caught:
                self.router.send(**parts)
            assert caught.value.reason == reason
            return
        sent = self.router.send(**parts)
        assert [copy.recipient for copy in sent] == [*reached]
        for copy in sent:
            entry = Entry(self.numbers, sender, copy.recipient, expires or self.now + TTL, self.ingress)
            self.same(copy, entry)
            self.waiting[copy.recipient].append(entry)
            self.accepted += 1

    @rule(agent=agents)
    def receive(self, agent):
        self.expire(agent)
        message = self.router.receive(agent)
        if not self.active(agent):
            assert message is None
            return
        entry = self.active(agent)[0]
        self.waiting[agent].remove(entry)
        self.settled += 1
        self.same(message, entry)
        self.hand.append((message, entry))
        assert (
            self.last_epoch <= message.topo_epoch == self.router.epoch
        )  # no message of an epoch that is over, or not begun
        self.last_epoch = message.topo_epoch
        if entry.attempt == 0:  # what was put back may be late: that is what putting back means
            pair = entry.sender, agent
            assert self.last.get(pair, 0) < entry.number
            self.last[pair] = entry.number

    @precondition(lambda self: self.hand)
    @rule(data=st.data(), keep=st.booleans())
    def put_back(self, data, keep):
        message, entry = self.hand.pop(data.draw(st.integers(0, len(self.hand) - 1)))
        if entry.attempt == MAX_ATTEMPTS:
            reason = "max_attempts"
        elif entry.expires <= self.now:
            reason = "expired"
        else:
            reason = None if self.room(entry.recipient) else "queue_full"
        if reason is None:
            again = Entry(entry.number, entry.sender, entry.recipient, entry.expires, self.ingress, entry.attempt + 1)
            self.same(self.router.retry(message), again)
            self.waiting[entry.recipient].append(again)
            self.settled -= 1
        else:
            with pytest.raises(MessageRefused) as caught:
                self.router.retry(message)
            assert caught.value.reason == reason
            if reason == "queue_full":
                self.hand.append((message, entry))
                return
            self.dropped[reason] += 1
        with pytest.raises(MessageRefused) as caught:
            self.router.retry(message)
        assert caught.value.reason == "not_received"

    @rule(seconds=st.integers(1, 5))
    def wait(self, seconds):
        self.now += seconds

    # -- switches ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.switch is None)
    @rule(topology=topologies)
    def begin_switch(self, topology):
        self.switch, self.wanted, self.begun = self.engine.switch(topology), topology, self.now
        self.advance()

    @precondition(lambda self: self.switch is not None)
    @rule()
    def go_on(self):
        self.advance()

    def advance(self):
        """Let the switch look once whether the queues are empty."""
        for agent in AGENTS:
            self.expire(agent)
        if not any(self.active(agent) for agent in AGENTS):
            outcome = None
        elif self.now - self.begun >= TIMEOUT:
            outcome = "quiesce_timeout"
        else:
            assert self.switch.send(None) is None
            assert self.engine.phase is SwitchPhase.QUIESCE
            return
        with pytest.raises(StopIteration) as end:
            self.switch.send(None)
        result = end.value.value
        moved = self.end(outcome)
        assert (result.committed, result.reason) == (outcome is None, outcome)
        assert (result.topology, result.epoch, result.migrated) == (self.topology, self.epoch, moved)

    @precondition(lambda self: self.switch is not None)
    @rule(error=st.sampled_from([asyncio.CancelledError, OSError, KeyboardInterrupt]))
    def interrupt(self, error):
        with pytest.raises(error):
            self.switch.throw(error)
        moved = self.end("interrupted")
        assert self.engine.recent[-1].reason == ("cancelled" if error is asyncio.CancelledError else "error")
        assert self.engine.recent[-1].migrated == moved

    @precondition(lambda self: self.switch is not None)
    @rule(topology=topologies)
    def switch_again(self, topology):
        with pytest.raises(SwitchInFlight):
            self.engine.switch(topology).send(None)

    def end(self, reason):
        """End the switch in the model and return how many messages it moved back."""
        held = [entry for queue in self.waiting.values() for entry in queue if entry.epoch > self.epoch]
        self.switch = None
        if reason is None:
            self.topology, self.epoch = self.wanted, self.epoch + 1
            return 0
        for entry in held:
            entry.epoch, entry.moved = self.epoch, True
        return len(held)

    # -- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def they_agree(self):
        assert (self.router.topology, self.router.epoch) == (self.topology, self.epoch)
        assert (self.engine.phase is SwitchPhase.IDLE) == (self.switch is None)
        assert {agent: self.router.count_pending(agent) for agent in AGENTS} == {
            agent: len(queue) for agent, queue in self.waiting.items()
        }
        assert self.router.dropped == self.dropped
        assert self.accepted == self.settled + self.router.count_pending()  # nothing lost, nothing twice


TestModel = Model.TestCase
TestModel.settings = settings(examples(0.6), stateful_step_count=60)
