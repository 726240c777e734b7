"""A small ledger to look at: two runs, a reward in two versions, records without a run."""

import pytest

from plaudit import Ledger
from plaudit.page.library import Library
from support.moving import ONE, ONLY_NEAR, record_episode


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A ledger that tests only read."""
    path = tmp_path_factory.mktemp("page") / "rewards.db"
    with Ledger(path) as ledger:
        for episode in range(5):
            record_episode(ledger, episode)
        record_episode(ledger, 1, reward=ONLY_NEAR, run="a/b c")
        ledger.record(ONE.score(distance=5.0, speed=1.0), episode="solo", step=1, context={"original_reward": 2})
        end = {"terminated": True, "note": "</script><b>"}
        ledger.record(ONE.score(distance=50.0, speed=25.0), episode="solo", step=2, context=end)
    return path


@pytest.fixture
def library(recorded):
    opened = Library([str(recorded)])
    yield opened
    opened.close()
