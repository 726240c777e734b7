"""JavaScript gives what the plain Python functions give, on random rewards and on rows aimed at their cliffs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward, Scores, term
from plaudit.language import nodes as n
from support import carrying, composed
from support.batches import Batch, Tally
from support.columns import as_inputs
from support.examples import examples
from support.node import to_scores
from support.strategies import cases, load
from support.tolerance import exactly_rounded

SEEDS = st.integers(0, 2**32)


def as_typed(columns):
    """Return columns in types that JavaScript has: positions and flags as numbers of theirs."""
    narrow = {"b": np.uint8, "i": np.int32, "u": np.int32, "f": np.float64}
    return {name: np.asarray(column).astype(narrow[np.asarray(column).dtype.kind]) for name, column in columns.items()}


def score_rows(node, compiled, rows):
    """Return rows that are scored one by one, as the scores of a batch."""
    found = [to_scores(each) for each in node.call(compiled, *(("score", as_inputs(row)) for row in rows))]
    terms = compiled.program.terms
    return Scores(
        np.array([one.total for one in found]),
        {term: np.array([one.values[term] for one in found]) for term in terms},
        {term: np.array([one.scores[term] for one in found]) for term in terms},
        np.array([one.ok for one in found]),
    )


def test_rows_and_batches_give_the_numbers_of_the_plain_functions(node):
    tallies = {"row": Tally(), "batch": Tally(), "knobs": Tally()}

    @examples(0.3)
    @given(cases(), SEEDS)
    def agrees(case, seed):
        batch = Batch(case, seed)
        compiled = case.reward.compile("javascript", on_bad="mask")
        bits = exactly_rounded(case)
        tallies["row"].compare(batch, score_rows(node, compiled, batch.rows), bits=bits)
        columns = as_typed(batch.columns)
        tallies["batch"].compare(batch, to_scores(node.run(compiled, "scoreBatch", columns)), bits=bits)
        knobs = to_scores(node.run(compiled, "scoreBatch", columns, {}))  # the code that takes any knobs
        tallies["knobs"].compare(batch, knobs, bits=bits)

    agrees()
    for tally in tallies.values():
        tally.assert_that_most_rows_counted(aside=0.08)


@examples(0.1)
@given(cases(), SEEDS)
def test_other_knobs_give_what_python_gives_with_them(node, case, seed):
    reward = case.reward
    knobs = {knob: value * 0.75 for knob, value in reward.program.params.items() if not isinstance(value, bool)}
    python, javascript = (reward.compile(target, on_bad="mask") for target in ("python", "javascript"))
    rows = [as_inputs(row) for row in Batch(case, seed, size=8).rows]
    exact = exactly_rounded(case)
    for row, found in zip(rows, node.call(javascript, *(("score", row, knobs) for row in rows)), strict=True):
        wanted = python(row, knobs)
        assert found["ok"] == wanted.ok, row
        if wanted.ok:
            assert found["total"] == (wanted.total if exact else pytest.approx(wanted.total, rel=1e-9, abs=1e-9)), row


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
