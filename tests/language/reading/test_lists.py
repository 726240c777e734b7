"""Lists of objects: as many as have declared parts, in every kind of loop, and told apart by `is`."""

from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import DefinitionError, UnknownField
from support.strategies import load

AGENTS, MARKS = 3, 2
FIELDS = [
    *(
        Field(f"agents_{at}_{name}", **shape)
        for at in range(AGENTS)
        for name, shape in (("pos", {"length": 2}), ("x", {}))
    ),
    *(Field(f"agents_{at}_alive", flag=True) for at in range(AGENTS)),
    *(Field(f"marks_{at}_pos", length=2) for at in range(MARKS)),
]


def make_world(row):
    """Return the objects whose parts a row has."""

    def make(name, at):
        parts = {
            key.removeprefix(f"{name}_{at}_"): value for key, value in row.items() if key.startswith(f"{name}_{at}_")
        }
        return SimpleNamespace(
            **{key: np.array(part) if isinstance(part, list) else part for key, part in parts.items()}
        )

    return SimpleNamespace(
        agents=[make("agents", at) for at in range(AGENTS)], marks=tuple(make("marks", at) for at in range(MARKS))
    )


def draw_rows(fields, count=20):
    random = np.random.default_rng(5)

    def draw(field):
        if field.kind == "flag":
            return bool(random.random() > 0.5)
        return random.normal(size=field.shape).tolist() if field.shape else float(random.normal())

    return [{field.name: draw(field) for field in fields} for _ in range(count)]


def read(text, fields, **options):
    function = load(f"import numpy as np\n{text}\n")["f"]
    given = dict.fromkeys(each.name for each in fields)
    example = {name: next(each for each in fields if each.name == name) for name in given}
    return function, Reward.from_functions({term(**options)(function): 1.0}, example=example, name="r")


LOOPS = {
    "for": "total = 0\nfor a in world.agents:\n    total += np.linalg.norm(a.pos - world.marks[0].pos)\nreturn total",
    "nested": "total = 0\nfor a in world.agents:\n    total -= min(np.linalg.norm(a.pos - m.pos) for m in world.marks)\nreturn total",
    "sum": "return sum(a.x for a in world.agents)",
    "a list of parts": "return np.mean([a.x for a in world.agents])",
    "an array of parts": "return np.array([a.pos for a in world.agents]).mean(axis=0)[1]",
    "a filter by data": "return sum(a.x for a in world.agents if a.alive)",
    "max of two loops": "return max(a.x * m.pos[0] for a in world.agents for m in world.marks)",
    "any": "return 1.0 if any(a.x > 1 for a in world.agents) else 0.0",
    "enumerate": "return sum(i * a.x for i, a in enumerate(world.agents, 1))",
    "zip": "return sum(w * a.x for a, w in zip(world.agents, (3.0, 2.0, 0.5)))",
    "zip of slices": "return sum(a.x * m.pos[1] for a, m in zip(world.agents[1:], world.marks))",
    "enumerate of zip": "return sum(i * w * a.x for i, (a, w) in enumerate(zip(world.agents, (3.0, 2.0, 0.5))))",
    "reversed": "total = 0\nfor a in reversed(world.agents):\n    total = 2 * total + a.x\nreturn total",
    "list": "agents = list(world.agents)\nreturn sum(a.x for a in agents) / len(agents)",
    "indices": "total = 0\nfor i in range(len(world.agents)):\n    total += i * world.agents[i].x\nreturn total",
    "each pair": "total = 0\nfor i, a in enumerate(world.agents):\n    for b in world.agents[i + 1:]:\n        total = 3 * total + a.x - b.x\nreturn total",
    "is": "total = 0\nfor a in world.agents:\n    for b in world.agents:\n        if a is b:\n            continue\n        total += a.x * b.pos[0]\nreturn total",
    "is not": "return sum(a.x * b.pos[1] for a in world.agents for b in world.agents if b is not a)",
    "the others": "a = world.agents[1]\nothers = [b for b in world.agents if b is not a]\nreturn sum((i + 1) * b.x for i, b in enumerate(others)) - a.x",
    "appended": "others = []\nfor b in world.agents:\n    if b is not world.agents[0]:\n        others.append(b)\nreturn others[1].x - others[0].x",
    "unpacked": "first, *rest = world.agents\nleft, right = world.marks\nreturn first.x * left.pos[0] - sum(a.x for a in rest) * right.pos[0]",
    "stopped by data": "total = 0\nfor a in world.agents:\n    if not a.alive:\n        break\n    total += a.x\nreturn total",
    "returned by data": "for a in world.agents:\n    if a.alive:\n        return a.x\nreturn 7.0",
    "else": "for a in world.agents:\n    if a.alive:\n        total = 1.0\n        break\nelse:\n    total = -1.0\nreturn total",
    "parts by key of getattr": "return sum(getattr(a, name) for a in world.agents for name in ('x',))",
    "of what a helper picks": "return sum(g(a, world) for a in world.agents)",
    "not none": "return sum(a.x for a in world.agents if a is not None)",
    "a method that only converts": "return sum(a.pos.copy()[0] for a in world.agents)",
}  # fmt: skip

