"""Steps on their way into a ledger: when they are durable, when they happened, and what ends a program."""

import json
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from plaudit import FileError, InputError, Ledger, LedgerError, VersionConflict
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import CommitUnknown, DefinitionError, WrongType
from plaudit.ledger.storage import buffer
from support import walks
from support.forking import run_python

PROGRAM = Path(__file__).parent / "programs" / "endings.py"
REWARD = walks.reward()
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def wrap(ledger, **options):
    return RewardWrapper(walks.Walk(), REWARD, walks.features, ledger=ledger, **options)


def wait_until(true, seconds=300):
    """Wait until something is true; it is an error if it never is."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "this never happened"
        time.sleep(0.01)


def writers(others=()):
    """Return the threads that write steps now and then, except those that others in this process had started."""
    return [each for each in threading.enumerate() if each.name == "plaudit-writer" and each not in others]


# -- when a step happened ----------------------------------------------------------------------------------------------


def test_each_step_is_recorded_at_the_moment_it_happened(tmp_path):
    moments = []
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger)
        env.reset()
        for n in range(5):
            before = datetime.now(UTC)
            env.step(n % 3)
            moments.append((before, datetime.now(UTC)))
            time.sleep(0.002)
        env.close()
        ats = [record.at for record in ledger.history()]
    assert len(set(ats)) == len(moments)
    millisecond = timedelta(milliseconds=1)  # a record keeps microseconds
    assert all(first - millisecond <= at <= last for at, (first, last) in zip(ats, moments, strict=True))


@pytest.mark.parametrize("many", [False, True], ids=["one environment", "many"])
def test_the_clock_of_the_ledger_dates_the_steps(tmp_path, many):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ticks = iter(range(1000))

    def clock():
        return start + timedelta(seconds=next(ticks))

    with Ledger(tmp_path / "rewards.db", clock=clock) as ledger:
        env = SyncVectorEnv([walks.Walk] * 3) if many else walks.Walk()
        env = RewardWrapper(env, REWARD, walks.features, ledger=ledger, run="r")
        env.reset()
        for n in range(4):
            env.step(np.full(3, n % 3) if many else n % 3)
        env.close()
        ats = [record.at for record in ledger.history(run="r")]
    seconds = [(at - ats[0]).total_seconds() for at in ats]
    assert seconds == [0, 1, 2, 3] * (3 if many else 1)  # environment after environment


# -- one buffer a ledger -----------------------------------------------------------------------------------------------


def test_the_environments_of_a_ledger_share_one_thread_and_their_steps_come_in_order(tmp_path):
    others = writers()
    with Ledger(tmp_path / "rewards.db") as ledger, Ledger(tmp_path / "other.db") as other:
        envs = [wrap(ledger, run="r", actor=str(n), flush_every=600) for n in range(4)]
        apart = wrap(other)
        for env in envs:
            env.reset()
        for n in range(6):
            for env in envs:
                env.step(n % 3)
        assert len(writers(others)) == 1
        walks.walk(apart, 3)
        assert len(writers(others)) == 2
        envs[0].close()  # writes what waits of the others too
        assert ledger.history().count() == 24
        assert other.history().count() == 0
        for n in range(4):
            records = list(ledger.history(actor=str(n)))
            assert [record.step for record in records] == [1, 2, 3, 4, 5, 6]
            assert [record.at for record in records] == sorted(record.at for record in records)
        assert ledger.verify().ok
    wait_until(lambda: not writers(others))


def test_the_shortest_time_that_a_wrapper_asks_for_holds(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        first = wrap(ledger, flush_every=600)
        walks.walk(first, 3)
        wrap(ledger, flush_every=0.05)
        walks.walk(first, 3)
        wait_until(lambda: ledger.history().count() == 6)


def test_steps_are_written_though_no_other_step_comes_and_the_thread_rests_when_none_does(tmp_path):
    others = writers()
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger, flush_every=0.05)
        for times in range(1, 4):
            walks.walk(env, 3)
            wait_until(lambda times=times: ledger.history().count() == 3 * times)
            wait_until(lambda: not writers(others))


def test_a_buffer_that_fills_is_written_before_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(buffer, "MOST_WAITING", 24)
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger, flush_every=600)
        walks.walk(env, 12)
        wait_until(lambda: ledger.history().count() == 12)


def test_many_environments_wait_where_the_buffer_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(buffer, "MOST_WAITING", 12)
    monkeypatch.setattr(buffer, "_LOOK", 600)
    with Ledger(tmp_path / "rewards.db") as ledger:
        envs = SyncVectorEnv([walks.Walk] * 4)
        envs = RewardWrapper(envs, REWARD, walks.features, ledger=ledger, flush_every=600)
        envs.reset()
        for _ in range(4):
            envs.step(np.ones(4, int))
        assert ledger.history().count() == 8  # of three places, one says what the inputs came in


@pytest.mark.parametrize(
    ("most", "flush_every"),
    [(10, 600), (buffer.MOST_WAITING, 0.1)],
    ids=["the buffer is full", "a step would wait too long"],
)
def test_an_environment_waits_while_a_write_takes_long_where(tmp_path, monkeypatch, most, flush_every):
    monkeypatch.setattr(buffer, "MOST_WAITING", most)
    with Ledger(tmp_path / "rewards.db") as ledger:
        write, begun, go_on, done = ledger._write_blocks, threading.Event(), threading.Event(), []

        def take_long(blocks):
            begun.set()
            go_on.wait()
            write(blocks)

        def go_on_walking():
            while not done:
                walks.walk(env, 50)

        monkeypatch.setattr(ledger, "_write_blocks", take_long)
        env = wrap(ledger, flush_every=flush_every)
        walks.walk(env, 1)
        threading.Thread(target=ledger._steps.flush).start()
        begun.wait()
        walking = threading.Thread(target=go_on_walking)
        walking.start()
        wait_until(lambda: sum(each.name == "plaudit-flush" for each in threading.enumerate()) == 2)
        done.append(True)
        waiting = env._record._stream.waiting
        before = len(waiting)
        time.sleep(0.05)
        assert walking.is_alive()
        assert len(waiting) == before  # no step is taken
        go_on.set()
        walking.join()
        env.close()
        assert ledger.history().count() % 50 == 1
        assert ledger.verify().ok


def test_an_environment_may_be_closed_twice_and_after_its_ledger(tmp_path):
    ledger = Ledger(tmp_path / "rewards.db")
    env = wrap(ledger)
    walks.walk(env, 2)
    env.close()
    env.close()
    walks.walk(env, 2)
    ledger.close()
    ledger.close()
    env.close()
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.history().count() == 4


def test_a_step_after_the_ledger_was_closed_is_an_error(tmp_path):
    ledger = Ledger(tmp_path / "rewards.db")
    env = wrap(ledger)
    walks.walk(env, 2)
    ledger.close()
    for _ in range(2):
        with pytest.raises(LedgerError, match="closed"):
            env.step(1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"flush_every": 0}, DefinitionError, "flush_every=0 is out of range"),
        ({"flush_every": float("inf")}, DefinitionError, "flush_every=inf is out of range"),
        ({"flush_every": float("nan")}, DefinitionError, "flush_every=nan is out of range"),
        ({"flush_every": "1"}, WrongType, "flush_every='1' is not a number of seconds"),
        ({"run": ""}, InputError, "run='' is empty"),
        ({"run": ["r"]}, WrongType, "must be a string"),
        ({"actor": 3}, WrongType, "actor=3 must be a string"),
    ],
)
def test_what_could_not_be_recorded_is_refused_before_the_first_step(tmp_path, given, error, message):
    with Ledger(tmp_path / "rewards.db") as ledger, pytest.raises(error, match=message):
        wrap(ledger, **given)


def test_a_label_that_stands_for_another_formula_is_refused_before_the_first_step(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.register(REWARD.with_weights(effort=-0.5))
        with pytest.raises(VersionConflict):
            wrap(ledger)


# -- what goes wrong ---------------------------------------------------------------------------------------------------


class Refusing:
    """Makes the writes of a ledger fail as long as it is told to."""

    def __init__(self, ledger, monkeypatch):
        self.failing, self._write = True, ledger._write_blocks
        monkeypatch.setattr(ledger, "_write_blocks", self)

    def __call__(self, blocks):
        if self.failing:
            raise FileError("the disk is full. Nothing was recorded; free some space and try again.")
        self._write(blocks)


def test_a_write_that_failed_is_raised_by_the_next_step_and_nothing_is_lost(tmp_path, monkeypatch):
    with Ledger(tmp_path / "rewards.db") as ledger:
        refusing = Refusing(ledger, monkeypatch)
        env = wrap(ledger, flush_every=0.02)
        env.reset()
        env.step(1)
        wait_until(lambda: ledger._steps._failure is not None)
        with pytest.raises(FileError, match=r"the disk is full.* waiting to be recorded: 1"):
            env.step(1)
        refusing.failing = False
        env.step(1)
        env.close()
        assert [record.step for record in ledger.history()] == [1, 2, 3]
        assert ledger.verify().ok


def test_a_write_that_failed_is_raised_by_close_and_tried_again_by_the_next(tmp_path, monkeypatch):
    with Ledger(tmp_path / "rewards.db") as ledger:
        refusing = Refusing(ledger, monkeypatch)
        env = wrap(ledger, flush_every=600)
        walks.walk(env, 3)
        for _ in range(2):
            with pytest.raises(FileError, match="waiting to be recorded: 3"):
                env.close()
        refusing.failing = False
        env.close()
        assert ledger.history().count() == 3


def test_closing_a_ledger_that_refuses_says_what_was_not_recorded_and_closes_it(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "rewards.db")
    Refusing(ledger, monkeypatch)
    writer = ledger.writer(max_delay=600)
    receipt = writer.record(REWARD.score(before=0, after=1, moved=1, terminal=False))
    walks.walk(wrap(ledger, flush_every=600), 3)
    with pytest.raises(FileError, match="not recorded: 3"):
        ledger.close()
    assert receipt.durable  # one that fails does not keep the others from being written
    with pytest.raises(LedgerError, match="closed"):
        ledger.record(REWARD.score(before=0, after=1, moved=1, terminal=False))


def test_what_is_refused_for_long_does_not_fill_the_memory_and_its_loss_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(buffer, "MOST_WAITING", 10)
    with Ledger(tmp_path / "rewards.db") as ledger:
        monkeypatch.setattr(buffer, "_LOOK", 600)
        refusing = Refusing(ledger, monkeypatch)
        env = wrap(ledger, flush_every=600)
        for told in ("waiting to be recorded: 6", "not recorded: 12", "waiting to be recorded: 6"):
            walks.walk(env, 6)
            with pytest.raises(FileError, match=told):
                env.close()
        refusing.failing = False
        env.close()
        assert ledger.history().count() == 6


def test_steps_that_may_have_been_written_are_not_written_again(tmp_path, monkeypatch):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger, flush_every=600)
        walks.walk(env, 3)
        writer = ledger._store.writer
        write = writer.write_blocks

        def lose_the_answer(blocks):
            write(blocks)
            raise CommitUnknown("Whether the last write was recorded is not known; a key tells.")

        monkeypatch.setattr(writer, "write_blocks", lose_the_answer)
        with pytest.raises(LedgerError, match="not known"):
            env.close()
        monkeypatch.undo()
        env.close()
        assert ledger.history().count() == 3


# -- how a program ends ------------------------------------------------------------------------------------------------


def run_endings(folder, names):
    """Return what became of the steps of four environments, for each way to end their process."""
    done = run_python([sys.executable, PROGRAM, folder, *names], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


NO_STEP_IS_LOST = {
    "killed in a pause": -9,
    "terminated": -15,
    "hung up": -1,
    "terminated while locked": -15,
    "terminated while asleep": -15,
    "handler before": 7,
    "handler after": 7,
    "ignored": 0,
    "exited": 3,
    "failed": 1,
    "forked": 0,
}
"""How a process can end, and the exit code."""


@pytest.fixture(scope="module")
def endings(tmp_path_factory):
    """What became of the steps, by the way in which their process ended."""
    if os.name == "nt":
        pytest.skip("needs POSIX")
    names = [*NO_STEP_IS_LOST, "terminated from a thread", "killed"]
    return {found["name"]: found for found in run_endings(tmp_path_factory.mktemp("endings"), names)}


@pytest.mark.parametrize("name", NO_STEP_IS_LOST)
def test_no_step_is_lost_and_the_exit_code_is_as_ever_in_a_process_that_was(endings, name):
    found = endings[name]
    assert found["code"] == NO_STEP_IS_LOST[name]
    assert found["oldest"] == 0.0
    assert min(found["kept"]) > 100
    assert all(kept >= taken for kept, taken in zip(found["kept"], found["taken"], strict=True))


@pytest.mark.parametrize("name", ["handler before", "handler after"])
def test_a_handler_of_the_program_runs_once(endings, name):
    assert endings[name]["said"] == ["ready", "handled"]


def test_a_forked_process_goes_on_with_an_environment_as_an_actor_of_its_own_and_writes_its_own_steps_alone(endings):
    assert endings["forked"]["kept"] == [101, 101, 101, 101]
    assert endings["forked"]["forked"] == 1


def test_outside_the_main_thread_signals_are_left_alone(endings):
    assert endings["terminated from a thread"]["code"] == -15
    assert endings["terminated from a thread"]["oldest"] > 0


def check_killed(found, counted):
    """See that a process that was killed lost the last second at most."""
    lost = sum(found["taken"]) - sum(found["kept"])
    counted("wrapped environments killed (kill -9)", kills=1, steps=sum(found["taken"]), lost=max(0, lost))
    assert found["code"] == -9
    assert sum(found["taken"]) > 2000
    assert found["oldest"] <= 1.0


def test_kill_9_takes_the_last_second_at_most(endings, counted):
    check_killed(endings["killed"], counted)


@posix
@pytest.mark.slow
def test_kill_9_takes_the_last_second_at_most_of_forty_times(tmp_path, counted):
    for found in run_endings(tmp_path, ["killed"] * 40):
        check_killed(found, counted)


# -- other processes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_process_of_multiprocessing_that_closes_nothing_loses_no_step(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    with Ledger(tmp_path / "rewards.db") as ledger:
        process = multiprocessing.get_context(method).Process(target=walks.record_and_leave, args=(ledger,))
        process.start()
        process.join()
        assert process.exitcode == 0
        assert ledger.history().count() == 5


@posix
@pytest.mark.parametrize("terminate", [False, True], ids=["closed", "terminated"])
def test_the_workers_of_an_async_vector_env_record_each_for_itself(tmp_path, terminate):
    with Ledger(tmp_path / "rewards.db") as ledger:
        kinds = [lambda n=n: wrap(ledger, run="r", actor=str(n), flush_every=600) for n in range(2)]
        envs = AsyncVectorEnv(kinds, context="fork")
        envs.reset()
        for n in range(10):
            envs.step(np.full(2, n % 3))
        workers = envs.processes
        envs.close(terminate=terminate)
        assert [each.exitcode for each in workers] == [-signal.SIGTERM if terminate else 0] * 2
        paid = [ledger.history(actor=str(n)).count() for n in range(2)]
        assert paid[0] == paid[1] >= 8  # the others only began another episode
        assert ledger.verify().ok


def test_a_copy_in_another_process_goes_on_counting(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger, flush_every=600)
        env.reset()
        env.step(1)
        copy = pickle.loads(pickle.dumps(env))
        copy.step(1)
        copy.close()
        assert [record.step for record in ledger.history()] == [2]
        env.close()
        assert sorted(record.step for record in ledger.history()) == [1, 2]
        copy._record._ledger.close()
