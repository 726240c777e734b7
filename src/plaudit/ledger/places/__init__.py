"""Where a ledger is kept: SQLite and PostgreSQL, their tables, and whose turn it is to write."""
