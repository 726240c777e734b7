"""What an author wants of a reward is domain: it changes no formula, is kept, and is refused where it makes no sense."""

import pytest

from plaudit import DefinitionError, Field, Reward, fact, prefer, term
from plaudit.errors import DuplicateName, SpecError, UnknownField, UnusedField
from plaudit.reward.spec_writer import compute_domain_fingerprint


@term
def near(distance):
    return 1 - distance


@term
def closer(prev, curr):
    return prev.distance - curr.distance


@term(weight=-0.1)
def effort(torque):
    return torque


def arrived(distance, *, reach=0.05):
    """The hand is there."""
    return distance < reach


@fact
def weak(torque, energy):
    return torque <= energy


DISTANCE = Field("distance", low=0, high=5)
TORQUE = Field("torque", low=0, high=2)
ENERGY = Field("energy", low=0, high=9)


def made(*fields, terms=(near, effort), **parts):
    return Reward("reaching", version="1", terms=terms, fields=fields or (DISTANCE, TORQUE), **parts)


PLAIN = made()
WISHES = {
    "better": lambda: made(Field("distance", low=0, high=5, better="low"), TORQUE),
    "aim": lambda: made(Field("distance", low=0, high=5, aim=0.3), TORQUE),
    "rate": lambda: made(Field("distance", low=0, high=5, rate="torque"), TORQUE),
    "unread": lambda: made(DISTANCE, TORQUE, Field("energy", low=0, high=9, better="low")),
    "goal": lambda: made(goal=arrived),
    "goal that goes on": lambda: made(goal=arrived, goal_ends=False),
    "horizon": lambda: made(horizon=200),
    "idle": lambda: made(idle={"distance": 3}),
    "preference": lambda: made(DISTANCE, TORQUE, ENERGY, prefer=[prefer({"energy": 1}, over={"energy": 2})]),
    "fact": lambda: made(DISTANCE, TORQUE, ENERGY, facts=[weak]),
}


@pytest.mark.parametrize("wish", WISHES)
def test_what_is_wanted_is_domain(wish):
    reward = WISHES[wish]()
    assert reward.fingerprint == PLAIN.fingerprint
    assert reward.domain_fingerprint != PLAIN.domain_fingerprint
    assert reward.inputs == PLAIN.inputs
    assert reward.score(distance=0.5, torque=1).total == PLAIN.score(distance=0.5, torque=1).total


@pytest.mark.parametrize("wish", WISHES)
def test_what_is_wanted_survives_a_specification_and_other_weights(wish):
    reward = WISHES[wish]()
    again = Reward.from_json(reward.to_json())
    assert again == reward
    assert again.to_json() == reward.to_json()
    for copy in (again, reward.with_weights(near=2.0), reward.with_version("2"), reward._with_clipped_inputs()):
        assert (copy.goal, copy.goal_ends, copy.horizon, copy.idle) == (
            reward.goal,
            reward.goal_ends,
            reward.horizon,
            reward.idle,
        )
        assert copy.fields.keys() == reward.fields.keys()
        assert [each.better for each in copy.fields.values()] == [each.better for each in reward.fields.values()]
        assert len(copy.prefer) == len(reward.prefer)


def test_a_reward_that_wants_nothing_is_written_as_it_was_before():
    assert not PLAIN.to_dict().keys() & {"goal", "goal_ends", "idle", "horizon"}
    assert compute_domain_fingerprint(PLAIN) == PLAIN.domain_fingerprint


def test_a_goal_reads_what_terms_read_under_their_names():
    moving = made(DISTANCE, terms=[closer], goal=arrived, idle={"distance": 2})
    assert list(moving._goal_program.inputs) == ["curr.distance"]
    assert moving.idle == {"prev.distance": 2.0, "curr.distance": 2.0}
    assert Reward.from_json(moving.to_json()) == moving


def test_some_terms_alone_keep_the_goal_and_rates():
    reward = made(
        Field("distance", low=0, high=5, rate="torque"), TORQUE, goal=arrived, idle={"distance": 3}, horizon=9
    )
    part = reward.select_terms("effort")
    assert part.inputs == ("torque",)
    assert part.goal == reward.goal
    assert set(part.fields) == {"distance", "torque"}
    assert part.idle == {"distance": 3.0}
    assert Reward.from_json(part.to_json()) == part


def test_copies_with_more_facts_preferences_and_another_goal():
    reward = made(DISTANCE, TORQUE, Field("energy", low=0, high=9, better="low"))
    loaded = Reward.from_json(reward.to_json())
    for each in (reward, loaded):
        copy = each.with_facts(weak).with_preferences(prefer({"energy": 1}, over={"energy": 2})).with_goal(arrived)
        assert [known.name for known in copy.facts] == ["weak"]
        assert copy.prefer[0].better[0] == {"energy": 1.0}
        assert copy.goal.name == "arrived"
        assert copy.fingerprint == reward.fingerprint
        assert copy.with_goal(None).goal is None
        assert (each.facts, each.prefer, each.goal) == ((), (), None)
        with pytest.raises(DuplicateName, match="two facts called 'weak'"):
            copy.with_facts(weak)


