"""The program beside a header: golden rows that find every mistake, and answers for `plaudit parity`."""

import json
import subprocess
from itertools import product

import pytest

from plaudit import Field, Reward, State, term
from plaudit.checks.parity import Command, parity
from plaudit.checks.parity.golden import list_golden_rows
from plaudit.errors import TargetError
from plaudit.targets.c.harness import write_harness
from support.braking import braking, braking_rows, flip_comparisons
from support.c_compilers import LANGUAGES, compile_text
from support.strategies import load


def run(compiled, rows, *, language="gcc", header=None):
    """Return how the test program of a header ended, and the program."""
    tests = write_harness(compiled, "reward.h", rows)
    program = compile_text(tests, header=header or compiled.header, language=language)
    return subprocess.run([program], capture_output=True, text=True, check=False), program


@pytest.fixture(scope="module")
def golden(reward):
    return {real: list_golden_rows(reward, float32=real == "float") for real in ("double", "float")}


@pytest.mark.parametrize(
    ("language", "real"),
    [
        pytest.param(*each, marks=() if each in {("gcc", "double"), ("clang++", "float")} else pytest.mark.slow)
        for each in product(LANGUAGES, ("double", "float"))
    ],
)
def test_golden_rows_agree_on_every_compiler(reward, golden, language, real):
    rows = golden[real]
    assert {row.refused.__name__ for row in rows if row.refused} == {"NotFinite", "OutOfRange", "UnknownCategory"}
    done, _ = run(reward.compile("c", real=real, knobs="struct"), rows, language=language)
    assert (done.returncode, done.stdout) == (0, f"all@1: {len(rows)} rows, 0 differ\n")


@pytest.fixture(scope="module")
def braking_program():
    return run(braking().compile("c"), braking_rows())[1]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_comparison_that_is_off_by_its_end_is_found_by_golden_rows(every):
    compiled = braking().compile("c")
    # HUGE_VAL: the guard of a total that is finite whatever happens
    flips = flip_comparisons(compiled.header, "braking_score(const", "The text of the check", without=["HUGE_VAL"])
    assert len(flips) >= 10
    for header, line in flips[::every]:
        assert run(compiled, braking_rows(), header=header)[0].returncode == 1, f"nobody noticed: {line}"


@pytest.mark.parametrize(
    ("constant", "other"), [("15.0", "15.000000000000002"), ("40.0", "39.99999999999999"), ("4.5", "4.6")]
)
def test_a_constant_that_is_off_is_found_by_golden_rows(constant, other):
    compiled = braking().compile("c")
    head, mark, body = compiled.header.partition("braking_score(const")
    assert constant in body
    done, _ = run(compiled, braking_rows(), header=head + mark + body.replace(constant, other))
    assert done.returncode == 1
    assert "not" in done.stdout


@pytest.mark.parametrize("real", [pytest.param("double", marks=pytest.mark.slow), "float"])
def test_plaudit_parity_can_be_pointed_at_the_program(reward, golden, real):
    _, program = run(reward.compile("c", real=real), golden[real])
    report = parity(reward, Command(f"{program} --parity"), examples=100, float32=real == "float")
    assert report.ok, report.mismatch


def test_plaudit_parity_finds_the_very_bits_where_every_operation_is_exact(braking_program):
    report = parity(braking(), Command(f"{braking_program} --parity"), examples=100, tolerance=0.0)
    assert report.ok, report.mismatch
    assert report.complete


