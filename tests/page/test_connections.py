"""Clients that keep the dashboard waiting or send too much: they are cut off, and all others are still served."""

import http.client
import json
import os
import re
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest

from plaudit import Ledger
from plaudit.page.connections import Limits
from support.dashboards import Client, serve
from support.ledgers import REWARD, columns

HALF = b"GET /documents/index HTTP/1.1\r\nHost: localhost\r\nX-"
PATIENT = Limits(seconds=3000.0)
"""Where a test waits for nothing to be cut off by time."""
HASTY = Limits(seconds=0.3)
linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc and 127.0.0.2")


class Shelf:
    """A library of a few documents."""

    def __init__(self):
        self.documents = {"index": {"title": "all"}}
        self.news = []

    def get(self, address):
        return self.documents[address]

    def changed(self):
        news, self.news = self.news, []
        return news


def connect(client, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", client.port), timeout=300, source_address=(source, 0))


def ask(client, path="/documents/index", more=""):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n{more}\r\n".encode()


def is_closed(connection):
    """Return whether the server closes a connection; it is waited for."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def is_open(connection):
    """Return whether a connection is open now, and nothing has come."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    finally:
        connection.settimeout(300)
    return False


def read_all(connection):
    """Return what comes until the server closes the connection."""
    parts = []
    with suppress(ConnectionResetError):
        parts.extend(iter(lambda: connection.recv(1 << 16), b""))
    return b"".join(parts)


def wait_for_deadlines(client, count=3):
    """Wait until as many connections that sent half a request, one after the other, were closed."""
    for _ in range(count):
        with connect(client) as half:
            half.sendall(HALF)
            assert is_closed(half)


def get_at_last(client, path):
    """Return an answer; as a browser does, ask again where the connection was closed."""
    for _ in range(1_000):
        with suppress(http.client.HTTPException, ConnectionError):
            return client.get(path)
        time.sleep(0.01)
    raise AssertionError("there is never an answer")


# -- how long ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"G", HALF, HALF[:-2]], ids=["nothing", "a letter", "half a line", "lines"])
def test_a_connection_without_a_whole_request_is_closed(sent):
    with serve(Shelf(), limits=HASTY) as client, connect(client) as half:
        half.sendall(sent)
        assert is_closed(half)
        assert client.get("/documents/index").status == 200


def test_a_request_that_arrives_byte_by_byte_is_not_waited_for():
    with serve(Shelf(), limits=HASTY) as client, connect(client) as slow:
        slow.sendall(HALF)
        with pytest.raises(OSError, match="reset|Broken pipe"):
            for _ in range(30_000):
                slow.sendall(b"a")
                time.sleep(0.01)


def test_a_connection_that_is_idle_after_an_answer_or_begins_another_request_is_closed():
    with serve(Shelf(), limits=HASTY) as client:
        for following in (b"", HALF):
            with connect(client) as kept:
                kept.sendall(ask(client))
                assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200")
                kept.sendall(following)
                read_all(kept)  # until it is closed


def test_a_stream_of_events_and_a_document_that_takes_long_are_not_cut_off():
    shelf, go_on, answers = Shelf(), threading.Event(), []
    shelf.documents["slow"] = {"title": "slow"}
    shelf.get = lambda address: (address == "slow" and go_on.wait(300), Shelf.get(shelf, address))[1]
    with serve(shelf, limits=HASTY) as client:
        events = client.listen()
        assert next(events) == ("listening", None)
        asking = threading.Thread(target=lambda: answers.append(client.get("/documents/slow")))
        asking.start()
        wait_for_deadlines(client)
        go_on.set()
        asking.join(300)
        assert answers[0].json() == {"title": "slow"}
        shelf.news = ["index"]
        assert next(events) == ("changed", ["index"])
        events.close()


def test_whoever_does_not_read_an_answer_is_cut_off():
    shelf = Shelf()
    shelf.documents["long"] = {"text": "a" * 30_000_000}
    with serve(shelf, limits=HASTY) as client, connect(client) as lazy:
        lazy.sendall(ask(client, "/documents/long"))
        assert lazy.recv(12) == b"HTTP/1.1 200"
        wait_for_deadlines(client)
        assert len(read_all(lazy)) < 30_000_000


def test_whoever_reads_an_answer_slowly_gets_all_of_it():
    shelf = Shelf()
    shelf.documents["long"] = {"text": "a" * 30_000_000}
    with serve(shelf, limits=Limits(seconds=1.0)) as client, client.open("/documents/long") as answer:
        read, end = 0, time.monotonic() + 2.0
        while time.monotonic() < end:
            read += len(answer.read(1 << 18))
            time.sleep(0.05)
        assert read + len(answer.read()) > 30_000_000


# -- how much ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        ask(Client("http://127.0.0.1:1/?token=x"), more=f"X: {'a' * 40_000}\r\n"),
        ask(Client("http://127.0.0.1:1/?token=x"), f"/{'a' * 40_000}"),
        HALF + b"a" * 500_000,
        b"a" * 500_000,
    ],
    ids=["whole", "a long address", "half", "no request"],
)
def test_a_head_that_is_too_long_is_refused(head):
    with serve(Shelf(), limits=PATIENT) as client:
        with connect(client) as connection:
            connection.sendall(head)
            connection.shutdown(socket.SHUT_WR)
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b"\r\nconnection: close\r\n" in answer.lower()
        assert client.get("/documents/index").status == 200


@pytest.mark.parametrize("body", ["Content-Length: 5", "Transfer-Encoding: chunked", "Content-Length: 1000000000"])
def test_a_request_with_a_body_is_refused_and_the_body_not_waited_for(body):
    with serve(Shelf(), limits=PATIENT) as client, connect(client) as connection:
        connection.sendall(ask(client, more=f"{body}\r\n"))
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"\r\nconnection: close\r\n" in answer


