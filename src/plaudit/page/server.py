"""The server of the dashboard: the page, its documents, what changes, and a whole run scored with other knobs."""

import asyncio
import contextlib
import gzip
import json
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from plaudit.errors import (
    DefinitionError,
    FileError,
    InputError,
    LedgerBroken,
    LedgerBusy,
    NotInLedger,
    PlauditError,
)
from plaudit.page.access import Access, Guard
from plaudit.page.addresses import UnknownDocument, format_address
from plaudit.page.cache import DocumentCache
from plaudit.page.events import ChangeFeed
from plaudit.page.threads import Threads

MOST_RESCORINGS = 8
"""How many may wait for their turn: one is computed at a time."""
_FIRST_VIEW = 0.5
"""Seconds in which nothing else is built."""
_NEWEST = 3
"""Runs of each ledger that are prepared."""
_FAILURES: tuple[tuple[type[Exception], int, str, str], ...] = (
    (LedgerBusy, 503, "busy", "The ledger is locked by another program, or its server does not answer; try again."),
    (LedgerBroken, 500, "unreadable", "The ledger is damaged, or was moved, removed or replaced."),
    (FileError, 500, "unreadable", "The ledger file can no longer be read."),
    (PlauditError, 500, "unreadable", "This cannot be shown."),
    (Exception, 500, "fault", "Internal error in plaudit; please report it."),
)
"""Messages for errors whose own text may name folders of this machine; the terminal shows that text."""


class Library(Protocol):
    """What builds documents."""

    def get(self, address: str) -> dict[str, Any]:
        """Return the document of an address; UnknownDocument if there is none."""

    def changed(self) -> Sequence[str]:
        """Return the addresses whose documents have changed since the last call."""

    def rescore(self, source: str, run: str, settings: dict[str, Any], go_on: Callable[[], None]) -> dict[str, Any]:
        """Rescore a whole run with other knobs; `go_on` is called meanwhile and may raise."""


class Unwanted(Exception):
    """The client that asked has disconnected."""


