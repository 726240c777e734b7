"""What a controller writes down: logs, a ledger, and a learner that goes on where it was put aside."""

import asyncio
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.learn import Decision, epsilon_greedy, epsilon_ridge, fit, saving
from plaudit.learn.off_policy import evaluate
from plaudit.ledger.ledger import Ledger
from plaudit.systems import apex
from plaudit.systems.apex.features import FEATURES
from support.apex_runtime import Runtime, play, state
from support.examples import examples

STATES = apex.scenario()
FILES = ("rewards.jsonl", "controller_decisions.jsonl", "controller_latency.jsonl", "extras.jsonl")
EXPLORER = epsilon_ridge(apex.ACTIONS, FEATURES, start=1.0, end=1.0)


def lines(folder):
    return {name: (folder / name).read_text(encoding="utf-8").splitlines() for name in FILES}


def rows(folder, name):
    return [json.loads(line) for line in lines(folder)[name]]


def run_logged(tmp_path, ledger=None, *, states=STATES, seed=5, **options):
    """Run an episode with every log there is, and return the folder of its logs."""
    with apex.Artifacts(tmp_path, fsync=False) as artifacts:
        controller = Runtime(dwell=1, cooldown=1).controller(
            learner=EXPLORER, seed=seed, artifacts=artifacts, ledger=ledger, run="r", **options
        )
        play(controller, states, success=True)
    return artifacts.folder


# -- the logs --------------------------------------------------------------------------------------------------------


def test_the_logs_have_the_keys_of_the_specification(tmp_path):
    folder = run_logged(tmp_path)
    assert [len(each) for each in lines(folder).values()] == [25, 24, 24, 25 + 24 + 24]
    for row in rows(folder, "rewards.jsonl"):
        known = ["step", "delta_pass_rate", "delta_tokens", "phase_advance", "switch_committed", "r_step"]
        assert list(row) == known + ["terminal"] * row.get("terminal", False)
    for row in rows(folder, "controller_decisions.jsonl"):
        known = ["step", "topology", "x", "action", "epsilon", "ms", "switch"]
        assert list(row) == known + ["topology_after"] * row["switch"]["committed"]
        assert list(row["switch"]) == ["attempted", "committed", "epoch"] + ["error"] * ("error" in row["switch"])
        assert ("error" in row["switch"]) is (row["switch"]["attempted"] and not row["switch"]["committed"])
    assert rows(folder, "controller_latency.jsonl") == [{"i": at, "ms": pytest.approx(1.0)} for at in range(24)]


def test_switches_that_are_committed_are_charged_one_step_later(tmp_path):
    folder = run_logged(tmp_path, states=[state(tokens=10 * at) for at in range(25)])
    committed = [row["step"] for row in rows(folder, "controller_decisions.jsonl") if row["switch"]["committed"]]
    charged = [row["step"] for row in rows(folder, "rewards.jsonl") if row["switch_committed"]]
    assert committed
    assert charged == [step + 1 for step in committed]


def test_every_decision_is_in_its_log_when_it_is_made(tmp_path):
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime().controller("stay", "stay", artifacts=artifacts)
        asyncio.run(controller.tick())
        assert [row.step for row in apex.read_decisions(artifacts.folder)] == [1]
        assert [row.i for row in apex.read_latencies(artifacts.folder)] == [0]


