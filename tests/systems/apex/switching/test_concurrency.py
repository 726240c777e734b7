"""Senders, receivers and switches as tasks of one event loop: what was accepted arrives once and in order."""

import asyncio
from collections import Counter, defaultdict
from functools import cache
from itertools import count
from random import Random

import pytest

from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.switching import Coordinator, Router, SwitchEngine

AGENTS = ("planner", "coder", "runner", "critic")


def sit_in_rows(sender, recipient):
    """Let planner and coder talk to each other, runner and critic too, and the first of each pair to the other pair."""
    return AGENTS.index(sender) // 2 == AGENTS.index(recipient) // 2 or {sender, recipient} == {"planner", "runner"}


class Office:
    """Agents that talk while the topology changes around them; all chance comes from one seed."""

    def __init__(self, seed, messages):
        self.messages = messages
        self.random = Random(seed)
        ticks = count()
        self.router = Router(
            AGENTS,
            hub="critic",
            chain=AGENTS[::-1],
            topologies={"rows": sit_in_rows},
            topology="flat",
            capacity=10,
            ttl=1e9,
        )
        self.engine = SwitchEngine(self.router, quiesce_timeout=150, poll=0, clock=lambda: next(ticks))
        self.coordinator = Coordinator(self.engine, dwell=1, cooldown=1)
        self.accepted = defaultdict(list)  # by sender and recipient
        self.received = defaultdict(list)
        self.refused = Counter()
        self.outcomes = Counter()
        self.epochs = []
        self.changes = []  # what each agent was told, and when
        self.open = True

    async def send(self, sender):
        for number in range(self.messages):
            while not self.accept(sender, number):
                await asyncio.sleep(0)
            for _ in range(self.random.randrange(8)):
                await asyncio.sleep(0)

    def accept(self, sender, number):
        recipient = self.random.choice([agent for agent in AGENTS if agent != sender])
        try:
            self.router.send(sender=sender, recipient=recipient, payload=number)
        except MessageRefused as refusal:
            self.refused[refusal.reason] += 1
            return False
        self.accepted[sender, recipient].append(number)
        return True

    async def receive(self, agent):
        while self.open or self.router.count_pending(agent):
            message = self.router.receive(agent)
            if message is not None:
                self.received[message.sender, agent].append(message.payload)
                self.epochs.append(message.topo_epoch)
                assert message.topo_epoch == self.router.epoch
            pause = 300 if self.random.random() < 0.002 else self.random.randrange(2)
            for _ in range(pause):  # now and then an agent is busy for so long that a switch times out
                await asyncio.sleep(0)

    async def watch(self):
        """Follow every change of the topology, as an agent does that must know."""
        seen = self.router.epoch
        while True:
            topology = await self.router.topology_changed(since=seen)
            seen = self.router.epoch
            self.changes.append((seen, topology))
            for _ in range(self.random.randrange(3)):
                await asyncio.sleep(0)

    async def change(self):
        while self.open:
            self.coordinator.step()
            task = asyncio.create_task(self.coordinator.switch(self.random.choice(self.router.topologies)))
            for _ in range(self.random.randrange(100)):
                await asyncio.sleep(0)
            if self.random.random() < 0.3:
                task.cancel()
            await asyncio.wait([task])
            self.outcomes["cancelled" if task.cancelled() else task.result().reason or "committed"] += 1

    async def day(self):
        async with asyncio.timeout(15), asyncio.TaskGroup() as tasks:  # what fails in one task ends them all
            watching = tasks.create_task(self.watch())
            for agent in AGENTS:
                tasks.create_task(self.receive(agent))
            for _ in range(2):
                tasks.create_task(self.change())
            await asyncio.gather(*map(self.send, AGENTS))
            self.open = False
            watching.cancel()


def run_day(seed, messages):
    office = Office(seed, messages)
    asyncio.run(office.day())
    return office


@pytest.fixture(scope="module")
def day_of():
    """Return a function from a seed to its day, which is run once."""
    return cache(run_day)


@pytest.mark.parametrize(
    ("seed", "messages"), [(0, 200), *(pytest.param(n, 500, marks=pytest.mark.slow) for n in range(3))]
)
def test_what_was_accepted_arrives_once_and_in_order_while_the_topology_changes(day_of, seed, messages):
    office = day_of(seed, messages)
    assert office.received == office.accepted
    assert sum(map(len, office.received.values())) == messages * len(AGENTS)
    assert office.epochs == sorted(office.epochs)
    assert office.router.dropped == {}
    assert office.router.count_pending() == 0
    # and all this was put to the test
    assert {"committed", "cancelled", "quiesce_timeout", "in_flight"} <= {*office.outcomes}
    assert office.outcomes["committed"] == office.engine.epoch == office.engine.switch_count > 5
    assert {"queue_full", "not_through_hub", "not_next_hop", "not_allowed"} <= {*office.refused}
    # and whoever watched was told of every change but those that another followed at once
    assert office.changes[-1][1] == office.router.topology
    assert len(office.changes) > office.engine.epoch / 2


def test_the_same_seed_gives_the_same_day(day_of):
    first, second = day_of(0, 200), run_day(0, 200)
    assert first.received == second.received
    assert first.outcomes == second.outcomes
