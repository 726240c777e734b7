"""Open the ledger that an argument names; only a command that adds to it may make one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from plaudit.cli.errors import unreadable
from plaudit.errors import LedgerError

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger


def opened(where: str) -> "Ledger":
    """Open a ledger to read it; nothing is made or changed."""
    from plaudit.ledger.store import Ledger

    check_there(where)
    return Ledger(where, read_only=True)


def opened_to_write(where: str, *, new: bool = False) -> "Ledger":
    """Open a ledger to write to it; one that is not there is made if it may be `new`."""
    from plaudit.ledger.store import Ledger

    check_there(where, new=new)
    return Ledger(where)


def is_file(where: str) -> bool:
    """Return whether an argument names a file, and not a server."""
    return "://" not in where


def check_there(where: str, *, new: bool = False) -> None:
    """Raise where an argument names a file that is not there, unless it may be `new`."""
    path = Path(where)
    if not is_file(where) or path.exists():
        return
    if re.match(r"postgres\w*:", where):  # a slip in an address: what is told must not hold its password
        raise LedgerError("the address of a server is written postgresql://user@host/database.")
    if not new:
        raise unreadable(path, FileNotFoundError())
