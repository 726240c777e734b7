"""A real PostgreSQL for tests: a server in a temporary folder on loopback, stopped whatever becomes of the tests.

`postgres` is the server of this test process, started when first asked for; `postgres_url` is a fresh database on it.
"""

import contextlib
import itertools
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from support.memory import find_memory

if TYPE_CHECKING:
    import psycopg

DEBIAN = Path("/usr/lib/postgresql")
# Waits until this process closes the pipe, by stopping or by dying, and then clears everything away.
GUARDIAN = 'read -r _; "$1" stop --silent --wait --mode=immediate --pgdata="$2/data"; rm -rf "$2"'

END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
EMPTY_LEDGER = """
SET session_replication_role = replica; -- references are not looked at
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
        AND tablename NOT IN ('schema_revision', 'table_heads')
    LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
END $$;
UPDATE table_heads SET rows = 0, head = decode(repeat('00', 32), 'hex'), signature = NULL;
SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S';
"""
DESCRIBED = (
    *("pg_class", "pg_attribute", "pg_attrdef", "pg_constraint", "pg_trigger", "pg_rewrite", "pg_proc", "pg_namespace"),
    "schema_revision",
)
"""Tables of which no row changes while a ledger is written to."""


class NoServer(Exception):
    """There is no PostgreSQL to start here; the message says what is missing."""


