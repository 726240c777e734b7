"""`plaudit evaluate`: a table, a verdict, JSON for scripts, and one sentence where there is no estimate."""

import json

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.cli import main
from plaudit.learn import linucb
from plaudit.learn.off_policy import ESTIMATORS
from plaudit.learn.saving import save


@term
def gained(delta):
    """What a step gained."""
    return delta


REWARD = Reward("step", version="1", terms=[gained], fields=[Field("delta", low=-1, high=1)])
MODULE = """
import numpy as np
from plaudit import Field, Reward, term
from plaudit.learn.off_policy import always

@term
def gained(delta):
    return 2 * delta

@term
def spent(tokens):
    return -tokens

double = Reward("step", version="double", terms=[gained], fields=[Field("delta", low=-1, high=1)])
positive = Reward("step", version="positive", terms=[gained], fields=[Field("delta", low=0, high=1)])
costs = Reward("step", version="costs", terms=[gained, spent], fields=[Field("delta"), Field("tokens")])

def mostly_star(contexts):
    return np.tile([0.9, 0.1], (len(contexts), 1))

def broken(contexts):
    return contexts["star"]

star = always("star")
number = 3
"""


@pytest.fixture
def night(tmp_path):
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 2, 400)
    delta = np.where(chosen == 0, 0.4, 0.0) + rng.uniform(-0.1, 0.3, 400)
    contexts = [
        {"decision": {"action": ("star", "flat")[at], "probability": 0.5, "x": [x, 1.0]}}
        for at, x in zip(chosen.tolist(), rng.normal(size=400).tolist(), strict=True)
    ]
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(REWARD, {"delta": delta}, run="night-3", decision_class="topology", context=contexts)
    (tmp_path / "policies.py").write_text(MODULE, encoding="utf-8")
    return ("rewards.db", "--decision-class", "topology")


def test_a_table_and_a_verdict(plaudit, night):
    done = plaudit("evaluate", *night, "--policy", "always:star")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["estimator", "value", "error"]
    assert [line.split()[0] for line in lines[2:6]] == ["ips", "snips", "dm", "dr"]
    assert "topology, as scored by step@1: 400 decisions; effective" in done.stdout
    assert lines[-1].startswith("always star is better than the logged policy: +0.")
    assert lines[-1].endswith("per decision (dr, 95% interval).")


def test_json_for_a_script(plaudit, night):
    done = plaudit(
        "evaluate",
        *night,
        "--policy",
        "uniform",
        "--estimator",
        "snips",
        "--interval",
        "bootstrap",
        "--confidence",
        0.8,
        "--json",
    )
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert list(found["estimates"]) == ["snips"]
    assert found["better"] is None
    assert found["confidence"] == 0.8
    assert found["source"]["decision_class"] == "topology"


def test_a_saved_learner_is_a_policy(plaudit, night, tmp_path):
    learner = linucb(("flat", "star"), 2)
    state = learner.init()
    for at in range(30):
        made = learner.choose(state, at, [0.0, 1.0])
        state = learner.update(state, made, float(made.action == "star"))
    save(tmp_path / "router.json", learner, state)
    done = plaudit("evaluate", *night, "--policy", "router.json")
    assert done.exit_code == 0
    assert "router.json is better than the logged policy" in done.stdout


@pytest.mark.parametrize("policy", ["policies.py:star", "policies:star"])
def test_a_policy_of_the_users_own(plaudit, night, policy):
    assert "is better than" in plaudit("evaluate", *night, "--policy", policy).stdout


def test_a_function_needs_names_for_its_columns(plaudit, night):
    done = plaudit("evaluate", *night, "--policy", "policies.py:mostly_star")
    assert done.exit_code == 2
    assert "does not name the action of each column" in done.stderr
    done = plaudit("evaluate", *night, "--policy", "policies.py:mostly_star", "--actions", "star, flat")
    assert "policies.py:mostly_star is better than" in done.stdout
    done = plaudit("evaluate", *night, "--policy", "policies.py:mostly_star", "--actions", "flat,star")
    assert "policies.py:mostly_star is worse than" in done.stdout


