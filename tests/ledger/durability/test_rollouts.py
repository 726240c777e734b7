"""Rollouts that are recorded by a process that is killed, and on a disk that is full: none is lost, none is half there."""

import random
import subprocess
from collections import Counter

import pytest

from plaudit import Ledger
from plaudit.errors import FileError
from plaudit.llm import Scoring, read_rollouts
from support.ledgers import command
from support.mounts import need_root, small
from support.rollouts import REWARD, SIZE, build_samples, clear, words


def kill_one(path, run, draw):
    """Let a process score and record for a while, kill it, and return how many steps it was sure of."""
    with subprocess.Popen(command("rollouts", path, run), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        wanted = draw.randrange(1, 40)
        for line in running.stdout:
            if int(line) >= wanted:
                break
        running.kill()
        rest = running.stdout.read().splitlines()
        assert running.wait() == -9
    return 1 + max([wanted, *(int(line) for line in rest if line.isdigit())])


def check_kept(path, sure):
    """Check that every step that a run was sure of is there, whole, and at most one more."""
    steps: dict[str, Counter[int]] = {run: Counter() for run in sure}
    with Ledger(path) as ledger:
        assert ledger.verify().ok
        for rollout in read_rollouts(ledger, ledger.history()):
            run, step = rollout.record.run, rollout.record.step
            at = steps[run][step]
            steps[run][step] += 1
            assert rollout.sample is not None
            assert dict(rollout.sample) == build_samples(run, step)[at]
            assert rollout.answers == {"clear": f"said of {rollout.sample.text[:40]}"}
    for run, count in sure.items():
        assert set(steps[run].values()) == {SIZE}
        assert sorted(steps[run]) in (list(range(count)), list(range(count + 1)))
    return sum(map(Counter.total, steps.values()))


def check_kills(path, kills):
    draw = random.Random(kills)
    return check_kept(path, {f"life {life}": kill_one(path, f"life {life}", draw) for life in range(kills)})


def test_a_process_that_is_killed_loses_no_rollout(tmp_path):
    check_kills(tmp_path / "rewards.db", 1)


@pytest.mark.slow
def test_forty_kills_lose_no_rollout(tmp_path, counted):
    counted("kill -9 while recording rollouts", kills=40, rollouts=check_kills(tmp_path / "rewards.db", 40), lost=0)


def test_a_full_disk_is_said_and_the_next_batch_is_recorded_when_there_is_room(tmp_path):
    need_root("mount")
    with small(tmp_path / "disk", "2m") as disk:
        with Ledger(disk / "rewards.db") as ledger:
            scoring = Scoring(REWARD, [words, clear], ledger=ledger, run="a")
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(1 << 20))
            step = 0
            with pytest.raises(FileError, match="full"):
                for step in range(10_000):
                    scoring.score(build_samples("a", step), step=step)
            ballast.unlink()
            for again in range(step, step + 5):
                scoring.score(build_samples("a", again), step=again)
        check_kept(disk / "rewards.db", {"a": step + 5})
