"""The dashboard's server: what it sends, what it refuses, and what it keeps to itself."""

import gzip
import json
import socket
import threading
from urllib.parse import quote

import pytest

from plaudit.errors import FileError, LedgerBusy, NotInLedger
from plaudit.page import server, serving
from support.dashboards import SHELL, serve

HOSTILE = [
    "</script><script>alert(1)</script>",
    "../../etc/passwd",
    "..\\..",
    "a/b",
    "\u202eevil\x00\x1b[31m",
    "é" * 500,
    "%2e%2e",
    "#",
    "?",
]


class Shelf:
    """A library of a few documents."""

    def __init__(self):
        self.documents = {"index": {"title": "all"}, "run/l0/night": {"run": "night"}}
        self.built = []
        self.news = []
        self.problem = None

    def get(self, address):
        self.built.append(address)
        if address == "broken":
            raise ZeroDivisionError("/home/somebody/secret.py")
        if self.problem is not None:
            raise self.problem
        if address not in self.documents:
            raise NotInLedger(f"there is no document {address!r}.")
        return self.documents[address]

    def changed(self):
        if self.problem is not None:
            raise self.problem
        news, self.news = self.news, []
        return news

    def rescore(self, source, run, settings, go_on):
        raise NotInLedger(f"there is no run {run!r}.")


@pytest.fixture(scope="module")
def shelf():
    return Shelf()


@pytest.fixture(scope="module")
def client(shelf):
    with serve(shelf) as client:
        yield client


@pytest.fixture(autouse=True)
def _healthy(shelf):
    yield
    shelf.problem = None


# -- what it sends ----------------------------------------------------------------------------------------------------


def test_the_page_comes_with_its_policy_and_everything_with_what_browsers_are_to_obey(client):
    page = client.get("/")
    assert (page.status, page.body.decode()) == (200, SHELL[0])
    assert page.headers["content-security-policy"] == f"{SHELL[1]}; frame-ancestors 'none'"
    for answer in (page, client.get("/documents/index"), client.get("/nothing"), client.get("/", Host="evil.example")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_a_document_is_sent_once_and_then_only_said_to_be_the_same(client):
    first = client.get("/documents/run/l0/night")
    assert first.json() == {"run": "night"}
    again = client.get("/documents/run/l0/night", If_None_Match=f'"other", W/{first.headers["etag"]}')
    assert (again.status, again.body) == (304, b"")
    assert client.get("/documents/run/l0/night", If_None_Match='"other"').status == 200


def test_a_document_is_compressed_for_those_who_take_it(client):
    packed = client.get("/documents/index", Accept_Encoding="br, gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body)) == client.get("/documents/index").json() == {"title": "all"}


def test_head_has_the_headers_and_no_body(client):
    for path in ("/", "/documents/index", "/events"):
        answer = client.get(path, "HEAD")
        assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_a_name_whatever_it_holds(client, shelf, name):
    address = f"run/l0/{quote(name, safe='')}"
    shelf.documents[address] = {"run": name}
    assert client.get(f"/documents/{address}").json() == {"run": name}
    loosely = f"run/l0/{quote(name, safe='!()*~')}"  # as a browser encodes it, in lower case
    assert client.get(f"/documents/{loosely.replace('%2F', '%2f')}").json() == {"run": name}


def test_a_name_of_three_thousand_characters_can_be_asked_for(client, shelf):
    address = f"episode/l0/{quote('夜' * 3_000, safe='')}/1"
    shelf.documents[address] = {"episode": "1"}
    assert client.get(f"/documents/{address}").json() == {"episode": "1"}


# -- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8420",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "",
        "192.168.0.7",
        "[::2]",
        None,
    ],
)
def test_another_name_than_its_own_is_refused(client, host):
    for path in ("/", "/documents/index", "/events", "/rescore/l0/night"):
        answer = client.get(path, Host=host)
        assert answer.status in ((403,) if host is not None else (400, 403))
        assert b"all" not in answer.body


