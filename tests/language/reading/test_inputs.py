"""Parameters such as `self`, `obs` and `params` are records: their parts are fields, or parameters that terms share."""

import re
from types import SimpleNamespace

import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import UnknownField, UnknownParameter
from support.strategies import load


def read(text, *fields, shared=None, **options):
    """Return the plain function `f` of a text, and its reward; a field is given by its name, or as it is."""
    function = load(text)["f"]
    declared = [Field(each) if isinstance(each, str) else each for each in fields]
    made = term(**options)(function) if options else term(function)
    return function, Reward("r", version="1", terms=[made], fields=declared, shared=shared)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("def f(params): return params['speed'] - abs(params['angle'])", {"speed": 3.0, "angle": -1.0}),
        ("def f(obs):\n    speed = obs['speed']\n    return 2 * speed", {"speed": 1.5}),
        ("def f(info): return info.get('speed', 0.0) + info.get('angle')", {"speed": 1.0, "angle": 2.0}),
        ("def g(o): return o['speed'] ** 2\ndef f(o): return g(o) + o['angle']", {"speed": 2.0, "angle": 1.0}),
        ("def f(obs):\n    state = obs\n    return state['speed']", {"speed": 1.0}),
        ("def f(obs, unused): return obs['joint pos']", {"joint_pos": 1.0}),
        ("def f(o): return sum(w * o.get(k, 0) for k, w in {'a': 1.0, 'b': 2.0}.items())", {"a": 3.0, "b": 4.0}),
    ],
)
def test_a_part_of_a_record_is_a_field(text, row):
    function, reward = read(text, *row)
    record = {**row, "joint pos": row.get("joint_pos")}
    assert reward.score(**row).total == function(*[record] * function.__code__.co_argcount)


def test_attributes_of_self_are_fields_and_what_never_changes_is_shared():
    text = """
import math
def f(self, action):
    reach = math.exp(-self.distance / self.cfg.rewards.sigma)
    if self.crashed:
        return -1.0
    return self.scale * reach - 0.1 * action ** 2
"""
    function, reward = read(
        text, "distance", Field("crashed", flag=True), "action", shared={"sigma": 0.5, "scale": 2.0}
    )
    cfg = SimpleNamespace(rewards=SimpleNamespace(sigma=0.5))
    for crashed in (True, False):
        this = SimpleNamespace(distance=1.5, crashed=crashed, cfg=cfg, scale=2.0)
        assert reward.score(distance=1.5, crashed=crashed, action=0.3).total == function(this, 0.3)
    assert reward.terms[0].shared == ("sigma", "scale")
    assert reward.terms[0].reads == ("action", "distance", "crashed")
    changed = reward.with_params(scale=4.0)
    assert changed.score(distance=0.0, crashed=False, action=0.0).total == 4.0
    assert Reward.from_json(reward.to_json()).fingerprint == reward.fingerprint


def test_a_positional_parameter_may_be_a_shared_one():
    function, reward = read("def f(x, dt): return x * dt", "x", shared={"dt": 0.02})
    assert reward.score(x=3.0).total == function(3.0, 0.02)


def test_a_name_in_shared_that_nobody_reads_is_refused():
    with pytest.raises(UnknownParameter, match=r"nor reads it from a record\."):
        read("def f(self): return self.x", "x", shared={"dt": 0.02})


def test_a_shared_parameter_that_is_a_part_hides_no_constant_of_the_module():
    function, reward = read("dt = 10.0\ndef f(self): return self.x * self.dt + dt", "x", shared={"dt": 0.5})
    assert reward.score(x=2.0).total == function(SimpleNamespace(x=2.0, dt=0.5)) == 11.0


def test_the_longest_name_that_is_declared_counts():
    text = "def f(env): return env.scene['robot'].data.pos[0] - env.scene['ball'].data.pos[1]"
    _, reward = read(text, Field("robot_data_pos", length=3), Field("ball_data_pos", length=3))
    assert reward.score(robot_data_pos=[5, 0, 0], ball_data_pos=[0, 2, 0]).total == 3.0
    _, short = read("def f(env): return env.scene['robot'].data.pos[0]", Field("pos", length=3))
    assert short.score(pos=[5, 0, 0]).total == 5.0


