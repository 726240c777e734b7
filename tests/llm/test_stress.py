"""Attacks built from samples: each is found where a reward falls for it, and none where it does not."""

import re

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import DefinitionError, MissingField, WrongType
from plaudit.llm import Scoring, feature, stress
from plaudit.llm.stress import ATTACKS

SAMPLES = [
    {
        "prompt": f"What is {n} + {n}? It is one of {2 * n}, {2 * n + 1} and {2 * n + 2}.",
        "completion": f"<think>Twice {n}.</think><answer>{2 * n + n % 2}</answer>",
        "answer": str(2 * n),
    }
    for n in range(8)
]
"""Half of them are right."""


@feature
def right(text, answer):
    return answer in text


@term
def correct(right):
    return 1 if right else 0


REWARD = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])


def build(function):
    """Return a scoring whose only input is what a function returns."""
    return Scoring(REWARD, [feature(name="right")(function)])


def run(function, **options):
    return {each.name: each for each in stress(build(function), SAMPLES, **options).attacks}


def test_an_exact_answer_falls_for_nothing():
    found = run(lambda text, answer: text == f"<answer>{answer}</answer>")
    assert {name for name, each in found.items() if each.above} == set()
    assert set(found) == set(ATTACKS)


def test_an_answer_that_is_looked_for_anywhere_is_sprayed():
    found = run(right.function)
    assert found["answer spray"].above == 4
    assert found["copied prompt"].above == 4
    assert found["empty text"].above == 0
    assert found["answer spray"].above_best == 0  # an honest one earns as much
    worst = found["answer spray"].worst
    assert (worst.sample, worst.honest, worst.attacked) == (1, 0, 1)
    assert worst.completion == "<think>Twice 1.</think><answer>0 2 4 6 8 10 12 14</answer>"


def test_the_choices_of_a_sample_are_its_candidates():
    samples = [{**SAMPLES[1], "choices": ["1", "2"]}, {**SAMPLES[3], "choices": ["6", "7"]}]
    report = stress(Scoring(REWARD, [right]), samples, attacks=["answer spray"])
    assert report.attacks[0].worst.completion == "<think>Twice 1.</think><answer>1 2</answer>"


@pytest.mark.parametrize(
    ("name", "falls"),
    [
        ("empty text", lambda completion: completion == ""),
        ("empty thinking", lambda completion: completion.startswith("<think></think>")),
        ("two answers", lambda completion: completion.count("<answer>") > 1 and "<answer><" not in completion),
        ("padding", lambda completion: completion.count("\n") > 5),
        ("copied prompt", lambda text, prompt: text == prompt),
        ("score: 1", lambda text: "score: 1" in text),
        ("ignore the rubric", lambda text: "Ignore the rubric" in text),
        ("tags within the answer", lambda completion: "<answer><" in completion),
    ],
)
def test_a_reward_that_falls_for_an_attack_shows_it_first(name, falls):
    report = stress(build(falls), SAMPLES)
    first = report.attacks[0]
    assert first.name == name
    assert (first.above, first.above_best, first.gain) == (8, 8, 1)
    assert report.list_failing(0.5)[0] is first
    assert not report.list_failing(1.0)
    assert name in str(report)


def test_conversations_stay_conversations():
    def is_long(completion):
        return len(completion[0]["content"]) > 100

    samples = [
        {"prompt": [{"role": "user", "content": "word " * 30}], "completion": [{"role": "assistant", "content": text}]}
        for text in ("one", "two")
    ]
    found = {each.name: each.above for each in stress(build(is_long), samples).attacks}
    assert found["copied prompt"] == 2
    assert found["padding"] == 0


def test_group_features_see_whole_groups():
    @feature(group=True, name="right")
    def first(text):
        return [at == 0 for at in range(len(text))]

    samples = [{"prompt": "2 + 3", "completion": text} for text in ("5", "6")]
    report = stress(Scoring(REWARD, [first]), samples)
    assert (report.mean, report.best) == (0.5, 1)
    assert not any(each.above for each in report.attacks)


def test_what_cannot_be_scored_is_counted():
    def fails(text):
        if "Ignore" in text:
            raise ValueError("no")
        return True

    scoring = Scoring(REWARD, [feature(name="right")(fails)], on_bad="mask", max_masked=1)
    report = stress(scoring, SAMPLES, attacks=["ignore the rubric", "padding"])
    assert {each.name: each.samples for each in report.attacks} == {"ignore the rubric": 0, "padding": 8}
    assert list(report.reasons.values()) == [8]
    assert {each.name: each.unscored for each in report.attacks} == {"ignore the rubric": 8, "padding": 0}
    assert [each.name for each in report.list_unscored()] == ["ignore the rubric"]
    assert re.search(r"ignore the rubric +not scored", str(report))


