"""The logs of a run: their schemas, their older spellings, and what is refused in them."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from plaudit import errors
from plaudit.ledger.jsonl import append_line
from plaudit.systems import apex
from plaudit.systems.apex import Artifacts, DecisionRow, LatencyRow, RewardRow, Switch
from plaudit.systems.apex.logs import artifacts

REWARD = {
    "step": 7,
    "delta_pass_rate": 0.1,
    "delta_tokens": 200,
    "phase_advance": True,
    "switch_committed": False,
    "r_step": 0.35,
}
DECISION = {
    "step": 8,
    "topology": "star",
    "x": [1.0, 0.0, 0.0, 1.0, 0.5, 0.25, 0.25, 0.93],
    "action": "chain",
    "epsilon": 0.19997,
    "ms": 0.0164,
    "switch": {"attempted": True, "committed": True, "epoch": 1},
    "topology_after": "chain",
}
REFUSED = DECISION | {"switch": {"attempted": True, "committed": False, "epoch": 1, "error": "cooldown"}}
del REFUSED["topology_after"]
LATENCY = {"i": 7, "ms": 0.0164}
EXTRAS = {"tick_ms": 0.05, "requested": "chain", "executed": "stay", "probability": 0.05}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# -- rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        (RewardRow, REWARD),
        (RewardRow, REWARD | {"terminal": True}),
        (DecisionRow, DECISION),
        (DecisionRow, REFUSED),
        (LatencyRow, LATENCY),
    ],
    ids=["reward", "end", "switch", "refused switch", "latency"],
)
def test_a_row_comes_back_with_the_keys_of_its_schema_in_their_order(kind, row):
    again = kind.from_dict(row).to_dict()
    assert again == row
    assert list(again) == list(row)
    assert json.dumps(again) == json.dumps(row)
    assert kind.from_dict(again) == kind.from_dict(row)


@pytest.mark.parametrize(
    ("kind", "row", "extras"),
    [(RewardRow, REWARD, {"detector": "role_share"}), (DecisionRow, REFUSED, EXTRAS)],
    ids=["reward", "decision"],
)
def test_a_row_knows_its_schema_from_what_is_beyond_it(kind, row, extras):
    made = kind.from_dict(row | extras)
    assert made.to_dict() == row
    assert list(made.to_dict(extras=True).items()) == [*row.items(), *extras.items()]
    assert {name: getattr(made, name) for name in extras} == extras


def test_keys_that_no_schema_names_are_kept():
    row = DECISION | {"host": "a", "switch": DECISION["switch"] | {"took_ms": 3}}
    made = DecisionRow.from_dict(row)
    assert made.to_dict() == DECISION
    assert made.to_dict(extras=True) == row
    assert (made.more, made.switch.more) == ({"host": "a"}, {"took_ms": 3})


@pytest.mark.parametrize(
    ("kind", "row", "today"),
    [
        (RewardRow, REWARD | {"delta_pass_rate": 0}, REWARD | {"delta_pass_rate": 0.0}),
        (RewardRow, REWARD | {"delta_tokens": 200.0, "r_step": 1}, REWARD | {"delta_tokens": 200, "r_step": 1.0}),
        (RewardRow, REWARD | {"terminal": False}, REWARD),
        (RewardRow, REWARD | {"terminal": None}, REWARD),
        (
            DecisionRow,
            {**{k: v for k, v in DECISION.items() if k != "ms"}, "bandit_ms": 0.0164, "tick_ms": 0.05},
            DECISION,
        ),
        (DecisionRow, DECISION | {"x": [1, 0, 0, 1, 0.5, 0.25, 0.25, 0.93], "epsilon": 0}, DECISION | {"epsilon": 0.0}),
        (DecisionRow, REFUSED | {"topology_after": None}, REFUSED),
        (DecisionRow, DECISION | {"switch": DECISION["switch"] | {"error": None}}, DECISION),
        (LatencyRow, {"i": 7, "bandit_ms": 0.0164}, LATENCY),
        (LatencyRow, {"i": 7, "ms": 1}, {"i": 7, "ms": 1.0}),
    ],
)
def test_older_spellings_are_read_and_todays_are_written(kind, row, today):
    assert json.dumps(kind.from_dict(row).to_dict()) == json.dumps(today)


@pytest.mark.parametrize(
    ("kind", "row", "change", "error", "match"),
    [
        (RewardRow, REWARD, {"step": 0}, errors.OutOfRange, "key 'step': 0 is below 1"),
        (RewardRow, REWARD, {"step": "7"}, errors.WrongType, "key 'step': '7' is not a number"),
        (RewardRow, REWARD, {"step": True}, errors.WrongType, "key 'step': True is not a number"),
        (RewardRow, REWARD, {"step": 2.5}, errors.WrongType, "key 'step': 2.5 is not an integer"),
        (RewardRow, REWARD, {"delta_tokens": 0.5}, errors.WrongType, "key 'delta_tokens': 0.5 is not an integer"),
        (RewardRow, REWARD, {"r_step": float("nan")}, errors.NotFinite, "key 'r_step': nan is not a finite number"),
        (RewardRow, REWARD, {"phase_advance": 1}, errors.WrongType, "key 'phase_advance': 1 is neither true nor false"),
        (RewardRow, REWARD, {"detector": 3}, errors.WrongType, "key 'detector': 3 is not a string"),
        (RewardRow, REWARD, {"r_step": None}, errors.MissingField, "key 'r_step': it is missing"),
        (DecisionRow, DECISION, {"x": []}, errors.WrongType, "key 'x': .* is not a list of numbers"),
        (DecisionRow, DECISION, {"x": [1.0] * 7 + [float("inf")]}, errors.NotFinite, "key 'x'"),
        (DecisionRow, DECISION, {"action": 1}, errors.WrongType, "key 'action': 1 is not a string"),
        (DecisionRow, DECISION, {"executed": 1}, errors.WrongType, "key 'executed'"),
        (DecisionRow, DECISION, {"epsilon": 1.5}, errors.OutOfRange, "key 'epsilon': 1.5 is not from 0 to 1"),
        (DecisionRow, DECISION, {"ms": -1}, errors.OutOfRange, "key 'ms': -1.0 is below 0"),
        (DecisionRow, DECISION, {"bandit_ms": 1}, errors.InputError, "key 'bandit_ms': it is given twice"),
        (DecisionRow, DECISION, {"topology": 1}, errors.WrongType, "key 'topology': 1 is not a string"),
        (DecisionRow, DECISION, {"switch": True}, errors.WrongType, "key 'switch': True is not a switch"),
        (DecisionRow, DECISION, {"switch": {"attempted": True}}, errors.MissingField, "key 'switch', key 'committed'"),
        (
            DecisionRow,
            REFUSED,
            {"topology_after": "chain"},
            errors.InputError,
            "key 'topology_after': 'chain', but no switch",
        ),
        (LatencyRow, LATENCY, {"i": -1}, errors.OutOfRange, "key 'i': -1 is below 0"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(tmp_path, kind, row, change, error, match):
    with pytest.raises(error, match=match):
        kind.from_dict(row | change)


@pytest.mark.parametrize(("kind", "row"), [(RewardRow, REWARD), (DecisionRow, REFUSED), (LatencyRow, LATENCY)])
def test_every_key_of_a_schema_is_needed(kind, row):
    for key in row:
        with pytest.raises(errors.MissingField, match=f"key '{key}': it is missing"):
            kind.from_dict({name: value for name, value in row.items() if name != key})


def test_what_is_no_object_is_no_row():
    with pytest.raises(errors.WrongType, match="a row must be an object"):
        RewardRow.from_dict([REWARD])


def test_a_reward_belongs_to_the_decision_before_it():
    assert RewardRow.from_dict(REWARD | {"step": 9}).decision == 8 == DecisionRow.from_dict(DECISION).step
    assert LatencyRow(i=7, ms=0.1).decision == 8


# -- writing -------------------------------------------------------------------------------------------------


def test_logs_lie_in_the_folder_artifacts_of_the_run(tmp_path, monkeypatch):
    with Artifacts(tmp_path / "runs" / "7") as log:
        log.append_reward(REWARD)
        log.append_decision(DecisionRow.from_dict(DECISION))
        log.append_latency(LATENCY)
    folder = tmp_path / "runs" / "7" / "artifacts"
    assert {path.name: lines(path) for path in folder.iterdir()} == {
        "rewards.jsonl": [REWARD],
        "controller_decisions.jsonl": [DECISION],
        "controller_latency.jsonl": [LATENCY],
    }
    monkeypatch.chdir(tmp_path)
    assert Artifacts().folder.resolve() == tmp_path / "artifacts"
    assert Artifacts(folder="docs/A4/artifacts").folder.resolve() == tmp_path / "docs" / "A4" / "artifacts"
    assert Artifacts("elsewhere", folder=tmp_path / "here").folder == tmp_path / "here"


def test_a_log_begins_with_its_first_row(tmp_path):
    with Artifacts(tmp_path) as log:
        assert list(log.folder.iterdir()) == []
        log.append_latency(LATENCY)
        assert [path.name for path in log.folder.iterdir()] == ["controller_latency.jsonl"]


def test_a_row_is_in_the_file_when_the_call_returns(tmp_path):
    with Artifacts(tmp_path) as log:
        for step in (2, 3, 4):
            log.append_reward(REWARD | {"step": step})
            assert [row["step"] for row in lines(log.folder / "rewards.jsonl")] == list(range(2, step + 1))


def test_what_a_row_says_beyond_its_schema_is_in_a_file_of_its_own_and_comes_back(tmp_path):
    rewards = [REWARD, REWARD | {"step": 8, "detector": "explicit", "episode": 1, "host": "a"}]
    decision = REFUSED | EXTRAS | {"switch": REFUSED["switch"] | {"took_ms": 3}, "line": 7, "extras": {}}
    with Artifacts(tmp_path) as log:
        for row in rewards:
            log.append_reward(row)
        log.append_decision(decision)
    assert lines(log.folder / "rewards.jsonl") == [REWARD, REWARD | {"step": 8}]
    assert lines(log.folder / "controller_decisions.jsonl") == [REFUSED]
    assert lines(log.folder / "extras.jsonl")[0] == {
        "log": "rewards.jsonl", "line": 2, "step": 8, "extras": {"detector": "explicit", "episode": 1, "host": "a"},
    }  # fmt: skip
    assert [row.to_dict(extras=True) for row in apex.read_rewards(log.folder)] == rewards
    assert [row.to_dict(extras=True) for row in apex.read_decisions(log.folder)] == [decision]


def test_extras_find_their_rows_again_however_often_a_log_is_opened_and_whatever_was_torn(tmp_path):
    for episode in (1, 2, 3):
        with Artifacts(tmp_path) as log:
            log.append_reward(REWARD | {"episode": episode})
            log.append_reward(REWARD | {"step": 8, "episode": None if episode == 2 else episode})
        path = log.folder / "rewards.jsonl"
        path.write_bytes(path.read_bytes() + b'{"step": 9, "del')  # as a crash leaves it
    assert [row.episode for row in apex.read_rewards(log.folder)] == [1, 1, 2, None, 3, 3]


def test_extras_of_another_row_are_refused(tmp_path):
    with Artifacts(tmp_path) as log:
        for step in (7, 8):
            log.append_reward(REWARD | {"step": step, "episode": 1})
    path = log.folder / "rewards.jsonl"
    write(path, REWARD | {"step": 8})
    with pytest.raises(errors.InputError, match=r"rewards.jsonl, line 1: its entry in extras.jsonl is for another row"):
        list(apex.read_rewards(path))
    write(log.folder / "extras.jsonl", {"log": "rewards.jsonl", "line": 1, "step": 8, "extras": {"r_step": 99.0}})
    with pytest.raises(errors.InputError, match=r"rewards.jsonl, line 1, key 'r_step': it is in extras.jsonl too"):
        list(apex.read_rewards(path))
    write(log.folder / "extras.jsonl", {"log": "rewards.jsonl", "episode": 1})
    with pytest.raises(errors.InputError, match=r"extras.jsonl, line 1: a row needs `log`"):
        list(apex.read_rewards(path))


@pytest.mark.skipif(os.name != "posix", reason="a folder cannot be locked there")
def test_a_second_writer_at_the_same_time_is_refused(tmp_path):
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD)
        with pytest.raises(errors.LedgerBusy, match="another Artifacts is writing to"):
            Artifacts(tmp_path).append_reward(REWARD)
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD | {"step": 8})
    del log
    unclosed = Artifacts(tmp_path)
    unclosed.append_latency(LATENCY)
    del unclosed
    Artifacts(tmp_path).append_latency(LATENCY | {"i": 8})


def test_a_folder_that_cannot_be_locked_is_written_to_all_the_same(tmp_path, monkeypatch):
    def refuse(file):
        raise OSError(errno.EBADF, "Bad file descriptor")  # as a network file system does

    monkeypatch.setattr(artifacts, "try_lock", refuse)
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD)
    assert lines(log.folder / "rewards.jsonl") == [REWARD]


def test_threads_may_share_one_writer(tmp_path):
    with Artifacts(tmp_path, fsync=False) as log, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda at: log.append_reward(REWARD | {"step": at, "episode": at}), range(1, 200)))
    assert all(row.step == row.episode for row in apex.read_rewards(log.folder))


def test_a_row_that_is_wrong_is_not_written(tmp_path):
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD)
        with pytest.raises(errors.WrongType, match="RewardRow, key 'delta_tokens'"):
            log.append_reward(REWARD | {"delta_tokens": "many"})
        with pytest.raises(errors.MissingField):
            log.append_reward(LatencyRow(i=0, ms=1.0).to_dict())
    assert lines(log.folder / "rewards.jsonl") == [REWARD]


def test_what_an_earlier_run_tore_is_cut_and_reported(tmp_path):
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD)
    path = log.folder / "rewards.jsonl"
    path.write_bytes(path.read_bytes() + b'{"step": 8, "del')
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD | {"step": 8})
        assert log.dropped == {"rewards.jsonl": b'{"step": 8, "del'}
    assert [row["step"] for row in lines(path)] == [7, 8]


@pytest.mark.skipif(not hasattr(os, "fdatasync"), reason="needs fdatasync")
@pytest.mark.parametrize("fsync", [True, False])
def test_a_row_is_on_the_disk_unless_the_caller_does_without(tmp_path, monkeypatch, fsync):
    asked = []
    monkeypatch.setattr(os, "fdatasync", asked.append)
    with Artifacts(tmp_path, fsync=fsync) as log:
        log.append_reward(REWARD)
    assert len(asked) == fsync


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "artifacts").write_text("")
    with pytest.raises(errors.FileError, match="artifacts cannot be created"):
        Artifacts(tmp_path)


# -- reading -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "name", "kind", "row"),
    [
        (apex.read_rewards, "rewards.jsonl", RewardRow, REWARD),
        (apex.read_decisions, "controller_decisions.jsonl", DecisionRow, DECISION),
        (apex.read_latencies, "controller_latency.jsonl", LatencyRow, LATENCY),
    ],
    ids=["rewards", "decisions", "latencies"],
)
def test_a_log_is_read_by_its_folder_or_by_any_name(tmp_path, read, name, kind, row):
    write(tmp_path / name, row, row)
    write(tmp_path / "other.log", row)
    assert list(read(tmp_path)) == [kind.from_dict(row)] * 2
    assert list(read(tmp_path / "other.log")) == [kind.from_dict(row)]
    with pytest.raises(errors.FileError, match=f"{name} cannot be read"):
        read(tmp_path / "empty" / name)


def test_a_wrong_row_is_named_by_file_line_and_key(tmp_path):
    path = write(tmp_path / "rewards.jsonl", REWARD, REWARD | {"r_step": "much"})
    rows = apex.read_rewards(path)
    assert next(rows).step == 7
    with pytest.raises(errors.WrongType, match=r"rewards\.jsonl, line 2, key 'r_step': 'much' is not a number"):
        next(rows)


def test_a_damaged_line_is_named_too(tmp_path):
    path = write(tmp_path / "rewards.jsonl", REWARD)
    path.write_text("{}}\n" + path.read_text())
    with pytest.raises(errors.LedgerError, match=r"rewards\.jsonl, line 1: this is not JSON"):
        list(apex.read_rewards(path))


def test_a_torn_last_line_ends_the_rows_and_is_reported(tmp_path):
    path = write(tmp_path / "rewards.jsonl", REWARD)
    path.write_bytes(path.read_bytes() + b'{"step"')
    rows = apex.read_rewards(path)
    assert [row.step for row in rows] == [7]
    assert rows.dropped == b'{"step"'


def test_transitions_become_states_by_an_offset(tmp_path):
    path = write(tmp_path / "rewards.jsonl", *(REWARD | {"step": step} for step in (0, 4, 8, 13, 24, 25)))
    assert [row.step for row in apex.read_rewards(path, offset=1)] == [1, 5, 9, 14, 25, 26]


def test_a_switch_is_part_of_a_decision():
    made = DecisionRow(
        step=1,
        topology="star",
        x=[0] * 8,
        action="stay",
        epsilon=0.2,
        ms=0,
        switch=Switch(attempted=False, committed=False, epoch=0),
    )
    assert made.to_dict()["switch"] == {"attempted": False, "committed": False, "epoch": 0}
    assert hash(made) == hash(DecisionRow.from_dict(made.to_dict()))


def test_the_writer_and_the_plain_writer_write_the_same_file(tmp_path):
    rows = list(apex.build_reward_rows(apex.scenario()))
    apex.write_rewards(tmp_path / "whole.jsonl", rows)
    with Artifacts(tmp_path) as log:
        for row in rows:
            log.append_reward(row)
    for row in rows:
        append_line(tmp_path / "lines.jsonl", row)
    files = (log.folder / "rewards.jsonl", tmp_path / "whole.jsonl", tmp_path / "lines.jsonl")
    assert len({path.read_bytes() for path in files}) == 1


def test_the_log_of_a_run_with_extras_is_not_replaced_by_other_rows(tmp_path):
    with Artifacts(tmp_path) as log:
        log.append_reward(REWARD | {"episode": 7})
        log.append_latency({"i": 0, "ms": 0.1})
    path = log.folder / "rewards.jsonl"
    before = path.read_bytes()
    with pytest.raises(errors.FileError, match="is the log of a run, with extras beside it"):
        apex.write_rewards(path, [REWARD])
    assert path.read_bytes() == before
    apex.write_rewards(log.folder / "others.jsonl", [REWARD])
    assert [row.episode for row in apex.read_rewards(log.folder / "others.jsonl")] == [None]
