"""The convoy reward: every version on the same states, and what each version reads."""

import math
from typing import NamedTuple

import pytest

import plaudit.systems.roadsense as roadsense
from plaudit import bounds, fact
from plaudit.errors import DefinitionError, InputError, MissingField, NotFinite, OutOfRange, UnknownInput, WrongType
from plaudit.systems.roadsense import VERSIONS, episode, reward, version
from plaudit.systems.roadsense.task import HORIZON


class State(NamedTuple):
    """What an environment knows in one step; `braking` is the fading signal, 1 while a peer brakes."""

    distance: float
    deceleration: float
    action: int = 0
    closing_rate: float = 0.0
    braking: float = 0.0
    ego_speed: float = 10.0

    def inputs(self, label: str) -> dict[str, float | bool]:
        """Return what version `label` reads of the state."""
        now = self.braking == 1.0
        remembered = {"R9": float(now), "R9L": float(self.braking > 0), "R10": float(self.braking > 0)}
        known = {
            "distance": self.distance,
            "deceleration": self.deceleration,
            "action": self.action,
            "closing_rate": self.closing_rate,
            "ego_speed": self.ego_speed,
            "peer_braking": now,
            "fresh_braking": now,
            "collision": False,
            "braking_received": remembered.get(label, self.braking),
        }
        return {name: known[name] for name in version(label).fields}


def total(label: str, state: State) -> float:
    return version(label).score(**state.inputs(label)).total


# fmt: off
LABELS = ("R0", "R1", "R2", "R3", "R4", "R6", "R7", "R8", "R9", "R10", "R11", "R12a", "R12b")
GOLDEN = {
    State(30, 0, 0):          (1, 1, 1, 1, 1, 3, 3, 4, 4, 4, 4, 4, 4),
    State(30, 1, 1):          (1, 0.6, 0.6, 0.6, 0.6, 2.6, 2.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6),
    State(30, 2, 2):          (1, -0.2, -0.2, -0.2, -0.2, 1.8, 1.8, 2.8, 2.8, 2.8, 2.8, 2.8, 2.8),
    State(30, 4.5, 3):        (-1, -9, -9, -9, -9, -2, -2, -1, -1, -1, -1, -1, -1),
    State(30, 5, 3):          (-9, -9, -9, -9, -9, -2, -2, -1, -1, -1, -1, -1, -1),
    State(17, 0, 0):          (0, 0, 1, 1, 1, 3, 1.4, 2.2, 2.2, 2.2, 2.2, 2.2, 2.2),
    State(12, 0, 0, 2):       (-8, -8, 0, 0, 0, 0, -1.2667, -0.8, -0.8, -0.8, -0.8, -0.8, -0.8),
    State(8, 0, 0, 2):        (-8, -8, -8, -8, -8, -8, -6.4, -6.2, -6.2, -6.2, -6.2, -6.2, -6.2),
    State(8, 4, 3, 2):        (-7, -12.3333, -12.3333, -12.3333, -12.3333, -5, -4.2, -4, -4, -4, -4, -4, -4),
    State(4.9, 0, 0, 2):      (-103,) * 13,
    State(5, 0, 0, 0):        (-8, -8, -5, -5, -5, -5, -5, -5, -5, -5, -5, -5, -5),
    State(15, 0, 0):          (0, 0, 1, 1, 1, 3, 0.3333, 1, 1, 1, 1, 1, 1),
    State(40, 0, 0):          (1, 1, 0.5, 0.5, 0.5, 0.5, -1, -2, -2, -2, -2, -2, -2),
    State(50, 2, 2):          (-1.5, -2.7, -2.7, -2.7, -2.7, -2.7, -4.2, -5.2, -5.2, -5.2, -5.2, -5.2, -5.2),
    State(25, 0, 0, 3, 1):    (1, 1, 1, 1, -4, 3, 3, 4, -1, -1, -1, -1, -1),
    State(25, 2, 2, 3, 1):    (1, -0.2, -0.2, 1.8, 3, 1.8, 1.8, 2.8, 4.8, 4.8, 4.8, 4.8, 4.8),
    State(25, 0, 0, 3, 1, 0): (1, 1, 1, 1, -4, 3, 3, 4, -1, 4, 4, 4, 4),
    State(12, 4, 3, 3, 1):    (-7, -12.3333, -7.3333, -5.3333, 2, -4, -3.1333, *(-2.6667,) * 6),
    State(25, 0, 0, 0, 0.5):  (1, 1, 1, 1, 1, 3, 3, 4, 4, -1, 1.5, 4, 1.5),
    State(1000, 0, 0):        (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, -1, -2, -2, -2, -2, -2, -2),
    State(math.inf, 0, 0):    (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, -1, -2, -2, -2, -2, -2, -2),
}
# fmt: on


