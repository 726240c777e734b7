"""The gates of the reaction to a warning: those of the versions at their thresholds, and of rewards made from them."""

from math import nextafter

import pytest

from plaudit import Field, Reward, term
from plaudit.systems.roadsense import VERSIONS, Hazard, Measurement, RoadSenseEnv, version
from plaudit.systems.roadsense.warning_gates import EARLY, IGNORED, build_gate_reader

CALM = Measurement(30.0, 0.0, 0, 0.0, 15.0, False, False, 0.0, 0.0, 0.0, 0.0)
SIGNAL = ("ignoring_signal_active", "ignoring_signal_strength")
GATES = ("early_reaction_gate_active", *SIGNAL, "ignoring_geometry_active", "ignoring_penalty_suppressed_for_stop")


def read(label: str, **changes: float) -> tuple[object, ...]:
    """Return early reaction, signal, its strength, geometry, and suppressed for stop."""
    gates = build_gate_reader(version(label))(CALM._replace(**changes))
    return tuple(gates[name] for name in GATES)


def fading(strength: float, **changes: float) -> dict[str, float]:
    return {"warned_fading": strength, **changes}


@pytest.mark.parametrize(
    ("label", "changes", "expected"),
    [
        ("R4", {}, (False, False, 0.0, True, False)),
        ("R4", {"peer_braking": True}, (True, True, 1.0, True, False)),
        ("R4", {"peer_braking": True, "distance": 30.5}, (True, True, 1.0, False, False)),
        ("R4", {"peer_braking": True, "ego_speed": 0.0}, (True, True, 1.0, True, False)),  # no mercy for standing
        ("R9", {"warned_ever": 1.0}, (False, False, 0.0, True, False)),
        ("R9", {"warned_now": 1.0, "ego_speed": 0.0}, (True, True, 1.0, True, False)),
        ("R9L", {"warned_ever": 1.0}, (True, True, 1.0, True, False)),
        ("R10", {"peer_warned_ever": 1.0, "ego_speed": 0.5}, (True, True, 1.0, True, True)),
        ("R10", {"peer_warned_ever": 1.0, "ego_speed": 0.6}, (True, True, 1.0, True, False)),
        ("R10", {"peer_warned_ever": 1.0, "ego_speed": 0.0, "deceleration": 2.0}, (True, True, 1.0, True, False)),
        ("R11", fading(0.01), (False, False, 0.0, True, False)),
        ("R11", fading(nextafter(0.01, 1)), (True, True, nextafter(0.01, 1), True, False)),
        ("R11", fading(0.5, ego_speed=0.2), (True, True, 0.5, True, True)),
        ("R12", fading(0.01), (False, True, 0.01, True, False)),  # of at least 0.01, and the bonus above it
        ("R12a", fading(0.29), (True, False, 0.0, False, False)),
        ("R12a", fading(0.3), (True, True, 0.3, False, False)),
        ("R12a", fading(0.3, distance=19.9), (True, True, 0.3, True, False)),
        ("R12a", fading(0.3, distance=20.0, closing_rate=0.6), (True, True, 0.3, True, False)),
        ("R12a", fading(0.3, ego_speed=0.0), (True, True, 0.3, False, False)),  # nothing to suppress out of danger
        ("R12a", fading(0.3, ego_speed=0.0, distance=10.0), (True, True, 0.3, True, True)),
        ("R12b", fading(0.15), (True, True, 0.15, True, False)),
        ("R12b", fading(0.1, fresh_braking=True), (True, True, 1.0, True, False)),
        ("R12b2", fading(0.005, fresh_braking=True), (False, True, 1.0, True, False)),  # the penalty alone
    ],
)
def test_each_version_opens_its_gates_at_its_thresholds(label, changes, expected):
    assert read(label, **changes) == pytest.approx(expected)


def test_no_signal_has_a_strength_of_plain_0():
    assert str(read("R9")[2]) == "0.0"


@pytest.mark.parametrize("label", VERSIONS)
def test_a_version_has_the_gates_of_its_terms_and_no_others(label):
    names = {each.name for each in version(label).terms}
    expected = {*(GATES[:1] if EARLY in names else ()), *(GATES[1:] if IGNORED in names else ())}
    assert set(build_gate_reader(version(label))(CALM)) == expected


def test_the_gates_follow_the_knobs_of_a_reward():
    stricter = version("R12a").with_params(ignored_warning={"weakest": 0.6, "danger_dist": 40.0, "standstill": 16.0})
    gates = build_gate_reader(stricter)
    assert gates(CALM._replace(warned_fading=0.5))["ignoring_signal_active"] is False
    told = gates(CALM._replace(warned_fading=0.7))
    assert [told[name] for name in GATES[1:]] == pytest.approx([True, 0.7, True, True])


def test_a_penalty_of_nothing_has_no_gate_that_is_open():
    free = version("R11").with_weights(ignored_warning=0.0)
    told = build_gate_reader(free)(CALM._replace(warned_fading=1.0))
    assert [told[name] for name in GATES] == [True, False, 0.0, False, False]


def test_a_reward_over_fields_of_its_own_is_not_asked():
    """It may not take a distance of infinity, or mean something else by the name of a term."""

    @term(name=IGNORED)
    def far(distance):
        return -1.0 / distance

    own = Reward("own", version="1", terms=[far], fields=[Field("distance", low=1, high=99)])
    assert build_gate_reader(own)(CALM) == {}


def test_a_drive_tells_what_became_of_a_warning(lent_sumo):
    """A gate that is open in `info` is one at which the step was, or would have been, paid."""
    with lent_sumo():
        env = RoadSenseEnv(reward="R11", actions="continuous", binding="process", hold_after=0, limit=150,
                           hazard=Hazard(first=5, last=5, target="nearest"))  # fmt: skip
    _, info = env.reset(seed=0)
    assert set(GATES) <= info.keys()
    told = [env.step(1.0 if step > 20 else 0.0)[-1] for step in range(120)]
    env.close()
    ignored = [info for info in told if info["reward_ignored_warning"]]
    assert ignored
    assert all(info["reward_ignored_warning"] == -5.0 * info["ignoring_signal_strength"] for info in ignored)
    assert any(info["ignoring_penalty_suppressed_for_stop"] for info in told)
    assert all(info["ego_speed"] <= 0.5 for info in told if info["ignoring_penalty_suppressed_for_stop"])
    assert {info["early_reaction_gate_active"] for info in told} == {False, True}
