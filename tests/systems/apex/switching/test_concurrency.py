"""Senders, receivers and switches as tasks of one event loop: what was accepted arrives once and in order."""

import asyncio
from collections import Counter, defaultdict
from functools import cache
from itertools import count
from random import Random

import pytest

from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.switching import TOPOLOGIES, Coordinator, Router, SwitchEngine

AGENTS = ("planner", "coder", "runner", "critic")


class Office:
    """Agents that talk while the topology changes around them; all chance comes from one seed."""

    def __init__(self, seed, messages):
        self.messages = messages
        self.random = Random(seed)
        ticks = count()
        self.router = Router(AGENTS, topology="flat", capacity=10, ttl=1e9)
        self.engine = SwitchEngine(self.router, quiesce_timeout=150, poll=0, clock=lambda: next(ticks))
        self.coordinator = Coordinator(self.engine, dwell=1, cooldown=1)
        self.accepted = defaultdict(list)  # by sender and recipient
        self.received = defaultdict(list)
        self.refused = Counter()
        self.outcomes = Counter()
        self.epochs = []
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

    async def change(self):
        while self.open:
            self.coordinator.step()
            task = asyncio.create_task(self.coordinator.request_switch(self.random.choice(TOPOLOGIES)))
            for _ in range(self.random.randrange(100)):
                await asyncio.sleep(0)
            if self.random.random() < 0.3:
                task.cancel()
            await asyncio.wait([task])
            self.outcomes["cancelled" if task.cancelled() else task.result().reason or "committed"] += 1

    async def day(self):
        async with asyncio.timeout(15), asyncio.TaskGroup() as tasks:  # what fails in one task ends them all
            for agent in AGENTS:
                tasks.create_task(self.receive(agent))
            for _ in range(2):
                tasks.create_task(self.change())
            await asyncio.gather(*map(self.send, AGENTS))
            self.open = False


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
    assert {"queue_full", "not_through_hub", "not_next_hop"} <= {*office.refused}


def test_the_same_seed_gives_the_same_day(day_of):
    first, second = day_of(0, 200), run_day(0, 200)
    assert first.received == second.received
    assert first.outcomes == second.outcomes