@pytest.mark.parametrize(
    ("state", "label", "expected"),
    [(state, label, expected) for state, row in GOLDEN.items() for label, expected in zip(LABELS, row, strict=True)],
)
def test_every_version_gives_the_recorded_total(state, label, expected):
    assert total(label, state) == pytest.approx(expected, abs=5e-5)


def test_the_versions_are_listed_with_the_default_first():
    history = "R0 R1 R2 R3 R4 R5 R6 R7 R8 R9 R9L R10 R11 R12 R12a2 R12b2 R12a R12b graded following keep_gap"
    assert history.split() == list(VERSIONS)
    assert reward is version("R0")
    assert {version(label).name for label in VERSIONS} == {"roadsense"}
    assert [version(label).version for label in VERSIONS] == list(VERSIONS)


FROM_R12A = {"distance", "deceleration", "closing_rate", "braking_received", "fresh_braking", "ego_speed"}


@pytest.mark.parametrize(
    ("label", "fields"),
    {
        "R0": {"distance", "deceleration", "action"},
        "R1": {"distance", "deceleration"},
        "R2": {"distance", "deceleration", "closing_rate"},
        "R3": {"distance", "deceleration", "closing_rate", "peer_braking"},
        "R4": {"distance", "deceleration", "closing_rate", "peer_braking"},
        "R5": {"distance", "deceleration", "closing_rate"},
        "R6": {"distance", "deceleration", "closing_rate"},
        "R7": {"distance", "deceleration", "closing_rate"},
        "R8": {"distance", "deceleration", "closing_rate"},
        "R9": {"distance", "deceleration", "closing_rate", "braking_received"},
        "R9L": {"distance", "deceleration", "closing_rate", "braking_received"},
        "R10": {"distance", "deceleration", "closing_rate", "braking_received", "ego_speed"},
        "R11": {"distance", "deceleration", "closing_rate", "braking_received", "ego_speed"},
        "R12": {"distance", "deceleration", "closing_rate", "braking_received", "ego_speed"},
        "R12a": FROM_R12A,
        "R12b": FROM_R12A,
        "R12a2": FROM_R12A,
        "R12b2": FROM_R12A,
        "graded": {"distance", "deceleration", "action"},
        "following": {"distance", "deceleration", "action"},
        "keep_gap": {"distance", "deceleration", "closing_rate", "collision"},
    }.items(),
)
def test_a_version_declares_what_it_reads_and_nothing_else(label, fields):
    assert set(version(label).fields) == fields
    with pytest.raises(UnknownInput):
        version(label).score(**State(30, 0).inputs(label), weather=0.0)


@pytest.mark.parametrize("label", ["R13", "r8", "", "R12c"])
def test_an_unknown_version_is_refused(label):
    with pytest.raises(DefinitionError, match="roadsense has no version"):
        version(label)


def test_a_label_that_is_nearly_right_gets_a_hint():
    with pytest.raises(DefinitionError, match=r"Did you mean 'R12a'\?"):
        version("R12aa")


def test_r5_is_r2_by_another_name():
    assert version("R5").fingerprint == version("R2").fingerprint


def test_a_latch_is_the_same_formula_over_another_field():
    assert version("R9L").fingerprint == version("R9").fingerprint
    assert version("R9L").domain_fingerprint != version("R9").domain_fingerprint


def test_different_versions_are_different_formulas():
    others = [label for label in VERSIONS if label not in ("R5", "R9L", "R11")]  # R11 is R10 over a fading signal
    assert len({version(label).fingerprint for label in others}) == len(others)
    assert version("R11").fingerprint == version("R10").fingerprint


@pytest.mark.parametrize("state", GOLDEN)
def test_the_default_gate_of_r12_differs_from_r11_only_at_its_threshold(state):
    assert total("R12", state) == total("R11", state)


def test_the_penalty_of_r12_starts_at_its_threshold_and_the_one_of_r11_above_it():
    at = State(30, 0, braking=0.01)
    above = State(30, 0, braking=math.nextafter(0.01, 1))
    assert total("R11", at) == 4.0
    assert total("R12", at) == 4.0 - 5 * 0.01
    assert total("R11", above) == total("R12", above) == 4.0 - 5 * above.braking


