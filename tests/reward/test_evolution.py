"""The next version of a reward: what is changed is as it was said, and all else as it was."""

import inspect
import re

import pytest
from hypothesis import given

from plaudit import Field, Reward, State, Task, fact, prefer, term
from plaudit.errors import DefinitionError, DuplicateName, UnknownField, UnknownParameter, UnusedField
from plaudit.reward.evolution import RewardChanges
from plaudit.schedules import linear
from plaudit.systems import BUILT_IN, load
from support.examples import examples
from support.strategies import cases


@term
def near(distance, *, reach=2.0):
    """Be near."""
    return 1 if distance < reach else 0


@term(weight=-0.5)
def effort(torque, *, strongest):
    """Spend little."""
    return abs(torque) / strongest


@term
def calm(air):
    """Stay on the ground."""
    return -1.0 if air > 3 else 0.0


@term
def steady(prev, curr):
    return -abs(curr.distance - prev.distance)


def count_air(contact, prev, *, step=1.0):
    return 0.0 if contact else prev.air + step


@fact
def slow_when_far(distance, torque):
    return torque < 5 or distance < 5


def at_goal(distance):
    return distance < 0.5


def awake(torque):
    return 0.5 if torque > 8 else 1.0


def broken(torque):
    return torque > 9


DISTANCE = Field("distance", low=0, high=10)
TORQUE = Field("torque", low=0, high=10)
CONTACT = Field("contact", flag=True)
AIR = State("air", update=count_air, reset=0.0)
FIELDS = [DISTANCE, TORQUE, CONTACT, AIR]
TASK = Task(
    "reaching",
    facts=[slow_when_far],
    goal=at_goal,
    prefer=[prefer({"distance": 1.0}, over={"distance": 9.0}, because="near is better")],
    idle={"torque": 0.0, "distance": 3.0},
    discount=0.9,
    horizon=50,
)


def made(**changes):
    """Return a reward that has everything."""
    given = {
        "version": "1",
        "terms": [near, effort, calm],
        "fields": FIELDS,
        "shared": {"strongest": 10.0},
        "low": -5.0,
        "high": 5.0,
        "scale": 2.0,
        "gate": awake,
        "override": [(broken, -3.0)],
        "task": TASK,
        "action": "torque",
        "allow": {"jump": "a zone"},
        "doc": "Reach it.",
    }
    return Reward("reaching", **given | changes)


WHOLE = made()
PLAIN = Reward("plain", version="1", terms=[near], fields=[DISTANCE])
LOADED = Reward.from_json(WHOLE.to_json())


def test_every_argument_of_a_reward_can_change():
    arguments = [name for name in inspect.signature(Reward).parameters if name not in ("version", "unknown")]
    assert list(RewardChanges.__annotations__) == arguments


@pytest.mark.parametrize("reward", [WHOLE, PLAIN, *map(load, BUILT_IN)], ids=lambda reward: reward.name)
def test_what_is_not_changed_stays_as_it_is(reward):
    assert reward.evolve(version="next") == reward.with_version("next")
    assert reward.evolve(version="next").to_json() == reward.with_version("next").to_json()


@examples(0.2)
@given(cases())
def test_any_reward_has_a_next_version(case):
    assert case.reward.evolve(version="next") == case.reward.with_version("next")


CHANGED = {
    "name": "grasping",
    "low": -1.0,
    "high": None,
    "scale": 3.0,
    "task": TASK.evolve(goal_ends=False),
    "allow": {"unbounded": "so be it"},
    "doc": "Grasp it.",
    "action": None,
    "shared": {"strongest": 4.0},
    "gate": None,
    "override": [],
}


@pytest.mark.parametrize("argument", CHANGED)
def test_one_argument_changes_alone(argument):
    given = {argument: CHANGED[argument]}
    expected = made(**given | {"version": "2"}) if argument != "name" else None
    other = WHOLE.evolve(version="2", **given)
    if expected is None:
        assert (other.name, other.fingerprint) == ("grasping", WHOLE.fingerprint)
    else:
        assert other == expected


