"""Access to the dashboard's server: allowed host names, origins, methods and tokens.

A page elsewhere on the web can send requests to a server on this machine, and by DNS rebinding even read its answers:
its own name resolves to this machine for a moment. Such a request carries that name as its Host, so only the server's
own names are answered.
"""

import hmac
import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plaudit.page.assets import build_token_page

LONGEST_HEAD = 32 * 1024
"""Bytes of a request's first line and headers."""
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?", re.ASCII)
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Default headers of every answer."""


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    kind: str
    message: str

    def to_response(self, path: str) -> Response:
        """Return it as JSON, or as a page that asks for the token; the connection ends."""
        headers = {401: {"www-authenticate": "Bearer"}, 405: {"allow": "GET, HEAD"}}.get(self.status, {})
        headers["connection"] = "close"  # a client without a token gets one short answer and cannot hold the connection
        if self.status == 401 and path == "/":
            page, policy = build_token_page()
            return HTMLResponse(page, 401, headers | {"content-security-policy": f"{policy}; frame-ancestors 'none'"})
        return JSONResponse({"error": self.message, "kind": self.kind}, self.status, headers)


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests are answered."""

    hosts: frozenset[str] = _LOCAL
    """Names of this server, as a browser writes them."""
    any_address: bool = False
    """Whether any IP address is a name of it, because it listens on all of the machine's."""
    token: str | None = None
    """The token that a request must carry; None if it is switched off."""

    def find_refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused; None if it is answered."""
        headers, path = Headers(scope=scope), scope["path"]
        if not self.is_own_host(headers.get("host", "")):
            message = "Unknown host name. Open the URL that `plaudit dashboard` printed."
            return Refusal(403, "forbidden", message)
        if is_foreign_page(headers, path):
            return Refusal(403, "forbidden", "Requests from other web pages are not allowed.")
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "read-only", "The dashboard is read-only; use GET or HEAD.")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return Refusal(413, "too-long", "Requests to the dashboard must not have a body.")
        if _measure_head(scope) > LONGEST_HEAD:
            return Refusal(431, "too-long", f"The request line and headers may have at most {LONGEST_HEAD:,} bytes.")
        if not self.has_token(scope):
            message = "Token required. Open the URL that `plaudit dashboard` printed, or send the header"
            return Refusal(401, "unauthorized", f"{message} Authorization: Bearer TOKEN.")
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

    def has_token(self, scope: Scope) -> bool:
        """Return whether a request carries the token, in constant time."""
        if self.token is None:
            return True
        same = [hmac.compare_digest(each.encode(), self.token.encode()) for each in list_tokens(scope)]
        return any(same)


def list_tokens(scope: Scope) -> list[str]:
    """Return the tokens of a request: from a header, a cookie, and for the page itself its address."""
    headers = Headers(scope=scope)
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    cookie = cookie_parser(headers.get("cookie", "")).get(name_cookie(headers), "")
    return [bearer.strip() if scheme.lower() == "bearer" else "", cookie, *find_tokens_in_address(scope)]


def find_tokens_in_address(scope: Scope) -> list[str]:
    """Return the tokens after the ? in the page's address, as in the printed link."""
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", []) if scope["path"] == "/" else []


def name_cookie(headers: Headers) -> str:
    """Return the name of the cookie that keeps the token: browsers send the cookies of one port to all others too.

    >>> name_cookie(Headers({"host": "localhost:8420"}))
    'plaudit-8420'
    """
    match = _HOST.fullmatch(headers.get("host", "").lower())
    return f"plaudit-{match[2] or 80}" if match else "plaudit"


def _measure_head(scope: Scope) -> int:
    """Return the approximate size of the request line and headers in bytes."""
    headers = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    return len(scope.get("raw_path", b"")) + len(scope["query_string"]) + headers


def is_foreign_page(headers: Headers, path: str) -> bool:
    """Return whether a browser says that another site's page sent the request; a link to our page is allowed."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{headers.get('host', '').lower()}":
        return True
    site = headers.get("sec-fetch-site", "none")  # other programs send none of these
    visit = path == "/" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return site not in ("same-origin", "none") and not visit


def build_access(host: str, bound: str, *, with_token: bool = True) -> Access:
    """Return the access rules of a server that was told to listen on `host` and is bound to the address `bound`.

    >>> access = build_access("0.0.0.0", "0.0.0.0")
    >>> len(access.token) > 30, access.any_address
    (True, True)
    """
    address = ipaddress.ip_address(bound.partition("%")[0])
    names = {host, bound}
    if address.is_unspecified:
        names |= {socket.gethostname(), socket.getfqdn()}
    hosts = {f"[{name}]" if ":" in name else name for name in map(str.lower, names)}
    return Access(_LOCAL | hosts, address.is_unspecified, secrets.token_urlsafe(32) if with_token else None)


class Guard:
    """Refuses requests that are not allowed, and adds the security headers to every answer."""

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
        if refusal is not None:
            app: ASGIApp = refusal.to_response(scope["path"])
        elif self._access.token is not None and find_tokens_in_address(scope):
            app = self._keep_token(self._access.token, scope)
        else:
            app = self._app
        await app(scope, receive, send_guarded)

    def _keep_token(self, token: str, scope: Scope) -> Response:
        """Return a redirect that puts the token into a cookie and drops it from the address."""
        response = RedirectResponse("/", 303)
        response.set_cookie(name_cookie(Headers(scope=scope)), token, httponly=True, samesite="strict")
        return response


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
