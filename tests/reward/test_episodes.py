"""A log of whole episodes is scored from the first step of each; one that is cut, mixed up or sampled is refused."""

import numpy as np
import pytest

from plaudit import DefinitionError, OutOfRange
from plaudit.errors import BrokenEpisode, MissingField, UnknownInput
from support import carrying, walks

STEPS, ENVS = 15, 4


def log(name, *, first=0):
    """Return columns with a row a step, those of several episodes mixed, and the episode and step of each row."""
    columns = {key: value.reshape(-1, *value.shape[2:]) for key, value in carrying.draw(name, STEPS, ENVS).items()}
    return columns, np.tile(np.arange(ENVS), STEPS), np.repeat(np.arange(STEPS), ENVS) + first


@pytest.mark.parametrize("name", carrying.REWARDS)
@pytest.mark.parametrize("first", [0, 1])
def test_states_are_computed_from_the_first_step_of_each_episode(name, first):
    columns, episode, step = log(name, first=first)
    found = carrying.REWARDS[name].score_episodes(columns, episode=episode, step=step)
    expected = carrying.compute(name, carrying.draw(name, STEPS, ENVS), np.zeros((STEPS, ENVS), bool))
    np.testing.assert_allclose(found.scores.total, expected.reshape(-1), rtol=1e-12, atol=1e-12)
    given = {f"prev.{key}": value for key, value in found.states.items()}
    again = carrying.REWARDS[name].compile("numpy")({**columns, **given})
    assert np.array_equal(again.total, found.scores.total)


def test_episodes_of_any_name_and_length_may_follow_one_another():
    reward = carrying.walking()
    contact = carrying.draw("walking", 9, 1)["contact"].reshape(-1, 4)
    episode, step = np.array(["b"] * 2 + ["a"] * 6 + ["c"]), [1, 2, 1, 2, 3, 4, 5, 6, 1]
    found = reward.score_episodes({"contact": contact}, episode=episode, step=step)
    assert not found.states["air_time"][[0, 2, 8]].any()
    assert found.scores.total.shape == (9,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda step: step + 7, r"row 0: the first row of episode 0 is step 7, and episodes begin at step 0 or 1"),
        (lambda step: np.where(step == 0, 0, step + 1), r"row 4: step 2 of episode 0 does not follow.*is step 0"),
        (lambda step: np.where(step == 3, 2, step), r"row 12: step 2 of episode 0 appears twice"),
        (lambda step: np.where(step == 3, 1, step), r"row 12: step 1 of episode 0 is out of order"),
        (lambda step: np.where(np.arange(len(step)) == 3, 1, step), r"row 3: the first row of episode 3 is step 1"),
    ],
)
def test_a_log_with_steps_missing_or_out_of_order_is_refused_by_row(change, words):
    columns, episode, step = log("walking")
    with pytest.raises(BrokenEpisode, match=words):
        carrying.walking().score_episodes(columns, episode=episode, step=change(step))


def test_episodes_may_begin_where_they_are_said_to():
    columns, episode, step = log("walking", first=7)
    found = carrying.walking().score_episodes(columns, episode=episode, step=step, first=7)
    assert not found.states["air_time"][:ENVS].any()


def test_a_bad_row_is_named_or_masked_and_leaves_the_state_as_it_was():
    columns, episode, step = log("driving")
    columns["speed"][2 * ENVS + 1] = 99.0
    reward = carrying.driving()
    with pytest.raises(OutOfRange, match=rf"row {2 * ENVS + 1}, episode 1, step 2: .*99.0 is outside"):
        reward.score_episodes(columns, episode=episode, step=step)
    found = reward.score_episodes(columns, episode=episode, step=step, on_bad="mask")
    assert np.flatnonzero(~found.scores.ok).tolist() == [2 * ENVS + 1]
    average = found.states["average"].reshape(STEPS, ENVS)
    assert average[3, 1] == average[2, 1]
    assert average[3, 0] != average[2, 0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"episode": [0, 1]}, MissingField, "episode= and step= must be columns"),
        ({"step": ["a"] * STEPS * ENVS}, MissingField, "step= must hold numbers"),
        ({"on_bad": "clip"}, DefinitionError, "on_bad='clip'"),
        ({"columns": {}}, MissingField, "contact"),
        ({"columns": {"contact": [[True] * 4]}}, MissingField, "the column has 1 rows, and episode= has 60"),
        ({"columns": {"contact": [[True] * 4], "prev.air_time": [[0.0] * 4]}}, UnknownInput, "given twice"),
    ],
)
def test_a_log_that_cannot_be_scored_says_why(options, error, words):
    columns, episode, step = log("walking")
    given = {"columns": columns, "episode": episode, "step": step, **options}
    with pytest.raises(error, match=words):
        carrying.walking().score_episodes(given.pop("columns"), **given)


def test_a_reward_without_state_needs_no_order():
    with pytest.raises(DefinitionError, match="carries no state"):
        walks.reward().score_episodes({}, episode=[0], step=[0])


def test_an_empty_log_has_no_scores():
    found = carrying.walking().score_episodes({"contact": np.zeros((0, 4), bool)}, episode=[], step=np.zeros(0))
    assert found.scores.total.shape == (0,)
