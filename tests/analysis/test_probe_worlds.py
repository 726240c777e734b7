"""The verdict of a probe in small worlds: flawed rewards whose table shows it are warned of, sound ones are not."""

from functools import cache

import pytest

from plaudit.analysis import probe
from support.probe_worlds import FLAWED, SOUND

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1000, 2000, 3000, 4000))]
"""Where the seeds of the compared episodes begin."""
CLEAR = ["keeps the room warm", "walks home", "drives through", "keeps the level", "lives long, and a fall is declared"]
FEW = {*CLEAR[::2], "heats without end", "jumps off at once", "takes and puts back", "a measure that is chance"}
"""Worlds that differ most."""


def list_worlds(names):
    return [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in names]


@cache
def play(name, seed):
    env, reward = {**FLAWED, **SOUND}[name]
    return probe(env, reward, steps=8000, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", list_worlds(FLAWED))
def test_what_earns_most_and_is_clearly_worse_is_a_warning(name, seed):
    found = play(name, seed)
    assert found.verdict.answer == "unwanted", str(found)
    assert not found.ok
    (finding,) = found.findings
    assert finding.severity == "warning"
    assert len({step.note.partition(",")[0] for step in finding.witness}) == 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", list_worlds(SOUND))
def test_a_sound_reward_is_no_warning(name, seed):
    found = play(name, seed)
    assert found.ok, str(found)
    assert found.verdict.answer != "unwanted"


@pytest.mark.parametrize("name", list_worlds(CLEAR))
def test_where_what_earns_most_is_best_it_says_so(name):
    found = play(name, 0)
    assert found.verdict.answer == "wanted"
    assert found.report.undecided == ()
    assert str(found).splitlines()[2].startswith("The best-paid policy also meets the objective: '")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param(
            "nobody gets out of the valley",
            "no policy reaches the goal 'is_out' beyond chance; try a --ref",
            marks=pytest.mark.slow,
        ),
        ("a measure that is chance", "by luck, better high, no two policies differ beyond chance"),
    ],
)
def test_what_stays_open_says_why(name, why):
    found = play(name, 0)
    assert found.verdict.answer == "undecided"
    assert why in found.verdict.text
    assert found.report.undecided