def test_categories_of_any_text_are_understood():
    space = load("def rank(mood):\n    return ('a\"b', 'größe', '\\U0001f600', '', '??/\\\\').index(mood)\n")
    labels = ('a"b', "größe", "\U0001f600", "", "??/\\")
    name = 'moods */ "%s" {0} ??/ \\'
    reward = Reward(name, version="1", terms=[term(space["rank"])], fields=[Field("mood", values=labels)])
    done, program = run(reward.compile("c"), list_golden_rows(reward))
    assert done.stdout == f"{name}@1: 7 rows, 0 differ\n"
    lines = "".join(json.dumps({"mood": label}) + "\n" for label in labels)
    done = subprocess.run([program, "--parity"], input=lines, capture_output=True, text=True, check=False)
    assert [json.loads(line)["total"] for line in done.stdout.splitlines()] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "line", ["", "{", "[]", '{"other": 1}', '{"distance": "x"}', '{"distance": 1e', '{"distance": [1, 2]}', "{" * 5000]
)
def test_a_line_that_is_no_row_is_refused(braking_program, line):
    done = subprocess.run([braking_program, "--parity"], input=f"{line}\n", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not a row of this reward" in done.stderr


def test_states_vectors_and_matrices_go_through():
    space = load(
        "def rise(prev, push):\n    return [prev.height[0] + push[0][1], prev.height[1] + push[1][2]]\n\n\n"
        "def high(curr, lit):\n    return curr.height[0] * 2 + curr.height[1] if lit else 0.0\n"
    )
    height = State("height", shape=(2,), reset=[1.0, 0.5], low=0, high=10, update=space["rise"])
    fields = [Field("push", shape=(2, 3), low=-5, high=5), Field("lit", flag=True), height]
    reward = Reward("climb", version="1", terms=[term(space["high"])], fields=fields)
    rows = list_golden_rows(reward)
    assert any(row.states != row.inputs[:2] for row in rows if row.refused is None)
    done, program = run(reward.compile("c"), rows)
    assert done.returncode == 0, done.stdout
    report = parity(reward, Command(f"{program} --parity"), examples=50, tolerance=0.0)
    assert report.ok, report.mismatch


def test_entries_that_nobody_reads_are_no_difference():
    space = load(
        "def move(prev, push):\n    return [prev.place[0] + push, push, prev.place[0]]\n\n\n"
        "def far(curr, prev, wind):\n    return curr.place[0] + prev.place[2] + wind[1]\n"
    )
    place = State("place", shape=(3,), reset=[0.0, 0.0, 0.0], low=-50, high=50, update=space["move"])
    fields = [Field("push", low=-9, high=9), Field("wind", length=2, low=0, high=1), place]
    reward = Reward("drift", version="1", terms=[term(space["far"])], fields=fields)
    assert reward.inputs == ("prev.place[0]", "push", "prev.place[2]", "wind[1]")
    done, _ = run(reward.compile("c"), list_golden_rows(reward))
    assert done.returncode == 0, done.stdout


def test_a_reward_that_reads_nothing_has_tests_too():
    space = load("def always():\n    return 1.5\n")
    reward = Reward("flat", version="1", terms=[term(space["always"])], fields=[])
    done, _ = run(reward.compile("c"), list_golden_rows(reward))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ['a".h', "a\\.h", "a\n.h"])
def test_a_header_that_c_cannot_include_is_refused(name):
    with pytest.raises(TargetError, match="cannot include"):
        write_harness(braking().compile("c"), name, [])


def test_vectors_of_categories_flags_and_knobs_go_through():
    space = load(
        "import numpy as np\n\n\ndef calm(mood, lit):\n    return (1 if mood[0] == 'calm' else 0) + (2 if mood[1] == 'wild' else 0) + (4 if lit[1] else 0)\n\n\n"
        "REST = np.array([[0.5, 2.0], [0.25, 1.0]])\n\n\ndef pose(joint, *, rest=REST):\n"
        "    return sum((joint[i] - rest[1][i]) * rest[0][i] for i in range(2))\n"
    )
    fields = [Field("mood", values=("calm", "wild"), length=2), Field("lit", flag=True, length=2)]
    fields.append(Field("joint", length=2, low=-3, high=3))
    terms = [term(space["calm"]), term(space["pose"])]
    reward = Reward("pose", version="1", terms=terms, fields=fields)
    compiled = reward.compile("c", knobs="struct")
    assert "double rest[2][2];" in compiled.header
    done, program = run(compiled, list_golden_rows(reward))
    assert done.returncode == 0, done.stdout
    report = parity(reward, Command(f"{program} --parity"), examples=50, tolerance=0.0)
    assert report.ok, report.mismatch
