"""Questions put to z3, and whether z3 is at hand."""

import math
import re
import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.question import Impossible, Unknown, Witness
from plaudit.checks.solver.z3 import UNINTERPRETED, Z3Question, _to_float, is_available
from plaudit.language import nodes as n
from plaudit.testing.tolerance import ARITHMETIC, allowance
from support.asking import asked, samples
from support.examples import examples
from support.written import readable, reward_from

pytestmark = pytest.mark.skipif(not is_available(), reason="z3 is not installed")
SEEDS = st.integers(0, 2**32)
LEAST = 1e-9


class Translated:
    """A Program in z3, once for each set of inputs that are infinite."""

    def __init__(self, program, output="total"):
        self.program, self.output = program, output
        self.known = {}

    def at(self, row):
        """Return the question with just those inputs at infinity that are so in `row`, and the others fixed."""
        far = frozenset(name for name, value in row.items() if math.isinf(value))
        if far not in self.known:
            self.known[far] = Z3Question(
                asked(self.program, self.output, dict.fromkeys(far, math.inf)), Deadline.after(60)
            )
        question = self.known[far]
        flags = {name for name, field in self.program.inputs.items() if field.kind == "flag"}
        return question, [
            variable == (bool(row[name]) if name in flags else question.real(row[name]))
            for name, variable in question._inputs.items()
        ]

    def possible(self, row):
        """Return whether z3 says that a row can be scored."""
        question, fixed = self.at(row)
        return question.solve(*fixed)

    def can_be(self, row, low=None, high=None):
        """Return whether z3 says that a row can be worth from `low` to `high`."""
        question, fixed = self.at(row)
        ends = [] if low is None else [question.asked >= question.real(low)]
        ends += [] if high is None else [question.asked <= question.real(high)]
        return question.solve(*fixed, *ends)

    def exact(self, row):
        """Return whether every operation that matters at `row` is one that z3 knows."""
        return self.at(row)[0].exact

    def is_whole(self, row):
        """Return whether it is about every input: what is given of those that do not matter is left out."""
        question, _ = self.at(row)
        return all(name in question._inputs or math.isinf(row[name]) for name in self.program.inputs)


def with_room(program, sample):
    """Yield rows with how far rounding may take them, and whether that may be over a cliff.

    Constants and inputs are decimals to z3 and floats to Python, so as much room is given as float32 would need.
    """
    kinds = {"flag": bool, "category": int, "number": float}
    columns = [np.array([each.row[k] for each in sample], kinds[f.kind]) for k, f in program.inputs.items()]
    allowed = allowance(program, columns, dtype=np.float32, inexact=ARITHMETIC)
    return zip(sample, np.maximum(allowed.bound, LEAST), allowed.aside, strict=True)


def compared(program, sample):
    """Compare z3 and Python on some rows; return what was seen how often."""
    translated, seen = Translated(program), Counter()
    for each, room, aside in with_room(program, sample):
        if aside:
            seen["set aside"] += 1
        elif each.scores is None:
            if translated.exact(each.row) and translated.is_whole(each.row):
                assert translated.possible(each.row) == Impossible(), each
                seen["cannot be scored"] += 1
        else:
            total = each.of("total")
            assert translated.can_be(each.row, total - room, total + room) != Impossible(), each
            seen["possible"] += 1
            if translated.exact(each.row):
                assert translated.can_be(each.row, low=total + 1.01 * room) == Impossible(), each
                assert translated.can_be(each.row, high=total - 1.01 * room) == Impossible(), each
                seen["the same"] += 1
    return seen


def test_z3_computes_what_python_computes():
    seen = Counter()

    @examples(0.25)
    @given(case=readable(), seed=SEEDS)
    def each(case, seed):
        program = RewardModel(case.reward).program
        sample = samples(case, seed, 8, short=True)
        if sample and program.inputs:
            seen.update(compared(program, sample))

    each()
    assert seen["the same"] > 3 * seen["set aside"], seen
    assert seen["cannot be scored"], seen


NUMBERS = (-7.5, -3.0, -2.5, -1.5, -0.5, -0.125, 0.0, 0.125, 0.5, 1.0, 1.5, 2.5, 3.0, 4.5, 7.0)
FEW = (-2.5, -0.125, 0.0, 0.125, 1.5, 7.0)


