"""`plaudit ledger history`."""

import json
import os
import sys

import pytest

from plaudit import Ledger
from plaudit.terminal import ExitCode
from support.command_line import DRIVE
from support.forking import run_python
from support.samples import following


def numbers(result) -> list[int]:
    assert result.exit_code == 0
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


def test_the_last_records_are_shown_the_newest_last(plaudit, rewards):
    result = plaudit("ledger", "history", "rewards.db", "--limit", "2")
    assert result.exit_code == 0
    _, _, first, *second = result.stdout.splitlines()
    assert first.split() == ["12", "2026-11-01T12:11:00Z", "following@1", "-24", "run=night-3", "episode=7", "step=11"]
    assert second[0].startswith("    13   2026-11-02T12:00:00Z")
    assert "key=crash" in " ".join(second)
    assert result.stderr == "Older records not shown: --limit 20 shows more, --limit 0 shows all.\n"


@pytest.mark.parametrize("limit", [["--limit", "0"], [], ["--limit", "13"], ["--limit", "99"]])
def test_nothing_is_said_of_older_ones_where_there_are_none(plaudit, rewards, limit):
    result = plaudit("ledger", "history", "rewards.db", *limit)
    assert sum("following@1" in line for line in result.stdout.splitlines()) == 13
    assert result.stderr == ""


def test_texts_of_others_cannot_steer_the_terminal(plaudit, rewards):
    shown = plaudit("ledger", "history", "rewards.db").stdout
    assert "\x1b" not in shown
    assert r"actor=car\x1b[31m" in shown


def test_json_has_every_record_on_a_line_as_it_was_recorded(plaudit, rewards):
    rows = [json.loads(line) for line in plaudit("ledger", "history", "rewards.db", "--json").stdout.splitlines()]
    with Ledger(rewards, read_only=True) as ledger:
        assert rows == [json.loads(json.dumps(record.to_dict())) for record in ledger.history()]
    assert rows[-1]["context"] == {"seed": 5}
    assert rows[-1]["signal"]["inputs"]["deceleration"] == DRIVE[0]["deceleration"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--run", "night-3", "--limit", "2"], [11, 12]),
        (["--run", "day-1"], [13]),
        (["--episode", "last"], [13]),
        (["--episode", "7", "--limit", "1"], [12]),
        (["--phase", "drive"], [13]),
        (["--decision-class", "braking"], [13]),
        (["--actor", "car\x1b[31m"], [13]),
        (["--key", "crash"], [13]),
        (["--reward", "following", "--version", "1", "--limit", "1"], [13]),
        (["--after", "11"], [12, 13]),
        (["--after", "5", "--limit", "3"], [11, 12, 13]),
        (["--since", "2026-11-01T12:10Z"], [11, 12, 13]),
        (["--since", "2026-11-01T13:10+01:00", "--until", "2026-11-02T00:00Z"], [11, 12]),
        (["--until", "2026-11-01T12:01Z"], [1]),
        (["--limit", "0", "--until", "2026-11-01T12:01Z"], [1]),
    ],
)
def test_records_are_chosen(plaudit, rewards, options, expected):
    assert numbers(plaudit("ledger", "history", "rewards.db", "--json", *options)) == expected


def test_how_long_ago_is_counted_from_now(plaudit, rewards):
    with Ledger(rewards) as ledger:
        now = ledger.record(following.score(**DRIVE[0]))
    assert numbers(plaudit("ledger", "history", "rewards.db", "--json", "--since", "1h")) == [now]


def test_a_re_scoring_is_a_history_of_its_own(plaudit, rewards):
    stricter = following.with_params({"comfort.weight": 3.0}).with_version("2")
    with Ledger(rewards) as ledger:
        job = ledger.rescore(stricter, run="night-3").job
    result = plaudit("ledger", "history", "rewards.db", "--job", job, "--limit", "1")
    assert "following@2" in result.stdout
    assert "re-scores=12" in result.stdout
    assert numbers(plaudit("ledger", "history", "rewards.db", "--json", "--limit", "1")) == [13]


