"""Comparing what is on a server with a new ledger, which is made there for a moment and taken back."""

import pytest
from click.testing import CliRunner

from plaudit import Ledger
from plaudit.cli import main
from plaudit.ledger.verify import objects
from support.ledgers import signal, verified


@pytest.fixture
def execute(postgres_ledger, monkeypatch):
    """Return what executes SQL on a ledger of one record; nothing is known of its server yet."""
    import psycopg

    monkeypatch.setattr(objects, "_MADE", {})
    with Ledger(postgres_ledger) as ledger:
        ledger.record(signal())
    with psycopg.connect(postgres_ledger, autocommit=True) as connection:
        yield connection.execute


def test_a_ledger_that_is_only_read_is_compared_too(postgres_ledger, execute):
    execute("CREATE INDEX e ON keys (record)")
    with Ledger(postgres_ledger, read_only=True) as ledger:
        assert [problem.text for problem in ledger.verify().problems] == [
            "the index 'e' of 'keys' was added: it is not part of a ledger"
        ]


def test_nothing_stays_of_what_is_made_to_compare_with(postgres_ledger, execute):
    count = "SELECT count(*), max(oid) FROM pg_class WHERE relkind IN ('r', 'v', 'S', 'i')"
    before = execute(count).fetchone()
    with Ledger(postgres_ledger) as ledger:
        verified(ledger)
        verified(ledger)
    assert execute(count).fetchone() == before


def test_where_no_table_may_be_made_nothing_is_compared_and_the_result_says_so(postgres, postgres_ledger, execute):
    database = postgres_ledger.rpartition("/")[2]
    execute("CREATE ROLE reader LOGIN")
    try:
        execute(f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC")
        execute("GRANT USAGE ON SCHEMA public TO reader")
        execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        url = postgres_ledger.replace("postgres@", "reader@")
        with Ledger(url, read_only=True) as ledger:
            found = verified(ledger)
        assert "permission denied" in found.not_compared
        assert "were not compared with those of a new ledger: permission denied" in str(found)
        assert found.to_dict()["not_compared"] == found.not_compared
        assert CliRunner().invoke(main, ["ledger", "verify", url]).exit_code == 3
    finally:
        execute(f"GRANT TEMPORARY ON DATABASE {database} TO PUBLIC")
        execute("DROP OWNED BY reader")
        execute("DROP ROLE reader")
