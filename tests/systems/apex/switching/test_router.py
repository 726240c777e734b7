"""The router: what it refuses, what it stamps and copies, and what becomes of what is old or put back."""

import asyncio
import gc
import json
import math
import weakref
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import DefinitionError, InputError, NotFinite, OutOfRange, WrongType
from plaudit.systems.apex.errors import MessageRefused, SwitchInFlight, SwitchNotPrepared
from plaudit.systems.apex.switching import BROADCAST, LARGEST_PAYLOAD, Message, Router, SwitchEngine


def message(**parts):
    return Message(
        **{"episode_id": "e", "msg_id": "m", "sender": "planner", "recipient": "coder", "payload": 1} | parts
    )


def received(router, agent):
    return [each.payload for each in iter(lambda: router.receive(agent), None)]


def reason_of(call, *arguments, **parts):
    with pytest.raises(MessageRefused) as caught:
        call(*arguments, **parts)
    return caught.value.reason


# -- the door ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"recipient": "nobody"}, "unknown_recipient"),
        ({"sender": "nobody"}, "unknown_sender"),
        ({"recipient": "planner"}, "to_self"),
        ({"recipient": BROADCAST}, "fan_out"),
        ({"payload": "x" * LARGEST_PAYLOAD}, "payload_too_large"),
        ({"payload": math.nan}, "payload_not_json"),
        ({"payload": [math.inf]}, "payload_not_json"),
        ({"payload": {1, 2}}, "payload_not_json"),
        ({"payload": "\ud800"}, "payload_not_json"),
        ({"expires_ts": 99.0}, "expired"),
        ({"expires_ts": 100.0}, "expired"),
    ],
)
def test_what_is_refused_has_a_reason_and_leaves_nothing_behind(router, parts, reason):
    assert reason_of(router.send, message(**parts)) == reason
    assert router.count_pending() == 0
    assert router.dropped == {}


