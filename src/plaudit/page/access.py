"""Who may ask the server of the dashboard: by which name of it, from which page, by which method, with which token.

A page elsewhere on the web can send requests to a server on this machine, and by DNS rebinding even read its answers:
its own name leads here for a moment. Such a request carries that name as its Host, so only our own names are answered.
"""

import hmac
import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_URL = 256 * 1024
"""Characters of an address: the names of a run and of an episode may have thousands, each written as %XX."""
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.ASCII)
_OPEN = frozenset({"/", "/favicon.ico"})
"""What needs no token: the empty page, which then asks for documents with one."""
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""What every answer carries that does not say otherwise."""


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    kind: str
    message: str

    def to_response(self) -> JSONResponse:
        """Return it as JSON."""
        headers = {401: {"www-authenticate": "Bearer"}, 405: {"allow": "GET, HEAD"}}.get(self.status)
        return JSONResponse({"error": self.message, "kind": self.kind}, self.status, headers)


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests are answered."""

    hosts: frozenset[str] = _LOCAL
    """Names of this server, as a browser writes them."""
    any_address: bool = False
    """Whether any IP address is a name of it, because it listens on all of the machine's."""
    token: str | None = None
    """What a request must carry; None where only this machine can ask."""

    def find_refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is not answered; None where it is."""
        headers, path = Headers(scope=scope), scope["path"]
        if not self.is_own_host(headers.get("host", "")):
            message = "This is not the name of this server; open the address that `plaudit dashboard` printed."
            return Refusal(403, "forbidden", message)
        if is_foreign_page(headers, path):
            return Refusal(403, "forbidden", "Another page asks for this; only the dashboard's own page may.")
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "read-only", "The dashboard only reads; nothing can be sent to it.")
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > LONGEST_URL:
            return Refusal(414, "too-long", f"The address is longer than {LONGEST_URL:,} characters.")
        if path not in _OPEN and not self.is_token(headers.get("authorization", "")):
            message = "A token is needed, and this is not it; open the address that `plaudit dashboard` printed."
            return Refusal(401, "unauthorized", message)
        return None

    def is_own_host(self, given: str) -> bool:
        """Return whether the Host header of a request names this server; the port may be a tunnel's.

        >>> Access().is_own_host("localhost:9000"), Access().is_own_host("evil.example:9000")
        (True, False)
        """
        match = _HOST.fullmatch(given.lower())
        if match is None:
            return False
        return match[1] in self.hosts or (self.any_address and _parse_address(match[1]) is not None)

    def is_token(self, authorization: str) -> bool:
        """Return whether an Authorization header carries the token; how long that takes tells nothing of it."""
        if self.token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())


def is_foreign_page(headers: Headers, path: str) -> bool:
    """Return whether a browser says that a page from elsewhere asks; a link may lead to our own."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{headers.get('host', '').lower()}":
        return True
    site = headers.get("sec-fetch-site", "none")  # a program that is no browser sends none of these
    visit = path == "/" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return site not in ("same-origin", "none") and not visit


def build_access(host: str, bound: str, *, with_token: bool = False) -> Access:
    """Return who may ask a server that was told to listen on `host`, and does so on the address `bound`.

    Where another machine can reach it, or `with_token` wants one, a token is made.

    >>> build_access("127.0.0.1", "127.0.0.1").token is None
    True
    >>> access = build_access("0.0.0.0", "0.0.0.0")
    >>> len(access.token) > 30, access.any_address
    (True, True)
    """
    address = ipaddress.ip_address(bound.partition("%")[0])
    token = secrets.token_urlsafe(32) if with_token or not address.is_loopback else None
    names = {host, bound}
    if address.is_unspecified:
        names |= {socket.gethostname(), socket.getfqdn()}
    hosts = {f"[{name}]" if ":" in name else name for name in map(str.lower, names)}
    return Access(_LOCAL | hosts, address.is_unspecified, token)


class Guard:
    """Answers only requests that may be answered, and puts what browsers are to obey into every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        """Stand before `app`."""
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._access.find_refusal(scope)
        app = self._app if refusal is None else refusal.to_response()
        await app(scope, receive, send_guarded)


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
