"""The branches of a reward: which rows take them, which none can, and rows that are aimed at them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.branches import Branches
from plaudit.checks.model import RewardModel
from plaudit.checks.parity import Recorded, parity
from plaudit.checks.parity.coverage import BranchQuestions
from plaudit.checks.solver.question import Impossible, Witness
from plaudit.checks.solver.ranges import decode_row
from plaudit.checks.trace import Trace
from support.asking import samples
from support.examples import examples
from support.samples import SAMPLES, following
from support.strategies import cases
from support.written import module

MODE = Field("mode", values=("idle", "drive", "dock"))
GEAR = Field("gear", values=(0, 1, 2))
SPEED = Field("speed", low=0, high=9)
METRES = Field("metres", low=0, high=100)
X = Field("x", low=-5, high=5)


def reward_of(*functions, fields, **options):
    return Reward("r", version="1", terms=[term(each) for each in functions], fields=fields, **options)


def taken(reward, **row):
    branches = Branches(reward.program.bind())
    found = branches.find_taken(Trace(branches.program).values(row))
    return {branches.describe(branch) for branch in found}


def describe_all(reward):
    branches = Branches(reward.program.bind())
    return {branches.describe(branch) for branch in branches.all}


# -- what a row takes -------------------------------------------------------------------------------------------------


def test_a_part_of_a_condition_decides_only_where_the_others_let_it():
    def near(speed, metres):
        return 1.0 if metres < 3 and speed < 2 else 0.0

    reward = reward_of(near, fields=[SPEED, METRES])
    slow, close = "near: `speed < 2` is", "near: `metres < 3` is"
    assert taken(reward, speed=1.0, metres=1.0) == {f"{slow} true", f"{close} true"}
    assert taken(reward, speed=5.0, metres=1.0) == {f"{slow} false"}
    assert taken(reward, speed=1.0, metres=9.0) == {f"{close} false"}
    assert taken(reward, speed=5.0, metres=9.0) == set()  # either alone would not change a thing
    assert describe_all(reward) == {f"{each} {way}" for each in (slow, close) for way in ("true", "false")}


def test_or_and_not_decide_likewise():
    def far(speed, metres):
        return 1.0 if not (metres < 3 or speed < 2) else 0.0

    reward = reward_of(far, fields=[SPEED, METRES])
    assert taken(reward, speed=5.0, metres=9.0) == {"far: `speed < 2` is false", "far: `metres < 3` is false"}
    assert taken(reward, speed=1.0, metres=9.0) == {"far: `speed < 2` is true"}
    assert taken(reward, speed=1.0, metres=1.0) == set()


def test_a_branch_inside_another_is_taken_only_there():
    def dock(mode, speed):
        if mode == "dock":
            return 5.0 if speed < 0.3 else 1.0
        return 0.0

    reward = reward_of(dock, fields=[MODE, SPEED])
    assert "dock: `speed < 0.3` is true" in taken(reward, mode="dock", speed=0.1)
    assert not any("speed" in each for each in taken(reward, mode="drive", speed=0.1))


def test_the_same_condition_is_a_branch_of_each_term_that_has_it():
    def one(speed):
        return 1.0 if speed < 2 else 0.0

    def two(speed, mode):
        return (3.0 if speed < 2 else 0.0) if mode == "dock" else 1.0

    reward = reward_of(one, two, fields=[SPEED, MODE])
    assert taken(reward, speed=1.0, mode="idle") == {"one: `speed < 2` is true", "two: `mode == 'dock'` is false"}


def test_clamps_tables_and_the_smaller_of_two_are_branches():
    def costs(gear, speed, metres):
        return (0.0, 1.0, 4.0)[gear] + min(speed, 2.0) + abs(metres - 50)

    reward = reward_of(costs, fields=[GEAR, SPEED, METRES], low=1, high=20)
    found = taken(reward, gear=2, speed=1.0, metres=40.0)
    assert {"costs: `gear` is 2", "costs: `speed` is below `2.0`", "costs: `metres - 50` is below 0"} <= found
    assert len(found) == 4  # and the clamp of the total does not bind
    ways = describe_all(reward)
    assert {"costs: `gear` is 0", "costs: `gear` is 1", "costs: `metres - 50` is below 0"} <= ways
    assert sum(each.startswith("total: ") for each in ways) == 3


# -- what no row can take ---------------------------------------------------------------------------------------------


def find_row(reward, text):
    branches = Branches(reward.program.bind())
    questions = BranchQuestions(branches, RewardModel(reward), seconds=60.0)
    return questions.find_row(next(branch for branch in branches.all if branches.describe(branch) == text))


@fact
def slow_at_the_dock(mode, speed):
    return speed < 1 or mode != "dock"


def test_a_branch_that_no_row_can_take_is_shown_to_be_out_of_reach():
    def dock(mode, speed):
        if mode == "dock":
            return 5.0 if speed < 3 else 1.0
        return 2.0 if speed < 10 else 0.0

    fields = [MODE, SPEED]
    plain = reward_of(dock, fields=fields)
    tied = plain.with_task(Task(facts=[slow_at_the_dock]))
    assert find_row(plain, "dock: `speed < 10` is false") == Impossible()
    assert isinstance(find_row(plain, "dock: `speed < 3` is false"), Witness)
    assert find_row(tied, "dock: `speed < 3` is false") == Impossible()


def test_a_branch_that_there_is_no_time_to_ask_about_is_merely_not_reached(monkeypatch):
    monkeypatch.setattr("plaudit.checks.parity.compare.SOLVING", 1e-9)

    @term
    def dock(speed):
        return 5.0 if speed < 100 else 1.0

    report = parity(Reward("r", version="1", terms=[dock], fields=[SPEED]), dock.source.function, examples=20)
    assert report.ok
    assert report.unreached == ("dock: `speed < 100` is false",)
    assert report.unreachable == ()


@examples(0.05)
@given(cases())
def test_what_the_solver_answers_is_so(case):
    """A row that it finds takes the branch, and what it calls impossible no random row takes."""
    reward = case.reward
    branches = Branches(reward.program.bind())
    model = RewardModel(reward)
    questions = BranchQuestions(branches, model, seconds=2.0)
    rows = [decode_row(each.row, reward.program.inputs) for each in samples(case, 0, 30) if each.scores is not None]
    seen = set().union(*(branches.find_taken(branches.trace.values(row)) for row in rows))
    for branch in branches.all[:6]:
        match questions.find_row(branch):
            case Impossible():
                assert branch not in seen or reward.task.facts, branches.describe(branch)


# -- rows aimed at them -----------------------------------------------------------------------------------------------

DOCK = """
def f(mode, metres, speed, prev, curr):
    if mode == "dock" and 3 < metres < 3.2:
        if curr.x - prev.x > 4:
            return 5 if speed < 0.3 else 1
        return 0.1 * speed
    if mode == "drive" or (metres > 99.5 and speed >= 8.5):
        return min(2.5, 0.5 * metres)
    return 0.0
