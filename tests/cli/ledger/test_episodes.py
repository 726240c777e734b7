"""`plaudit ledger runs`, `episodes`, `rank`, `jobs` and `stats --by`."""

import json

import pytest

from plaudit import Ledger
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.terminal import ExitCode
from support import walks
from support.samples import following


def lines(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_runs_are_listed(plaudit, rewards):
    shown = plaudit("ledger", "runs", "rewards.db").stdout.splitlines()
    assert " ".join(shown[0].split()) == "run reward records episodes mean return lowest highest began latest"
    assert shown[2].split()[:4] == ["night-3", "following@1", "12", "1"]
    found = lines(plaudit("ledger", "runs", "rewards.db", "--json"))
    assert [(each["run"], each["records"], each["episodes"]) for each in found] == [("night-3", 12, 1), ("day-1", 1, 1)]


def test_episodes_are_listed_with_what_each_term_paid(plaudit, rewards):
    with Ledger(rewards, read_only=True) as ledger:
        wanted = [json.loads(json.dumps(each.to_dict())) for each in ledger.episodes()]
    assert lines(plaudit("ledger", "episodes", "rewards.db", "--json")) == wanted
    shown = plaudit("ledger", "episodes", "rewards.db", "--run", "night-3", "--terms").stdout.splitlines()
    terms = [*wanted[0]["terms"]]
    assert shown[0].split() == ["episode", "run", "reward", *terms, "return", "length", "steps", "began", "records"]
    assert shown[2].split()[:3] == ["7", "night-3", "following@1"]
    assert shown[2].split()[-3:] == ["0–11", "2026-11-01T12:00:00Z", "1–12"]


def test_the_last_episodes_are_shown_and_that_there_are_others(plaudit, rewards):
    result = plaudit("ledger", "episodes", "rewards.db", "--limit", "1")
    assert "day-1" in result.stdout
    assert "night-3" not in result.stdout
    assert r"car\x1b[31m" in result.stdout
    assert result.stderr.startswith("1 older episode not shown: --limit 0 shows all")


@pytest.mark.parametrize("best", [[], ["--best"]])
@pytest.mark.parametrize("term", [[], ["--term", "comfort"]])
def test_the_worst_and_the_best_are_shown(plaudit, rewards, best, term):
    options = {"term": term[1]} if term else {}
    end = "best" if best else "worst"
    with Ledger(rewards, read_only=True) as ledger:
        episodes = getattr(ledger.episodes(), end)(1, **options)
        records = getattr(ledger.history(run="night-3"), end)(3, **options)
    arguments = ("ledger", "rank", "rewards.db", "--json", *best, *term)
    assert [each["episode"] for each in lines(plaudit(*arguments, "--limit", "1"))] == [episodes[0].episode]
    found = lines(plaudit(*arguments, "--by", "step", "--limit", "3", "--run", "night-3"))
    assert [each["id"] for each in found] == [record.id for record in records]
    assert "comfort" in plaudit("ledger", "rank", "rewards.db", *best, "--term", "comfort").stdout


@pytest.mark.parametrize("options", [[], ["--best", "--term", "effort"], ["--json"]], ids=["all", "term", "json"])
def test_where_no_episode_is_finished_there_is_none_to_rank(plaudit, tmp_path, options):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), walks.reward(), walks.features, ledger=ledger, run="night")
        for _ in range(2):
            env.reset()
            env.step(1)
        env.close()
    result = plaudit("ledger", "rank", "rewards.db", *options)
    having = " with the term 'effort'" if "--term" in options else ""
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert f"No finished episodes{having} to rank (2 unfinished)." in result.stderr


def test_rescorings_are_listed(plaudit, rewards):
    assert plaudit("ledger", "jobs", "rewards.db").stderr == "No re-scorings.\n"
    with Ledger(rewards) as ledger:
        ledger.rescore(following.with_weights(comfort=2.0).with_version("2"), run="night-3")
    assert plaudit("ledger", "jobs", "rewards.db").stdout.splitlines()[2].split()[:4] == [
        "1",
        "following@2",
        "run=night-3",
        "12",
    ]
    [job] = lines(plaudit("ledger", "jobs", "rewards.db", "--json"))
    assert (job["id"], job["records"], job["chosen"]) == (1, 12, {"run": "night-3"})
    [episode] = lines(plaudit("ledger", "episodes", "rewards.db", "--job", "1", "--json"))
    assert (episode["version"], episode["length"]) == ("2", 12)


def test_stats_are_told_by_run_and_term(plaudit, rewards):
    with Ledger(rewards, read_only=True) as ledger:
        wanted = ledger.totals("run", "term")
    found = json.loads(plaudit("ledger", "stats", "rewards.db", "--by", "run,term", "--json").stdout)
    assert {(each["run"], each["term"]): each["mean"] for each in found} == {k: v.mean for k, v in wanted.items()}
    shown = plaudit("ledger", "stats", "rewards.db", "--by", "decision-class").stdout.splitlines()
    assert shown[0].split() == ["decision", "class", "records", "mean", "low", "high"]
    assert {line.split()[0] for line in shown[2:]} == {"(none)", "braking"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["episodes", "--run", "night-4"], ExitCode.FAILED, "No matching records. Did you mean --run night-3?"),
        (["episodes", "--run", "typo"], ExitCode.FAILED, "No matching records. The ledger has --run day-1, night-3."),
        (["episodes", "--job", "9"], ExitCode.FAILED, "No matching records."),
        (["rank", "--run", "night-4", "--by", "step"], ExitCode.FAILED, "Did you mean --run night-3?"),
        (["runs", "--run", "night-4"], ExitCode.FAILED, "Did you mean --run night-3?"),
        (["rank", "--term", "comfrt"], ExitCode.FAILED, "no reward has a term 'comfrt'. Did you mean 'comfort'?"),
        (["stats", "--by", "runn"], ExitCode.FAILED, "Did you mean 'run'?"),
        (["episodes", "--step", "1"], ExitCode.FAILED, "No such option"),
    ],
)
def test_what_is_not_there_is_told(plaudit, rewards, arguments, code, message):
    result = plaudit("ledger", arguments[0], "rewards.db", *arguments[1:])
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


def test_records_without_an_episode_and_no_records_at_all_are_told_apart(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for command in ("runs", "episodes", "rank"):
            assert "No matching records." in plaudit("ledger", command, "rewards.db").stderr
        assert plaudit("ledger", "stats", "rewards.db", "--by", "run").stderr == "No records.\n"
        ledger.record(following.score(distance=30.0, deceleration=0.0, action=0))
    result = plaudit("ledger", "episodes", "rewards.db")
    assert result.exit_code == ExitCode.FAILED
    assert "none of these records has an episode" in " ".join(result.stderr.split())
