"""Paths through a function: joined, never copied; each ends in a return, and each name it reads has a value."""

import copy
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.language import nodes as n
from plaudit.language.program import Builder
from support.written import kinds_of, plain, reward_from

MISSING = {
    "no return": "y = x",
    "only pass": "pass",
    "if without else": "if x > 1:\n        return 2",
    "elif without else": "if x > 1:\n        return 2\n    elif x > 0:\n        return 3",
    "one branch of two": "if x > 1:\n        return 2\n    else:\n        x = 3",
    "deep inside": "if x > 1:\n        if x > 2:\n            return 1\n    else:\n        return 2",
    "behind a known condition": "if 1 > 2:\n        return x",
}


@pytest.mark.parametrize("body", MISSING.values(), ids=MISSING)
def test_a_path_that_ends_without_return_is_refused(body):
    with pytest.raises(ReadError, match=r"(?s)a path ends without `return`.*def f\(x\).*Return a number on every path"):
        term(plain(f"def f(x):\n    {body}\n"))


def test_a_helper_s_path_that_ends_without_return_is_refused():
    with pytest.raises(ReadError, match="'g' cannot be read: a path ends without `return`"):
        term(plain("def g(y):\n    if y > 1:\n        return 1\ndef f(x): return g(x)"))


UNASSIGNED = {
    "one branch": "if x > 1:\n        y = 2\n    return y",
    "the other branch": "if x > 1:\n        pass\n    else:\n        y = 2\n    return y",
    "elif": "if x > 1:\n        y = 2\n    elif x > 0:\n        y = 3\n    return y",
    "augmented": "if x > 1:\n        y = 2\n    y += 1\n    return y",
    "deep inside": "if x > 1:\n        if x > 2:\n            y = 1\n    else:\n        y = 2\n    return y",
    "after a branch that may return": "if x > 1:\n        if x > 2:\n            return 1\n        y = 2\n    return y",
}


@pytest.mark.parametrize("body", UNASSIGNED.values(), ids=UNASSIGNED)
def test_a_name_that_some_path_leaves_unassigned_is_refused_where_it_is_read(body):
    with pytest.raises(ReadError, match=r"(?s)'y' has no value on some paths.*\^.*Assign it before the `if`"):
        term(plain(f"def f(x):\n    {body}\n"))


KEPT = {
    "an if": "if env.far: env.level = 2.0\nreturn env.level",
    "a flag": "if env.level > 1: env.far = True\nreturn -10.0 if env.far else 1.0",
    "an elif": "if env.far: env.level = 2.0\nelif env.level > 1: env.level = env.level + 3\nreturn env.level",
    "both branches": "if env.far: env.level = 2.0\nelse: env.level = 0.5\nreturn env.level",
    "nested": "if env.far:\n    if env.level > 1: env.level = 7.0\nreturn env.level",
    "read before": "old = env.level\nif env.far: env.level = 7.0\nreturn env.level * 10 + old",
    "augmented": "if env.far: env.level += 1\nreturn env.level",
    "a loop": "for i in range(3):\n    if env.level > i: env.level += i\nreturn env.level",
    "a break": "for i in range(3):\n    if env.level > i:\n        env.level = -i\n        break\nreturn env.level",
    "a return": "if env.far: return 5.0\nif env.level > 1: env.level = -1.0\nreturn env.level",
    "a helper": "mark(env)\nreturn -10.0 if env.far else 1.0",
    "a helper that reads": "if env.far: env.level = 4.0\nreturn read(env)",
    "a function inside": "if env.far: env.level = 4.0\ndef inner(): return env.level + 1\nreturn inner()",
    "a match": "match env.level:\n    case 0: env.far = True\n    case 1: pass\n    case _: env.far = False\nreturn -1.0 if env.far else 1.0",
    "an array": "old = env.speed\nif env.far: env.speed = np.array([1.0, 2.0])\nreturn env.speed[0] - old[1]",
    "an array, augmented": "if env.far: env.speed = env.speed * 2\nenv.speed = env.speed + 1\nreturn env.speed[0]",
    "a part of a part": "if env.far: env.car.level = 4.0\ncar = env.car\nreturn car.level",
    "a dropped line": "env.seen['level'] = 3\nif env.far: env.level = 4.0\nenv.seen['then'] = env.level\nreturn env.level",
    "two ifs": "if env.far: env.level = 4.0\nif env.level > 1: env.far = True\nreturn env.level + env.far",
    "nothing that counts": "if env.far: env.level = 4.0\nenv.level = 1.0\nreturn env.far + env.level",
}


