"""The controller: what it decides, what becomes of that, and what is credited with which reward."""

import asyncio
import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.learn import epsilon_greedy, epsilon_ridge, linear_thompson, linucb, ucb1
from plaudit.systems import apex
from plaudit.systems.apex.features import FEATURES
from support.apex_runtime import Clock, Runtime, Scripted, play, state
from support.examples import examples

STATES = apex.scenario()
EXPLORER = epsilon_ridge(apex.ACTIONS, FEATURES, start=1.0, end=1.0)


def tick(controller):
    return asyncio.run(controller.tick())


def credits(controller):
    """Return what a scripted learner was credited with: the action, the reward, and whether it was again."""
    return [(action, reward, again) for action, _, reward, again in controller.chooser.state]


# -- a tick ----------------------------------------------------------------------------------------------------------


def test_a_tick_sees_the_runtime_as_it_is():
    runtime = Runtime()
    runtime.features.add_message("planner")
    runtime.budget.meter.count({"input_tokens": 2500, "output_tokens": 0})
    row = tick(runtime.controller("stay"))
    assert row.x == (1.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.75)
    assert (row.step, row.topology, row.action, row.executed) == (1, "star", "stay", "stay")
    assert row.switch == apex.Switch(attempted=False, committed=False, epoch=0)
    assert row.topology_after is None


def test_a_tick_ends_a_step_of_the_window_itself():
    runtime = Runtime()
    controller = runtime.controller("stay")
    runtime.features.add_message("planner")
    for _ in range(33):
        tick(controller)
        assert runtime.features.counts["planner"] == (controller.step <= 32)


def test_a_tick_counts_the_steps_of_the_coordinator_itself():
    runtime = Runtime()
    controller = runtime.controller("flat", "flat", "star", "star", "chain")
    rows = [tick(controller) for _ in range(5)]
    assert [row.switch.error for row in rows] == ["dwell", None, "cooldown", None, "cooldown"]
    assert [row.topology for row in rows] == ["star", "star", "flat", "flat", "star"]
    assert [row.x[3] for row in rows] == [0.5, 1.0, 0.5, 1.0, 0.5]  # steps since the switch, not since the start


def test_a_committed_switch_is_logged_with_its_epoch_and_topology():
    row = tick(Runtime(dwell=0).controller("chain"))
    assert row.switch == apex.Switch(attempted=True, committed=True, epoch=1)
    assert (row.topology, row.topology_after, row.executed) == ("star", "chain", "chain")


def test_a_refused_switch_is_logged_with_its_reason_and_what_ran_is_stay():
    row = tick(Runtime().controller("chain"))
    assert row.switch == apex.Switch(attempted=True, committed=False, epoch=0, error="dwell")
    assert (row.action, row.requested, row.executed, row.topology_after) == ("chain", "chain", "stay", None)


def test_a_switch_that_is_called_off_is_logged_with_its_reason_and_what_ran_is_stay():
    runtime = Runtime(dwell=0)
    runtime.deaf = True
    runtime.router.send(sender="planner", recipient="coder", payload={})
    controller = runtime.controller("chain")
    row = tick(controller)
    assert row.switch == apex.Switch(attempted=True, committed=False, epoch=0, error="quiesce_timeout")
    assert (row.executed, row.executed_probability) == ("stay", None)
    assert controller.stats.switches == {"aborted": 1}
    assert runtime.router.receive("coder") is not None


def test_a_switch_that_fails_is_told_in_the_row_and_not_raised(monkeypatch):
    runtime = Runtime(dwell=0)

    async def fail(target):
        raise RuntimeError("the wire is cut")

    monkeypatch.setattr(runtime.coordinator, "switch", fail)
    controller = runtime.controller("chain")
    row = tick(controller)
    assert row.switch == apex.Switch(attempted=True, committed=False, epoch=0, error="RuntimeError: the wire is cut")
    assert (row.executed, controller.stats.switches) == ("stay", {"failed": 1})


def test_a_switch_that_took_effect_before_it_failed_is_a_switch(monkeypatch):
    runtime = Runtime(dwell=0)
    switch = runtime.engine.switch

    async def switch_and_fail(target):
        await switch(target)
        raise RuntimeError("too late")

    monkeypatch.setattr(runtime.coordinator, "switch", switch_and_fail)
    controller = runtime.controller("chain")
    row = tick(controller)
    assert (row.switch.committed, row.executed, row.topology_after) == (True, "chain", "chain")
    assert controller.observe(state(), state()).r_step == -0.05