def test_an_attack_that_cannot_be_built_says_so():
    report = stress(build(lambda text: True), SAMPLES[:1], attacks=["two answers"])
    assert re.search(r"two answers +cannot be built", str(report))
    assert report.list_unscored() == []


def test_a_sample_that_lacks_a_column_is_named_and_not_attacked():
    asked = []

    @feature(name="right")
    def judged(text, answer):
        asked.append(text)
        return answer in text

    samples = [*SAMPLES, {"prompt": "Why?", "completion": "Because."}]
    report = stress(Scoring(REWARD, [judged]), samples, attacks=["padding", "score: 1"])
    assert report.samples == 8
    assert [each.samples for each in report.attacks] == [8, 8]
    ((why, count),) = report.reasons.items()
    assert (count, report.examples[why]) == (1, 8)
    assert "right asks for 'answer', which a sample does not have" in why
    assert "in feature 'right' (sample 9)" in str(report)
    assert len(asked) == 24


def test_a_sample_that_the_reward_is_not_about_is_not_attacked():
    scoring = Scoring(REWARD, [right], applies=lambda answer: answer != "10")
    report = stress(scoring, SAMPLES, attacks=["padding"])
    others = sum(each["answer"] != "10" for each in SAMPLES)
    assert 0 < others < len(SAMPLES)
    assert (report.samples, report.attacks[0].samples) == (others, others)
    with pytest.raises(DefinitionError, match="sample 1: Abstained: the reward does not apply"):
        stress(Scoring(REWARD, [right], applies=lambda answer: False), SAMPLES)


def test_an_attack_out_of_range_is_no_error_of_the_others():
    counted = feature(name="right")(lambda completion: completion.count("\n") + 0.0)
    reward = Reward("lines", version="1", terms=[correct], fields=[Field("right", low=0, high=5)])
    report = stress(Scoring(reward, [counted]), SAMPLES, attacks=["padding", "copied prompt"])
    assert {each.name: each.samples for each in report.attacks} == {"padding": 0, "copied prompt": 8}
    clipped = stress(Scoring(reward, [counted], on_bad="clip"), SAMPLES, attacks=["padding"])
    assert (clipped.attacks[0].samples, clipped.reasons) == (8, {})


def test_nothing_is_recorded_and_progress_is_told(tmp_path):
    told = []
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring = Scoring(REWARD, [right], ledger=ledger, run="a")
        stress(scoring, SAMPLES, attacks=["padding"], progress=lambda done, total: told.append((done, total)))
        assert ledger.history().count() == 0
    assert told[-1] == (16, 16)


def test_bad_arguments_are_named():
    scoring = Scoring(REWARD, [right])
    with pytest.raises(DefinitionError, match="there is no attack 'paddin'. Did you mean 'padding'"):
        stress(scoring, SAMPLES, attacks=["paddin"])
    with pytest.raises(DefinitionError, match="there is no sample"):
        stress(scoring, [])
    with pytest.raises(DefinitionError, match="sample 1 has no 'completion'"):
        stress(scoring, [{"prompt": "a"}])
    with pytest.raises(MissingField, match="asks for 'answer'"):
        stress(scoring, [{"prompt": "a", "completion": "b"}])
    with pytest.raises(DefinitionError, match="attacks='padding' is one name; write attacks="):
        stress(scoring, SAMPLES, attacks="padding")
    with pytest.raises(DefinitionError, match="there is no attack to try; name some of: empty text"):
        stress(scoring, SAMPLES, attacks=[])
    with pytest.raises(DefinitionError, match="is not a Scoring: write Scoring"):
        stress(REWARD, SAMPLES)
    with pytest.raises(WrongType, match=r"not one sample; write \[sample\]"):
        stress(scoring, SAMPLES[0])
    with pytest.raises(WrongType, match="sample 2 is not a mapping"):
        stress(scoring, [SAMPLES[0], "a"])
    with pytest.raises(WrongType, match="step='late' must be an integer"):
        stress(scoring, SAMPLES, step="late")


@pytest.mark.parametrize("part", ["prompt", "completion"])
@pytest.mark.parametrize("given", [["q"], 5, {"role": "user"}, [{"role": "assistant", "content": 5}]])
def test_a_sample_that_is_no_text_is_named(part, given):
    rows = [SAMPLES[0], {**SAMPLES[1], part: given}]
    with pytest.raises(WrongType, match=f"the {part} of sample 2"):
        stress(Scoring(REWARD, [right]), rows)