def _write_kept(body, first="env"):
    lines = ["def mark(e):", "    if e.level > 1: e.far = True", "def read(e): return e.level if e.far else 0.0"]
    return "\n".join(["import numpy as np", *lines, f"def f({first}):", *(f"    {each}" for each in body.split("\n"))])


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_a_part_of_a_record_that_a_path_leaves_alone_is_its_field(body):
    function = plain(_write_kept(body))
    row = {"level": 0.0, "far": False, "speed": np.array([1.0, 3.0])}
    reward = Reward.from_functions({function: 1.0}, example=row, name="kept")
    for level, far in product((0.0, 0.5, 1.0, 2.0, 7.0), (False, True)):
        env = SimpleNamespace(**row | {"level": level, "far": far}, seen={})
        env.car = env
        expected = function(copy.deepcopy(env))
        given = {name: getattr(env, name) for name in reward.fields}
        assert reward.score(**given).total == float(expected)


class Robot:
    def _mark(self):
        if self.level > 1:
            self.far = True

    def _pay(self):
        return -10.0 if self.far else self.level

    def reward(self):
        self._mark()
        return self._pay()


@pytest.mark.parametrize(("level", "far", "total"), [(0.5, False, 0.5), (2.0, False, -10.0), (0.5, True, -10.0)])
def test_a_method_may_assign_on_one_path_what_another_reads(level, far, total):
    reward = Reward.from_functions({Robot.reward: 1.0}, example={"level": 0.0, "far": False}, name="robot")
    assert reward.score(level=level, far=far).total == total


def test_a_part_that_is_not_declared_has_no_value_where_a_path_leaves_it_alone():
    function = plain(_write_kept("if env.level > 1: env.goal = 2.0\nreturn env.goal"))
    with pytest.raises(ReadError, match=r"'env.goal' has no value on some paths(?s:.*)or declare Field\('goal'\)"):
        Reward("kept", version="1", terms=[term(function)], fields=[Field("level")])


def test_a_part_that_is_only_assigned_is_no_input():
    function = plain(_write_kept("if env.level > 1: env.goal = 2.0\nreturn env.level"))
    reward = Reward.from_functions({function: 1.0}, example={"level": 0.0, "goal": 1.0}, name="kept")
    assert list(reward.inputs) == ["level"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("w = np.zeros(2)\nif env.far: env.speed = w\nw[0] = 5.0\nreturn env.speed[0]", "changed in place"),
        ("v = env.speed\nif env.far: env.speed = np.ones(2)\nenv.speed[0] = 7.0\nreturn v[0]", "changed in place"),
        ("env.seen['level'] = 5\nif env.far: env.seen.level = 1\nreturn env.seen.level", "is changed by"),
    ],
)
def test_a_part_that_a_path_leaves_alone_is_refused_where_it_may_have_been_changed(body, why):
    example = {"level": 0.0, "far": False, "speed": np.zeros(2)}
    with pytest.raises(ReadError, match=why):
        Reward.from_functions({plain(_write_kept(body)): 1.0}, example=example, name="kept")


CHOSEN = {
    "compared": ("return 1 if why == 'a' else 0", r"which string 'why' is"),
    "compared with None": ("return 1 if why is None else 0", r"which string 'why' is"),
    "in a list": ("return 1 if told[0] is None else 0", r"which string \[0\] is"),
    "in a dict": ("return 1 if named['why'] is None else 0", r"which string \['why'\] is"),
    "got from a dict": ("return 1 if named.get('why') is None else 0", r"which string \['why'\] is"),
}


