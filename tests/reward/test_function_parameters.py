"""What the parameters of a function are: a field, a knob, a constant, or what the reward supplies."""

import math
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import (
    DefinitionError,
    Field,
    PlauditError,
    Reward,
    State,
    Task,
    fact,
    term,
)
from plaudit.errors import DuplicateName, ReadError, UnknownField, UnknownParameter
from plaudit.schedules import linear

ROBOT = SimpleNamespace(name="robot", gain=3.0)
ROBOT_SUMS = np.zeros(2)


@term
def contacts(env, threshold=1.0, asset=ROBOT, action=None, weight=2.0):
    force = env.scene[asset.name].data.force
    if action is None:
        action = env.last_action
    return weight * (force > threshold) + asset.gain * action


FORCE, ACTION, LAST = Field("force"), Field("action"), Field("last_action")


def made(*terms, fields, **options):
    return Reward("made", version="1", terms=terms, fields=fields, **options)


def test_a_positional_default_is_a_knob_if_it_is_a_number_and_otherwise_a_constant():
    reward = made(contacts, fields=[FORCE, LAST])
    assert dict(reward.params) == {"contacts.threshold": 1.0, "contacts.weight_": 2.0, "contacts.weight": 1.0}
    assert reward.score(force=3.0, last_action=2.0).total == 2.0 + 3.0 * 2.0
    assert reward.with_params(contacts={"threshold": 5.0}).score(force=3.0, last_action=2.0).total == 6.0


def test_a_declared_field_takes_the_place_of_a_default():
    reward = made(contacts, fields=[FORCE, ACTION, Field("threshold")])
    assert dict(reward.params) == {"contacts.weight_": 2.0, "contacts.weight": 1.0}
    assert set(reward.inputs) == {"force", "threshold", "action"}
    assert reward.score(force=3.0, action=2.0, threshold=5.0).total == 6.0
    assert {"action", "threshold"} <= set(reward.terms[0].reads)


def test_the_default_is_back_where_the_field_is_not_declared():
    first = made(contacts, fields=[FORCE, ACTION, Field("threshold")]).with_params(contacts={"weight_": 7.0})
    second = first.evolve(version="2", fields=[FORCE, LAST])
    assert dict(second.params) == {"contacts.threshold": 1.0, "contacts.weight_": 7.0, "contacts.weight": 1.0}


def test_a_value_that_was_given_is_no_field():
    hard = contacts.with_(threshold=5.0, action=1.0, name="hard")
    reward = made(hard, contacts, fields=[FORCE, ACTION, Field("threshold")])
    assert dict(reward.terms[0].knobs) == {"threshold": 5.0, "action": 1.0, "weight_": 2.0}
    signal = reward.score(force=3.0, action=2.0, threshold=1.0)
    assert signal.values == {"hard": 3.0, "contacts": 8.0}


@pytest.mark.parametrize("default", [True, 2, np.float32(0.5), np.array([1.0, 2.0])], ids=str)
def test_bools_integers_and_arrays_are_knobs(default):
    def weighted(x, gain=default):
        return np.sum(x * gain)

    assert set(term(weighted).knobs) == {"gain"}


TABLES = {
    "a tuple": (0.5, 2.0),
    "a list": [0.5, 2.0],
    "a dict": {0: 0.5, 1: 2.0},
    "an infinite array": np.array([0.5, 2.0, math.inf]),
}


@pytest.mark.parametrize("default", TABLES.values(), ids=TABLES)
def test_tables_are_constants(default):
    def gain(x, table=default):
        return table[1] * x

    reward = made(term(gain), fields=[Field("x")])
    assert set(reward.params) == {"gain.weight"}
    assert reward.score(x=3.0).total == gain(3.0)


def test_a_default_that_may_change_is_read_as_it_was():
    table = [0.5, 2.0]

    @term
    def gain(x, table=table):
        return table[1] * x

    table[1] = 5.0
    assert made(gain, fields=[Field("x")]).score(x=3.0).total == 6.0


def test_a_default_of_infinity_is_a_constant():
    @term
    def held(x, top=math.inf, *, low=-math.inf):
        return max(min(x, top), low)

    reward = made(held, held.with_(top=2.0, low=0.0, name="close"), fields=[Field("x")])
    assert reward.score(x=5.0).values == {"held": 5.0, "close": 2.0}


