"""What readers hand on: a piece of a data set, and how far it reaches."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from plaudit.errors import FileError
from plaudit.ledger.dataset.values import Flags

BLOCK_BYTES = 16 << 20
"""How much of a data set is in one block, about. Some five blocks are in memory at any time."""
MOST_ROWS = 1 << 19


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a data set."""

    batch: pa.RecordBatch
    done: int
    """How far the reader has come, in the unit of its `total`."""
    lines: Sequence[bytes] | None = None
    """The rows as they were written, where they were written as JSON Lines."""
    wrong: Mapping[str, Flags] = field(default_factory=dict)
    """By column, the rows whose value is not of its kind; the batch has NULL there."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Tell what goes wrong while a file is read as a FileError."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{name} does not exist.") from None
    except IsADirectoryError:
        raise FileError(f"{name} is a directory; name a file in it.") from None
    except (pa.ArrowException, OSError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise FileError(f"{name} cannot be read: {reason.splitlines()[0] if reason else error!r}") from None
