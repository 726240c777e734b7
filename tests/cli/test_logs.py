"""`plaudit ledger import` and `plaudit rescore` of logs that TRL, verifiers and Inspect wrote."""

import json
import shutil
from pathlib import Path

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rescore", "sums.py:sums", "logs/verifiers-0.4"), "a log of rollouts, give the features that read them"),
        (("rescore", "sums.py:sums", "rewards.db", "-o", "x.db"), "--output and --score are for logs of other tools"),
        (("rescore", "sums.py:sums", "logs/verifiers-0.4", *SCORES, "--features", "sums.py:features"), "has no score"),
        (("rescore", "sums.py:sums", "logs/trl/texts", "--features", "sums.py:features"), "--score brief=WEIGHT"),
        (("rescore", "sums.py:sums", "logs/verifiers-0.4", "--score", "a=b", "--features", "x"), "write NAME or NAME="),
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
