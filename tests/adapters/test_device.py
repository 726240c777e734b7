"""Steps of environments on a device: the same records as from the host, without a wait of whoever trains."""

import subprocess
import sys
import textwrap
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from plaudit import Field, Ledger, LedgerError, Reward, term
from plaudit.adapters.device import DeviceRecorder
from plaudit.adapters.device.pending import Pending
from plaudit.adapters.recording import Recorder, RecordingOptions
from plaudit.errors import (
    ActorInUse,
    DefinitionError,
    InputError,
    MissingField,
    ShapeMismatch,
    TooManyMasked,
    WrongType,
)
from support import walks

REWARD = walks.reward()
ENVS, TIMES = 48, 30
LIBRARIES = {"jax": jnp.asarray, "torch": torch.as_tensor}


@pytest.fixture(params=list(LIBRARIES))
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def draw_steps(seed=0, dtype=np.float32):
    """Return a rollout, [times, environments]: inputs and outcomes."""
    generator = np.random.default_rng(seed)
    inputs = {name: generator.uniform(-1, 1, (TIMES, ENVS)).astype(dtype) for name in ("before", "after", "moved")}
    flags = {"terminated": generator.random((TIMES, ENVS)) < 0.1, "truncated": generator.random((TIMES, ENVS)) < 0.05}
    return inputs, {**flags, "original_reward": generator.random((TIMES, ENVS)).astype(dtype)}


def add(recorder, library, inputs, outcomes, *, rollout=False):
    if rollout:
        columns, ends = convert(library, inputs, outcomes)
        recorder.add(columns, **ends)
        return
    for at in range(TIMES):
        columns, ends = convert(library, *({n: c[at] for n, c in each.items()} for each in (inputs, outcomes)))
        recorder.add(columns, **ends)


def convert(library, *mappings):
    return [{name: library(column) for name, column in each.items()} for each in mappings]


def record_on_host(ledger, inputs, outcomes, **options):
    """Record the same with what the wrapper of many environments records with."""
    defaults = {"run": None, "actor": None, "flush_every": 1.0, "sample": 1.0, "seed": 0}
    recorder = Recorder(ledger, REWARD, RecordingOptions(**{**defaults, **options}), envs=ENVS)
    columns = [{"terminal": outcomes["terminated"], **inputs}[name] for name in REWARD.program.inputs]
    for at in range(TIMES):
        rows = np.stack([column[at].astype(np.float64) for column in columns], 1)
        ends = [outcomes[name][at] for name in ("original_reward", "terminated", "truncated")]
        named = tuple((name, "float32") for name in REWARD.program.inputs if name != "terminal")
        recorder.add_steps(rows, named, np.arange(ENVS), *ends)
        recorder.begin_episodes(np.flatnonzero(ends[1] | ends[2]))
    recorder.close()


def describe(ledger, run):
    """Return everything of a run's records but numbers and times, episode after episode."""
    found = [
        (int(each.episode), each.step, each.target, each.context, each.sample_rate, each.signal.to_dict())
        for each in ledger.history(run=run)
    ]
    return sorted(found, key=lambda each: each[:2])


@pytest.mark.parametrize(
    ("rollout", "sample"),
    [
        (False, 1.0),
        (True, 0.3),
        pytest.param(False, 0.3, marks=pytest.mark.slow),
        pytest.param(True, 1.0, marks=pytest.mark.slow),
    ],
)
def test_the_records_are_those_of_the_host(ledger, library, sample, rollout):
    inputs, outcomes = draw_steps()
    with DeviceRecorder(ledger, REWARD, ENVS, run="a", sample=sample) as recorder:
        add(recorder, library, inputs, outcomes, rollout=rollout)
    record_on_host(ledger, inputs, outcomes, run="b", sample=sample)
    device, host = describe(ledger, "a"), describe(ledger, "b")
    if sample == 1:
        assert device == host
        assert len(device) == ENVS * TIMES
    else:  # another run, so that other episodes are chosen: each is one of the rollout, whole
        everything = draw_steps()
        assert 0.1 < len(device) / (ENVS * TIMES) < 0.5
        for episode in ledger.episodes(run="a").finished:
            steps = [each for each in device if each[0] == int(episode.episode)]
            assert [step for _, step, *_ in steps] == list(range(1, len(steps) + 1))
            env = (int(episode.episode) - 1) % ENVS
            ends = np.flatnonzero((everything[1]["terminated"] | everything[1]["truncated"])[:, env])
            spans = [*zip([0, *(ends[:-1] + 1)], ends + 1, strict=True)]
            paid = [everything[1]["original_reward"][start:end, env].tolist() for start, end in spans]
            assert [each[3]["original_reward"] for each in steps] in paid
    assert ledger.verify().ok


