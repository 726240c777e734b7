"""How a data set is written, told by the ending of its name."""

from pathlib import Path
from typing import Literal

from plaudit.errors import DefinitionError

Format = Literal["parquet", "csv", "jsonl"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def format_of(path: str) -> Format:
    """Return the format of a file.

    >>> format_of("rows.PARQUET"), format_of("runs/rows.ndjson")
    ('parquet', 'jsonl')
    """
    found = SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        raise DefinitionError(f"{path} ends in none of {', '.join(SUFFIXES)}, which say how a data set is written.")
    return found