def test_the_name_of_the_active_topology_is_another_name_for_stay():
    runtime = Runtime(dwell=0)
    controller = runtime.controller("star")
    row = tick(controller)
    assert (row.action, row.executed, row.switch.attempted) == ("star", "stay", False)
    assert runtime.engine.epoch == 0


def test_a_name_that_was_granted_learns_for_itself_what_it_earns():
    controller = Runtime(dwell=0).controller("star")
    assert tick(controller).credited == "star"
    controller.observe(state(), state(tokens=100))
    assert credits(controller) == [("star", -0.01, False)]


@pytest.mark.parametrize("learner", [linucb(apex.ACTIONS, FEATURES), ucb1(apex.ACTIONS)], ids=["linucb", "ucb1"])
def test_a_curious_learner_does_not_ask_for_the_active_topology_for_ever(learner):
    controller = Runtime(dwell=1, cooldown=1).controller(learner=learner)
    play(controller, [state(tokens=10 * at) for at in range(120)])
    assert all(controller.chooser.state.pulls)
    assert max(controller.stats.requested.values()) < 100


# -- how likely it was ---------------------------------------------------------------------------------------------

# The scripted learner says: stay 0.4, star 0.3, chain 0.2, flat 0.1.


@pytest.mark.parametrize(
    ("action", "dwell", "probability", "executed", "likely"),
    [
        ("stay", 0, 0.4, "stay", 0.4 + 0.3),  # or star, which is active
        ("star", 0, 0.3, "stay", 0.4 + 0.3),
        ("chain", 0, 0.2, "chain", 0.2),
        ("flat", 0, 0.1, "flat", 0.1),
        ("stay", 2, 0.4, "stay", 1.0),  # no switch could begin: whatever is chosen, it stays
        ("chain", 2, 0.2, "stay", 1.0),
    ],
)
def test_how_likely_an_outcome_was_is_the_sum_over_the_actions_that_lead_to_it(
    action, dwell, probability, executed, likely
):
    row = tick(Runtime(dwell=dwell).controller(action))
    assert (row.probability, row.executed, row.executed_probability) == (probability, executed, likely)
    assert row.probabilities == (0.4, 0.3, 0.2, 0.1)


def test_where_only_the_chosen_action_has_a_probability_no_sum_is_made_up():
    learner = linear_thompson(apex.ACTIONS, FEATURES)
    rows = [tick(Runtime(dwell=0).controller(learner=learner, seed=seed)) for seed in range(12)]
    assert {row.executed for row in rows} == set(apex.ACTIONS) - {"star"}
    for row in rows:
        assert row.executed_probability == (None if row.executed == "stay" else row.probability)
        assert row.epsilon == 0.0
    assert tick(Runtime(dwell=2).controller(learner=learner)).executed_probability == 1.0


# -- credit ----------------------------------------------------------------------------------------------------------


def test_a_reward_goes_to_the_decision_taken_before_the_state_changed():
    runtime = Runtime(dwell=0, cooldown=0)
    controller = runtime.controller("chain", "flat", "stay")
    _, rewards, _ = play(controller, [state(tokens=0), state(tokens=100), state(tokens=300), state(tokens=600)])
    assert [row.step for row in rewards] == [2, 3, 4]
    earned = [("chain", -0.06, False), ("flat", -0.07, False), ("stay", -0.03, False), ("stay", 0.0, True)]
    assert [(action, round(reward, 9), again) for action, reward, again in credits(controller)] == earned
    seen = [context[:3] for _, context, _, _ in controller.chooser.state]
    assert seen == [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1)]  # the topology that each was taken in


def test_what_was_refused_teaches_nothing_about_itself():
    controller = Runtime().controller("chain")
    play(controller, [state(), state(phase="testing")])
    assert credits(controller) == [("stay", 0.3, False), ("stay", 0.0, True)]
    controller = Runtime().controller("chain", credit="requested")
    play(controller, [state(), state(phase="testing")])
    assert credits(controller) == [("chain", 0.3, False), ("chain", 0.0, True)]