@pytest.mark.parametrize(
    "hosts", ["Host: localhost\r\nHost: evil.example", "Host: evil.example\r\nX-Forwarded-Host: localhost", ""]
)
def test_two_names_at_once_are_refused_and_what_a_proxy_would_say_is_not_asked(client, hosts):
    with socket.create_connection(("127.0.0.1", client.port), timeout=300) as connection:
        connection.sendall(
            f"GET /documents/index HTTP/1.1\r\n{hosts}\r\nConnection: close\r\n\r\n".replace(
                "\r\n\r\nC", "\r\nC"
            ).encode()
        )
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))
    assert b"all" not in answer.partition(b"\r\n\r\n")[2].replace(b"allow", b"")


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "LOCALHOST:1", "127.0.0.1", "[::1]:8420"])
def test_its_own_names_are_answered_also_through_a_tunnel(client, host):
    assert client.get("/documents/index", Host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000", "https://127.0.0.1"])
def test_a_page_from_elsewhere_is_refused(client, origin):
    for path in ("/", "/documents/index", "/events"):
        assert client.get(path, Origin=origin).status == 403


def test_its_own_page_may_ask(client):
    own = f"http://127.0.0.1:{client.port}"
    assert client.get("/documents/index", Origin=own, Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_of_other_pages_is_believed_but_a_link_may_lead_here(client, site):
    assert client.get("/documents/index", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
    assert client.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe").status == 403
    assert client.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document").status == 200
    visit = client.get("/documents/index", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document")
    assert visit.status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_nothing_can_be_sent_to_it(client, method):
    answer = client.get("/documents/index", method, b'{"a": 1}', Content_Type="text/plain")
    assert answer.status == 405
    assert answer.json()["kind"] == "read-only"
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/documents/../../etc/passwd", "/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/documents/..%5c..%5cx",
        "/documents//etc/passwd", "/documents/file:///etc/passwd", "/documents/index%00", "/documents/index/", "/documents/", "/static/main.js",
        "/documents/index#x", "http://evil.example/documents/index", "/documents/%ff%fe", "/rescore/l0", "/rescore/l0/a/b", "/rescore/l9/x", "/docs", "/openapi.json",
    ],
)  # fmt: skip
def test_there_is_nothing_but_documents(client, path):
    answer = client.get(path)
    assert answer.status in (400, 404), answer
    assert set(answer.json()) == {"error", "kind"}
    assert b"root:" not in answer.body


@pytest.mark.parametrize("text", ['{"x": NaN}', "[1]", "{", "[" * 10_000, '{"x": ' + "9" * 5000 + "}", '"x"'])
def test_settings_that_are_none_are_refused(client, text):
    answer = client.get(f"/rescore/l0/night?set={quote(text)}")
    assert answer.status in (400, 404)
    assert "Traceback" not in answer.json()["error"]


# -- a token ----------------------------------------------------------------------------------------------------------


WRONG = ["", "Bearer", "Bearer ", "Basic {token}", "Bearer {token}x", "Bearer {shorter}", "Bearer é"]


@pytest.mark.parametrize("path", ["/", "/documents/index", "/events", "/rescore/l0/night", "/nothing"])
def test_without_the_token_nothing_is_answered(client, path):
    shorter = client.token[:-1]
    wrong = [{"Authorization": each.format(token=client.token, shorter=shorter)} for each in WRONG]
    name = f"plaudit-{client.port}"
    cookies = [f"{name}={shorter}", f"{name}=", f"plaudit-1={client.token}", f"plaudit={client.token}"]
    for given in ({}, *wrong, *({"Cookie": each} for each in cookies)):
        answer = client.get(path, **{"Authorization": None} | given)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.headers["connection"] == "close"
        assert "set-cookie" not in answer.headers
        assert b"plaudit dashboard" in answer.body, "it says where the token is"
    right = client.get(path, "HEAD", Cookie=f"other=1; {name}={client.token}", Authorization=None)
    assert right.status in (200, 404)


def test_the_address_with_the_token_becomes_a_cookie_and_an_address_without_it(client):
    answer = client.get(f"/?token={client.token}", Authorization=None)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    cookie, *settings = answer.headers["set-cookie"].split("; ")
    assert cookie == f"plaudit-{client.port}={client.token}"
    assert {each.lower() for each in settings} == {"httponly", "samesite=strict", "path=/"}
    for path in ("/", "/documents/index"):
        shown = client.get(path, Authorization=None, Cookie=cookie)
        assert (shown.status, "set-cookie" in shown.headers) == (200, False)
        assert client.token not in shown.body.decode()


def test_a_token_in_an_address_is_taken_by_the_page_alone_and_has_to_be_right(client):
    assert client.get(f"/documents/index?token={client.token}", Authorization=None).status == 401
    for wrong in ("", client.token[:-1], f"{client.token}x", "%ff", "é".encode().hex()):
        answer = client.get(f"/?token={wrong}", Authorization=None)
        assert (answer.status, "set-cookie" in answer.headers) == (401, False)
    assert client.get(f"/?token={client.token}", Host="evil.example", Authorization=None).status == 403


def test_a_tunnel_with_another_port_has_a_cookie_of_its_own(client):
    answer = client.get(f"/?token={client.token}", Host="localhost:9000", Authorization=None)
    assert answer.headers["set-cookie"].startswith(f"plaudit-9000={client.token};")


def test_the_token_can_be_switched_off():
    with serve(Shelf(), with_token=False) as client:
        assert client.token == ""
        assert client.get("/documents/index").status == 200
        answer = client.get("/?token=old")
        assert (answer.status, "set-cookie" in answer.headers) == (200, False)


def test_a_server_that_others_can_reach_answers_by_any_address_but_never_without_a_token():
    with serve(Shelf(), host="0.0.0.0") as client:
        assert client.get("/documents/index", Authorization=None).status == 401
        assert client.get("/documents/index", Host="192.168.0.7:80").status == 200
        assert client.get("/documents/index", Host="evil.example").status == 403
    with pytest.raises(serving.CannotListen, match="--no-token"):
        serving.open_socket("0.0.0.0", 0, with_token=False)


# -- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "status"),
    [(LedgerBusy("/home/somebody/rewards.db is held"), 503), (FileError("/home/somebody/rewards.db is gone"), 500)],
)
def test_an_error_names_no_folder_of_the_machine(client, shelf, capfd, problem, status):
    shelf.problem = problem
    answer = client.get(f"/documents/run/l0/{status}")
    assert answer.status == status
    assert "somebody" not in answer.json()["error"]
    assert "/home/somebody/rewards.db" in capfd.readouterr().err


def test_a_fault_is_no_traceback_on_the_page(client, capfd):
    answer = client.get("/documents/broken")
    assert (answer.status, answer.json()["kind"]) == (500, "fault")
    assert "somebody" not in answer.json()["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ZeroDivisionError" in capfd.readouterr().err


# -- what changes -----------------------------------------------------------------------------------------------------


def test_listeners_are_told_what_changed_and_get_it_anew():
    shelf = Shelf()
    with serve(shelf) as client:
        assert client.get("/documents/run/l0/night").json() == {"run": "night"}
        events = client.listen()
        assert next(events) == ("listening", None)
        shelf.documents["run/l0/night"] = {"run": "night", "episodes": 2}
        assert client.get("/documents/run/l0/night").json() == {"run": "night"}, "nobody said that it changed"
        shelf.news = ["index", "run/l0/night"]
        assert next(events) == ("changed", ["index", "run/l0/night"])
        assert client.get("/documents/run/l0/night").json() == {"run": "night", "episodes": 2}
        shelf.problem = FileError("/home/somebody/rewards.db is gone")
        name, message = next(events)
        assert name == "gone"
        assert "somebody" not in message
        late = client.listen()
        assert [next(late)[0], next(late)] == ["listening", ("gone", message)]
        shelf.problem = None
        assert next(events) == next(late) == ("back", None)
        shelf.problem = ZeroDivisionError("a fault is told too, and does not end it")
        assert next(events)[0] == "gone"
        shelf.problem = None
        assert next(events) == ("back", None)
        events.close()
        late.close()


def test_a_document_that_takes_forever_does_not_keep_the_server_from_ending(monkeypatch):
    monkeypatch.setattr(serving, "_PATIENCE", 0.1)
    before = threading.enumerate()
    begun, go_on = threading.Event(), threading.Event()
    shelf = Shelf()
    monkeypatch.setattr(shelf, "get", lambda address: (begun.set(), go_on.wait(300)))
    with serve(shelf) as client:
        client.leave("/documents/index", begun)
    assert not go_on.is_set()
    started = [each for each in threading.enumerate() if each not in before]
    assert all(thread.daemon for thread in started if thread.name.startswith("plaudit-"))
    go_on.set()


def test_many_who_ask_at_once_wait_for_one(shelf, client):
    begun, go_on = threading.Event(), threading.Event()
    answers = []

    class Slow(Shelf):
        def get(self, address):
            begun.set()
            go_on.wait(300)
            return super().get(address)

    slow = Slow()
    with serve(slow) as client:
        asking = [threading.Thread(target=lambda: answers.append(client.get("/documents/index"))) for _ in range(8)]
        for each in asking:
            each.start()
        assert begun.wait(300)
        assert client.get("/").status == 200, "the page is sent while documents are built"
        go_on.set()
        for each in asking:
            each.join(300)
        client.get("/documents/index")
    assert [answer.status for answer in answers] == [200] * 8
    assert slow.built == ["index"]


def test_the_first_view_is_built_before_anybody_asks(monkeypatch):
    shelf, begun = Shelf(), threading.Event()
    monkeypatch.setattr(shelf, "get", lambda address: (begun.set(), Shelf.get(shelf, address))[1])
    with serve(shelf):
        assert begun.wait(300)
    assert shelf.built == ["index"]


def test_what_is_asked_for_next_is_built_before_it_is(monkeypatch):
    monkeypatch.setattr(server, "_FIRST_VIEW", 0.0)
    runs = [{"run": "day", "rewards": ["abc"]}, {"run": "night/2", "rewards": ["abc"]}]
    known = [{"id": "abc"}, {"id": "def"}]
    sources = [
        {"id": "l0", "kind": "ledger", "runs": runs, "rewards": known},
        {"id": "r0", "kind": "reward", "rewards": known},
    ]
    shelf, done = Shelf(), threading.Event()
    shelf.documents = {"index": {"sources": sources}}
    expected = [
        *("run/l0/day", "run/l0/night%2F2", "episodes/l0/day", "episodes/l0/night%2F2", "definition/abc"),
        *("definition/def", "reward/abc", "reward/def"),
        *("steps/l0/day", "steps/l0/night%2F2", "whatif/l0/day", "whatif/l0/night%2F2"),
    ]
    shelf.documents |= {address: {"address": address} for address in expected[1:]}  # what cannot be built is left out
    expected += ["step/l0/day/7/0", "episode/l0/day/7"]
    shelf.documents |= {"whatif/l0/day": {"episodes": [{"address": expected[-1]}]}, expected[-1]: {}, expected[-2]: {}}
    monkeypatch.setattr(
        shelf, "get", lambda address: (done.set() if address == expected[-1] else None, Shelf.get(shelf, address))[1]
    )
    with serve(shelf) as client:
        client.get("/documents/index")
        assert done.wait(300)
        assert shelf.built == ["index", *expected]
        assert all(client.get(f"/documents/{address}").status == 200 for address in expected[1:])
        client.get("/documents/index")
    assert shelf.built == ["index", *expected], "nobody had to wait"
