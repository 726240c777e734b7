"""The guess at a phase: from the last five messages, edits and tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.systems import apex
from plaudit.systems.apex.phases import GUESSES

P, C, R, K = "planner", "coder", "runner", "critic"


@pytest.mark.parametrize(
    ("senders", "edits", "run", "failing", "current", "expected"),
    [
        ([], 0, False, False, "planning", "planning"),
        ([C, C, R], 3, False, False, "planning", "planning"),  # no test was run yet: both hold, and planning stays
        ([C, C, R], 3, False, False, "implementation", "implementation"),  # both hold, and implementation stays
        ([C, C, R], 3, False, False, "debug", "planning"),  # both hold, and neither is the current one: the first
        ([C, C, R], 3, True, False, "planning", "implementation"),
        ([C, C, R], 0, True, False, "planning", "planning"),  # nothing was edited, and nothing else holds
        ([C, R, P, P], 1, True, False, "planning", "implementation"),  # exactly half
        ([P, P, P, C, R], 1, True, False, "debug", "planning"),  # exactly 60 %
        ([P, P, C, K, K], 1, True, False, "planning", "debug"),  # exactly 40 %
        ([C, C, C, K], 1, True, True, "planning", "implementation"),  # implementation and debug hold
        ([C, C, C, K], 1, True, True, "debug", "debug"),
        ([P, K, C, P, R], 0, True, True, "planning", "debug"),
        ([P, K, C, P, R], 1, True, False, "debug", "debug"),  # nothing holds: as it was
        ([K, K, K, C, C, C, C, C], 1, True, False, "debug", "implementation"),  # only the last five count
        (["system", "system", C], 1, True, False, "planning", "implementation"),  # who has no role does not count
        (["REVIEW", "Critique"], 1, True, False, "planning", "debug"),
    ],
)
def test_the_phase_is_what_messages_edits_and_tests_speak_for(senders, edits, run, failing, current, expected):
    assert apex.guess_phase(senders, edits=edits, tests_run=run, failing=failing, current=current) == expected


EVENTS = st.lists(st.sampled_from([P, C, R, K, "edit", "red", "green", "system"]), max_size=40)


@given(EVENTS)
def test_a_guess_that_goes_along_is_the_guess_at_every_moment(events):
    guess, current = apex.PhaseGuess(), "planning"
    senders, edits, tests = [], 0, None
    for event in events:
        if event == "edit":
            guess.add_edit()
            edits += 1
        elif event in ("red", "green"):
            guess.add_test_run(passed=int(event == "green"), total=1)
            tests = event
        else:
            guess.add_message(event)
            senders += [event] * (event != "system")
        current = apex.guess_phase(
            senders, edits=edits, tests_run=tests is not None, failing=tests == "red", current=current
        )
        assert guess.phase == current
        assert guess.phase in GUESSES


def test_the_reward_knows_every_guess():
    earned = apex.RewardAccumulator().step_reward
    assert earned({"phase": "planning"}, {"phase": "implementation"}) == 0.3
    assert earned({"phase": "implementation"}, {"phase": "debug"}) == 0.3
