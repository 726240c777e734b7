"""`plaudit ledger verify --heads`."""

import shutil

import pytest

from plaudit import Ledger
from support.command_line import DRIVE
from support.samples import following

SIGNALS = [following.score(**row) for row in DRIVE]


def recorded(path, signals):
    with Ledger(path) as ledger:
        ledger.record_many(signals)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"heads": [{}]}', '{"heads": [{"checksum": "xyz"}]}'])
def test_the_command_says_when_a_file_holds_no_heads(tmp_path, plaudit, text):
    recorded(tmp_path / "rewards.db", SIGNALS)
    (tmp_path / "heads.json").write_text(text)
    done = plaudit("ledger", "verify", str(tmp_path / "rewards.db"), "--heads", str(tmp_path / "heads.json"))
    assert done.exit_code == 2
    assert "contains no heads" in done.stderr


def test_the_command_takes_what_stats_printed(tmp_path, plaudit):
    recorded(tmp_path / "rewards.db", SIGNALS)
    (tmp_path / "heads.json").write_text(plaudit("ledger", "stats", str(tmp_path / "rewards.db"), "--json").stdout)
    asked = ("ledger", "verify", str(tmp_path / "rewards.db"), "--heads", str(tmp_path / "heads.json"))
    assert plaudit(*asked).exit_code == 0
    recorded(tmp_path / "better.db", SIGNALS[:1])
    shutil.move(tmp_path / "better.db", tmp_path / "rewards.db")
    assert plaudit(*asked).exit_code == 1


def test_the_command_takes_what_was_published_and_checks_signatures(tmp_path, plaudit):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "public.pem").write_bytes(key.public_key().public_bytes(*form))
    (tmp_path / "other.pem").write_bytes(other.public_key().public_bytes(*form))
    path, heads = tmp_path / "rewards.db", tmp_path / "heads.jsonl"
    with Ledger(path, sign_with=key, publish=heads, publish_every=1) as ledger:
        for signal in SIGNALS[:3]:
            ledger.record(signal)
        ledger.backup(tmp_path / "older.db")
        ledger.record(SIGNALS[3])
    asked = ("--heads", str(heads), "--public-key", str(tmp_path / "public.pem"))
    assert plaudit("ledger", "verify", str(path), *asked).exit_code == 0
    rolled_back = plaudit("ledger", "verify", str(tmp_path / "older.db"), *asked)
    assert (rolled_back.exit_code, "when its head was kept" in rolled_back.stdout) == (1, True)
    unsigned = plaudit("ledger", "verify", str(path), "--public-key", str(tmp_path / "other.pem"))
    assert (unsigned.exit_code, "unsigned" in unsigned.stdout) == (1, True)