server_in_soak = pytest.mark.parametrize(
    "where", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
"""For tests that hardly depend on the engine: in `make test` with a ledger in a file, in `make soak` on a server too."""


def binaries() -> Path:
    """Return the folder that holds `initdb`, `pg_ctl` and `postgres`."""
    places = [Path(found).resolve().parent for found in [shutil.which("postgres")] if found]
    places += sorted(DEBIAN.glob("*/bin"), key=lambda place: float(place.parent.name), reverse=True)
    if config := shutil.which("pg_config"):
        places.append(Path(subprocess.check_output([config, "--bindir"], text=True).strip()))
    for place in places:
        if all((place / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return place
    raise NoServer("no PostgreSQL server here (Debian: apt-get install postgresql)")


def _account() -> pwd.struct_passwd | None:
    """Return whom the server runs as: ourselves (None), or somebody else where we are root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoServer("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` here")


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


class EmptyLedger(NamedTuple):
    """A ledger on a server with nothing in it, and what its tables were when they were made."""

    url: str
    connection: "psycopg.Connection[Any]"
    made: tuple[object, ...]


class Server:
    """One PostgreSQL server with a data folder of its own; `port` stays the same over restarts."""

    def __init__(self, *, fsync: bool = True, connections: int = 100, on_disk: bool = False) -> None:
        self._place = None if on_disk else find_memory()
        # Without autovacuum: tables are emptied and filled again, and plans for empty ones take a minute on full ones.
        self._settings = (
            f"-c fsync={'on' if fsync else 'off'} -c max_connections={connections} -c jit=off -c autovacuum=off"
        )
        self._binaries = binaries()
        self._account = _account()
        self._names = itertools.count(1)
        self._emptied: list[str] = []
        self._ledgers: list[EmptyLedger] = []
        self._guardian: subprocess.Popen[bytes] | None = None
        self.folder = Path()
        self.port = 0

    def start(self) -> None:
        """Create the data folder and start; returns when the server answers."""
        self.folder = Path(tempfile.mkdtemp(prefix="plaudit-pg-", dir=self._place))
        if self._account is not None:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
        self._guardian = subprocess.Popen(
            ["sh", "-c", GUARDIAN, "guardian", self._binaries / "pg_ctl", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the tests
            **self._as_account(),
        )
        self._make_data()
        for attempt in range(5):
            self.port = _free_port()  # free a moment ago: another process may be faster
            options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
            try:
                self._run(
                    "pg_ctl",
                    "start",
                    "--wait",
                    f"--log={self.folder}/log",
                    f"--options={options} {self._settings}",
                )
            except RuntimeError:
                if attempt == 4:
                    self.stop()
                    raise
            else:
                return

    def _make_data(self) -> None:
        """Make the data folder: a copy of one that is kept beside what else is cached, for `initdb` takes a second."""
        kept = None
        if cache := os.environ.get("PLAUDIT_CACHE_DIR"):
            said = subprocess.check_output([self._binaries / "postgres", "--version"], text=True)
            kept = Path(cache).parent / "postgres" / re.sub(r"\W+", "-", said.strip())
        if kept is not None and kept.exists():
            subprocess.run(["cp", "-a", kept, self.folder / "data"], check=True)
            return
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=kept.parent) as draft:
                subprocess.run(["cp", "-a", self.folder / "data", draft], check=True)
                with contextlib.suppress(OSError):  # another process was quicker
                    os.rename(f"{draft}/data", kept)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        for ledger in self._ledgers:
            ledger.connection.close()
        if self._guardian is not None:
            self._guardian.communicate(b"\n", timeout=300)  # its input may not end: copies of this process hold it too
            self._guardian = None

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop and start again: `fast` ends every connection in order, `immediate` is a crash with recovery."""
        self._run("pg_ctl", "restart", "--wait", f"--mode={mode}", f"--log={self.folder}/log")

    def is_up(self) -> bool:
        """Return whether somebody listens at the port."""
        with socket.socket() as door:
            return door.connect_ex(("127.0.0.1", self.port)) == 0

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop every process of the server where it stands: it takes what it is sent, and answers nothing."""
        main = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        os.kill(int(main), signal.SIGSTOP)  # no more children
        processes = [int(main), *map(int, Path(f"/proc/{main}/task/{main}/children").read_text().split())]
        try:
            for process in processes[1:]:
                os.kill(process, signal.SIGSTOP)
            yield
        finally:
            for process in reversed(processes):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database, for psycopg and for SQLAlchemy alike."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Return the address of an empty database: one that was given back, or else a new one."""
        import psycopg

        if self._emptied:
            return self._emptied.pop()
        name = f"test_{next(self._names)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def give_back(self, url: str) -> None:
        """Empty a database for the next who wants one; a new one would cost a tenth of a second and a thousand files."""
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(END_OTHERS)
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        self._emptied.append(url)

    def new_ledger(self) -> "EmptyLedger":
        """Return a ledger that nobody has written to: one that was given back, or else a new one."""
        if self._ledgers:
            return self._ledgers.pop()
        import psycopg

        from plaudit import Ledger

        url = self.new_database()
        Ledger(url).close()
        connection = psycopg.connect(url, autocommit=True)
        return EmptyLedger(url, connection, _describe_tables(connection))

    def give_back_ledger(self, ledger: "EmptyLedger") -> None:
        """Take out of a ledger what was written to it: to drop all tables and make them anew takes five times as long.

        Where something else was changed, that is what is done.
        """
        import psycopg

        with contextlib.suppress(psycopg.OperationalError):  # a test has ended every connection
            ledger.connection.execute(END_OTHERS)
            if _describe_tables(ledger.connection) == ledger.made:
                ledger.connection.execute(EMPTY_LEDGER)
                self._ledgers.append(ledger)
                return
        ledger.connection.close()
        self.give_back(ledger.url)

    def log(self) -> str:
        """Return what the server has said so far."""
        return (self.folder / "log").read_text()

    def _as_account(self) -> dict[str, object]:
        if self._account is None:
            return {"cwd": self.folder}
        return {"cwd": self.folder, "user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._binaries / program, *arguments, f"--pgdata={self.folder}/data"]
        with tempfile.TemporaryFile() as said:  # no pipe: the server would keep it open
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, **self._as_account())
            said.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {said.read().decode(errors='replace')}")


def _describe_tables(connection: "psycopg.Connection[Any]") -> tuple[object, ...]:
    """Return what is another as soon as a table, an index or a trigger is: how many, and the newest."""
    parts = [f"(SELECT (count(*), max(xmin::text::bigint))::text FROM {name})" for name in DESCRIBED]
    parts.append("(SELECT string_agg(name, ' ' ORDER BY name) FROM table_heads)")
    found = connection.execute(f"SELECT {', '.join(parts)}".encode()).fetchone()
    assert found is not None
    return found


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running PostgreSQL server, one for each test process. Nobody crashes it: it need not wait for the disk."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'plaudit[pg]')")
    try:
        server = Server(fsync=False)
    except NoServer as missing:
        pytest.skip(str(missing))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """The address of an empty database."""
    url = postgres.new_database()
    yield url
    postgres.give_back(url)


@pytest.fixture
def postgres_ledger(postgres: Server) -> Iterator[str]:
    """The address of a ledger with nothing in it."""
    ledger = postgres.new_ledger()
    yield ledger.url
    postgres.give_back_ledger(ledger)
