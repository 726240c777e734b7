"""`plaudit dashboard`: what it prints, what it refuses, and how it ends."""

import os
import re
import signal
import socket
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from plaudit import Ledger
from plaudit.page import serving
from support.ledgers import REWARD, columns


@pytest.fixture(scope="module")
def rewards(tmp_path_factory):
    path = tmp_path_factory.mktemp("dashboard") / "rewards.db"
    with Ledger(path) as ledger:
        ledger.record_batch(REWARD, columns(0, 5), run="night", episode="1", step=range(5))
    return path


def visit(url):
    """Open an address as a browser does, with cookies; return the last address and what is there."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(url, timeout=300) as answer:
        return answer.url, answer.read()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_says_where_the_page_is_and_ends_when_asked_to(rewards, process, number, code):
    running = process("dashboard", rewards, "--port", 0, "--no-browser")
    line = running.stdout.readline().decode()
    assert re.fullmatch(r"rewards\.db: http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\n", line)
    url, token = line.split()[-1], line.strip().partition("=")[2]
    address, page = visit(url)
    assert address == url.partition("?")[0]
    assert b"<!doctype html>" in page
    with pytest.raises(urllib.error.HTTPError, match="401"):
        visit(f"{address}documents/broken?token={token}")
    running.send_signal(number)
    out, err = running.communicate(timeout=300)
    assert running.returncode == code
    assert b"Traceback" not in err
    assert (b"stopped" in err) == (code == 0)
    assert token.encode() not in out + err, "it is printed once, and logged nowhere"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_where_the_parent_ignores_ctrl_c_it_ends_on_sigterm_alone(rewards, process):
    running = process("dashboard", rewards, "--port", 0, "--no-browser", ignore_ctrl_c=True)
    url = running.stdout.readline().decode().split()[-1]
    for _ in range(3):
        running.send_signal(signal.SIGINT)
        assert b"<!doctype html>" in visit(url)[1]
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=300)
    assert (running.returncode, err) == (143, b"")


def test_without_a_token_only_this_machine_can_ask(rewards, process, plaudit):
    refused = plaudit("dashboard", rewards, "--host", "0.0.0.0", "--port", 0, "--no-token", "--no-browser")
    assert refused.exit_code == 2
    assert "Leave out --no-token, or --host." in refused.stderr
    running = process("dashboard", rewards, "--port", 0, "--no-token", "--no-browser")
    url = running.stdout.readline().decode().split()[-1]
    assert "token" not in url
    with urllib.request.urlopen(f"{url}documents/index", timeout=300) as answer:
        assert b"night" in answer.read()


def test_a_port_that_is_taken_is_said_so(rewards, plaudit):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = plaudit("dashboard", rewards, "--port", taken.getsockname()[1], "--no-browser")
    assert result.exit_code == 2
    assert "is already in use" in result.stderr
    assert "--port" in result.stderr


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("no-such-machine.invalid", "unknown host"),
        ("203.0.113.7", "not an address of this machine"),
        ("a" * 70, "unknown host"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_said_so(rewards, plaudit, host, said):
    result = plaudit("dashboard", rewards, "--host", host, "--no-browser")
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("name", ["missing.db", "notes.txt"])
def test_what_is_no_ledger_is_said_so(plaudit, tmp_path, name):
    (tmp_path / "notes.txt").write_text("no ledger")
    result = plaudit("dashboard", name, "--port", 0, "--no-browser")
    assert result.exit_code == 2
    assert name in result.stderr
    assert "Traceback" not in result.stderr


def test_without_the_extra_it_says_what_to_install(rewards, plaudit, monkeypatch):
    for name in ("plaudit.page.serving", "plaudit.page.server", "plaudit.page.access"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = plaudit("dashboard", rewards, "--no-browser")
    assert result.exit_code == 2
    assert "pip install 'plaudit[page]'" in result.stderr


# -- a browser --------------------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch):
    """Let every dashboard end once it has begun; return what a browser was to open."""

    class Now:
        def __init__(self, target, args, **options):
            self.start = lambda: serving._open(*args)

    class Ended(serving.Server):
        def run(self):
            self._on_ready()
            raise KeyboardInterrupt

    opened = []
    monkeypatch.setattr(serving, "_open", opened.append)
    monkeypatch.setattr(serving, "threading", SimpleNamespace(Thread=Now))
    monkeypatch.setattr(serving, "Server", Ended)
    return opened


def test_a_browser_is_opened_unless_told_not_to(rewards, plaudit, started, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    result = plaudit("dashboard", rewards, "--port", 0)
    assert result.exit_code == 0
    assert [url.partition("plaudit-")[0] for url in started] == [Path(tempfile.gettempdir()).as_uri() + "/"]
    plaudit("dashboard", rewards, "--port", 0, "--no-browser")
    assert len(started) == 1


def test_a_run_that_is_not_there_yet_is_waited_for(rewards, plaudit, started):
    for run, said in (("night", False), ("nihgt", True)):
        result = plaudit("dashboard", rewards, "--run", run, "--port", 0, "--no-browser")
        assert result.exit_code == 0
        assert ("No ledger here has a run" in result.stderr) == said


def test_a_password_in_an_address_is_not_printed(postgres_url, plaudit, started):
    with Ledger(postgres_url) as ledger:
        ledger.record_batch(REWARD, columns(0, 5), run="night", episode="1", step=range(5))
    result = plaudit("dashboard", postgres_url.replace("postgres@", "postgres:secret@"), "--port", 0, "--no-browser")
    assert result.exit_code == 0
    assert "postgresql://postgres" in result.stdout
    assert "secret" not in result.stdout + result.stderr


@pytest.mark.parametrize("ssh", [True, False])
def test_where_there_is_no_browser_it_says_what_to_do(rewards, plaudit, started, monkeypatch, ssh):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    if ssh:
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.2 1 10.0.0.1 22")
    monkeypatch.setattr(serving.sys, "platform", "linux")
    result = plaudit("dashboard", rewards, "--port", 0)
    assert result.exit_code == 0
    assert started == []
    assert ("ssh -N -L" if ssh else "open the address above") in result.stderr


def test_a_token_stands_in_no_command_line_of_a_browser(rewards, plaudit, started, monkeypatch, tmp_path):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(serving.tempfile, "tempdir", str(tmp_path))
    kept = []
    monkeypatch.setattr(serving, "_open", lambda url: kept.append((url, urllib.request.urlopen(url).read().decode())))
    result = plaudit("dashboard", rewards, "--port", 0)
    token = result.stdout.split("?token=")[1].split()[0]
    (url, page), *_ = kept
    assert token not in url
    assert token in page
    assert list(tmp_path.glob("plaudit-*.html")) == [], "it is removed in the end"
