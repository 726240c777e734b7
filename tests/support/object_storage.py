"""An object storage for tests: moto's S3 in a process of its own on loopback, killed with the tests.

`storage` is an empty bucket on it, with the environment that a command needs. `storage.fail` lets the server refuse
what it is asked after some requests, as when credentials expire. Run as a program, this file is that server.
"""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CONTROL = "/plaudit-fails/"
SECRET = "sekrit-0123456789"
"""The secret key: no output may show it."""
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_REFUSALS = {"ExpiredToken": "400 Bad Request", "AccessDenied": "403 Forbidden", "NoSuchBucket": "404 Not Found"}


class Storage:
    """A bucket: its address, what is in it, and when its server begins to refuse."""

    def __init__(self, endpoint: str, bucket: str) -> None:
        self.endpoint, self.bucket, self.address = endpoint, bucket, f"s3://{bucket}"

    @property
    def files(self) -> Any:
        """The file system of Arrow, for what a test itself writes and reads."""
        fs = pytest.importorskip("pyarrow.fs", reason="needs plaudit[data]")
        keys = {"access_key": "testing", "secret_key": SECRET, "region": "us-east-1"}
        return fs.S3FileSystem(endpoint_override=self.endpoint, allow_bucket_creation=True, **keys)

    def put(self, name: str, content: bytes) -> str:
        """Write an object, and return its address."""
        with self.files.open_output_stream(f"{self.bucket}/{name}") as stream:
            stream.write(content)
        return f"{self.address}/{name}"

    def upload(self, path: Path, name: str) -> str:
        """Write a file, or the files of a folder, and return the address."""
        for each in [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file()):
            self.put(name if path.is_file() else f"{name}/{each.relative_to(path).as_posix()}", each.read_bytes())
        return f"{self.address}/{name}"

    def get(self, name: str) -> bytes:
        """Return the content of an object."""
        with self.files.open_input_stream(f"{self.bucket}/{name}") as stream:
            return bytes(stream.read())

    def list(self, folder: str = "") -> list[str]:
        """Return the names of everything in a folder."""
        from pyarrow.fs import FileSelector

        root = f"{self.bucket}/{folder}".rstrip("/")
        infos = self.files.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
        return sorted(each.path[len(root) + 1 :] for each in infos if each.is_file)

    def fail(self, code: str, *, method: str = "", after: int = 0) -> None:
        """Refuse every request, or those of one method, after the next few; `code` is what S3 calls the reason."""
        self._control(f"{code}/{method or '-'}/{after}")

    def heal(self) -> None:
        """Refuse nothing any more."""
        self._control("-/-/0")

    def _control(self, what: str) -> None:
        urllib.request.urlopen(f"{self.endpoint}{CONTROL}{what}", timeout=10).close()


def serve(port: int) -> None:
    """Serve S3 on a port until the process is killed."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    app = DomainDispatcherApplication(create_backend_app)
    state: dict[str, Any] = {"code": "-", "method": "-", "after": 0}

    def answer(environ: dict[str, Any], start: Any) -> Any:
        path = environ["PATH_INFO"]
        if path.startswith(CONTROL):
            code, method, after = path[len(CONTROL) :].split("/")
            state.update(code=code, method=method, after=int(after))
            start("200 OK", [])
            return [b""]
        if state["code"] != "-" and state["method"] in ("-", environ["REQUEST_METHOD"]):
            state["after"] -= 1
            if state["after"] < 0:
                environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
                start(_REFUSALS[state["code"]], [("Content-Type", "application/xml")])
                return [f"<Error><Code>{state['code']}</Code><Message>Refused</Message></Error>".encode()]
        return app(environ, start)

    run_simple("127.0.0.1", port, answer, threaded=True)


@pytest.fixture(scope="session")
def storage_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a server of this test process, started when first asked for."""
    pytest.importorskip("moto", reason="needs moto[s3] and flask")
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = int(door.getsockname()[1])
    log = (tmp_path_factory.mktemp("storage") / "log").open("wb")
    server = subprocess.Popen([sys.executable, __file__, str(port)], stdout=log, stderr=log, env={**os.environ})
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert server.poll() is None, Path(log.name).read_text(encoding="utf-8")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
        log.close()


_numbers = itertools.count(1)


@pytest.fixture
def storage(storage_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    """An empty bucket, with the environment in which commands find it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": storage_server}.items():
        monkeypatch.setenv(name, value)
    made = Storage(storage_server, f"steps-{next(_numbers)}")
    made.heal()
    made.files.create_dir(made.bucket)
    yield made
    made.heal()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