def test_numbers_that_were_changed_stay_changed():
    tuned = WHOLE.with_params(near={"reach": 3.0}, strongest=4.0, air={"step": 0.5}).with_weights(
        effort=linear(0, -1, over=100)
    )
    assert tuned.evolve(version="2").params == tuned.params
    assert tuned.evolve(version="2", terms={"effort": None, "near": near}).params["near.reach"] == 2.0


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([near], ["near"]),
        ([*WHOLE.terms, steady], ["near", "effort", "calm", "steady"]),
        ({"steady": steady}, ["near", "effort", "calm", "steady"]),
        ({"effort": None}, ["near", "calm"]),
        ({"near": steady, "calm": None}, ["steady", "effort"]),
        ({}, ["near", "effort", "calm"]),
    ],
)
def test_terms_are_given_as_a_list_or_changed_by_name(terms, names):
    other = WHOLE.evolve(version="2", terms=terms, task=TASK.evolve(prefer=[]))
    assert [each.name for each in other.terms] == names


def test_a_term_of_the_same_name_takes_the_place_of_the_old_one():
    @term(name="near")
    def nearer(distance):
        return 1 - distance / 10

    other = WHOLE.evolve(version="2", terms={"near": nearer})
    assert [each.name for each in other.terms] == ["near", "effort", "calm"]
    assert other.score(distance=5.0, torque=0.0, contact=True, prev={"air": 0.0})["near"].score == 0.5


def test_what_only_removed_terms_read_is_dropped():
    plain = {"gate": None, "override": []}
    idle = Task(idle=TASK.idle)
    other = WHOLE.evolve(version="2", terms=[near], task=idle, **plain)
    assert list(other.fields) == ["distance"]
    assert not other.states
    assert dict(other.shared) == {}
    assert other.action is None
    assert other.task == idle
    assert other._bound.idle == {"distance": 3.0}
    assert other.inputs == ("distance",)
    kept = WHOLE.evolve(version="2", terms=[near], task=Task(facts=[slow_when_far]), **plain)
    assert list(kept.fields) == ["distance", "torque"]  # the fact is still about it
    assert kept.action == "torque"


def test_names_of_inputs_are_those_of_a_reward_that_never_had_the_removed_state():
    other = WHOLE.evolve(version="2", terms={"calm": None})
    assert other == made(version="2", terms=[near, effort], fields=[DISTANCE, TORQUE])


def test_fields_are_given_as_a_list_or_changed_by_name():
    longer, wind = Field("distance", low=0, high=20), Field("wind")

    @term
    def sheltered(wind):
        return -wind

    for fields in ({"distance": longer, "wind": wind}, [longer, TORQUE, CONTACT, AIR, wind]):
        other = WHOLE.evolve(version="2", fields=fields, terms=[*WHOLE.terms, sheltered])
        assert other.fields == {**WHOLE.fields, "distance": longer, "wind": wind}
        assert list(other.states) == ["air"]
    others = [{**WHOLE.fields, "wind": wind}, [*WHOLE.fields.values(), wind]]
    for fields in others:  # a state is there as the field that it is
        other = WHOLE.evolve(version="2", fields=fields, terms=[*WHOLE.terms, sheltered])
        assert other.states == WHOLE.states


@pytest.mark.parametrize("fields", [{"wind": Field("wind")}, [*FIELDS, Field("wind")]], ids=["mapping", "list"])
def test_a_new_field_must_be_read(fields):
    with pytest.raises(UnusedField, match="no term reads the declared field 'wind'"):
        WHOLE.evolve(version="2", fields=fields)