def test_a_cancelled_decision_is_in_the_log(tmp_path):
    runtime = Runtime(dwell=0)
    runtime.deaf = True
    runtime.router.send(sender="system", recipient="coder", payload=None)
    with apex.Artifacts(tmp_path) as artifacts:
        controller = runtime.controller("chain", artifacts=artifacts)

        async def run():
            ticking = asyncio.create_task(controller.tick())
            await asyncio.sleep(0)
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)

        asyncio.run(run())
        (row,) = apex.read_decisions(artifacts.folder)
    assert row.switch == apex.Switch(attempted=True, committed=False, epoch=0, error="CancelledError")


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_the_ledger_holds_each_reward_with_the_decision_that_earned_it(tmp_path, ledger):
    folder = run_logged(tmp_path, ledger)
    rewards, decisions = (
        rows(folder, "rewards.jsonl"),
        [row.to_dict(extras=True) for row in apex.read_decisions(folder)],
    )
    records = list(ledger.history(run="r"))
    assert [record.key for record in records] == [f"r/1/reward/{step}" for step in range(2, 27)]
    assert {(record.decision_class, record.episode) for record in records} == {("topology", "1")}
    for record, reward in zip(records, rewards, strict=True):
        assert (record.step, record.signal.total) == (reward["step"], reward["r_step"])
        again = record.step == 26
        assert record.context.get("again", False) is again
        assert record.context["decision"] == decisions[record.step - 3 if again else record.step - 2]
        decision = Decision.from_dict(record.context["decision"])
        assert decision.probability == 0.25
        assert len(decision.context) == 8
    assert records[3].signal.inputs["curr.phase"] == "coding"  # the states, too: another version can be paid later
    assert ledger.verify().ok


def test_the_ledger_gives_the_logs_back_row_for_row(tmp_path, ledger):
    folder = run_logged(tmp_path, ledger)
    apex.export_artifacts(ledger, tmp_path / "again", run="r")
    assert lines(tmp_path / "again") == lines(folder)


def test_what_is_recorded_is_what_the_logs_would_be_imported_as(tmp_path, ledger):
    folder = run_logged(tmp_path, ledger)
    with Ledger(tmp_path / "other.db") as other:
        apex.import_artifacts(other, folder, run="r")
        ours, theirs = list(ledger.history(run="r")), list(other.history(run="r"))
        about = ("key", "run", "episode", "step", "decision_class", "context")
        assert ours
        for mine, its in zip(ours, theirs, strict=True):
            assert [getattr(mine, name) for name in about] == [getattr(its, name) for name in about]
            assert mine.signal.total == pytest.approx(its.signal.total, abs=1e-12)


def test_a_run_that_is_recorded_cannot_be_imported_on_top(tmp_path, ledger):
    folder = run_logged(tmp_path, ledger)
    with pytest.raises(errors.KeyConflict):
        apex.import_artifacts(ledger, folder, run="r")
    assert ledger.history().count() == 25


@pytest.mark.parametrize("terminal_credit", [True, False])
def test_a_decision_without_a_reward_is_kept_and_not_to_be_learnt_from(tmp_path, ledger, terminal_credit):
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime().controller(
            "stay", "chain", "stay", artifacts=artifacts, ledger=ledger, run="r", terminal_credit=terminal_credit
        )
        asyncio.run(controller.tick())
        asyncio.run(controller.tick())
        controller.observe(state(), state(tokens=100))
        asyncio.run(controller.tick())
        controller.finish(success=True)
    records = list(ledger.history(run="r"))
    blocked = [
        record.context["decision"]["step"]
        for record in records
        if record.context and "blocked" in record.context and "decision" in record.context
    ]
    assert blocked == ([1] if terminal_credit else [1, 3])
    learnt = [
        (record.context["decision"]["step"], round(record.signal.total, 9))
        for record in records
        if record.context and "decision" in record.context and "blocked" not in record.context
    ]
    assert learnt == ([(2, -0.06), (3, 1.0)] if terminal_credit else [(2, -0.06)])
    apex.export_artifacts(ledger, tmp_path / "again", run="r")
    assert sorted(lines(tmp_path / "again")[FILES[1]]) == sorted(lines(artifacts.folder)[FILES[1]])


def test_the_ledger_says_what_another_policy_would_have_earned(tmp_path, ledger):
    chooser = apex.Chooser(EXPLORER, seed=1)
    for episode in range(1, 9):
        runtime = Runtime(dwell=1, cooldown=1)
        controller = runtime.controller(learner=chooser, ledger=ledger, run="r", episode=episode)
        asyncio.run(controller.tick())  # which nobody will credit
        play(controller, [state(tokens=100 * at) for at in range(26)], success=True)
    stay = np.eye(4)[0]
    found = evaluate(
        ledger,
        lambda x: np.tile(stay, (len(x), 1)),
        decision_class="topology",
        actions=apex.ACTIONS,
        minimum_effective=10,
    )
    assert found.decisions == 200
    assert found.source.credits == 8
    # Who always stays pays for tokens and earns the bonus once in 25 steps, and never pays for a switch.
    assert found["snips"].value == pytest.approx(-0.01 + 1 / 25, abs=0.05)
    assert found["snips"].value > found.logged.value


