"""Flaws planted in simulated runs of language models are found, and honest runs are no alarm."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.analysis import audit
from plaudit.analysis.audit.audit import HISTORY_RULES
from plaudit.analysis.audit.rollouts import table
from plaudit.analysis.audit.rollouts.copying import copies_prompt
from plaudit.analysis.audit.rollouts.ranking import correlate_within
from plaudit.cli import main
from plaudit.llm import Scoring, feature
from support.histories import record_episodes
from support.planted_rollouts import HONEST, PLANTED, Run, record_run
from support.ranks import score_in_ranks

CODES = [code for code, rule in HISTORY_RULES.items() if rule.find.__module__.startswith(table.__package__)]


@pytest.fixture
def ledger(tmp_path):
    """An empty ledger."""
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def list_codes(report):
    assert not report.failed
    return {finding.code for finding in report if finding.code in CODES}


def list_planted():
    """Return what may be planted; of those that one rule finds, all but the first are slow."""
    codes = set()
    for name, (code, _) in PLANTED.items():
        if "nothing" not in name:
            yield pytest.param(name, marks=pytest.mark.slow if code in codes else ())
            codes.add(code)


def test_there_are_five_rules():
    assert CODES == [
        "group-constant",
        "length-explains",
        "copied-completions",
        "format-without-answer",
        "judge-against-truth",
    ]


@pytest.mark.parametrize("name", list(list_planted()))
def test_what_is_planted_is_found_in_1600_rollouts(ledger, name):
    code, run = PLANTED[name]
    record_run(ledger, replace(run, count=1600))
    found = audit(ledger, only=code)
    assert list_codes(found) == {code}
    assert all(step.record for finding in found for step in finding.witness)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if at % 3 else ()) for at, name in enumerate(list(HONEST)[::3])]
)
def test_an_honest_run_is_no_alarm(ledger, name):
    record_run(ledger, replace(HONEST[name], count=800, seed=5))
    assert not list_codes(audit(ledger))


def test_groups_of_one_do_not_count(ledger):
    record_run(ledger, replace(PLANTED["all right"][1], count=200, group=1))
    report = audit(ledger)
    assert not list_codes(report)
    assert report.skipped["group-constant"] == "at least 10 groups of several completions are needed; there are 0"


def test_a_group_of_several_processes_is_one(ledger):
    @feature
    def right(completion):
        return completion == "5"

    @term
    def correct(right):
        return 1 if right else 0

    reward = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
    for step in range(20):  # in each process all completions of the prompt are paid the same, and not in both
        parts = [[{"prompt": f"{step}", "completion": text}] * 4 for text in ("5", "6")]
        score_in_ranks(ledger, reward, [right], parts, step=step)
    report = audit(ledger, only="group-constant")
    assert (list_codes(report), dict(report.skipped)) == (set(), {})


def test_the_cause_of_a_constant_is_told(ledger):
    record_run(ledger, replace(PLANTED["one term all wrong"][1], count=200))
    (finding,) = (each for each in audit(ledger, only="group-constant") if each.term == "correct")
    assert finding.severity == "advice"
    assert "all get the worst, 0, in 24" in finding.message


def test_forgotten_texts_are_said(ledger):
    record_run(ledger, replace(PLANTED["a judge that likes length"][1], count=200))
    assert "length-explains" in list_codes(audit(ledger))
    ledger.forget(run="night")
    report = audit(ledger)
    assert report.skipped["length-explains"] == "the texts of these rollouts were not kept, or were forgotten"
    assert "length-explains" not in list_codes(report)


def test_one_text_for_nearly_all_prompts_is_found_without_texts(ledger):
    _, run = PLANTED["one text for all prompts"]
    record_run(ledger, replace(run, count=800, texts="hash", plant=_always_say_one_thing))
    assert "copied-completions" in list_codes(audit(ledger))


def _always_say_one_thing(rng, now, question, made):
    if now > 0.5:
        made.whole, made.quality, made.formed = "Yes.", 0.95, True


def test_rollouts_are_counted_as_such_and_rules_about_episodes_are_left_out(ledger):
    record_run(ledger, replace(next(iter(HONEST.values())), count=40))
    count = ledger.history().count()
    report = audit(ledger)
    assert report.remarks == (f"Read: {count} rollouts in {ledger.name}.",)
    assert not report.skipped.keys() & {"walked-laps", "stayed-put", "goal-earned-less", "action-repeated"}
    ledger.record(ledger.history().first().signal, episode="not a rollout")
    report = audit(ledger)
    assert f"Read: {count + 1} steps of {count + 1} episodes" in report.remarks[0]
    assert {"walked-laps", "stayed-put", "goal-earned-less", "action-repeated"} <= report.skipped.keys()


def test_an_ordinary_ledger_is_not_read_for_texts(ledger, monkeypatch):
    @term
    def near(distance):
        """Be near."""
        return 9.0 - distance

    reward = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    record_episodes(ledger, reward, [{"distance": np.linspace(0, 9, 10)}] * 30)
    monkeypatch.setattr(table, "read_rollouts", None)
    report = audit(ledger)
    assert not report.failed
    assert not report.skipped.keys() & set(CODES)


def test_rules_that_need_the_truth_say_so(ledger):
    record_run(ledger, Run(count=400, terms=("form", "clarity")))
    report = audit(ledger)
    for code in ("format-without-answer", "judge-against-truth"):
        assert report.skipped[code].startswith("what says whether an answer is right is not known")


def test_a_goal_of_the_task_is_the_truth(ledger):
    _, run = PLANTED["form and nothing right"]
    reward = record_run(ledger, replace(run, count=1600))

    def is_right(right):
        return right

    declared = Reward(reward.name, version="1", terms=reward.terms, fields=reward.fields, task=Task(goal=is_right))
    assert declared.fingerprint == reward.fingerprint
    (finding,) = audit(ledger, declared, only="format-without-answer")
    assert "while the goal" in finding.message


def test_a_flag_that_is_right_may_be_shorter(ledger):
    @term
    def correct(right):
        """Be right."""
        return 1.0 if right else 0.0

    reward = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
    rng = np.random.default_rng(0)

    def right(passed):
        return passed

    scoring = Scoring(reward, [right], ledger=ledger, run="night", timeout=None)
    for step in range(40):
        samples = []
        for passed in rng.random(8) < 0.5:
            length = rng.integers(10, 60) if passed else rng.integers(40, 100)
            samples.append({"prompt": f"sum {step}", "completion": "word " * length, "passed": bool(passed)})
        scoring.score(samples, step=step)
    assert not list_codes(audit(ledger))


@pytest.mark.parametrize(
    ("text", "prompt", "copied"),
    [
        ("one two three four five six seven eight", "One two three four, five six seven eight?", True),
        ("one two three four five six seven eight " * 3, "one two three four five six seven eight", True),
        ("one two three four five six seven eight nine", "one two three four five six seven eight", False),
        ("four", "one two three four", False),
        ("", "", False),
        (
            "one two three four five six seven eight",
            [{"role": "user", "content": "one two three four five six seven eight"}],
            True,
        ),
        ("one two three four five six seven eight", None, False),
    ],
)
def test_a_copy_adds_nothing_to_its_prompt(text, prompt, copied):
    assert copies_prompt(text, prompt) is copied


def test_correlation_within_groups_ignores_differences_between_them():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(500), 4)
    level = np.repeat(rng.normal(0, 10, 500), 4)
    one, other = level + rng.normal(0, 1, 2000), level + rng.normal(0, 1, 2000)
    assert abs(correlate_within(one, other, groups).errors) < 3
    assert correlate_within(one, one, groups).correlation == pytest.approx(1)
    assert correlate_within(one, np.zeros(2000), groups).errors == 0


def test_the_standard_error_is_that_of_random_orders():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(30), 4)
    found = [correlate_within(*rng.integers(0, 4, (2, 120)).astype(float), groups).errors for _ in range(400)]
    assert np.std(found) == pytest.approx(1, abs=0.12)


def test_the_command_reports_them_as_json(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_run(ledger, replace(PLANTED["all wrong"][1], count=200))
    done = CliRunner().invoke(main, ["audit", str(tmp_path / "rewards.db"), "--only", "group-constant", "--json"])
    assert done.exit_code == 1, done.output
    (finding,) = json.loads(done.output)["rewards"][0]["findings"]
    assert finding["code"] == "group-constant"
    assert "all get the worst, 0, in 24" in finding["message"]
