"""JavaScript gives what the plain Python functions give, on random rewards and on rows aimed at their cliffs."""

import math
from functools import partial

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.language import nodes as n
from plaudit.testing import LAWS, check_target, join_rows
from plaudit.testing.rows import as_inputs
from support import carrying, composed
from support.contract import TIMES, draw
from support.node import to_scores
from support.strategies import load


def as_typed(columns):
    """Return columns in types that JavaScript has: positions and flags as numbers of theirs."""
    narrow = {"b": np.uint8, "i": np.int32, "u": np.int32, "f": np.float64}
    return {name: np.asarray(column).astype(narrow[np.asarray(column).dtype.kind]) for name, column in columns.items()}


def run_rows(node, compiled, batch):
    """Score one row after the other."""
    calls = (("score", as_inputs(row), batch.params or {}) for row in batch.rows)
    found = node.call(compiled, *calls)
    for each in found:
        if isinstance(each, Exception):
            raise each
    return join_rows(batch, list(map(to_scores, found)))


def run_batch(node, compiled, batch):
    """Score a batch; where no knobs are given, with the code that has the declared ones as constants."""
    knobs = () if batch.params is None else (dict(batch.params),)
    return to_scores(node.run(compiled, "scoreBatch", as_typed(batch.columns), *knobs))


def run_any_knobs(node, compiled, batch):
    """Score a batch with the code that takes any knobs."""
    return to_scores(node.run(compiled, "scoreBatch", as_typed(batch.columns), dict(batch.params or {})))


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("run", [run_rows, run_batch, pytest.param(run_any_knobs, marks=pytest.mark.slow)])
def test_javascript_keeps_every_law(node, run, times):
    report = check_target("javascript", run=partial(run, node), **draw(3, times))
    assert {each.law: each.outcome for each in report.laws} == dict.fromkeys(LAWS, "kept")
    assert report.counts["aside"] <= 0.08 * report.counts["rows"]


NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 0.1, 1e-300, 1e300, 5e-324, 2.0**53, 1e16, -0.3)


@pytest.mark.parametrize("text", ["a // b", "a % b", "min(a, b)", "max(a, b)", "a / b", "a - b"])
def test_two_numbers_give_the_bits_of_python(node, text):
    space = load(f"def only(a, b):\n    return {text}\n")
    reward = Reward("two", version="1", terms=[term(space["only"])], fields=[Field("a"), Field("b")])
    rows = [{"a": a, "b": b} for a in NUMBERS for b in NUMBERS if b or text[2] not in "/%"]
    rows = [row for row in rows if math.isfinite(space["only"](**row))]
    assert len(rows) > 200
    found = node.call(reward.compile("javascript"), *(("score", row) for row in rows))
    for row, each in zip(rows, found, strict=True):
        wanted = float(space["only"](row["a"], row["b"]))
        assert each["total"] == wanted, row
        assert math.copysign(1, each["total"]) == math.copysign(1, wanted), row


@pytest.mark.parametrize("function", ["round", "math.floor", "math.ceil"])
def test_rounding_gives_the_bits_of_python(node, function):
    space = load(f"import math\n\n\ndef only(a):\n    return {function}(a)\n")
    reward = Reward("one", version="1", terms=[term(space["only"])], fields=[Field("a")])
    numbers = [*NUMBERS, 0.49999999999999994, -0.49999999999999994, 4503599627370495.5, -3.5, 4.5, -4.5]
    found = node.call(reward.compile("javascript"), *(("score", {"a": number}) for number in numbers))
    for number, each in zip(numbers, found, strict=True):
        wanted = float(space["only"](number))
        assert (each["total"], math.copysign(1, each["total"])) == (wanted, math.copysign(1, wanted)), number


INEXACT = [kind for kind in n.FUNCTIONS if kind.inexact]


@pytest.mark.parametrize("kind", INEXACT, ids=lambda kind: kind.function)
def test_functions_agree_to_four_units_in_the_last_place(node, kind):
    two = issubclass(kind, n.Binary)
    space = load(
        f"import math\n\n\ndef only({'a, b' if two else 'a'}):\n    return {kind.function}({'a, b' if two else 'a'})\n"
    )
    fields = [Field(name, low=1e-6 if kind is n.Power else None) for name in ("a", "b")[: 2 if two else 1]]
    reward = Reward("one", version="1", terms=[term(space["only"])], fields=fields)
    rng = np.random.default_rng(0)
    low, high = (-1.0, 1.0) if kind in (n.Asin, n.Acos) else (1e-6, 30.0) if kind in (n.Log, n.Power) else (-0.9, 30.0)
    columns = {
        field.name: np.concatenate([rng.uniform(low, high, 400), rng.uniform(low / 100, high / 100, 100)])
        for field in fields
    }
    if kind in (n.Log, n.Power):
        columns = {name: np.abs(column) + 1e-6 for name, column in columns.items()}
    found = to_scores(node.run(reward.compile("javascript"), "scoreBatch", columns))
    wanted = np.array(
        [space["only"](*row) for row in zip(*(column.tolist() for column in columns.values()), strict=True)]
    )
    assert np.all(np.abs(found.total - wanted) <= 4 * np.spacing(np.abs(wanted)))


@pytest.mark.parametrize("name", carrying.REWARDS)
def test_states_go_on_as_python_carries_them(node, name):
    reward, columns = carrying.REWARDS[name], carrying.draw(name, 12, 1)
    python, javascript = reward.compile("python"), reward.compile("javascript")
    state = reward.initial_state()
    assert node.run(javascript, "initialState") == state
    for at in range(12):
        row = {key: column[at, 0].tolist() for key, column in columns.items()}
        reset = at == 7
        found = node.run(javascript, "step", row, state, {}, {"reset": reset})
        scores, state = python.step(row, state, reset=reset)
        assert found["state"] == state
        assert found["total"] == scores.total
        assert found["values"] == scores.values


@pytest.mark.parametrize("build", [composed.walking, composed.training])
def test_a_total_that_is_more_than_a_sum_is_what_numpy_gives(node, build):
    reward = build()
    columns = composed.STEPS | {
        name: column for name, column in composed.COUNTS.items() if name in reward.program.inputs
    }
    wanted = reward.compile("numpy")(columns)
    found = to_scores(node.run(reward.compile("javascript"), "scoreBatch", as_typed(columns)))
    np.testing.assert_array_equal(found.total, wanted.total)
    for term_name, values in wanted.values.items():
        np.testing.assert_array_equal(found.values[term_name], values)
