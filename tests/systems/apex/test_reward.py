"""The step reward of a multi-agent runtime: its rules, its doors, and what it refuses."""

import json
import math
import os
from collections import defaultdict
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.atomic import AtomicFile
from plaudit.systems import apex
from plaudit.systems.apex.logs.artifacts import write_row

START = {"phase": "coding", "test_pass_rate": 0.5, "tokens_used": 1000, "switch_committed": False}


def step(detector="explicit", **changes):
    """Return what a step from `START` with these changes earns."""
    return apex.RewardAccumulator(detector).step_reward(START, START | changes)


def shares(planner=0.0, coder_runner=0.0, critic=0.0):
    return {"role_shares": {"planner": planner, "coder_runner": coder_runner, "critic": critic}}


# -- the formula ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "earned"),
    [
        ({}, 0.0),
        ({"phase": "testing"}, 0.3),
        ({"test_pass_rate": 0.6}, 0.07),
        ({"test_pass_rate": 0.4}, -0.07),
        ({"tokens_used": 1200}, -0.02),
        ({"tokens_used": 11_000}, -1.0),
        ({"switch_committed": True}, -0.05),
        ({"phase": "testing", "test_pass_rate": 0.6, "tokens_used": 1200, "switch_committed": True}, 0.3),
    ],
)
def test_a_step_earns_the_sum_of_its_parts(changes, earned):
    assert step(**changes) == pytest.approx(earned, abs=1e-12)


@pytest.mark.parametrize(("before", "after"), [*product(apex.PHASES, repeat=2)])
def test_only_a_later_phase_is_an_advance_and_a_jump_counts_once(before, after):
    advanced = apex.PHASES.index(after) > apex.PHASES.index(before)
    prev, curr = {"phase": before}, {"phase": after}
    assert apex.detect_phase_advance(prev, curr) is advanced
    assert apex.RewardAccumulator().step_reward(prev, curr) == (0.3 if advanced else 0.0)


def test_a_switch_is_charged_in_the_state_it_is_committed_in():
    accumulator = apex.RewardAccumulator()
    assert accumulator.step_reward({"switch_committed": True}, {}) == 0.0
    assert accumulator.step_reward({}, {"switch_committed": True}) == -0.05


@pytest.mark.parametrize(("success", "bonus"), [(True, 1.0), (False, 0.0)])
def test_the_end_pays_for_success_alone(success, bonus):
    assert apex.RewardAccumulator().final_bonus(success) == bonus


def test_an_accumulator_keeps_nothing_between_calls():
    accumulator = apex.RewardAccumulator()
    first = accumulator.step_reward(START, START | {"phase": "done"})
    accumulator.final_bonus(True)
    assert accumulator.step_reward(START, START | {"phase": "done"}) == first


PASS_RATES = st.integers(0, 100).map(lambda passed: passed / 100)
STEPS = st.fixed_dictionaries(
    {
        "phase": st.sampled_from([*apex.PHASES, "lunch", None]),
        "test_pass_rate": PASS_RATES,
        "spent": st.integers(0, 100_000),
        "switch_committed": st.booleans(),
    }
)


@given(steps=st.lists(STEPS, min_size=2, max_size=30))
def test_what_an_episode_earns_depends_on_its_ends_and_its_counts(steps):
    spent, states = 0, []
    for each in steps:
        spent += each["spent"]
        states.append(each | {"tokens_used": spent})
    accumulator = apex.RewardAccumulator()
    earned = sum(accumulator.step_reward(prev, curr) for prev, curr in pairwise(states))
    advances = sum(apex.detect_phase_advance(prev, curr) for prev, curr in pairwise(states))
    switches = sum(state["switch_committed"] for state in states[1:])
    first, last = states[0], states[-1]
    expected = (
        0.3 * advances
        + 0.7 * (last["test_pass_rate"] - first["test_pass_rate"])
        - 1e-4 * (last["tokens_used"] - first["tokens_used"])
        - 0.05 * switches
    )
    assert earned == pytest.approx(expected, abs=1e-9)


# -- doors ---------------------------------------------------------------------------------------------------


def test_a_key_that_a_state_lacks_is_0_or_false():
    accumulator = apex.RewardAccumulator()
    assert accumulator.step_reward({}, {}) == 0.0
    assert accumulator.step_reward({}, {"test_pass_rate": 1.0, "tokens_used": 100}) == pytest.approx(0.69)