def test_prev_curr_and_terminal_are_data_whatever_their_default():
    @term
    def change(prev=None, curr=None, terminal=False):
        return 0.0 if terminal else curr.x - prev.x

    reward = made(change, fields=[Field("x")])
    assert set(reward.inputs) == {"prev.x", "curr.x", "terminal"}


def test_the_names_of_a_term_s_own_numbers_may_be_knobs():
    @term(weight=-1.0, low=-10.0)
    def effort(force, *, weight=0.5, low=0.0, high=3.0):
        return weight * min(max(force, low), high)

    reward = made(effort, fields=[FORCE])
    assert reward.params["effort.weight"] == -1.0
    assert reward.params["effort.weight_"] == 0.5
    other = reward.with_params(effort={"weight_": 2.0, "high_": 4.0, "weight": 1.0})
    assert other.score(force=9.0).total == 8.0
    assert other.terms[0](9.0) == 8.0
    assert Reward.from_json(other.to_json()).with_params({"effort.weight_": 1.0}).score(force=9.0).total == 4.0
    with pytest.raises(DefinitionError, match="the parameters 'low' and 'low_'; rename one"):
        term(with_both)


def with_both(x, *, low=0.0, low_=1.0):
    return x + low + low_


def along(x, axis=-1, scale=2):
    return scale * np.sum(x, axis=axis)


def first(x, count=2, scale=2):
    return scale * sum(x[at] for at in range(count))


def last(x, at=-1, scale=2):
    return scale * x[at]


def size(x, whole=True, scale=2):
    if whole:
        x = np.linalg.norm(x)
    return scale * np.sum(x)


@pytest.mark.parametrize("function", [along, first, last, size])
def test_an_integer_or_bool_that_must_be_known_is_a_constant(function):
    reward = made(term(function), fields=[Field("x", length=3)])
    assert set(reward.params) == {f"{function.__name__}.scale", f"{function.__name__}.weight"}
    assert reward.score(x=[3.0, 4.0, 12.0]).total == function(np.array([3.0, 4.0, 12.0]))


def test_an_integer_that_must_be_known_may_have_another_value():
    reward = made(term(first).with_(count=3), fields=[Field("x", length=3)])
    assert reward.score(x=[3.0, 4.0, 12.0]).total == 38.0
    assert reward.terms[0].with_(count=1)(np.array([3.0, 4.0, 12.0])) == 6.0


class Walk:
    """What `__init__` gives an object is the same in every step."""

    def __init__(self, **given):
        vars(self).update(given)

    def over_a_count(self):
        return self.gain * sum(self.x[at] for at in range(self.count))

    def along_an_axis(self):
        return self.gain * np.sum(np.max(self.x, axis=self.axis))

    def of_another_shape(self):
        return self.gain * np.mean(self.x if not self.on else self.history)

    def with_a_field_of_its_own(self):
        total = self.gain * self.x[0]
        if self.on:
            total += self.contacts
        return total

    def on_some_paths(self):
        if self.on:
            end = np.linalg.norm(self.x)
        elif not self.on:
            end = self.x[1]
        return self.gain * end

    def with_its_own(self, first=1):
        return self.gain * sum(self.x[at] for at in range(first, self.count))


SWITCHES = {
    "over_a_count": {"count": 2},
    "along_an_axis": {"axis": -1},
    "of_another_shape": {"on": False},
    "with_a_field_of_its_own": {"on": False},
    "on_some_paths": {"on": True},
    "with_its_own": {"count": 3},
}


@pytest.mark.parametrize(("method", "switch"), SWITCHES.items(), ids=SWITCHES)
def test_a_shared_integer_or_bool_that_must_be_known_is_a_constant(method, switch):
    reward = made(term(getattr(Walk, method)), fields=[Field("x", length=3)], shared={**switch, "gain": 2})
    walk = Walk(x=np.array([3.0, 4.0, 12.0]), gain=2, **switch)
    assert reward.score(x=walk.x).total == getattr(walk, method)()
    assert dict(reward.shared) == {"gain": 2.0}
    assert dict(reward.constants) == switch
    again = reward.evolve(version="2")
    assert again.fingerprint == Reward.from_json(reward.to_json()).fingerprint == reward.fingerprint
    (name,) = switch
    with pytest.raises(UnknownParameter, match=rf"evolve\(shared={{'{name}'"):
        reward.with_params({name: 1})