@pytest.mark.parametrize(("label", "weakest"), [("R12", 0.01), ("R12a", 0.3), ("R12b", 0.15)])
def test_a_warning_below_the_threshold_may_be_ignored(label, weakest):
    closing = State(30, 0, closing_rate=2)
    assert total(label, closing._replace(braking=weakest)) == 4.0 - 5 * weakest
    assert total(label, closing._replace(braking=math.nextafter(weakest, 0))) == 4.0


@pytest.mark.parametrize(("label", "steps"), [("R11", 90), ("R12", 90), ("R12b", 37), ("R12a", 24)])
def test_a_single_warning_is_fined_for_as_many_steps_as_it_takes_to_fade(label, steps):
    fined = 0
    for step in range(200):
        signal = version(label).score(**State(30, 0, closing_rate=2, braking=0.95**step).inputs(label))
        fined += signal["ignored_warning"].value < 0
    assert fined == steps


def test_r12a_fines_only_in_danger():
    warned = State(25, 0, braking=0.5)
    assert total("R12a", warned) == 4.0
    assert total("R12a", warned._replace(closing_rate=0.5)) == 4.0
    assert total("R12a", warned._replace(closing_rate=0.6)) == 1.5
    assert total("R12a", warned._replace(distance=20)) == 4.0
    assert total("R12a", warned._replace(distance=19.9)) == pytest.approx(3.94 - 2.5)
    assert total("R12b", warned) == 1.5


@pytest.mark.parametrize("label", ["R12a", "R12b"])
def test_a_peer_that_brakes_now_is_a_warning_of_full_strength(label):
    inputs = State(25, 0, closing_rate=3, braking=0.02).inputs(label)
    assert version(label).score(**inputs)["ignored_warning"].value == 0.0
    assert version(label).score(**inputs | {"fresh_braking": True})["ignored_warning"].value == -5.0
    braked = inputs | {"deceleration": 1.0}
    assert version(label).score(**braked)["early_reaction"].value == 2.0 * 0.02
    assert version(label).score(**braked | {"fresh_braking": True})["early_reaction"].value == 2.0


@pytest.mark.parametrize(("label", "mended"), [("R12a", "R12a2"), ("R12b", "R12b2")])
def test_the_mended_bonus_is_not_raised_by_a_peer_that_brakes_now(label, mended):
    braked = State(25, 1, closing_rate=0).inputs(label) | {"fresh_braking": True, "ego_speed": 10.0}
    assert version(label).score(**braked).total == pytest.approx(5.6)
    assert version(mended).score(**braked).total == pytest.approx(3.6)
    ignoring = braked | {"deceleration": 0.0, "closing_rate": 3.0}
    assert version(mended).score(**ignoring)["ignored_warning"].value == -5.0
    (stated,) = version(mended)._bound.facts
    assert stated.name == "fresh_warning_is_full"
    with pytest.raises(InputError, match="fresh_warning_is_full"):
        version(mended).compile(guard="facts")(braked)


@pytest.mark.parametrize("state", GOLDEN)
@pytest.mark.parametrize(("label", "mended"), [("R12a", "R12a2"), ("R12b", "R12b2")])
def test_where_a_fresh_peer_is_a_full_warning_the_mended_versions_pay_what_the_others_do(state, label, mended):
    inputs = state.inputs(label) | {"fresh_braking": state.braking == 1}
    assert version(mended).score(**inputs).total == version(label).score(**inputs).total


@pytest.mark.parametrize(("label", "at_half"), [("R3", 2.0), ("R4", 2.0), ("R9", 0.0), ("R11", 0.0), ("R12b", 0.0)])
def test_braking_at_exactly_half_a_metre_changed_sides(label, at_half):
    signal = version(label).score(**State(25, 0.5, closing_rate=3, braking=1.0).inputs(label))
    assert signal["early_reaction"].value == at_half
    if label != "R3":
        assert signal["ignored_warning"].value == (0.0 if label == "R4" else -5.0)


@pytest.mark.parametrize(
    ("label", "distance", "value"),
    [("R3", 10, 0.0), ("R3", 10.1, 2.0), ("R9", 15, 0.0), ("R9", 15.1, 2.0), ("R12a", 15, 0.0), ("R12a", 15.1, 2.0)],
)
def test_braking_is_early_only_while_there_is_room(label, distance, value):
    signal = version(label).score(**State(distance, 1.0, braking=1.0).inputs(label))
    assert signal["early_reaction"].value == value


@pytest.mark.parametrize(("distance", "value"), [(30, -5.0), (30.1, 0.0)])
def test_r4_fines_only_near_a_braking_peer(distance, value):
    signal = version("R4").score(**State(distance, 0.0, braking=1.0).inputs("R4"))
    assert signal["ignored_warning"].value == value