@pytest.mark.parametrize("unknown", ["lunch", "", "Coding", "other", None, 3, ["coding"]])
@pytest.mark.parametrize("known", apex.PHASES)
def test_an_unknown_phase_is_no_advance_in_either_direction(known, unknown):
    accumulator = apex.RewardAccumulator()
    for prev, curr in ((known, unknown), (unknown, known), (unknown, unknown)):
        assert accumulator.step_reward({"phase": prev}, {"phase": curr}) == 0.0
        assert not apex.detect_phase_advance({"phase": prev}, {"phase": curr})


def test_a_missing_phase_is_no_advance():
    assert apex.RewardAccumulator().step_reward({}, {"phase": "done"}) == 0.0
    assert not apex.detect_phase_advance({}, {"phase": "done"})


def test_the_names_the_runtime_guesses_count_as_the_phases_they_mean():
    accumulator = apex.RewardAccumulator()
    assert accumulator.step_reward({"phase": "planning"}, {"phase": "implementation"}) == 0.3
    assert accumulator.step_reward({"phase": "testing"}, {"phase": "debug"}) == 0.3
    assert accumulator.step_reward({"phase": "coding"}, {"phase": "implementation"}) == 0.0
    assert apex.detect_phase_advance({"phase": "planning"}, {"phase": "implementation"})


def test_aliases_can_be_left_out_or_changed():
    prev = {"phase": "planning"}
    assert apex.RewardAccumulator(aliases={}).step_reward(prev, {"phase": "implementation"}) == 0.0
    assert apex.RewardAccumulator(aliases={"build": "coding"}).step_reward(prev, {"phase": "build"}) == 0.3


def test_keys_the_reward_does_not_read_are_nobodys_business():
    assert apex.RewardAccumulator().step_reward({"topology": "star"}, {"topology": "chain"}) == 0.0


@pytest.mark.parametrize(
    ("prev", "curr", "error", "field"),
    [
        ({"tokens_used": 300}, {"tokens_used": 200}, errors.OutOfRange, "tokens_used"),
        ({"tokens_used": 300}, {}, errors.OutOfRange, "tokens_used"),
        ({"tokens_used": -1}, {}, errors.OutOfRange, "tokens_used"),
        ({}, {"tokens_used": math.nan}, errors.NotFinite, "tokens_used"),
        ({}, {"tokens_used": math.inf}, errors.NotFinite, "tokens_used"),
        ({}, {"tokens_used": 2**53 + 1}, errors.OutOfRange, "tokens_used"),
        ({}, {"tokens_used": "many"}, errors.WrongType, "tokens_used"),
        ({}, {"tokens_used": None}, errors.MissingField, "tokens_used"),
        ({}, {"test_pass_rate": 1.01}, errors.OutOfRange, "test_pass_rate"),
        ({"test_pass_rate": -0.01}, {}, errors.OutOfRange, "test_pass_rate"),
        ({"test_pass_rate": math.nan}, {}, errors.NotFinite, "test_pass_rate"),
        ({}, {"test_pass_rate": True}, errors.WrongType, "test_pass_rate"),
        ({}, {"switch_committed": "yes"}, errors.WrongType, "switch_committed"),
    ],
)
@pytest.mark.parametrize("detector", ["explicit", "explicit_then_role"])
def test_what_cannot_be_true_is_an_error_that_names_the_field(detector, prev, curr, error, field):
    with pytest.raises(error, match=field) as caught:
        apex.RewardAccumulator(detector).step_reward(prev, curr)
    assert isinstance(caught.value, errors.InputError)
    assert "apex" in str(caught.value)


def test_tokens_given_back_are_shown_with_both_counts():
    with pytest.raises(errors.OutOfRange, match="from 300 to 200"):
        apex.RewardAccumulator().step_reward({"tokens_used": 300}, {"tokens_used": 200})


def test_success_is_a_flag():
    with pytest.raises(errors.WrongType, match="success"):
        apex.RewardAccumulator().final_bonus("yes")


# -- roles ---------------------------------------------------------------------------------------------------

HANDED_ON = {("planner", "coder_runner"), ("coder_runner", "critic"), ("critic", "planner")}


