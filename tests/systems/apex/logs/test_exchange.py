"""The logs of a run in a ledger: in and out again, row for row."""

import json
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.ledger.jsonl import append_line, read_lines
from plaudit.ledger.ledger import Ledger
from plaudit.systems import apex, deepthinker
from plaudit.systems.apex.logs import artifacts
from plaudit.systems.apex.logs.exchange import locate_rows
from support.examples import examples

STATES = apex.scenario()
FILES = ("rewards.jsonl", "controller_decisions.jsonl", "controller_latency.jsonl")


def decision(step, *, committed=False):
    """Return a decision as the controller logs it."""
    switch = {"attempted": committed, "committed": committed, "epoch": int(committed)}
    row = {
        "step": step,
        "topology": "star",
        "x": [1.0, 0.0, 0.0, 1.0, 0.1 * (step % 10), 0.2, 0.3, 1 - step / 100],
        "action": "chain" if committed else "stay",
        "epsilon": 0.2 - 3e-5 * (step - 1),
        "ms": 0.01 + step / 7000,
        "switch": switch,
    }
    return row | ({"topology_after": "chain"} if committed else {})


REWARDS = list(apex.build_reward_rows(STATES, success=True))
# The reward of step k belongs to decision k - 1: what is charged in states 9 and 16 was decided at ticks 8 and 15.
DECISIONS = [decision(step, committed=step in (8, 15)) for step in range(1, 25)]
LATENCIES = [{"i": row["step"] - 1, "ms": row["ms"]} for row in DECISIONS]


def put(folder, rewards=REWARDS, decisions=DECISIONS, latencies=LATENCIES):
    """Write the logs of a run as they are given, and return their folder."""
    folder.mkdir(exist_ok=True)
    for name, rows in zip(FILES, (rewards, decisions, latencies), strict=True):
        if rows:
            (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def export_rows(ledger, folder):
    """Export a run and return its rows by file, as JSON texts: order of rows and keys, and every bit, counts."""
    apex.export_artifacts(ledger, folder, run="r")
    readers = zip(FILES, (apex.read_rewards, apex.read_decisions, apex.read_latencies), strict=True)
    rows = {name: list(read(folder)) for name, read in readers if (folder / name).exists()}
    for name, found in rows.items():
        assert (folder / name).read_text(encoding="utf-8").splitlines() == [json.dumps(row.to_dict()) for row in found]
    return {name: [json.dumps(row.to_dict(extras=True)) for row in found] for name, found in rows.items()}


def encode_rows(rewards=(), decisions=(), latencies=()):
    return {
        name: [json.dumps(row) for row in rows]
        for name, rows in zip(FILES, (rewards, decisions, latencies), strict=True)
        if rows
    }


# -- the scenario --------------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_was(ledger, tmp_path):
    found = apex.import_artifacts(ledger, put(tmp_path / "in"), run="r")
    assert found == (25, 24, 24, 0, 0, {})
    assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS, DECISIONS, LATENCIES)


def test_what_we_logged_is_the_formula_to_the_bit(ledger, tmp_path):
    apex.import_artifacts(ledger, put(tmp_path / "in"), run="r")
    records = list(ledger.history(run="r"))
    assert [record.signal.total.hex() for record in records] == [row["r_step"].hex() for row in REWARDS]
    assert [record.step for record in records] == list(range(2, 27))
    assert {(record.signal.reward, record.signal.version) for record in records} == {("apex", "logged")}
    assert sum(record.signal.total for record in records) == pytest.approx(2.75, abs=1e-9)
    assert ledger.verify().ok


def test_a_reward_is_recorded_with_the_decision_that_earned_it(ledger, tmp_path):
    apex.import_artifacts(ledger, put(tmp_path / "in"), run="r")
    records = list(ledger.history(run="r"))
    assert len(records) == len(REWARDS)
    for record in records:
        if record.step == 26:  # the end: no decision was taken in the last state, so the one before is credited again
            assert record.context["decision"]["step"] == 24
            assert record.context["again"] is True
            continue
        assert "again" not in record.context
        assert record.context["decision"]["step"] == record.step - 1
        assert record.context["latency"]["i"] == record.step - 2
        charged = record.signal["switch_cost"].score == 1.0
        assert record.context["decision"]["switch"]["committed"] is charged


