"""The switch engine: commit, time-out, cancellation and error, and what each leaves behind."""

import asyncio
import gc
import math
import types
from collections import deque

import pytest

from plaudit.errors import OutOfRange
from plaudit.systems.apex.errors import MessageRefused, SwitchInFlight
from plaudit.systems.apex.switching import Router, SwitchEngine, SwitchPhase, SwitchResult


def send(router, payload, *, sender="planner", recipient="coder", **parts):
    return router.send(sender=sender, recipient=recipient, payload=payload, **parts)


def received(router, agent="coder"):
    return [each.payload for each in iter(lambda: router.receive(agent), None)]


class Driven:
    """A switch that a test drives by hand, from one sleep to the next."""

    def __init__(self, coroutine):
        self.coroutine = coroutine
        self.result = None
        self.step()

    def step(self):
        try:
            self.coroutine.send(None)
        except StopIteration as end:
            self.result = end.value

    def cancel(self):
        with pytest.raises(asyncio.CancelledError):
            self.coroutine.throw(asyncio.CancelledError)


def usable(engine):
    """Whether an engine and its router work as if nothing had happened: idle, in one epoch, able to switch."""
    epoch = engine.epoch
    (sent,) = send(engine.router, "probe", sender="system", recipient="critic")
    whole = (
        engine.phase is SwitchPhase.IDLE
        and sent.topo_epoch == epoch
        and received(engine.router, "critic")[-1] == "probe"
    )
    for agent in engine.router.roles:
        received(engine.router, agent)
    return whole and asyncio.run(engine.switch("flat")).committed and engine.epoch == epoch + 1


# -- commit -----------------------------------------------------------------------------------------------------------


def test_empty_queues_let_a_switch_commit_at_once(engine, router):
    result = Driven(engine.switch("chain")).result
    assert result == SwitchResult(
        requested="chain",
        previous="flat",
        topology="chain",
        epoch=1,
        accepted=True,
        committed=True,
        phase_ms={"prepare": 0.0, "quiesce": 0.0, "commit": 0.0},
        switch_count=1,
    )
    assert (router.topology, router.epoch, engine.topology, engine.epoch) == ("chain", 1, "chain", 1)
    assert engine.phase is SwitchPhase.IDLE


def test_a_switch_waits_until_every_agent_has_received_what_it_had(engine, router, time):
    send(router, 1)
    send(router, 2, recipient="critic")
    switch = Driven(engine.switch("star"))
    assert engine.phase is SwitchPhase.QUIESCE
    assert received(router) == [1]
    switch.step()
    assert switch.result is None
    assert router.epoch == 0
    assert received(router, "critic") == [2]
    switch.step()
    assert switch.result.committed
    assert switch.result.phase_ms == {"prepare": 0.0, "quiesce": 2_000.0, "commit": 0.0}
    assert switch.result.elapsed_ms == 2_000.0


def test_what_comes_during_a_switch_is_delivered_after_it(engine, router):
    send(router, "old", recipient="critic")
    switch = Driven(engine.switch("star"))
    (sent,) = send(router, "new")
    assert sent.topo_epoch == 1
    assert router.receive("coder") is None  # the critic still has a message of epoch 0
    assert received(router, "critic") == ["old"]
    assert router.receive("coder") is None  # and now nobody has, but the switch is not committed
    switch.step()
    got = router.receive("coder")
    assert (got.payload, got.topo_epoch, got.redelivered) == ("new", 1, False)


def test_what_has_expired_holds_no_switch_up_and_is_reported(engine, router):
    send(router, 1, expires_ts=102.0)
    send(router, 2, expires_ts=101.0)
    switch = Driven(engine.switch("star"))
    while switch.result is None:
        switch.step()
    assert switch.result.committed
    assert switch.result.dropped_by_reason == {"expired": 2}
    assert switch.result.elapsed_ms == 2_000.0
    assert Driven(engine.switch("flat")).result.dropped_by_reason == {}


def test_a_switch_to_the_active_topology_begins_an_epoch(engine):
    result = Driven(engine.switch("flat")).result
    assert (result.committed, result.epoch, result.previous, result.topology) == (True, 1, "flat", "flat")


def test_every_phase_is_gone_through_in_order(time):
    seen = []

    class Watched(Router):
        def prepare(self):
            seen.append(engine.phase)
            super().prepare()

        def is_drained(self):
            seen.append(engine.phase)
            return super().is_drained()

        def commit(self, topology):
            seen.append(engine.phase)
            super().commit(topology)

        def abort(self):
            seen.append(engine.phase)
            return super().abort()

    router = Watched(["planner", "coder"], clock=time.clock)
    engine = SwitchEngine(router, quiesce_timeout=0, clock=time.clock, sleep=time.sleep)
    seen.append(engine.phase)
    asyncio.run(engine.switch("chain"))
    seen.append(engine.phase)
    send(router, 1)
    asyncio.run(engine.switch("star"))
    seen.append(engine.phase)
    assert " ".join(seen) == "IDLE PREPARE QUIESCE COMMIT IDLE PREPARE QUIESCE ABORT IDLE"


