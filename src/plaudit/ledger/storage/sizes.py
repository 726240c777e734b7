"""How large the columns of a block can be: what is larger is not loaded, for no ledger has written it."""

from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Text, case, func, literal_column, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from plaudit.ledger.backends.backend import LARGEST_VALUE
from plaudit.ledger.storage.schema import specs, summaries

_FEW = 1024
"""Bytes per record that are read without asking how many numbers the reward has: asking takes longer."""
_INSTEAD = f"(more than {LARGEST_VALUE >> 20} MiB)"
"""What is read in place of a text, or of bytes, that are too large: no JSON, and no parts of episodes."""


@lru_cache(maxsize=256)
def limit_size(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column of blocks, or of parts, as it is to be read; other columns are returned as they are.

    Where a block holds more numbers than its records have, they are read as NULL: the reward describes each number, of
    eight bytes, by more than eight characters.
    """
    table: Any = getattr(column, "table", None)
    if table is summaries and column.name == "parts":
        return _limited(column).label(column.name)
    if table is None or "contexts" not in table.c:
        return column
    if column.name == "head":
        return func.substr(column, literal_column("1"), literal_column("33")).label(column.name)  # it has 32 bytes
    if column.name in ("inputs", "outputs"):
        rewards = specs.alias()
        described = select(func.length(rewards.c[column.name])).where(rewards.c.id == table.c.spec)
        size, most = func.length(column), described.correlate(table).scalar_subquery()
        few = size <= table.c.records * literal_column(str(_FEW))
        return case((or_(few, size <= table.c.records * most), column)).label(column.name)
    return _limited(column).label(column.name) if isinstance(column.type, Text) else column


class _limited(FunctionElement[str]):  # noqa: N801  # in the manner of SQLAlchemy's functions
    """A text, unless it is too large."""

    type = Text()
    inherit_cache = True


@compiles(_limited)
def _compile_limited(element: _limited, compiler: SQLCompiler, **options: Any) -> str:
    text = compiler.process(element.clauses, **options)
    return f"CASE WHEN octet_length({text}) > {LARGEST_VALUE} THEN '{_INSTEAD}' ELSE {text} END"


@compiles(_limited, "sqlite")
def _compile_unlimited(element: _limited, compiler: SQLCompiler, **options: Any) -> str:
    """Return the column alone: a connection to SQLite has the limit itself, and asking for a length loads a text."""
    return compiler.process(element.clauses, **options)