HELPER = (
    "def g(agent, world):\n    return sum(agent.x * other.pos[0] for other in world.agents if other is not agent)\n"
)


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_a_loop_over_objects_is_what_python_computes(body):
    indented = body.replace("\n", "\n    ")
    function, reward = read(f"{HELPER}def f(world):\n    {indented}", FIELDS)
    for row in draw_rows(reward.fields.values()):
        full = {**draw_rows(FIELDS, 1)[0], **row}
        assert reward.score(**row).total == pytest.approx(float(function(make_world(full))), rel=1e-12, abs=1e-12)


def test_a_list_may_be_a_parameter_of_dicts_and_its_objects_may_hold_lists():
    text = "def f(cars):\n    return sum(w['force'] * car.get('mass') for car in cars for w in car['wheels'])"
    row = {
        "cars": [{"mass": 2.0, "wheels": [{"force": 1.0}, {"force": 3.0}]}, {"mass": 5.0, "wheels": [{"force": 7.0}]}]
    }
    function = load(text)["f"]
    reward = Reward.from_functions({function: 1.0}, example=row, name="r")
    flat = {"cars_0_mass": 2.0, "cars_0_wheels_0_force": 1.0, "cars_0_wheels_1_force": 3.0}
    flat |= {"cars_1_mass": 5.0, "cars_1_wheels_0_force": 7.0}
    assert set(reward.fields) == set(flat)
    assert reward.score(**flat).total == function(row["cars"]) == 43.0


def test_parts_of_objects_may_be_shared():
    function = load("def f(world):\n    return sum(a.x * a.size for a in world.agents)")["f"]
    fields, shared = [Field("agents_0_x"), Field("agents_1_x")], {"agents_0_size": 2.0, "agents_1_size": 3.0}
    reward = Reward("r", version="1", terms=[term(function)], fields=fields, shared=shared)
    assert reward.score(agents_0_x=1.0, agents_1_x=10.0).total == 32.0
    with pytest.raises(ReadError, match="Pass one for each in shared=: 'agents_0_size' and 'agents_1_size'"):
        Reward("r", version="1", terms=[term(function)], fields=fields, shared={"size": 2.0})