@pytest.mark.parametrize(("speed", "value"), [(0.0, 0.0), (0.5, 0.0), (0.6, -5.0)])
@pytest.mark.parametrize("label", ["R10", "R11", "R12", "R12a", "R12b"])
def test_a_standing_car_ignores_nothing(label, speed, value):
    signal = version(label).score(**State(18, 0.0, closing_rate=2, braking=1.0, ego_speed=speed).inputs(label))
    assert signal["ignored_warning"].value == value


@pytest.mark.parametrize("label", ["R1", "R2", "R8"])
@pytest.mark.parametrize(("deceleration", "value"), [(0.5, 0.0), (0.6, -2.0), (4.4, -2.0), (4.5, -4.0), (-5.0, -4.0)])
def test_braking_far_away_is_unnecessary(label, deceleration, value):
    signal = version(label).score(**State(50, deceleration).inputs(label))
    assert signal["appropriateness"].value == value


@pytest.mark.parametrize(("closing", "value"), [(-1.0, 0.0), (0.5, 0.0), (0.6, -3.0)])
def test_from_r2_a_warning_is_missed_only_while_the_gap_closes(closing, value):
    signal = version("R2").score(**State(8, 0.0, closing_rate=closing).inputs("R2"))
    assert signal["appropriateness"].value == value


@pytest.mark.parametrize(
    ("distance", "share"), [(0, 0.1), (6.5, 0.1), (8, 0.2), (12.5, 0.5), (20, 1.0), (30, 1.0), (math.inf, 1.0)]
)
def test_from_r7_braking_costs_less_the_closer_the_car_ahead_is(distance, share):
    signal = version("R7").score(**State(distance, 3.0).inputs("R7"))
    assert signal["comfort"].value == pytest.approx(-2.0 * share)


@pytest.mark.parametrize(("distance", "value"), [(9.9, 0.0), (10, -5.0)])
def test_in_r6_braking_is_free_at_an_unsafe_distance(distance, value):
    assert version("R6").score(**State(distance, 6.0).inputs("R6"))["comfort"].value == value


def test_from_r1_to_r5_doing_nothing_beats_braking_hard_when_close():
    nothing, brake = State(8, 0, 0, 2), State(8, 4, 3, 2)
    inverted = [label for label in VERSIONS if total(label, nothing) > total(label, brake)]
    assert inverted == ["R1", "R2", "R3", "R4", "R5"]


def test_a_knob_can_be_turned_in_every_version():
    steeper = version("R7").with_params(safety={"reward_safe": 4.0, "reward_far": -2.0})
    assert steeper.fingerprint == version("R8").fingerprint
    wide = version("R2").with_params(unsafe_dist=20.0)
    signal = wide.score(distance=17.0, deceleration=0.0, closing_rate=1.0)
    assert signal["safety"].value == -5.0
    assert signal["appropriateness"].value == -3.0


@pytest.mark.parametrize("label", VERSIONS)
def test_bad_input_is_an_error_in_every_version(label):
    good = State(30, 0).inputs(label)
    for name, value in good.items():
        with pytest.raises(WrongType if isinstance(value, bool) else NotFinite):
            version(label).score(**good | {name: math.nan})
    with pytest.raises(NotFinite):
        version(label).score(**good | {"deceleration": math.inf})
    with pytest.raises(OutOfRange):
        version(label).score(**good | {"deceleration": 45.0})
    with pytest.raises(OutOfRange):
        version(label).score(**good | {"distance": -1.0})
    with pytest.raises(MissingField):
        version(label).score(**{name: value for name, value in good.items() if name != "distance"})


# -- repaired ------------------------------------------------------------------------------------------------

MAINTAIN, CAUTION, BRAKE, EMERGENCY = range(4)


def graded(distance, action, label="graded"):
    return version(label).score(distance=distance, deceleration=(0.0, 0.5, 2.0, 4.5)[action], action=action)


@pytest.mark.parametrize(
    ("distance", "best"),
    [
        (0.0, EMERGENCY),
        (7.9, EMERGENCY),
        (8.0, BRAKE),
        (14.9, BRAKE),
        (15.0, CAUTION),
        (19.9, CAUTION),
        (20.0, MAINTAIN),
        (40.0, MAINTAIN),
        (41.0, MAINTAIN),
        (math.inf, MAINTAIN),
    ],
)
@pytest.mark.parametrize("label", ["graded", "following"])
def test_repaired_each_action_is_best_at_some_distance(distance, best, label):
    totals = [graded(distance, action, label).total for action in range(4)]
    assert [action for action in range(4) if totals[action] == max(totals)] == [best]


