"""Where a ledger is kept: a SQLite file, or a PostgreSQL database."""