class Dashboard:
    """Answers each kind of request; `app` is the guarded application."""

    def __init__(self, library: Library, access: Access, shell: tuple[str, str]) -> None:
        """Serve `library` to clients with `access`; `shell` is the page and its Content-Security-Policy."""
        self._library = library
        self._shell, self._policy = shell[0].encode(), f"{shell[1]}; frame-ancestors 'none'"
        self._cache = DocumentCache(library.get, lambda changed: self._changes.announce(changed))
        self._preparing: asyncio.Task[None] | None = None
        self._changes = ChangeFeed(library.changed, self._cache.forget, report)
        self._scorer = Threads(1, "plaudit-rescore")
        self._rescorings = 0
        routes = [
            Route("/", self._send_shell),
            Route("/documents/{address:path}", self._send_document),
            Route("/events", self._send_events),
            Route("/rescore/{address:path}", self._send_rescoring),
        ]
        handlers = {HTTPException: _answer_no_route, PlauditError: _answer_error, Exception: _answer_failure}
        app = Starlette(routes=routes, lifespan=self._watch, exception_handlers=handlers)
        app.router.redirect_slashes = False
        self.app: ASGIApp = Guard(app, access)

    @contextlib.asynccontextmanager
    async def _watch(self, app: Starlette) -> AsyncIterator[None]:
        """Watch for changes for as long as the server runs; the first view is built while a browser opens."""
        watching = asyncio.create_task(self._changes.watch())
        first = asyncio.create_task(self._build_index())
        try:
            yield
        finally:
            first.cancel()
            self.end_streams()
            self._cache.close()
            self._scorer.close()
            if self._preparing is not None:
                self._preparing.cancel()
            await watching

    async def _build_index(self) -> None:
        with contextlib.suppress(Exception):  # the next request reports it
            await self._cache.get("index")

    def end_streams(self) -> None:
        """End every event stream: a server waits for their requests to end."""
        self._changes.close()

    async def _send_shell(self, request: Request) -> Response:
        headers = {"content-security-policy": self._policy, "cache-control": "no-cache"}
        return HTMLResponse(self._shell, headers=headers)

    async def _send_document(self, request: Request) -> Response:
        address = _read_address(request, "/documents/")
        packed = await self._cache.get(address)
        if address == "index" and self._preparing is None:
            self._preparing = asyncio.create_task(self._prepare(json.loads(gzip.decompress(packed.body))))
        headers = {"etag": packed.etag, "cache-control": "private, no-cache", "vary": "accept-encoding"}
        if _has_already(request.headers.get("if-none-match", ""), packed.etag):
            return Response(status_code=304, headers=headers)
        body = packed.body
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
        else:
            body = await asyncio.to_thread(gzip.decompress, body)
        return Response(body, headers=headers, media_type="application/json")

    async def _prepare(self, index: dict[str, Any]) -> None:
        """Build the documents that will be requested next, one after the other, once the first view is drawn."""
        await asyncio.sleep(_FIRST_VIEW)
        waiting = list_next(index)
        while waiting:
            address = waiting.pop(0)
            with contextlib.suppress(Exception):  # the next request reports it
                packed = await self._cache.get(address)
                if address.startswith("whatif/"):  # one of a run's views asks for many
                    listed = [each["address"] for each in json.loads(gzip.decompress(packed.body))["episodes"]]
                    waiting += [f"step/{listed[0].partition('/')[2]}/0", *listed]  # the first step imports the most

    async def _send_events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if self._changes.is_full:
            return _answer(503, "busy", "Too many pages are open; close one of them.")
        return StreamingResponse(self._changes.listen(), media_type="text/event-stream")

    async def _send_rescoring(self, request: Request) -> Response:
        source, slash, run = _read_address(request, "/rescore/").partition("/")
        if not slash or "/" in run:
            return _answer(404, "unknown-document", "Use /rescore/SOURCE/RUN?set={…}.")
        settings = _parse_settings(request.query_params.get("set", "{}"))
        if request.method == "HEAD":
            return Response(media_type="application/json")
        if self._rescorings >= MOST_RESCORINGS:
            return _answer(503, "busy", "Too many runs are waiting to be rescored; try again.")
        self._rescorings += 1
        try:
            return JSONResponse(await self._rescore(request, _decode(source), _decode(run), settings))
        except Unwanted:
            return Response(status_code=204)  # nothing reads it
        finally:
            self._rescorings -= 1

    async def _rescore(self, request: Request, source: str, run: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Rescore a run; stop when the client disconnects."""
        unwanted = threading.Event()

        def go_on() -> None:
            if unwanted.is_set():
                raise Unwanted

        work = self._scorer.run(lambda: self._library.rescore(source, run, settings, go_on))
        leaving = asyncio.create_task(_call_when_left(request, unwanted.set))
        try:
            return await work
        finally:
            unwanted.set()
            leaving.cancel()


def list_next(index: dict[str, Any]) -> list[str]:
    """Return the addresses that a page asks for after the index: those of the newest runs and their rewards."""
    ledgers = [source for source in index["sources"] if source["kind"] == "ledger"]
    newest = [(source["id"], run) for source in ledgers for run in source["runs"][-_NEWEST:]]
    rewards = [reward["id"] for source in index["sources"] for reward in source["rewards"]]
    rewards = [*(reward for _, run in newest for reward in run["rewards"]), *rewards[:_NEWEST]]
    runs = [(source, run["run"]) for source, run in newest]
    return [
        *(format_address(kind, *run) for kind in ("run", "episodes") for run in runs),
        *(format_address(kind, reward) for kind in ("definition", "reward") for reward in dict.fromkeys(rewards)),
        *(format_address(kind, *run) for kind in ("steps", "whatif") for run in runs),
    ]


async def _call_when_left(request: Request, call: Callable[[], None]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    call()


# -- addresses and headers --------------------------------------------------------------------------------------------


def _read_address(request: Request, prefix: str) -> str:
    """Return the address of a document, its parts percent-encoded in one way; names may hold slashes."""
    raw = request.scope["raw_path"].decode("ascii", "replace")
    return "/".join(quote(_decode(part), safe="") for part in raw.removeprefix(prefix).split("/"))


def _decode(part: str) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise InputError("the address is not UTF-8.") from None


def _parse_settings(text: str) -> dict[str, Any]:
    """Return the values of knobs, weights and clamps from JSON; InputError if it contains anything else.

    >>> _parse_settings('{"comfort.weight": 2}')
    {'comfort.weight': 2}
    """
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError('the settings must be a JSON object of finite numbers, as in {"comfort.weight": 2}.')
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _has_already(given: str, etag: str) -> bool:
    return etag in [each.strip().removeprefix("W/") for each in given.split(",")] or given.strip() == "*"


def _takes_gzip(given: str) -> bool:
    """Return whether a client takes gzip.

    >>> _takes_gzip("br, gzip;q=0.8"), _takes_gzip("gzip;q=0, br"), _takes_gzip("")
    (True, False, False)
    """
    for each in given.lower().split(","):
        name, _, quality = each.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


# -- errors -----------------------------------------------------------------------------------------------------------


def _answer(status: int, kind: str, message: str) -> JSONResponse:
    return JSONResponse({"error": message, "kind": kind}, status)


async def _answer_no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return _answer(404, "unknown-document", "Nothing at this address; the page is at /.")
    return _answer(error.status_code, "refused", error.detail)


async def _answer_error(request: Request, error: Exception) -> Response:
    """Describe an error in the request in full; of an error here, only its kind."""
    assert isinstance(error, PlauditError)
    if isinstance(error, UnknownDocument | NotInLedger):
        return _answer(404, "unknown-document", str(error))
    if isinstance(error, DefinitionError | InputError):
        return _answer(400, "refused", str(error))
    return await _answer_failure(request, error)


async def _answer_failure(request: Request, error: Exception) -> Response:
    status, kind = next(row[1:3] for row in _FAILURES if isinstance(error, row[0]))
    return _answer(status, kind, report(error))


def report(error: Exception) -> str:
    """Show an error in the terminal, and return the message for the client."""
    if isinstance(error, PlauditError):
        print(f"Error: {error}", file=sys.stderr)
    else:
        traceback.print_exception(error)
    return f"{next(row[3] for row in _FAILURES if isinstance(error, row[0]))} See the dashboard's terminal for details."
