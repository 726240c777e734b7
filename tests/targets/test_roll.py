"""Rolling up: few operations on whole vectors, and not a bit of difference."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import OutsideDomain
from plaudit.language import nodes as n
from plaudit.targets import roll as rolled
from plaudit.targets.compiled import Layout
from plaudit.targets.roll import roll
from support.running import need

POSE = (0.1, 0.8, -1.5, 0.25)
JOINT = Field("joint", length=4, low=-3, high=3)
SPEED = Field("speed", length=4, low=-3, high=3)
WHEEL = Field("wheel", length=6, low=-3, high=3)
TARGETS = ("numpy", "numba", "jax", "torch")


def reward(*functions, fields=(JOINT, SPEED, WHEEL)):
    terms = [term(function) for function in functions]
    read = {name for each in terms for name in each.reads}
    return Reward("legs", version="1", terms=terms, fields=[field for field in fields if field.name in read])


def roll_up(found):
    program = found.program.bind()
    return roll(program, Layout.of(program, clamped=False).roots, [guard.node for guard in program.guards()])


def count(found, *kinds):
    return sum(isinstance(node, kinds) for node in roll_up(found).nodes)


def squares(joint):
    return sum(q * q for q in joint)


def pose(joint):
    return sum((q - p) ** 2 for q, p in zip(joint, POSE, strict=True))


def power(joint, speed):
    return sum(abs(q * s) for q, s in zip(joint, speed, strict=True))


def largest(joint):
    return max(abs(q) for q in joint)


def smallest(joint):
    return min(q for q in joint)


def hot(joint):
    return any(q > 2.0 for q in joint)


def calm(joint):
    return all(abs(q) < 2.5 for q in joint)


def inverse(joint):
    return sum(1.0 / q for q in joint)


def neighbours(joint):
    return sum((joint[0] * joint[1], joint[1] * joint[2], joint[2] * joint[3], joint[3] * joint[0]))


def mixed(joint):
    return joint[0] * joint[0] + joint[1] * joint[2] + joint[2] * joint[3] + joint[3] * joint[3]


def onto(joint, speed):
    return speed[0] + joint[0] + joint[1] + joint[2] + joint[3] + speed[1]


def every_second(joint):
    return joint[0] * 2.0 + joint[2] * 2.0 + joint[3] * 2.0


def weighed(joint, *, gain=0.5):
    return sum(gain * q for q in joint)


def scaled(joint, wheel):
    most = max(wheel)
    return sum(most * q for q in joint)


def driven(joint, wheel):
    least = min(joint)
    return sum(least * w for w in wheel)


def rooted(joint, wheel):
    return max(math.sqrt(q) for q in joint) if any(w > 0.0 for w in wheel) else -1.0


def turned(joint, wheel):
    return max(math.sqrt(w) for w in wheel) if any(q > 0.0 for q in joint) else -1.0


EVERY = (
    *(squares, pose, power, largest, smallest, hot, calm, inverse, neighbours, mixed, onto, every_second, weighed),
    *(scaled, driven),
)


def draw_rows(rows=200):
    generator = np.random.default_rng(5)
    return {field.name: generator.uniform(-3, 3, (rows, field.length)) for field in (JOINT, SPEED, WHEEL)}


def expected(found, columns):
    """Return the totals that Python gives, row by row."""
    rows = len(next(iter(columns.values())))
    return np.array([found.score(**{k: v[at].tolist() for k, v in columns.items()}).total for at in range(rows)])


@pytest.mark.parametrize("target", ["numpy", "jax", "torch", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("function", EVERY, ids=lambda function: function.__name__)
def test_a_vector_scores_what_python_gives(function, target):
    found = reward(function)
    columns = {field: draw_rows()[field] for field in found.fields}
    totals = np.asarray(found.compile(target)(columns).total)
    if target in ("numpy", "numba"):
        assert totals.tobytes() == expected(found, columns).tobytes()
    else:
        np.testing.assert_allclose(totals, expected(found, columns), rtol=1e-4, atol=1e-4)  # JAX: in float32


def test_vectors_of_one_loop_score_what_python_gives():
    columns = draw_rows()
    scores = reward(*EVERY).compile("numba")(columns).scores
    for function in EVERY:
        found = reward(function)
        wanted = expected(found, {field: columns[field] for field in found.fields})
        assert scores[function.__name__].tobytes() == wanted.tobytes(), function.__name__


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "guarded", "asked"), [(rooted, JOINT, WHEEL), (turned, WHEEL, JOINT)])
def test_a_condition_on_one_vector_guards_every_entry_of_another(function, guarded, asked, target):
    need(target)
    signs = [[1.0] * guarded.length for _ in range(guarded.length + 2)]
    for row, entries in enumerate(signs[1:-1]):
        entries[row] = -1.0  # the first row is fine, the last asks for nothing
    signs[-1] = [-1.0] * guarded.length
    asking = [[1.0] * asked.length] * (len(signs) - 1) + [[-1.0] * asked.length]
    scores = reward(function).compile(target, on_bad="mask")({guarded.name: signs, asked.name: asking})
    assert np.asarray(scores.ok).tolist() == [True, *[False] * guarded.length, True]
    assert np.asarray(scores.total)[[0, -1]].tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("target", "functions"),
    [
        ("numpy", EVERY),
        ("numba", (power, largest, calm, mixed)),  # compiled for three ways in which columns lie
        pytest.param("numba", EVERY, marks=pytest.mark.slow),
    ],
    ids=["numpy", "numba", "numba-every"],
)
def test_however_the_columns_come_the_bits_are_the_same(target, functions):
    found = reward(*functions)
    columns = {field: draw_rows()[field] for field in found.fields}
    wanted = expected(found, columns)
    compiled = found.compile(target)
    apart = {f"{name}[{at}]": column[:, at] for name, column in columns.items() for at in range(column.shape[1])}
    assert compiled(apart).total.tobytes() == wanted.tobytes()
    assert compiled({name: column[7] for name, column in columns.items()}).total == wanted[7]
    assert compiled({name: column[7:8] for name, column in columns.items()}).total.tolist() == [wanted[7]]
    shaped = {name: column.reshape(4, 50, -1) for name, column in columns.items()}
    assert compiled(shaped).total.tobytes() == wanted.tobytes()
    transposed = {name: np.asfortranarray(column) for name, column in columns.items()}
    assert compiled(transposed).total.tobytes() == wanted.tobytes()
    one_speed = {**columns, "speed": columns["speed"][3]}
    for_all = {**columns, "speed": np.repeat(columns["speed"][3:4], 200, 0)}
    assert compiled(one_speed).total.tobytes() == expected(found, for_all).tobytes()


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_parameters_of_a_call_reach_every_entry(target):
    found = reward(weighed, pose)
    columns = {"joint": draw_rows()["joint"]}
    got = found.compile(target)(columns, {"weighed.gain": 2.0, "pose.weight": 3.0}).total
    tuned = found.with_params(weighed={"gain": 2.0}, pose={"weight": 3.0})
    assert got.tobytes() == expected(tuned, columns).tobytes()


def test_a_sum_over_a_vector_is_a_handful_of_operations():
    assert count(reward(squares), n.Mul) == 1
    assert count(reward(pose), n.Sub, n.Mul) == 2
    assert count(reward(power), n.Abs) == 1
    assert count(reward(*EVERY), n.Add) <= len(EVERY)


def test_ranges_and_domains_of_all_entries_are_one_condition_each():
    conditions = roll_up(reward(inverse)).conditions
    assert sorted(len(test.sources) for test in conditions) == [1, 4, 4]  # the total is finite; ranges; divisors


def test_what_is_an_output_itself_is_not_computed_twice():
    def one(joint):
        return joint[0] * 2.0

    def two(joint):
        return joint[1] * 2.0

    def three(joint):
        return joint[2] * 2.0

    nodes = roll_up(reward(one, two, three)).nodes
    assert not any(isinstance(node, rolled.REDUCTIONS) for node in nodes)


def test_operands_that_are_the_same_in_one_entry_only_are_kept_apart():
    found = reward(mixed)
    columns = {"joint": np.array([[1.0, 2.0, 3.0, 2.5]])}
    assert found.compile("numpy")(columns).total.tolist() == [1.0 + 6.0 + 7.5 + 6.25]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_vector_of_two_entries_is_passed_entry_by_entry(target):
    def form(pair):
        return pair[0] * pair[0] + pair[0] * pair[1] + pair[1] * pair[1]

    found = reward(form, fields=[Field("pair", length=2)])
    assert found.compile(target)({"pair": np.array([[1.0, 2.0], [3.0, 4.0]])}).total.tolist() == [7.0, 37.0]


@pytest.mark.parametrize("last", [5, pytest.param(6, marks=pytest.mark.slow), 8])
@pytest.mark.parametrize("target", TARGETS)
def test_some_entries_may_be_read_at_the_end_only(target, last):
    @term
    def running(joint):
        return joint[3] + joint[0] + joint[2] + joint[1]

    @term(terminal=True)
    def final(joint):
        return sum(q * 2.0 for q in joint[4:last])

    found = Reward("legs", version="1", terms=[running, final], fields=[Field("joint", length=8, low=-3, high=3)])
    columns = {"joint": np.arange(32.0).reshape(4, 8) / 16, "terminal": np.array([False, True, False, True])}
    columns["joint"][2, 4:] = np.nan
    columns["joint"][3, 4] = 7.0
    scores = found.compile(target, on_bad="mask")(columns)
    wanted = columns["joint"][:, :4].sum(1) + np.where([0, 1, 0, 0], 2.0 * columns["joint"][:, 4:last].sum(1), 0.0)
    assert scores.ok.tolist() == [True, True, True, False]
    np.testing.assert_allclose(scores.total[:3], wanted[:3], rtol=1e-6)


def test_a_bad_entry_is_named():
    found = reward(inverse)
    columns = {"joint": draw_rows()["joint"]}
    columns["joint"][9, 2] = 0.0
    masked = found.compile("numpy", on_bad="mask")(columns)
    assert np.flatnonzero(~masked.ok).tolist() == [9]
    with pytest.raises(OutsideDomain, match="divides by zero, row 9"):
        found.compile("numpy")(columns)


def test_a_deep_program_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(rolled, "DEEPEST", 1)
    assert count(reward(squares), n.Mul) == 4