def test_two_parts_are_not_one_field():
    with pytest.raises(ReadError) as caught:
        read("def f(player, ball): return player.x - ball.x", "x")
    assert "`player.x` and `ball.x` would both be the field 'x'" in str(caught.value)
    assert "Field('player_x') and Field('ball_x')" in str(caught.value)
    _, reward = read("def f(player, ball): return player.x - ball.x", "player_x", "ball_x")
    assert reward.score(player_x=3.0, ball_x=1.0).total == 2.0


def test_a_parameter_and_a_part_are_not_one_field():
    with pytest.raises(ReadError, match="`x` and `self.x` would both be the field 'x'"):
        read("def f(x, self): return x + self.x", "x")


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, self): return self.x",
        "def f(x, self):\n    x = self.x\n    return x",
        "def f(x, self):\n    def g(): return self.x\n    return g()",
    ],
)
def test_a_parameter_that_is_not_used_is_no_other_part(text):
    _, reward = read(text, "x")
    assert reward.score(x=3.0).total == 3.0


@pytest.mark.parametrize(
    ("text", "fields", "row"),
    [
        ("def f(physics): return physics.height() + 1", ["height"], {"height": 2.0}),
        ("def f(self): return self.state(0)[1]", [Field("state_0", length=3)], {"state_0": [1.0, 2.0, 3.0]}),
        ("def f(self): return self.state(0)[1]", [Field("state", length=3)], {"state": [1.0, 2.0, 3.0]}),
        ("def f(self, u): return 3 - self.cost(u)", ["cost"], {"cost": 1.0}),
        ("def f(sim): return sim.get_state().height", ["height"], {"height": 2.0}),
        ("def f(env): return env.cars[0].speed", ["cars_0_speed"], {"cars_0_speed": 2.0}),
        ("def f(env): return env.cars[0].speed", ["speed"], {"speed": 2.0}),
    ],
)
def test_what_a_method_of_a_record_measures_is_a_field(text, fields, row):
    _, reward = read(text, *fields)
    assert reward.score(**row).total in (2.0, 3.0)


def test_a_method_that_is_called_in_two_ways_is_two_fields():
    with pytest.raises(ReadError, match=r"`self.cost\(u\)` and `self.cost\(2 \* u\)` would both be the field 'cost'"):
        read("def f(self, u): return self.cost(u) - self.cost(2 * u)", "cost")


def test_a_default_agrees_with_what_stands_in_for_a_missing_field():
    text = "def f(info): return info.get('bonus', 1.0)"
    function, reward = read(text, Field("bonus", missing=1.0))
    assert reward.score().total == function({}) == 1.0
    with pytest.raises(ReadError, match=r"the default of 'bonus' is 1.0, and the field has missing=2.0"):
        read(text, Field("bonus", missing=2.0))


def test_prev_and_curr_are_read_by_key_too():
    _, reward = read("def f(prev, curr): return prev['x'] - curr['x']", "x")
    assert reward.score(prev={"x": 3.0}, curr={"x": 1.0}).total == 2.0


def test_a_part_is_what_it_is_after_the_step():
    functions = load("def f(self): return self.x\ndef g(prev, curr): return curr.x - prev.x")
    reward = Reward("r", version="1", terms=[term(functions["f"]), term(functions["g"])], fields=[Field("x")])
    assert reward.score(prev={"x": 1.0}, curr={"x": 5.0}).values == {"f": 5.0, "g": 4.0}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("def f(params): return params['sped'] + 1", "'params.sped'"),
        ("def f(self): return max(self.robot.sped, 0)", "'self.robot.sped'"),
        ("def f(obs): return obs[0]", "'obs'"),
        ("def f(obs): return sum(obs)", "'obs'"),
        ("def f(sped):\n    double = 2 * sped\n    return double", "'sped'"),
    ],
)
def test_a_part_that_is_not_declared_is_named_where_it_is_used(text, shown):
    with pytest.raises(UnknownField) as caught:
        read(text, "speed")
    first, line, known, *_ = str(caught.value).splitlines()
    assert f"reads {shown}, which the reward does not declare" in first
    assert "line " in line
    assert known.startswith("Declared fields: speed.")
    if "sped" in shown:
        assert "Did you mean 'speed'?" in known