def test_a_shared_constant_is_dropped_with_the_term_that_needs_it():
    count, x = term(Walk.over_a_count), Field("x", length=3)
    plain = term(Walk.with_a_field_of_its_own, name="plain")
    reward = made(count, plain, fields=[x, Field("contacts")], shared={"count": 2, "gain": 2, "on": True})
    assert dict(reward.shared) == {"gain": 2.0, "on": True}  # what can be a parameter is one
    later = reward.evolve(version="2", terms={"over_a_count": None})
    assert dict(later.constants) == {}
    assert later.score(x=[1.0, 0.0, 0.0], contacts=3.0).total == 5.0


def test_a_shared_number_with_a_fraction_is_no_count():
    with pytest.raises(ReadError, match="range"):
        made(term(Walk.over_a_count), fields=[Field("x", length=3)], shared={"count": 2.0, "gain": 2})


def test_the_scale_stays_a_parameter():
    shared = {"count": 2, "gain": 1}
    reward = made(term(Walk.over_a_count), fields=[Field("x", length=3)], shared=shared, scale="gain")
    assert dict(reward.shared) == {"gain": 1.0}


def test_what_cannot_be_read_with_constants_either_is_refused_as_it_was():
    def early(x, scale=2, sparse=True):
        while x > scale:
            x -= 1
        return x

    with pytest.raises(ReadError, match="while"):
        term(early)


def test_an_index_that_is_a_knob_counts_from_the_start():
    def pick(x, *, at=-1):
        return x[at]

    with pytest.raises(ReadError, match=r"the parameter 'pick.at', and it is -1"):
        made(term(pick), fields=[Field("x", length=3)])


# -- params and with_ ----------------------------------------------------------------------------------------------


def near(env, reach, side, *, gain=1.0):
    return gain * (reach - env.distance) if side == "left" else 0.0


def test_params_give_values_to_any_parameter():
    made_ = term(params={"reach": 2.0, "side": "left", "gain": 3.0}, name="left_hand")(near)
    reward = made(made_, fields=[Field("distance")])
    assert set(reward.params) == {"left_hand.reach", "left_hand.gain", "left_hand.weight"}
    assert reward.score(distance=0.5).total == 4.5
    assert made_(SimpleNamespace(distance=0.5)) == 4.5


def test_a_plain_function_is_called_with_the_values_of_its_term():
    hard = contacts.with_(threshold=5.0, asset=SimpleNamespace(name="robot", gain=1.0), name="hard")
    data = SimpleNamespace(data=SimpleNamespace(force=6.0))
    env = SimpleNamespace(scene={"robot": data}, last_action=1.0)
    assert hard(env) == 3.0
    assert hard(env, 7.0) == 1.0
    assert hard.with_(weight_=10.0)(env) == 11.0


def test_with_keeps_what_was_set_before():
    base = contacts.with_(name="base", weight=-2.0, weight_=5.0)
    tuned = made(base, fields=[FORCE, LAST]).with_params(base={"threshold": 9.0}).terms[0]
    other = tuned.with_(name="other", low=-1.0)
    assert (other.weight, other.low, dict(other.knobs)) == (-2.0, -1.0, {"threshold": 9.0, "weight_": 5.0})
    assert other.with_(threshold=linear(0, 1, over=10)).params["other.threshold.end"] == 1.0


WRONG = {
    "a misspelt value": (lambda: contacts.with_(thresold=2), UnknownParameter, "Did you mean 'threshold'"),
    "a misspelt param": (lambda: term(params={"reech": 1})(near), UnknownParameter, r"near\(env, reach, side, gain\)"),
    "params in a list": (lambda: term(params=[1.0])(near), DefinitionError, "must map names of parameters"),
    "NaN": (lambda: contacts.with_(threshold=math.nan), DefinitionError, "finite"),
    "one name, other values": (
        lambda: made(contacts, contacts.with_(threshold=5.0), fields=[FORCE, LAST]),
        DuplicateName,
        r"of one function with other values; .* with_\(threshold=5.0, name='contacts_2'\)",
    ),
    "one name, one object": (
        lambda: made(contacts, contacts, fields=[FORCE, LAST]),
        DuplicateName,
        r"of one function; .* with_\(name='contacts_2'\)",
    ),
    "a knob in shared": (
        lambda: made(contacts, fields=[FORCE, LAST], shared={"threshold": 2.0}),
        UnknownParameter,
        "'threshold' in shared= has a default .* 'contacts.threshold'",
    ),
    "no function": (
        lambda: Reward.from_json(made(contacts, fields=[FORCE, LAST]).to_json()).terms[0].with_(name="x"),
        DefinitionError,
        "loaded from a specification",
    ),
    "a default that is no value": (
        lambda: made(term(broken), fields=[Field("x")]),
        PlauditError,
        "a number is needed here, and this is an object of the class object",
    ),
}


