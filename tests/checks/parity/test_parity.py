"""`parity`: a reward against other implementations of it, right ones and wrong ones."""

import json
import math
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given

from plaudit import DefinitionError, Field, FileError, MissingExtra, Reward, Task, fact, term
from plaudit.checks.parity import Answer, Function, Recorded, parity
from plaudit.checks.parity.candidates import build_pools
from plaudit.checks.step_facts import StepFacts
from plaudit.rows.row import encode_row, flatten_row, nest_row
from plaudit.testing.oracle import Oracle
from plaudit.testing.rows import as_inputs
from support.examples import examples
from support.forking import run_python
from support.samples import SAMPLES, following
from support.strategies import cases

# -- functions -----------------------------------------------------------------------------------------------------


@term
def near(distance, *, reach=2.0):
    return 1.0 if distance < reach else 0.0


@term(weight=-0.5)
def effort(torque):
    return sum(abs(x) for x in torque)


@term
def moved(prev, curr):
    return 1.0 if prev.phase != curr.phase else 0.0


REACHING = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, infinite=True)])
ARM = Reward(
    "arm",
    version="1",
    terms=[effort, moved],
    fields=[Field("torque", length=3, low=-1, high=1), Field("phase", values=("plan", "code"))],
)


def right(distance):
    return 1.0 if distance < 2 else 0.0


@pytest.mark.parametrize("examples", [60, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("reward", SAMPLES.values(), ids=SAMPLES)
def test_a_reward_agrees_with_itself(reward, examples):
    report = parity(reward, reward.score, examples=examples)
    assert report.ok
    assert (report.tested, report.aside) == (examples, 0)
    assert report.fingerprint == reward.fingerprint


@pytest.mark.parametrize(
    "answer",
    [
        lambda total: total,
        lambda total: int(total),
        lambda total: np.float32(total),
        lambda total: {"total": total},
        lambda total: {"total": total, "values": {"near": total}},
        lambda total: {"total": total, "breakdown": {"near": total}},
        lambda total: {"total": total, "values": None},
        lambda total: Answer(total, {"near": total}),
    ],
)
def test_a_function_may_answer_in_several_ways(answer):
    assert parity(REACHING, lambda distance: answer(right(distance)), examples=20).ok


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (None, "wrong keys", "None instead of an object with a 'total'"),
        (True, "wrong keys", "True instead of"),
        ({}, "wrong keys", "without a 'total'"),
        ({"totl": 1}, "wrong keys", "Did you mean 'total'?"),
        ({"total": 1, "values": {"naer": 1}}, "wrong keys", "not a term. Did you mean 'near'?"),
        ({"total": 1, "values": [1]}, "wrong keys", "not an object"),
        ({"total": 1, "values": {}, "breakdown": {}}, "wrong keys", "two names for the same thing"),
        ({"total": "1"}, "no number", "total '1', which is not a number"),
        ({"total": True}, "no number", "total True"),
        ({"total": None}, "no number", "total None"),
        ({"total": math.nan}, "no number", "total nan"),
        ({"total": 1, "values": {"near": math.inf}}, "no number", "near inf"),
        (10**400, "no number", "total inf"),
    ],
)
def test_an_answer_that_is_none_is_told(answer, kind, told):
    mismatch = parity(REACHING, lambda distance: answer).mismatch
    assert mismatch.kind == kind
    assert told in mismatch.failure
    assert mismatch.got is None
    assert mismatch.inputs == {"distance": 0.0}


def test_what_a_function_raises_is_told_with_its_line():
    def divides(distance):
        return 1.0 / (distance - 2.0)

    report = parity(REACHING, divides)
    assert report.mismatch.kind == "different"  # found before the division by zero
    mismatch = parity(REACHING, lambda distance: right(distance) if distance != 2 else 1 / 0).mismatch
    assert mismatch.kind == "raised"
    assert mismatch.failure.startswith("raised ZeroDivisionError: division by zero\n")
    assert "test_parity.py, line " in mismatch.failure
    assert mismatch.inputs == {"distance": 2.0}


def test_a_function_that_takes_something_else_is_told():
    assert "unexpected keyword argument 'distance'" in parity(REACHING, lambda gap: 0.0).mismatch.failure


