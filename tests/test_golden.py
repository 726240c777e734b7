"""What an earlier plaudit wrote is read, and agrees to the bit: definitions, ledgers and saved learners."""

import json
import shutil
from pathlib import Path

import pytest

from golden.make import CONTEXT, identity, records
from golden.rewards import REWARDS, ROWS
from plaudit import Ledger, Reward, learn
from support.bandits import LEARNERS, context_of

GOLDEN = Path(__file__).parent / "golden"


def kept(name):
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(shutil.copy(GOLDEN / "rewards.db", tmp_path)) as opened:
        yield opened


@pytest.mark.parametrize("name", REWARDS)
def test_a_definition_has_the_fingerprints_and_the_specification_that_it_had(name):
    assert identity(REWARDS[name]) == kept("rewards.json")[name]


@pytest.mark.parametrize("name", REWARDS)
def test_a_specification_loads_and_scores_as_the_definition_does(name):
    was = kept("rewards.json")[name]
    loaded = Reward.from_json(was["spec"])
    assert identity(loaded) == was
    for row in ROWS[name]:
        assert loaded.score(**row).to_dict() == REWARDS[name].score(**row).to_dict()


def test_a_ledger_opens_with_every_record_that_it_had(ledger):
    assert records(ledger) == kept("records.json")


def test_a_ledger_verifies(ledger):
    found = ledger.verify()
    assert found.ok, str(found)
    assert found.records == found.compared_bits == len(kept("records.json"))


def test_a_ledger_goes_on(ledger):
    number = ledger.record(REWARDS["maze"].score(**ROWS["maze"][0]), run="later")
    assert number == max(record["id"] for record in kept("records.json")) + 1
    assert ledger.verify().ok


def test_an_export_is_read_into_another_ledger(tmp_path):
    signals = [record["signal"] for record in kept("records.json") if record["job"] is None]
    with Ledger(tmp_path / "other.db") as other:
        assert other.import_file(GOLDEN / "ledger.jsonl") == len(signals)
        assert [record.signal.to_dict() for record in other.history()] == signals


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_learner_loads_chooses_as_it_did_and_is_written_as_it_was(name, tmp_path):
    file = GOLDEN / f"learner-{name.replace(' ', '-')}.json"
    learner, state, more = learn.load(file, expected=LEARNERS[name])
    was = kept("decisions.json")[name]
    decision = learner.choose(state, 3, context_of(learner, CONTEXT))
    assert decision.action == was["action"]
    assert decision.probability == pytest.approx(was["probability"], rel=1e-12)
    learn.save(tmp_path / "again.json", learner, state, **more)
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()
