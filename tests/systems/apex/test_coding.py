"""The example: four scripted agents, real messages, real edits, real tests, and a controller."""

import asyncio

import pytest

from plaudit import errors
from plaudit.file_lock import lock_folder
from plaudit.ledger.ledger import Ledger
from plaudit.systems import apex
from plaudit.systems.apex.coding import TESTS, Project, run_episode, run_episodes
from plaudit.systems.apex.coding.agents import Agents, Conversation
from support.apex_runtime import Clock

pytestmark = pytest.mark.usefixtures("remembered_runs")
FILES = ("rewards.jsonl", "controller_decisions.jsonl", "controller_latency.jsonl", "extras.jsonl")


@pytest.fixture(scope="module")
def twice(tmp_path_factory, remembered_runs):
    """Return the same episode two times, each with its logs."""
    found = []
    for _ in range(2):
        folder = tmp_path_factory.mktemp("coding")
        with apex.Artifacts(folder, fsync=False) as artifacts:
            episode = asyncio.run(run_episode(folder / "project", seed=3, artifacts=artifacts, clock=Clock()))
        found.append((episode, folder))
    return found


@pytest.fixture(scope="module")
def episode(twice):
    return twice[0][0]


def test_the_same_seed_is_the_same_episode_to_the_bit(twice):
    (first, one), (second, other) = twice
    assert first == second
    for name in FILES:
        assert (one / "artifacts" / name).read_bytes() == (other / "artifacts" / name).read_bytes()


def test_the_tests_go_from_red_to_green(episode, twice):
    passed = [step.tests.passed for step in episode.steps]
    assert passed[0] == 0
    assert passed == sorted(passed)
    assert len(set(passed)) == 5  # each edit made some of them pass
    assert episode.steps[-1].tests == apex.PytestRun(TESTS, TESTS)
    assert apex.PytestProbe(twice[0][1] / "project", plugins=False).run().success
    assert episode.success


def test_phases_switches_and_rewards_are_those_of_the_specification(episode):
    outcomes = [step.decision.switch for step in episode.steps if step.decision.switch.attempted]
    assert {(switch.committed, switch.error) for switch in outcomes} == {
        (True, None),
        (False, "cooldown"),
        (False, "dwell"),
    }
    states = [episode.first, *(step.state for step in episode.steps)]
    assert states[0]["phase"] == "planning"
    assert states[-1]["phase"] == "done"
    committed = sum(switch.committed for switch in outcomes)
    expected = 0.3 * apex.count_phases(states).advances + 0.7 - 1e-4 * episode.tokens - 0.05 * committed
    assert sum(step.reward.r_step for step in episode.steps) == pytest.approx(expected, abs=1e-9)
    assert episode.end.r_step == 1.0
    assert episode.stats.earned == pytest.approx(expected + 1.0, abs=1e-9)


def test_messages_keep_to_the_topology_that_is_active(episode):
    active = {step.decision.step: step.decision.topology_after or step.decision.topology for step in episode.steps}
    for message in episode.messages[1:]:
        apex.switching.Topologies().find_recipients(active[message.step], message.sender, message.recipient)
    assert episode.messages[0].sender == "system"
    passed_on = sum(message.recipient != message.meant_for for message in episode.messages)
    assert passed_on == episode.refused_ways > 0


def test_an_agent_whose_call_is_denied_waits_and_the_episode_goes_on(tmp_path):
    found = asyncio.run(run_episode(tmp_path / "project", seed=7, budget=400, max_steps=12))
    assert len(found.steps) == 12
    assert not found.success
    assert found.end.r_step == 0.0
    assert found.tokens <= 400
    assert found.denials
    assert all(denial.used + denial.estimate > denial.limit == 400 for denial in found.denials)


def test_an_episode_has_at_least_one_step(tmp_path):
    with pytest.raises(errors.OutOfRange, match="max_steps=0"):
        asyncio.run(run_episode(tmp_path, max_steps=0))


def test_a_message_that_is_refused_for_another_reason_is_no_way_round():
    router = apex.Router(("planner", "coder", "runner", "critic"), capacity=1)
    conversation = Conversation(router, apex.FeatureSource())
    conversation.send("planner", "coder", "one")
    with pytest.raises(apex.MessageRefused, match="the queue of '.*' is full") as refused:
        conversation.send("planner", "coder", "two")
    assert refused.value.reason == "queue_full"


