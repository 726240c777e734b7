"""What the tests of a switch share: a time that passes only while somebody sleeps."""

import types

import pytest

from plaudit.systems.apex.switching import Router, SwitchEngine


class Time:
    """A clock in whole seconds, and a sleep that moves it on and gives everybody else a turn."""

    def __init__(self):
        self.now = 100.0

    def clock(self):
        return self.now

    @types.coroutine
    def sleep(self, seconds):
        self.now += seconds
        yield


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def router(time):
    return Router(["planner", "coder", "runner", "critic"], topology="flat", clock=time.clock)


@pytest.fixture
def engine(router, time):
    return SwitchEngine(router, quiesce_timeout=5, poll=1, clock=time.clock, sleep=time.sleep)
