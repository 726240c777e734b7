"""Heads that are signed, and heads that are published: what each of them shows, and what it does not."""

import json
import os
import shutil
import sqlite3
import sys

import pytest

from plaudit import Ledger
from plaudit.errors import FileError, LedgerError, WrongType
from plaudit.ledger.jsonl import read_lines
from support.forking import run_python
from support.ledgers import REWARD, signal, verified


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two PEM files: a private key and its public half."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    folder = tmp_path_factory.mktemp("keys")
    key = Ed25519PrivateKey.generate()
    none = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    (folder / "private.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, none))
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "public.pem").write_bytes(public)
    return folder / "private.pem", folder / "public.pem"


def fill(ledger, start, end):
    for n in range(start, end):
        ledger.record(signal(n), run="run", step=n)


# -- signed --------------------------------------------------------------------------------------------------------------


def test_a_signed_ledger_verifies_with_the_public_key(where, keys):
    private, public = keys
    for start in (0, 5):
        with Ledger(where, sign_with=private) as ledger:
            fill(ledger, start, start + 5)
            ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2"))
            found = ledger.verify(public_key=public)
            assert found.ok, str(found)


def test_a_past_rewritten_by_a_program_without_the_key_is_found(tmp_path, keys):
    _, public = keys
    with Ledger(tmp_path / "forged.db") as ledger:
        fill(ledger, 0, 3)
        verified(ledger)
        found = ledger.verify(public_key=public)
        assert {problem.kind for problem in found.problems} == {"unsigned"}
        assert "is not signed" in str(found)


def test_a_writer_that_does_not_sign_is_told_and_what_others_signed_still_holds(tmp_path, keys):
    private, public = keys
    with Ledger(tmp_path / "ledger.db", sign_with=private) as ledger:
        fill(ledger, 0, 3)
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger, 3, 4)
        found = ledger.verify(public_key=public)
    assert [problem.text.partition(":")[0].split()[0] for problem in found.problems] == ["writer", "the"]


def test_a_signature_of_another_head_is_found(tmp_path, keys):
    private, public = keys
    with Ledger(tmp_path / "ledger.db", sign_with=private) as ledger:
        fill(ledger, 0, 3)
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        old = other.execute("SELECT signature FROM writers").fetchone()
        fill(ledger, 3, 4)
        other.execute("UPDATE writers SET signature = ?", old)
        other.close()
        found = ledger.verify(public_key=public)
    assert "by another key or for another head" in str(found)


