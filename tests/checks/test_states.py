"""Checks and proofs know what is carried: laps tie each step to the next, and updates are compared like terms."""

import pytest

from plaudit import DefinitionError, Field, Reward, State, bounds, check, prove, term
from support import carrying

pytest.importorskip("z3")
LEAVES, CHANGED = "state-leaves-range", "changed-since-read"


def flip(pressed, prev):
    return not prev.on if pressed else prev.on


@term
def switched(on, prev):
    return 1.0 if on and not prev.on else 0.0


def keep_best(height, prev):
    return max(prev.best, height)


def choose_best(height, prev):
    return height if height > prev.best else prev.best


def keep_last(height, prev):
    return height + 0.0 * prev.best


@term
def higher(best, prev):
    return max(0.0, best - prev.best)


def climbing(update, version="1", terms=(higher,), **state):
    declared = {"reset": 0.0, "low": 0, "high": 10, **state}
    fields = [Field("height", low=0, high=10), State("best", update=update, **declared)]
    return Reward("climbing", version=version, terms=terms, fields=fields, action="height")


def test_a_lap_through_a_state_that_pays_is_found():
    fields = [Field("pressed", flag=True), State("on", flag=True, reset=False, update=flip)]
    report = check(Reward("lamp", version="1", terms=[switched], fields=fields, action="pressed"))
    (found,) = report.by_code("loop-that-pays")
    assert "on: false → true → false" in found.message
    assert not report.by_code("pays-for-staying")


def test_a_high_water_mark_pays_once_and_its_lap_is_not_invented():
    report = check(climbing(keep_best))
    assert not report.by_code("loop-that-pays")
    assert not report.by_code("pays-for-staying")
    assert check(climbing(keep_last)).by_code("loop-that-pays")  # the last height is no high-water mark


def test_an_update_that_leaves_the_range_is_found_and_one_that_cannot_is_proved():
    def age(prev):
        return prev.best + 1.0

    @term
    def old(best):
        return best

    def aging(update):
        state = State("best", reset=0.0, low=0, high=10, update=update)
        return Reward("aging", version="1", terms=[old], fields=[state])

    (found,) = check(aging(age), only=[LEAVES]).by_code(LEAVES)
    assert found.witness[0].inputs["prev.best"] > 9

    def age_at_most(prev):
        return min(prev.best + 1.0, 10.0)

    assert not check(aging(age_at_most), only=[LEAVES]).by_code(LEAVES)
    assert not check(carrying.walking(), only=[LEAVES]).by_code(LEAVES)
    assert not check(carrying.touching(), only=[LEAVES]).by_code(LEAVES)


def test_bounds_take_states_before_the_step_from_their_range_and_after_it_from_the_update():
    found = bounds(climbing(keep_best)).total
    assert (found.low, found.high, found.exact) == (0.0, 10.0, True)


def test_a_constant_that_an_update_reads_may_not_change_unseen(monkeypatch):
    reward = climbing(keep_shared)
    assert not check(reward, only=[CHANGED]).by_code(CHANGED)
    monkeypatch.setattr(f"{__name__}.MOST", 5.0)
    (found,) = check(reward, only=[CHANGED]).by_code(CHANGED)
    assert "MOST was 10.0 when 'best' was read" in found.message


MOST = 10.0


def keep_shared(height, prev):
    return min(MOST, max(prev.best, height))


def test_updates_that_compute_the_same_are_proved_equal():
    assert prove(climbing(keep_best), climbing(choose_best, "2")).equal

    def plainly(height, prev):
        return max(prev.best, height) - prev.best

    assert prove(climbing(keep_best), plainly).equal


def test_rewards_that_carry_something_else_differ_though_a_step_alone_does_not():
    @term
    def nothing(prev):
        return 0.0 * prev.best

    left, right = climbing(keep_best, terms=[nothing]), climbing(keep_last, "2", terms=[nothing])
    proof = prove(left, right)
    assert proof.verdict == "different"
    assert [each.term for each in proof.differences] == ["curr.best"]
    later = prove(climbing(keep_best), climbing(keep_best, "2", reset=1.0))
    assert [each.term for each in later.differences] == ["best before the first step"]
    assert "0 vs 1" in str(later)


def test_a_flag_that_is_carried_is_compared_too():
    def never(pressed, prev):
        return prev.on and pressed

    fields = [Field("pressed", flag=True), State("on", flag=True, reset=False, update=flip)]
    left = Reward("lamp", version="1", terms=[switched], fields=fields)
    other = [Field("pressed", flag=True), State("on", flag=True, reset=False, update=never)]
    right = Reward("lamp", version="2", terms=[switched], fields=other)
    assert prove(left, left).equal
    assert "curr.on" in [each.term for each in prove(left, right).differences]


def test_rewards_of_which_one_alone_carries_cannot_be_compared():
    @term
    def up(height):
        return height

    plain = Reward("climbing", version="3", terms=[up], fields=[Field("height", low=0, high=10)])
    with pytest.raises(DefinitionError, match="only 'climbing' carries the state 'best'"):
        prove(climbing(keep_best), plain)