@given(case=cases())
@examples(0.05, suppress_health_check=list(HealthCheck))
def test_the_plain_functions_of_any_reward_agree_with_it(case):
    oracle = Oracle(case)

    def plain(**row):
        ends = {end: row.pop(end, {}) for end in ("prev", "curr")}
        columns = {f"{end}.{name}": value for end, record in ends.items() for name, value in record.items()}
        return oracle({**row, **columns})

    with suppress(DefinitionError):  # no row of some can be scored
        report = parity(case.reward, plain, examples=40)
        assert report.ok, report.mismatch


# -- what is sent ------------------------------------------------------------------------------------------------


def asked_rows(reward, **options):
    rows = []

    def ask(**row):
        rows.append(row)
        return reward.score(**row)

    assert parity(reward, ask, **options).ok
    return rows


def test_rows_are_records_and_lists_as_score_takes_them():
    rows = asked_rows(ARM, examples=50)
    assert all(set(row) == {"torque", "prev", "curr"} for row in rows)
    assert all(len(row["torque"]) == 3 for row in rows)
    assert {row["prev"]["phase"] for row in rows} == {"plan", "code"}


def test_whole_numbers_stay_whole_and_infinity_is_a_text_in_json():
    program = following.program
    row = nest_row(program, {"distance": math.inf, "deceleration": 2.0, "action": 3.0})
    assert row == {"distance": math.inf, "deceleration": 2.0, "action": 3}
    assert encode_row(row) == '{"distance": "inf", "deceleration": 2.0, "action": 3}'
    assert flatten_row(program, json.loads(encode_row(row))) == row


def test_prev_comes_before_curr():
    row = {"torque[0]": 1.0, "torque[1]": 0.0, "torque[2]": -1.0, "prev.phase": "plan", "curr.phase": "code"}
    line = encode_row(nest_row(ARM.program, row))
    assert line == '{"prev": {"phase": "plan"}, "torque": [1.0, 0.0, -1.0], "curr": {"phase": "code"}}'
    assert as_inputs(flatten_row(ARM.program, json.loads(line))) == json.loads(line)


def test_an_entry_that_no_term_reads_is_at_rest():
    @term
    def first(torque):
        return torque[1]

    reward = Reward("first", version="1", terms=[first], fields=[Field("torque", length=3, low=2, high=9)])
    assert nest_row(reward.program, {"torque[1]": 5.0}) == {"torque": [2.0, 5.0, 2.0]}
    assert asked_rows(reward, examples=20)


