"""A damaged file: opening or verifying says so, or everything that is read is as it was."""

import random
import shutil

import pytest

from plaudit import Ledger
from plaudit.errors import LedgerBroken, PlauditError
from support.ledgers import REWARD, columns, signal

CHOICES = [{}, {"run": "first"}, {"run": "second"}, {"decision_class": "brake"}, {"key": "key 3"}, {"version": "R0"},
           {"job": 1}, {"episode": 4}]  # fmt: skip


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A ledger of a hundred pages, and what is read from it."""
    path = tmp_path_factory.mktemp("original") / "ledger.db"
    with Ledger(path) as ledger:
        for n in range(60):
            where = {"run": "first" if n % 2 else "second", "decision_class": "brake" if n % 5 == 0 else None}
            ledger.record(
                signal(n), **where, step=n, episode=n // 10, key=f"key {n}", context={"n": n, "text": "x" * n}
            )
        ledger.record_batch(REWARD, columns(60, 200), run="first", step=range(60, 200))
        ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2"))
    return path, everything(path)


def everything(path):
    """Return everything that can be read from a ledger."""
    with Ledger(path, read_only=True) as ledger:
        found = [[record.to_dict() for record in ledger.history(**choice)] for choice in CHOICES]
        return [*found, [ledger.history(**choice).count() for choice in CHOICES], ledger["key 7"].to_dict()]


def check(path, original, what):
    """Return whether damage was told; where it was not, nothing may be different."""
    try:
        with Ledger(path, read_only=True) as ledger:
            if not ledger.verify().ok:
                return True
    except PlauditError:
        return True
    assert everything(path) == original, f"{what}: nothing was told, and something else is read"
    return False


def damage(path, content, at, new):
    """Write a damaged copy of a file."""
    path.write_bytes(content[:at] + new + content[at + len(new) :])


def flip(tmp_path, original, every, counted):
    source, expected = original
    content = source.read_bytes()
    path = tmp_path / "ledger.db"
    told = done = 0
    for at in range(3, len(content), every):
        damage(path, content, at, bytes([content[at] ^ (1 << at % 8)]))
        told += check(path, expected, f"bit {at % 8} of byte {at}")
        done += 1
    counted("bits flipped anywhere in the file", flipped=done, told=told, read_wrongly=0)


def test_a_flipped_bit_is_told_or_harmless(tmp_path, original, counted):
    flip(tmp_path, original, 9973, counted)


@pytest.mark.slow
def test_any_flipped_bit_is_told_or_harmless(tmp_path, original, counted):
    flip(tmp_path, original, 61, counted)


@pytest.mark.parametrize("flipped", [b"uablespecsspecs", b"tableSpecsspecs", b"tablespecs3pecs"])
def test_a_flipped_bit_in_what_sqlite_says_of_a_table_is_told(tmp_path, original, flipped):
    source, expected = original
    path = tmp_path / "ledger.db"
    path.write_bytes(source.read_bytes().replace(b"tablespecsspecs", flipped))  # its kind, its name and its table's
    assert check(path, expected, flipped)


@pytest.mark.parametrize(("size", "kind"), [(512, "zero"), (1024, "noise"), (2048, "noise"), (4096, "zero")])
def test_an_overwritten_page_is_told_or_harmless(tmp_path, original, size, kind, counted):
    source, expected = original
    content = source.read_bytes()
    path = tmp_path / "ledger.db"
    draw = random.Random(size)
    starts = range(0, len(content), 11 * 1024)
    told = 0
    for start in starts:
        damage(path, content, start, bytes(size) if kind == "zero" else draw.randbytes(size))
        told += check(path, expected, f"{size} bytes from {start}")
    counted("pages overwritten", pages=len(starts), told=told, read_wrongly=0)
    assert told > len(starts) / 2


def test_pages_that_change_places_are_told(tmp_path, original):
    source, expected = original
    content = source.read_bytes()
    path = tmp_path / "ledger.db"
    draw = random.Random(1)
    for _ in range(15):
        one, two = (1024 * page for page in draw.sample(range(len(content) // 1024), 2))
        swapped = bytearray(content)
        swapped[one : one + 1024], swapped[two : two + 1024] = content[two : two + 1024], content[one : one + 1024]
        path.write_bytes(swapped)
        check(path, expected, f"pages at {one} and {two} swapped")


def test_a_truncated_file_is_told(tmp_path, original, counted):
    source, expected = original
    content = source.read_bytes()
    path = tmp_path / "ledger.db"
    sizes = [15, 16, 99, 100, 511, 512, 1023, 1024, 1500, *range(2048, len(content), 9 * 1024), len(content) - 1]
    for size in sizes:
        path.write_bytes(content[:size])
        assert check(path, expected, f"cut to {size}"), f"a file cut to {size} bytes passes for a ledger"
        with pytest.raises(PlauditError), Ledger(path) as ledger:
            assert not ledger.verify().ok
            raise LedgerBroken("told by verify")
    counted("files cut short", sizes=len(sizes), told=len(sizes))


def test_a_torn_log_gives_a_prefix(tmp_path, counted):
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    for step in range(30):
        ledger.record(signal(step), run="run", step=step)
    log = path.with_name("ledger.db-wal").read_bytes()
    main = path.read_bytes()
    copy = tmp_path / "copy.db"
    sizes = range(0, len(log), len(log) // 23)
    for size in sizes:
        copy.write_bytes(main)
        copy.with_name("copy.db-wal").write_bytes(log[:size])
        try:
            with Ledger(copy) as torn:
                steps = [record.step for record in torn.history()]
                assert steps == list(range(len(steps)))
                assert torn.verify().ok
        finally:
            for end in ("", "-wal", "-shm"):
                copy.with_name(f"copy.db{end}").unlink(missing_ok=True)
    ledger.close()
    shutil.rmtree(tmp_path)
    counted("logs torn in the middle", sizes=len(sizes), half_visible=0)