def test_long_histories_come_as_several_tables(plaudit, tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.cli.ledger.history.TOGETHER", 50)
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(following, {name: [DRIVE[0][name]] * 110 for name in DRIVE[0]})
    lines = plaudit("ledger", "history", "rewards.db", "--limit", "0").stdout.splitlines()
    assert sum(line.startswith("record") for line in lines) == 3
    assert sum("following@1" in line for line in lines) == 110


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize(
    ("options", "guess"),
    [
        (["--run", "nigth-3"], " Did you mean --run night-3?"),
        (["--reward", "folowing"], " Did you mean --reward following?"),
        (["--reward", "following", "--version", "11"], " Did you mean --version 1?"),
        (["--phase", "drove"], " Did you mean --phase drive?"),
        (["--decision-class", "breaking"], " Did you mean --decision-class braking?"),
        (["--actor", "car[31m"], r" Did you mean --actor 'car\x1b[31m'?"),
        (["--episode", "lst"], " Did you mean --episode last?"),
        (["--key", "chrash"], " Did you mean --key crash?"),
        (["--run", "night-3", "--episode", "77"], " Did you mean --episode 7?"),
        (["--run", "x"], " The ledger has --run day-1, night-3."),
        (["--reward", "rewards.py:night"], " The ledger has --reward following."),
        (["--run", "night-3", "--version", "later"], " The ledger has --version 1."),
        (["--run", "day-1", "--phase", "drive", "--step", "3"], ""),
        (["--since", "2026-11-03"], ""),
    ],
)
def test_where_no_record_is_found_what_is_nearly_right_is_guessed(plaudit, rewards, options, guess, form):
    result = plaudit("ledger", "history", "rewards.db", *options, *form)
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr == f"Error: No matching records.{guess}\n"


@pytest.mark.parametrize(
    "when", ["yesterday", "7x", "7", "-1d", "2026-13-01", "", "0001-01-01", "99999999999999d", "2026-11-01T25:00"]
)
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_a_moment_that_is_none_is_told_with_examples(plaudit, rewards, option, when):
    result = plaudit("ledger", "history", "rewards.db", option, when)
    assert result.exit_code == ExitCode.FAILED
    assert f"'{option}'" in result.stderr
    assert "7d" in result.stderr


@pytest.mark.parametrize("options", [["--limit", "-1"], ["--after", "x"], ["--after", str(2**64)], ["--run", ""]])
def test_other_nonsense_is_told(plaudit, rewards, options):
    result = plaudit("ledger", "history", "rewards.db", *options)
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert "Error: " in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
@pytest.mark.parametrize("form", [["--json"], pytest.param(["--limit", "0"], marks=pytest.mark.slow)])
def test_a_reader_that_leaves_early_is_no_error(process, tmp_path, form):
    columns = {name: [row[name] for row in DRIVE] * 500 for name in DRIVE[0]}
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(following, columns, run="long")
    running = process("ledger", "history", "rewards.db", *form)
    assert running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait() == ExitCode.BROKEN_PIPE
    running.stderr.close()
    running.stdin.close()


MEASURED = """
import sys
from plaudit.cli import main
try:
    main(["ledger", "history", "rewards.db", "--json"], prog_name="plaudit")
finally:
    print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kilobytes that Linux tells")
@pytest.mark.parametrize("more", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_history(tmp_path, more):
    columns = {name: [row[name] for row in DRIVE] * 340 for name in DRIVE[0]}
    peaks = []
    with Ledger(tmp_path / "rewards.db") as ledger:
        for times in (1, more):
            for _ in range(times):
                ledger.record_batch(following, columns, context={"text": "x" * 100})
            done = run_python([sys.executable, "-c", MEASURED], cwd=tmp_path, capture_output=True, check=True)
            assert done.stdout.count(b"\n") == ledger.history().count()
            peaks.append(int(done.stderr))
    assert peaks[1] - peaks[0] < 6_000  # the records alone would take over 11,000