def broken(x, scale=object()):  # noqa: B008 - the mistake
    return x * scale


@pytest.mark.parametrize(("call", "error", "match"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_one_clear_message(call, error, match):
    with pytest.raises(error, match=match):
        call()


def collect(x, seen=[]):  # noqa: B006 - the mistake
    seen.append(x)
    return len(seen)


def look_up(x, cache={}):  # noqa: B006 - the mistake
    cache["x"] = x
    return x


def accumulate(x, sums=ROBOT_SUMS):
    sums += x
    return sums.sum()


def overwrite(x, sums=ROBOT_SUMS):
    sums[0] = x
    return sums.sum()


def raise_gain(x, robot=ROBOT):
    robot.gain = robot.gain + x
    return robot.gain


@pytest.mark.parametrize("function", [collect, look_up, accumulate, overwrite, raise_gain])
def test_a_default_that_is_changed_in_place_is_memory(function):
    with pytest.raises(ReadError, match=r"\n.*To keep a value from step to step, declare State"):
        made(term(function), fields=[Field("x")])


def test_a_parameter_that_is_no_field_may_be_given_a_value():
    def reach(distance, far):
        return distance < far

    with pytest.raises(
        UnknownField, match=r"\nDeclare Field\('far'\), or give it a value with term\(params=\{'far': ...\}"
    ):
        made(term(reach), fields=[Field("distance")])
    assert made(term(params={"far": 2.0})(reach), fields=[Field("distance")]).score(distance=1.0).total == 1.0
    with pytest.raises(UnknownField, match="Did you mean 'fare'\\?$"):  # a misspelt name is no constant
        made(term(reach), fields=[Field("distance"), Field("fare")])


# -- gates, overrides, states and facts ----------------------------------------------------------------------------


def gate(x, reach=2.0, mode="hard"):
    return x < reach if mode == "hard" else 1.0


def fell(x, floor=-1.0):
    return x < floor


@term
def keep(prev, average):
    return average - prev.average


def fade(prev, x, share=0.5):
    return share * prev.average + (1 - share) * x


def build(*more):
    state = State("average", reset=0.0, update=fade)
    fields = [Field("x"), state, *more]
    return made(keep, fields=fields, gate=gate, override=[(fell, -5.0)], task=Task(facts=[fact(low_enough)]))


def low_enough(x, most=10.0):
    return x <= most


def test_gates_overrides_and_states_have_knobs_with_positional_defaults():
    reward = build()
    assert {"gate.reach", "fell.floor", "average.share"} <= set(reward.params)
    assert reward.score(prev={"average": 0.0}, curr={}, x=1.0).total == 0.5
    assert reward.score(prev={"average": 0.0}, curr={}, x=3.0).total == 0.0
    assert reward.score(prev={"average": 0.0}, curr={}, x=-2.0).total == -5.0


def test_declared_fields_take_the_place_of_the_defaults_of_gates_overrides_and_states():
    reward = build(Field("reach"), Field("floor"), Field("share"))
    assert not {"gate.reach", "fell.floor", "average.share"} & set(reward.params)
    given = {"reach": 5.0, "floor": -9.0, "share": 0.0}
    assert reward.score(prev={"average": 0.0}, curr={}, x=3.0, **given).total == 3.0


def test_the_default_of_a_fact_and_a_field_of_one_name_are_refused():
    with pytest.raises(ReadError, match="'most' has a default, and there is a field of this name"):
        made(term(lone), term(highest), fields=[Field("x"), Field("most")], task=Task(facts=[fact(low_enough)]))


def test_a_fact_with_a_positional_default_is_saved_as_text(tmp_path):
    path = tmp_path / "task.toml"
    Task(facts=[fact(low_enough)]).save(path)
    loaded = Task.load(path)
    assert loaded == Task(facts=[fact(low_enough)])
    reward = made(term(lone), fields=[Field("x", low=0, high=20)], task=loaded)
    guarded = reward.compile("python", guard="facts", on_bad="mask")
    assert guarded({"x": 10.0}).ok
    assert not guarded({"x": 11.0}).ok


def lone(x):
    return x


def highest(most):
    return most


# -- what a reward supplies ----------------------------------------------------------------------------------------


class Walker:
    @term
    def pays(self, x):
        if self.cfg.mode == "sparse":
            return self.cfg["gain"] * x
        return min(x, self.cfg.rewards.top)


def test_shared_takes_strings_nested_mappings_and_infinity():
    settings = {"mode": "sparse", "gain": 3, "rewards": {"top": math.inf}}
    reward = made(Walker.pays, fields=[Field("x")], shared={"cfg": settings})
    settings["gain"] = 5
    assert reward.score(x=2.0).total == 6.0
    assert dict(reward.params) == {"pays.weight": 1.0}
    dense = reward.evolve(version="2", shared={"cfg": {**settings, "mode": "dense"}})
    assert dense.score(x=2.0).total == 2.0
    assert dense.fingerprint != reward.fingerprint
    assert reward.evolve(version="3", high=3.0).score(x=2.0).total == 3.0


def test_a_reward_with_shared_constants_is_saved_and_loaded():
    reward = made(Walker.pays, fields=[Field("x")], shared={"cfg": {"mode": "sparse", "gain": 3}})
    loaded = Reward.from_json(reward.to_json())
    assert loaded == reward
    assert loaded.score(x=2.0) == reward.score(x=2.0)


@term
def either(x, *, mode, top, gain):
    return gain * x if mode == "plain" else min(x, top)


def test_a_keyword_only_parameter_without_a_default_may_be_a_shared_constant():
    shared = {"mode": "held", "top": math.inf, "gain": 2.0}
    reward = made(either, fields=[Field("x")], shared=shared)
    assert (dict(reward.shared), dict(reward.constants)) == ({"gain": 2.0}, {"mode": "held", "top": math.inf})
    assert reward.score(x=4.0).total == 4.0
    assert reward.select_terms("either").score(x=4.0).total == 4.0
    with pytest.raises(UnknownParameter, match=r"'mode' is a constant .* evolve\(shared=\{'mode': ...\}\)"):
        reward.with_params(mode="plain")
    plain = reward.evolve(version="2", shared={**shared, "mode": "plain"})
    assert plain.score(x=4.0).total == 8.0


def test_an_entry_that_a_shared_mapping_lacks_is_named():
    with pytest.raises(PlauditError, match=r"'self.cfg.mode' does not exist.*Did you mean 'mood'"):
        made(Walker.pays, fields=[Field("x")], shared={"cfg": {"mood": "sparse"}})


def test_what_cannot_be_read_is_told_before_a_shared_name_that_only_it_reads():
    def cost(env):
        return np.median(env.torques) * env.impact_weight

    def paid(env):
        return cost(env) * env.torques[0]

    with pytest.raises(ReadError, match=r"`np.median` of numpy cannot be read"):
        made(term(paid), fields=[Field("torques", length=3)], shared={"impact_weight": 2.0, "risk_weight": 1.0})


def test_a_misspelt_shared_name_is_compared_with_what_is_not_given():
    def paid(self):
        return self.force * self.sigma

    with pytest.raises(UnknownParameter, match="'sigmma'.*Did you mean 'sigma'"):
        made(term(paid), fields=[FORCE], shared={"sigmma": 2.0})
    with pytest.raises(UnknownParameter, match="'sigma_2'(?!.*Did you mean)"):
        made(term(paid), fields=[FORCE], shared={"sigma": 2.0, "sigma_2": 2.0})


# -- branches that what is shared leaves out -----------------------------------------------------------------------


class Speed(Enum):
    SLOW, FAST = 1, 2


def forever(x):
    while x > 0:
        x -= 1
    return x


class Branches:
    def __init__(self, **parts):
        vars(self).update(parts)

    def string(self):
        if self.cfg.mode == "sparse":
            return forever(self.x)
        if self.cfg.mode == "dense":
            return self.gain * self.x
        return forever(-self.x)

    def switch(self):
        paid = self.x
        if self.use:
            paid = forever(paid)
        return paid

    def early(self):
        if not self.use:
            return self.x
        return forever(self.x)

    def none(self):
        if self.schedule is not None:
            return forever(self.x * self.schedule)
        return self.x

    def none_early(self):
        if self.schedule is None:
            return self.x
        self.step = self.schedule(lambda *x: x)
        return forever(self.step)

    def choice(self):
        return forever(self.x) if self.speed is Speed.FAST else self.x

    def several(self):
        held = self.x if self.speed in (Speed.SLOW, Speed.FAST) and self.mode != "b" else forever(self.x)
        return held + (self.use and forever(self.x))

    def case(self):
        match self.mode:
            case "a":
                return forever(self.x)
            case "b":
                return 2 * self.x
        return 0.0 * self.x

    def of_an_object(self):
        return self.cfg.gain * self.x if self.cfg.speed != Speed.FAST else forever(self.x)

    def keyword(self, *, mode):
        return forever(self.x) if mode == "a" else 3 * self.x


def gained(prev, curr, mode):
    return forever(prev.x) if mode == "a" else curr.x - prev.x


UNTAKEN = {
    "a string": (Branches.string, {"cfg": SimpleNamespace(mode="dense"), "gain": 2.5}),
    "a bool": (Branches.switch, {"use": False}),
    "a bool and a return": (Branches.early, {"use": False}),
    "None": (Branches.none, {"schedule": None}),
    "None and a return": (Branches.none_early, {"schedule": None}),
    "a member": (Branches.choice, {"speed": Speed.SLOW}),
    "several": (Branches.several, {"speed": Speed.FAST, "mode": "a", "use": False}),
    "a match": (Branches.case, {"mode": "b"}),
    "no case of a match": (Branches.case, {"mode": "c"}),
    "an object": (Branches.of_an_object, {"cfg": SimpleNamespace(speed=Speed.SLOW, gain=3.0)}),
}


@pytest.mark.parametrize(("method", "shared"), UNTAKEN.values(), ids=UNTAKEN)
def test_a_branch_that_what_is_shared_leaves_out_is_not_read(method, shared):
    reward = made(term(method), fields=[Field("x")], shared=shared)
    assert reward.score(x=-1.5).total == method(Branches(x=-1.5, **shared))
    assert reward.evolve(version="2", low=-0.5).score(x=-1.5).total == max(method(Branches(x=-1.5, **shared)), -0.5)


def test_of_a_keyword_and_of_a_transition_too():
    assert made(term(Branches.keyword), fields=[Field("x")], shared={"mode": "b"}).score(x=2.0).total == 6.0
    reward = made(term(gained), fields=[Field("x")], shared={"mode": "b"})
    assert reward.score(prev={"x": 1.0}, curr={"x": 4.0}).total == 3.0


@pytest.mark.parametrize(
    ("method", "shared"),
    [(Branches.string, {"cfg": {"mode": "sparse"}}), (Branches.switch, {"use": True}), (Branches.none, {})],
)
def test_a_branch_that_is_taken_is_refused_by_the_reward(method, shared):
    fields = [Field("x"), *([] if shared else [Field("schedule")])]
    with pytest.raises(ReadError, match=r"'forever' cannot be read: a loop is unrolled"):
        made(term(method), fields=fields, shared=shared)


def test_the_same_term_serves_rewards_that_share_other_constants():
    function = term(Branches.string)
    shared = {"cfg": {"mode": "dense"}, "gain": 2.0}
    dense = made(function, fields=[Field("x")], shared=shared)
    with pytest.raises(ReadError, match="forever"):
        dense.evolve(version="2", shared={**shared, "cfg": {"mode": "sparse"}})
    assert dense.evolve(version="2", shared={**shared, "gain": 3.0}).score(x=2.0).total == 6.0
    with pytest.raises(UnknownField, match="'self.gain'"):
        made(function, fields=[Field("x")], shared={"cfg": {"mode": "dense"}})


def test_what_no_constant_decides_is_refused_where_the_term_is_made():
    def ordered(x):
        return forever(x) if x > 0 else x

    with pytest.raises(ReadError, match="forever"):
        term(ordered)
