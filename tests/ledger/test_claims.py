"""Claims: one live writer for each actor of a run, in this process and in others, in a file and on a server."""

import os
import re
import signal as signals
import subprocess
import time

import pytest

from plaudit import Ledger
from plaudit.errors import ActorInUse, InputError, LedgerBusy, LedgerError, WrongType
from support.forking import PythonProcess
from support.ledgers import command, signal
from support.postgres import Server

posix = pytest.mark.skipif(os.name == "nt", reason="kills processes")


def claim(ledger, actor=None, run="night"):
    return ledger._claim_actor(run, actor)[1]


class Claiming:
    """Another process that has claimed actors."""

    def __init__(self, where, *actors):
        self.process = PythonProcess(command("claim", where, *actors), stdout=subprocess.PIPE)
        self.claimed = [self.process.stdout.readline().decode().strip() for _ in actors]

    def kill(self):
        self.process.send_signal(signals.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@posix
def test_actors_are_told_apart_across_processes(where):
    other = Claiming(where, "-", "-", "left")
    try:
        assert other.claimed == ["env0", "env1", "left"]
        with Ledger(where) as ledger:
            assert [claim(ledger)[1] for _ in range(2)] == ["env2", "env3"]
            assert claim(ledger, run="day") == ("day", "env0")
            assert claim(ledger, run=None) == (None, "env0")
            with pytest.raises(
                ActorInUse, match=r"another live writer .*actor 'left' of run 'night'.*own actor=, or leave"
            ):
                claim(ledger, "left")
    finally:
        other.kill()


@posix
def test_a_claim_dies_with_its_process(where):
    with Ledger(where) as ledger:
        for _ in range(2):
            other = Claiming(where, "left", "-")
            with pytest.raises(ActorInUse):
                claim(ledger, "left")
            other.kill()
            taken = _claim_soon(ledger, "left")
            assert taken == ("night", "left")
            ledger._release_actor(taken)


def _claim_soon(ledger, actor):
    """Claim an actor whose holder was killed; a server notices that a moment later."""
    end = time.monotonic() + 300
    while True:
        try:
            return claim(ledger, actor)
        except ActorInUse:
            if time.monotonic() > end:
                raise


def test_a_claim_is_released_and_taken_again(where):
    with Ledger(where) as ledger, Ledger(where) as other:
        first = claim(ledger)
        with pytest.raises(ActorInUse, match="in this process"):
            claim(ledger, "env0")
        with pytest.raises(ActorInUse):
            claim(other, "env0")
        ledger._release_actor(first)
        assert claim(other, "env0") == first
        assert claim(ledger) == ("night", "env1")
    with Ledger(where) as again:
        assert claim(again) == first


def test_an_actor_goes_on_from_its_last_episode(where):
    with Ledger(where) as ledger:
        for run, actor, episode in (("night", "env0", 7), ("night", "env0", 12), ("night", "x", 99), (None, "env0", 3)):
            ledger.record(signal(), run=run, actor=actor, episode=episode, step=1)
        assert ledger._claim_actor("night", None)[2] == 12
        assert ledger._claim_actor("night", "new")[2] == 0
        assert ledger._claim_actor(None, None)[2] == 3


def test_names_of_episodes_are_no_numbers_to_go_on_from(where):
    with Ledger(where) as ledger:
        for episode in ("a", "3", "night-80", "0x20", 15, "zz"):
            ledger.record(signal(), run="night", actor="left", episode=episode, step=1)
        assert ledger._claim_actor("night", "left")[2] == 15


def test_a_claim_that_came_to_nothing_is_released(where, monkeypatch):
    with Ledger(where) as ledger:
        with monkeypatch.context() as broken:
            broken.setattr(type(ledger._claims), "find_last_episode", lambda self, claim: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                claim(ledger, "left")
        claim(ledger, "left")


def test_an_actor_is_released_though_another_program_is_writing(tmp_path):
    with Ledger(tmp_path / "rewards.db", timeout=0.1) as ledger, Ledger(tmp_path / "rewards.db", timeout=0.1) as other:
        taken = claim(ledger, "left")
        with other._store.backend._lock:
            with pytest.raises(LedgerBusy):
                claim(ledger, "right")
            ledger._release_actor(taken)
        with pytest.raises(ActorInUse):
            claim(other, "left")
        claim(ledger, "right")  # which releases what could not be released
        claim(other, "left")


def test_names_that_no_ledger_keeps_are_refused(where):
    with Ledger(where) as ledger:
        for run, actor, error in ((3, None, WrongType), ("", None, InputError), ("a", "x\0", InputError)):
            with pytest.raises(error):
                ledger._claim_actor(run, actor)


@posix
def test_a_forked_process_has_none_of_its_parents_claims_and_leaves_them_to_it(where):
    with Ledger(where) as ledger:
        assert claim(ledger) == ("night", "env0")
        child = os.fork()
        if not child:
            try:
                os._exit(0 if claim(ledger) == ("night", "env1") else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with Ledger(where) as other, pytest.raises(ActorInUse):
            claim(other, "env0")


def test_what_lies_beside_a_ledger_is_no_claim(tmp_path):
    folder = tmp_path / "ledger.db.writers"
    folder.mkdir()
    for name, text in (("1-a.json", ""), ("2-b.json", "[]"), ("3-c.json", '{"names": 3}'), ("notes.txt", "mine")):
        (folder / name).write_text(text)
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert claim(ledger) == ("night", "env0")
    assert [each.name for each in folder.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    (tmp_path / "ledger.db.writers").write_text("a file")
    with Ledger(tmp_path / "ledger.db") as ledger, pytest.raises(OSError, match="ledger.db.writers cannot be written"):
        claim(ledger)


@pytest.fixture(scope="module")
def own_server(postgres):
    """A server of this module's own, to be restarted; `postgres` says whether there can be one."""
    server = Server(fsync=False)
    server.start()
    yield server
    server.stop()


def test_claims_are_taken_again_when_the_server_was_away(own_server):
    url = own_server.new_database()
    with Ledger(url) as ledger:
        claim(ledger, "left")
        own_server.restart("immediate")
        ledger.record(signal(), run="night", actor="left", episode=1, step=1)
        with Ledger(url) as other, pytest.raises(ActorInUse, match="server process"):
            claim(other, "left")
        assert ledger.history().count() == 1


def test_who_lost_the_server_and_then_the_actor_to_another_is_told(own_server):
    url = own_server.new_database()
    with Ledger(url) as ledger, Ledger(url) as other:
        claim(ledger, "left")
        own_server.restart("immediate")
        claim(other, "left")
        with pytest.raises(
            LedgerError, match=re.escape('has started writing as ["night", "left"]. Nothing was recorded')
        ):
            ledger.record(signal(), run="night", actor="left", episode=1, step=1)
        other.close()
        ledger.record(signal(), run="night", actor="left", episode=1, step=1)


def test_a_session_that_the_server_did_not_see_end_does_not_keep_its_own_process_out(own_server):
    url = own_server.new_database()
    with Ledger(url) as ledger:
        claim(ledger, "left")
        backend = ledger._store.backend
        lost, backend._writer = backend._writer, None  # as if the network had gone: the server still has the session
        ledger.record(signal(), run="night", actor="left", episode=1, step=1)
        assert ledger.history().count() == 1
        lost.close()
