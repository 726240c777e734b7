"""Failures while TRL trains a tiny model: each is named and counted, and training goes on with the others.

Run by `real_packages.py`.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
import threading
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

from real_training import STEPS, check_equal, trained

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.trl import reward_func
from plaudit.errors import FileError
from plaudit.llm import Answer, Scoring, feature, read_rollouts

BATCH = 16
LATE = threading.Event()
"""Set when nothing has to hang any more."""


@term
def paid(digits):
    return digits


REWARD = Reward("paid", version="1", terms=[paid], fields=[Field("digits", low=0, high=1)])


def share(text):
    """Return the share of the words that are digits: what the reward pays where nothing fails."""
    words = text.split()
    return sum(word.isdigit() for word in words) / max(len(words), 1)


def fails(text):
    """Return whether a text is one of those at which a feature fails."""
    return len(text) % 3 == 0


def name_digits(**options):
    return feature(name="digits", **options)


def plain(completions, **_):
    """Return the rewards as somebody would write them without plaudit."""
    texts = [completion[0]["content"] for completion in completions]
    return [None if fails(text) else share(text) for text in texts]


@name_digits()
def raising(text):
    if fails(text):
        raise ValueError("cannot be parsed")
    return share(text)


@name_digits()
async def hanging(text):
    if fails(text):
        await asyncio.sleep(3600)
    return share(text)


@name_digits()
def silent(text):
    return None if fails(text) else share(text)


@name_digits()
def undefined(text):
    return float("nan") if fails(text) else share(text)


@name_digits()
def worded(text):
    return "many" if fails(text) else share(text)


@name_digits(group=True)
def shortened(text):
    found = [share(each) for each in text]
    return found[1:] if fails(text[0]) else found


@name_digits(judge=True)
async def away(text):
    if fails(text):
        raise ConnectionError("the judge is down")
    return Answer(share(text), "well")


@name_digits(judge=True)
def slow(text):
    if fails(text):
        LATE.wait(600)
    return Answer(share(text), "well")


@name_digits(judge=True)
async def nonsense(text):
    return Answer(7.0, "seven of one") if fails(text) else Answer(share(text), "well")


@name_digits(judge=True)
async def chatting(text):
    return Answer("I like it", "I like it") if fails(text) else Answer(share(text), "well")


@name_digits(judge=True)
async def cancelling(text):
    if fails(text):
        work = asyncio.ensure_future(asyncio.sleep(3600))
        work.cancel()
        await asyncio.wait([work])
        raise TimeoutError("the request was cancelled")
    return Answer(share(text), "well")


FAILURES = {
    raising: "ValueError: cannot be parsed in feature 'digits'",
    hanging: "FeatureTimeout: ",
    silent: "WrongType: feature 'digits' returned None",
    undefined: "NotFinite: reward 'paid', field 'digits': the value is NaN",
    worded: "many",
    shortened: "ShapeMismatch: feature 'digits' returned 3 results for 4 samples",
    away: "ConnectionError: the judge is down",
    slow: "FeatureTimeout: ",
    nonsense: "7.0",
    chatting: "I like it",
    cancelling: "TimeoutError: the request was cancelled",
}
"""What the record of a sample says, by the feature that failed."""


def train_through_failures():
    """Train through each failure, through an interruption, and until a ledger is full."""
    without, *_ = trained([plain], [1.0], conversational=True)
    with tempfile.TemporaryDirectory() as folder:
        for failing, says in FAILURES.items():
            name = failing.function.__name__
            with Ledger(Path(folder, f"{name}.db")) as ledger:
                scoring = Scoring(
                    REWARD, [failing], ledger=ledger, run=name, on_bad="mask", max_masked=1.0, timeout=0.2
                )
                logs, *_ = trained([reward_func(scoring)], [1.0], conversational=True)
                count = check_recorded(ledger, scoring, logs, failing, says)
            if failing.scope == "sample":
                check_equal(logs, without)
            print(f"{name}: {count} of {BATCH * STEPS} without a reward, {[log['reward'] for log in logs]}")
        LATE.set()
        train_until_interrupted(Path(folder, "interrupted.db"))
    train_until_full()
    check_threads()


def check_recorded(ledger, scoring, logs, failing, says):
    """Check which rollouts have no reward, why, and that the trainer and the ledger count them alike."""
    groups = defaultdict(list)
    for rollout in read_rollouts(ledger, ledger.history()):
        groups[rollout.record.step, rollout.group].append(rollout)
    by_step = defaultdict(list)
    for (step, _), rollouts in groups.items():
        assert len(rollouts) == 4, rollouts
        for rollout in rollouts:
            lost = fails(rollouts[0].sample.text if failing.scope == "group" else rollout.sample.text)
            assert (rollout.record.masked is not None) == lost, rollout
            assert not lost or says in rollout.record.masked, rollout.record.masked
            assert lost or rollout.record.total == share(rollout.sample.text), rollout
            by_step[step].append(None if lost else rollout.record.total)
    assert len(logs) == len(by_step) == STEPS
    for log, totals in zip(logs, by_step.values(), strict=True):
        kept = [total for total in totals if total is not None]
        assert len(totals) == BATCH
        assert abs(log["paid/masked"] - totals.count(None) / BATCH) < 1e-6, log
        assert abs(log["rewards/paid/mean"] - sum(kept) / len(kept)) < 1e-5, log
    count = sum(totals.count(None) for totals in by_step.values())
    assert 0 < count < STEPS * BATCH
    assert scoring.masked == count
    assert ledger.verify().ok
    return count


def train_until_interrupted(path):
    """Press Ctrl-C while judges are asked in the second step: what was acknowledged is there, and training begins again."""
    asked = []

    @name_digits(judge=True)
    async def waiting(text):
        asked.append(text)
        if len(asked) == BATCH + BATCH // 2:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        if BATCH < len(asked) <= 2 * BATCH:
            await asyncio.sleep(3600)
        return Answer(share(text), "well")

    with Ledger(path) as ledger:
        for expected in (BATCH, BATCH + BATCH * STEPS):
            scoring = Scoring(REWARD, [waiting], ledger=ledger, run="interrupted", on_bad="mask")
            try:
                trained([reward_func(scoring)], [1.0], conversational=True)
                assert expected > BATCH, "it was not interrupted"
            except KeyboardInterrupt:
                assert expected == BATCH, "it was interrupted again"
            assert ledger.history().count() == expected
            assert scoring.masked == 0
            check_threads()
        assert ledger.verify().ok
    print(f"interrupted in step 2: {BATCH} rollouts recorded, then {BATCH * STEPS} more")


def train_until_full():
    """Train until there is no room for rollouts: the training says so, and nothing that was acknowledged is lost."""
    if os.geteuid() != 0:
        print("not checked, as only root can: a full ledger")
        return
    with small_disk() as disk, Ledger(disk / "full.db") as ledger:
        scoring = Scoring(REWARD, [raising], ledger=ledger, run="full", on_bad="mask", max_masked=1.0)
        score, acknowledged = reward_func(scoring), []
        ballast = disk / "ballast"

        def filling(completions, **columns):
            if len(acknowledged) == BATCH:
                fill(ballast)
            found = score(completions=completions, **columns)
            acknowledged.extend(found)
            return found

        try:
            trained([filling], [1.0], conversational=True)
        except FileError as error:
            said = str(error)
        else:
            raise AssertionError("there was room for everything")
        assert "full" in said, said
        ballast.unlink()
        totals = [None if record.masked else record.total for record in ledger.history()]
        assert totals == acknowledged, (totals, acknowledged)
        trained([score], [1.0], conversational=True)
        assert ledger.history().count() == len(acknowledged) + BATCH * STEPS
        assert ledger.verify().ok
    print(f"full after {len(acknowledged)} rollouts: {said}")


@contextmanager
def small_disk():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def fill(path):
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


def check_threads():
    """Check that no thread of a feature is left."""
    for thread in threading.enumerate():
        if thread.name in ("plaudit-feature", "plaudit-scoring"):
            thread.join(10)
            assert not thread.is_alive(), thread.name