"""
PLANTED = {
    "speed < 0.3 ": "speed < 0.30001 ",
    "3 < metres": "3 <= metres",
    "> 4": "> 4.05",
    "0.1 * speed": "0.11 * speed",
    "speed >= 8.5": "speed >= 8.51",
    "2.5": "2.6",
}
LIKE_THEM = {"metres < 3.2": "metres < 3.19", "else 1": "else 1.001", "99.5": "99.6"}


def dock_reward():
    return reward_of(module(DOCK)["f"], fields=[MODE, METRES, SPEED, X])


def dock_mutant(right, wrong):
    assert DOCK.count(right) == 1
    changed = reward_of(module(DOCK.replace(right, wrong))["f"], fields=[MODE, METRES, SPEED, X])
    return changed.score


@pytest.mark.parametrize(
    ("right", "wrong"),
    [*PLANTED.items(), *(pytest.param(*each, marks=pytest.mark.slow) for each in LIKE_THEM.items())],
)
def test_a_threshold_planted_in_a_branch_that_few_rows_reach_is_found(right, wrong):
    report = parity(dock_reward(), dock_mutant(right, wrong), examples=80)
    assert report.mismatch is not None


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
def test_it_is_found_whatever_the_seed(seed):
    report = parity(dock_reward(), dock_mutant("speed < 0.3", "speed < 0.5"), examples=80, seed=seed)
    assert report.mismatch is not None
    assert report.mismatch.inputs["mode"] == "dock"
    assert report.mismatch.terms == ("f",)


@pytest.mark.parametrize("name", SAMPLES)
def test_rows_reach_every_branch_of_the_samples(name):
    report = parity(SAMPLES[name], SAMPLES[name].score, examples=60)
    assert report.ok
    assert report.unreached == ()
    assert report.complete
    assert report.reached + len(report.unreachable) == report.branches > 0


def test_rows_of_32_bit_floats_reach_them_too():
    reward = dock_reward()
    assert parity(reward, reward.score, examples=100, float32=True).complete


def test_what_was_not_reached_is_told_and_what_cannot_be_is_apart(tmp_path):
    def zones(speed):
        if speed < 2:
            return 1.0
        return 0.5 if speed < 20 else 0.0

    reward = reward_of(zones, fields=[SPEED])
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"inputs": {"speed": 1.0}, "total": 1.0}) + "\n", encoding="utf-8")
    report = parity(reward, Recorded(pairs))
    assert (report.ok, report.complete, report.branches, report.reached) == (True, False, 4, 1)
    assert report.unreached == ("zones: `speed < 2` is false", "zones: `speed < 20` is true")
    assert report.unreachable == ("zones: `speed < 20` is false",)
    assert report.to_dict()["unreached"] == list(report.unreached)
    assert parity(reward, reward.score, examples=20).unreachable == report.unreachable


def test_the_same_seed_gives_the_same_rows_whatever_else_a_process_holds(tmp_path):
    (tmp_path / "mine.py").write_text(f"NUMBERS = {[at / 7 for at in range(1, 500)]}\n", encoding="utf-8")
    script = f"""
import sys
import mine
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from support.samples import following
from plaudit.checks.parity import parity
parity(following, lambda **row: print(row) or following.score(**row), examples=120)
"""
    environment = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path)
    asked = []
    parity(following, lambda **row: asked.append(str(row)) or following.score(**row), examples=120)
    assert done.stdout.splitlines() == asked
    assert len(asked) == 120