def test_importing_again_adds_nothing(ledger, tmp_path):
    folder = put(tmp_path / "in")
    first = apex.import_artifacts(ledger, folder, run="r")
    assert apex.import_artifacts(ledger, folder, run="r") == first
    assert ledger.history().count() == 25
    apex.import_artifacts(ledger, folder, run="another")
    assert ledger.history().count() == 50
    assert ledger["r/1/reward/26"].signal.total == 1.0


def test_a_log_that_grew_adds_what_is_new(ledger, tmp_path):
    apex.import_artifacts(ledger, put(tmp_path / "in", REWARDS[:10], DECISIONS[:14], LATENCIES[:14]), run="r")
    found = apex.import_artifacts(ledger, put(tmp_path / "in"), run="r")
    assert found == (25, 24, 24, 0, 0, {})
    assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS, DECISIONS, LATENCIES)


# -- what does not match -------------------------------------------------------------------------------------


def test_what_has_no_reward_is_kept(ledger, tmp_path):
    rewards, latencies = REWARDS[3:20], LATENCIES[::2]
    found = apex.import_artifacts(ledger, put(tmp_path / "in", rewards, DECISIONS, latencies), run="r")
    assert (found.rewards, found.decisions, found.latencies) == (17, 24, 12)
    assert found.unrewarded > 0
    assert export_rows(ledger, tmp_path / "out") == encode_rows(rewards, DECISIONS, latencies)
    assert sum(record.signal.reward == "apex" for record in ledger.history(run="r")) == 17


@pytest.mark.parametrize("only", [0, 1, 2], ids=FILES)
def test_one_log_alone_will_do(ledger, tmp_path, only):
    rows = [REWARDS, DECISIONS, LATENCIES]
    given = [part if at == only else [] for at, part in enumerate(rows)]
    folder = put(tmp_path / "in", *given)
    apex.import_artifacts(ledger, folder, run="r")
    assert export_rows(ledger, tmp_path / "out") == encode_rows(*given)
    name = ("rewards", "decisions", "latencies")[only]
    again = apex.import_artifacts(ledger, run="again", **{name: folder / FILES[only]})
    assert getattr(again, name) == len(rows[only])


def test_several_episodes_in_one_file_stay_apart(ledger, tmp_path):
    other = list(apex.build_reward_rows(STATES[:9], success=False))
    rewards, decisions = REWARDS + other + other[-1:], DECISIONS + DECISIONS[:8]
    rewards[-1] = rewards[-1] | {"step": 2}  # an episode of a single state
    latencies = LATENCIES + LATENCIES[:8]
    apex.import_artifacts(ledger, put(tmp_path / "in", rewards, decisions, latencies), run="r")
    records = list(ledger.history(run="r"))
    assert [sum(record.episode == episode for record in records) for episode in ("1", "2", "3")] == [25, 9, 1]
    assert export_rows(ledger, tmp_path / "out") == encode_rows(rewards, decisions, latencies)


def test_a_folder_without_logs_is_an_error(ledger, tmp_path):
    with pytest.raises(errors.FileError, match="has none of rewards.jsonl, controller_decisions.jsonl"):
        apex.import_artifacts(ledger, tmp_path, run="r")


def test_a_run_that_is_not_there_is_an_error_and_leaves_nothing(ledger, tmp_path):
    with pytest.raises(errors.NotInLedger, match="no steps of apex in the run 'r'"):
        apex.export_artifacts(ledger, tmp_path / "out", run="r")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_torn_last_line_is_reported(ledger, tmp_path):
    folder = put(tmp_path / "in")
    path = folder / "controller_decisions.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    found = apex.import_artifacts(ledger, folder, run="r")
    assert found.decisions == 23
    assert list(found.dropped) == [str(path)]
    assert found.dropped[str(path)].startswith(b'{"step": 24')


# -- other logs ----------------------------------------------------------------------------------------------

SAMPLES = [
    {"step": 5, "delta_pass_rate": 0.0, "delta_tokens": 50, "phase_advance": True, "switch_committed": False, "r_step": 0.295},
    {"step": 9, "delta_pass_rate": 0.0, "delta_tokens": 200, "phase_advance": False, "switch_committed": True, "r_step": -0.07},
    {"step": 14, "delta_pass_rate": 0.1, "delta_tokens": 150, "phase_advance": False, "switch_committed": False, "r_step": 0.055},
    {"step": 25, "delta_pass_rate": 0.05, "delta_tokens": 100, "phase_advance": True, "switch_committed": False, "r_step": 0.325},
    {"step": 26, "delta_pass_rate": 0.0, "delta_tokens": 0, "phase_advance": False, "switch_committed": False, "r_step": 1.0, "terminal": True},
]  # fmt: skip