@pytest.mark.parametrize("examples", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_rows_are_within_the_declared_ranges_and_on_both_sides_of_every_boundary(examples):
    rows = asked_rows(REACHING, examples=examples)
    distances = {row["distance"] for row in rows}
    assert min(distances) >= 0
    assert {0.0, 2.0, math.nextafter(2, 0), math.nextafter(2, 3), math.inf} <= distances
    assert len(distances) > 50


@pytest.mark.parametrize("examples", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_rows_that_the_reward_refuses_are_not_sent(examples):
    @term
    def inverse(x):
        return 1 / (x - 1)

    reward = Reward("inverse", version="1", terms=[inverse], fields=[Field("x", low=0, high=2)])
    rows = []

    def ask(x):
        rows.append(x)
        return 1 / (x - 1)

    report = parity(reward, ask, examples=examples)
    assert report.ok
    assert report.refused > 0
    assert 1.0 not in rows
    assert report.tested == len(rows)


def test_a_reward_that_refuses_everything_cannot_be_compared():
    @term
    def never(x):
        return math.log(x - 5)

    reward = Reward("never", version="1", terms=[never], fields=[Field("x", low=0, high=2)])
    with pytest.raises(DefinitionError, match="'never' cannot score any row"):
        parity(reward, lambda x: 0.0, examples=2)


def test_declared_steps_are_kept():
    @term
    def gain(prev, curr):
        return (curr.tokens - prev.tokens) * 0.001 + abs(curr.distance - prev.distance)

    fields = [Field("tokens", low=0, high=1000), Field("distance", low=0, high=9)]
    task = Task(monotone={"tokens": "up"}, max_change={"distance": 1})
    rows = asked_rows(Reward("steps", version="1", terms=[gain], fields=fields, task=task), examples=60)
    assert all(row["prev"]["tokens"] <= row["curr"]["tokens"] for row in rows)
    assert all(abs(row["prev"]["distance"] - row["curr"]["distance"]) <= 1 + 1e-12 for row in rows)


@fact
def ordered(low, high):
    """The lower end is below the upper one."""
    return low < high


@fact
def tied(low, high):
    """One of them follows from the other."""
    return high == 2 * low + 0.5


@term
def width(low, high):
    return high - low


def band(*facts):
    fields = [Field("low", low=0, high=10), Field("high", low=0, high=10)]
    return Reward("band", version="1", terms=[width], fields=fields, task=Task(facts=facts))


def test_rows_keep_declared_facts():
    rows = asked_rows(band(ordered), examples=40)
    assert len(rows) >= 40
    assert all(row["low"] < row["high"] for row in rows)
    assert parity(band(ordered), lambda low, high: abs(high - low), examples=20).ok
    assert not parity(band(), lambda low, high: abs(high - low)).ok


def test_facts_that_leave_hardly_any_row_are_told_when_broken():
    reward = band(tied)
    steps = StepFacts(reward)
    steps.probe({name: pool.values for name, pool in build_pools(reward).items()}, 0)
    assert not steps.needed
    mismatch = parity(reward, lambda low, high: abs(high - low)).mismatch
    assert mismatch.breaks == ("tied",)


def test_a_fact_may_read_a_field_that_no_term_reads():
    @term
    def near(x):
        return 1.0 if x < 2 else 0.0

    @fact
    def together(x, speed):
        return x + speed < 9

    fields = [Field("x", low=0, high=9), Field("speed", low=0, high=5)]
    reward = Reward("reaching", version="1", terms=[near], fields=fields, task=Task(facts=[together]))
    assert parity(reward, lambda x: 1.0 if x < 2 else 0.0, examples=40).ok


def test_the_seed_decides_the_rows():
    rows = asked_rows(REACHING, examples=40)
    assert asked_rows(REACHING, examples=40) == rows
    assert asked_rows(REACHING, examples=40, seed=1) != rows


def test_nothing_is_written(tmp_path):
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    script += "from support.samples import handover as r; from plaudit.checks.parity import parity\n"
    script += "assert parity(r, r.score, examples=30).ok"
    (tmp_path / "mine.py").write_text("LIMIT = 12345\n", encoding="utf-8")
    command = [sys.executable, "-c", f"import sys; sys.dont_write_bytecode = True\nimport mine\n{script}"]
    run_python(command, cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


# -- what comes back -----------------------------------------------------------------------------------------------


def two(first, second, total=None):
    """Return a function that answers with these two values, where they are not None, and their sum."""

    def ask(x):
        values = {
            "one": x + first if first is not None else None,
            "other": 2 * x + second if second is not None else None,
        }
        kept = {name: value for name, value in values.items() if value is not None}
        return {"total": 3 * x + (first or 0) + (second or 0) if total is None else total, "values": kept}

    return ask


@term
def one(x):
    return x


@term
def other(x):
    return 2 * x


PAIR = Reward("pair", version="1", terms=[one, other], fields=[Field("x", low=-5, high=5)])


@pytest.mark.parametrize(
    ("ask", "terms"),
    [
        (two(0, 1), ("other",)),
        (two(1, 0), ("one",)),
        (two(1, 1), ("one", "other")),
        (two(1, -1), ("one", "other")),  # the total is right
        (two(0, 0, total=7.5), ("total",)),
        (two(0, None, total=7.5), ("other",)),
        (two(None, None, total=7.5), ("one", "other")),
    ],
)
def test_the_guilty_terms_are_named(ask, terms):
    assert parity(PAIR, ask).mismatch.terms == terms


def test_a_report_is_plain_data():
    report = parity(REACHING, lambda distance: 1.0 if distance <= 2 or math.isinf(distance) else 0.0)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["ok"] is False
    assert data["mismatch"]["inputs"] in ({"distance": 2.0}, {"distance": "inf"})
    assert data["mismatch"]["got"] == {"total": 1.0, "values": {}}
    assert data["against"].endswith("<lambda>")
    assert parity(REACHING, right, examples=20).to_dict()["mismatch"] is None


def test_progress_is_told():
    told = []
    parity(REACHING, right, examples=20, progress=told.append)
    assert told == list(range(1, 21))


@pytest.mark.parametrize(
    "options",
    [
        {"examples": 0},
        {"examples": 2.5},
        {"timeout": 0},
        {"timeout": math.inf},
        {"tolerance": -1},
        {"tolerance": math.nan},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(DefinitionError, match=next(iter(options))):
        parity(REACHING, right, **options)


def test_hypothesis_is_asked_for_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "plaudit.checks.parity.draws", raising=False)
    monkeypatch.delattr("plaudit.checks.parity.draws", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'plaudit\[parity\]'"):
        parity(REACHING, right)
    (tmp_path / "pairs.jsonl").write_text('{"inputs": {"distance": 1}, "total": 1}\n', encoding="utf-8")
    assert parity(REACHING, Recorded(tmp_path / "pairs.jsonl")).ok


def test_parity_needs_no_z3_and_a_check_no_hypothesis():
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
sys.modules["z3"] = None
from support.samples import maze
from plaudit import check
from plaudit.checks.parity import parity
assert parity(maze, maze.score, examples=20).ok
hypothesis = [name for name in sys.modules if name.partition(".")[0] == "hypothesis"]
assert hypothesis
for name in hypothesis:
    sys.modules[name] = None
assert not check(maze).ok
"""
    run_python([sys.executable, "-c", script], check=True)


def test_a_function_has_a_name():
    assert Function(right).name.endswith(":right")
    assert Function(right, title="mine.py:right").name == "mine.py:right"
    assert parity(REACHING, right, examples=5).against.endswith(":right")


# -- recorded pairs ------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path):
    def write(*lines):
        path = tmp_path / "pairs.jsonl"
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return Recorded(path)

    return write


def pair(distance, total, **more):
    return {"inputs": {"distance": distance}, "total": total, **more}


def test_recorded_pairs_agree(recorded):
    report = parity(REACHING, recorded(pair(1, 1), "", pair("inf", 0), pair(2.0, 0, values={"near": 0})))
    assert report.ok
    assert report.tested == 3


def test_the_first_recorded_pair_that_differs_is_told_and_the_others_counted(recorded):
    report = parity(REACHING, recorded(pair(1, 1), pair(2, 1), pair(3, 0), pair(4, 1)))
    assert (report.tested, report.differing) == (4, 2)
    assert report.mismatch.line == 2
    assert report.mismatch.inputs == {"distance": 2.0}
    assert report.mismatch.terms == ("near",)


def test_recorded_rows_may_be_nested_or_flat(recorded):
    row = {"torque": [0.5, 0, -0.5], "prev": {"phase": "plan"}, "curr": {"phase": "code"}}
    other = {"torque[0]": 0.5, "torque[1]": 0, "torque[2]": -0.5, "prev.phase": "plan", "curr.phase": "code"}
    answer = {"total": 0.5, "values": {"effort": -0.5, "moved": 1}}
    assert parity(ARM, recorded({"inputs": row, **answer}, {"inputs": other, **answer})).ok


def test_recorded_rows_that_the_reward_refuses_are_counted(recorded):
    report = parity(REACHING, recorded(pair(-1, 1), pair(1, 1)))
    assert (report.tested, report.refused) == (1, 1)
    with pytest.raises(FileError, match=r"no row that the reward can score\. The first, .*, line 1: .*-1"):
        parity(REACHING, recorded(pair(-1, 1)))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 has no object 'inputs'"),
        ({"inputs": 3, "total": 1}, "line 2 has no object 'inputs'"),
        ({"inputs": {"distance": 1}}, "line 2 is without a 'total'"),
        (pair(1, None), "line 2 holds total None, which is not a number"),
        (pair(1, 1, values={"far": 1}), "line 2 holds a value for 'far', which is not a term"),
        (pair(1, 1, extra=1), "line 2 holds the key 'extra'"),
        ({"inputs": {"distnce": 1}, "total": 1}, "line 2: .*'distnce'"),
        ({"inputs": {}, "total": 1}, "line 2: .*needs 'distance'"),
        (pair("far", 1), "line 2: .*'far'"),
        ({"inputs": {"curr": {"distance": 1}, "curr.distance": 2}, "total": 1}, "line 2: .*twice"),
    ],
)
def test_a_bad_recorded_line_is_told_by_its_number(recorded, line, told):
    with pytest.raises(FileError, match=told):
        parity(REACHING, recorded(pair(1, 1), line))


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        parity(REACHING, Recorded(tmp_path / "nothing.jsonl"))
    with pytest.raises(FileError, match="is a directory; name a file in it"):
        parity(REACHING, Recorded(tmp_path))
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    with pytest.raises(FileError, match="has no row"):
        parity(REACHING, Recorded(tmp_path / "empty.jsonl"))
