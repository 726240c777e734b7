"""`plaudit prove`: exit codes, texts and JSON."""

import json

import pytest

from plaudit.terminal import ExitCode


@pytest.fixture
def functions(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "def same(distance):\n    return -100 if distance < 5 else 0\n\n"
        "def other(distance):\n    return -100 if distance <= 5 else 0\n\n"
        "from plaudit import Field, Reward, term\n"
        "crash = Reward('crash', version='1', terms=[term(same)], fields=[Field('distance', low=0, high=99)])\n"
        "number = 3\n"
    )
    return path


def test_equal_rewards_exit_with_0_and_say_the_rounding(plaudit, functions):
    done = plaudit("prove", f"{functions}:crash", f"{functions}:same")
    assert done.exit_code == 0, done.stderr
    assert "equal in exact arithmetic" in done.stdout
    assert "float64" in done.stdout


def test_different_rewards_exit_with_1_and_show_the_row(plaudit, functions):
    done = plaudit("prove", f"{functions}:crash", f"{functions}:other")
    assert done.exit_code == 1
    assert "at distance = 5" in done.stdout
    assert "total: 0 vs -100" in done.stdout


def test_json_has_everything(plaudit, functions):
    done = plaudit("prove", f"{functions}:crash", f"{functions}:other", "--json")
    assert done.exit_code == 1
    outcome = json.loads(done.stdout)
    assert outcome["verdict"] == "different"
    assert outcome["differences"][0]["inputs"] == {"distance": 5.0}
    assert outcome["differences"][0]["size"] == 100.0


def test_versions_of_a_built_in_are_compared(plaudit):
    done = plaudit("prove", "roadsense@R2", "roadsense@R5")
    assert done.exit_code == 0, done.stdout
    assert plaudit("prove", "roadsense@R2", "roadsense@R3").exit_code == 1


def test_what_cannot_be_compared_exits_with_2(plaudit, functions):
    for right in (f"{functions}:number", f"{functions}:nobody", "nowhere"):
        done = plaudit("prove", f"{functions}:crash", right)
        assert done.exit_code == 2
        assert "Traceback" not in done.stderr
    assert "not a Reward" in plaudit("prove", f"{functions}:same", f"{functions}:crash").stderr


def test_what_is_undecided_exits_with_3_and_json_has_no_nan(plaudit, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from math import exp\nfrom plaudit import Field, Reward, term\n"
        "def one(x):\n    return exp(x) * exp(x)\n\n"
        "def total(x):\n    return exp(2 * x)\n\n"
        "reward = Reward('r', version='1', terms=[term(one)], fields=[Field('x', low=-800, high=800)])\n"
    )
    done = plaudit("prove", "mine.py:reward", "mine.py:total", "--json", "--examples", "50")
    assert done.exit_code == ExitCode.INCOMPLETE
    outcome = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"JSON has no {word}"))
    assert outcome["rounding"] == "inf"
    assert outcome["unbounded"] == "an intermediate number may be too large for a float"
