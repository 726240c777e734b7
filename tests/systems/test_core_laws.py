"""What holds of every reward, of each version of every built-in one: text, copies, JSON and SQL say the same."""

import contextlib
import copy
import pickle
from types import SimpleNamespace

import pytest

from plaudit import InputError, Reward
from plaudit.errors import MissingField, UnknownInput
from plaudit.systems import BUILT_IN, roadsense, system
from plaudit.targets.inputs import collect_columns
from support.engines import DuckDB, Postgres, SQLite, assert_as_python, scored, stored_in
from support.rendered import check_formula, compare
from support.strategies import rows

VERSIONS = [(name, label) for name in BUILT_IN for label in system(name).VERSIONS]
EACH_VERSION = pytest.mark.parametrize(("name", "label"), VERSIONS, ids=map("@".join, VERSIONS))


@EACH_VERSION
def test_the_text_of_a_reward_scores_its_episode_again(name, label):
    reward = system(name).version(label)
    fields = {key.rpartition(".")[2].partition("[")[0] for key in reward.inputs}
    compared = 0
    for row in system(name).episode():
        inputs = {key: value for key, value in row.items() if key in ("prev", "curr") or key in fields}
        try:
            reward.score(**inputs)
        except InputError:  # the episode is of another version
            continue
        compare(reward, inputs)
        compared += 1
    assert compared or label != system(name).VERSIONS[0]


@EACH_VERSION
def test_the_formula_of_a_reward_is_whole(name, label):
    check_formula(system(name).version(label))


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_is_the_same_reward(name, again):
    reward = system(name).reward
    assert again(reward) == reward
    assert again(reward).fingerprint == reward.fingerprint


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_reward_comes_back_from_json_whole(name):
    reward = system(name).reward
    again = Reward.from_json(reward.to_json())
    assert (again, again.to_json()) == (reward, reward.to_json())
    once_more = Reward.from_json(
        again.to_json()
    )  # names of locals are not stored: formulas are those of what was loaded
    assert (once_more.formula(), once_more.source()) == (again.formula(), again.source())


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgres"])
def engine(request):
    if request.param == "duckdb":
        pytest.importorskip("duckdb", reason="needs plaudit[data]")
        yield DuckDB()
    elif request.param == "sqlite":
        yield SQLite()
    else:
        made = Postgres(request.getfixturevalue("postgres").new_database())
        yield made
        made.connection.close()


@EACH_VERSION
@pytest.mark.parametrize("drawn", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_databases_score_as_python_does(engine, name, label, drawn):
    reward = system(name).version(label)
    played = []
    for row in system(name).episode():
        with contextlib.suppress(MissingField, UnknownInput):  # of a version that reads other inputs
            played.append(collect_columns(reward.program, row))
    assert played or label != system(name).VERSIONS[0]
    more = rows(SimpleNamespace(reward=reward, fields=tuple(reward.fields.values())), 4, drawn)
    known = [*played, *map(stored_in(engine), more)]
    assert_as_python(reward, known, scored(engine, reward, known))


def test_in_the_convoy_each_action_has_its_deceleration():
    (holds,) = roadsense.reward._bound.facts
    assert holds.name == "brakes"
    assert [holds(action, rate) for action, rate in enumerate((0.0, 0.5, 2.0, 4.5))] == [True] * 4
    assert not holds(3, 5.0)
    for reward in map(roadsense.version, roadsense.VERSIONS):
        assert ("brakes" in [each.name for each in reward._bound.facts]) == ("action" in reward.fields)