def test_another_reward_and_other_knobs(plaudit, night):
    double = plaudit("evaluate", *night, "--policy", "uniform", "--reward", "policies.py:double", "--json")
    plain = plaudit("evaluate", *night, "--policy", "uniform", "--json")
    tuned = plaudit(
        "evaluate",
        *night,
        "--policy",
        "uniform",
        "--reward",
        "policies.py:double",
        "--set",
        "gained.weight=0.5",
        "--json",
    )
    values = [json.loads(done.stdout)["logged"]["value"] for done in (plain, double, tuned)]
    assert values == pytest.approx([values[0], 2 * values[0], values[0]])
    assert (
        "scored again with step@double"
        in plaudit("evaluate", *night, "--policy", "uniform", "--reward", "policies.py:double").stdout
    )
    done = plaudit("evaluate", *night, "--policy", "uniform", "--set", "gained.weight=2")
    assert done.exit_code == 2
    assert "--set and --params need --reward" in done.stderr


def test_what_the_reward_cannot_score_stops_it_or_is_left_out(plaudit, night):
    done = plaudit("evaluate", *night, "--policy", "uniform", "--reward", "policies.py:positive")
    assert done.exit_code == 2
    assert "step@positive refuses the inputs of" in done.stderr
    done = plaudit("evaluate", *night, "--policy", "uniform", "--reward", "policies.py:positive", "--on-bad", "mask")
    assert done.exit_code == 3
    assert "cannot score. The rest may differ" in done.stdout
    done = plaudit("evaluate", *night, "--policy", "uniform", "--reward", "policies.py:costs")
    assert done.exit_code == 2
    assert "400 decisions were recorded without what step@costs needs: tokens" in done.stderr


def test_an_anytime_interval(plaudit, night):
    done = plaudit("evaluate", *night, "--policy", "always:star", "--interval", "anytime", "--json")
    found = json.loads(done.stdout)
    assert found["estimator"] == "ips"
    wider = plaudit(
        "evaluate", *night, "--policy", "always:star", "--interval", "anytime", "--reward-range", -5, 5, "--json"
    )
    assert json.loads(wider.stdout)["estimates"]["ips"]["low"] < found["estimates"]["ips"]["low"]


def test_decisions_are_chosen_by_run_and_time(plaudit, night):
    assert (
        "400 decisions"
        in plaudit("evaluate", *night, "--policy", "uniform", "--run", "night-3", "--since", "1d").stdout
    )
    done = plaudit("evaluate", *night, "--policy", "uniform", "--until", "1d")
    assert (done.exit_code, done.stderr) == (2, "Error: No matching records.\n")
    done = plaudit("evaluate", *night, "--policy", "uniform", "--run", "nihgt-3")
    assert (done.exit_code, done.stderr) == (2, "Error: No matching records. Did you mean --run night-3?\n")
    assert plaudit("evaluate", *night, "--policy", "uniform", "--since", "yesterday-ish").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--policy", "unifrom"), "there is no policy 'unifrom'. Did you mean 'uniform'?"),
        (("--policy", "always:"), "has no action"),
        (("--policy", "missing.json"), "missing.json does not exist."),
        (("--policy", "policies.py:stra"), "policies.py has no 'stra'"),
        (("--policy", "policies.py:number"), "policies.py:number is not a function; its type is int."),
        (("--policy", "policies.py:broken", "--actions", "star,flat"), "policies.py:broken raised IndexError"),
        (("--policy", "nowhere:policy"), "there is no module 'nowhere'"),
        (("--policy", "policies.py"), "policies.py is not a saved learner"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(plaudit, night, arguments, words):
    done = plaudit("evaluate", *night, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert words in done.stderr


def test_an_action_that_was_never_logged_has_no_estimate(plaudit, night):
    done = plaudit("evaluate", *night, "--policy", "always:satr")
    assert done.exit_code == 2
    assert "Did you mean 'star'?" in done.stderr


def test_a_log_that_cannot_tell_is_no_wrong_usage(plaudit, night):
    done = plaudit("evaluate", *night, "--policy", "uniform", "--minimum-effective", "1000")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "1000 is needed" in done.stderr
    done = plaudit("evaluate", *night, "--policy", "uniform", "--confidence", "95")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "0<x<1" in done.stderr


def test_every_estimator_can_be_asked():
    option = next(each for each in main.commands["evaluate"].params if each.name == "estimators")
    assert tuple(option.type.choices) == tuple(ESTIMATORS)


def test_a_ledger_that_is_not_there(plaudit):
    done = plaudit("evaluate", "rewards.db", "--decision-class", "topology", "--policy", "uniform")
    assert done.exit_code == 2
    assert "rewards.db does not exist." in done.stderr


def test_a_class_that_is_not_there(plaudit, night):
    done = plaudit("evaluate", "rewards.db", "--decision-class", "toplogy", "--policy", "uniform")
    assert done.exit_code == 2
    assert "Did you mean --decision-class topology?" in done.stderr