@pytest.mark.parametrize(("before", "after"), [*product(apex.ROLES, repeat=2)])
def test_the_lead_is_handed_on_in_a_circle(before, after):
    prev, curr = shares(**{before: 0.9}), shares(**{after: 0.9})
    handed_on = (before, after) in HANDED_ON
    assert apex.detect_role_transition(prev, curr) is handed_on
    assert apex.RewardAccumulator("role_share").step_reward(prev, curr) == (0.3 if handed_on else 0.0)


@pytest.mark.parametrize("nobody", [{}, {"role_shares": {}}, {"role_shares": None}, shares()])
def test_without_shares_nobody_leads(nobody):
    leader = shares(coder_runner=1.0)
    assert not apex.detect_role_transition(nobody, leader)
    assert not apex.detect_role_transition(leader, nobody)
    assert apex.RewardAccumulator("role_share").step_reward(nobody, leader) == 0.0


def test_of_equals_the_leader_stays():
    even = shares(planner=0.4, coder_runner=0.4)
    assert not apex.detect_role_transition(shares(planner=0.9), even)
    assert not apex.detect_role_transition(shares(coder_runner=0.9), even)


def test_of_equals_without_the_leader_the_earlier_role_leads():
    even = shares(coder_runner=0.4, critic=0.4)
    assert apex.detect_role_transition(shares(planner=0.9), even)
    assert apex.find_dominant_role({"critic": 0.4, "planner": 0.4}) == "planner"


def test_a_role_that_is_not_watched_can_lead_and_advances_nothing():
    assert apex.find_dominant_role({"planner": 0.3, "archivist": 0.7}) == "other"
    assert apex.find_dominant_role({"planner": 0.5, "archivist": 0.5}) == "planner"


@pytest.mark.parametrize(
    ("share", "error"), [(math.nan, errors.NotFinite), (-0.1, errors.OutOfRange), ("half", errors.WrongType)]
)
def test_a_share_that_is_no_share_is_an_error(share, error):
    with pytest.raises(error, match="critic"):
        apex.detect_role_transition(shares(planner=1.0), shares(critic=share))


def test_with_both_detectors_roles_speak_only_where_a_phase_is_unknown():
    handed_on = shares(planner=1.0), shares(coder_runner=1.0)
    earned = apex.RewardAccumulator("explicit_then_role").step_reward
    prev, curr = handed_on
    assert earned(prev, curr) == 0.3
    assert earned(prev | {"phase": "coding"}, curr | {"phase": "lunch"}) == 0.3
    assert earned(prev | {"phase": "coding"}, curr | {"phase": "coding"}) == 0.0
    assert earned(prev | {"phase": "coding"}, curr | {"phase": "planning"}) == 0.0
    assert earned(prev | {"phase": "planning"}, curr | {"phase": "coding"}) == 0.3  # once, not twice
    assert earned(shares(planner=1.0), shares(planner=1.0)) == 0.0


def test_an_unknown_detector_is_refused_with_a_suggestion():
    with pytest.raises(errors.DefinitionError, match="Did you mean 'explicit'"):
        apex.RewardAccumulator("explicitly")


# -- the reward itself ---------------------------------------------------------------------------------------


def test_every_detector_is_a_version_with_its_own_fingerprint():
    assert apex.VERSIONS == ("explicit", "role_share", "explicit_then_role", "high_water")
    assert apex.VERSIONS[:-1] == apex.DETECTORS
    assert apex.version(apex.VERSIONS[0]) is apex.reward
    rewards = [apex.version(label) for label in apex.VERSIONS]
    assert [reward.version for reward in rewards] == list(apex.VERSIONS)
    assert len({reward.fingerprint for reward in rewards}) == len(rewards)
    for reward in rewards:
        assert [term.name for term in reward.terms] == [
            "phase_advance", "test_improvement", "token_cost", "switch_cost", "terminal_bonus",
        ]  # fmt: skip


def test_an_unknown_version_is_refused_with_a_suggestion():
    with pytest.raises(errors.DefinitionError, match="Did you mean 'role_share'"):
        apex.version("role_shares")


def test_the_bundled_episode_is_scored_with_its_bonus():
    signals = [apex.reward.score(**row) for row in apex.episode()]
    assert len(signals) == 24
    assert sum(signal.total for signal in signals) == pytest.approx(2.75, abs=1e-9)
    assert signals[-1]["terminal_bonus"].value == 1.0


