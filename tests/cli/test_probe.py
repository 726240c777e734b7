"""`plaudit probe`: a table, JSON, a ledger, exit codes, and wrong usage."""

import json

import pytest

ENV = "support.corridors:Corridor"
CALM = """
from support.corridors import Corridor, arrival, calm, corridor_reward, effort, near, reaches_target, reader

reward = corridor_reward(arrival, calm)
features = reader(reward)
"""
HONEST = CALM.replace("arrival, calm)", "arrival, effort, goal=reaches_target)")


@pytest.fixture
def calm(write):
    return write("calm.py", CALM)


def test_what_is_found_is_printed_and_exits_with_1(plaudit, calm):
    done = plaudit("probe", calm, ENV, "--budget", "8000")
    assert done.exit_code == 1, done.stderr
    assert "walking@1 in Corridor" in done.stdout
    assert "native reward" in done.stdout
    assert "warning  outcome-order  calm" in done.stdout
    assert done.stdout.splitlines()[2].startswith("An agent will behave like 'always 1': it earns 20, more than 'best")


def test_json_is_for_scripts(plaudit, write):
    done = plaudit("probe", write("honest.py", HONEST), ENV, "--budget", "3_000", "--seeds", 5, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["report"]["findings"] == []
    assert found["verdict"]["answer"] == "wanted"
    assert found["verdict"]["text"].startswith("The best-paid policy also meets the objective: 'best by")
    assert {len(each["episodes"]) for each in found["policies"]} == {5}


def test_the_witness_can_be_opened_in_the_ledger(plaudit, calm):
    done = plaudit("probe", calm, ENV, "--budget", "8000", "--ledger", "probe.db", "--run", "first", "--json")
    witness = json.loads(done.stdout)["report"]["findings"][0]["witness"]
    number = witness[0]["note"].rpartition("record ")[2]
    why = plaudit("ledger", "why", "probe.db", number)
    assert "calm" in why.stdout
    assert "always 1" in why.stdout
    assert "first" in plaudit("ledger", "runs", "probe.db").stdout


def test_where_nothing_shows_what_is_wanted_it_exits_with_3(plaudit, calm, write):
    done = plaudit("probe", calm, ENV, "--budget", "300", "--seeds", 1)
    assert done.exit_code == 3, done.stdout + done.stderr
    assert "undecided  outcome-order" in done.stdout
    nothing = write("nothing.py", CALM.replace("arrival, calm)", "arrival, effort)"))
    done = plaudit("probe", nothing, ENV, "--budget", "1000")
    assert done.exit_code == 3
    assert done.stdout.splitlines()[2].startswith("Undecided: no objective is known; give a task with goal=")


WALK = """
def walk(obs):
    return 2 if obs[1] > obs[0] else 0


def jump(obs):
    return 7
"""


def test_a_reference_is_a_policy_in_a_file(plaudit, calm, write):
    write("policy.py", WALK)
    done = plaudit("probe", calm, ENV, "--budget", "3000", "--reference", "policy.py:walk")
    assert done.exit_code == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[2].startswith("An agent will behave like 'always 1': it earns 20, more than 'refer")


def test_a_reference_is_recorded_episodes(plaudit, calm, write):
    write("policy.py", WALK)
    asked = ("probe", calm, ENV, "--budget", "3000")
    plaudit(*asked, "--reference", "policy.py:walk", "--ledger", "demo.db", "--run", "night/3")
    for named in ("demo.db#night/3/reference", "demo.db#night/3"):
        done = plaudit(*asked, "--reference", named)
        assert done.exit_code == 1, done.stdout + done.stderr
    done = plaudit(*asked, "--reference", "demo.db#night/3/reference")
    assert "The reference: 10 episodes of demo.db" in done.stdout
    assert "behave like 'always 1': it earns 20, more than 'reference' (10)" in " ".join(done.stdout.split())


def test_the_environment_takes_options_and_the_reward_other_numbers(plaudit, write):
    path = write("honest.py", HONEST)
    asked = ("probe", path, ENV, "--budget", 400, "--seeds", 2, "--json")
    done = plaudit(*asked, "--make", "limit=7", "--set", "effort.weight=-1")
    found = json.loads(done.stdout)
    still = next(each for each in found["policies"] if each["policy"] == "always 1")
    assert still["earned"]["value"] == -7.0


def test_features_may_stand_elsewhere(plaudit, write):
    write("alone.py", HONEST.replace("features =", "other ="))
    write("reading.py", HONEST)
    asked = ("probe", "alone.py", ENV, "--budget", 300, "--seeds", 2)
    for given in ("alone.py:other", "reading.py"):
        assert plaudit(*asked, "--features", given).exit_code in (0, 3)
    assert "reads 'arrived', but a step of the environment has nothing of that name" in plaudit(*asked).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("calm.py", "NoSuchThing-v0"), "the environment NoSuchThing-v0 cannot be made"),
        (("calm.py", "calm.py:Coridor"), "calm.py has no 'Coridor'. Did you mean 'Corridor'?"),
        (("nowhere.py", ENV), "nowhere.py does not exist"),
        (("calm.py", ENV, "--budget", "soon"), "neither a time (90s, 5m, 1h)"),
        (("calm.py", ENV, "--budget", "0"), "neither a time (90s, 5m, 1h)"),
        (("calm.py", ENV, "--run", "x"), "name the ledger with --ledger"),
        (("calm.py", ENV, "--against", "gaol"), "there is no measure 'gaol'"),
        (("calm.py", ENV, "--make", "limit"), "as in gravity=-5"),
        (("calm.py", ENV, "--features", "calm.py:nothing"), "calm.py has no 'nothing'"),
        (("calm.py", ENV, "--features", "nothing"), "write file.py:name"),
        (("calm.py", ENV, "--reference", "policy"), "write a policy as file.py:name, or episodes as LEDGER#run"),
        (("calm.py", ENV, "--reference", "calm.py:nothing"), "calm.py has no 'nothing'"),
        (("calm.py", ENV, "--reference", "nowhere.db#run"), "nowhere.db does not exist"),
        (("calm.py", ENV, "--reference", "calm.py:CALM_STEPS"), "has no 'CALM_STEPS'"),
        (("calm.py", ENV, "--reference", "support.corridors:STEPS"), "reference=20 must be a function of an obs"),
        (("calm.py", ENV, "--reference", "builtins:sum"), "the reference sum gave the action"),
    ],
    ids=str,
)
def test_wrong_usage_exits_with_2(plaudit, calm, arguments, says):
    done = plaudit("probe", *arguments)
    assert done.exit_code == 2, done.stdout + done.stderr
    assert says in done.stderr


def test_an_environment_that_dies_exits_with_2_and_keeps_what_was_recorded(plaudit, calm):
    done = plaudit("probe", calm, ENV, "--make", "fail_at=130", "--ledger", "probe.db")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: the environment Corridor failed in step")
    assert "episodes played before are in probe.db" in done.stderr
    assert plaudit("ledger", "episodes", "probe.db").exit_code == 0


def test_ctrl_c_prints_what_was_found_so_far(plaudit, calm, heed_ctrl_c):
    done = plaudit("probe", calm, ENV, "--make", "interrupt_at=130", "--budget", "1h", "--seeds", 3)
    assert done.exit_code == 130
    assert "Interrupted: these results are partial" in done.stdout
    assert "always 1" in done.stdout