def test_what_only_a_goal_spoke_of_goes_with_it():
    def thrifty(energy):
        return energy < 3

    reward = made(DISTANCE, TORQUE, ENERGY, goal=thrifty, idle={"distance": 1, "energy": 5})
    without = reward.with_goal(None)
    assert set(without.fields) == {"distance", "torque"}
    assert without.idle == {"distance": 1.0}
    assert Reward.from_json(without.to_json()) == without
    assert set(reward.with_goal(arrived).fields) == {"distance", "torque"}


def test_some_terms_alone_keep_what_they_read_of_an_idle_step():
    moving = made(DISTANCE, TORQUE, terms=[closer, near, effort], idle={"distance": 2, "torque": 1})
    part = moving.select_terms("near", "effort")
    assert part.idle == {"curr.distance": 2.0, "torque": 1.0}
    assert Reward.from_json(part.to_json()) == part


def test_copies_keep_facts_that_were_loaded():
    loaded = Reward.from_json(made(DISTANCE, TORQUE, ENERGY, facts=[weak]).to_json())

    @fact
    def strong(torque):
        return torque >= 0

    assert list(loaded.with_facts(strong)._facts_program.outputs) == ["weak", "strong"]


def never(distance):
    return distance > 7


def number(distance):
    return distance + 1


def elsewhere(speed):
    return speed > 1


WRONG = {
    "category": (lambda: Field("mood", values=("a", "b"), better="high"), "prefer"),
    "direction": (lambda: Field("x", better="up"), "better='up' is not one of 'low', 'high'"),
    "both": (lambda: Field("x", better="low", aim=0.3), "contradict each other"),
    "aim outside": (lambda: Field("x", low=0, high=1, aim=2), "aim=2 is not a finite number that the field allows"),
    "aim of a flag": (lambda: Field("x", flag=True, aim=1), "aim= is for numbers"),
    "own rate": (lambda: Field("x", rate="x"), "names the field itself"),
    "unknown rate": (lambda: made(Field("distance", rate="speed"), TORQUE), "which is not a declared field"),
    "rate of another shape": (
        lambda: made(Field("distance", rate="v"), TORQUE, Field("v", length=3, better="low")),
        "not a number of the same shape",
    ),
    "never": (lambda: made(goal=never), "the goal 'never' can never be true"),
    "no bool": (lambda: made(goal=number), "a goal is true or false of a step"),
    "unknown field": (
        lambda: made(goal=elsewhere),
        "goal 'elsewhere' reads 'speed', which the reward does not declare",
    ),
    "no function": (lambda: made(goal=3), "goal= is a plain function"),
    "goal_ends": (lambda: made(goal=arrived, goal_ends="no"), "goal_ends='no' must be a bool"),
    "idle outside": (lambda: made(idle={"distance": -3}), "the idle row's distance=-3 is not a value"),
    "idle unknown": (lambda: made(idle={"distanc": 3}), "the idle row names 'distanc'"),
    "idle": (lambda: made(idle=3), "idle= maps inputs"),
    "horizon 0": (lambda: made(horizon=0), "horizon=0 must be an integer of at least 1"),
    "half a step": (lambda: made(horizon=1.5), "horizon=1.5 must be"),
    "preference": (lambda: PLAIN.with_preferences("no"), "is not a preference"),
    "fact": (lambda: PLAIN.with_facts(arrived), "is not a fact"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused_in_one_message(name):
    build, message = WRONG[name]
    with pytest.raises(DefinitionError) as caught:
        build()
    assert message in str(caught.value)


def test_a_field_that_nobody_speaks_of_is_still_refused():
    with pytest.raises(UnusedField, match="better="):
        made(DISTANCE, TORQUE, ENERGY)
    data = made(DISTANCE, TORQUE, Field("energy", better="low")).to_dict()
    data["fields"][-1].pop("better")
    with pytest.raises(SpecError, match="no term reads the field 'energy'"):
        Reward.from_dict(data)


def test_a_rate_is_looked_for_among_the_fields():
    with pytest.raises(UnknownField, match="Did you mean 'torque'"):
        made(Field("distance", low=0, rate="torqe"), TORQUE)


@pytest.mark.parametrize(
    ("key", "value"),
    [("goal", 3), ("goal", {"named": [], "nodes": [], "guards": []}), ("idle", 3), ("horizon", 0), ("goal_ends", 1)],
)
def test_a_hostile_specification_is_refused(key, value):
    with pytest.raises(SpecError):
        Reward.from_dict({**made(goal=arrived).to_dict(), key: value})
