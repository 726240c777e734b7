"""Opens ledgers as a user who owns nothing, and says what came of it.

as_nobody.py FOLDER
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from support.ledgers import signal, verified


def tried(work):
    """Return what a call returns, or the error as text."""
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def write(path):
    """Open a ledger and record something."""
    with Ledger(path, timeout=1) as ledger:
        return ledger.record(signal(1), run="nobody", step=1)


def read(path):
    """Read a ledger, verify it and return how many records it has."""
    with Ledger(path, read_only=True, timeout=1) as ledger:
        verified(ledger)
        return len(list(ledger.history()))


def back_up(path, to):
    """Copy a ledger."""
    with Ledger(path, read_only=True) as ledger:
        return str(ledger.backup(to))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    paths = {name: folder / name / "ledger.db" for name in ("file", "folder", "both", "hidden", "none")}
    for name, path in paths.items():
        path.parent.mkdir()
        if name != "none":
            with Ledger(path) as ledger:
                ledger.record(signal(0), run="root", step=0)
    read(paths["file"])  # imports what is imported late: the code may lie where nobody else may read
    back_up(paths["file"], folder / "copy.db")
    for path in (paths["folder"], paths["folder"].with_name("ledger.db.lock")):
        path.chmod(0o666)
    paths["file"].parent.chmod(0o777)
    paths["hidden"].chmod(0o600)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    said = {f"write {name}": tried(lambda path=path: write(path)) for name, path in paths.items()}
    said |= {f"read {name}": tried(lambda path=path: read(path)) for name, path in paths.items()}
    said["backup"] = tried(lambda: back_up(paths["both"], folder / "both" / "copy.db"))
    print(json.dumps(said))
