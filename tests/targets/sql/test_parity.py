"""What databases compute is what Python computes: every law of targets, and small rewards on their episodes."""

from types import SimpleNamespace

import pytest

from plaudit.targets.inputs import collect_columns
from plaudit.testing import check_target
from support.contract import TIMES, WRITTEN, draw
from support.engines import assert_as_python, scored, select, stored_in
from support.samples import EPISODES, SAMPLES
from support.strategies import rows

WITHOUT = {**WRITTEN, "knobs_at_run_time": "knobs are constants of the text"}


@pytest.mark.parametrize("times", TIMES)
def test_a_database_keeps_every_law(engine, times):
    def run(compiled, batch):
        return select(engine, compiled, batch.reward, batch.rows)

    report = check_target(
        "sql",
        run=run,
        options={"dialect": engine.name},
        without=WITHOUT,
        **draw(5, times),
        rows=32,
        stored=stored_in(engine),
    )
    assert {each.law for each in report.laws if each.outcome != "kept"} == set(WITHOUT)
    assert report.counts["aside"] <= 0.08 * report.counts["rows"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_reward_scores_its_episode_as_python_does(engine, name):
    reward = SAMPLES[name]
    drawn = rows(SimpleNamespace(reward=reward, fields=tuple(reward.fields.values())), 4, 200)
    played = [collect_columns(reward.program, row) for row in EPISODES[name]]
    known = [*played, *map(stored_in(engine), drawn)]
    assert_as_python(reward, known, scored(engine, reward, known))
