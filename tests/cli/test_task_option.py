"""`--task`: commands judge by the task that they are given, and `plaudit show` prints one."""

import json

import pytest

from plaudit import Event, Ledger, Seen, Task
from plaudit.plugins.arguments import find_reward, find_task
from support.histories import record_episodes

SOURCE = """
from plaudit import Field, Reward, Task, fact, term

@term
def far(distance):
    return distance

@fact
def nowhere_near(distance):
    return distance > 5

@term
def over_five(distance):
    return distance if distance > 5 else 0.0

one = Reward("following", version="1", terms=[far], fields=[Field("distance", low=0)], task=Task(discount=0.5))
two = one.with_version("2").with_task(Task(discount=0.9))
three = Reward("following", version="3", terms=[over_five], fields=[Field("distance", low=0, high=50)])
four = one.with_version("4").with_task(Task(better={"distance": "low"}))
near = Task("near", discount=0.75, better={"distance": "low"}, fields=[Field("distance", low=0, high=50)], states=["distance"])
strange = Task("strange", better={"height": "low"}, fields=[Field("height", low=0, high=1)])
typo = Task(better={"distanc": "low"})
never_near = Task(facts=[nowhere_near])
"""

CART = """
from plaudit import Field, Reward, Task, term

@term
def leans(angle):
    return abs(angle)

def features(obs, action, next_obs, info):
    return {"angle": next_obs[2]}

reward = Reward("leaning", version="1", terms=[leans], fields=[Field("angle", low=-1, high=1, unit="rad")])
task = Task("balance", aim={"angle": 0.0})
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(SOURCE, encoding="utf-8")


def test_check_goes_by_the_task_and_names_it(plaudit):
    without = json.loads(plaudit("check", "own.py:three", "--json").stdout)["rewards"][0]
    result = plaudit("check", "own.py:one", "own.py:three", "--task", "own.py:near", "--json")
    (one, three) = json.loads(result.stdout)["rewards"]
    assert without["task"] is None
    assert "wrong-way" not in [each["code"] for each in without["findings"]]
    for found in (one, three):
        assert "wrong-way" in [each["code"] for each in found["findings"]]
        assert (found["task"]["name"], found["task"]["version"]) == ("near", "1")
    assert three["task"]["fingerprint"] == find_task("own.py:near").fingerprint


def test_a_task_of_other_fields_is_refused(plaudit):
    result = plaudit("check", "own.py:four", "--task", "own.py:strange")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: reward 'following' with task 'strange': the task names height, and the reward reads distance: "
        "they have no field in common. Use the task of this reward, or observe its environment with the features "
        "that the reward gets.\n"
    )
    result = plaudit("check", "own.py:one", "--task", "own.py:typo")
    assert result.exit_code == 2
    assert "Did you mean 'distance'?" in result.stderr


def test_two_rewards_are_compared_by_one_task(plaudit):
    assert plaudit("compare", "own.py:one", "own.py:two", "--samples", "1000").exit_code == 2
    result = plaudit("compare", "own.py:one", "own.py:two", "--samples", "1000", "--task", "own.py:near", "--json")
    assert json.loads(result.stdout)["discount"] == 0.75


def test_a_diff_by_one_task_tells_only_what_is_paid(plaudit):
    assert "discount" in plaudit("diff", "own.py:one", "own.py:two").stdout
    assert "discount" not in plaudit("diff", "own.py:one", "own.py:two", "--task", "own.py:near").stdout


def test_an_audit_goes_by_the_task(plaudit):
    with Ledger("rewards.db") as ledger:
        record_episodes(ledger, find_reward("own.py:one"), [{"distance": [at / 30] * 5} for at in range(200)])
    told = json.loads(plaudit("audit", "rewards.db", "--task", "own.py:near", "--json").stdout)["rewards"][0]
    assert "parted-from-goal" in [each["code"] for each in told["findings"]]
    assert told["task"]["name"] == "near"
    untold = json.loads(plaudit("audit", "rewards.db", "--json").stdout)["rewards"][0]
    assert "parted-from-goal" in untold["skipped"]


def test_a_proof_takes_the_facts_of_the_task(plaudit):
    pair = ("own.py:three", "own.py:far")
    assert plaudit("prove", *pair).exit_code == 1
    assert plaudit("prove", *pair, "--facts", "--task", "own.py:never_near").exit_code == 0
    assert "--task needs --facts" in plaudit("prove", *pair, "--task", "own.py:never_near").stderr


def test_a_probe_goes_by_the_task(plaudit, tmp_path):
    (tmp_path / "cart.py").write_text(CART, encoding="utf-8")
    probed = ("probe", "cart.py:reward", "CartPole-v1", "--budget", "2000", "--seeds", "2", "--json")
    assert json.loads(plaudit(*probed).stdout)["compared"] == ["native"]
    told = json.loads(plaudit(*probed, "--task", "cart.py").stdout)
    assert told["compared"] == ["native", "angle"]
    assert told["report"]["task"]["name"] == "balance"


# -- show --------------------------------------------------------------------------------------------------------------

SEEN = Task(
    "cart",
    horizon=500,
    monotone={"distance": "up"},
    better={"distance": "low"},
    events={"distance": Event(rate=0.25)},
    seen={"horizon": Seen(12, 12, "episodes"), "monotone.distance": Seen(9975, 9975)},
    source="CartPole-v1",
)


def test_a_task_file_is_shown_with_where_each_line_comes_from(plaudit):
    SEEN.save("task.json")
    shown = plaudit("show", "task.json").stdout
    assert shown.startswith(f"cart@1\nfingerprint {SEEN.fingerprint}\nobserved in CartPole-v1\n")
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "horizon 500 steps seen in 12 of 12 episodes" in lines
    assert "monotone distance only up seen in 9,975 of 9,975 steps" in lines
    assert "better distance low declared" in lines


def test_show_task_prints_only_the_task(plaudit):
    SEEN.save("task.json")
    own = plaudit("show", "own.py:one", "--task").stdout
    assert "discount" in own
    assert "Formula" not in own
    assert plaudit("show", "own.py:three", "--task", "task.json").stdout == plaudit("show", "task.json").stdout
    both = plaudit("show", "own.py:one", "--task", "task.json").stdout
    assert "discount" in both
    assert "seen in 12 of 12 episodes" in both
    assert plaudit("show", "--task", "own.py:one").stdout == own
    assert plaudit("show", "own.py:three", "--task").stdout == (
        "own.py:three has no task. `plaudit declare own.py:three` prints one to fill in.\n"
    )


def test_a_script_reads_a_task_as_json(plaudit):
    data = json.loads(plaudit("show", "own.py:near", "--json").stdout)
    assert data.pop("fingerprint") == find_task("own.py:near").fingerprint
    assert Task.from_dict(data) == find_task("own.py:near")


@pytest.mark.parametrize("option", ["--formula", "--source", "--spec", "--sql=duckdb"])
def test_a_task_has_no_formula(plaudit, option):
    result = plaudit("show", "own.py:near", option)
    assert result.exit_code == 2
    assert "a task has no formula" in result.stderr


def test_show_needs_something_to_show(plaudit):
    assert "name a REWARD or a TASK" in plaudit("show").stderr