@pytest.mark.parametrize("said", [{}, {"switch_committed": False}, {"switch_committed": True}])
def test_a_committed_switch_is_charged_whatever_the_state_says(said):
    controller = Runtime(dwell=0).controller("chain", "stay")
    tick(controller)
    row = controller.observe(state(), state(**said))
    assert (row.switch_committed, row.r_step) == (True, -0.05)
    tick(controller)
    assert controller.observe(state(), state()).r_step == 0.0


def test_a_switch_that_came_from_elsewhere_is_charged_when_the_state_says_so():
    controller = Runtime().controller("stay")
    tick(controller)
    assert controller.observe(state(), state(switch_committed=True)).r_step == -0.05


@pytest.mark.parametrize(("success", "bonus"), [(True, 1.0), (False, 0.0)])
def test_the_bonus_goes_to_the_last_decision_beside_its_own_reward(success, bonus):
    controller = Runtime().controller("stay", "stay")
    _, _, end = play(controller, [state(), state(), state(tokens=100)], success=success)
    assert end == apex.RewardRow(
        step=4, delta_pass_rate=0.0, delta_tokens=0, phase_advance=False, switch_committed=False, r_step=bonus,
        terminal=True, detector="explicit", episode=1,
    )  # fmt: skip
    assert credits(controller) == [("stay", 0.0, False), ("stay", -0.01, False), ("stay", bonus, True)]


def test_the_bonus_can_be_kept_from_the_learner():
    controller = Runtime().controller("stay", terminal_credit=False)
    play(controller, [state(), state()], success=True)
    assert credits(controller) == [("stay", 0.0, False)]
    assert controller.stats.earned == 1.0


def test_a_decision_taken_in_the_last_state_has_the_bonus_for_its_only_reward():
    controller = Runtime().controller("stay", "stay")
    tick(controller)
    controller.observe(state(), state(rate=1.0))
    tick(controller)
    assert controller.finish().step == 3  # two states, and the end
    assert credits(controller) == [("stay", 0.7, False), ("stay", 1.0, False)]


def test_an_episode_of_a_single_state_can_end():
    controller = Runtime().controller("stay")
    assert controller.finish(success=True).step == 2
    assert credits(controller) == []


@pytest.mark.parametrize(("rate", "bonus"), [(1.0, 1.0), (1 - 1e-12, 1.0), (0.99, 0.0)])
def test_where_nobody_says_so_the_last_state_tells_whether_it_ended_well(rate, bonus):
    controller = Runtime().controller("stay")
    _, _, end = play(controller, [state(), state(rate=rate)])
    assert end.r_step == bonus


def test_the_scenario_earns_through_a_controller_what_it_earns_alone():
    decisions, rewards, end = play(Runtime().controller("stay"), STATES)
    alone = list(apex.build_reward_rows(STATES))
    assert [row.to_dict() for row in (*rewards, end)] == alone
    assert [row.decision for row in rewards] == [row.step for row in decisions]


def test_another_detector_can_pay():
    shares = [{"role_shares": {"planner": 0.8}}, {"role_shares": {"coder_runner": 0.6}}]
    controller = Runtime().controller("stay", reward=apex.RewardAccumulator("role_share"))
    _, rewards, _ = play(controller, shares)
    assert (rewards[0].r_step, rewards[0].detector) == (0.3, "role_share")


# -- order and bad input -------------------------------------------------------------------------------------------


def test_a_step_is_observed_once_and_after_its_tick():
    controller = Runtime().controller("stay")
    with pytest.raises(errors.InputError, match="there is no decision to credit"):
        controller.observe(state(), state())
    tick(controller)
    controller.observe(state(), state())
    with pytest.raises(errors.InputError, match="call observe once per step"):
        controller.observe(state(), state())
    assert len(credits(controller)) == 1


def test_after_the_end_there_is_nothing_more():
    controller = Runtime().controller("stay")
    play(controller, [state(), state()])
    for more in (lambda: tick(controller), lambda: controller.observe(state(), state()), controller.finish):
        with pytest.raises(errors.InputError, match="the episode has ended"):
            more()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"rate": math.nan}, errors.NotFinite),
        ({"rate": 1.5}, errors.OutOfRange),
        ({"tokens": -1}, errors.OutOfRange),
        ({"tokens": 5}, errors.OutOfRange),  # it fell
        ({"rate": "most"}, errors.WrongType),
    ],
)
def test_what_cannot_be_scored_changes_nothing_and_can_be_observed_again(wrong, error):
    controller = Runtime(dwell=0).controller("chain")
    tick(controller)
    with pytest.raises(error):
        controller.observe(state(tokens=10), state(**({"tokens": 10} | wrong)))
    assert credits(controller) == []
    assert controller.observe(state(tokens=10), state(tokens=10)).r_step == -0.05
    assert credits(controller) == [("chain", -0.05, False)]


