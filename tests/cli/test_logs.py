"""`plaudit ledger import` and `plaudit rescore` of logs that TRL, verifiers and Inspect wrote."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import Ledger
from plaudit.terminal import ExitCode

RECORDED = Path(__file__).parent.parent / "adapters" / "recorded" / "logs"
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
SCORES = ("--score", "digits", "--score", "brief=0.5")


@pytest.fixture
def logs(plaudit, tmp_path):
    shutil.copytree(RECORDED, tmp_path / "logs")
    (tmp_path / "sums.py").write_text(SUMS)
    return plaudit


def rescore(plaudit, log, *options):
    return plaudit("rescore", "sums.py:sums", log, "--features", "sums.py:features", *options)


@pytest.mark.parametrize(
    ("log", "options", "mean"),
    [
        ("logs/trl/texts", SCORES, None),
        ("logs/trl/texts/completions/completions_00001.parquet", SCORES, None),
        ("logs/verifiers-0.3", (), None),
        ("logs/verifiers-0.4/traces.jsonl", (), "verifiers@0.5 brief + right: mean 1.056"),
        ("logs/inspect/sums.eval", (), None),
        ("logs/inspect/sums.json", ("--score", "includes"), "inspect@includes: mean 0.8333"),
    ],
)
def test_a_log_is_scored_beside_what_the_tool_paid(logs, tmp_path, log, options, mean):
    there = sorted(tmp_path.iterdir())
    done = rescore(logs, log, *options, "--json")
    assert done.exit_code == 0, done.stderr
    assert mean is None or mean in done.stderr
    told = json.loads(done.stdout)
    assert told["records"] == told["scored"]
    assert sorted(tmp_path.iterdir()) == there, "nothing is kept"
    kept = rescore(logs, log, *options, "-o", "kept.db", "--json")
    assert {**json.loads(kept.stdout), "job": told["job"]} == told
    with Ledger(tmp_path / "kept.db", read_only=True) as ledger:
        (run,) = {record.run for record in ledger.history()}
        assert ledger.history(run=run).count() == ledger.history(job=1).count() == told["records"]
    again = rescore(logs, log, *options, "-o", "kept.db", "--json")
    assert json.loads(again.stdout)["scored"] == 0


def test_a_log_is_imported_into_a_ledger_to_keep(logs):
    done = logs("ledger", "import", "rewards.db", "logs/verifiers-0.4", "--run", "night", "--json")
    told = json.loads(done.stdout)
    assert (told["ledger"], told["tool"], told["run"], told["rollouts"]) == ("rewards.db", "verifiers", "night", 4)
    assert told["means"] == {
        "verifiers@0.5 brief + right": {"rollouts": 3, "mean": pytest.approx(3.1667 / 3, abs=1e-4)}
    }
    assert list(told["unscored"].values()) == [1]
    done = logs("ledger", "import", "rewards.db", "logs/verifiers-0.4", "--run", "night")
    assert (done.stdout, done.exit_code) == ("", 0)
    assert "4 already there" in done.stderr
    assert rescore(logs, "rewards.db", "--run", "night").exit_code == 0


def test_a_line_that_cannot_be_read_is_an_error_or_quarantined(logs, tmp_path):
    path = tmp_path / "logs" / "verifiers-0.4" / "traces.jsonl"
    path.write_text(path.read_text()[:-100])
    for done in (logs("ledger", "import", "rewards.db", str(path)), rescore(logs, str(path))):
        assert (done.exit_code, done.stdout) == (ExitCode.FAILED, "")
        assert "traces.jsonl, line 4: it is not whole JSON" in done.stderr
        assert "--quarantine" in done.stderr
    done = logs("ledger", "import", "rewards.db", str(path), "--quarantine")
    assert "1 record quarantined: plaudit ledger quarantine rewards.db" in done.stderr
    assert "traces.jsonl, line 4: it is not whole JSON" in logs("ledger", "quarantine", "rewards.db").stdout


JUDGED = """
from plaudit import Field, Reward, term
from plaudit.llm import feature

@feature
def right(text, answer):
    return answer in text

@feature(judge=True)
def clear(text):
    with open("asked.txt", "a") as file:
        print(text, file=file)
    return 0.5

@term
def correct(right):
    return 1 if right else 0

@term(weight=0.5)
def clarity(clear):
    return clear

