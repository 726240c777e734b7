"""A dashboard's server in a thread of the test process, and requests to it as they go over the wire."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from plaudit.page.serving import build_server, open_socket

SHELL = "<!doctype html><title>plaudit</title>", "default-src 'none'; script-src 'sha256-x'"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests to a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        address, _, self.token = url.partition("?token=")
        self.port = int(address.rstrip("/").rpartition(":")[2])

    @contextmanager
    def open(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str | None
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield an answer as it begins; a header of None is left out."""
        sent = {"Host": f"127.0.0.1:{self.port}"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value.encode())
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            with connection.getresponse() as answer:
                yield answer

    def get(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str | None) -> Answer:
        """Return a whole answer."""
        with self.open(path, method, body, **headers) as answer:
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())

    def leave(self, path: str, begun: threading.Event) -> None:
        """Ask for something, and go once it has `begun`."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as connection:
            token = f"Authorization: Bearer {self.token}"
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode())
            assert begun.wait(300)

    def listen(self) -> Iterator[tuple[str, Any]]:
        """Yield events as they come, until the server ends."""
        with self.open("/events") as answer:
            event = ""
            while line := answer.readline():
                name, _, value = line.decode().strip().partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    yield event, json.loads(value)
                elif value == "listening":
                    yield value, None


@contextmanager
def serve(
    library: Any, *, host: str = "127.0.0.1", port: int = 0, shell: tuple[str, str] = SHELL, **options: Any
) -> Iterator[Client]:
    """Run a server on a free port of this machine, or on `port`."""
    ready: list[str] = []
    answering = threading.Event()

    def announce(url: str) -> None:
        ready.append(url)
        answering.set()

    with open_socket(host, port) as bound:
        server = build_server(library, shell, bound, host=host, on_ready=announce, **options)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        try:
            assert answering.wait(300), "the server does not start"
            yield Client(ready[0])
        finally:
            server.should_exit = True
            thread.join(300)
        assert not thread.is_alive(), "the server does not end"