def test_the_queues_of_dead_epochs_are_let_go(engine, router, young_heap):
    def queues():
        gc.collect()
        return sum(type(each) is deque for each in gc.get_objects())

    asyncio.run(engine.switch("flat"))
    before = queues()
    for n in range(100):
        send(router, n)
        router.receive("coder")
        asyncio.run(engine.switch("flat"))
    assert queues() <= before
    assert router.epoch == 101


# -- time-out ---------------------------------------------------------------------------------------------------------


def test_a_switch_that_takes_too_long_is_called_off(engine, router, time):
    send(router, 1)
    send(router, 2, sender="critic")
    switch = Driven(engine.switch("star"))
    send(router, 3)
    send(router, 4, sender="critic")
    assert router.receive("coder").payload == 1
    polls = 0
    while switch.result is None:
        switch.step()
        polls += 1
    assert polls == 5
    assert switch.result == SwitchResult(
        requested="star",
        previous="flat",
        topology="flat",
        epoch=0,
        accepted=True,
        reason="quiesce_timeout",
        elapsed_ms=5_000.0,
        phase_ms={"prepare": 0.0, "quiesce": 5_000.0, "abort": 0.0},
        migrated=2,
        abort_count=1,
    )
    left = [router.receive("coder") for _ in range(3)]
    assert [(each.payload, each.topo_epoch, each.redelivered) for each in left] == [
        (2, 0, False),
        (3, 0, True),
        (4, 0, True),
    ]
    assert usable(engine)


def test_queues_that_are_empty_in_the_last_moment_still_commit(engine, router):
    send(router, 1)
    switch = Driven(engine.switch("star"))
    for _ in range(4):
        switch.step()
    assert received(router) == [1]
    switch.step()
    assert switch.result.committed
    assert switch.result.elapsed_ms == 5_000.0


def test_what_was_accepted_always_fits_when_a_switch_is_called_off(time):
    router = Router(["planner", "coder"], capacity=4, clock=time.clock)
    engine = SwitchEngine(router, quiesce_timeout=1, poll=1, clock=time.clock, sleep=time.sleep)
    for n in range(4):
        send(router, n)
    switch = Driven(engine.switch("chain"))
    assert router.receive("coder").payload == 0
    send(router, 4)
    with pytest.raises(MessageRefused, match="the queue of '.*' is full") as caught:
        send(router, 5)
    assert caught.value.reason == "queue_full"
    switch.step()
    assert (switch.result.reason, switch.result.migrated) == ("quiesce_timeout", 1)
    assert switch.result.dropped_by_reason == {}
    assert received(router) == [1, 2, 3, 4]


def test_a_switch_times_out_by_a_real_clock():
    router = Router(["planner", "coder"])
    send(router, 1)
    result = asyncio.run(SwitchEngine(router).switch("chain"))
    assert result.reason == "quiesce_timeout"
    assert 50 <= result.elapsed_ms < 5_000
    assert math.isclose(sum(result.phase_ms.values()), result.elapsed_ms)
    assert received(router) == [1]


# -- cancellation and errors ------------------------------------------------------------------------------------------


class Failing:
    """A clock that fails once, as soon as the engine is in a phase."""

    def __init__(self, phase, error):
        self.phase = phase
        self.error = error
        self.engine = None
        self.now = 0.0

    def __call__(self):
        if self.engine is not None and self.engine.phase is self.phase and self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.now

    @types.coroutine
    def sleep(self, seconds):
        self.now += seconds
        yield


