"""Recorded steps as other rewards would have paid them, batch by batch."""

import numpy as np

from plaudit import Ledger
from plaudit.ledger.rescore import scored, translation
from support.ledgers import REWARD, columns


def test_a_reward_is_compiled_once_however_many_batches_there_are(tmp_path, monkeypatch):
    compiled = []
    original = translation.NumpyReward
    monkeypatch.setattr(translation, "NumpyReward", lambda *a, **o: (compiled.append(a), original(*a, **o))[1])
    monkeypatch.setattr(scored, "_BATCH", 10)
    with Ledger(tmp_path / "rewards.db") as ledger:
        for start in range(0, 50, 10):
            ledger.record_batch(REWARD, columns(start, start + 10), run="r", episode=str(start), step=range(10))
        batches = list(ledger.score_history(REWARD, REWARD, run="r"))
        totals = [record.signal.total for record in ledger.history()]
    assert len(batches) == 5
    for side in range(2):
        assert np.concatenate([batch.scores[side].total for batch in batches]).tolist() == totals
    assert len(compiled) == 2