@pytest.mark.parametrize(
    "text",
    [
        "math.floor(x)",
        "math.ceil(x)",
        "round(x)",
        "round(x / 3)",
        "x // 2",
        "x // -2",
        "x % 3",
        "x % -3",
        "7 // x if x != 0 else 9",
        "7 % x if x != 0 else 9",
        "7.25 % abs(x) if x else 0",
        "1 / x if x != 0 else 9",
        "abs(x) - x",
        "min(x, 2, -x)",
        "max(x, 2, -x)",
        "x ** 3",
        "x > 1",
        "x in (0.125, -0.125, 7)",
        "not x",
        "1 if -0.125 <= x < 0.125 else 2",
        "(5, 6, 7)[round(x)] if 0 <= round(x) <= 2 else -1",
        "(True, False, True)[math.floor(x)] if 0 <= x < 3 else False",
        "(x > 0) + (x > 2) * 3",
    ],
)
@pytest.mark.parametrize("numbers", [FEW, pytest.param(NUMBERS, marks=pytest.mark.slow)], ids=["few", "all"])
def test_every_operation_that_z3_knows_is_translated_exactly(text, numbers):
    reward = reward_from(f"def f(x): return {text}", Field("x", low=-10, high=10))
    translated = Translated(RewardModel(reward).program)
    for x in numbers:
        total = reward.score(x=x).total
        assert translated.exact({"x": x})
        assert isinstance(translated.can_be({"x": x}, total - LEAST, total + LEAST), Witness), x
        assert translated.can_be({"x": x}, low=total + 2 * LEAST) == Impossible(), x
        assert translated.can_be({"x": x}, high=total - 2 * LEAST) == Impossible(), x


@pytest.mark.parametrize("operation", UNINTERPRETED, ids=lambda operation: operation.__name__)
def test_a_function_that_z3_does_not_know_lies_in_its_interval_and_equals_itself(operation):
    name, rest = operation.function, ", x + 1" if len(n.operand_names(operation)) > 1 else ""
    once = reward_from(f"def f(x): return {name}(x{rest})", Field("x", low=0.25, high=1))
    translated = Translated(RewardModel(once).program)
    for x in (0.25, 0.5, 0.85, 1.0):
        total = once.score(x=x).total
        assert not translated.exact({"x": x})
        assert isinstance(translated.can_be({"x": x}, total, total), Witness)
    reach = 8.0  # every one of them stays below it on this range
    assert translated.can_be({"x": 1.0}, low=reach) == Impossible()
    twice = reward_from(f"def f(x): return {name}(x{rest}) - {name}(x + 0{rest})", Field("x", low=0.25, high=1))
    question = Z3Question(asked(RewardModel(twice).program, "total"), Deadline.after(5))
    assert question.solve(question.asked != 0) == Impossible()


FAR = Field("x", low=0, infinite=True)
SIDE = Field("y", low=-2, high=2)


@pytest.mark.parametrize(
    "text",
    [
        "1 if math.isinf(x) else 0",
        "3 if x > 5 else 4",
        "y / x if x > 1 else 0",
        "min(x, 5) + y",
        "max(y, min(x, 1))",
        "1 if x + y > 9 else 2",
        "1 if math.isinf(x + y) else 2",
        "1 if math.isinf(x - 3 * y) else 2",
        "1 if -x < y else 2",
        "math.tanh(x) + y",
        "math.exp(-x) + y",
        "1 if 5 // (x + 1) == 0 else 2",
        "5 % x if x > 7 else y",
        "1 if math.isinf(x * y) else 2",
        "1 if x * y > 3 else 2",
        "1 if math.isinf(x if y > 0 else 1.0) else 2",
        "1 if (math.inf if y > 0 else y) > 1 else 2",
        "min(math.inf if y > 0 else y, 1.5)",
        "1 if math.isinf(math.inf if y > 0 else y) else 2",
        "(1, 2)[0 if x > 3 else 1]",
        "(True, False)[math.floor(min(x, 1))]",
        "abs(y - x) > 2",
        "-x",
        "0 * x",
        "min(0 * x, y)",
        "min(y, 0 * x)",
        "1 if 0 * x > y else 2",
        "(x - x) + y",
        "1 if x / y > 1 else 2",
    ],
)
def test_nothing_that_happens_at_infinity_is_called_impossible(text):
    fields = [field for field in (FAR, SIDE) if re.search(rf"\b{field.name}\b", text)]
    model = RewardModel(reward_from(f"def f({', '.join(field.name for field in fields)}): return {text}", *fields))
    translated = Translated(model.program)
    tried = {"x": (0.0, 6.0, 7.5, math.inf), "y": (-2.0, -0.5, 0.0, 1.5, 2.0)}
    for values in product(*(tried[name] for name in model.program.inputs)):
        row = dict(zip(model.program.inputs, values, strict=True))
        scores = model.score(row)
        if scores is None:
            assert not translated.exact(row) or translated.possible(row) == Impossible(), row
        else:
            total = float(scores.total)
            assert translated.can_be(row, total - LEAST, total + LEAST) != Impossible(), row
            assert not translated.exact(row) or translated.can_be(row, low=total + 2 * LEAST) == Impossible(), row


@pytest.mark.parametrize("name", ["exp", "expm1"])
def test_exponentials_are_defined_as_far_as_floats_reach(name):
    model = RewardModel(reward_from(f"def f(x): return min(1, math.{name}(x))", Field("x", low=0, high=1000)))
    translated = Translated(model.program)
    assert isinstance(translated.possible({"x": 709.75}), Witness)
    assert translated.possible({"x": 709.79}) == Impossible()


