"""Histories, episodes, changes and scores as tables of Arrow, pandas and Polars: the same columns in each."""

import sys

import numpy as np
import pytest

from plaudit import Ledger, LedgerError, MissingExtra, NotInLedger
from plaudit.ledger.rescore.changes import Changes
from support.ledgers import REWARD, columns, signal

WAYS = ("arrow", "pandas", "polars")


def read(table):
    """Return the columns of a table of any library as lists, with None for what is missing."""
    if hasattr(table, "to_pydict"):
        return table.to_pydict()
    if hasattr(table, "to_dicts"):
        return {name: table[name].to_list() for name in table.columns}
    return {name: [None if value != value else value for value in table[name].tolist()] for name in table.columns}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as made:
        made.record_batch(REWARD, columns(0, 20), run="a", episode=[at // 5 for at in range(20)], step=range(20))
        made.record(signal(), run="b", episode="last")
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_a_history_is_a_table(ledger, way):
    found = read(getattr(ledger.history(run="a"), f"to_{way}")())
    records = list(ledger.history(run="a"))
    assert found["record.id"] == [record.id for record in records]
    assert found["record.step"] == [record.step for record in records]
    assert found["total"] == [record.total for record in records]
    assert found["comfort"] == [record.signal.values["comfort"] for record in records]


@pytest.mark.parametrize("way", WAYS)
def test_episodes_are_a_table(ledger, way):
    episodes = ledger.episodes()
    found = read(getattr(episodes, f"to_{way}")())
    assert found["total"] == [each.total for each in episodes]
    assert found["run"] == ["a"] * 4 + ["b"]
    assert found["last_step"] == [4, 9, 14, 19, None]
    assert found["comfort"] == [each.terms["comfort"] for each in episodes]
    assert [moment.timestamp() for moment in found["began"]] == [each.began.timestamp() for each in episodes]


@pytest.mark.parametrize("way", WAYS)
def test_changes_are_a_table_of_decision_classes(way):
    changes = Changes()
    changes.add([1.0, -2.0, 0.5], [1.0, 3.0, -0.5], ["route", "stop", "stop"])
    found = read(getattr(changes, f"to_{way}")())
    assert found["decision_class"] == ["route", "stop"]
    assert (found["records"], found["to_rewarded"], found["to_punished"]) == ([1, 2], [0, 1], [0, 1])


@pytest.mark.parametrize("way", WAYS)
def test_scores_are_a_table_of_rows(way):
    scores = REWARD.compile("numpy", on_bad="mask")({**columns(0, 3), "distance": np.array([5.0, -1.0, 6.0])})
    found = read(getattr(scores, f"to_{way}")())
    terms = list(scores.values)
    assert list(found) == ["total", *terms, *(f"{term}.score" for term in terms), "ok"]
    assert found["ok"] == [True, False, True]
    assert found["total"][::2] == scores.total[::2].tolist()
    alone = REWARD.compile("python")({"distance": 5.0, "deceleration": 0.0, "action": 0})
    assert read(getattr(alone, f"to_{way}")())["total"] == [alone.total]


def test_scores_of_pytorch_are_a_table():
    torch = pytest.importorskip("torch")
    given = {name: torch.tensor(column) for name, column in columns(0, 3).items()}
    assert REWARD.compile("torch")(given).to_arrow().num_rows == 3


def test_what_is_no_table_says_why(ledger):
    with pytest.raises(NotInLedger, match="Did you mean run='a'"):
        ledger.history(run="aa").to_arrow()
    ledger.record_batch(REWARD.with_version("2"), columns(0, 2))
    with pytest.raises(LedgerError, match="several rewards .*following@1 whole and following@2 whole"):
        ledger.history().to_pandas()
    assert ledger.episodes(run="nowhere").to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("way", "library", "install"),
    [
        ("arrow", "pyarrow", r"pip install 'plaudit\[data\]'"),
        ("pandas", "pandas", "pip install pandas"),
        ("polars", "polars", r"pip install 'plaudit\[polars\]'"),
    ],
)
def test_a_library_that_is_not_installed_is_named(ledger, monkeypatch, way, library, install):
    monkeypatch.setitem(sys.modules, library, None)
    for table in (ledger.episodes(), Changes(), REWARD.compile("numpy")(columns(0, 2))):
        with pytest.raises(MissingExtra, match=install):
            getattr(table, f"to_{way}")()
    if way != "arrow":
        with pytest.raises(MissingExtra, match=install):
            getattr(ledger.history(run="a"), f"to_{way}")()