def test_a_note_says_how_many_objects_there_are():
    function = load("def f(world):\n    return sum(a.x for a in world.agents) / len(world.agents)")["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("agents_0_x"), Field("agents_1_x")])
    (note,) = reward.notes
    assert note.what == "`world.agents` is read as a list of 2 objects, as many as have declared parts."


REFUSALS = {
    "a gap": ("return sum(a.x for a in world.agents)", "agents_0_x agents_2_x", "parts are declared under 0, 2"),
    "two names": (
        "return sum(a.x for a in world.agents)",
        "world_agents_0_x agents_1_x",
        "parts are declared as world_agents_0_... and agents_1_...",
    ),
    "no first": ("return sum(a.x for a in world.agents)", "agents_1_x agents_2_x", "parts are declared under 1, 2"),
    "counted from the end": (
        "return sum(a.x for a in world.agents) + world.agents[-1].x", "agents_0_x agents_minus_1_x", "under -1, 0",
    ),
    "entries as a whole": ("return sum(a for a in world.agents)", "agents_0 agents_1", "declared entry by entry, 'agents_0'"),
    "an index of data": ("return world.agents[k].x", "agents_0_x agents_1_x k", "which object of the list is meant"),
    "a choice": (
        "best = world.agents[0]\nif best.x > 0:\n    best = world.agents[1]\nreturn best.x", "agents_0_x agents_1_x",
        "which object that is cannot be seen",
    ),
    "another parameter": (
        "return sum(a.x for a in world.agents if a is not agent)", "agents_0_x agents_1_x",
        "whether `world.agents[0]` and `agent` are the same object is not known",
    ),
    "another list": (
        "return sum(a.x for a in world.agents if a is not world.others[0])", "agents_0_x agents_1_x others_0_x",
        "whether `world.agents[0]` and `world.others[0]` are the same object is not known",
    ),
    "a list that is made anew": (
        "return sum(a.x for a in world.agents() if a is not world.agents()[0])", "agents_0_x agents_1_x",
        "are the same object is not known",
    ),
    "equality": (
        "return sum(a.x for a in world.agents if a != world.agents[0])", "agents_0_x agents_1_x", "compares two objects",
    ),
    "a filtered list": ("return [a.x for a in world.agents if a.x > 0][0]", "agents_0_x agents_1_x", "of unknown length"),
    "lists of other lengths": (
        "return sum(a.x * m.y for a, m in zip(world.agents, world.marks))", "agents_0_x agents_1_x marks_0_y",
        "the vectors differ in length: 2 and 1",
    ),
    "a part that is assigned": (
        "for a in world.agents:\n    a.seen = a.x\nreturn agent.seen", "agents_0_x agents_1_x agent_seen", "side effects",
    ),
    "keys that count": ("return sum(world.agents[k].x for k in world.agents)", "agents_0_x agents_1_x", "which object"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "names", "what"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_not_known_of_a_list_is_refused(body, names, what):
    indented = body.replace("\n", "\n    ")
    function = load(f"def f(agent, world, k):\n    {indented}\n")["f"]
    with pytest.raises(ReadError) as caught:
        Reward("r", version="1", terms=[term(function)], fields=[Field(name) for name in names.split()])
    assert what in str(caught.value)


def test_a_part_that_one_object_lacks_is_an_unknown_field():
    function = load("def f(world):\n    return sum(a.x * a.mass for a in world.agents)")["f"]
    with pytest.raises(UnknownField, match=r"reads 'world\.agents\[1\]\.mass'(?s:.*)Declare Field\('agents_1_mass'\)"):
        fields = [Field("agents_0_x"), Field("agents_1_x"), Field("agents_0_mass")]
        Reward("r", version="1", terms=[term(function)], fields=fields)
    with pytest.raises(DefinitionError, match="would both be the field 'mass'"):
        fields = [Field("agents_0_x"), Field("agents_1_x"), Field("mass")]
        Reward("r", version="1", terms=[term(function)], fields=fields)


LISTING = """
import numpy as np

def list_known(o):
    return [o[i] for i in (1, 2, 3) if i < len(o)]

def list_of_shape(o):
    return {i: o[i] for i in (0, 5) if i < o.shape[0]}
"""
FILTERED = {
    "in a helper": "sum(list_known(o))",
    "in a helper of a dict": "sum(list_of_shape(o).values()) + len(list_of_shape(o))",
    "an entry": "list_known(o)[-1] - list_known(o)[0] * len(list_known(o))",
    "an array": "np.array([o[i] for i in range(6) if len(o) > i]).max()",
    "a part of a record": "sum([x for i, x in enumerate(o) if i % 2 == 0 and len(o) == 3])",
    "of two lengths": "max([x * i for i, x in enumerate(o) if i < min(len(list_known(o)), len(o))])",
}


@pytest.mark.parametrize("text", FILTERED.values(), ids=FILTERED)
@pytest.mark.parametrize("record", [False, True], ids=["field", "record"])
def test_a_filter_by_the_length_of_a_field_is_known(text, record):
    body = text.replace("(o", "(self.o").replace(" o[", " self.o[").replace("[o[", "[self.o[") if record else text
    function = load(f"{LISTING}\ndef f({'self' if record else 'o'}):\n    return {body}\n")["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("o", length=3)])
    o = np.array([1.5, -2.0, 4.0])
    assert reward.score(o=o).total == function(SimpleNamespace(o=o) if record else o)


def test_a_filter_by_data_is_refused_where_the_fields_are_known():
    function = load("def f(o):\n    return [x for x in o if x > 0][0]\n")["f"]
    with pytest.raises(ReadError, match="a filter that depends on data gives a list of unknown length"):
        Reward("r", version="1", terms=[term(function)], fields=[Field("o", length=3)])


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("return min(a.x for a in world.agents if not a.out)", "min(x if condition else math.inf for x in v)"),
        ("return max(a.x for a in world.agents if not a.out)", "max(x if condition else -math.inf for x in v)"),
        ("near = [a.x for a in world.agents if not a.out]\n    return min(near)", "for min with math.inf"),
    ],
)
def test_a_filter_that_depends_on_the_row_says_what_counts_for_nothing(body, advice):
    function = load(f"def f(world):\n    {body}\n")["f"]
    agents = [{"x": 1.0, "out": True}, {"x": 2.0, "out": False}, {"x": 3.0, "out": False}]
    with pytest.raises(ReadError) as caught:
        Reward.from_functions({function: 1.0}, example={"agents": agents}, name="r")
    assert advice in str(caught.value)
    assert "a flag in shared=" in str(caught.value)
    out = {f"agents_{at}_out": agent.pop("out") for at, agent in enumerate(agents)}
    reward = Reward.from_functions({function: 1.0}, example={"agents": agents}, shared=out, name="r")
    assert reward.score(agents_1_x=5.0, agents_2_x=5.0).total == 5.0
