"""The `sql` target: a reward as SQL for DuckDB, SQLite, PostgreSQL and Spark, with the numbers that Python gives."""

from plaudit.targets.sql.reward import SqlReward

__all__ = ["SqlReward"]