def test_episodes_of_a_run_stay_apart(tmp_path, ledger):
    for episode in (1, 2):
        run_logged(tmp_path, ledger, episode=episode, seed=episode, states=STATES[:5])
    assert [record.key for record in ledger.history(run="r", episode="2")] == [
        f"r/2/reward/{step}" for step in range(2, 7)
    ]
    apex.export_artifacts(ledger, tmp_path / "again", run="r")
    assert lines(tmp_path / "again") == lines(tmp_path / "artifacts")


def test_what_the_ledger_refuses_is_not_learnt(tmp_path, ledger):
    run_logged(tmp_path, ledger)
    controller = Runtime().controller("stay", ledger=ledger, run="r")
    asyncio.run(controller.tick())
    with pytest.raises(errors.KeyConflict):  # the same run and episode, another reward
        controller.observe(STATES[0], STATES[4])
    assert controller.chooser.state == ()
    assert controller.stats.earned == 0.0


def test_a_step_whose_log_failed_can_be_observed_again(tmp_path, ledger, monkeypatch):
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime().controller("stay", artifacts=artifacts, ledger=ledger, run="r")
        asyncio.run(controller.tick())
        with monkeypatch.context() as patch:
            patch.setattr(artifacts, "append_reward", full_disk)
            with pytest.raises(errors.LedgerBroken):
                controller.observe(state(), state(tokens=10))
        assert controller.chooser.state == ()
        controller.observe(state(), state(tokens=10))
        assert (
            len(controller.chooser.state)
            == ledger.history().count()
            == len(list(apex.read_rewards(artifacts.folder)))
            == 1
        )


def full_disk(row):
    raise errors.LedgerBroken("the disk is full")


def test_a_decision_whose_log_failed_is_still_the_one_that_runs(tmp_path, monkeypatch):
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime(dwell=0).controller("chain", artifacts=artifacts)
        monkeypatch.setattr(artifacts, "append_decision", full_disk)
        with pytest.raises(errors.LedgerBroken):
            asyncio.run(controller.tick())
        assert controller.observe(state(), state()).r_step == -0.05
        assert [action for action, *_ in controller.chooser.state] == ["chain"]


# -- going on --------------------------------------------------------------------------------------------------------


@examples(0.15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), cuts=st.sets(st.integers(1, 5)))
def test_a_learner_that_was_put_aside_goes_on_as_if_it_had_not_been(tmp_path, seed, cuts):
    learner = epsilon_ridge(apex.ACTIONS, FEATURES, start=0.8, end=0.1, over=60)
    straight, cut = apex.Chooser(learner, seed=seed), apex.Chooser(learner, seed=seed)
    for episode in range(1, 6):
        played = [play(Runtime(dwell=1, cooldown=1).controller(learner=each), STATES[:12]) for each in (straight, cut)]
        assert played[0] == played[1]
        if episode in cuts:
            cut.save(tmp_path / "learner.json")
            cut = apex.Chooser.load(tmp_path / "learner.json")
    assert np.array_equal(straight.state.table, cut.state.table)
    assert straight.state.decisions == cut.state.decisions == 55


def test_a_learner_that_was_put_aside_in_the_middle_goes_on_too(tmp_path):
    def halves(*, between):
        chooser = apex.Chooser(EXPLORER, seed=11)
        runtime = Runtime(dwell=0, cooldown=0)
        controller = runtime.controller(learner=chooser)
        rows = [asyncio.run(controller.tick()) for _ in range(3)]  # three of which two will never be credited
        controller.observe(state(), state(tokens=50))
        controller = runtime.controller(learner=between(chooser))
        return [row.action for row in rows] + [row.action for row in play(controller, STATES)[0]]

    def put_aside(chooser):
        chooser.save(tmp_path / "learner.json")
        return apex.Chooser.load(tmp_path / "learner.json")

    assert halves(between=lambda chooser: chooser) == halves(between=put_aside)