def test_a_sample_chooses_the_episodes_that_the_host_would(ledger, tmp_path, library):
    inputs, outcomes = draw_steps()
    with DeviceRecorder(ledger, REWARD, ENVS, sample=0.3, seed=5) as recorder:
        add(recorder, library, inputs, outcomes)
    with Ledger(tmp_path / "host.db") as host:
        record_on_host(host, inputs, outcomes, sample=0.3, seed=5)
        assert describe(ledger, None) == describe(host, None)
        assert {each.sample_rate for each in ledger.history()} == {0.3}


def test_the_dtypes_that_inputs_came_in_are_kept(ledger, library):
    inputs, outcomes = draw_steps(dtype=np.float16)
    with DeviceRecorder(ledger, REWARD, ENVS) as recorder:
        add(recorder, library, inputs, outcomes, rollout=True)
    assert ledger.history().first().target == "numpy float16"


def hold_back(recorder):
    """Make the host slow: nothing is recorded until the returned event is set."""
    going, record = threading.Event(), recorder._pending._handle

    def wait_and_record(step):
        assert going.wait(60)
        record(step)

    recorder._pending._handle = wait_and_record
    return going


def test_add_does_not_wait_for_a_slow_host_until_too_much_is_on_its_way(ledger, library):
    inputs, outcomes = convert(library, *({n: c[0] for n, c in each.items()} for each in draw_steps()))
    with DeviceRecorder(ledger, REWARD, ENVS, max_pending=3) as recorder:
        going = hold_back(recorder)
        for _ in range(3):
            recorder.add(inputs, **outcomes)
        assert recorder.waits == 0
        assert ledger.history().count() == 0
        assert all(step.copy.fetch() and step.copy.is_ready() for step in recorder._pending._work)
        fourth = threading.Thread(target=lambda: recorder.add(inputs, **outcomes))
        fourth.start()
        fourth.join(0.2)
        assert fourth.is_alive()
        going.set()
        fourth.join(60)
        assert recorder.waits == 1
        recorder.flush()
        assert ledger.history().count() == 4 * ENVS


def test_a_flush_or_a_close_of_the_ledger_waits_for_what_is_on_its_way(tmp_path, library):
    inputs, outcomes = draw_steps()
    path = tmp_path / "rewards.db"
    ledger = Ledger(path)
    recorder = DeviceRecorder(ledger, REWARD, ENVS)
    add(recorder, library, inputs, outcomes)
    ledger.close()
    with Ledger(path) as again:
        assert again.history().count() == ENVS * TIMES


