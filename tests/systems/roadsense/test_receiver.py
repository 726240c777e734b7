"""The four ways to remember a warning, over the steps of an episode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.systems.roadsense.observation_builder import build_sighting
from plaudit.systems.roadsense.receiver import WarningMemory
from plaudit.systems.roadsense.world import CarState

Message = tuple[str, CarState]
EGO = CarState(0.0, 0.0, 15.0, 0.0, 0.0)


def hear(memory: WarningMemory, *messages: Message, source: str | None = None) -> tuple[bool, bool, bool, float]:
    heard = dict(messages)
    memory.update(build_sighting(EGO, heard), heard, source)
    return memory.now, memory.ever, memory.peer_ever, memory.fading


def peer(acceleration: float = -3.0, *, y: float = 30.0, age: float = 4.0, name: str = "V002") -> Message:
    return name, CarState(0.0, y, 15.0, acceleration, 0.0, age)


def test_before_any_warning_nothing_is_known():
    memory = WarningMemory()
    assert hear(memory) == (False, False, False, 0.0)
    assert hear(memory, peer(-2.4)) == (False, False, False, 0.0)


@pytest.mark.parametrize(("acceleration", "warns"), [(-2.49, False), (-2.5, True), (-9.0, True), (2.5, False)])
def test_a_warning_is_a_peer_at_2_5_or_harder(acceleration, warns):
    assert hear(WarningMemory(), peer(acceleration), source="V002") == (warns, warns, warns, float(warns))


def test_the_hazards_own_warning_is_told_apart_from_those_of_others():
    memory = WarningMemory()
    assert hear(memory, peer(), source="V003") == (False, False, True, 1.0)
    assert hear(memory, peer(), source=None) == (False, False, True, 1.0)
    assert hear(memory, peer(), peer(name="V003"), source="V003") == (True, True, True, 1.0)
    assert hear(memory, source="V003") == (False, True, True, 0.95)


def test_a_warning_from_behind_latches_but_does_not_count_as_one_in_front():
    assert hear(WarningMemory(), peer(y=-30.0), source="V002") == (True, True, True, 0.0)


@pytest.mark.parametrize(("age", "counts"), [(499.9, True), (500.0, False)])
def test_a_stale_warning_is_none(age, counts):
    assert hear(WarningMemory(), peer(age=age), source="V002") == (counts, counts, counts, float(counts))


def test_the_fading_signal_halves_in_13_and_a_half_steps_and_is_below_a_hundredth_after_90():
    memory = WarningMemory()
    hear(memory, peer())
    fading = [hear(memory)[3] for _ in range(90)]
    assert fading[12] > 0.5 > fading[13]
    assert fading[88] > 0.01 > fading[89]
    assert hear(memory, peer())[3] == 1.0


def test_a_new_episode_begins_without_warnings():
    memory = WarningMemory()
    hear(memory, peer(), source="V002")
    memory.reset()
    assert hear(memory) == (False, False, False, 0.0)


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-100, 100), st.floats(0, 1000), st.booleans()), max_size=30))
def test_latches_only_rise_and_the_signal_stays_between_0_and_1(steps):
    memory, before = WarningMemory(), (False, False)
    for acceleration, y, age, source in steps:
        now, ever, peer_ever, fading = hear(memory, peer(acceleration, y=y, age=age), source="V002" if source else None)
        assert before <= (ever, peer_ever)
        assert ever >= now
        assert peer_ever >= ever
        assert 0.0 <= fading <= 1.0
        before = ever, peer_ever