def test_a_file_that_is_no_chooser_is_refused(tmp_path):
    path = tmp_path / "learner.json"
    apex.Chooser(EXPLORER).save(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(errors.SpecError):
        apex.Chooser.load(path)
    saving.save(path, EXPLORER, EXPLORER.init())
    with pytest.raises(errors.SpecError, match="was not saved by a chooser: its 'seed' is None"):
        apex.Chooser.load(path)
    other = epsilon_greedy(("small", "large"))
    saving.save(path, other, other.init(), seed=1, waiting=0)
    with pytest.raises(errors.DefinitionError, match="among small, large"):
        apex.Chooser.load(path)
    with pytest.raises(errors.FileError):
        apex.Chooser.load(tmp_path / "nothing.json")


# -- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credit", ["executed", "requested"])
def test_the_ledger_teaches_what_was_learnt_whatever_is_credited(ledger, credit):
    chooser = apex.Chooser(EXPLORER, seed=2)
    play(Runtime().controller(learner=chooser, ledger=ledger, run="r", credit=credit), STATES)
    replayed = fit(ledger, EXPLORER, decision_class="topology")
    assert np.array_equal(chooser.state.table, replayed.table)


@pytest.mark.parametrize("terminal_credit", [True, False])
def test_an_end_whose_log_failed_can_be_written_again(tmp_path, ledger, monkeypatch, terminal_credit):
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime().controller(
            "stay", artifacts=artifacts, ledger=ledger, run="r", terminal_credit=terminal_credit
        )
        asyncio.run(controller.tick())
        with monkeypatch.context() as patch:
            patch.setattr(artifacts, "append_reward", full_disk)
            with pytest.raises(errors.LedgerBroken):
                controller.finish(success=True)
        controller.finish(success=True)
        assert [row.step for row in apex.read_rewards(artifacts.folder)] == [2]
    assert [record.step for record in ledger.history(run="r", reward="apex")] == [2]
    assert len(controller.chooser.state) == terminal_credit


def test_a_clock_that_is_set_back_measures_nothing(tmp_path):
    times = iter([5.0, 4.0, 3.0, 2.0])
    row = asyncio.run(Runtime().controller("stay", clock=lambda: next(times)).tick())
    assert (row.ms, row.tick_ms) == (0.0, 0.0)


def test_a_switch_is_logged_and_charged_though_the_clock_fails(tmp_path):
    times = iter([1.0, 2.0, 3.0])
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime(dwell=0).controller("chain", artifacts=artifacts, clock=lambda: times.__next__())
        with pytest.raises((StopIteration, RuntimeError)):
            asyncio.run(controller.tick())
        assert [row.topology_after for row in apex.read_decisions(artifacts.folder)] == ["chain"]
        assert controller.observe(state(), state()).r_step == -0.05


def test_an_episode_that_is_abandoned_has_all_its_decisions_in_the_ledger(tmp_path, ledger):
    with apex.Artifacts(tmp_path) as artifacts:
        controller = Runtime().controller("stay", "stay", artifacts=artifacts, ledger=ledger, run="r")
        asyncio.run(controller.tick())
        controller.observe(state(), state())
        asyncio.run(controller.tick())
        controller.abandon()
    with pytest.raises(errors.InputError, match="the episode has ended"):
        controller.finish()
    apex.export_artifacts(ledger, tmp_path / "again", run="r")
    assert lines(tmp_path / "again") == lines(artifacts.folder)


def test_a_switch_that_no_step_follows_is_not_charged():
    controller = Runtime(dwell=0).controller("chain")
    asyncio.run(controller.tick())
    assert controller.finish(success=True).r_step == 1.0
