"""The dashboard's socket, its server with a clean shutdown, and the browser that opens the page."""

import contextlib
import errno
import functools
import html
import ipaddress
import os
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType

from plaudit.errors import MissingExtra, PlauditError
from plaudit.terminal import escape_line, install_handlers

try:
    import uvicorn

    from plaudit.page.access import LONGEST_HEAD, build_access
    from plaudit.page.connections import Connection, Limits
    from plaudit.page.server import Dashboard, Library
except ImportError as error:
    needed = "the dashboard needs Starlette and uvicorn. Install them: pip install 'plaudit[page]'"
    raise MissingExtra(needed) from error

_ACCEPTED_AT_ONCE = 32
"""New connections that are accepted before open ones are read from: few, or new ones would push open ones out."""
_BACKLOG = 1024
"""Connections that the system keeps until they are accepted."""
_PATIENCE = 2
"""Seconds that requests have to finish when the server stops."""


class CannotListen(PlauditError, OSError):
    """The server cannot listen on the given address or port."""


def open_socket(host: str, port: int, *, with_token: bool = True) -> socket.socket:
    """Return a listening socket; port 0 is any free port.

    Raises:
        CannotListen: The machine has no such address, the port is in use, or other machines could reach it without a
            token.
    """
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if not with_token and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise CannotListen(
                f"other machines can reach {escape_line(host)}, so the dashboard needs a token. "
                "Leave out --no-token, or --host."
            )
        return socket.create_server(address[:2], family=family)
    except CannotListen:
        raise
    except (OSError, UnicodeError) as error:
        raise CannotListen(_explain(error, escape_line(host), port)) from None


def _explain(error: Exception, host: str, port: int) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return (
            f"unknown host {host!r}. Leave out --host to listen on this machine only, or use 0.0.0.0 for all addresses."
        )
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is already in use, perhaps by another dashboard. Use another port, as in "
            f"--port {port % 65535 + 1}, or --port 0 for any free port."
        )
    if number == errno.EACCES:
        return f"no permission to use port {port} on {host}. Use a port from 1024 up, as in --port 8420."
    if number == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine. Leave out --host, or use 0.0.0.0 for all addresses."
    return f"cannot listen on port {port} of {host}: {getattr(error, 'strerror', None) or error}."


def format_url(host: str, bound: socket.socket, token: str | None) -> str:
    """Return the URL of the page, with the token, which the first answer puts into a cookie."""
    address, port = bound.getsockname()[:2]
    if ipaddress.ip_address(address.partition("%")[0]).is_unspecified:
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + ("" if token is None else f"?token={token}")


def build_server(
    library: Library,
    shell: tuple[str, str],
    bound: socket.socket,
    *,
    host: str,
    on_ready: Callable[[str], None],
    with_token: bool = True,
    limits: Limits = Limits(),  # noqa: B008  # it cannot be changed
) -> "Server":
    """Return a server whose `run` answers requests until Ctrl-C or SIGTERM, and raises the signal again when closed.

    Args:
        library: What builds documents.
        shell: The page and its Content-Security-Policy.
        bound: What `open_socket` returned.
        host: What it was told to listen on.
        on_ready: Called with the address of the page once requests are answered.
        with_token: Whether a request needs the token in that address.
        limits: How long and how many connections may be open.
    """
    access = build_access(host, bound.getsockname()[0], with_token=with_token)
    dashboard = Dashboard(library, access, shell)
    config = uvicorn.Config(
        dashboard.app,
        http=functools.partial(Connection, limits=limits),  # type: ignore[arg-type]  # it is only called
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=_PATIENCE,
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )
    url = format_url(host, bound, access.token)
    return Server(config, bound, dashboard.end_streams, lambda: on_ready(url))


class Server(uvicorn.Server):
    """A server that reports when it is ready, and ends the event streams when it stops."""

    def __init__(
        self,
        config: uvicorn.Config,
        bound: socket.socket,
        end_streams: Callable[[], None],
        on_ready: Callable[[], None],
    ) -> None:
        """Call `on_ready` when requests are answered, and `end_streams` before shutdown."""
        super().__init__(config)
        self._bound = bound
        self._end_streams = end_streams
        self._on_ready = on_ready

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer requests until told to end."""
        super().run(sockets or [self._bound])

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop at the signals that stop every command, and raise them again when everything is closed."""
        caught: list[int] = []

        def end(number: int, frame: FrameType | None) -> None:
            caught.append(number)
            self.handle_exit(number, frame)

        with install_handlers(end):
            yield
        for number in caught[:1]:
            signal.raise_signal(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._bound.listen(_BACKLOG)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would not end on their own, and then everything else."""
        self._end_streams()
        await super().shutdown(sockets)


# -- a browser --------------------------------------------------------------------------------------------------------


def has_browser() -> bool:
    """Return whether there is a graphical browser to open, not one that would take over the terminal."""
    if "BROWSER" in os.environ or sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def prepare_browser() -> Iterator[Callable[[str], None]]:
    """Yield a function that opens a browser on an address.

    Every user of a machine can see the arguments of a program, so an address with a token is not passed to the browser.
    The browser opens a file that leads there instead; only its owner can read it, and it is removed at the end.
    """
    with contextlib.ExitStack() as stack:

        def open_browser(url: str) -> None:
            if "?token=" in url:
                number, name = tempfile.mkstemp(prefix="plaudit-", suffix=".html")  # readable by its owner only
                stack.callback(Path(name).unlink, missing_ok=True)
                with open(number, "w", encoding="utf-8") as file:
                    file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(url)}">')
                url = Path(name).as_uri()
            threading.Thread(target=_open, args=[url], name="plaudit-browser", daemon=True).start()

        yield open_browser


def _open(url: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)
