"""A real PostgreSQL for tests: a server in a temporary folder on loopback, stopped whatever becomes of the tests.

`postgres` is the server of this test process, started when first asked for; `postgres_url` is a fresh database on it.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

DEBIAN = Path("/usr/lib/postgresql")
MEMORY = Path("/dev/shm")  # where there is one with room, a server starts and stops without a disk
ROOM = 2 << 30
# Waits until this process closes the pipe, by stopping or by dying, and then clears everything away.
GUARDIAN = 'read -r _; "$1" stop --silent --wait --mode=immediate --pgdata="$2/data"; rm -rf "$2"'


class NoServer(Exception):
    """There is no PostgreSQL to start here; the message says what is missing."""


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


class Server:
    """One PostgreSQL server with a data folder of its own; `port` stays the same over restarts."""

    def __init__(self, *, fsync: bool = True) -> None:
        self._fsync = "on" if fsync else "off"
        self._binaries = binaries()
        self._account = _account()
        self._names = itertools.count(1)
        self._emptied: list[str] = []
        self._guardian: subprocess.Popen[bytes] | None = None
        self.folder = Path()
        self.port = 0

    def start(self) -> None:
        """Create the data folder and start; returns when the server answers."""
        in_memory = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
        self.folder = Path(tempfile.mkdtemp(prefix="plaudit-pg-", dir=MEMORY if in_memory else None))
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
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        for attempt in range(5):
            self.port = _free_port()  # free a moment ago: another process may be faster
            options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
            try:
                self._run(
                    "pg_ctl",
                    "start",
                    "--wait",
                    f"--log={self.folder}/log",
                    f"--options={options} -c fsync={self._fsync} -c jit=off",
                )
            except RuntimeError:
                if attempt == 4:
                    self.stop()
                    raise
            else:
                return

    def stop(self) -> None:
        """Stop the server and remove its folder."""
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
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        self._emptied.append(url)

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