@pytest.mark.parametrize(("body", "what"), CHOSEN.values(), ids=CHOSEN)
def test_a_string_that_an_if_chooses_is_refused_where_it_is_read(body, what):
    chosen = "if x > 1: why, told, named = 'a', ['a'], {'why': 'a'}\n    else: why, told, named = None, [None], {'why': None}"
    with pytest.raises(ReadError, match=rf"{what}(?s:.*){body.split()[0]}(?s:.*)\^(?s:.*)Keep the condition instead"):
        reward_from(f"def f(x):\n    {chosen}\n    {body}\n")


@pytest.mark.parametrize("body", ["y = y + 1\n    return y", "y += x\n    return y", "x = y\n    y = 1\n    return x"])
def test_a_name_read_before_it_is_assigned_is_refused(body):
    with pytest.raises(ReadError, match="'y' is read before it is assigned"):
        term(plain(f"def f(x):\n    {body}\n"))


def test_a_name_assigned_on_every_path_that_goes_on_is_fine():
    reward = reward_from("def f(x):\n    if x > 1:\n        return 0\n    else:\n        y = x\n    return y + 1")
    assert [reward.score(x=x).total for x in (0.5, 2.0)] == [1.5, 0.0]


LISTED = {
    "level": Field("level", values=(0, 1, 2)),
    "mood": Field("mood", values=("calm", "wild")),
    "on": Field("on", flag=True),
}
COVERING = {
    "numbers": "if level == 0:\n    y = x\nelif level == 1:\n    y = 2 * x\nelif level == 2:\n    y = 3.0\nreturn y",
    "categories": "if mood == 'calm':\n    y = x\nelif mood == 'wild':\n    y = 2.0\nreturn y",
    "a flag": "if on:\n    y = x\nelif not on:\n    y = 2.0\nreturn y",
    "a match": "match mood:\n    case 'calm':\n        y = x\n    case 'wild':\n        y = 2.0\nreturn y",
    "some return": "if level == 0:\n    return 5.0\nelif level in (1, 2):\n    y = x\nreturn y",
    "the last returns": "if level == 0:\n    y = x\nelif level in (1, 2):\n    return 5.0\nreturn y",
    "one in another": "if on:\n    if level == 0:\n        y = x\n    elif level != 0:\n        y = 1.0\nelif not on:\n    y = 7.0\nreturn y",
    "known before": "y = 1.0\nif level == 0:\n    y = z = x\nelif level != 0:\n    z = 2.0\nreturn y * z",
}


@pytest.mark.parametrize("body", COVERING.values(), ids=COVERING)
def test_branches_that_cover_all_values_assign_on_every_path(body):
    names = [name for name in LISTED if name in body]
    text = f"def f({', '.join(['x', *names])}):\n" + "\n".join(f"    {line}" for line in body.splitlines())
    reward, function = reward_from(text, *(LISTED[name] for name in names)), plain(text)
    values = {"level": (0, 1, 2), "mood": ("calm", "wild"), "on": (False, True)}
    for row in product((-1.5, 0.0, 4.0), *(values[name] for name in names)):
        given = dict(zip(["x", *names], row, strict=True))
        assert reward.score(**given).total == function(**given), given


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("if x == 0:\n        y = 1\n    elif x == 1:\n        y = 2\n    return y", Field("x", values=(0, 1, 2))),
        ("if x == 0:\n        y = 1\n    elif x != 0:\n        y = 2\n    return y", Field("x")),
        ("if x < 1:\n        y = 1\n    elif x >= 1:\n        y = 2\n    return y", Field("x", values=(0, 1, 2))),
        ("if x == 0:\n        y = 1\n    elif x == 1:\n        z = 2\n    return y", Field("x", values=(0, 1, 2))),
    ],
)
def test_branches_that_leave_a_value_out_assign_on_some_paths(body, field):
    with pytest.raises(ReadError, match="'y' has no value on some paths"):
        reward_from(f"def f(x):\n    {body}\n", field)