@pytest.mark.parametrize("topology", ["star", "chain", "flat"])
def test_the_agents_get_there_in_every_topology(tmp_path, topology):
    budget = apex.TokenBudget()
    conversation = Conversation(
        apex.Router(("planner", "coder", "runner", "critic"), topology=topology), apex.FeatureSource(budget=budget)
    )
    runs = iter([apex.PytestRun(3, 10, failures=(apex.Failure("test_minutes", ""),)), *[apex.PytestRun(10, 10)] * 3])

    async def tests():
        return next(runs)

    agents = Agents(conversation, Project(tmp_path), tests, budget)
    conversation.start("Go.")

    async def run():
        steps = 0
        while agents.phase != "done":
            conversation.collect()
            await agents.act()
            steps += 1
        return steps

    assert asyncio.run(run()) == {"star": 25, "chain": 17, "flat": 16}[topology]
    assert conversation.router.count_pending() == 0


# -- a run -----------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_with_what_its_folder_holds(tmp_path):
    calls = []
    first = asyncio.run(
        run_episodes(1, out=tmp_path / "run", seed=3, max_steps=3, on_step=lambda *step: calls.append(step))
    )
    assert [(number, step.decision.step) for number, step in calls] == [(1, step) for step in range(1, 4)]
    second = asyncio.run(run_episodes(1, out=tmp_path / "run", max_steps=3))
    assert (first.first, second.first) == (1, 2)
    assert second.chooser.seed == 3
    assert second.chooser.state.decisions == 6
    both = asyncio.run(run_episodes(2, seed=3, max_steps=3))  # in one go, and kept nowhere
    assert decided(both.episodes) == decided([*first.episodes, *second.episodes])
    with Ledger(tmp_path / "run" / "rewards.db") as ledger:
        assert ledger.history(run="coding").count() == 8
        apex.export_artifacts(ledger, tmp_path / "again", run="coding")
    for name in FILES:
        assert (tmp_path / "again" / name).read_text() == (tmp_path / "run" / "artifacts" / name).read_text()


def decided(episodes):
    return [
        [
            (step.decision.action, step.decision.executed, step.decision.x, step.reward, step.state)
            for step in each.steps
        ]
        for each in episodes
    ]


def test_a_folder_that_began_with_another_seed_is_not_gone_on_with(tmp_path):
    apex.Chooser(seed=3).save(tmp_path / "learner.json")
    with pytest.raises(errors.FileError, match="holds a run with seed 3, not 4"):
        asyncio.run(run_episodes(out=tmp_path, seed=4))


def test_an_episode_that_was_broken_off_has_a_number_of_its_own(tmp_path):
    switch = apex.Switch(attempted=False, committed=False, epoch=0)
    row = apex.DecisionRow(step=1, topology="star", x=[0.0] * 8, action="stay", epsilon=0.2, ms=0.1, switch=switch)
    with apex.Artifacts(tmp_path) as artifacts:
        artifacts.append_decision(row)
    assert asyncio.run(run_episodes(out=tmp_path, max_steps=1)).first == 2


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.FileError, match="cannot be created"):
        asyncio.run(run_episodes(out=tmp_path / "file" / "run"))


def test_the_project_is_what_the_coder_wrote(tmp_path):
    project = Project(tmp_path)
    assert "NotImplementedError" in (tmp_path / "durations.py").read_text()
    first, second, third = (project.write("minutes") and (tmp_path / "durations.py").read_text() for _ in range(3))
    assert "ValueError" not in first
    assert "ValueError" in second
    assert second == third
    assert sorted(path.name for path in tmp_path.iterdir()) == ["durations.py", "pytest.ini", "test_durations.py"]


def test_a_project_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "durations.py").write_text("mine")
    with pytest.raises(errors.FileError, match="project was not written by a run and would be overwritten"):
        asyncio.run(run_episodes(out=tmp_path, max_steps=1))
    assert (tmp_path / "project" / "durations.py").read_text() == "mine"


def test_a_run_that_was_stopped_goes_on_with_all_that_was_recorded(tmp_path):
    def stop(episode, step):
        if step.decision.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_episodes(out=tmp_path, seed=3, on_step=stop))
    with pytest.raises(errors.FileError, match="holds a run with seed 3, not 4"):
        asyncio.run(run_episodes(out=tmp_path, seed=4))
    found = asyncio.run(run_episodes(out=tmp_path, max_steps=2))
    assert (found.first, found.chooser.seed, found.chooser.state.decisions) == (2, 3, 5)
    with Ledger(tmp_path / "rewards.db") as ledger:
        apex.export_artifacts(ledger, tmp_path / "again", run="coding")
    for name in FILES:
        assert (tmp_path / "again" / name).read_text() == (tmp_path / "artifacts" / name).read_text()


def test_two_runs_do_not_share_a_folder(tmp_path):
    with lock_folder(tmp_path), pytest.raises(errors.LedgerBusy, match="another run is writing to"):
        asyncio.run(run_episodes(out=tmp_path, max_steps=1))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert asyncio.run(run_episodes(out=tmp_path, max_steps=1)).first == 1