def test_what_is_not_declared_matters_only_where_it_is_used():
    text = "def f(self, x):\n    done = self.lives < 1\n    info = {'done': done}\n    return 2 * x, info"
    function, reward = read(text, "x", part=0)
    assert reward.score(x=1.5).total == function(SimpleNamespace(lives=1), 1.5)[0]


def test_what_is_assigned_to_self_is_a_local_name():
    text = "def f(self, x):\n    self.reward = x * 2\n    self.reward += self.bonus\n    return self.reward"
    function, reward = read(text, "x", "bonus")
    assert reward.score(x=1.0, bonus=0.5).total == function(SimpleNamespace(bonus=0.5), 1.0) == 2.5


def test_what_is_read_from_self_is_what_it_was_before_the_step():
    text = """
def f(self, x):
    gain = self.last - x
    self.last = x
    self.steps += 1
    return gain - 0.01 * self.steps + self.last
"""
    function, reward = read(text, "x", "last", "steps")
    before = SimpleNamespace(last=3.0, steps=4.0)
    assert reward.score(x=1.0, last=3.0, steps=4.0).total == function(before, 1.0)


@pytest.mark.parametrize(
    "expression",
    [
        "getattr(self, 'x')",
        "getattr(self, 'x', 1.0)",
        "self.x if hasattr(self, 'x') else 0.0",
        "hasattr(self, 'x') + self.x",
    ],
)
def test_attributes_are_read_by_their_names(expression):
    function, reward = read(f"def f(self): return {expression}", "x")
    assert reward.score(x=2.5).total == function(SimpleNamespace(x=2.5))


def test_a_record_is_asked_for_its_parts():
    function, reward = read("def f(o): return (1.0 if 'x' in o else 0.0) + o['x']", "x")
    assert reward.score(x=2.5).total == function({"x": 2.5})


NOT_SAID = {
    "a key": (
        "def f(x, info):\n    if 'success' in info:\n        x += 10.0\n    return x\n",
        "'info.success' is there",
    ),
    "no key": ("def f(x, info): return x if 'success' not in info else 0.0", "'info.success' is there"),
    "an attribute": ("def f(x, env): return x if hasattr(env, 'goal') else 0.0", "'env.goal' is there"),
    "an attribute further down": ("def f(x, env): return x if hasattr(env.cfg, 'goal') else 0.0", "'env.cfg.goal' is"),
    "None": ("def f(self, x): return x if self.goal is None else 0.0", "'self.goal' is None"),
    "not None": ("def f(self, x): return x if self.goal is not None else 0.0", "'self.goal' is None"),
    "equal to None": ("def f(self, x): return x if self.goal == None else 0.0", "'self.goal' is None"),
    "a parameter": ("def f(x, goal): return x if goal is not None else 0.0", "'goal' is None"),
    "an entry with a default": ("def f(x, info): return x if info.get('goal') is None else 0.0", "'info.goal' is None"),
    "a branch": (
        "def f(self, x):\n    if self.goal is None:\n        return 0.0\n    return x\n",
        "'self.goal' is None",
    ),
}


@pytest.mark.parametrize(("text", "asked"), NOT_SAID.values(), ids=NOT_SAID)
def test_whether_something_undeclared_is_there_is_refused(text, asked):
    with pytest.raises(UnknownField) as raised:
        read(text, "x")
    message = str(raised.value)
    assert f"asks whether {asked}" in message
    assert re.search(r"declare Field\('(goal|success)'\).*test a flag that is declared; otherwise drop", message)


