"""A loss of power: the disk as it stands while writers run, mounted again. What was acknowledged is there."""

import random
import shutil
import signal
import time

import pytest

from plaudit import Ledger
from plaudit.errors import PlauditError
from support.ledgers import Writing, check_kept
from support.mounts import image, mounted, need_root


def snapshots(folder, mode, count, *options):
    """Yield what was acknowledged at a moment, and the ledger as a loss of power at that moment leaves it."""
    need_root("mkfs.ext4", "mount")
    draw = random.Random(5)
    with image(folder / "disk", folder / "live") as live, Writing(live / "ledger.db", "run", mode, *options) as writing:
        writing.wait_until_open()
        for number in range(count):
            before = writing.acknowledged
            writing.wait_for(lambda writing, before=before: writing.acknowledged > before)
            time.sleep(draw.random() * 0.15)
            writing.freeze()
            acknowledged = writing.acknowledged
            copy = folder / f"copy {number}"
            shutil.copyfile(folder / "disk", copy)
            writing.send(signal.SIGCONT)
            with mounted("-o", "loop", copy, at=folder / "after") as after:
                yield acknowledged, after / "ledger.db"
            copy.unlink()


def lose_power(folder, mode, count, counted):
    seen = 0
    for acknowledged, path in snapshots(folder, mode, count):
        check_kept(path, {"run": acknowledged})
        seen = acknowledged
    counted("losses of power", snapshots=count, acknowledged=seen, lost=0)


@pytest.mark.parametrize(
    ("mode", "count"), [("single", 2), pytest.param("batch", 2, marks=pytest.mark.slow), ("buffered", 1)]
)
def test_what_is_acknowledged_survives_a_loss_of_power(tmp_path, mode, count, counted):
    lose_power(tmp_path, mode, count, counted)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["single", "batch", "buffered", "keyed"])
def test_what_is_acknowledged_survives_75_losses_of_power(tmp_path, mode, counted):
    for number in range(15):  # with a new disk each time: a fast writer fills one
        folder = tmp_path / f"disk {number}"
        folder.mkdir()
        lose_power(folder, mode, 5, counted)
        shutil.rmtree(folder)


def test_without_fsync_the_same_test_finds_losses(tmp_path, counted):
    lost = 0
    for acknowledged, path in snapshots(tmp_path, "single", 2, "careless"):
        try:
            with Ledger(path) as ledger:
                lost += acknowledged - ledger.history().count()
        except PlauditError:
            lost += acknowledged
    counted("losses of power without fsync (must lose)", snapshots=2, lost=lost)
    assert lost > 0
