"""Random rewards: no witness is false, and nothing that is said to be proved is contradicted by random rows."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward, Task, term
from plaudit.checks.check import check
from plaudit.checks.incentives import incentives
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.ranges import decode_row
from plaudit.checks.solver.z3 import is_available
from plaudit.errors import InputError
from support.asking import really, samples
from support.examples import examples
from support.written import plain, readable

FEW, MANY = 40, 10_000
PROVING = [False, pytest.param(True, marks=pytest.mark.skipif(not is_available(), reason="z3 is not installed"))]


def at_most(value, bound):
    return value <= bound or is_close(value, bound)


def contradict_findings(reward, report, rows):
    """Assert that no row contradicts what a finding says of all of them."""
    clamped = {each.name: each for each in reward.terms}
    for finding in report:
        values = [sample.scores for sample in rows if sample.scores is not None]
        if finding.code == "dead-term":
            found = [float(scores.values[finding.term]) for scores in values]
            assert all(is_close(value, found[0]) for value in found), finding
        elif finding.code == "clamp-never-binds" and finding.term in clamped:
            own = clamped[finding.term]
            for scores in values:
                score = float(scores.scores[finding.term])
                assert own.low is None or at_most(own.low, score), finding
                assert own.high is None or at_most(score, own.high), finding
        elif finding.code == "unused-field":
            contradict_unused(reward, finding.message.split("'")[1], rows)


def contradict_unused(reward, field, rows):
    """Assert that a field with other values, those of the next row, leaves the total as it is."""
    compiled = reward.compile("python")
    inputs = reward.program.inputs
    for one, other in pairwise(rows):
        swapped = one.row | {name: other.row[name] for name in one.row if inputs[name].name == field}
        try:
            total = float(compiled(decode_row(swapped, inputs)).total)
        except InputError:
            continue
        assert one.scores is None or math.isclose(total, float(one.scores.total), rel_tol=1e-9, abs_tol=1e-9)


def contradict(case, seed, count, *, z3):
    """Assert that witnesses are true, and that nothing said of all rows is false of one of them."""
    reward = case.reward
    report = check(reward, z3=z3, timeout=2)
    rows = samples(case, seed, count)
    for finding in report:
        assert finding.term in {"total", *reward.program.terms}
        assert finding.message.endswith(".")
        totals = really(reward, finding)
        assert totals == [None] or finding.code not in ("may-divide-by-zero", "not-a-number")
    for each in report.incentives:
        really(reward, each)
    contradict_findings(reward, report, rows)
    for each in report.incentives:
        if each.kind == "step":
            assert at_most(each.pay, each.bound)
            assert all(s.scores is None or at_most(float(s.scores.total), each.bound) for s in rows), (each, rows)


@examples(0.04)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_nothing_that_is_said_of_a_random_reward_is_false(case, seed):
    contradict(case, seed, FEW, z3=False)


@pytest.mark.slow
@pytest.mark.parametrize("z3", PROVING)
@examples(0.02)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_nothing_that_is_said_of_a_random_reward_is_false_of_many_rows(z3, case, seed):
    contradict(case, seed, MANY, z3=z3)


NUMBERS = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 4.5])
PIECES = st.sampled_from(["{a}", "{a} + x", "{a} * x", "abs(x - {a})", "min({a}, x)", "1 / (1 + abs(x - {a}))"])


@st.composite
def zoned(draw):
    """Draw a function of one number that is something else in each of a few zones."""
    edges = sorted(
        draw(st.lists(st.sampled_from([-4.0, -1.5, 0.0, 1.0, 2.5, 6.0]), unique=True, min_size=1, max_size=3))
    )
    parts = [draw(PIECES).format(a=draw(NUMBERS)) for _ in range(len(edges) + 1)]
    how = draw(st.sampled_from(["<", "<="]))
    choices = " else ".join(f"{part} if x {how} {edge}" for part, edge in zip(parts, edges, strict=False))
    return f"def f(x): return {choices} else {parts[-1]} + x / 4"


def find_ends(where):
    """Return between which numbers a stretch lies."""
    numbers = [float(each) for each in re.findall(r"-?\d+\.?\d*", where)]
    if "from" in where:
        return numbers
    return [numbers[0], 9.0] if "beyond" in where else [-9.0, numbers[0]] if "below" in where else [-9.0, 9.0]


@examples(0.15)
@given(text=zoned())
def test_a_stretch_pays_the_same_throughout_and_no_place_pays_more_than_the_best(text):
    fields, task = [Field("x", low=-9, high=9)], Task(states=["x"])
    reward = Reward("r", version="1", terms=[term(plain(text))], fields=fields, task=task)
    stays = [each for each in incentives(reward, z3=False) if each.kind == "stay"]
    pays = {x / 50: float(reward.score(x=x / 50).total) for x in range(-450, 451)}
    assert at_most(max(pays.values()), stays[0].bound)
    for stay in stays:
        (total,) = really(reward, stay)
        assert at_most(total, stay.pay)
        assert total >= stay.pay - 1e-3 * abs(stay.pay)
        assert all(value == round(value, 3) for value in stay.witness[0].inputs.values())
        if re.search("from|beyond|below|any", stay.where):
            low, high = find_ends(stay.where)
            assert all(is_close(pay, stay.pay) for x, pay in pays.items() if low < x < high), stay