SAID = {
    "None": "def f(self, x):\n    if self.goal is None:\n        return 0.0\n    return x + self.goal.far\n",
    "a key": "def f(o, x): return x + o['goal']['far'] if 'goal' in o else x",
    "an attribute": "def f(self, x): return x + self.goal.far if hasattr(self, 'goal') else x",
    "a parameter": "def f(x, goal):\n    if goal is not None:\n        x += goal.far\n    return x\n",
}


@pytest.mark.parametrize("text", SAID.values(), ids=SAID)
def test_what_has_declared_parts_is_there(text):
    function, reward = read(text, "x", "far")
    goal = SimpleNamespace(far=3.0)
    owner = {"goal": {"far": 3.0}} if "(o, x)" in text else SimpleNamespace(goal=goal)
    passed = (2.0, goal) if "(x, goal)" in text else (owner, 2.0)
    assert reward.score(x=2.0, far=3.0).total == function(*passed) == 5.0


RAISES = [
    "def f(self, x):\n    assert self.goal is not None\n    return x\n",
    "def f(self, x):\n    if self.goal is None:\n        raise ValueError('reset first')\n    return x\n",
]


@pytest.mark.parametrize("text", RAISES)
def test_a_note_says_where_a_function_raises_for_what_is_not_declared(text):
    function, reward = read(text, "x")
    assert reward.score(x=2.0).total == function(SimpleNamespace(goal=1.0), 2.0) == 2.0
    assert [note.what for note in reward.notes] == [
        "`self.goal` is not declared, and taken not to be None: the function raises where it is."
    ]


def test_a_method_of_a_class_is_a_term_as_it_stands():
    text = "class Env:\n    def f(self, action):\n        return self.x - action\nf = Env.f"
    function, reward = read(text, "x", "action")
    assert reward.score(x=3.0, action=1.0).total == function(SimpleNamespace(x=3.0), 1.0)


def test_objects_in_a_list_are_declared_part_by_part():
    text = "def f(x, world):\n    total = x\n    for each in world.landmarks:\n        total += each.size\n    return total\n"
    with pytest.raises(UnknownField, match=r"declare what is read of each one: Field\('landmarks_0_pos'"):
        Reward("r", version="1", terms=[term(load(text)["f"])], fields=[Field("x")])


def test_an_entry_of_a_column_is_read_by_both_indices():
    function = load("def f(history):\n    return history['price', -1] - 2 * history['price', 0]\n")["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("price", length=3)])
    columns = {("price", -1): 7.0, ("price", 0): 1.5}
    assert reward.score(price=[1.5, 0.0, 7.0]).total == function(columns) == 4.0


def test_the_items_of_a_shared_config_are_read():
    text = (
        "def f(self):\n    total = 0.0\n    for name, scale in self.cfg.scales.items():\n"
        "        total += scale * (self.x if name == 'near' else 1.0)\n"
        "    return total + sum(self.cfg.scales.values()) + len(self.cfg.scales.keys())\n"
    )
    function = load(text)["f"]
    scales = {"near": 2.0, "calm": -0.5}
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("x")], shared={"scales": scales})
    for x in (-1.0, 0.25):
        env = SimpleNamespace(x=x, cfg=SimpleNamespace(scales=scales))
        assert reward.score(x=x).total == function(env)


@pytest.mark.parametrize(
    ("text", "options", "entry"),
    [
        ("def f(self): return self.pos.x", {}, "`self.pos[0]`"),
        ("def f(pos): return pos.y", {}, "`pos[1]`"),
        ("def f(self): return self.pos.y", {"batched": True}, "`self.pos[..., 1]`"),
    ],
)
def test_a_coordinate_of_a_vector_is_told_its_position(text, options, entry):
    with pytest.raises(ReadError) as caught:
        read(text, Field("pos", length=2), **options)
    assert f"Of a vector, write its position: {entry}. Or declare Field('pos_" in str(caught.value)
