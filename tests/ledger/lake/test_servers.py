"""Tests of ledgers on a server: many records at once go to the lake directly, and the server says where they are."""

import pytest

from plaudit import Ledger
from plaudit.ledger.storage import batch
from support.lakes import check, columns, count_runs, list_tables, read_all
from support.samples import following

pytest.importorskip("deltalake", reason="needs plaudit[lake]")
MANY = 500


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let few records be worth a file."""
    monkeypatch.setattr(batch, "FEWEST", MANY)


def test_many_records_go_to_the_lake_directly(postgres_ledger, tmp_path):
    with Ledger(postgres_ledger, lake=tmp_path / "lake") as one, Ledger(postgres_ledger, lake=tmp_path / "lake") as two:
        one.record_batch(following, columns(MANY), run="one")
        two.record_batch(following, columns(MANY), run="two")
        one.record_batch(following, columns(300), run="few")
        before = read_all(two)
        check(one, before)
    (table,) = list_tables(tmp_path / "lake").values()
    assert count_runs(table) == {"one": MANY, "two": MANY}
    with Ledger(postgres_ledger) as ledger:
        check(ledger, before)
        ledger.backup(tmp_path / "copy.db")
        assert ledger.archive(tmp_path / "lake").records == 300
        check(ledger, before)
    with Ledger(tmp_path / "copy.db") as copy:  # which has the numbers, and orders by them
        assert sorted(read_all(copy)) == sorted(before)
        assert copy.verify().ok


def test_a_lake_that_takes_nothing_leaves_records_on_the_server(postgres_ledger, tmp_path):
    (tmp_path / "lake").write_text("a file")
    ledger = Ledger(postgres_ledger, lake=tmp_path / "lake")
    with pytest.warns(RuntimeWarning, match="All records are durable"):
        ledger.record_batch(following, columns(MANY), run="one")
    ledger.close()
    with Ledger(postgres_ledger) as ledger:
        assert ledger.history().count() == MANY
        assert ledger.verify().ok
