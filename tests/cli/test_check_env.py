"""`plaudit check --env`: observed, checked and probed, in one report."""

import json

import pytest

from plaudit import Field, Task

ENV = "support.corridors:Corridor"
CALM = """
from support.corridors import arrival, calm, corridor_reward, effort, reaches_target, reader

reward = corridor_reward(arrival, calm)
features = reader(reward)
"""
HONEST = CALM.replace("arrival, calm)", "arrival, effort, goal=reaches_target)")
BALANCE = """
from plaudit import Field, Reward, Task, term

@term
def idle_pole(angle):
    return 1.0 if abs(angle) < 0.5 else 0.0

@term(weight=-100)
def hurry(speed):
    return abs(speed)

def features(obs, action, next_obs, info):
    return {"angle": float(next_obs[2]), "speed": float(next_obs[1])}

reward = Reward("balance", version="1", terms=[idle_pole, hurry], fields=[Field("angle"), Field("speed")])
"""


def test_one_report_begins_with_what_an_agent_will_do(plaudit, write):
    done = plaudit("check", write("calm.py", CALM), "--env", ENV, "--budget", "2000")
    assert done.exit_code == 1, done.stderr
    title, first, *_ = done.stdout.splitlines()
    assert title.startswith("walking@1")
    assert first.startswith("An agent will behave like 'always 1'")
    assert "Observed: Corridor, 10,000 steps of" in done.stdout
    assert "always 1, seed 0, step 1 of 20" in done.stdout
    assert done.stdout.count("warning  ") == 1


def test_json_has_the_summary_the_evidence_and_what_was_dropped(plaudit, write):
    done = plaudit("check", write("calm.py", CALM), "--env", ENV, "--budget", "2000", "--json")
    [found] = json.loads(done.stdout)["rewards"]
    assert found["summary"].startswith("An agent will behave like 'always 1'")
    assert found["findings"][0]["evidence"]["verdict"] == "seen"
    assert found["contradicted"] == []


def test_several_rewards_are_tried_one_after_another(plaudit, write):
    one, other = write("calm.py", CALM), write("honest.py", HONEST)
    done = plaudit("check", one, other, "--env", ENV, "--budget", "2000", "--seed", "2")
    assert done.exit_code == 1, done.stderr
    assert done.stdout.count("Observed: Corridor, 10,000 steps of") == 2
    assert "2 rewards: 1 warning" in done.stdout


def test_cartpole_is_checked_and_what_pays_to_fall_is_shown(plaudit, write):
    done = plaudit("check", write("balance.py", BALANCE), "--env", "CartPole-v1", "--budget", "5000", "--json")
    assert done.exit_code == 1, done.stderr
    [found] = json.loads(done.stdout)["rewards"]
    assert any(each.startswith("Observed: CartPole-v1, 10,000 steps") for each in found["remarks"])
    assert "by the environment's own reward" in found["summary"]
    [shown] = [each for each in found["findings"] if each["severity"] == "warning" and each["evidence"]]
    assert shown["evidence"]["verdict"] == "seen"


def test_what_stays_open_does_not_exit_as_if_all_were_well(plaudit, write):
    same = HONEST.replace(", goal=reaches_target", "")  # it pays what the environment pays: nothing says what is wanted
    asked = ("check", write("same.py", same), "--env", ENV, "--budget", "2000")
    done = plaudit(*asked)
    assert done.exit_code == 3, done.stdout + done.stderr
    assert "Undecided: " in done.stdout
    assert plaudit(*asked, "--fail-on", "never").exit_code == 0


@pytest.mark.usefixtures("heed_ctrl_c")
def test_ctrl_c_prints_what_is_known(plaudit, write):
    written = write(
        "calm.py", f"{CALM}\nfrom support.corridors import Corridor\nshared = Corridor(interrupt_at=14000)\n"
    )
    done = plaudit("check", written, "--env", "calm.py:shared", "--budget", "5000")
    assert done.exit_code == 130, done.stderr
    assert "Interrupted: these results are partial" in done.stdout


@pytest.mark.usefixtures("heed_ctrl_c")
def test_ctrl_c_leaves_the_other_rewards_out_and_says_so(plaudit, write):
    corridor = "\nfrom support.corridors import Corridor\nshared = Corridor(interrupt_at=14000)\n"
    first, second = write("calm.py", CALM + corridor), write("other.py", CALM)
    done = plaudit("check", first, second, "--env", "calm.py:shared", "--budget", "5000", "--json")
    assert done.exit_code == 130, done.stderr
    assert len(json.loads(done.stdout)["rewards"]) == 1
    assert f"Interrupted: {second} was not checked." in done.stderr


def test_a_task_file_of_another_version_of_the_environment_is_named(plaudit, write):
    reward = write("calm.py", CALM)
    task = write("task.json", Task("corridor", fields=[Field("arrived", flag=True)], horizon=5).to_json())
    done = plaudit("check", reward, "--env", ENV, "--task", task, "--budget", "500")
    assert done.exit_code == 2
    assert (
        "task 'corridor' says that an episode has at most 5 steps (declared), but in Corridor one has 20" in done.stderr
    )


def test_a_reference_stands_for_what_is_wanted(plaudit, write):
    path = write("calm.py", f"{CALM}\ndef expert(obs):\n    return 2 if obs[1] > obs[0] else 0\n")
    done = plaudit("check", path, "--env", ENV, "--budget", "3000", "--reference", "calm.py:expert", "--json")
    assert done.exit_code == 1, done.stderr
    assert "reference" in done.stdout


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--budget", "1m"), "--budget needs --env"),
        (("--features", "calm.py"), "--features needs --env"),
        (("--make", "limit=3"), "--make needs --env"),
        (("--seed", "3"), "--seed needs --env"),
        (("--env", ENV, "--ledger", "x.db"), "give one of them"),
        (("--env", ENV, "--budget", "soon"), "neither a time"),
    ],
)
def test_wrong_usage_says_what_to_do(plaudit, write, asked, words):
    write("x.db", "")
    done = plaudit("check", write("calm.py", CALM), *asked)
    assert done.exit_code == 2
    assert words in done.stderr