def test_a_rollback_to_an_older_copy_is_not_shown_by_signatures(tmp_path, keys):
    private, public = keys
    with Ledger(tmp_path / "ledger.db", sign_with=private) as ledger:
        fill(ledger, 0, 3)
        ledger.backup(tmp_path / "older.db")
        fill(ledger, 3, 6)
    with Ledger(tmp_path / "older.db") as older:
        assert older.verify(public_key=public).ok


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_key_that_cannot_be_read_is_said_so(tmp_path, content):
    if content is not None:
        (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(FileError, match=r"key\.pem"):
        Ledger(tmp_path / "ledger.db", sign_with=tmp_path / "key.pem")
    assert not (tmp_path / "ledger.db").exists()


def test_what_is_no_key_is_refused(tmp_path):
    with pytest.raises(WrongType, match="sign_with=7"):
        Ledger(tmp_path / "ledger.db", sign_with=7)


def test_a_published_head_that_somebody_else_made_is_found_by_its_signature(tmp_path, keys):
    private, public = keys
    published = tmp_path / "heads.jsonl"
    with Ledger(tmp_path / "ledger.db", sign_with=private, publish=published, publish_every=2) as ledger:
        fill(ledger, 0, 5)
    lines = list(read_lines(published))
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.verify(heads=lines, public_key=public).ok
        lines[1]["signature"] = lines[0]["signature"]
        assert ledger.verify(heads=lines).ok  # without a key, nobody asks for signatures
        found = ledger.verify(heads=lines, public_key=public)
    assert [problem.kind for problem in found.problems] == ["unsigned"]
    assert "the kept head of 4 records has a signature by another key" in str(found)


# -- published -------------------------------------------------------------------------------------------------------------


def test_a_published_head_that_a_crash_tore_is_cut_off_with_a_warning(tmp_path):
    (tmp_path / "heads.jsonl").write_text('{"ledger": "rew')
    with (
        pytest.warns(RuntimeWarning, match=r"heads\.jsonl ended in a torn line, which was cut off: b'{\"ledger"),
        Ledger(tmp_path / "ledger.db", publish=tmp_path / "heads.jsonl") as ledger,
    ):
        fill(ledger, 0, 3)
    assert [line["records"] for line in read_lines(tmp_path / "heads.jsonl")] == [3]


def test_heads_are_published_every_so_many_records_and_at_the_end(where, tmp_path):
    with Ledger(where, publish=tmp_path / "heads.jsonl", publish_every=4) as ledger:
        fill(ledger, 0, 10)
        assert [line["records"] for line in read_lines(tmp_path / "heads.jsonl")] == [4, 8]
    lines = list(read_lines(tmp_path / "heads.jsonl"))
    assert [line["records"] for line in lines] == [4, 8, 10]
    with Ledger(where) as ledger:
        assert ledger.head().to_dict() == {name: lines[-1][name] for name in ("head", "heads", "tables")}
        ledger.compact()
        found = ledger.verify(heads=lines)
        assert found.ok, str(found)


def test_a_rollback_and_a_lost_end_are_shown_by_what_was_published(tmp_path):
    with Ledger(tmp_path / "ledger.db", publish=tmp_path / "heads.jsonl", publish_every=2) as ledger:
        fill(ledger, 0, 4)
        ledger.backup(tmp_path / "older.db")
        fill(ledger, 4, 6)
    with Ledger(tmp_path / "older.db") as older:
        verified(older)
        found = older.verify(heads=list(read_lines(tmp_path / "heads.jsonl")))
    assert [problem.kind for problem in found.problems] == ["removed"]


def test_a_flipped_bit_of_the_log_that_loses_its_end_is_shown_by_what_was_published(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", publish=tmp_path / "heads.jsonl", publish_every=10)
    fill(ledger, 0, 50)
    log = bytearray((tmp_path / "ledger.db-wal").read_bytes())
    log[len(log) // 2] ^= 1
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    (tmp_path / "copy.db-wal").write_bytes(log)
    ledger.close()
    with Ledger(tmp_path / "copy.db") as copy:
        assert copy.history().count() < 50
        verified(copy)  # which no ledger can know of itself
        assert not copy.verify(heads=list(read_lines(tmp_path / "heads.jsonl"))).ok


def test_a_command_gets_the_head_and_another_ledger_records_it(tmp_path, keys):
    private, _ = keys
    copy = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"
    command = [sys.executable, "-c", copy, str(tmp_path / "head.json")]
    with Ledger(tmp_path / "ledger.db", sign_with=private, publish=command) as ledger:
        fill(ledger, 0, 3)
    line = json.loads((tmp_path / "head.json").read_text())
    assert line["records"] == 3
    assert len(bytes.fromhex(line["signature"])) == 64
    with Ledger(tmp_path / "witness.db") as witness:
        with Ledger(tmp_path / "ledger.db", publish=witness, publish_every=2) as ledger:
            fill(ledger, 3, 6)
            found = ledger.verify(heads=[record.context for record in witness.history(reward="ledger_head")])
            assert found.ok, str(found)
        assert [record.total for record in witness.history()] == [5, 6]
        verified(witness)


def test_a_publisher_that_fails_is_told_and_loses_no_record(tmp_path):
    failing = [sys.executable, "-c", "raise SystemExit('no room')"]
    ledger = Ledger(tmp_path / "ledger.db", publish=failing, publish_every=2)
    assert ledger.record(signal(0)) == 1
    with pytest.warns(RuntimeWarning, match="could not be published.*no room.*are durable"):
        assert ledger.record(signal(1)) == 2
    with pytest.raises(LedgerError, match="could not be published"):
        ledger.close()
    with Ledger(tmp_path / "ledger.db") as again:
        assert verified(again).records == 2


@pytest.mark.parametrize("wrong", [7, [], ["echo", 1]])
def test_what_nothing_can_be_published_to_is_refused(tmp_path, wrong):
    with pytest.raises(WrongType, match="publish="):
        Ledger(tmp_path / "ledger.db", publish=wrong)
    assert not (tmp_path / "ledger.db").exists()


def test_a_ledger_is_not_published_into_itself(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger, 0, 2)
    with pytest.raises(LedgerError, match="part of the ledger itself"):
        Ledger(tmp_path / "ledger.db", publish=tmp_path / "ledger.db")
    with Ledger(tmp_path / "ledger.db") as ledger:
        verified(ledger)


def test_whatever_a_function_raises_loses_no_record(tmp_path):
    def broken(head):
        raise ZeroDivisionError("oops")

    ledger = Ledger(tmp_path / "ledger.db", publish=broken, publish_every=1)
    with pytest.warns(RuntimeWarning, match="oops"):
        assert ledger.record(signal(0)) == 1
    with pytest.raises(LedgerError, match="oops"):
        ledger.close()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_nothing_is_recorded_twice_where_the_warning_of_a_publisher_is_an_error(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", publish=[sys.executable, "-c", "raise SystemExit(1)"], publish_every=1)
    assert ledger.record(signal(0)) == 1
    writer = ledger.writer(max_delay=60)
    receipt = writer.record(signal(1))
    writer.flush()
    writer.flush()
    assert (receipt.id, ledger.history().count()) == (2, 2)
    with pytest.raises(LedgerError, match="could not be published"):
        ledger.close()


PUBLISH_AND_FORK = """
import os, sys, threading
from plaudit import Ledger, Reward

signal = Reward.from_json(sys.argv[1]).score(distance=30.0, deceleration=0.0, action=0)
into, ledger = sorted((Ledger.__new__(Ledger) for _ in range(2)), key=id)
into.__init__("into.db")
ledger.__init__("ledger.db", publish=into, publish_every=1)
recording = threading.Thread(target=lambda: [ledger.record(signal) for _ in range(300)])
recording.start()
while recording.is_alive():
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs fork")
def test_a_process_is_forked_while_a_head_is_published_into_another_ledger(tmp_path):
    command = [sys.executable, "-c", PUBLISH_AND_FORK, REWARD.to_json()]
    run_python(command, cwd=tmp_path, check=True, timeout=60)
    with Ledger(tmp_path / "into.db", read_only=True) as into:
        assert into.history().count() == 300
