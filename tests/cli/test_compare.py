"""`plaudit compare`: tables, a matrix, JSON and wrong usage."""

import json

import pytest

from plaudit import Ledger
from plaudit.analysis.compare.comparison import TITLES
from plaudit.cli.compare import MEASURES
from plaudit.systems import roadsense


def test_two_rewards_are_compared_by_every_measure_and_the_coverage_is_named(plaudit):
    done = plaudit("compare", "roadsense", "roadsense@graded", "--samples", "5000")
    assert done.exit_code == 0, done.stderr
    for text in ("EPIC distance", "best action differs", "rank correlation of steps", "On 5,000 steps drawn"):
        assert text in done.stdout
    assert "of the draws broke a fact" in done.stdout
    assert "no transitions show where actions lead" in done.stdout


def test_more_rewards_are_a_matrix(plaudit):
    done = plaudit("compare", *(f"roadsense@R{at}" for at in (2, 5, 6)), "--samples", "2000", "--measure", "pearson")
    assert done.exit_code == 0, done.stderr
    assert "correlation of steps of 3 rewards" in done.stdout
    assert next(line.split() for line in done.stdout.splitlines() if line.startswith("R2 "))[1:3] == ["1.000", "1.000"]


def test_json_has_every_pair_and_every_measure(plaudit):
    done = plaudit("compare", "roadsense@R2", "roadsense@R5", "--samples", "2000", "--range", "distance=0:50", "--json")
    outcome = json.loads(done.stdout)
    assert outcome["rewards"] == ["roadsense@R2", "roadsense@R5"]
    assert outcome["measures"]["epic"]["value"][0][1] < 1e-6
    assert outcome["coverage"].startswith("2,000 steps")
    assert "starc" in outcome["left_out"]


def test_what_cannot_be_compared_exits_with_2(plaudit):
    done = plaudit("compare", "roadsense", "roadsense@R8")
    assert done.exit_code == 2
    assert "roadsense@R8 reads closing_rate" in done.stderr
    assert plaudit("compare", "roadsense").exit_code == 2
    done = plaudit("compare", "roadsense@R2", "roadsense@R5", "--range", "distance")
    assert done.exit_code == 2
    assert "as in distance=0:60" in done.stderr


def test_steps_of_a_ledger_are_compared_on(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(100):
            signal = roadsense.reward.score(distance=float(at), deceleration=0.5, action=1)
            ledger.record(signal, run="night", episode=str(at // 5), step=at % 5)
    asked = ("compare", "roadsense", "roadsense@graded", "--ledger", str(tmp_path / "rewards.db"))
    done = plaudit(*asked, "--run", "night", "--means", "8")
    assert done.exit_code == 0, done.stderr
    assert "On 100 steps recorded in" in done.stdout
    assert "correlation of returns" in done.stdout
    done = plaudit(*asked, "--run", "nigth")
    assert done.exit_code == 2
    assert "Did you mean --run night?" in done.stderr
    assert plaudit("compare", "roadsense", "roadsense@graded", "--run", "night").exit_code == 2


def test_every_measure_can_be_a_matrix():
    assert tuple(TITLES) == MEASURES


BALANCE = """
from plaudit import Field, Reward, Task, term

@term
def upright(curr):
    return 1 - abs(curr.angle)

@term
def steadier(prev, curr):
    return abs(prev.angle) - 0.99 * abs(curr.angle)

def make(version, *terms):
    fields = [Field("angle", low=-1, high=1)]
    return Reward("balance", version=version, terms=terms, fields=fields, task=Task(discount=0.99))

plain, shaped = make("plain", upright), make("shaped", upright, steadier)

def features(obs, action, next_obs, info):
    return {"prev.angle": obs[2], "curr.angle": next_obs[2]}
"""


def test_an_environment_covers_what_is_compared(plaudit, write):
    pytest.importorskip("gymnasium")
    write("balance.py", BALANCE)
    asked = ("compare", "balance.py:plain", "balance.py:shaped", "--env", "CartPole-v1")
    done = plaudit(*asked, "--features", "balance.py:features", "--steps", "300", "--means", "16", "--json")
    assert done.exit_code == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["coverage"] == "300 steps of CartPole-v1 under its random policy"
    assert outcome["measures"]["epic"]["value"][0][1] < 1e-6
    assert "--env and --features must be given together" in plaudit(*asked).stderr
    both = plaudit(*asked, "--features", "balance.py:features", "--ledger", "rewards.db")
    assert (both.exit_code, both.stdout) == (2, "")
    assert (
        "balance.py:plain is not a function; its type is Reward."
        in plaudit(*asked, "--features", "balance.py:plain").stderr
    )
    drawn = plaudit(*asked, "--features", "balance.py:features", "--range", "angle=0:1")
    assert (drawn.exit_code, drawn.stdout) == (2, "")