@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (lambda: epsilon_ridge(("stay", "ring"), 8), errors.DefinitionError, "among stay, ring"),
        (lambda: epsilon_ridge(("star", "flat"), 8), errors.DefinitionError, "needs 'stay'"),
        (lambda: epsilon_ridge(apex.ACTIONS, 7), errors.ShapeMismatch, "reads 7 features"),
    ],
)
def test_a_learner_for_something_else_is_refused(learner, error, message):
    with pytest.raises(error) as raised:
        Runtime().controller(learner=learner())
    assert message in str(raised.value)


def test_credit_goes_to_what_ran_or_to_what_was_asked_for_and_to_nothing_else():
    with pytest.raises(errors.UnknownCategory, match="credit='luck'"):
        Runtime().controller("stay", credit="luck")


def test_a_learner_without_features_will_do():
    controller = Runtime(dwell=0, cooldown=0).controller(learner=epsilon_greedy(apex.ACTIONS, start=1.0, end=1.0))
    decisions, _, _ = play(controller, STATES)
    assert all(len(row.x) == 8 for row in decisions)
    assert sum(controller.chooser.state.pulls) == 25  # 24 decisions, and the bonus


# -- an episode as a whole -----------------------------------------------------------------------------------------


@st.composite
def episodes(draw):
    """Draw the states of an episode, who speaks in each step, and in which steps nobody listens."""
    count = draw(st.integers(1, 25))
    phases = st.sampled_from([*apex.PHASES, "debug", "lunch", None])
    tokens = 0
    states, speakers = [], []
    for _ in range(count):
        tokens += draw(st.integers(0, 400))
        states.append(state(draw(phases), draw(st.integers(0, 8)) / 8, tokens))
        speakers.append(draw(st.lists(st.sampled_from(["planner", "coder", "critic"]), max_size=3)))
    return states, speakers, draw(st.lists(st.booleans(), min_size=count, max_size=count))