sums = Reward("sums", version="2", terms=[correct, clarity], fields=[Field("right", flag=True), Field("clear", low=0)])
features = [right, clear]
"""


@pytest.fixture
def trained(logs, tmp_path):
    """A log of TRL, in which plaudit was the reward function and logged its inputs."""
    columns = {"step": [1, 1], "prompt": ["2 + 3"] * 2, "completion": ["5", "It is 5."], "answer": ["5"] * 2}
    inputs = {"sums/inputs/right": [True, False], "sums/inputs/clear": [1.0, 0.5]}
    (tmp_path / "grpo").mkdir()
    table = pa.table({**columns, "sums": [1.5, 0.25], **inputs, "sums/correct": [1.0, 0.0]})
    pq.write_table(table, tmp_path / "grpo" / "completions_00001.parquet")
    (tmp_path / "judged.py").write_text(JUDGED)
    return logs


def test_a_log_of_trl_with_inputs_is_scored_without_asking_judges(trained, tmp_path):
    done = trained("rescore", "judged.py:sums", "grpo", "--features", "judged.py:features", "--json")
    assert "inputs in the log, of features whose version it does not say: clear, right" in done.stderr
    told = json.loads(done.stdout)
    assert not (tmp_path / "asked.txt").exists()
    assert told["features"]["clear"] == {"rollouts": 2, "changed": 0, "before": 0.75, "after": 0.75, "ran": 0}
    assert told["features"]["right"] == {"rollouts": 2, "changed": 1, "before": 0.5, "after": 1.0, "ran": 2}
    trained("rescore", "judged.py:sums", "grpo", "--features", "judged.py:features", "--ask")
    assert (tmp_path / "asked.txt").read_text().splitlines() == ["5", "It is 5."]


def test_a_log_of_trl_with_inputs_is_scored_without_features(trained):
    done = trained("rescore", "judged.py:sums", "grpo", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["scored"], told["reasons"]) == (2, {})
    assert {name: each["ran"] for name, each in told["features"].items()} == {"right": 0, "clear": 0}
    done = trained("rescore", "sums.py:sums", "logs/trl/texts", *SCORES)
    assert done.exit_code == ExitCode.FAILED
    assert "does not have the input 'right' of sums@1. It has none. Give the features" in " ".join(done.stderr.split())
    assert "plaudit score" not in done.stderr


def test_two_logs_with_one_name_do_not_become_one_run(logs, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(RECORDED / "inspect", tmp_path / name)
    options = ("--features", "sums.py:features", "-o", "kept.db")
    assert logs("rescore", "sums.py:sums", "one/sums.eval", *options).exit_code == 0
    done = logs("rescore", "sums.py:sums", "two/sums.json", "--score", "match", *options)
    assert done.exit_code == ExitCode.FAILED
    assert f"run 'sums' holds the rollouts of another log (inspect: {tmp_path}/one/sums.eval" in done.stderr
    assert "--run NAME" in done.stderr
    done = logs("rescore", "sums.py:sums", "two/sums.json", "--score", "match", *options, "--run", "two", "--json")
    assert json.loads(done.stdout)["scored"] == 6, "those of this log, and no others"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rescore", "sums.py:sums", "logs/verifiers-0.4"), "a log of rollouts, give the features that read them"),
        (("rescore", "sums.py:sums", "rewards.db", "-o", "x.db"), "--output and --score are for logs of other tools"),
        (("rescore", "sums.py:sums", "logs/verifiers-0.4", *SCORES, "--features", "sums.py:features"), "has no score"),
        (("rescore", "sums.py:sums", "logs/trl/texts", "--features", "sums.py:features"), "--score brief=WEIGHT"),
        (("rescore", "sums.py:sums", "logs/verifiers-0.4", "--score", "a=b", "--features", "x"), "write NAME or NAME="),
        (("rescore", "sums.py:sums", "logs/trl/texts", "--as-recorded"), "cannot be combined with a log"),
        (("ledger", "import", "x.db", "logs"), "is a directory without a log of rollouts"),
        (("ledger", "import", "x.db", "sums.jsonl", "--run", "night"), "--run and --score are for logs"),
        (("ledger", "import", "x.db", "logs/none.eval"), "does not exist"),
    ],
)
def test_what_cannot_be_done_is_said(logs, tmp_path, arguments, message):
    (tmp_path / "sums.jsonl").write_text('{"plaudit_ledger": {}}\n')
    done = logs(*arguments)
    assert done.exit_code == ExitCode.FAILED
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "x.db").exists()
