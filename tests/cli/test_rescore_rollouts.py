"""`plaudit rescore --features` and `plaudit ledger forget`: rollouts read again, and texts that are not kept."""

import json

import pytest

from plaudit import Ledger
from plaudit.plugins.arguments import load_module

SUMS = """
from plaudit import Field, Reward, term
from plaudit.llm import Answer, feature

asked = []

@feature
def right(text, answer):
    return text.strip() == answer

@feature(judge=True)
def clear(text):
    asked.append(text)
    return Answer(0.5, "clear enough")

@term
def correct(right):
    return 1 if right else 0

@term(weight=0.5)
def clarity(clear):
    return clear

FIELDS = [Field("right", flag=True), Field("clear", low=0, high=1)]
sums = Reward("sums", version="VERSION", terms=[correct, clarity], fields=FIELDS)
features = [right, clear]
"""
SAMPLES = [{"prompt": "2 + 3", "completion": text, "answer": "5"} for text in ("5", "It is 5", "6", "5 ")]


@pytest.fixture
def recorded(plaudit, tmp_path):
    from plaudit.llm import Scoring

    (tmp_path / "sums.py").write_text(SUMS.replace("VERSION", "1"))
    module = load_module(str(tmp_path / "sums.py"))
    with Ledger(tmp_path / "rewards.db") as ledger:
        found = Scoring(module.sums, module.features, ledger=ledger, run="night").score(SAMPLES, step=1)
    assert found.totals == [1.25, 0.25, 0.25, 1.25]
    (tmp_path / "new.py").write_text(SUMS.replace("VERSION", "2").replace("text.strip() == answer", "answer in text"))
    return plaudit


def test_changed_features_read_recorded_texts_again(recorded, tmp_path):
    done = recorded("rescore", "new.py", "rewards.db", "--features", "new.py:features", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["records"], told["groups"], told["reasons"]) == (4, 1, {})
    assert told["features"]["right"] == {"rollouts": 4, "changed": 1, "before": 0.5, "after": 0.75, "ran": 4}
    assert told["features"]["clear"]["ran"] == 0
    text = recorded("rescore", "new.py", "rewards.db", "--features", "new.py:features").stdout
    assert "job 1: 4 rollouts scored with sums@2" in text
    assert "of 1 groups" not in text
    assert "of 1 group, 0 gained" in text
    asked = recorded("rescore", "new.py", "rewards.db", "--features", "new.py:features", "--ask", "--json")
    assert json.loads(asked.stdout)["features"]["clear"]["ran"] == 4


def test_diff_speaks_of_groups(recorded, tmp_path):
    (tmp_path / "other.py").write_text((tmp_path / "sums.py").read_text().replace("weight=0.5", "weight=-9"))
    done = recorded("diff", "sums.py:sums", "other.py:sums", "--ledger", "rewards.db")
    assert done.exit_code == 1, done.stderr
    assert "of 1 group, 0 gained a gradient, 0 lost it; 0 rollouts changed the sign of the advantage" in done.stdout
    assert "clarity       1    -18           4" in done.stdout
    assert not any(said in done.stdout for said in ("decision class", "pisode"))


def test_options_that_do_not_go_together_are_refused(recorded):
    for options, message in (
        (("--ask",), "--ask needs --features"),
        (("--applies", "new.py:right"), "--applies needs --features"),
        (("--on-bad", "clip"), "--on-bad needs --features"),
        (("--features", "new.py:features", "--as-recorded"), "--as-recorded cannot be combined with --features"),
        (("--features", "new.py"), "does not name anything; write file.py:name"),
        (("--features", "new.py:feature_list"), "has no 'feature_list'"),
    ):
        done = recorded("rescore", "new.py", "rewards.db", *options)
        assert done.exit_code == 2
        assert message in done.stderr