@examples(0.6)
@given(episodes(), st.integers(0, 2**32), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_an_episode_earns_what_its_ends_and_its_switches_say(episode, seed, dwell, cooldown, additive):
    states, speakers, deaf = episode
    runtime = Runtime(dwell=dwell, cooldown=cooldown, additive=additive)
    controller = runtime.controller(learner=EXPLORER, seed=seed)
    replayed = EXPLORER.init()

    async def run():
        nonlocal replayed
        rewards = []
        for at, (before, after) in enumerate(pairwise(states)):
            runtime.deaf = deaf[at]
            for sender in speakers[at]:
                runtime.features.add_message(sender)
                runtime.router.send(sender="system", recipient="runner", payload=sender)
            row = await controller.tick()
            runtime.deaf = False
            runtime.hear()
            assert runtime.engine.topology == (row.topology_after or row.topology)
            assert (row.executed == "stay") is (not row.switch.committed)
            rewards.append(controller.observe(before, after))
            decision = EXPLORER.choose(replayed, seed, row.x).credit_to(row.credited or row.executed)
            replayed = EXPLORER.update(replayed, decision, rewards[-1].r_step)
        return rewards

    rewards = asyncio.run(run())
    stats, first, last = controller.stats, states[0], states[-1]
    committed = runtime.engine.switch_count
    expected = (
        0.3 * apex.count_phases(states).advances
        + 0.7 * (last["test_pass_rate"] - first["test_pass_rate"])
        - 1e-4 * (last["tokens_used"] - first["tokens_used"])
        - 0.05 * committed
    )
    assert sum(row.r_step for row in rewards) == pytest.approx(expected, abs=1e-9)
    assert stats.earned == pytest.approx(expected, abs=1e-9)
    assert stats.switches.get("committed", 0) == committed == sum(row.switch_committed for row in rewards)
    assert stats.switches.get("aborted", 0) == runtime.engine.abort_count
    assert stats.decisions == stats.credited == len(states) - 1
    assert np.array_equal(controller.chooser.state.table, replayed.table)  # learnt is what ran, in order, to the bit


@given(st.integers(0, 2**32))
@examples(0.1)
def test_a_seed_gives_the_same_episode_to_the_bit(seed):
    first, second = (
        play(Runtime(dwell=1, cooldown=1).controller(learner=EXPLORER, seed=seed), STATES) for _ in range(2)
    )
    assert first == second


# -- runtimes of your own --------------------------------------------------------------------------------------------


class Wire:
    """A runtime with nothing but a topology and a way to change it."""

    def __init__(self, answer=None, *, obeys=True):
        self.topology = "star"
        self.answer, self.obeys = answer, obeys

    async def switch(self, topology):
        await asyncio.sleep(0)
        if self.obeys:
            self.topology = topology
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def control(runtime, *script, **options):
    return apex.Controller(runtime, apex.FeatureSource(), learner=Scripted(*script), clock=Clock(), **options)


def test_anything_with_a_topology_and_a_switch_can_be_controlled():
    wire = Wire()
    assert isinstance(wire, apex.Switchable)
    controller = control(wire, "stay", "chain", "chain", "flat")
    decisions, rewards, _ = play(controller, [state() for _ in range(5)])
    assert [row.topology for row in decisions] == ["star", "star", "chain", "chain"]
    assert [row.switch.epoch for row in decisions] == [0, 1, 1, 2]
    assert [row.topology_after for row in decisions] == [None, "chain", None, "flat"]
    assert [row.x[3] for row in decisions] == [0.5, 1.0, 0.5, 1.0]  # steps since the switch
    assert [row.r_step for row in rewards] == [0.0, -0.05, 0.0, -0.05]
    assert controller.stats.switches == {"committed": 2}


@pytest.mark.parametrize("runtime", [apex.Router(), apex.SwitchEngine(apex.Router())], ids=["router", "engine"])
def test_an_engine_can_be_controlled_and_a_router_cannot(runtime):
    if isinstance(runtime, apex.SwitchEngine):
        assert tick(control(runtime, "chain")).switch == apex.Switch(attempted=True, committed=True, epoch=1)
    else:
        with pytest.raises(
            errors.WrongType, match=r"needs an object with a string `topology` and an `async def switch"
        ):
            control(runtime, "chain")


@pytest.mark.parametrize(
    ("answer", "kind", "error"),
    [
        (None, "refused", "refused"),
        (False, "refused", "refused"),
        ("not on a Sunday", "refused", "not on a Sunday"),
        (SimpleNamespace(reason="busy"), "refused", "busy"),
        (OSError("the wire is cut"), "failed", "OSError: the wire is cut"),
        (TimeoutError("the other side"), "failed", "TimeoutError: the other side"),
    ],
)
def test_a_switch_that_did_not_take_effect_is_refused_with_its_reason(answer, kind, error):
    controller = control(Wire(answer, obeys=False), "chain", "stay")
    row = tick(controller)
    assert row.switch == apex.Switch(attempted=True, committed=False, epoch=0, error=error)
    assert (row.executed, row.topology_after, controller.stats.switches) == ("stay", None, {kind: 1})
    assert controller.observe(state(), state()).r_step == 0.0
    assert tick(controller).topology == "star"


def test_what_took_effect_is_a_switch_whatever_the_runtime_says():
    row = tick(control(Wire(OSError("too late")), "chain"))
    assert row.switch == apex.Switch(attempted=True, committed=True, epoch=1)


def test_a_switch_that_led_elsewhere_says_where():
    class Stray(Wire):
        async def switch(self, topology):
            self.topology = "flat"

    row = tick(control(Stray(), "chain"))
    assert row.switch.error == "refused: the topology is now 'flat', not 'chain'"


def test_a_change_that_the_controller_did_not_ask_for_begins_the_steps_since_the_switch_again():
    wire = Wire()
    controller = control(wire, "stay", "stay", "stay", "stay")
    before = [tick(controller).x[3] for _ in range(2)]
    wire.topology = "flat"
    assert [*before, *(tick(controller).x[3] for _ in range(2))] == [0.5, 1.0, 0.5, 1.0]


def test_a_topology_that_is_no_string_any_more_is_one_clear_error():
    wire = Wire()
    controller = control(wire, "stay")
    wire.topology = 3
    with pytest.raises(errors.UnknownCategory, match="topology 3 is not one of star, chain, flat"):
        tick(controller)


def test_features_of_a_topology_that_the_router_lacks_are_refused():
    features = apex.FeatureSource(topologies=[*apex.Router().topologies, "ring"])
    with pytest.raises(errors.DefinitionError, match="know a topology 'ring', but the router has star, chain, flat"):
        apex.Controller(apex.Coordinator(apex.SwitchEngine(apex.Router())), features)


def test_a_switch_that_hangs_is_refused_when_its_time_is_over():
    class Hanging(Wire):
        cancelled = 0

        async def switch(self, topology):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise

    hanging = Hanging()
    controller = control(hanging, "chain", "stay", switch_timeout=0.05)
    row = tick(controller)
    assert row.switch.error == "timeout: the switch did not end within 0.05 seconds"
    assert (row.executed, hanging.cancelled, controller.stats.switches) == ("stay", 1, {"timed_out": 1})
    controller.observe(state(), state())
    assert tick(controller).step == 2


def test_an_engine_that_is_waited_for_too_long_calls_its_switch_off():
    router = apex.Router()
    router.send(sender="planner", recipient="coder", payload="work")
    coordinator = apex.Coordinator(apex.SwitchEngine(router, quiesce_timeout=600), dwell=0)
    row = tick(control(coordinator, "chain", switch_timeout=0.05))
    assert row.switch.error.startswith("timeout")
    assert (router.topology, router.epoch, coordinator.engine.phase) == ("star", 0, "IDLE")
    assert router.receive("coder").payload == "work"


@pytest.mark.parametrize(
    "wrong", [None, "star", SimpleNamespace(topology="star"), SimpleNamespace(topology=3, switch=print), Wire.switch]
)
def test_what_cannot_be_controlled_is_refused_at_once(wrong):
    with pytest.raises(errors.WrongType, match="cannot be controlled"):
        control(wrong, "stay")


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_a_time_to_wait_is_above_0(seconds):
    with pytest.raises(errors.OutOfRange, match="switch_timeout"):
        control(Wire(), "stay", switch_timeout=seconds)


def test_a_team_of_your_own_learns_to_use_a_topology_of_its_own():
    team = ("researcher", "writer", "editor")
    router = apex.Router(team, topologies={"pairs": lambda one, other: "writer" in (one, other)})
    coordinator = apex.Coordinator(apex.SwitchEngine(router), dwell=1, cooldown=1)
    with pytest.raises(errors.ShapeMismatch, match="reads 8 features, but the controller has 9"):
        features = apex.FeatureSource(roles=team, topologies=router.topologies)
        apex.Controller(coordinator, features, learner=apex.Chooser())
    with pytest.raises(errors.DefinitionError, match="the active topology is 'pairs', but the features know star"):
        apex.Controller(
            apex.SwitchEngine(apex.Router(team, topologies={"pairs": lambda *_: True}, topology="pairs")),
            apex.FeatureSource(),
        )
    learner = epsilon_ridge(("stay", *router.topologies), features.names, start=1.0, end=1.0)
    controller = apex.Controller(coordinator, features, learner=learner, seed=1)
    decisions, _, _ = play(controller, [state(tokens=at) for at in range(60)])
    assert {row.executed for row in decisions} == {"stay", "star", "chain", "flat", "pairs"}
    assert all(len(row.x) == len(features.names) == 9 for row in decisions)
    assert list(controller.stats.requested) == ["stay", "star", "chain", "flat", "pairs"]
    assert tick(apex.Controller(coordinator, features)).probability > 0  # the learner of the specification fits too


# -- many at once --------------------------------------------------------------------------------------------------


def test_ticks_at_the_same_time_wait_for_each_other():
    runtime = Runtime(dwell=0, cooldown=0)
    controller = runtime.controller("chain", "flat", "star", "chain", "stay")
    runtime.router.send(sender="system", recipient="coder", payload=None)  # so that a switch has to wait

    async def run():
        return await asyncio.gather(*(controller.tick() for _ in range(5)))

    rows = asyncio.run(run())
    assert [row.step for row in rows] == [1, 2, 3, 4, 5]
    assert [row.topology for row in rows] == ["star", "chain", "flat", "star", "chain"]
    controller.observe(state(), state())
    assert credits(controller) == [("stay", -0.05, False)]  # of the last; the others will never have a reward
    assert (controller.stats.decisions, controller.stats.credited, controller.chooser.waiting) == (5, 1, 4)


def test_decisions_that_wait_for_their_rewards_are_different_draws():
    controller = Runtime(dwell=99).controller(learner=EXPLORER)
    assert {tick(controller).action for _ in range(40)} == set(apex.ACTIONS)


def test_while_a_tick_is_under_way_nothing_is_observed_or_ended():
    runtime = Runtime(dwell=0)
    runtime.deaf = True
    runtime.router.send(sender="system", recipient="coder", payload=None)
    controller = runtime.controller("chain")

    async def run():
        ticking = asyncio.create_task(controller.tick())
        await asyncio.sleep(0)
        for early in (lambda: controller.observe(state(), state()), controller.finish):
            with pytest.raises(errors.InputError, match="a tick is still running"):
                early()
        return await ticking

    assert asyncio.run(run()).switch.error == "quiesce_timeout"


def test_a_cancelled_tick_leaves_a_logged_decision_and_a_runtime_that_goes_on():
    runtime = Runtime(dwell=0)
    runtime.deaf = True
    runtime.router.send(sender="system", recipient="coder", payload="work")
    controller = runtime.controller("chain", "flat")

    async def run():
        ticking = asyncio.create_task(controller.tick())
        await asyncio.sleep(0)
        ticking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ticking

    asyncio.run(run())
    assert controller.stats.switches == {"cancelled": 1}
    assert (runtime.engine.topology, runtime.engine.epoch) == ("star", 0)
    assert controller.observe(state(), state(tokens=100)).r_step == -0.01
    assert credits(controller) == [("stay", -0.01, False)]
    runtime.deaf = False
    assert tick(controller).topology_after == "flat"


def test_a_tick_that_is_cancelled_while_it_waits_for_its_turn_decides_nothing():
    runtime = Runtime(dwell=0)
    runtime.deaf = True
    runtime.router.send(sender="system", recipient="coder", payload="work")
    controller = runtime.controller("chain", "flat")

    async def run():
        first, second = (asyncio.create_task(controller.tick()) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    asyncio.run(run())
    assert (controller.step, controller.stats.requested) == (1, {"chain": 1})


def test_episodes_at_the_same_time_can_learn_together():
    chooser = apex.Chooser(EXPLORER, seed=3)
    runtimes = [Runtime(dwell=0, cooldown=0) for _ in range(3)]
    controllers = [runtime.controller(learner=chooser) for runtime in runtimes]

    async def episode(controller):
        for before, after in pairwise(STATES):
            await controller.tick()
            await asyncio.sleep(0)
            controller.observe(before, after)
        controller.finish()

    async def run():
        await asyncio.gather(*map(episode, controllers))

    asyncio.run(run())
    assert chooser.state.decisions == 72
    assert sum(chooser.state.pulls) == 75  # with the three bonuses
    assert chooser.waiting == 0


# -- stats -----------------------------------------------------------------------------------------------------------


def test_stats_tell_how_the_episode_went():
    runtime = Runtime()
    controller = runtime.controller("chain", "chain", "star", "stay")
    play(controller, [state(tokens=100 * at) for at in range(5)], success=True)
    stats = controller.stats
    assert stats.requested == {"stay": 1, "star": 1, "chain": 2}
    assert stats.executed == {"stay": 3, "chain": 1}
    assert stats.switches == {"refused": 2, "committed": 1}
    assert (stats.decisions, stats.credited, stats.epsilon) == (4, 4, 0.2)
    assert stats.earned == pytest.approx(1.0 - 0.04 - 0.05)
    assert stats.latencies == pytest.approx((1.0,) * 4)  # a millisecond each by the clock that was given


def test_a_percentile_is_the_latency_at_that_share_of_the_sorted_list():
    stats = Runtime().controller("stay").stats
    assert stats.percentile(0.95) == 0.0
    assert stats._replace(latencies=(3.0, 1.0, 2.0, 4.0)).percentile(0.5) == 3.0
    assert stats._replace(latencies=(3.0, 1.0, 2.0, 4.0)).percentile(1.0) == 4.0


def test_times_are_only_what_the_clock_says():
    row = tick(Runtime().controller("stay", clock=Clock()))
    assert row.ms == pytest.approx(1.0)
    assert row.tick_ms == pytest.approx(3.0)


def test_a_scripted_learner_is_a_learner():
    assert apex.Chooser(Scripted()).choose((0.0,) * 8).action == "stay"