def test_under_following_falling_far_behind_costs_more_than_braking_in_time():
    assert graded(41.0, MAINTAIN, "following").total == -2.0
    assert graded(30.0, BRAKE, "following").total > graded(100.0, MAINTAIN, "following").total
    assert graded(30.0, BRAKE).total < graded(100.0, MAINTAIN).total


@pytest.mark.parametrize(("distance", "safety"), [(4.9, -100), (5, -5), (15, 0), (20, 1), (40, 1), (41, 0), (1e6, 0)])
def test_repaired_only_the_safe_zone_pays(distance, safety):
    assert graded(float(distance), MAINTAIN)["safety"].value == safety


@pytest.mark.parametrize(("action", "price"), [(MAINTAIN, 0.0), (CAUTION, 0.0), (BRAKE, -0.5), (EMERGENCY, -1.5)])
def test_repaired_every_price_of_comfort_is_paid_by_some_action(action, price):
    assert graded(30.0, action)["comfort"].value == price


@pytest.mark.parametrize(
    ("distance", "prices"), [(6, (-9, -6, -3, 0)), (10, (-6, -3, 0, -1)), (17, (-3, 0, -1, -2)), (30, (0, -1, -2, -3))]
)
def test_repaired_too_little_costs_more_than_too_much(distance, prices):
    assert tuple(graded(float(distance), action)["appropriateness"].value for action in range(4)) == prices


def keep_gap(distance, deceleration=0.0, closing_rate=0.0, collision=False):
    return version("keep_gap").score(
        distance=distance, deceleration=deceleration, closing_rate=closing_rate, collision=collision
    )


@pytest.mark.parametrize(
    ("distance", "safety"),
    [(4.9, 0), (5, 0), (12.5, 0.5), (20, 1), (40, 1), (70, 0.5), (100, 0), (1e6, 0), (math.inf, 0)],
)
def test_under_keep_gap_the_pay_rises_to_the_safe_zone_and_falls_behind_it(distance, safety):
    assert keep_gap(distance)["safety"].value == safety


def test_under_keep_gap_harsh_braking_costs_a_fifth_and_a_missed_warning_half_of_what_the_gap_earns():
    assert (
        keep_gap(30.0, deceleration=4.5)["comfort"].value == keep_gap(30.0, deceleration=8.0)["comfort"].value == -0.2
    )
    assert keep_gap(12.5, deceleration=2.5)["comfort"].value == -0.05
    assert keep_gap(30.0, deceleration=0.5)["comfort"].value == keep_gap(150.0, deceleration=8.0)["comfort"].value == 0
    assert keep_gap(12.5, closing_rate=2.0)["appropriateness"].value == -0.25
    assert keep_gap(12.5, closing_rate=2.0, deceleration=1.0)["appropriateness"].value == 0
    assert keep_gap(12.5, closing_rate=0.5)["appropriateness"].value == 0
    assert keep_gap(15.0, closing_rate=2.0)["appropriateness"].value == 0


@fact
def no_collision(collision: bool) -> bool:
    """The car ahead is not hit."""
    return not collision


def test_under_keep_gap_an_episode_with_a_collision_earns_less_than_any_without():
    reward = version("keep_gap")
    without = bounds(reward.with_task(reward.task.evolve(facts=[no_collision])), facts=True).total
    assert (without.low, without.high) == (0, 1)
    assert bounds(reward).total.high == 1
    for heard in (0.0, 4.9, 30.0, math.inf):  # over a lossy radio the distance that is heard may be any
        crash = keep_gap(heard, collision=True)
        assert crash["safety"].value == -HORIZON * without.high
        assert crash.total <= -HORIZON * without.high


def test_the_bundled_drive_visits_every_zone_and_every_price_that_can_be_paid():
    # No action brakes harder than 4.5 m/s², so that the price of harsh braking, -10 above it, is never paid.
    signals = [reward.score(**row) for row in episode()]
    assert len(signals) == 12
    assert {signal["safety"].value for signal in signals} == {-100.0, -5.0, 0.0, 1.0, 0.5}
    assert {signal["comfort"].value for signal in signals} == {-2.0, 0.0}
    assert {signal["appropriateness"].value for signal in signals} == {-3.0, -2.0, 0.0}


def test_the_exported_names_are_sorted():
    assert all(hasattr(roadsense, name) for name in roadsense.__all__)