def test_the_accumulator_and_the_reward_agree_to_the_bit():
    accumulator = apex.RewardAccumulator()
    for row in apex.episode()[:-1]:
        assert accumulator.step_reward(row["prev"], row["curr"]) == apex.reward.score(**row).total
        assert accumulator.signal(row["prev"], row["curr"]).total == apex.reward.score(**row).total


ODD = (
    st.none()
    | st.booleans()
    | st.sampled_from(["coding", "debug", "lunch", "", 2**53 + 1, -1, 1.5, math.nan, math.inf, -0.0])
)
USUAL = {
    "phase": st.sampled_from([*apex.PHASES, "debug"]),
    "test_pass_rate": PASS_RATES,
    "tokens_used": st.integers(0, 1000),
    "switch_committed": st.booleans(),
}
STATES = st.fixed_dictionaries(USUAL) | st.fixed_dictionaries(
    {}, optional={name: usual | st.integers(0, 1) | st.floats(0, 1) | ODD for name, usual in USUAL.items()}
)


@given(prev=STATES, curr=STATES, detector=st.sampled_from(apex.DETECTORS))
@example(prev=START, curr=START | {"tokens_used": 999}, detector="explicit")
@example(prev=START, curr=START | {"tokens_used": 2**53 + 1}, detector="explicit")
@example(prev=START, curr=START | {"test_pass_rate": math.nan}, detector="explicit")
@example(prev=START | {"test_pass_rate": 1.01}, curr=START, detector="explicit")
@example(prev=START, curr=START | {"switch_committed": 1}, detector="explicit")
def test_whatever_the_states_hold_a_step_earns_or_refuses_what_its_signal_does(prev, curr, detector):
    accumulator, found = apex.RewardAccumulator(detector), []
    for earn in (accumulator.step_reward, lambda *states: accumulator.signal(*states).total):
        try:
            found.append(float.hex(earn(prev, curr)))
        except errors.InputError as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]


def test_a_state_that_makes_up_what_it_lacks_is_left_as_it_is():
    prev, curr = defaultdict(float), defaultdict(float, tokens_used=10)
    assert apex.RewardAccumulator().step_reward(prev, curr) == -0.001
    assert (len(prev), len(curr)) == (0, 1)


# -- repaired ------------------------------------------------------------------------------------------------


def high_water(states):
    """Return what each step of an episode earns where only a new furthest phase is paid."""
    furthest = apex.find_furthest_phases(states)
    known = [
        {"furthest": reached, "test_pass_rate": state["test_pass_rate"], "tokens_used": state["tokens_used"]}
        for reached, state in zip(furthest, states, strict=True)
    ]
    return [
        apex.version("high_water").score(
            prev=before, curr=after | {"switch_committed": state.get("switch_committed", False)}
        )
        for (before, after), state in zip(pairwise(known), states[1:], strict=True)
    ]


PHASE_WALKS = st.lists(st.sampled_from([*apex.PHASES, "lunch", "debug", None]), min_size=1, max_size=30)


@given(phases=PHASE_WALKS)
def test_repaired_a_phase_is_paid_once(phases):
    states = [{"phase": phase, "test_pass_rate": 0.0, "tokens_used": 0} for phase in phases]
    furthest = apex.find_furthest_phases(states)
    assert furthest == sorted(furthest)
    paid = [signal["phase_advance"].value for signal in high_water(states)]
    assert sum(paid) == pytest.approx(0.3 * (len(set(furthest)) - 1))


def test_repaired_going_back_and_forth_earns_nothing():
    states = [{"phase": phase, "test_pass_rate": 0.0, "tokens_used": 0} for phase in ("coding", "testing") * 3]
    assert [signal.total for signal in high_water(states)] == [0.3, 0.0, 0.0, 0.0, 0.0]


def test_repaired_the_bundled_episode_loses_the_advance_that_was_paid_twice():
    assert sum(signal.total for signal in high_water(apex.scenario())) == pytest.approx(2.75 - 1.0 - 0.3, abs=1e-9)


def test_repaired_what_is_no_phase_leaves_the_mark_where_it_was():
    assert apex.find_furthest_phases([{}, {"phase": "debug"}, {"phase": "lunch"}, {"phase": "planning"}]) == [
        0,
        3,
        3,
        3,
    ]
    assert apex.find_furthest_phases([{"phase": "build"}], aliases={"build": "coding"}) == [1]
    assert apex.find_furthest_phases([]) == []