def test_rounded_rewards_are_kept_as_they_were(ledger, tmp_path):
    found = apex.import_artifacts(ledger, put(tmp_path / "in", SAMPLES, [], []), run="r")
    assert found.rounded == 2
    assert export_rows(ledger, tmp_path / "out") == encode_rows(SAMPLES)
    assert ledger.verify().ok


def test_rewards_of_another_formula_are_listed_and_nothing_is_recorded(ledger, tmp_path):
    rows = [row | {"r_step": row["r_step"] * 2} for row in REWARDS]
    folder = put(tmp_path / "in", rows)
    with pytest.raises(errors.InputError) as caught:
        apex.import_artifacts(ledger, folder, run="r")
    assert "25 of its rewards do not match the formula" in str(caught.value)
    assert "line 1 (step 2): -0.01, by the formula -0.005" in str(caught.value)
    assert "and 20 more" in str(caught.value)
    assert ledger.history().count() == 0
    found = apex.import_artifacts(ledger, folder, run="r", keep_differing=True)
    assert (found.rewards, found.rounded) == (25, 25)
    assert export_rows(ledger, tmp_path / "out") == encode_rows(rows, DECISIONS, LATENCIES)
    assert [record.context["r_step"] for record in ledger.history(run="r")] == [row["r_step"] for row in rows]


@pytest.mark.parametrize("name", FILES)
def test_a_bad_row_in_any_log_leaves_nothing_half_done(ledger, tmp_path, name):
    folder = put(tmp_path / "in")
    with (folder / name).open("a") as file:
        file.write('{"step": 99}\n')
    with pytest.raises(errors.MissingField, match=rf"{name}, line 2[56], key"):
        apex.import_artifacts(ledger, folder, run="r")
    assert ledger.history().count() == 0


def test_the_same_key_with_other_content_is_a_conflict(ledger, tmp_path):
    apex.import_artifacts(ledger, put(tmp_path / "in"), run="r")
    changed = [decision(step, committed=step == 3) for step in range(1, 25)]
    with pytest.raises(errors.KeyConflict, match="r/1/reward/4"):
        apex.import_artifacts(ledger, put(tmp_path / "in", REWARDS, changed), run="r")


def test_older_logs_are_imported_and_come_back_as_they_are_written_today(ledger, tmp_path):
    rewards = [row | {"step": row["step"] - 1} for row in REWARDS]
    decisions = [{("bandit_ms" if key == "ms" else key): value for key, value in row.items()} for row in DECISIONS]
    apex.import_artifacts(ledger, put(tmp_path / "in", rewards, decisions), run="r", offset=1)
    assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS, DECISIONS, LATENCIES)


def test_extras_come_back_beside_the_logs(ledger, tmp_path):
    rewards = [row | {"detector": "explicit", "host": "a"} for row in REWARDS]
    extras = {"tick_ms": 0.05, "requested": "stay", "executed": "stay", "probability": 0.85, "greedy": 0}
    decisions = [row | extras for row in DECISIONS]
    apex.import_artifacts(ledger, put(tmp_path / "in", rewards, decisions), run="r")
    assert export_rows(ledger, tmp_path / "out") == encode_rows(rewards, decisions, LATENCIES)
    for name, rows in zip(FILES, (REWARDS, DECISIONS, LATENCIES), strict=True):
        assert list(read_lines(tmp_path / "out" / name)) == rows


def test_an_export_leaves_no_extras_of_an_earlier_one(ledger, tmp_path):
    apex.import_artifacts(ledger, put(tmp_path / "in", [row | {"episode": 7} for row in REWARDS], [], []), run="s")
    apex.import_artifacts(ledger, put(tmp_path / "other", REWARDS, [], []), run="r")
    apex.export_artifacts(ledger, tmp_path / "out", run="s")
    assert [row.episode for row in apex.read_rewards(tmp_path / "out")] == [7] * 25
    assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS)


def test_steps_recorded_as_they_happen_are_exported_as_the_log_they_would_have_left(ledger, tmp_path):
    accumulator = apex.RewardAccumulator()
    for step, (before, after) in enumerate(pairwise(STATES), start=2):
        ledger.record(accumulator.signal(before, after), run="r", step=step, phase=after["phase"])
    ledger.record(apex.reward.score_terminal(success=True), run="r", step=26)
    assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS)


