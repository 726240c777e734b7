"""Generated code: no text of a reward in it, each shared value once, no longer than the reward itself."""

import ast
import json
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from plaudit import Field, InputError, Reward, SpecError, term
from plaudit.targets.emit import format_literal
from support.running import TARGETS, need, options, scored
from support.strategies import load

MARK = Path(tempfile.gettempdir()) / "plaudit-ran-what-it-should-not"
EVIL = f"__import__('pathlib').Path({str(MARK)!r}).touch()"
HOSTILE = [
    EVIL,
    "'); raise SystemExit('smuggled') #",
    '"""\nraise SystemExit("smuggled")\n"""',
    "x\nraise SystemExit('smuggled')",
    "{0.__class__.smuggled}",
    "%s%n",
    "\\N{BULLET}\\x00",
    "\u202e\u2028smuggled\x00",
    "a" * 5000,
]
WORDS = ("smuggled", "__import__", "plaudit-ran", "raise SystemExit", "a" * 50, "\u202e", "BULLET")


@term(weight=2.0)
def chosen(mood, x, *, gain=2.0, far):
    return (gain * x if mood == "calm" else far - x) / x


GOOD = Reward(
    "good",
    version="1",
    terms=[chosen],
    fields=[Field("mood", values=("calm", "wild")), Field("x", low=1, high=9)],
    shared={"far": 3.0},
)


HEARD: list[list[str]] = []
"""Who listens: a hook that is told of every text compiled cannot be taken down again."""


def _hear(event, arguments):
    if HEARD and event == "compile" and isinstance(arguments[0], str | bytes):
        source = arguments[0]
        HEARD[-1].append(source if isinstance(source, str) else source.decode(errors="replace"))


sys.addaudithook(_hear)


@pytest.fixture
def written():
    """Every text that Python compiles from here on."""
    HEARD.append([])
    yield HEARD[-1]
    HEARD.pop()


def with_every_hostile_text():
    """Return the good reward's data with hostile texts wherever a text is allowed."""
    data = GOOD.to_dict()
    labels = [*HOSTILE, "wild"]
    text = json.dumps(data).replace('"calm"', json.dumps(HOSTILE[0]))
    data = json.loads(text)
    data["fields"][0]["values"] = labels
    for part in ("name", "version", "doc"):
        data[part] = EVIL
    data["terms"][0]["doc"] = data["fields"][0]["doc"] = data["fields"][1]["unit"] = HOSTILE[2]
    data["guards"] = [[node, where, HOSTILE[3], HOSTILE[1]] for node, where, *_ in data["guards"]]
    return data


@pytest.mark.parametrize("target", TARGETS)
def test_no_text_of_a_reward_reaches_the_code_that_runs(target, written):
    need(target)
    reward = Reward.from_dict(with_every_hostile_text())
    columns = {"mood": np.array([0, len(HOSTILE)]), "x": np.array([2.0, 3.0])}
    assert scored(reward, target, columns, params={"far": 4.0}).total.tolist() == [4.0, 2 / 3]
    assert scored(reward, target, columns).total.tolist() == [4.0, 0.0]
    with pytest.raises(InputError):
        scored(reward, target, {**columns, "x": np.array([2.0, 10.0])}, on_bad="raise")
    assert reward.score(mood=HOSTILE[0], x=2.0).explain()
    assert any("def score" in text or "def loop" in text or "def run" in text for text in written)
    for text in written:
        assert not any(word in text for word in WORDS), text
    assert not MARK.exists()


@pytest.mark.parametrize("name", ["chosen", "x", "mood", "gain", "far"])
def test_a_hostile_name_is_refused_or_never_written(name, written):
    for hostile in HOSTILE[:-1]:  # the last one is only long
        text = json.dumps(GOOD.to_dict())
        for form in (f'"{name}"', f'"{name}.', f'.{name}"'):
            text = text.replace(form, form.replace(name, json.dumps(hostile)[1:-1]))
        try:
            reward = Reward.from_json(text)
        except SpecError:
            continue
        assert name in ("gain", "far")  # a knob's name is data; every other one must be a plain identifier
        assert scored(reward, "python", {"mood": np.array([0]), "x": np.array([2.0])}).total.tolist() == [4.0]
        assert scored(reward, "numpy", {"mood": np.array([0]), "x": np.array([2.0])}).total.tolist() == [4.0]
    for text in written:
        assert not any(word in text for word in WORDS), text
    assert not MARK.exists()


def test_a_keyword_of_python_may_name_a_field_of_a_specification():
    reward = Reward.from_json(GOOD.to_json().replace('"x"', '"class"'))
    assert reward.score(**{"mood": "calm", "class": 2.0}).total == 4.0
    assert scored(reward, "numpy", {"mood": np.array([0]), "class": np.array([2.0])}).total.tolist() == [4.0]


def test_generated_code_sees_no_builtins_and_names_only_its_own():
    compiled = GOOD.compile("python")
    assert isinstance(compiled.function, FunctionType)
    assert set(compiled.function.__globals__["__builtins__"]) <= {"__import__"}  # PyTorch asks for it
    names = {node.id for node in ast.walk(ast.parse(compiled.source)) if isinstance(node, ast.Name)}
    plain = re.compile(
        r"[xpvtc]\d+|inf|nan|abs|float|int|round|sqrt|exp|expm1|log|log1p|sin|cos|tanh|floor|ceil|bad|largest_exponent"
    )
    assert all(plain.fullmatch(name) for name in names), names