@pytest.mark.parametrize("error", [asyncio.CancelledError(), OSError("no clock"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("phase", [SwitchPhase.PREPARE, SwitchPhase.QUIESCE, SwitchPhase.COMMIT, SwitchPhase.ABORT])
def test_what_goes_wrong_in_any_phase_calls_the_switch_off_and_is_raised(phase, error):
    clock = Failing(phase, error)
    router = Router(["planner", "coder", "critic"], topology="flat")
    engine = clock.engine = SwitchEngine(router, quiesce_timeout=2, poll=1, clock=clock, sleep=clock.sleep)
    send(router, 1)
    switch = engine.switch("star")
    with pytest.raises(type(error)) as caught:
        switch.send(None)
        send(router, 2)
        if phase is SwitchPhase.COMMIT:
            router.receive("coder")
        for _ in range(2):
            switch.send(None)
    assert caught.value is error
    assert engine.phase is SwitchPhase.IDLE
    assert (router.epoch, router.topology, engine.switch_count) == (0, "flat", 0)
    assert received(router) == {SwitchPhase.COMMIT: [2], SwitchPhase.ABORT: [1, 2]}.get(phase, [1])
    assert engine.abort_count == (phase is not SwitchPhase.PREPARE)  # what has not begun is not called off
    assert usable(engine)


@pytest.mark.parametrize("polls", range(5))
def test_a_cancelled_switch_leaves_the_router_as_it_was(engine, router, polls):
    send(router, 1)
    switch = Driven(engine.switch("star"))
    for n in range(polls):
        send(router, n + 2)
        switch.step()
    switch.cancel()
    assert (router.topology, router.epoch, engine.phase) == ("flat", 0, SwitchPhase.IDLE)
    assert engine.recent[-1].reason == "cancelled"
    assert engine.recent[-1].migrated == polls
    assert engine.abort_count == 1
    assert received(router) == [*range(1, polls + 2)]
    assert usable(engine)


def test_a_task_can_be_cancelled_and_a_time_limit_can_be_set(router):
    engine = SwitchEngine(router, quiesce_timeout=math.inf)

    async def main():
        task = asyncio.create_task(engine.switch("star"))
        await asyncio.sleep(0)
        assert engine.phase is SwitchPhase.QUIESCE
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.phase is SwitchPhase.IDLE
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(engine.switch("star"), 0.01)
        assert engine.phase is SwitchPhase.IDLE

    send(router, 1, expires_ts=math.inf)
    asyncio.run(main())
    assert [each.reason for each in engine.recent] == ["cancelled", "cancelled"]
    assert received(router) == [1]


def test_a_switch_that_nobody_waits_for_any_more_is_called_off(engine, router):
    send(router, 1)
    switch = Driven(engine.switch("star"))
    send(router, 2)
    switch.coroutine.close()
    assert engine.recent[-1].reason == "error"
    assert received(router) == [1, 2]
    assert usable(engine)


def test_an_error_of_the_router_leaves_the_engine_idle(engine, router, monkeypatch):
    def broken(topology):
        raise OSError("broken")

    monkeypatch.setattr(router, "commit", broken)
    with pytest.raises(OSError, match="broken"):
        asyncio.run(engine.switch("star"))
    monkeypatch.undo()
    assert (engine.recent[-1].reason, engine.recent[-1].accepted, engine.recent[-1].committed) == ("error", True, False)
    assert usable(engine)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["ring", "", "STAR", "stay", None])
def test_an_unknown_topology_is_refused_in_the_result(engine, target):
    result = Driven(engine.switch(target)).result
    assert (result.accepted, result.committed, result.reason) == (False, False, "unknown_topology")
    assert (result.topology, result.epoch, result.phase_ms) == ("flat", 0, {})
    assert engine.recent == ()


def test_a_second_switch_is_refused_and_does_not_disturb_the_first(engine, router):
    send(router, 1)
    switch = Driven(engine.switch("star"))
    with pytest.raises(SwitchInFlight, match="QUIESCE"):
        Driven(engine.switch("chain"))
    assert engine.phase is SwitchPhase.QUIESCE
    received(router)
    switch.step()
    assert switch.result.topology == "star"


def test_two_engines_of_one_router_do_not_disturb_each_other(engine, router, time):
    other = SwitchEngine(router, clock=time.clock, sleep=time.sleep)
    send(router, 1)
    switch = Driven(engine.switch("star"))
    send(router, 2)
    with pytest.raises(SwitchInFlight, match="epoch 1"):
        Driven(other.switch("chain"))
    assert other.phase is SwitchPhase.IDLE
    assert (router.count_pending(), other.abort_count) == (2, 0)
    assert received(router) == [1]
    switch.step()
    assert switch.result.committed
    assert received(router) == [2]


@pytest.mark.parametrize("options", [{"quiesce_timeout": -1}, {"poll": -0.1}, {"quiesce_timeout": math.nan}])
def test_an_engine_that_cannot_work_is_not_made(router, options):
    with pytest.raises(OutOfRange, match="0 or more seconds"):
        SwitchEngine(router, **options)


def test_the_last_ten_switches_are_remembered(engine, router):
    for n in range(12):
        if n == 11:
            send(router, n)
        asyncio.run(engine.switch("star" if n % 2 else "flat"))
    assert [each.epoch for each in engine.recent] == [3, 4, 5, 6, 7, 8, 9, 10, 11, 11]
    assert [each.committed for each in engine.recent] == [True] * 9 + [False]
    assert (engine.recent[-1].switch_count, engine.recent[-1].abort_count) == (11, 1)