def test_a_failed_export_leaves_what_was_there(ledger, tmp_path):
    ledger.record(apex.RewardAccumulator().signal(STATES[0], STATES[1]), run="r", step=2)
    ledger.record(apex.RewardAccumulator().signal(STATES[1], STATES[2]), run="r")
    (tmp_path / "rewards.jsonl").write_text("as it was")
    with pytest.raises(errors.InputError, match="record 2 has no step"):
        apex.export_artifacts(ledger, tmp_path, run="r")
    assert (tmp_path / "rewards.jsonl").read_text() == "as it was"
    assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part"))


def test_other_rewards_of_the_run_are_no_part_of_its_logs(ledger, tmp_path):
    apex.import_artifacts(ledger, put(tmp_path / "in"), run="r")
    ledger.record(deepthinker.reward.score(**deepthinker.episode()[0]), run="r")
    ledger.rescore(apex.logged.with_weights(token_cost=-1e-5).with_version("cheap tokens"))
    assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS, DECISIONS, LATENCIES)


def test_a_folder_that_cannot_be_made_is_one_clear_error(ledger, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(errors.FileError, match="out cannot be created"):
        apex.export_artifacts(ledger, tmp_path / "out", run="r")


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(
    st.builds(
        apex.RewardRow,
        step=st.integers(1, 12),
        delta_pass_rate=st.floats(-1, 1),
        delta_tokens=st.integers(-(10**6), 2**40),
        phase_advance=st.booleans(),
        switch_committed=st.booleans(),
        r_step=NUMBERS,
        terminal=st.booleans(),
        detector=st.none() | st.sampled_from(apex.DETECTORS),
        more=st.dictionaries(st.sampled_from(["host", "größe", "nul\0"]), NUMBERS | st.text(), max_size=2),
    ).map(lambda row: row.to_dict(extras=True)),
    min_size=1,
    max_size=8,
)
TICKS = st.lists(st.integers(1, 12), max_size=8)


def with_episodes(kind, rows):
    """Return rows that say their episodes: the next begins where the steps do not go up."""
    found = locate_rows(map(kind.from_dict, rows))
    return [replace(row, episode=place.episode).to_dict(extras=True) for place, row in found]


@examples(0.15)
@given(rewards=ROWS, ticks=TICKS, latencies=TICKS)
def test_any_log_comes_back_as_it_was(empty_ledger, tmp_path_factory, rewards, ticks, latencies):
    folder = tmp_path_factory.mktemp("logs")
    rewards = with_episodes(apex.RewardRow, rewards)
    decisions = with_episodes(apex.DecisionRow, [decision(tick) for tick in ticks])
    latencies = with_episodes(apex.LatencyRow, [{"i": tick - 1, "ms": tick / 3} for tick in latencies])
    with Ledger(shutil.copy(empty_ledger, folder)) as ledger:
        apex.import_artifacts(ledger, put(folder / "in", rewards, decisions, latencies), run="r", keep_differing=True)
        assert export_rows(ledger, folder / "out") == encode_rows(rewards, decisions, latencies)
    with Ledger(shutil.copy(empty_ledger, folder)) as ledger:  # and what we write ourselves is read like any other log
        apex.import_artifacts(ledger, folder / "out", run="r", keep_differing=True)
        assert export_rows(ledger, folder / "again") == encode_rows(rewards, decisions, latencies)


def test_hostile_names_and_texts_are_only_texts(ledger, tmp_path):
    hostile = "r'; DROP TABLE blocks;-- \" % _ \\"
    rewards = [REWARDS[0] | {"note": hostile + "\0" + "x" * 10_000_000}]
    append_line(tmp_path / "rewards.jsonl", *rewards)
    apex.import_artifacts(ledger, tmp_path, run=hostile)
    apex.export_artifacts(ledger, tmp_path / "out", run=hostile)
    assert [row.to_dict(extras=True) for row in apex.read_rewards(tmp_path / "out")] == rewards


def test_a_run_comes_back_from_a_server_as_it_was(postgres_url, tmp_path):
    with Ledger(postgres_url) as ledger:
        folder = put(tmp_path / "in", REWARDS[2:], DECISIONS, LATENCIES)
        assert apex.import_artifacts(ledger, folder, run="r") == apex.import_artifacts(ledger, folder, run="r")
        assert export_rows(ledger, tmp_path / "out") == encode_rows(REWARDS[2:], DECISIONS, LATENCIES)
        assert ledger.verify().ok


# -- several episodes ----------------------------------------------------------------------------------------


def episode(number, steps, *, rewarded=True, said=True):
    """Return the logs of an episode: rewards, decisions and latencies, which may say its number."""
    more = {"episode": number} if said else {}
    rewards = [row | more for row in REWARDS[:steps]] if rewarded else []
    return rewards, [row | more for row in DECISIONS[:steps]], [row | more for row in LATENCIES[:steps]]


def joined(ledger):
    """Return which reward has which decision, by the episodes that the rows say."""
    return [
        (record.episode, record.context["episode"], record.context["decision"]["episode"], record.step)
        for record in ledger.history(run="r", decision_class="topology")
    ]


def test_an_episode_without_a_reward_takes_none_from_another(ledger, tmp_path):
    logs = [[*first, *second] for first, second in zip(episode(1, 3, rewarded=False), episode(2, 2), strict=True)]
    apex.import_artifacts(ledger, put(tmp_path / "in", *logs), run="r")
    assert joined(ledger) == [("2", 2, 2, 2), ("2", 2, 2, 3)]
    assert export_rows(ledger, tmp_path / "out") == encode_rows(*logs)


@pytest.mark.parametrize("lines", range(6))
def test_a_run_that_was_killed_between_two_lines_and_went_on_is_imported(ledger, tmp_path, monkeypatch, lines):
    rows = [[each[0] for each in episode(number, 1)] for number in (1, 2)]
    written = []

    def die(path, row, **options):
        if len(written) == lines:
            raise SystemExit
        written.append(row)
        return append_line(path, row, **options)

    with monkeypatch.context() as patched, apex.Artifacts(tmp_path) as log, pytest.raises(SystemExit):
        patched.setattr(artifacts, "append_line", die)
        append_all(log, *rows[0])
        raise SystemExit
    with apex.Artifacts(tmp_path) as log:
        append_all(log, *rows[1])
    found = apex.import_artifacts(ledger, log.folder, run="r")
    assert (found.rewards, found.decisions) == (1 + (lines >= 6), 1 + (lines >= 2))
    assert joined(ledger)[-1] == ("2", 2, 2, 2)


def append_all(log, reward, decision, latency):
    log.append_decision(decision)
    log.append_latency(latency)
    log.append_reward(reward)


def test_episodes_that_are_mixed_are_told_apart(ledger, tmp_path):
    one, other = episode(1, 3), episode(2, 3)
    logs = [
        [row for pair in zip(*parts, strict=True) for row in pair[:: 1 - 2 * (log == 0)]]
        for log, parts in enumerate(zip(one, other, strict=True))
    ]
    apex.import_artifacts(ledger, put(tmp_path / "in", *logs), run="r")
    assert joined(ledger) == [
        ("1", 1, 1, 2),
        ("1", 1, 1, 3),
        ("1", 1, 1, 4),
        ("2", 2, 2, 2),
        ("2", 2, 2, 3),
        ("2", 2, 2, 4),
    ]
    assert export_rows(ledger, tmp_path / "out") == encode_rows(
        *(first + second for first, second in zip(one, other, strict=True))
    )


def test_a_row_that_is_there_twice_is_refused(ledger, tmp_path):
    rewards, decisions, latencies = episode(1, 3)
    with pytest.raises(errors.InputError, match=r"controller_decisions.jsonl has two rows for the same step"):
        apex.import_artifacts(ledger, put(tmp_path / "in", rewards, decisions + decisions[:1], latencies), run="r")
    assert ledger.history().count() == 0


@pytest.mark.parametrize(
    ("rewards", "decisions", "message"),
    [
        (REWARDS[:2], DECISIONS[:3] + DECISIONS[:2], "rewards.jsonl has 1, controller_decisions.jsonl has 2"),
        (REWARDS[:2] + REWARDS[:2], DECISIONS[:2], "rewards.jsonl has 2, controller_decisions.jsonl has 1"),
        (REWARDS[:3], DECISIONS[:2], "no decision is logged for step 3 of episode 1"),
        (REWARDS[:2] + REWARDS[1:3], DECISIONS[:2] + DECISIONS[1:3], "the steps go back, but not to 1"),
    ],
)
def test_logs_that_do_not_agree_on_their_episodes_are_refused(ledger, tmp_path, rewards, decisions, message):
    with pytest.raises(errors.InputError, match="It is unclear which .*, so nothing was recorded") as raised:
        apex.import_artifacts(ledger, put(tmp_path / "in", rewards, decisions, []), run="r")
    assert message in str(raised.value)
    assert ledger.history().count() == 0
