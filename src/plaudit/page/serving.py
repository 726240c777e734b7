"""Listening: a socket, a server on it that ends when asked to, and a browser that is shown where."""

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
"""Connections that are opened before those that are open are read from: few, or many new ones would push them out."""
_BACKLOG = 1024
"""Connections that the system keeps until they are accepted."""
_PATIENCE = 2
"""Seconds that requests have to end when the server is to."""


class CannotListen(PlauditError, OSError):
    """The server cannot have the address or the port that it was told to listen on."""


def open_socket(host: str, port: int, *, with_token: bool = True) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free.

    Raises:
        CannotListen: There is no such address on this machine, its port is taken, or others could reach it and need no
            token.
    """
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if not with_token and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise CannotListen(
                f"other machines can reach {escape_line(host)}, and without a token everybody there could look. "
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
    """Return where the page is, with the token, which its first answer puts into a cookie."""
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
    """Return a server whose `run` answers requests until Ctrl-C or SIGTERM, and raises them again when all is closed.

    Args:
        library: What builds documents.
        shell: The page and its Content-Security-Policy.
        bound: What `open_socket` returned.
        host: What it was told to listen on.
        on_ready: Called with the address of the page once requests are answered.
        with_token: Whether a request needs the token that stands in that address.
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

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """End at the signals that end every command, and raise them again when all is closed."""
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
            if "?token=" in url:
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