def test_what_is_on_its_way_when_a_program_ends_is_recorded(tmp_path):
    program = f"""
        import sys; sys.path.insert(0, {sys.path[0]!r}); sys.path.insert(0, "tests")
        import torch
        from plaudit import Field, Ledger, Reward, term
        from plaudit.adapters.device import DeviceRecorder
        from support import walks
        columns = {{name: torch.zeros(4) for name in ("before", "after", "moved")}}
        recorder = DeviceRecorder(Ledger({str(tmp_path / "rewards.db")!r}), walks.reward(), 4, flush_every=600)
        recorder.add(columns, terminated=torch.zeros(4, dtype=torch.bool))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=300)
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.history().count() == 4
        assert ledger.history().first().original_reward is None


# -- errors ------------------------------------------------------------------------------------------------------------


def steps_of_one(library, **changes):
    columns = {name: np.zeros(ENVS, np.float32) for name in ("before", "after", "moved")} | changes
    return {name: library(column) for name, column in columns.items()}, library(np.zeros(ENVS, bool))


def test_an_error_of_the_thread_is_raised_by_the_next_call_once(ledger, library):
    columns, ends = steps_of_one(library)
    recorder = DeviceRecorder(ledger, REWARD, ENVS)
    record, failures = recorder._pending._handle, [LedgerError("the disk is full")]

    def fail_once(step):
        if failures:
            raise failures.pop()
        record(step)

    recorder._pending._handle = fail_once
    recorder.add(columns, terminated=ends)
    recorder._pending.drain()
    with pytest.raises(LedgerError, match="the disk is full"):
        recorder.add(columns, terminated=ends)
    recorder.add(columns, terminated=ends)
    recorder.close()
    assert ledger.history().count() == ENVS


def test_too_many_steps_that_cannot_be_scored_are_an_error(ledger, library):
    columns, ends = steps_of_one(library, moved=np.full(ENVS, 5.0, np.float32))
    recorder = DeviceRecorder(ledger, REWARD, ENVS)
    recorder.add(columns, terminated=ends)
    with pytest.raises(TooManyMasked, match="5.0"):
        recorder.close()
    recorder.close()


def test_a_step_that_cannot_be_scored_is_recorded_with_the_reason(ledger, library):
    moved = np.zeros(ENVS, np.float32)
    moved[7] = np.nan
    columns, ends = steps_of_one(library, moved=moved)
    with DeviceRecorder(ledger, REWARD, ENVS, max_masked=0.5) as recorder:
        recorder.add(columns, terminated=ends)
    [masked] = [each for each in ledger.history() if each.masked]
    assert masked.episode == "8"
    assert "NaN" in masked.masked


@pytest.mark.parametrize(
    ("columns", "ends", "error"),
    [
        ({"before": 0.0}, np.zeros(ENVS, bool), MissingField),
        ({"moved": np.zeros(3, np.float32)}, np.zeros(ENVS, bool), ShapeMismatch),
        ({}, np.zeros(ENVS + 1, bool), ShapeMismatch),
    ],
)
def test_wrong_arrays_are_refused_at_once(ledger, library, columns, ends, error):
    given, _ = steps_of_one(library)
    if error is MissingField:
        given = {"before": given["before"]}
    given |= {name: library(column) for name, column in columns.items() if isinstance(column, np.ndarray)}
    with DeviceRecorder(ledger, REWARD, ENVS) as recorder, pytest.raises(error):
        recorder.add(given, terminated=library(ends))


def test_arrays_of_numpy_are_refused(ledger):
    with DeviceRecorder(ledger, REWARD, ENVS) as recorder, pytest.raises(WrongType, match="RewardWrapper"):
        recorder.add(*steps_of_one(np.asarray)[:1], terminated=np.zeros(ENVS, bool))


def test_arguments_are_checked_at_once(ledger):
    for options, error in (({"max_pending": 0}, DefinitionError), ({"sample": 2.0}, InputError)):
        with pytest.raises(error):
            DeviceRecorder(ledger, REWARD, ENVS, **options)
    with DeviceRecorder(ledger, REWARD, ENVS, actor="one"), pytest.raises(ActorInUse):
        DeviceRecorder(ledger, REWARD, ENVS, actor="one")


def test_a_closed_recorder_records_nothing_more_and_another_goes_on_counting(ledger, library):
    columns, ends = steps_of_one(library)
    recorder = DeviceRecorder(ledger, REWARD, ENVS)
    recorder.add(columns, terminated=ends)
    recorder.close()
    recorder.close()
    with pytest.raises(LedgerError, match="closed"):
        recorder.add(columns, terminated=ends)
    with DeviceRecorder(ledger, REWARD, ENVS) as again:
        assert again.actor == recorder.actor
        again.add(columns, terminated=ends)
    assert len(ledger.episodes()) == 2 * ENVS


def test_vectors_and_plain_numbers_are_inputs_too(ledger, library):
    @term
    def lift(torque, level):
        return torque[0] + torque[1] + level

    reward = Reward("lift", version="1", terms=[lift], fields=[Field("torque", length=2), Field("level")])
    torque = np.arange(2 * ENVS, dtype=np.float32).reshape(ENVS, 2)
    with DeviceRecorder(ledger, reward, ENVS) as recorder:
        recorder.add({"torque": library(torque), "level": 0.5}, terminated=library(np.zeros(ENVS, bool)))
    assert [each.total for each in ledger.history()] == (torque.sum(1) + 0.5).tolist()


def test_a_thread_that_has_nothing_to_do_ends(monkeypatch):
    monkeypatch.setattr("plaudit.adapters.device.pending._IDLE", 0.05)
    done: list[int] = []
    pending = Pending(done.append, 2, bool)
    pending.put(1)
    pending.drain()
    for thread in [each for each in threading.enumerate() if each.name == "plaudit-device"]:
        thread.join(60)
    pending.put(2)
    pending.drain()
    assert done == [1, 2]


def test_adding_is_the_same_inside_a_trace_of_jax(ledger):
    """What `lax.scan` stacks is a rollout."""

    def step(state, _):
        state = state * 0.5
        return state, {"before": state, "after": state, "moved": state, "over": state < 0.1}

    _, stacked = jax.lax.scan(step, jnp.ones(ENVS), length=TIMES)
    with DeviceRecorder(ledger, REWARD, ENVS) as recorder:
        recorder.add(stacked, terminated=stacked["over"])
    assert ledger.history().count() == ENVS * TIMES