def test_an_accumulator_cannot_know_the_mark():
    with pytest.raises(errors.DefinitionError, match="sees two states at a time"):
        apex.RewardAccumulator("high_water")


def test_the_mark_only_rises():
    field = apex.version("high_water")._bound.fields["furthest"]
    assert (field.role, field.monotone, field.values) == ("state", "up", (0, 1, 2, 3, 4))


# -- rows ----------------------------------------------------------------------------------------------------


def test_a_failed_episode_has_a_last_row_too():
    *_, end = apex.build_reward_rows([{}, {"test_pass_rate": 0.9}])
    assert end["terminal"] is True
    assert end["r_step"] == 0.0


@pytest.mark.parametrize(("rate", "success"), [(1.0, True), (1 - 1e-10, True), (1 - 1e-8, False), (0.0, False)])
def test_the_last_state_decides_on_success_where_nobody_else_does(rate, success):
    state = {"test_pass_rate": rate}
    assert apex.all_tests_pass(state) is success
    *_, end = apex.build_reward_rows([{}, state])
    assert end["r_step"] == (1.0 if success else 0.0)


def test_success_that_is_given_wins_over_the_last_state():
    *_, end = apex.build_reward_rows([{}, {"test_pass_rate": 1.0}], success=False)
    assert end["r_step"] == 0.0


def test_an_episode_of_one_state_has_only_an_end():
    assert [(row["step"], row.get("terminal")) for row in apex.build_reward_rows([{}])] == [(2, True)]


def test_an_episode_without_states_is_refused():
    with pytest.raises(errors.InputError, match="at least one state"):
        list(apex.build_reward_rows([]))


def test_a_bad_state_is_named_by_its_step():
    rows = apex.build_reward_rows([{}, {"tokens_used": 10}, {"tokens_used": 5}])
    assert next(rows)["step"] == 2
    with pytest.raises(errors.OutOfRange) as caught:
        next(rows)
    assert caught.value.__notes__ == ["in the step to state 3"]


def test_rows_keep_full_doubles():
    rows = {row["step"]: row for row in apex.build_reward_rows(apex.scenario())}
    assert rows[14]["delta_pass_rate"] == 0.7 - 0.6 != 0.1


def test_rows_are_told_which_detector_to_use():
    states = [shares(planner=1.0), shares(coder_runner=1.0)]
    assert [row["phase_advance"] for row in apex.build_reward_rows(states, detector="role_share")] == [True, False]


# -- files ---------------------------------------------------------------------------------------------------


def test_a_log_replaces_the_one_before(tmp_path):
    path = tmp_path / "rewards.jsonl"
    apex.write_rewards(path, [{"step": 2}])
    apex.write_rewards(path, [{"step": 2}, {"step": 3}])
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"step": 2}, {"step": 3}]
    assert list(tmp_path.iterdir()) == [path]


def test_a_log_that_cannot_be_finished_changes_nothing(tmp_path):
    path = tmp_path / "rewards.jsonl"
    path.write_text("before\n")
    with pytest.raises(errors.OutOfRange):
        apex.write_rewards(path, apex.build_reward_rows([{}, {"tokens_used": 10}, {"tokens_used": 5}]))
    with pytest.raises(ValueError, match="JSON"):
        apex.write_rewards(path, [{"r_step": math.nan}])
    assert path.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["a file/rewards.jsonl", "a folder"])
def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path, place):
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a file").write_text("")
    with pytest.raises(errors.FileError, match="cannot be created|is a directory"):
        apex.write_rewards(tmp_path / place, [{"step": 2}])
    assert sorted(path.name for path in Path(tmp_path).rglob("*")) == ["a file", "a folder"]


def test_a_log_makes_the_folder_that_it_lies_in(tmp_path):
    apex.write_rewards(tmp_path / "docs" / "A4" / "rewards.jsonl", apex.build_reward_rows(apex.scenario()))
    assert len(list(apex.read_rewards(tmp_path / "docs" / "A4"))) == 25


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_that_is_full_is_one_clear_error(tmp_path):
    with AtomicFile(tmp_path / "rewards.jsonl") as draft, Path("/dev/full").open("w", buffering=1) as full:
        draft.file.close()
        draft.file = full
        with pytest.raises(errors.FileError, match="rewards.jsonl cannot be written: No space left on device"):
            write_row(draft, {"step": 2})
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), full.fileno())  # so that it can be closed
    assert list(tmp_path.iterdir()) == []
