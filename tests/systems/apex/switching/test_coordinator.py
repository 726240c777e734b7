"""The coordinator: dwell, cooldown, and one switch at a time."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import InputError
from plaudit.systems.apex.switching import Coordinator, Router, SwitchEngine, SwitchPhase, SwitchResult

AGENTS = ["planner", "coder", "runner", "critic"]


@pytest.fixture
def coordinator(engine):
    return Coordinator(engine)


def ask(coordinator, target="star"):
    """Return what became of a request: "committed", or the reason why not."""
    result = asyncio.run(coordinator.switch(target))
    assert isinstance(result, SwitchResult)
    assert result.requested == target
    return "committed" if result.committed else result.reason


def timeline(steps, **options):
    """Return what a coordinator says to a request at each of so many steps."""
    coordinator = Coordinator(SwitchEngine(Router(AGENTS)), **options)
    said = []
    for _ in range(steps):
        said.append(ask(coordinator))
        coordinator.step()
    return " ".join(said)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "dwell dwell committed cooldown committed cooldown committed"),
        ({"dwell": 3}, "dwell dwell dwell committed cooldown dwell committed"),
        ({"cooldown": 3}, "dwell dwell committed cooldown cooldown committed"),
        ({"additive": True}, "dwell dwell committed cooldown dwell dwell committed cooldown"),
        ({"additive": True, "dwell": 0}, "committed cooldown committed"),
        ({"additive": True, "dwell": 1, "cooldown": 2}, "dwell committed cooldown dwell committed"),
        ({"cooldown": 0}, "dwell dwell committed dwell committed"),
        ({"dwell": 0}, "committed cooldown committed"),
        ({"dwell": 0, "cooldown": 0}, "committed committed committed"),
    ],
    ids=repr,
)
def test_the_next_switch_may_come_when_dwell_and_cooldown_are_over(options, expected):
    assert timeline(len(expected.split()), **options) == expected


@given(dwell=st.integers(0, 5), cooldown=st.integers(0, 5), additive=st.booleans())
def test_between_two_switches_lie_the_larger_of_the_two_or_both(dwell, cooldown, additive):
    said = timeline(25, dwell=dwell, cooldown=cooldown, additive=additive).split()
    commits = [at for at, word in enumerate(said) if word == "committed"]
    apart = dwell + cooldown if additive else max(dwell, cooldown)
    assert commits == [*range(dwell, 25, max(1, apart))]


def test_with_two_and_two_a_switch_may_come_two_steps_after_the_start_and_after_the_last():
    coordinator = Coordinator(SwitchEngine(Router(AGENTS)))
    said = []
    for steps in (0, 1, 1, 0, 1, 1, 0):
        for _ in range(steps):
            coordinator.step()
        said.append(ask(coordinator))
    assert said == ["dwell", "dwell", "committed", "cooldown", "cooldown", "committed", "cooldown"]


def test_several_requests_in_one_step_commit_once():
    coordinator = Coordinator(SwitchEngine(Router(AGENTS)))
    coordinator.step()
    coordinator.step()
    assert [ask(coordinator, target) for target in ("chain", "flat", "chain")] == ["committed", "cooldown", "cooldown"]
    assert coordinator.engine.topology == "chain"


def test_the_counts_follow_the_steps(coordinator):
    seen = []
    for _ in range(5):
        seen.append((coordinator.steps_since_switch, coordinator.cooldown_remaining, coordinator.switched_at))
        ask(coordinator)
        coordinator.step()
    assert seen == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (1, 1, 2), (2, 0, 2)]


def test_a_refusal_is_a_result_like_any_other(coordinator):
    assert asyncio.run(coordinator.switch("chain")) == SwitchResult(
        requested="chain", previous="flat", topology="flat", epoch=0, reason="dwell"
    )


@pytest.mark.parametrize("target", ["ring", "stay", ""])
def test_an_unknown_topology_is_refused_whatever_the_time(coordinator, target):
    assert ask(coordinator, target) == "unknown_topology"
    coordinator.step()
    coordinator.step()
    assert ask(coordinator, target) == "unknown_topology"
    assert ask(coordinator) == "committed"


@pytest.mark.parametrize("options", [{"dwell": -1}, {"cooldown": -1}, {"dwell": math.nan}, {"cooldown": 1.5}])
def test_a_coordinator_that_cannot_work_is_not_made(engine, options):
    with pytest.raises(InputError, match="key '(dwell|cooldown)'"):
        Coordinator(engine, **options)


@pytest.mark.parametrize("engines", [1, 2])
def test_coordinators_of_one_router_see_the_switches_of_each_other(engines):
    router = Router(AGENTS)
    first = SwitchEngine(router)
    one, other = Coordinator(first), Coordinator(first if engines == 1 else SwitchEngine(router))
    for _ in range(2):
        one.step()
        other.step()
    assert ask(one, "chain") == "committed"
    assert ask(other, "flat") == "cooldown"
    assert (other.switched_at, other.steps_since_switch) == (2, 0)
    for _ in range(2):
        other.step()
    assert ask(other, "flat") == "committed"
    assert ask(one, "star") == "cooldown"


def stuck(coordinator):
    """Make a switch possible, and let it wait for an agent that has not received its message."""
    coordinator.step()
    coordinator.step()
    coordinator.engine.router.send(sender="planner", recipient="coder", payload=1)


def test_a_switch_that_was_called_off_starts_no_dwell_and_no_cooldown(coordinator):
    stuck(coordinator)
    assert ask(coordinator) == "quiesce_timeout"
    assert (coordinator.steps_since_switch, coordinator.cooldown_remaining) == (2, 0)
    coordinator.engine.router.receive("coder")
    assert ask(coordinator) == "committed"


def test_of_two_requests_at_once_one_commits_and_one_is_refused(coordinator):
    async def main():
        stuck(coordinator)
        first = asyncio.create_task(coordinator.switch("star"))
        second = asyncio.create_task(coordinator.switch("chain"))
        await asyncio.sleep(0)
        assert coordinator.engine.phase is SwitchPhase.QUIESCE
        assert coordinator.find_blocker() == "in_flight"
        coordinator.engine.router.receive("coder")
        return await first, await second

    results = asyncio.run(main())
    assert [(each.committed, each.reason) for each in results] == [(True, None), (False, "in_flight")]
    assert (coordinator.engine.topology, coordinator.engine.epoch) == ("star", 1)


@pytest.mark.parametrize("requests", [2, 3, 10])
def test_of_many_requests_at_once_one_commits(requests):
    async def main():
        coordinator = Coordinator(SwitchEngine(Router(AGENTS)))
        stuck(coordinator)
        asking = [asyncio.create_task(coordinator.switch("chain")) for _ in range(requests)]
        await asyncio.sleep(0.005)
        coordinator.engine.router.receive("coder")
        return await asyncio.gather(*asking), coordinator.engine.epoch

    results, epoch = asyncio.run(main())
    assert sum(each.committed for each in results) == epoch == 1


def test_whether_a_switch_may_begin_is_decided_with_the_lock_in_hand(engine, monkeypatch):
    # an engine that gives the turn away before and after it switches, as one behind a queue or a network would
    inner = engine.switch

    async def slow(target):
        await asyncio.sleep(0)
        result = await inner(target)
        await asyncio.sleep(0)
        return result

    monkeypatch.setattr(engine, "switch", slow)

    async def main():
        asking = []
        for _ in range(6):
            asking.append(asyncio.create_task(coordinator.switch("chain")))
            await asyncio.sleep(0)
        return await asyncio.gather(*asking)

    coordinator = Coordinator(engine)
    coordinator.step()
    coordinator.step()
    assert [each.reason for each in asyncio.run(main())][:2] == [None, "in_flight"]
    assert engine.epoch == 1


def test_a_switch_begun_behind_the_coordinators_back_is_in_flight_too(coordinator, engine, router, time):
    async def main(directly):
        task = asyncio.create_task(directly.switch("chain"))
        await asyncio.sleep(0)
        refused = await coordinator.switch("star")
        router.receive("coder")
        return refused, await task

    stuck(coordinator)
    refused, committed = asyncio.run(main(engine))
    assert (refused.reason, committed.committed) == ("in_flight", True)
    assert ask(coordinator) == "cooldown"  # it counts, whoever began it
    coordinator.step()
    coordinator.step()
    router.send(sender="planner", recipient="coder", payload=2)
    other = SwitchEngine(router, quiesce_timeout=5, poll=1, clock=time.clock, sleep=time.sleep)
    refused, committed = asyncio.run(main(other))
    assert (refused.reason, refused.accepted, committed.committed) == ("in_flight", False, True)


def test_steps_that_pass_during_a_switch_count_before_it(coordinator):
    async def main():
        stuck(coordinator)
        task = asyncio.create_task(coordinator.switch("star"))
        await asyncio.sleep(0)
        coordinator.step()
        coordinator.engine.router.receive("coder")
        return await task

    assert asyncio.run(main()).committed
    assert (coordinator.switched_at, coordinator.steps_since_switch, coordinator.cooldown_remaining) == (3, 0, 2)


def test_a_cancelled_request_frees_the_lock(coordinator):
    async def main():
        stuck(coordinator)
        task = asyncio.create_task(coordinator.switch("star"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        coordinator.engine.router.receive("coder")
        return await coordinator.switch("star")

    assert asyncio.run(main()).committed
    assert [each.reason for each in coordinator.stats().recent] == ["cancelled", None]


def test_an_error_reaches_the_caller_and_frees_the_lock(coordinator, monkeypatch):
    def broken(topology):
        raise OSError("broken")

    coordinator.step()
    coordinator.step()
    monkeypatch.setattr(coordinator.engine.router, "commit", broken)
    with pytest.raises(OSError, match="broken"):
        ask(coordinator)
    monkeypatch.undo()
    assert coordinator.steps_since_switch == 2
    assert ask(coordinator) == "committed"


def test_a_switch_that_was_committed_counts_though_an_error_came_after_it(time):
    def clock():
        if router.epoch:
            raise OSError("no clock")
        return time.now

    router = Router(AGENTS)
    coordinator = Coordinator(SwitchEngine(router, clock=clock))
    coordinator.step()
    coordinator.step()
    with pytest.raises(OSError, match="no clock"):
        ask(coordinator)
    assert (coordinator.engine.topology, coordinator.engine.phase) == ("star", SwitchPhase.IDLE)
    assert (coordinator.steps_since_switch, coordinator.cooldown_remaining) == (0, 2)
    assert ask(coordinator) == "cooldown"


def test_the_stats_tell_what_happened(coordinator):
    for step in range(40):
        ask(coordinator, ("star", "chain")[step % 2])
        coordinator.step()
    stats = coordinator.stats()
    assert (stats.steps, stats.steps_since_switch, stats.cooldown_remaining) == (40, 2, 0)
    assert (stats.switch_count, stats.abort_count) == (19, 0)
    assert stats.refused == {"dwell": 2, "cooldown": 19}
    assert [each.epoch for each in stats.recent] == [*range(10, 20)]
