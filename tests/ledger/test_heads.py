"""Ends of chains, kept elsewhere: even a past that was rewritten with checksums that fit is found."""

import json
import shutil

from plaudit import Ledger
from plaudit.ledger.heads import Head
from support.samples import EPISODES, following

SIGNALS = [following.score(**row) for row in EPISODES["following"]]


def recorded(path, signals):
    with Ledger(path) as ledger:
        for step, signal in enumerate(signals):
            ledger.record(signal, step=step)
        return ledger.stats().heads


def test_a_ledger_that_has_grown_still_holds_the_heads_of_before(tmp_path):
    heads = recorded(tmp_path / "rewards.db", SIGNALS)
    recorded(tmp_path / "rewards.db", SIGNALS[:2])
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.verify(heads=heads).ok
        assert ledger.verify(heads=ledger.stats().heads).ok


def test_a_past_that_was_written_anew_is_found(tmp_path):
    heads = recorded(tmp_path / "rewards.db", SIGNALS)
    recorded(tmp_path / "better.db", SIGNALS[:1] * len(SIGNALS))
    shutil.move(tmp_path / "better.db", tmp_path / "rewards.db")
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.verify().ok
        result = ledger.verify(heads=heads)
    assert [problem.kind for problem in result.problems] == ["removed"]


def test_heads_travel_as_json(tmp_path):
    heads = recorded(tmp_path / "rewards.db", SIGNALS)
    again = [Head.from_dict(each) for each in json.loads(json.dumps([head.to_dict() for head in heads]))]
    assert tuple(again) == heads
