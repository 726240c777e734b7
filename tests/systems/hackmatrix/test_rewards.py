"""The game's reward: every component, worked steps with their breakdown, and what cannot be scored."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plaudit.systems.hackmatrix as hackmatrix
from plaudit.errors import DefinitionError, InputError, MissingField, NotFinite, OutOfRange, WrongType
from plaudit.systems.hackmatrix import (
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    PROGRAM_RESET,
    STAGE_COMPLETION_REWARDS,
    VERSIONS,
    episode,
    reward,
    version,
)
from support.hackmatrix_model.examples import COMPONENTS

PLAYER = {"score": 0, "hp": 3, "credits": 0, "energy": 0, "exit_distance": 10}
NOTHING = {
    "kills": 0,
    "picked_up": False,
    "stage_completed": False,
    "won": False,
    "died": False,
    "siphon_death": False,
    "missed_credits": 0,
    "missed_energy": 0,
}
UP, DOWN, RIGHT, WAIT, RESET = 0, 1, 3, 10, 19


def step(before=None, after=None, *, action=RIGHT, stage=1, **happened):
    """Return a step as arguments for `score`; what is not named is at its default and does not change."""
    prev = PLAYER | (before or {})
    return {"prev": prev, "curr": prev | (after or {}), "action": action, "stage": stage} | NOTHING | happened


def parts(row):
    """Return the components of a step that are not 0."""
    return {part.name: part.value for part in reward.score(**row).terms if part.value}


# fmt: off
WORKED = [
    ("a step towards the exit",
     step({}, {"exit_distance": 9}, action=UP),
     {"distance_shaping": 0.05}, 0.04),
    ("a step away costs nothing more",
     step({"exit_distance": 9}, {"exit_distance": 10}, action=DOWN),
     {}, -0.01),
    ("onto a data siphon",
     step({}, {"exit_distance": 9}, action=UP, picked_up=True),
     {"data_siphon": 1.0, "distance_shaping": 0.05}, 1.04),
    ("CRASH opens a path: from no path, which counts as 0, to 10",
     step({"exit_distance": 0, "credits": 3, "energy": 2}, {"exit_distance": 10, "credits": 0, "energy": 0},
          action=7),
     {"resource_gain": -0.25}, -0.26),
    ("a kill",
     step(kills=1),
     {"kills": 0.3}, 0.29),
    ("WAIT next to a daemon",
     step({"energy": 1}, {"energy": 0, "hp": 2}, action=WAIT),
     {"resource_gain": -0.05, "damage_penalty": -1.0}, -1.06),
    ("three attackers in one turn",
     step({"energy": 1}, {"energy": 0, "hp": 0}, action=WAIT, stage=2, died=True),
     {"death_penalty": -0.5, "resource_gain": -0.05, "damage_penalty": -3.0}, -3.56),
    ("a full cross siphoned",
     step({}, {"score": 5, "credits": 3, "energy": 3}, action=ACTION_SIPHON),
     {"score_gain": 2.5, "resource_gain": 0.3}, 2.79),
    ("a siphon that missed 3 credits",
     step({}, {"score": 5}, action=ACTION_SIPHON, missed_credits=3),
     {"score_gain": 2.5, "siphon_quality": -0.075}, 2.415),
    ("a siphon that missed credits here and energy there",
     step(action=ACTION_SIPHON, missed_credits=3, missed_energy=2),
     {"siphon_quality": -0.125}, -0.135),
    ("RESET at 2 hit points is a waste",
     step({"hp": 2, "energy": 4}, {"hp": 3, "energy": 0}, action=RESET),
     {"resource_gain": -0.2, "hp_recovery": 1.0, "program_waste": -0.3}, 0.49),
    ("RESET at 1 hit point is not",
     step({"hp": 1, "energy": 4}, {"hp": 3, "energy": 0}, action=RESET),
     {"resource_gain": -0.2, "hp_recovery": 2.0}, 1.79),
    ("EXCH changes one currency for the other",
     step({"credits": 4}, {"credits": 0, "energy": 4}, action=17),
     {}, -0.01),
    ("SCORE on stage 3",
     step({"energy": 5}, {"energy": 0, "score": 5}, action=24, stage=3),
     {"score_gain": 2.5, "resource_gain": -0.25}, 2.24),
    ("CRASH destroys an enemy and a transmission",
     step({"credits": 3, "energy": 2}, {"credits": 0, "energy": 0}, action=7, kills=2),
     {"kills": 0.6, "resource_gain": -0.25}, 0.34),
    ("WARP onto an enemy at the exit",
     step({"credits": 5, "energy": 5}, {"credits": 3, "energy": 3, "exit_distance": 10}, action=8, kills=1,
          stage_completed=True),
     {"stage_completion": 1.0, "kills": 0.3, "distance_shaping": 0.5, "resource_gain": -0.2,
      "resource_holding": 0.06}, 1.65),
    ("WARP half-way to the exit",
     step({"credits": 2, "energy": 2}, {"credits": 0, "energy": 0, "exit_distance": 5}, action=8, kills=1),
     {"kills": 0.3, "distance_shaping": 0.25, "resource_gain": -0.2}, 0.34),
    ("UNDO gives back what a program cost",
     step({"credits": 1}, {"credits": 6}, action=14),
     {"resource_gain": 0.25}, 0.24),
    ("stage 1 completed with one hit point to heal",
     step({"hp": 2, "credits": 10, "energy": 5, "exit_distance": 1}, {"hp": 3, "exit_distance": 8},
          stage_completed=True),
     {"stage_completion": 1.0, "distance_shaping": 0.05, "resource_holding": 0.15, "hp_recovery": 1.0}, 2.19),
    ("stage 7 completed",
     step({"exit_distance": 1}, {"exit_distance": 8}, stage=7, stage_completed=True),
     {"stage_completion": 64.0, "distance_shaping": 0.05}, 64.04),
    ("stage 8 completed: the game is won",
     step({"score": 3, "exit_distance": 1}, {"exit_distance": 0}, stage=8, stage_completed=True, won=True),
     {"stage_completion": 100.0, "distance_shaping": 0.05, "victory": 800.0}, 900.04),
    ("death on stage 4, on a step towards the exit",
     step({"hp": 1}, {"hp": 0, "exit_distance": 9}, action=UP, stage=4, died=True),
     {"death_penalty": -3.5, "damage_penalty": -1.0}, -4.51),
    ("death on stage 1",
     step({"hp": 1, "energy": 1}, {"hp": 0, "energy": 0}, action=WAIT, died=True),
     {"resource_gain": -0.05, "damage_penalty": -1.0}, -1.06),
    ("death next to an enemy from a siphon",
     step({"hp": 1, "energy": 1}, {"hp": 0, "energy": 0}, action=WAIT, stage=2, died=True, siphon_death=True),
     {"death_penalty": -0.5, "resource_gain": -0.05, "damage_penalty": -1.0, "siphon_death_penalty": -10.0},
     -11.56),
    ("death on stage 8",
     step({"hp": 1, "energy": 1}, {"hp": 0, "energy": 0}, action=WAIT, stage=8, died=True),
     {"death_penalty": -63.5, "resource_gain": -0.05, "damage_penalty": -1.0}, -64.56),
]
# fmt: on


@pytest.mark.parametrize(("row", "expected", "total"), [case[1:] for case in WORKED], ids=[case[0] for case in WORKED])
def test_a_worked_step_gives_its_breakdown(row, expected, total):
    assert parts(row) == pytest.approx({"step_penalty": -0.01} | expected, abs=1e-9)
    assert reward.score(**row).total == pytest.approx(total, abs=1e-9)


def test_the_fifteen_components_stand_in_the_order_of_their_sum():
    assert tuple(term.name for term in reward.terms) == COMPONENTS
    assert tuple(reward.score(**step()).to_dict()["terms"][i]["name"] for i in range(15)) == COMPONENTS


def test_the_constants_have_their_names_and_values():
    assert STAGE_COMPLETION_REWARDS == (1, 2, 4, 8, 16, 32, 64, 100)
    assert (ACTION_SIPHON, ACTION_PROGRAM_START, PROGRAM_RESET) == (4, 5, 14)
    assert ACTION_PROGRAM_START + PROGRAM_RESET == RESET


@pytest.mark.parametrize("stage", range(1, 9))
def test_completing_a_stage_pays_by_the_stage(stage):
    row = step({"exit_distance": 1}, stage=stage, stage_completed=True)
    assert parts(row)["stage_completion"] == [1, 2, 4, 8, 16, 32, 64, 100][stage - 1]
    assert "stage_completion" not in parts(row | {"stage_completed": False})


@pytest.mark.parametrize(
    ("stage", "penalty"), list(enumerate([0, -0.5, -1.5, -3.5, -7.5, -15.5, -31.5, -63.5], start=1))
)
def test_death_costs_half_of_what_the_completed_stages_paid(stage, penalty):
    row = step({"hp": 1}, {"hp": 0}, stage=stage, died=True)
    assert reward.score(**row)["death_penalty"].value == penalty
    assert "death_penalty" not in parts(row | {"died": False})


@pytest.mark.parametrize(("before", "after", "value"), [(0, 4, 2.0), (4, 1, -1.5), (7, 7, 0.0)])
def test_score_gain_is_half_the_difference(before, after, value):
    assert reward.score(**step({"score": before}, {"score": after}))["score_gain"].value == value


def test_winning_pays_for_the_score_at_the_end():
    row = step({"score": 2}, {"score": 7}, stage=8, stage_completed=True, won=True)
    assert reward.score(**row)["victory"].value == 500 + 100 * 7
    assert "victory" not in parts(row | {"won": False})


@pytest.mark.parametrize("action", [action for action in range(28) if action != ACTION_SIPHON])
def test_only_a_siphon_can_miss_something(action):
    assert "siphon_quality" not in parts(step(action=action, missed_credits=3, missed_energy=3))


@pytest.mark.parametrize("hp", [1, 2, 3])
@pytest.mark.parametrize("action", [18, RESET, 20])
def test_only_reset_at_two_hit_points_is_a_waste(action, hp):
    assert ("program_waste" in parts(step({"hp": hp}, action=action))) == (action == RESET and hp == 2)


def test_an_enemy_from_a_siphon_matters_only_at_death():
    assert "siphon_death_penalty" not in parts(step(siphon_death=True))
    assert "siphon_death_penalty" not in parts(step({"hp": 1}, {"hp": 0}, died=True))


def test_the_value_of_resources_is_one_knob_for_gains_and_for_what_was_missed():
    doubled = reward.with_params(credit_value=0.1)
    signal = doubled.score(**step({}, {"credits": 2}, action=ACTION_SIPHON, missed_credits=3))
    assert signal["resource_gain"].value == pytest.approx(0.2)
    assert signal["siphon_quality"].value == pytest.approx(-0.15)


# -- repaired ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "happened", "value"),
    [
        (4, 3, {}, 0.05),
        (3, 4, {}, -0.05),
        (4, 4, {}, 0.0),
        (0, 10, {}, -0.5),
        (4, 3, {"died": True}, 0.05),
        (2, 9, {"stage_completed": True}, 0.1),
        (2, 0, {"stage_completed": True}, 0.1),
    ],
)
def test_repaired_going_away_costs_what_coming_closer_pays(before, after, happened, value):
    row = step({"exit_distance": before}, {"exit_distance": after}, **happened)
    assert version("potential").score(**row)["distance_shaping"].value == pytest.approx(value, abs=1e-12)


@given(walk=st.lists(st.integers(0, 35), min_size=1, max_size=20))
def test_repaired_a_board_pays_for_its_first_distance_whatever_the_way(walk):
    shaping = version("potential").select_terms("distance_shaping")
    paid = 0.0
    for before, after in pairwise([*walk, 7]):  # 7: the next board, reached by the last step
        row = {"prev": {"exit_distance": before}, "curr": {"exit_distance": after}}
        paid += shaping.score(**row, stage_completed=False).total
    last = {"prev": {"exit_distance": 7}, "curr": {"exit_distance": 12}}
    paid += shaping.score(**last, stage_completed=True).total
    assert paid == pytest.approx(0.05 * walk[0], abs=1e-9)


def test_repaired_the_other_components_are_the_same():
    repaired = version("potential")
    assert tuple(term.name for term in repaired.terms) == COMPONENTS
    others = [name for name in COMPONENTS if name != "distance_shaping"]
    assert repaired.select_terms(*others).fingerprint == reward.select_terms(*others).fingerprint
    assert repaired.fields == reward.fields


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"action": 28}, OutOfRange),
        ({"action": -1}, OutOfRange),
        ({"action": 1.5}, OutOfRange),
        ({"stage": 0}, OutOfRange),
        ({"stage": 9}, OutOfRange),
        ({"kills": -1}, OutOfRange),
        ({"kills": math.nan}, NotFinite),
        ({"died": "yes"}, WrongType),
        ({"prev": PLAYER | {"hp": 4}}, OutOfRange),
        ({"curr": PLAYER | {"score": math.inf}}, NotFinite),
        ({"curr": {"hp": 3}}, MissingField),
    ],
)
def test_bad_input_is_an_error(change, error):
    with pytest.raises(error):
        reward.score(**step() | change)


def test_every_event_must_be_given():
    for name in NOTHING:
        row = step()
        del row[name]
        with pytest.raises(InputError):
            reward.score(**row)


def test_an_event_rests_where_nothing_happens():
    events = {name: reward._bound.fields[name].at_rest for name in reward.task.events}
    assert events == NOTHING


def test_a_state_has_a_range_that_a_checker_can_use():
    for name in PLAYER:
        field = reward.fields[name]
        assert name in reward.task.states
        assert (field.low, field.high) != (None, None)
    assert reward.task.max_change["exit_distance"] == 1


def test_the_versions_are_listed_with_the_default_first():
    assert VERSIONS == ("1.0.0", "potential")
    assert version("1.0.0") is reward
    with pytest.raises(DefinitionError, match=r"Did you mean '1\.0\.0'\?"):
        version("1.0.1")


def test_the_bundled_game_goes_on_where_it_was_and_earns_its_total():
    rows = episode()
    assert len(rows) == 12
    assert all(before["curr"] == after["prev"] for before, after in pairwise(rows))
    assert sum(reward.score(**row).total for row in rows) == pytest.approx(-8.775)


def test_the_exported_names_exist():
    assert all(hasattr(hackmatrix, name) for name in hackmatrix.__all__)