def test_without_a_token_there_is_one_answer_and_then_the_end(capfd):
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serve(Shelf(), limits=PATIENT) as client, connect(client) as connection:
        with suppress(OSError):
            connection.sendall(request * 1_000)
        assert read_all(connection).count(b"HTTP/1.1 401") == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "garbage", [b"\x00\xff\r\n\r\n", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
)
def test_what_is_not_http_is_refused_and_nothing_is_printed(garbage, capfd):
    with serve(Shelf(), limits=PATIENT) as client:
        with connect(client) as connection:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            assert read_all(connection)[:12] in (b"HTTP/1.1 400", b"")
        assert client.get("/documents/index").status == 200
    assert capfd.readouterr().err == ""


# -- how many ---------------------------------------------------------------------------------------------------------


def open_halves(client, stack, count, source="127.0.0.1"):
    """Open connections that send half a request each, one after the other."""
    halves = []
    for _ in range(count):
        halves.append(stack.enter_context(connect(client, source)))
        halves[-1].sendall(HALF)
    return halves


def test_the_connection_that_waits_longest_makes_room_for_another_one():
    limits = Limits(seconds=3000.0, for_each_address=8)
    with serve(Shelf(), limits=limits) as client, ExitStack() as stack:
        halves = open_halves(client, stack, 8)
        for at in range(7):
            assert client.get("/documents/index").status == 200
            assert is_closed(halves[at])
            assert all(map(is_open, halves[at + 1 :]))
            halves += open_halves(client, stack, 1)  # in the place of the client, who has left


@linux
def test_one_address_does_not_push_out_others_and_all_together_are_limited():
    limits = Limits(seconds=3000.0, for_each_address=4, in_total=6)
    with serve(Shelf(), limits=limits) as client, ExitStack() as stack:
        first = open_halves(client, stack, 2, "127.0.0.2")
        second = open_halves(client, stack, 8, "127.0.0.3")
        assert all(map(is_closed, second[:4]))
        assert all(map(is_open, [*first, *second[4:]]))
        third = open_halves(client, stack, 1, "127.0.0.4")
        assert is_closed(first[0])
        assert all(map(is_open, [first[1], *second[4:], *third]))


def test_those_who_are_being_answered_stay_where_there_is_no_room():
    shelf = Shelf()
    with serve(shelf, limits=Limits(seconds=3000.0, for_each_address=3)) as client:
        streams = [client.listen() for _ in range(3)]
        assert [next(each) for each in streams] == [("listening", None)] * 3
        with connect(client) as late:
            assert is_closed(late)
        shelf.news = ["index"]
        assert [next(each) for each in streams] == [("changed", ["index"])] * 3
        streams.pop().close()
        assert get_at_last(client, "/documents/index").status == 200, "one has left"
        for each in streams:
            each.close()


# -- an attack --------------------------------------------------------------------------------------------------------


def read_memory(pid):
    """Return how many MiB a process has in memory now, and at most had."""
    with open(f"/proc/{pid}/status") as file:
        found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", file.read(), re.MULTILINE))
    return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024


@pytest.fixture
def dashboard(process, tmp_path):
    """A real one, as it is started by default."""
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(REWARD, columns(0, 5), run="night", episode="1", step=range(5))
    running = process("dashboard", tmp_path / "rewards.db", "--port", 0, "--no-browser")
    client = Client(running.stdout.readline().decode().split()[-1])
    assert client.get("/documents/run/l0/night").status == 200
    return running, client, tmp_path / "rewards.db"


@linux
@pytest.mark.parametrize(
    "sent",
    [pytest.param(HALF, marks=pytest.mark.slow), HALF + b"a" * 500_000],
    ids=["half a request", "500 KB of a head"],
)
def test_600_connections_neither_block_the_dashboard_nor_fill_its_memory(dashboard, sent):
    running, client, path = dashboard
    events = client.listen()
    assert next(events) == ("listening", None)
    before, _ = read_memory(running.pid)
    with ExitStack() as stack:
        for number in range(600):
            attacker = stack.enter_context(connect(client))
            attacker.settimeout(0.01)
            with suppress(OSError):  # it was cut off, or is not read from any more
                attacker.sendall(sent)
            if number % 60 == 59:
                assert client.get("/documents/index").status == 200
                assert client.get("/", Authorization=None).status == 401
        now, peak = read_memory(running.pid)
        with Ledger(path) as ledger:
            ledger.record_batch(REWARD, columns(5, 10), run="night", episode="2", step=range(5))
        told = (changed for _, changed in events if "run/l0/night" in changed)
        assert any(client.get("/documents/run/l0/night").json()["episodes"] == 2 for _ in told)
    assert now - before < 30, "MiB"
    assert peak - before < 60, "MiB"
    events.close()


@contextmanager
def attack(client):
    """Open connections that send half a request, as fast as one can, without an end."""
    over = threading.Event()

    def run():
        kept = []
        while not over.is_set():
            with suppress(OSError):
                kept.append(connect(client))
                kept[-1].sendall(HALF)
            if len(kept) > 300:
                kept.pop(0).close()
        for each in kept:
            each.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        over.set()
        for each in threads:
            each.join()


@linux
def test_everybody_else_is_served_while_connections_are_opened_without_an_end(dashboard):
    _, client, _ = dashboard
    with attack(client):
        answers = [get_at_last(client, "/documents/run/l0/night") for _ in range(100)]
    assert [json.loads(each.body)["episodes"] for each in answers] == [1] * 100
