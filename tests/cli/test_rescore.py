"""`plaudit rescore`: another reward for what a ledger holds, and what changed."""

import json

import numpy as np

from plaudit import Field, Ledger, Reward, term
from support.command_line import built_in


def test_a_run_of_a_ledger_that_is_misspelt_is_guessed(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(built_in("roadsense").score(distance=5.0, deceleration=0.0, action=0), run="night-3")
    done = plaudit("rescore", "roadsense@R1", "rewards.db", "--run", "nihgt-3")
    assert (done.exit_code, done.stderr) == (2, "Error: No matching records. Did you mean --run night-3?\n")
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.jobs() == []


def test_a_ledger_gets_new_records_beside_the_old_ones(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(10):
            signal = built_in("roadsense").score(distance=5.0 * at, deceleration=0.0, action=0)
            ledger.record(signal, run="night" if at % 2 else "day", decision_class="keep")
    done = plaudit("rescore", "roadsense", "rewards.db", "--set", "safety.weight=-1", "--run", "night")
    assert done.exit_code == 2  # the label R0 is tied to another formula
    assert "--label on the command line" in done.stderr
    command = ("rescore", "tuned.json", "rewards.db", "--run", "night")
    tuned = built_in("roadsense").with_weights(safety=-1).with_version("flipped")
    (tmp_path / "tuned.json").write_text(tuned.to_json())
    done = plaudit(*command)
    assert done.exit_code == 0, done.output
    assert "5 records to score." in done.stderr
    assert "5 totals compared" in done.stdout
    again = plaudit(*command, "--json")
    assert "0 records to score.\n5 records already scored by an earlier run." in again.stderr
    told = json.loads(again.stdout)
    assert (told["records"], told["scored"]) == (5, 0)
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        assert ledger.history().count() == 10


def test_a_changed_reward_gets_a_label_and_is_found_by_its_job(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(built_in("roadsense").score(distance=5.0, deceleration=0.0, action=0))
    changed = ("--set", "safety.weight=-1", "--label", "flipped")
    done = plaudit("rescore", "roadsense", "rewards.db", "--reward", "roadsense", *changed)
    assert done.exit_code == 0, done.stderr
    assert "with roadsense@flipped" in done.stdout
    found = plaudit("ledger", "history", "rewards.db", "--version", "flipped")
    assert "No matching records. To see re-scored records, use --job 1." in found.stderr
    assert "roadsense@flipped" in plaudit("ledger", "history", "rewards.db", "--job", "1").stdout


def test_records_that_lack_an_input_are_told_beforehand(plaudit, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(built_in("roadsense").score(distance=5.0, deceleration=0.0, action=0))
    done = plaudit("rescore", "roadsense@R8", "rewards.db")
    assert done.exit_code == 2
    assert "1 record of roadsense@R0 lacks closing_rate; left out." in done.stderr


def test_a_ledger_is_rescored_as_recorded_or_in_float64(plaudit, tmp_path):
    @term
    def fast(speed):
        return speed if speed > 0.1 else 0.0

    reward = Reward("racing", version="1", terms=[fast], fields=[Field("speed", low=-1, high=1)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {"speed": np.array([0.5, 0.1], np.float32)}, target="torch")
    (tmp_path / "again.json").write_text(reward.with_version("again").to_json())
    done = plaudit("rescore", "again.json", "rewards.db", "--as-recorded", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["changes"]["unchanged"] == 2
    done = plaudit("rescore", "again.json", "rewards.db")
    assert "1 of them crossed a threshold: record 2." in done.stdout
