"""The tables of a ledger are made once, whole, and brought to a newer revision without losing anything."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import plaudit
from plaudit import Ledger
from plaudit.errors import LedgerError, LedgerTooNew
from plaudit.ledger.storage import revisions
from support.ledgers import run, signal, verified

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where nothing is yet: no file, or an empty database."""
    return tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def path(tmp_path):
    """A ledger of three records."""
    fill(tmp_path / "ledger.db")
    return tmp_path / "ledger.db"


def fill(where):
    with Ledger(where) as ledger:
        for step in range(3):
            ledger.record(signal(step), run="run", step=step, key=f"key {step}")


def change(path, *statements):
    """Change a file behind the ledger's back; return what it is then."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path.read_bytes()


# -- new ledgers -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="needs fork")
def test_processes_that_make_a_ledger_at_the_same_moment_make_one(place):
    found = run("create", place, "race", 6)
    assert found == {"said": ["recorded"] * 6, "steps": list(range(6))}


@pytest.mark.skipif(os.name == "nt", reason="needs fork")
@pytest.mark.parametrize("kills", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_while_it_makes_a_ledger_leaves_all_tables_or_none(tmp_path, kills, counted):
    found = run("create", tmp_path, "kill", kills)
    counted("processes killed (kill -9) while they make a ledger", **found, broken=0)
    assert found["unfinished"] > 0


# -- ledgers of other versions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
def test_a_ledger_of_a_newer_plaudit_is_refused_and_left_alone(path, read_only):
    before = change(path, "UPDATE schema_revision SET number = 9999")
    with pytest.raises(LedgerTooNew, match=r"newer plaudit \(tables of revision 9999"):
        Ledger(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_ledger_from_before_the_first_revision_is_refused_and_left_alone(tmp_path, read_only):
    before = change(tmp_path / "old.db", "CREATE TABLE alembic_version (version_num)", "CREATE TABLE blocks (first)")
    with pytest.raises(LedgerError, match=r"old\.db was created by an earlier plaudit.*ledger export.*ledger import"):
        Ledger(tmp_path / "old.db", read_only=read_only)
    assert (tmp_path / "old.db").read_bytes() == before


# -- the next revision -------------------------------------------------------------------------------------------------

OPEN = """
import json, sys
import plaudit
from plaudit import Ledger

with Ledger(sys.argv[1]) as ledger:
    records = [record.to_dict() for record in ledger.history()]
    head = ledger.stats().head.to_dict()
    with ledger._store.backend.snapshot() as connection:
        notes = [tuple(row) for row in connection.exec_driver_sql("SELECT name, note FROM labels")]
    ledger.record(next(iter(ledger.history())).signal, run="after")
    found = ledger.verify()
    assert found.ok, str(found)
print(json.dumps({"library": plaudit.__file__, "records": records, "head": head, "notes": notes}))
"""


@pytest.fixture(scope="module")
def next_version(tmp_path_factory):
    """A copy of plaudit, changed as CONTRIBUTING.md says that a new revision of the tables is made."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.partition("### A revision of the ledger's schema\n")[2].partition("\n## ")[0]
    (column,) = re.findall(r"`(Column\(.*?\))`", section)
    (upgrade,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    folder = tmp_path_factory.mktemp("next")
    shutil.copytree(Path(plaudit.__file__).parent, folder / "plaudit", ignore=shutil.ignore_patterns("__pycache__"))
    storage = folder / "plaudit" / "ledger" / "storage"
    replace(storage / "schema.py", r"(labels = Table\(.*?)(\n\))", rf"\1\n    {column},\2")
    replace(storage / "revisions.py", r"UPGRADES: .*? = \(\)", upgrade.strip())
    return folder


def replace(path, old, new):
    """Replace the one place in a file that matches."""
    text, count = re.subn(old, lambda match: match.expand(new), path.read_text(), count=1, flags=re.DOTALL)
    assert count == 1
    path.write_text(text)


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_what_the_guide_says_brings_a_ledger_to_the_next_revision_with_every_record(next_version, place):
    fill(place)
    with Ledger(place) as ledger:
        before = json.loads(json.dumps([record.to_dict() for record in ledger.history()]))
        head = ledger.stats().head.to_dict()
    done = subprocess.run(
        [sys.executable, "-c", OPEN, place], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(next_version)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("library").startswith(str(next_version))
    assert found == {"records": before, "head": head, "notes": [["following", "following 1"]]}
    with pytest.raises(LedgerTooNew, match="revision 2; this one knows 1"):
        Ledger(place)


def add_note(connection):
    connection.exec_driver_sql("ALTER TABLE blocks ADD COLUMN note TEXT")
    connection.exec_driver_sql("UPDATE blocks SET note = 'kept'")


def fail(connection):
    raise RuntimeError("halfway")


@pytest.fixture
def upgrade(monkeypatch):
    """Return a function that opens a ledger with a plaudit that has these upgrades."""

    def open_with(where, *upgrades, **options):
        with monkeypatch.context() as patch:
            patch.setattr(revisions, "UPGRADES", upgrades)
            patch.setattr(revisions, "REVISION", 1 + len(upgrades))
            Ledger(where, **options).close()

    return open_with


def test_an_older_file_is_backed_up_before_it_is_changed(path, upgrade):
    upgrade(path, add_note, add_nothing := lambda connection: None)
    (backup,) = path.parent.glob("ledger.db.1-*.backup")
    with Ledger(backup, read_only=True) as copy:
        assert copy.history().count() == 3
        verified(copy)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT DISTINCT note FROM blocks").fetchall() == [("kept",)]
        assert connection.execute("SELECT number FROM schema_revision").fetchall() == [(3,)]
    upgrade(path, add_note, add_nothing, lambda connection: None)  # which begins where the file is
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT number FROM schema_revision").fetchall() == [(4,)]


def test_an_upgrade_that_fails_leaves_the_ledger_as_it_was(place, upgrade):
    fill(place)
    with pytest.raises(RuntimeError, match="halfway"):
        upgrade(place, add_note, fail)
    with Ledger(place) as ledger:
        ledger.record(signal(3), run="run", step=3)
        assert ledger.history().count() == 4
        verified(ledger)


def test_an_older_ledger_is_not_changed_by_reading_it(path, upgrade):
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"tables of an older revision \(1\); open it once for writing"):
        upgrade(path, add_note, read_only=True)
    assert path.read_bytes() == before


def test_a_server_without_a_ledger_is_not_said_to_have_lost_a_file(postgres_url):
    with pytest.raises(LedgerError, match=r"contains no ledger\.$"):
        Ledger(postgres_url, read_only=True)
