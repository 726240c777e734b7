"""`plaudit stress`: a table, JSON and exit codes."""

import json

import pytest

SUMS = """
from plaudit import Field, Reward, term
from plaudit.llm import feature

@feature
def right(text, answer):
    return answer in text

@term
def correct(right):
    return 1 if right else 0

sums = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
features = [right]
"""


@pytest.fixture
def stress(plaudit, write):
    """Run the command on five samples, of which one is right."""
    write("sums.py", SUMS)
    write("samples.jsonl", *({"prompt": f"{n} + 1", "completion": "It is 3.", "answer": str(n + 1)} for n in range(5)))

    def run(*more):
        return plaudit("stress", "sums.py", "--features", "sums.py:features", "--samples", "samples.jsonl", *more)

    return run


def test_attacks_are_ranked_with_their_worst_example(stress):
    done = stress()
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[:2] == ["sums@1", "5 honest completions: mean 0.2, best 1"]
    assert lines[5].split() == ["answer", "spray", "4", "of", "5", "0", "of", "5", "+1"]
    assert "answer spray, sample 1: 0 → 1" in lines


def test_json_has_everything(stress):
    told = json.loads(stress("--json", "--attack", "answer spray").stdout)
    (attack,) = told["attacks"]
    assert (attack["above"], attack["above_best"], attack["share"]) == (4, 0, 0.8)
    assert attack["worst"]["completion"] == "1 2 3 4 5"


def test_the_threshold_decides_about_the_exit_code(stress):
    assert stress("--fail-on", "0.8").exit_code == 0
    assert stress("--fail-on", "0.79").exit_code == 1
    assert stress("--attack", "empty text").exit_code == 0


def test_bad_samples_are_one_message(stress, write):
    write("samples.jsonl", {"prompt": "1 + 1"})
    done = stress()
    assert done.exit_code == 2
    assert "sample 1 has no 'completion'" in done.stderr
    write("samples.jsonl", "{", "{}")
    assert stress().exit_code == 2
    write("samples.jsonl", {"prompt": ["q"], "completion": "a", "answer": "a"})
    done = stress()
    assert (done.exit_code, "the prompt of sample 1 is a string or a list of messages" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["sums", "number"])
def test_features_that_are_none_are_one_message(stress, write, name):
    write("sums.py", SUMS, "number = 5")
    done = stress("--features", f"sums.py:{name}")
    assert done.exit_code == 2
    assert "features are functions, or a list of them, not" in done.stderr


def test_an_attack_that_cannot_be_scored_at_all_is_incomplete(stress, write):
    write("sums.py", SUMS.replace("    return answer in text", "    return text.index(' ') > 0 and answer in text"))
    done = stress("--attack", "empty text", "--attack", "padding")
    assert done.exit_code == 3
    assert "Nothing is known of empty text: none of the completions could be scored." in done.stderr
    assert "not scored" in done.stdout


def test_samples_that_lack_a_column_are_counted_and_the_first_is_named(stress, write):
    samples = ({"prompt": f"{n} + 1", "completion": "It is 3.", "answer": str(n + 1)} for n in range(5))
    write("samples.jsonl", *samples, {"prompt": "Why?", "completion": "Because."})
    told = stress("--attack", "padding").stdout
    assert "5 honest completions: mean 0.2, best 1" in told
    assert "1 not scored: MissingField: right asks for 'answer'" in told
    assert "(sample 6)" in told


def test_applies_and_on_bad_are_those_of_a_scoring(stress, write):
    write("about.py", "def is_small(answer):\n    return int(answer) < 3")
    told = json.loads(stress("--json", "--applies", "about.py:is_small", "--on-bad", "clip").stdout)
    assert (told["samples"], list(told["reasons"])) == (2, ["Abstained: the reward does not apply"])