def test_why_shows_whole_texts_and_forget_removes_them(recorded):
    shown = recorded("ledger", "why", "rewards.db", "2")
    assert "prompt:\n2 + 3" in shown.stdout
    assert "completion:\nIt is 5" in shown.stdout
    assert "clear:\nclear enough" in shown.stdout
    done = recorded("ledger", "forget", "rewards.db", "--run", "night")
    assert (done.exit_code, done.stderr) == (0, "rewards.db: 5 texts removed.\n")
    assert "It is 5" not in recorded("ledger", "why", "rewards.db", "2").stdout
    assert recorded("ledger", "verify", "rewards.db").exit_code == 0
    assert json.loads(recorded("ledger", "forget", "rewards.db", "--run", "night", "--json").stdout)["removed"] == 0
    left = recorded("rescore", "new.py", "rewards.db", "--features", "new.py:features")
    assert left.exit_code == 2  # none has a score
    assert "4 rollouts without a reward: Abstained: its texts were not kept, or were forgotten" in left.stdout
    nothing = recorded("ledger", "forget", "rewards.db")
    assert (nothing.exit_code, "choose records" in nothing.stderr) == (2, True)


def test_rank_shows_the_texts_of_the_worst_and_of_the_best(recorded):
    shown = recorded("ledger", "rank", "rewards.db", "--texts", "--limit", "3").stdout
    assert [line.partition("=")[0] for line in shown.splitlines() if line.startswith("──")] == [
        "── 1: 0.25 ", "── 2: 0.25 ", "── 3: 1.25 "
    ]  # fmt: skip
    assert "── 1: 0.25 = correct 0, clarity 0.25\nrecord 2, sums@1, run=night" in shown
    assert shown.index("completion:\nIt is 5") < shown.index("completion:\n6") < shown.index("completion:\n5\n")
    assert "clear:\nclear enough" in shown
    (line,) = recorded(
        "ledger", "rank", "rewards.db", "--texts", "--best", "--limit", "1", "--json"
    ).stdout.splitlines()
    assert json.loads(line) == json.loads(recorded("ledger", "why", "rewards.db", "1", "--json").stdout)


def test_rank_says_where_there_are_no_texts(recorded, tmp_path):
    recorded("ledger", "forget", "rewards.db", "--run", "night")
    assert "completion: forgotten" not in recorded("ledger", "rank", "rewards.db").stdout
    assert "rollout: forgotten" in recorded("ledger", "rank", "rewards.db", "--texts").stdout
    both = recorded("ledger", "rank", "rewards.db", "--texts", "--by", "step")
    assert (both.exit_code, "leave out --by" in both.stderr) == (2, True)
    sums = load_module(str(tmp_path / "sums.py")).sums
    with Ledger(tmp_path / "plain.db") as ledger:
        ledger.record(sums.score(right=True, clear=0.5))
    plain = recorded("ledger", "rank", "plain.db", "--texts")
    assert (plain.exit_code, "No texts were recorded" in plain.stderr) == (2, True)


def test_on_bad_and_applies_are_those_of_a_scoring(recorded, tmp_path):
    far = SUMS.replace("VERSION", "2").replace("Answer(0.5,", "Answer(0.5 if text == '6' else 7.0,")
    (tmp_path / "far.py").write_text(f"{far}\ndef is_short(text):\n    return len(text) < 3\n")
    command = ("rescore", "far.py", "rewards.db", "--features", "far.py:features", "--json")
    done = recorded(*command, "--on-bad", "raise")
    assert (done.exit_code, "in record 1" in done.stderr) == (2, True)
    done = recorded(*command)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["records"], list(told["examples"].values())) == (3, 1, [1])
    clipped = recorded(*command, "--on-bad", "clip")
    assert (clipped.exit_code, "does not clip numbers" in clipped.stderr) == (2, True)
    (tmp_path / "far.py").write_text((tmp_path / "far.py").read_text().replace('version="2"', 'version="3"'))
    told = json.loads(recorded(*command, "--on-bad", "clip", "--applies", "far.py:is_short").stdout)
    assert (told["records"], told["reasons"]) == (3, {"Abstained: the reward does not apply": 1})


@pytest.mark.parametrize("name", ["missing.db", "missing.jsonl", "missing.eval", "missing.parquet", "missing"])
def test_a_file_that_does_not_exist_is_refused_before_anything_is_made(recorded, tmp_path, name):
    before = sorted(path.name for path in tmp_path.iterdir())
    done = recorded("rescore", "new.py", name, "--features", "new.py:features")
    assert (done.exit_code, f"{name} does not exist" in done.stderr) == (2, True)
    if "." in name and not name.endswith(".db"):
        done = recorded("rescore", "new.py", name, "--features", "new.py:features", "-o", "out.db")
        assert (done.exit_code, f"{name} does not exist" in done.stderr) == (2, True)
    assert {path.name for path in tmp_path.iterdir()} == set(before)