def test_numbers_are_written_to_the_bit():
    for number in (0.1, -0.0, 1e300, 5e-324, -2.5, 3, 123456789.123456789):
        assert float(ast.literal_eval(format_literal(number))) == number
        assert str(float(ast.literal_eval(format_literal(number)))) == str(float(number))


# -- size ----------------------------------------------------------------------------------------------------------


def sequential(count):
    """Return a function of `count` ifs in a row, each changing one local."""
    lines = ["def many(x, y):", "    total = x"]
    for i in range(count):
        lines += [
            f"    if y > {i}.5:",
            f"        total = total + {i}.25",
            f"    elif y < -{i}.5:",
            "        total = total * 0.5",
        ]
    return "\n".join([*lines, "    return total"])


def returning(count):
    """Return a function of `count` ifs that return early."""
    lines = ["def many(x, y):"]
    for i in range(count):
        lines += [f"    if y == {i}:", f"        return x + {i}.25"]
    return "\n".join([*lines, "    return -x"])


def elifs(count):
    """Return a function of one if and `count` elifs."""
    lines = ["def many(x, y):", "    if y == -1:", "        result = x"]
    for i in range(count):
        lines += [f"    elif y == {i}:", f"        result = x * {i}.5"]
    return "\n".join([*lines, "    else:", "        result = 0.5", "    return result"])


def nested(count):
    """Return a function in which each choice stands in a variable that the next one reads twice."""
    lines = ["def many(x, y):", "    v = x"]
    lines += [f"    v = v - 1.0 if v > {i}.0 else v + y" for i in range(count)]
    return "\n".join([*lines, "    return v"])


SHAPES = {"sequential": sequential, "returning": returning, "elifs": elifs, "nested": nested}


@cache  # read once for all targets
def made(source):
    space = load(source)
    return space["many"], Reward("many", version="1", terms=[term(space["many"])], fields=[Field("x"), Field("y")])


def generated(reward, target):
    """Return the longest text that a target generates for a reward."""
    need(target)
    HEARD.append([])
    compiled = reward.compile(target, **options(target))
    if target == "numba":
        compiled._default  # noqa: B018  # generated on first use
    return max((text for text in HEARD.pop() if re.match(r"def (score|loop|run)\(", text)), key=len)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_reward_grows_with_its_text_and_not_with_its_paths(shape):
    sizes = [len(made(SHAPES[shape](count))[1].program.nodes) for count in (12, 25, 50)]
    assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0])
    assert sizes[2] < 50 * 14


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_generated_text_grows_with_the_reward_alone(target, shape):
    sizes = [len(generated(made(SHAPES[shape](count))[1], target)) for count in (12, 25, 50)]
    assert sizes[2] - sizes[1] <= 2.4 * (sizes[1] - sizes[0])
    assert sizes[2] < 50 * 600


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", ["python", "numpy", "jax", "torch"])
def test_a_hundred_branches_compute_what_python_computes(target, shape):
    plain, reward = made(SHAPES[shape](100))
    columns = {"x": np.array([1.0, 2.0, 3.0, 0.5]), "y": np.array([3.0, 99.0, -7.0, 200.0])}
    wanted = [plain(x, y) for x, y in zip(columns["x"], columns["y"], strict=True)]
    np.testing.assert_allclose(scored(reward, target, columns).total, wanted, rtol=1e-12)


@pytest.mark.parametrize("count", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_many_branches_compile_to_machine_code(count):
    plain, reward = made(sequential(count))
    columns = {"x": np.array([1.0, 2.0]), "y": np.array([3.0, -99.0])}
    assert scored(reward, "numba", columns).total.tolist() == [plain(1.0, 3.0), plain(2.0, -99.0)]


@pytest.mark.parametrize("target", ["python", "numpy", "torch"])
def test_three_hundred_nested_choices_compile(target):
    def deep(count):
        text = "x"
        for i in range(count):
            text = f"({i}.5 + ({text}) if y > {i} else {text[:0]}x - {i})"
        return f"def many(x, y):\n    return {text}"

    plain, reward = made(deep(60))
    columns = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([0.5, 30.0, 500.0])}
    wanted = [plain(x, y) for x, y in zip(columns["x"], columns["y"], strict=True)]
    np.testing.assert_allclose(scored(reward, target, columns).total, wanted, rtol=1e-12)
    plain, reward = made(nested(300))
    wanted = [plain(x, y) for x, y in zip(columns["x"], columns["y"], strict=True)]
    np.testing.assert_allclose(scored(reward, target, columns).total, wanted, rtol=1e-12)


def test_a_function_nested_deeper_than_python_reads_is_refused_and_not_a_crash():
    lines = ["def many(x, y):", "    total = x"]
    lines += [f"    total = {'(' * 60}total + y{')' * 60}" for _ in range(5)]
    plain, reward = made("\n".join([*lines, "    return total"]))
    assert reward.score(x=1.0, y=2.0).total == plain(1.0, 2.0)


@pytest.mark.parametrize("target", TARGETS)
def test_a_shared_value_is_computed_once(target):
    lines = ["    z = math.tanh(x * y)", "    return z + z * z + max(z, 0.5) + (z if y > 0 else -z)"]
    _, reward = made("\n".join(["import math", "", "", "def many(x, y):", *lines]))
    assert generated(reward, target).count("tanh(") == 1
