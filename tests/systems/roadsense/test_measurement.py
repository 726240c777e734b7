"""What the environment measures, as each version of the reward reads it."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, Field, Reward, term
from plaudit.adapters.components import list_components
from plaudit.errors import UnknownField
from plaudit.systems.roadsense import VERSIONS, Measurement, version
from plaudit.systems.roadsense.fields import BRAKE
from plaudit.systems.roadsense.measurement import build_input_reader, build_scorer, find_nearest_action, select_columns
from support.examples import examples

STEPS = st.builds(
    Measurement,
    distance=st.floats(0, 200) | st.just(float("inf")),
    deceleration=st.floats(-8, 9),
    action=st.integers(0, 3),
    closing_rate=st.floats(-30, 30),
    ego_speed=st.floats(0, 50),
    peer_braking=st.booleans(),
    fresh_braking=st.booleans(),
    warned_now=st.sampled_from([0.0, 1.0]),
    warned_ever=st.sampled_from([0.0, 1.0]),
    peer_warned_ever=st.sampled_from([0.0, 1.0]),
    warned_fading=st.floats(0, 1),
)


@cache
def rewards():
    """Return every version, its input reader, its scorer and its form for a batch."""
    every = [version(label) for label in VERSIONS]
    return [(each, build_input_reader(each), build_scorer(each), each.compile("numpy")) for each in every]


@given(step=STEPS)
def test_the_fast_scorer_pays_what_the_reward_pays(step):
    for reward, inputs, score, _ in rewards():
        signal = reward.score(**inputs(step))
        assert score(step) == (signal.total, signal.values)


@examples(0.2)
@given(steps=st.lists(STEPS, min_size=1, max_size=5))
def test_a_batch_of_steps_scores_as_its_steps_do(steps):
    columns = {name: np.array([getattr(step, name) for step in steps]) for name in Measurement._fields}
    for reward, _, score, batch in rewards():
        totals = batch(select_columns(reward, columns)).total
        assert totals.tolist() == pytest.approx([score(step)[0] for step in steps])


@pytest.mark.parametrize(
    ("label", "measure"),
    [("R9", "warned_now"), ("R9L", "warned_ever"), ("R10", "peer_warned_ever"), ("R11", "warned_fading"),
     ("R12", "warned_fading"), ("R12a", "warned_fading")],
)  # fmt: skip
def test_each_version_gets_its_own_way_to_remember_a_warning(label, measure):
    calm = Measurement(30.0, 0.0, 0, 0.0, 10.0, False, False, 0.0, 0.0, 0.0, 0.0)
    reward = version(label)
    assert build_input_reader(reward)(calm)["braking_received"] == 0
    assert build_input_reader(reward)(calm._replace(**{measure: 1.0}))["braking_received"] == 1


def test_a_reward_that_went_through_json_remembers_in_its_own_way():
    reward = Reward.from_json(version("R9L").to_json())
    step = Measurement(30.0, 0.0, 0, 0.0, 10.0, False, False, 0.0, 1.0, 0.0, 0.5)
    assert build_input_reader(reward)(step)["braking_received"] == 1


def test_a_reward_that_reads_something_else_is_refused_with_what_there_is():
    @term
    def calm(jerk):
        return -abs(jerk)

    reward = Reward("own", version="1", terms=[calm], fields=[Field("jerk", low=-100, high=100)])
    with pytest.raises(UnknownField, match=r"reads 'jerk', which the convoy does not measure\.\nIt measures: distance"):
        build_input_reader(reward)


def test_a_reward_of_one_input_is_scored():
    @term
    def slow(ego_speed):
        return -ego_speed

    reward = Reward("own", version="1", terms=[slow], fields=[Field("ego_speed", low=0, high=60)])
    step = Measurement(30.0, 0.0, 0, 0.0, 10.0, False, False, 0.0, 0.0, 0.0, 0.0)
    assert build_scorer(reward)(step) == (-10.0, {"slow": -10.0})


@pytest.mark.parametrize("action", range(4))
def test_what_an_action_brakes_at_is_nearest_to_that_action(action):
    assert find_nearest_action(BRAKE[action]) == action


@pytest.mark.parametrize(
    ("deceleration", "action"), [(0.2499, 0), (0.25, 1), (1.2499, 1), (1.25, 2), (3.2499, 2), (3.25, 3)]
)
def test_between_two_actions_the_middle_belongs_to_the_harder_one(deceleration, action):
    assert find_nearest_action(deceleration) == action


CALM = Measurement(30.0, 0.0, 2, 0.0, 15.0, False, False, 0.0, 0.0, 0.0, 0.0)


@term
def far(distance):
    """Falls with the distance."""
    return -distance


@term
def level(action):
    """An integer as it comes."""
    return action


@term
def paid():
    """Reads nothing."""
    return 1.0


def test_the_limits_of_a_total_are_a_component_so_that_all_add_up():
    held = Reward("held", version="1", terms=[far], fields=[Field("distance", low=0, high=200)], low=-5.0)
    assert build_scorer(held)(CALM) == (-5.0, {"far": -30.0, "total.clamp": 25.0})
    assert list_components(held) == ("far", "total.clamp")


def test_what_is_paid_is_a_float_whatever_a_term_returns():
    """Gymnasium takes the kind of the first environment's number for all of them."""
    total, terms = build_scorer(
        Reward("own", version="1", terms=[level], fields=[Field("action", values=(0, 1, 2, 3))])
    )(CALM)
    assert (type(total), type(terms["level"])) == (float, float)


def test_a_reward_may_read_nothing():
    reward = Reward("flat", version="1", terms=[paid], fields=[])
    assert build_scorer(reward)(CALM) == (1.0, {"paid": 1.0})
    assert build_input_reader(reward)(CALM) == {}


def test_a_reward_that_wants_strings_is_refused():
    @term
    def hard(action):
        return 1.0 if action == "brake" else 0.0

    reward = Reward("own", version="1", terms=[hard], fields=[Field("action", values=("brake", "maintain"))])
    with pytest.raises(DefinitionError, match="declares 'action' by strings"):
        build_scorer(reward)