def test_a_changed_field_and_one_that_is_called_the_action_must_be_read():
    rest = {"task": None, "gate": None, "override": []}
    with pytest.raises(UnusedField, match="'torque'"):
        WHOLE.evolve(version="2", terms=[near], fields={"torque": Field("torque", low=1)}, **rest)
    with pytest.raises(UnusedField, match="'torque'"):
        WHOLE.evolve(version="2", terms=[near], action="torque", **rest)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({}, DefinitionError, "reward 'reaching' is version '1' already; the next version needs another label"),
        ({"version": ""}, DefinitionError, "a reward's version must be a printable string, not ''"),
        ({"version": "2", "term": [near]}, TypeError, "unexpected keyword argument 'term'. Did you mean 'terms'?"),
        ({"version": "2", "terms": []}, DefinitionError, "reward 'reaching' has no terms"),
        ({"version": "2", "terms": [at_goal]}, DefinitionError, "is not a term; decorate the function with @term"),
        ({"version": "2", "terms": {"near": at_goal}}, DefinitionError, "is not a term; decorate the function"),
        ({"version": "2", "terms": {"naer": None}}, UnknownParameter, "no term 'naer' to replace or remove. Did you"),
        ({"version": "2", "terms": {"naer": near}}, UnknownParameter, "no term 'naer' to replace or remove. Did you"),
        ({"version": "2", "terms": [*WHOLE.terms, near]}, DuplicateName, "has two terms called 'near'"),
        (
            {"version": "2", "fields": [DISTANCE, TORQUE]},
            UnknownField,
            "reads 'air', which the reward does not declare",
        ),
        ({"version": "2", "fields": {"far": DISTANCE}}, DefinitionError, "the field 'distance' under the name 'far'"),
        (
            {"version": "2", "fields": "distance"},
            DefinitionError,
            "fields= must be a list of Field(...), not 'distance'",
        ),
        ({"version": "2", "fields": None}, DefinitionError, "fields= must be a list of Field(...), not None"),
        (
            {"version": "2", "shared": {"strongest": 1.0, "weak": 2.0}},
            UnknownParameter,
            "keyword-only parameter 'weak'",
        ),
        ({"version": "2", "shared": {}}, UnknownParameter, "a term needs 'strongest'"),
        ({"version": "2", "low": 9.0}, DefinitionError, "low=9.0 is above high=5.0"),
        ({"version": "2", "task": Task(idle={"tork": 1.0})}, UnknownField, "idle= names 'tork'"),
        ({"version": "2", "task": {"goal": at_goal}}, DefinitionError, "is not a Task"),
        ({"version": "2", "goal": at_goal}, TypeError, "task=reward.task.evolve(goal=...)"),
    ],
)
def test_mistakes_are_told_as_by_the_reward_itself(changes, error, message):
    with pytest.raises(error, match=re.escape(message)):
        WHOLE.evolve(**{"version": "1", **changes})


def test_the_version_must_be_given():
    with pytest.raises(TypeError, match="version"):
        WHOLE.evolve(low=0.0)


def test_a_reward_that_was_loaded_has_no_next_version():
    with pytest.raises(
        DefinitionError, match=r"'reaching' was loaded from a specification.*the reward that your Python code"
    ):
        LOADED.evolve(version="2", low=-1.0)


def test_a_fact_calls_an_input_as_the_terms_do_that_were_kept():
    both = Reward("both", version="1", terms=[near, steady], fields=[DISTANCE])

    @fact
    def far(distance):
        return distance > 1

    other = both.select_terms("near").with_task(Task(facts=[far]))
    assert set(other._bound.known_inputs) == {"curr.distance"}
    assert Reward.from_json(other.to_json()) == other


# -- the fields of another reward ------------------------------------------------------------------------------------


def test_a_reward_is_made_with_the_fields_of_another():
    assert made(fields=WHOLE.fields) == WHOLE
    assert made(fields=WHOLE.fields).states == WHOLE.states
    assert made(fields={**WHOLE.fields, **WHOLE.states}) == WHOLE
    assert made(fields={field.name: field for field in FIELDS}) == WHOLE
    tuned = WHOLE.with_params(air={"step": 0.5})
    assert made(fields=tuned.fields).params["air.step"] == 0.5


def test_a_reward_is_made_with_the_gate_the_overrides_and_the_task_of_another():
    assert made(gate=WHOLE.gate, override=WHOLE.override, task=WHOLE.task) == WHOLE


def test_fields_are_read_by_name_and_do_not_change():
    assert dict(WHOLE.fields) == {"distance": DISTANCE, "torque": TORQUE, "contact": CONTACT, "air": AIR.field}
    assert repr(WHOLE.fields) == repr(dict(WHOLE.fields))
    with pytest.raises(TypeError):
        WHOLE.fields["distance"] = TORQUE