@pytest.mark.parametrize("letter", ["x", "é", "語"])
def test_a_payload_is_measured_in_bytes_of_compact_json(router, letter):
    room = LARGEST_PAYLOAD - len('{"k":""}')
    fits = {"k": letter * (room // len(letter.encode())) + "x" * (room % len(letter.encode()))}
    assert len(json.dumps(fits, separators=(",", ":"), ensure_ascii=False).encode()) == LARGEST_PAYLOAD
    router.send(message(payload=fits))
    assert reason_of(router.send, message(payload={"k": fits["k"] + "x"})) == "payload_too_large"
    assert received(router, "coder") == [fits]


@pytest.mark.parametrize("expires", [math.nan, -1.0])
def test_a_time_that_is_none_is_an_error(router, expires):
    with pytest.raises(OutOfRange, match="expires_ts"):
        router.send(message(expires_ts=expires))


def test_a_message_is_given_whole_or_in_parts_and_not_both(router):
    for arguments, parts in (((), {}), ((message(),), {"payload": 2})):
        with pytest.raises(WrongType, match="a message or its fields"):
            router.send(*arguments, **parts)
    assert router.count_pending() == 0


def test_messages_made_of_parts_are_numbered(router):
    sent = [router.send(sender="planner", recipient="coder", payload=n)[0] for n in range(2)]
    assert [each.msg_id for each in sent] == ["m1", "m2"]
    assert router.send(sender="system", recipient="coder", payload=0, msg_id="mine", episode_id="e")[0].msg_id == "mine"


@pytest.mark.parametrize(
    ("agents", "options", "error"),
    [
        (["planner", "system"], {}, DefinitionError),
        (["planner", BROADCAST], {}, DefinitionError),
        (["planner", ""], {}, DefinitionError),
        (["planner"], {"capacity": 0}, OutOfRange),
        (["planner"], {"ttl": 0}, OutOfRange),
        (["planner"], {"ttl": math.nan}, OutOfRange),
        (["planner"], {"max_attempts": -1}, OutOfRange),
        (["planner"], {"max_attempts": 0.5}, WrongType),
        (["planner"], {"capacity": 1.5}, WrongType),
        (["planner"], {"capacity": math.nan}, NotFinite),
    ],
)
def test_a_router_that_cannot_work_is_not_made(agents, options, error):
    with pytest.raises(error):
        Router(agents, **options)


def test_a_stranger_receives_nothing_and_has_nothing_pending(router):
    assert reason_of(router.receive, "nobody") == "unknown_recipient"
    assert reason_of(router.count_pending, "nobody") == "unknown_recipient"


# -- stamps and copies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claimed", [-1, 0, 1, 7])
def test_the_router_says_which_epoch_a_message_belongs_to(router, claimed):
    router.send(message(topo_epoch=claimed))
    assert router.receive("coder").topo_epoch == 0
    router.prepare()
    assert router.send(message(topo_epoch=claimed))[0].topo_epoch == 1
    router.commit("flat")
    assert router.send(message(topo_epoch=claimed))[0].topo_epoch == 1
    assert [router.receive("coder").topo_epoch for _ in range(2)] == [1, 1]


def test_a_message_is_stamped_when_it_is_sent(router, time):
    (sent,) = router.send(message(attempt=3, redelivered=True, drop_reason="expired"))
    assert sent == message(created_ts=100.0, expires_ts=160.0)
    time.now = 120.0
    (sent,) = router.send(message(created_ts=90.0, expires_ts=125.0))
    assert sent == message(created_ts=90.0, expires_ts=125.0)


def test_a_broadcast_is_a_copy_for_each_with_a_payload_of_its_own(time):
    router = Router(["planner", "coder", "runner", "critic"], clock=time.clock)
    payload = {"files": ["a.py"]}
    sent = router.send(message(recipient=BROADCAST, payload=payload))
    assert [each.recipient for each in sent] == ["coder", "runner", "critic"]
    payload["files"].append("sender's.py")
    router.receive("coder").payload["files"].append("coder's.py")
    assert router.receive("runner").payload == {"files": ["a.py"]}
    with pytest.raises(FrozenInstanceError):
        router.receive("critic").attempt = 1


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")), lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner)))  # fmt: skip
def test_a_payload_arrives_as_it_was_sent(payload):
    router = Router(["planner", "coder"])
    router.send(message(payload=payload))
    assert router.receive("coder").payload == payload


# -- order and room ---------------------------------------------------------------------------------------------------


def test_messages_arrive_in_the_order_they_were_sent_in(router):
    for n in range(5):
        router.send(message(sender=["planner", "critic"][n % 2], payload=n))
    assert router.count_pending("coder") == router.count_pending() == 5
    assert received(router, "coder") == [0, 1, 2, 3, 4]
    assert router.receive("coder") is None


def test_a_full_queue_refuses_and_takes_again_when_there_is_room(time):
    router = Router(["planner", "coder", "critic"], capacity=2, clock=time.clock)
    for n in range(2):
        router.send(message(payload=n))
    assert reason_of(router.send, message(payload=2)) == "queue_full"
    assert router.receive("coder").payload == 0
    router.send(message(payload=3))
    assert received(router, "coder") == [1, 3]


def test_a_broadcast_reaches_all_or_none(time):
    router = Router(["planner", "coder", "critic"], capacity=1, clock=time.clock)
    router.send(message(recipient="critic"))
    assert reason_of(router.send, message(recipient=BROADCAST)) == "queue_full"
    assert router.count_pending("coder") == 0


def test_room_is_counted_over_both_epochs(time):
    router = Router(["planner", "coder"], capacity=3, clock=time.clock)
    for n in range(2):
        router.send(message(payload=n))
    router.prepare()
    router.send(message(payload=2))
    assert reason_of(router.send, message(payload=3)) == "queue_full"
    assert router.abort() == 1
    assert received(router, "coder") == [0, 1, 2]
    assert router.dropped == {}


# -- age --------------------------------------------------------------------------------------------------------------


def test_what_is_too_old_is_given_up_with_a_reason(router, time):
    router.send(message(payload="old"))
    router.send(message(payload="long-lived", expires_ts=1_000.0))
    router.send(message(payload="old too"))
    time.now = 130.0
    router.send(message(payload="new"))
    time.now = 160.0
    assert received(router, "coder") == ["long-lived", "new"]
    assert router.dropped == {"expired": 2}
    assert [(each.payload, each.drop_reason) for each in router.dead_letters] == [
        ("old", "expired"),
        ("old too", "expired"),
    ]


def test_a_message_lives_until_its_time_and_no_longer(router, time):
    router.send(message(payload=1))
    time.now = math.nextafter(160.0, 0)
    assert router.receive("coder").payload == 1
    router.send(message(payload=2, expires_ts=160.0))
    time.now = 160.0
    assert router.receive("coder") is None


def test_a_time_to_live_may_be_endless(time):
    router = Router(["planner", "coder"], ttl=math.inf, clock=time.clock)
    router.send(message())
    time.now = 1e12
    assert router.receive("coder").payload == 1


def test_what_is_too_old_takes_no_room(time):
    router = Router(["planner", "coder"], capacity=3, clock=time.clock)
    for n, expires in enumerate([500.0, 150.0]):
        router.send(message(payload=n, expires_ts=expires))
    router.prepare()
    router.send(message(payload=2, expires_ts=150.0))
    time.now = 200.0
    router.send(message(payload=3))
    router.send(message(payload=4))
    assert router.dropped == {"expired": 2}
    router.abort()
    assert received(router, "coder") == [0, 3, 4]


def test_the_last_hundred_dead_letters_are_kept(router, time):
    for n in range(130):
        router.send(message(payload=n))
    time.now = 1_000.0
    assert router.receive("coder") is None
    assert router.dropped == {"expired": 130}
    assert [each.payload for each in router.dead_letters] == [*range(30, 130)]


# -- what is put back -------------------------------------------------------------------------------------------------


def test_a_message_put_back_goes_to_the_end(router):
    for n in range(3):
        router.send(message(payload=n))
    first = router.receive("coder")
    again = router.retry(first)
    assert (again.attempt, again.redelivered, again.msg_id) == (1, True, first.msg_id)
    assert again.expires_ts == first.expires_ts
    assert received(router, "coder") == [1, 2, 0]


def test_a_message_is_put_back_so_often_and_then_given_up(time):
    router = Router(["planner", "coder"], max_attempts=2, clock=time.clock)
    router.send(message())
    for attempt in range(2):
        got = router.receive("coder")
        assert got.attempt == attempt
        router.retry(got)
    last = router.receive("coder")
    assert reason_of(router.retry, last) == "max_attempts"
    assert router.dropped == {"max_attempts": 1}
    assert router.dead_letters == (replace(last, drop_reason="max_attempts"),)
    assert reason_of(router.retry, last) == "not_received"
    assert router.count_pending() == 0


def test_only_what_was_received_is_put_back_and_only_once(router):
    (sent,) = router.send(message())
    assert reason_of(router.retry, sent) == "not_received"
    got = router.receive("coder")
    assert reason_of(router.retry, replace(got)) == "not_received"
    again = router.retry(got)
    assert reason_of(router.retry, got) == "not_received"
    assert reason_of(router.retry, again) == "not_received"
    assert router.count_pending("coder") == 1


def test_a_message_that_finds_no_room_stays_in_hand(time):
    router = Router(["planner", "coder"], capacity=1, clock=time.clock)
    router.send(message(payload=0))
    got = router.receive("coder")
    router.send(message(payload=1))
    assert reason_of(router.retry, got) == "queue_full"
    assert router.receive("coder").payload == 1
    router.retry(got)
    assert received(router, "coder") == [0]


def test_a_message_that_is_spent_is_given_up_whether_there_is_room_or_not(time):
    router = Router(["planner", "coder"], capacity=1, max_attempts=0, clock=time.clock)
    router.send(message(payload=0))
    got = router.receive("coder")
    router.send(message(payload=1))
    assert reason_of(router.retry, got) == "max_attempts"
    assert received(router, "coder") == [1]


def test_a_message_that_grew_old_in_hand_is_given_up(router, time):
    router.send(message())
    got = router.receive("coder")
    time.now = 160.0
    assert reason_of(router.retry, got) == "expired"
    assert router.dropped == {"expired": 1}


def test_a_message_put_back_during_a_switch_waits_for_the_next_epoch(router):
    router.send(message(payload=0))
    got = router.receive("coder")
    router.prepare()
    assert router.retry(got).topo_epoch == 1
    assert router.is_drained()
    assert router.receive("coder") is None
    router.commit("chain")
    assert received(router, "coder") == [0]


def test_the_router_forgets_what_its_receiver_forgets(router, young_heap):
    router.send(message())
    got = router.receive("coder")
    alive = weakref.ref(got)
    del got
    gc.collect()
    assert alive() is None


# -- the two epochs ---------------------------------------------------------------------------------------------------


def test_what_is_sent_during_a_switch_obeys_the_topology_that_is_still_active(router):
    router.prepare()
    router.send(message(sender="critic", recipient="coder"))
    router.commit("star")
    assert reason_of(router.send, message(sender="critic", recipient="coder")) == "not_through_hub"
    assert received(router, "coder") == [1]


def test_a_switch_is_prepared_once_and_before_it_ends(router):
    for end in (lambda: router.commit("star"), router.abort):
        with pytest.raises(SwitchNotPrepared, match="no switch is prepared"):
            end()
    router.prepare()
    with pytest.raises(SwitchInFlight):
        router.prepare()
    assert router.epoch == 0


def test_an_epoch_does_not_end_while_an_agent_has_messages_of_it(router):
    router.send(message(recipient="critic"))
    router.prepare()
    assert not router.is_drained()
    with pytest.raises(SwitchNotPrepared, match="still has messages of epoch 0"):
        router.commit("star")
    assert (router.epoch, router.topology) == (0, "flat")
    assert received(router, "critic") == [1]
    router.commit("star")
    assert (router.epoch, router.topology) == (1, "star")


def test_what_one_does_to_a_payload_nobody_else_sees(router):
    payload = {"do": ["this"]}
    (sent,) = router.send(message(recipient="critic", payload=payload))
    payload["do"].append("mine")
    sent.payload["do"].append("the sender's")
    got = router.receive("critic")
    assert got.payload == {"do": ["this"]}
    back = router.retry(got)
    back.payload["do"].append("the receiver's")
    assert router.receive("critic").payload == {"do": ["this"]}


# -- changes of the topology ------------------------------------------------------------------------------------------


def change(router, topology):
    router.prepare()
    router.commit(topology)


def test_every_task_that_waits_is_told_of_the_change():
    async def main():
        router = Router()
        waiting = [asyncio.create_task(router.topology_changed()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        change(router, "chain")
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 60), router._waiters

    told, left = asyncio.run(main())
    assert isinstance(told[0], asyncio.CancelledError)
    assert told[1:] == ["chain", "chain"]
    assert not left


def test_tasks_are_told_in_the_order_in_which_they_began_to_wait():
    told = []

    async def agent(router, number):
        await router.topology_changed()
        told.append(number)

    async def main():
        router = Router()
        async with asyncio.TaskGroup() as tasks:
            for number in range(50):
                tasks.create_task(agent(router, number))
            await asyncio.sleep(0)
            change(router, "chain")

    asyncio.run(main())
    assert told == list(range(50))


def test_a_task_whose_event_loop_was_closed_is_in_the_way_of_no_change():
    router, loop = Router(), asyncio.new_event_loop()
    waiting = loop.create_future()

    async def wait():
        waiting.set_result(None)
        await router.topology_changed()

    task = loop.create_task(wait())
    loop.run_until_complete(waiting)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    change(router, "chain")
    assert (router.topology, router.epoch) == ("chain", 1)
    task._log_destroy_pending = False  # that it never ends is what this is about


@pytest.mark.parametrize("since", ["0", 1.5, -1, True])
def test_an_epoch_is_an_integer_from_0_up(since):
    with pytest.raises(InputError, match="'since'"):
        Router().topology_changed(since=since)


def test_a_change_between_the_call_and_the_wait_is_not_missed():
    async def main():
        router = Router()
        called = router.topology_changed()
        change(router, "chain")
        return await asyncio.wait_for(called, 60), await asyncio.wait_for(router.topology_changed(since=0), 60)

    assert asyncio.run(main()) == ("chain", "chain")


def test_an_epoch_with_the_same_topology_is_no_change():
    async def main():
        router = Router()
        waiting = asyncio.create_task(router.topology_changed())
        await asyncio.sleep(0)
        change(router, "star")
        for _ in range(5):
            await asyncio.sleep(0)
        early = waiting.done()
        change(router, "flat")
        return early, await asyncio.wait_for(waiting, 60)

    assert asyncio.run(main()) == (False, "flat")


def test_an_agent_follows_changes_in_a_loop_while_others_switch():
    async def follow(router, seen):
        epoch = router.epoch
        while len(seen) < 20:
            seen.append(await router.topology_changed(since=epoch))
            epoch = router.epoch
            await asyncio.sleep(0)  # work, during which the topology may change again

    async def main():
        router = Router()
        engine = SwitchEngine(router)
        logs = [[] for _ in range(3)]
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(follow(router, seen)) for seen in logs]
            number = 0
            while not all(task.done() for task in following):
                assert (await engine.switch(router.topologies[number % 3])).committed
                number += 1
                await asyncio.sleep(0)
        return logs

    for seen in asyncio.run(main()):
        assert len(seen) == 20
        assert {*seen} == {"star", "chain", "flat"}