SPELLINGS = (
    "if x > 1:\n        return 2.0\n    else:\n        return y / x",
    "if x > 1:\n        return 2.0\n    return y / x",
    "return 2.0 if x > 1 else y / x",
    "z = 2.0 if x > 1 else y / x\n    return z",
    "if x > 1:\n        z = 2.0\n    else:\n        z = y / x\n    return z",
    "limit = 1\n    return choose(x > limit, x, y)",
)


@pytest.mark.parametrize("body", SPELLINGS[1:])
def test_every_spelling_of_one_branch_gives_the_same_nodes(body):
    helper = "def choose(flag, a, b):\n    if flag:\n        return 2.0\n    return b / a\n"
    first, other = (reward_from(f"{helper}def f(x, y):\n    {text}") for text in (SPELLINGS[0], body))
    assert first.program.nodes == other.program.nodes
    assert [guard.node for guard in first.program.guards()] == [guard.node for guard in other.program.guards()]
    assert first.fingerprint == other.fingerprint


@pytest.mark.parametrize("text", ["a = x * y\n    return a + a", "return x * y + x * y", "return (x * y) + (x) * (y)"])
def test_a_value_used_twice_is_one_node(text):
    program = reward_from(f"def f(x, y):\n    {text}").program.bind()
    assert kinds_of(program).count("Mul") == 1


def test_terms_share_what_they_have_in_common():
    terms = [term(name=name)(plain("def f(x): return math.exp(x) + 1")) for name in ("a", "b")]
    program = Reward("r", version="1", terms=terms, fields=[Field("x")]).program
    assert kinds_of(program).count("Exp") == 1
    assert program.outputs["a.score"] == program.outputs["b.score"]


def test_operands_are_never_reordered():
    prints = {
        reward_from(f"def f(x, y): return {text}").fingerprint for text in ("x + y * 2", "y * 2 + x", "x + 2 * y")
    }
    assert len(prints) == 3


def test_constants_of_other_types_or_bits_are_other_nodes():
    builder = Builder()
    values = (1, 1.0, True, 0.0, -0.0, 0, False)
    assert len({builder.const(value) for value in values}) == len(values)
    assert [builder.const(value) for value in values] == list(range(len(values)))
    program = reward_from("def f(x): return x * 1 + x * 1.0 + x * 0.0 + x * -0.0 + x * 0").program
    assert sum(isinstance(node, n.Const) and abs(node.value) <= 1 for node in program.nodes) >= 5


def ifs(count, shape):
    """Return the number of nodes that `count` sequential branches make."""
    body = "\n".join(shape.format(i=i, limit=0.5 + i) for i in range(count))
    return len(reward_from(f"def f(x):\n    y = x\n{body}\n    return y\n").program.nodes)


SHAPES = {
    "assigning": "    if x > {limit}:\n        y = y + {i}\n    else:\n        y = y * x",
    "elif": "    if x > {limit}:\n        y = y + {i}\n    elif y < {i}:\n        y = y - 1.5",
    "returning": "    if x > {limit}:\n        return y * {limit}\n    y = y + x",
    "perhaps returning": "    if x > {limit}:\n        if y > {i}:\n            return y\n        y = y + x",
    "dividing": "    if x > {limit}:\n        y = {limit} / y",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_program_grows_with_its_text_and_not_with_its_paths(shape):
    fifty, hundred = ifs(50, shape), ifs(100, shape)
    assert 1.8 < hundred / fifty < 2.2
    assert hundred < 100 * 20


def test_a_hundred_branches_still_mean_what_they_say():
    shape = SHAPES["perhaps returning"]
    body = "\n".join(shape.format(i=i, limit=0.5 + i) for i in range(100))
    function = plain(f"def f(x):\n    y = x\n{body}\n    return y\n")
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("x")])
    for x in (-1.0, 0.5, 0.6, 3.0, 49.5, 49.6, 99.5, 200.0):
        assert reward.score(x=x).total == function(x)
