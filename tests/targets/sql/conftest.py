"""The databases that SQL is run on, one of each for a test process."""

import pytest

from support.engines import DuckDB, Postgres, SQLite


@pytest.fixture(scope="session")
def duckdb_engine():
    pytest.importorskip("duckdb", reason="needs plaudit[data]")
    return DuckDB()


@pytest.fixture(scope="session")
def sqlite_engine():
    return SQLite()


@pytest.fixture(scope="session")
def postgres_engine(postgres):
    engine = Postgres(postgres.new_database())
    yield engine
    engine.connection.close()


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def engine(request):
    """Each database in turn."""
    return request.getfixturevalue(f"{request.param}_engine")
