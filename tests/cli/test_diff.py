"""`plaudit diff`: exit codes, texts, JSON, and where rewards are found."""

import json

import pytest

from plaudit import Ledger
from plaudit.plugins.arguments import find_reward

SOURCE = """
from plaudit import Field, Reward, term

@term
def near(distance, *, reach=20.0):
    return 1.0 if distance < reach else 0.0

one = Reward("moving", version="1", terms=[near], fields=[Field("distance", low=0, high=60)])
two = one.with_params(near={"reach": 30.0}).with_version("2")
same = one.with_version("same")
"""


@pytest.fixture
def rewards(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def ledger(tmp_path, rewards):
    path = tmp_path / "rewards.db"
    one, two = (find_reward(f"{rewards}:{name}") for name in ("one", "two"))
    with Ledger(path) as opened:
        opened.record_batch(one, {"distance": [5.0, 25.0]}, run="night", episode="0", step=range(2))
        opened.record_batch(one, {"distance": [45.0, 25.0, 25.0]}, run="night", episode="1", step=range(3))
        opened.register(two)
    return path


def test_what_differs_exits_with_1_and_what_is_equal_with_0(plaudit, rewards):
    done = plaudit("diff", f"{rewards}:one", f"{rewards}:two")
    assert done.exit_code == 1, done.stderr
    assert "near.reach: 20 → 30" in done.stdout
    assert "total: 0 vs 1" in done.stdout
    done = plaudit("diff", f"{rewards}:one", f"{rewards}:same")
    assert done.exit_code == 0, done.stderr
    assert "The definitions are the same." in done.stdout


def test_labels_are_found_in_the_ledger_and_its_records_compared(plaudit, ledger):
    done = plaudit("diff", "moving@1", "moving@2", "--ledger", str(ledger), "--run", "night")
    assert done.exit_code == 1, done.stderr
    assert "2 episodes: mean return 0.5 → 2." in done.stdout
    assert "record 2 (night/0, step 1): 0 → 1" in done.stdout
    done = plaudit("diff", "moving@1", "moving@9", "--ledger", str(ledger))
    assert done.exit_code == 2
    assert "Rewards in" in done.stderr
    assert "moving@1, moving@2" in done.stderr


def test_json_has_everything_and_no_nan(plaudit, rewards, ledger):
    done = plaudit("diff", f"{rewards}:one", f"{rewards}:two", "--ledger", str(ledger), "--json")
    found = json.loads(done.stdout, parse_constant=lambda text: pytest.fail(f"{text} in JSON"))
    assert found["verdict"] == "different"
    assert found["definition"]["numbers"] == [{"name": "near.reach", "before": 20.0, "after": 30.0}]
    assert found["effect"]["changes"]["episodes"]["compared"] == 2
    assert [step["number"] for step in found["effect"]["steps"]] == [2, 4, 5]
    moved = [(each["episode"], each["rank_before"], each["rank_after"]) for each in found["effect"]["moved"]]
    assert moved == [("0", 1.0, 1.5), ("1", 2.0, 1.5)]


def test_a_file_of_rows_is_compared(plaudit, rewards, tmp_path):
    pytest.importorskip("pyarrow")
    rows = tmp_path / "rows.csv"
    rows.write_text("episode,step,distance\na,0,25\na,1,5\nb,0,nan\n")
    done = plaudit("diff", f"{rewards}:one", f"{rewards}:two", "--data", str(rows))
    assert done.exit_code == 1, done.stderr
    assert "moving@1 cannot score 1 row" in done.stdout
    assert "1 episode: mean return 1 → 2. Rank correlation needs at least two episodes." in done.stdout
    assert "1 episode has steps that one of the two cannot score; left out: b." in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--run", "night"], "--run selects records of a ledger"),
        (["--ledger", "{ledger}", "--data", "rows.csv"], "cannot be combined"),
        (["--ledger", "nowhere.db"], "nowhere.db"),
        (["--ledger", "{ledger}", "--run", "nigth"], "--run night"),
    ],
)
def test_what_is_asked_for_wrongly_is_one_message(plaudit, rewards, ledger, options, said):
    given = [each.format(ledger=ledger) for each in options]
    done = plaudit("diff", f"{rewards}:one", f"{rewards}:two", *given)
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
