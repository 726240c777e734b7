"""Listening: a socket, a server on it that ends when asked to, and a browser that is shown where."""

import contextlib
import errno
import html
import ipaddress
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

from plaudit.errors import MissingExtra, PlauditError
from plaudit.terminal import escape_line

try:
    import uvicorn

    from plaudit.page.access import build_access
    from plaudit.page.server import Dashboard, Library
except ImportError as error:
    needed = "the dashboard needs Starlette and uvicorn. Install them: pip install 'plaudit[page]'"
    raise MissingExtra(needed) from error

_LONGEST_HEAD = 512 * 1024
"""Bytes of a request's first line and headers; what is longer is refused before it is read."""
_MOST_CONNECTIONS = 512
_PATIENCE = 2
"""Seconds that requests have to end when the server is to."""


class CannotListen(PlauditError, OSError):
    """The server cannot have the address or the port that it was told to listen on."""


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free.

    Raises:
        CannotListen: There is no such address on this machine, or its port is taken.
    """
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=128)
    except (OSError, UnicodeError) as error:
        raise CannotListen(_explain(error, escape_line(host), port)) from None


def _explain(error: Exception, host: str, port: int) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return (
            f"there is no machine {host!r}. Leave --host out for this machine alone, or give it 0.0.0.0 for everybody."
        )
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is taken, perhaps by another dashboard. Choose another one, as in "
            f"--port {port % 65535 + 1}, or --port 0 for any that is free."
        )
    if number == errno.EACCES:
        return f"port {port} of {host} may not be used by you; choose one from 1024 up, as in --port 8420."
    if number == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine. Leave --host out; 0.0.0.0 is all of them."
    return f"port {port} of {host} cannot be listened on: {getattr(error, 'strerror', None) or error}."


def format_url(host: str, bound: socket.socket, token: str | None) -> str:
    """Return where the page is; a token stands behind the #, which browsers keep to themselves."""
    address, port = bound.getsockname()[:2]
    if ipaddress.ip_address(address.partition("%")[0]).is_unspecified:
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + ("" if token is None else f"#token={token}")


def build_server(
    library: Library,
    shell: tuple[str, str],
    bound: socket.socket,
    *,
    host: str,
    with_token: bool,
    on_ready: Callable[[str], None],
) -> "Server":
    """Return a server whose `run` answers requests until Ctrl-C or SIGTERM, and raises them again when all is closed.

    Args:
        library: What builds documents.
        shell: The page and its Content-Security-Policy.
        bound: What `open_socket` returned.
        host: What it was told to listen on.
        with_token: Whether a token is needed on this machine too; from elsewhere it is in any case.
        on_ready: Called with the address of the page once requests are answered.
    """
    access = build_access(host, bound.getsockname()[0], with_token=with_token)
    dashboard = Dashboard(library, access, shell)
    config = uvicorn.Config(
        dashboard.app,
        http="h11",  # the same everywhere, whatever else is installed
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_PATIENCE,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
    url = format_url(host, bound, access.token)
    return Server(config, bound, dashboard.end_streams, lambda: on_ready(url))


class Server(uvicorn.Server):
    """A server that says when it answers, and lets go of those who listen for changes when it ends."""

    def __init__(
        self,
        config: uvicorn.Config,
        bound: socket.socket,
        end_streams: Callable[[], None],
        on_ready: Callable[[], None],
    ) -> None:
        """Call `on_ready` once requests are answered, and `end_streams` when they are no longer."""
        super().__init__(config)
        self._bound = bound
        self._end_streams = end_streams
        self._on_ready = on_ready

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer requests until told to end."""
        super().run(sockets or [self._bound])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would not end by themselves, and then everything else."""
        self._end_streams()
        await super().shutdown(sockets)


# -- a browser --------------------------------------------------------------------------------------------------------


def has_browser() -> bool:
    """Return whether there is a browser to open: one with a window, not one that would take the terminal."""
    if "BROWSER" in os.environ or sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def prepare_browser() -> Iterator[Callable[[str], None]]:
    """Yield what opens a browser on an address.

    Every user of a machine can see how a program was started, so an address with a token is not handed to the browser:
    it opens a file that leads there, which nobody else may read, and which is removed in the end.
    """
    with contextlib.ExitStack() as stack:

        def open_browser(url: str) -> None:
            if "#token=" in url:
                number, name = tempfile.mkstemp(prefix="plaudit-", suffix=".html")  # for its owner alone
                stack.callback(Path(name).unlink, missing_ok=True)
                with open(number, "w", encoding="utf-8") as file:
                    file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(url)}">')
                url = Path(name).as_uri()
            threading.Thread(target=_open, args=[url], name="plaudit-browser", daemon=True).start()

        yield open_browser


def _open(url: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)
