"""Recorded steps as detectors get them: episodes side by side, what the environment paid, ends of their own."""

import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.analysis import audit
from plaudit.checks.solver.breakpoints import sample_columns
from plaudit.ledger.summary.returns import read_original_rewards
from plaudit.testing.random_rewards import draw_case
from support.histories import record_episodes

steps = sys.modules["plaudit.analysis.audit.steps"]
episodes = sys.modules["plaudit.analysis.audit.episodes"]


@pytest.mark.parametrize(
    ("contexts", "paid"),
    [
        ('[{"original_reward":1.5},{"original_reward":-2e-05,"terminated":true}]', [1.5, -2e-05]),
        ('[{"original_reward":1.0,"more":{"original_reward":9.0}},{"original_reward":2.0}]', [1.0, 2.0]),
        ('[{"original_reward":3}]', [3.0, 3.0]),
        ('[{"original_reward":"inf"},{"original_reward":1.0}]', [np.inf, 1.0]),
        ('[{"original_reward":1.0},null]', None),
        ('[{"original_reward":null},{"original_reward":1.0}]', None),
        ('["original_reward",{"a":1}]', None),
        (None, None),
    ],
)
def test_what_the_environment_paid_is_read_from_contexts(contexts, paid):
    found = read_original_rewards(SimpleNamespace(contexts=contexts, records=2))
    assert (None if found is None else found.tolist()) == paid


@term
def push(force):
    """Push."""
    return force


@term(terminal=True)
def landing(landed):
    """Land."""
    return 10.0 if landed else -10.0


@term
def swing(cell):
    """Swing."""
    return 1.0 if cell == 1 else 0.0


REWARD = Reward("arm", version="1", terms=[push], fields=[Field("force", low=0, high=9)])
ENDING = Reward(
    "arm", version="2", terms=[push, landing], fields=[Field("force", low=0, high=9), Field("landed", flag=True)]
)


def test_steps_of_environments_that_take_turns_are_put_side_by_side(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, REWARD, [{"force": np.full(3, float(at))} for at in range(6)], together=3)
        table = episodes.EpisodeTable(ledger.episodes())
        layouts = [layout for layout, _ in ledger.history().counts()]
        (batch,) = steps.read_batches(ledger, layouts, table, {})
    assert batch.columns["force"].tolist() == [0.0] * 3 + [1.0] * 3 + [2.0] * 3 + [3.0] * 3 + [4.0] * 3 + [5.0] * 3
    assert batch.starts.tolist() == [0, 3, 6, 9, 12, 15]
    assert batch.numbers.tolist()[:6] == [1, 4, 7, 2, 5, 8]


def test_an_episode_whose_end_is_a_record_of_its_own_is_looked_at(tmp_path):
    cell = Field("cell", values=(0, 1))
    fields, task = [cell, Field("landed", flag=True)], Task(states=["cell"])
    reward = Reward("arm", version="3", terms=[swing, landing], fields=fields, task=task)
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(60):
            ledger.record(reward.score(cell=at % 2, terminal=False), run="night", episode="0", step=at)
        ledger.record(
            reward.score_terminal(landed=True), run="night", episode="0", step=60, context={"terminated": True}
        )
        report = audit(ledger, reward, only="walked-laps")
    assert "visited one state 30 times" in report.findings[0].message


def test_an_end_that_is_a_record_of_its_own_is_no_missing_step(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(3):
            ledger.record(ENDING.score(force=1.0, terminal=False), run="night", episode="0", step=at)
        ledger.record(ENDING.score_terminal(landed=True), run="night", episode="0", step=3)
        report = audit(ledger, ENDING)
    assert report.remarks[0].startswith("Read: 3 steps of 1 episode")
    assert not any("missing step numbers" in remark for remark in report.remarks)


@pytest.mark.parametrize("seed", range(4))
def test_random_rewards_are_audited_without_a_failure(tmp_path, seed):
    chance, good = random.Random(seed), np.zeros(1, bool)
    while not good.any():
        reward = draw_case(chance.choice).reward  # terminal terms, schedules, gates and overrides among them
        columns = sample_columns(reward.program.inputs, [reward.program.bind()], 600)
        good = reward.compile("numpy", on_bad="mask")(columns).ok
    columns = {name: column[good] for name, column in columns.items()}
    numbers = np.arange(int(good.sum()))
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, columns, run="r", episode=(numbers // 20).tolist(), step=(numbers % 20).tolist())
        for report in (audit(ledger, reward), audit(ledger)):
            assert not report.failed
            assert report.remarks[0].startswith(f"Read: {len(numbers):,} steps")