@pytest.mark.parametrize(
    "text",
    [
        "math.sqrt(x)",
        "math.log(x)",
        "math.log1p(x)",
        "1 / x",
        "1 // x",
        "1 % x",
        "(3, 4)[x]",
        "math.log(x) if x > 2 else 0",
    ],
)
def test_a_row_is_possible_just_where_its_operations_are_defined(text):
    reward = reward_from(f"def f(x): return {text}", Field("x", low=-3, high=3))
    translated = Translated(RewardModel(reward).program)
    for x in (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0):
        assert (translated.possible({"x": x}) != Impossible()) is (RewardModel(reward).score({"x": x}) is not None), x


def test_categories_flags_and_listed_numbers_are_only_what_they_can_be():
    text = """
        def f(mood, lit, level):
            return level + (10 if mood == "wild" else 0) + (100 if lit else 0)
    """
    fields = [Field("mood", values=("calm", "wild")), Field("lit", flag=True), Field("level", values=(1, 4))]
    question = Z3Question(asked(RewardModel(reward_from(text, *fields)).program, "total"), Deadline.after(5))
    for total in (1, 4, 11, 14, 101, 104, 111, 114):
        row = question.solve(question.asked == total).row
        assert row["level"] + 10 * row["mood"] + 100 * row["lit"] == total
    assert question.solve(question.asked > 114) == Impossible()
    assert question.solve(question.asked > 1, question.asked < 4) == Impossible()


def test_a_category_that_is_fixed_needs_no_field():
    program = RewardModel(reward_from('def f(mood): return mood == "b"', Field("mood", values=("a", "b")))).program
    for position, total in ((0.0, 0), (1.0, 1)):
        question = Z3Question(asked(program, "total", {"mood": position}), Deadline.after(5))
        assert question.solve(question.asked == total) == Witness({})
        assert question.solve(question.asked == 1 - total) == Impossible()


def test_a_decimal_is_what_was_written():
    program = RewardModel(reward_from("def f(x): return x * 3 == 0.3", Field("x", low=0, high=1))).program
    question = Z3Question(asked(program, "total"), Deadline.after(5))
    assert question.solve(question.asked == 1) == Witness({"x": 0.1})  # over floats 0.1 * 3 is not 0.3


def test_no_answer_in_time_is_unknown():
    text = "def f(x, y, z): return x ** 7 * y - z ** 5 * x + y ** 3 * z == 1.2345 and x * y * z == 0.77 and x < y < z"
    program = RewardModel(reward_from(text, *(Field(name, low=-9, high=9) for name in "xyz"))).program
    question = Z3Question(asked(program, "total"), Deadline.after(0.02))
    assert isinstance(question.solve(question.asked == 1), Unknown)


def test_a_root_that_is_no_fraction_comes_back_as_a_float():
    program = RewardModel(reward_from("def f(x): return x * x == 2", Field("x", low=0, high=9))).program
    question = Z3Question(asked(program, "total"), Deadline.after(5))
    assert question.solve(question.asked == 1).row["x"] == pytest.approx(math.sqrt(2))


@pytest.fixture
def asked_anew(monkeypatch):
    """Forget what is known of z3, before and after."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "z3"]:
        monkeypatch.delitem(sys.modules, name)
    is_available.cache_clear()
    yield is_available
    is_available.cache_clear()


@pytest.mark.parametrize(
    "text", ["import no_such_library", "print('Could not find libz3')\nraise OSError('libz3.so')", "raise Exception"]
)
def test_what_cannot_be_imported_is_not_available(asked_anew, monkeypatch, tmp_path, capsys, text):
    (tmp_path / "z3.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert asked_anew() is False
    assert capsys.readouterr().out == ""  # a report may go there


def test_the_answer_is_kept(asked_anew, monkeypatch, tmp_path):
    (tmp_path / "z3.py").write_text("import sys\nsys.tried_z3 += 1\nraise OSError", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "tried_z3", 0, raising=False)
    assert asked_anew() is asked_anew() is False
    assert sys.tried_z3 == 1


def test_what_is_not_installed_is_not_imported(asked_anew, monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert asked_anew() is False
    assert "z3" not in sys.modules


@pytest.mark.parametrize(
    ("numerator", "denominator", "value"),
    [
        ("1" + "0" * 5000, "3" + "0" * 5000, 1 / 3),
        ("-1", "1" + "0" * 5000, 0.0),
        ("1" + "0" * 5000, "7", math.inf),
        ("-1" + "0" * 5000, "7", -math.inf),
        ("-3", "8", -0.375),
    ],
)
def test_a_rational_of_any_length_becomes_a_float(numerator, denominator, value):
    import z3

    assert _to_float(z3.RealVal(f"{numerator}/{denominator}")) == value


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("timeout", "z3 ran out of time"),
        ("canceled", "z3 ran out of time"),
        ("(incomplete (theory arithmetic))", "z3 gave up early: incomplete (theory arithmetic)"),
    ],
)
def test_time_is_blamed_only_where_it_was_short(monkeypatch, word, reason):
    question = Z3Question(asked(RewardModel(reward_from("def f(x): return x")).program, "total"), Deadline.after(5))
    monkeypatch.setattr(question._solver, "check", lambda *conditions: None)
    monkeypatch.setattr(question._solver, "reason_unknown", lambda: word)
    assert question.solve() == Unknown(reason)
