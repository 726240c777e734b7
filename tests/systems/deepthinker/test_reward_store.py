"""The reward store of a research agent: found again as it was added, durable, and never mixed up."""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.systems import deepthinker
from plaudit.systems.deepthinker import RewardConfig, RewardSignal, RewardStore, RewardWeights
from support.examples import examples
from support.forking import PythonProcess

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
SIGNAL = RewardSignal.from_phase_outcome(
    score_delta=0.1, cost_tokens=5000, alignment_events=1, time_budget_used_pct=0.4
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def add(store, mission_id="m1", phase="research", decision_context="model_selection", signal=SIGNAL, **more):
    return store.add(mission_id=mission_id, phase=phase, decision_context=decision_context, signal=signal, **more)


# -- what is kept --------------------------------------------------------------------------------------------


def test_a_record_has_everything_that_was_added(store):
    context = {"decision_class": "model_selection", "arm": "LARGE", "features": [0.5, None, {"deep": True}]}
    before = datetime.now(UTC)
    number = add(store, decision_context=context)
    [record] = store.get_history()
    assert (record.id, record.mission_id, record.phase) == (number, "m1", "research")
    assert record.decision_class == "model_selection"
    assert record.context == context
    assert record.signal == SIGNAL
    assert before - timedelta(seconds=1) <= record.timestamp <= datetime.now(UTC)
    assert record.timestamp.utcoffset() == timedelta(0)
    assert record.version == "1.0.0"


def test_the_directory_is_made_and_holds_the_store(tmp_path):
    with RewardStore(tmp_path / "kb" / "rewards") as store:
        add(store)
    assert (tmp_path / "kb" / "rewards" / "rewards.db").is_file()


def test_a_store_that_is_opened_again_has_what_was_added(tmp_path):
    for n in range(3):
        with RewardStore(tmp_path) as store:
            add(store, mission_id=f"m{n}")
    with RewardStore(tmp_path, read_only=True) as store:
        assert [record.mission_id for record in store.get_history()] == ["m0", "m1", "m2"]
        with pytest.raises(errors.LedgerError):
            add(store)


def test_a_text_is_short_for_its_decision_class(store):
    add(store, decision_context="routing")
    assert store.get_history(decision_class="routing")[0].context == {"decision_class": "routing"}


SIGNALS = st.builds(
    RewardSignal.from_phase_outcome,
    score_delta=st.floats(-5, 5),
    consistency_delta=st.floats(-5, 5),
    grounding_delta=st.floats(-1, 1),
    cost_tokens=st.integers(0, 10**9),
    cost_latency_ms=st.floats(0, 1e7),
    alignment_events=st.integers(0, 100),
    time_budget_used_pct=st.floats(0, 100),
    weights=st.just(RewardWeights())
    | st.builds(RewardWeights, score_weight=st.floats(0, 2), cost_weight=st.floats(0, 2)),
    config=st.just(RewardConfig())
    | st.builds(
        RewardConfig,
        max_tokens=st.integers(1, 10**7),
        per_event=st.floats(0, 1),
        latency_share=st.floats(0, 1),
        max_latency_ms=st.floats(1, 1e6),
        time_mode=st.sampled_from(["usage", "overrun"]),
        MAX_COST_PENALTY=st.floats(0, 2),
        MAX_ALIGNMENT_PENALTY=st.floats(0, 2),
        MAX_TIME_PENALTY=st.floats(0, 2),
    ),
)


@examples(0.15)
@given(signals=st.lists(SIGNALS, min_size=1, max_size=3))
def test_a_signal_is_rebuilt_from_the_record_alone(empty_store, tmp_path_factory, signals):
    folder = shutil.copytree(empty_store, tmp_path_factory.mktemp("store") / "copy")
    with RewardStore(folder) as store:
        for signal in signals:
            add(store, signal=signal)
    with RewardStore(folder, read_only=True) as store:
        again = [record.signal for record in store.iter_history(mixed=True)]
    assert again == signals
    for one, other in zip(again, signals, strict=True):
        assert one.reward.hex() == other.reward.hex()
        assert one.normalization_meta == other.normalization_meta
        assert one.compute_reward(weights=RewardWeights()) == other.compute_reward(weights=RewardWeights())


def test_what_is_recorded_can_be_recomputed(store):
    for row in deepthinker.episode():
        add(store, signal=RewardSignal.from_phase_outcome(**row))
    assert store.ledger.verify().ok
    assert [record.signal.reward for record in store.get_history()] == [
        deepthinker.reward.score(**row).total for row in deepthinker.episode()
    ]


# -- finding -------------------------------------------------------------------------------------------------


def test_records_are_found_by_every_part(store):
    for mission in ("m1", "m2"):
        for phase in ("research", "synthesis"):
            for decision in ("model_selection", "routing"):
                add(store, mission, phase, decision)
    assert len(store.get_history()) == 8
    assert len(store.get_history(decision_class="routing")) == 4
    assert len(store.get_history(mission_id="m1")) == 4
    assert len(store.get_history(phase="synthesis")) == 4
    assert len(store.get_history(decision_class="routing", mission_id="m2", phase="research")) == 1
    assert store.get_history(decision_class="nothing") == []


def test_records_come_in_the_order_they_were_added(store):
    for n in range(20):
        add(store, mission_id=f"m{n}")
    assert [record.mission_id for record in store.get_history()] == [f"m{n}" for n in range(20)]
    ids = [record.id for record in store.get_history()]
    assert ids == sorted(set(ids))


def test_a_history_can_be_read_as_it_is_asked_for(store):
    for n in range(5):
        add(store, mission_id=f"m{n}")
    history = store.iter_history(decision_class="model_selection")
    assert next(history).mission_id == "m0"
    assert len(list(history)) == 4


def test_the_most_recent_come_first_and_no_more_than_asked_for(store):
    assert store.get_recent() == []
    for n in range(5):
        add(store, mission_id=f"m{n}", decision_context="routing" if n % 2 else "model_selection")
    assert store.get_recent() == store.get_history()[::-1]
    assert [record.mission_id for record in store.get_recent(2)] == ["m4", "m3"]
    assert [record.mission_id for record in store.get_recent(1, "routing")] == ["m3"]
    assert [record.mission_id for record in store.get_recent(mission_id="m2", phase="research")] == ["m2"]
    for limit in (0, -1, None):
        with pytest.raises(errors.InputError, match="limit="):
            store.get_recent(limit)
    with pytest.raises(errors.WrongType, match="limit='2'"):
        store.get_recent("2")


def test_the_first_date_is_included_and_the_last_is_not(store):
    for hours in range(4):
        add(store, mission_id=f"m{hours}", timestamp=NOON + timedelta(hours=hours))
    found = store.get_history(min_date=NOON + timedelta(hours=1), max_date=NOON + timedelta(hours=3))
    assert [record.mission_id for record in found] == ["m1", "m2"]
    assert len(store.get_history(min_date=NOON + timedelta(hours=1, microseconds=1))) == 2


@posix
def test_time_zones_are_mixed_and_naive_times_are_local(store, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        moments = [
            NOON,
            NOON.astimezone(timezone(timedelta(hours=9))),
            NOON.astimezone(timezone(-timedelta(hours=11, minutes=30))),
            datetime(2026, 3, 1, 7),  # noon in Greenwich is seven in New York
        ]
        for at in moments:
            add(store, timestamp=at)
        add(store, timestamp=datetime(2026, 7, 1, 8))  # and eight in summer
        stamps = [record.timestamp for record in store.get_history()]
        assert stamps == [NOON] * 4 + [datetime(2026, 7, 1, 12, tzinfo=UTC)]
        assert {stamp.tzinfo for stamp in stamps} == {UTC}
        assert len(store.get_history(min_date=datetime(2026, 3, 1, 7))) == 5
        assert len(store.get_history(min_date=datetime(2026, 3, 1, 7, 0, 1))) == 1
        assert len(store.get_history(min_date=datetime.now() - timedelta(days=365 * 50))) == 5
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_clock_that_goes_backwards_changes_no_order_and_loses_nothing(tmp_path):
    hours = [5, 3, 4, -100, 0, 3]
    moments = iter([NOON + timedelta(hours=hour) for hour in hours for _ in range(3)])
    with RewardStore(tmp_path, clock=lambda: next(moments)) as store:
        numbers = [add(store, mission_id=f"m{n}", timestamp=next(moments)) for n in range(len(hours))]
        found = store.get_history()
    assert [record.id for record in found] == numbers == sorted(set(numbers))
    assert [record.mission_id for record in found] == [f"m{n}" for n in range(len(hours))]


# -- versions ------------------------------------------------------------------------------------------------

HEAVY = RewardSignal.from_phase_outcome(score_delta=0.1, weights=RewardWeights(score_weight=0.5))
LONG = RewardSignal.from_phase_outcome(score_delta=0.1, config=RewardConfig(max_tokens=50_000))


def test_rewards_that_are_not_comparable_are_not_mixed_unless_that_is_wanted(store):
    add(store)
    add(store, signal=HEAVY)
    add(store, decision_context="routing", signal=HEAVY)
    with pytest.raises(errors.InputError, match=r"2 versions, which are not comparable: 1\.0\.0, 1\.0\.0\+\w{12}"):
        store.get_history()
    with pytest.raises(errors.InputError, match="mixed=True"):
        store.iter_history(decision_class="model_selection")
    assert [record.signal for record in store.get_history(mixed=True)] == [SIGNAL, HEAVY, HEAVY]
    assert [record.signal for record in store.get_history(version="1.0.0")] == [SIGNAL]
    assert [record.signal for record in store.get_recent(2)] == [HEAVY, HEAVY]
    with pytest.raises(errors.InputError, match="2 versions"):
        store.get_recent(3)
    assert [record.signal for record in store.get_recent(mixed=True)] == [HEAVY, HEAVY, SIGNAL]
    assert [record.signal for record in store.get_recent(version="1.0.0")] == [SIGNAL]
    assert [record.signal for record in store.get_history(decision_class="routing")] == [HEAVY]


def test_every_set_of_weights_and_settings_has_a_label_of_its_own(store):
    for signal in (SIGNAL, HEAVY, LONG, HEAVY):
        add(store, signal=signal)
    first, *others = store.versions()
    assert first == "1.0.0"
    assert len(others) == 2
    assert [len(store.get_history(version=label)) for label in (first, *others)] == [1, 2, 1]
    assert {record.signal.reward_version for record in store.get_history(mixed=True)} == {"1.0.0"}


def test_a_formula_that_makes_no_such_signal_is_an_error_that_says_where_to_look(store):
    rescaled = deepthinker.version("rescaled").score(**deepthinker.episode()[0])
    store.ledger.record(rescaled, run="m1", decision_class="routing")
    add(store)
    assert [record.signal for record in store.get_history(decision_class="model_selection")] == [SIGNAL]
    with pytest.raises(errors.LedgerError, match="deepthinker@rescaled .*store.ledger"):
        store.get_history(version="rescaled")
    assert len(store.get_history(version="1.0.0")) == 1


def test_scores_by_another_formula_are_no_part_of_the_history(store):
    for row in deepthinker.episode():
        add(store, signal=RewardSignal.from_phase_outcome(**row))
    store.ledger.rescore(deepthinker.version("rescaled"))
    assert len(store.get_history()) == len(deepthinker.episode())


# -- once ----------------------------------------------------------------------------------------------------


def test_a_key_is_stored_once(store):
    first = add(store, key="m1/research/1")
    assert add(store, key="m1/research/1") == first
    assert [record.key for record in store.get_history()] == ["m1/research/1"]
    with pytest.raises(errors.KeyConflict, match="m1/research/1"):
        add(store, key="m1/research/1", signal=LONG)


ADD = """
import sys
from plaudit.systems.deepthinker import RewardSignal, RewardStore

path, me = sys.argv[1], sys.argv[2]
with RewardStore(path) as store:
    for n in range(40):
        signal = RewardSignal.from_phase_outcome(cost_tokens=n)
        store.add(mission_id=me, phase="p", decision_context={"decision_class": "d", "n": n}, signal=signal)
        print(n, flush=True)
"""


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_several_processes_add_at_once(tmp_path, processes):
    command = [sys.executable, "-c", ADD, str(tmp_path)]
    writers = [PythonProcess([*command, f"m{n}"], stdout=subprocess.DEVNULL) for n in range(processes)]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * processes
    with RewardStore(tmp_path) as store:
        for n in range(processes):
            assert [record.context["n"] for record in store.iter_history(mission_id=f"m{n}")] == list(range(40))
        assert store.ledger.verify().ok


@posix
@pytest.mark.parametrize("rounds", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_what_add_returned_survives_a_kill(tmp_path, record_property, rounds):
    acknowledged = 0
    for n in range(rounds):
        writer = PythonProcess([sys.executable, "-c", ADD, str(tmp_path), f"m{n}"], stdout=subprocess.PIPE, text=True)
        for _ in range(3 + n):
            writer.stdout.readline()
        writer.kill()
        rest = writer.communicate()[0].split()
        acknowledged += 3 + n + len(rest)
        with RewardStore(tmp_path) as store:
            found = [record.context["n"] for record in store.iter_history(mission_id=f"m{n}")]
            assert found[: 3 + n + len(rest)] == list(range(3 + n + len(rest)))
            assert store.ledger.verify().ok
    record_property(
        "counted", ("deepthinker's store killed (kill -9)", {"kills": rounds, "acknowledged": acknowledged, "lost": 0})
    )


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "match"),
    [
        ({"decision_context": {}}, errors.MissingField, "has no 'decision_class'"),
        ({"decision_context": {"arm": 1}}, errors.MissingField, "has no 'decision_class'"),
        ({"decision_context": {"decision_class": None}}, errors.WrongType, "decision_class=None"),
        ({"decision_context": ""}, errors.WrongType, "decision_class=''"),
        ({"decision_context": 7}, errors.WrongType, "must be a mapping"),
        ({"decision_context": {"decision_class": "d", "r": math.nan}}, errors.InputError, "nan"),
        ({"decision_context": {"decision_class": "d", "r": [math.inf]}}, errors.InputError, "inf"),
        ({"decision_context": {"decision_class": "d", 1: 2}}, errors.WrongType, "key 1"),
        ({"decision_context": {"decision_class": "d", "at": NOON}}, errors.WrongType, "datetime"),
        ({"mission_id": ""}, errors.WrongType, "mission_id=''"),
        ({"mission_id": None}, errors.WrongType, "mission_id=None"),
        ({"mission_id": "nul\0"}, errors.InputError, "NUL"),
        ({"mission_id": "\ud800"}, errors.InputError, "surrogate"),
        ({"phase": 3}, errors.WrongType, "phase=3"),
        ({"signal": 0.15}, errors.WrongType, "must be a RewardSignal"),
        ({"signal": RewardSignal(reward=1.0)}, errors.InputError, "lacks its raw measurements"),
        (
            {"signal": replace(SIGNAL, reward=1.0)},
            errors.InputError,
            "does not match its raw measurements .*: reward would differ",
        ),
        ({"signal": replace(SIGNAL, reward_version="2")}, errors.InputError, "reward_version would differ"),
        (
            {"signal": replace(SIGNAL, components_raw=SIGNAL.components_raw | {"cost_tokens": 7.0})},
            errors.InputError,
            "does not match its raw",
        ),
        ({"timestamp": "yesterday"}, errors.WrongType, "not a datetime"),
    ],
)
def test_what_could_not_be_found_or_recomputed_is_refused(store, given, kind, match):
    with pytest.raises(kind, match=match):
        add(store, **given)
    assert store.get_history() == []


@pytest.mark.parametrize(
    "text",
    ["'; DROP TABLE blocks;--", '" OR 1=1', "%", "_", "\\", "ü\n\t", "a" * 10_000],
    ids=["drop", "or", "percent", "underscore", "backslash", "unicode", "long"],
)
def test_hostile_texts_are_only_texts(store, text):
    add(store)
    add(store, text, text, {"decision_class": text, "\0": "\u2028", text: text})
    for choice in ({"decision_class": text}, {"mission_id": text}, {"phase": text}):
        [record] = store.get_history(**choice)
        assert (record.mission_id, record.phase, record.decision_class) == (text, text, text)
        assert record.context == {"decision_class": text, "\0": "\u2028", text: text}


def test_a_context_of_10_mb_comes_back_as_it_was(store):
    context = {"decision_class": "d", "prompt": "x" * 10_000_000, "deep": json.loads("[" * 200 + "]" * 200)}
    add(store, decision_context=context)
    assert store.get_history()[0].context == context


def test_the_given_context_is_left_alone(store):
    context = {"decision_class": "d", "arm": 1}
    add(store, decision_context=context)
    assert context == {"decision_class": "d", "arm": 1}


def test_a_path_that_is_a_file_is_one_clear_error(tmp_path):
    (tmp_path / "rewards").write_text("mine")
    with pytest.raises(errors.FileError, match="is a file; name a directory"):
        RewardStore(tmp_path / "rewards")
    with pytest.raises(errors.FileError, match="cannot be created"):
        RewardStore(tmp_path / "rewards" / "deeper")
    assert (tmp_path / "rewards").read_text() == "mine"


def test_a_closed_store_says_so(tmp_path):
    store = RewardStore(tmp_path)
    store.close()
    store.close()
    with pytest.raises(errors.LedgerError, match="closed"):
        add(store)


def test_the_names_of_the_specification_are_there():
    assert {"RewardSignal", "RewardStore", "RewardWeights", "RewardConfig"} <= set(deepthinker.__all__)


# -- on a server ---------------------------------------------------------------------------------------------


def test_a_store_may_live_on_a_server(postgres_url):
    context = {"decision_class": "'; DROP TABLE blocks;--", "\0": "\u2028"}
    with RewardStore(postgres_url) as store:
        add(store, decision_context=context, timestamp=NOON)
        add(store, signal=HEAVY)
    with RewardStore(postgres_url) as store:
        first, second = store.get_history(mixed=True)
        assert (first.signal, first.context, first.timestamp) == (SIGNAL, context, NOON)
        assert second.signal == HEAVY
        assert store.ledger.verify().ok
