"""A probe: what it plays, what it finds and what it does not, and what it says of environments that misbehave."""

import json
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit import DefinitionError, Field, Ledger, Reward, term
from plaudit.analysis import PolicyOutcome, Probe, probe
from plaudit.analysis.probe.policies import MOST_PAIRS, CycleFamily
from plaudit.analysis.probe.result import PlayedEpisode
from plaudit.checks.report import Report
from plaudit.errors import EnvironmentFailed, InputError, MissingExtra, NotFinite
from support.corridors import STEPS, Corridor, arrival, calm, corridor_reward, effort, near, reaches_target, reader

HONEST = corridor_reward(arrival, effort)
CALM = corridor_reward(arrival, calm)
NEAR = corridor_reward(arrival, near)


def play(reward, env=Corridor, *, steps=6000, seeds=10, **options):
    return probe(env, reward, reader(reward), steps=steps, seeds=seeds, **options)


@pytest.fixture(scope="module")
def idling():
    return play(CALM)


# -- what is found -----------------------------------------------------------------------------------------------------


def test_a_dull_policy_that_earns_more_than_what_the_environment_pays_for_is_found(idling):
    (finding,) = idling.findings
    assert (finding.code, finding.severity, finding.term) == ("outcome-order", "warning", "calm")
    assert finding.message.startswith("an agent will behave like 'always 1': it earns 20, more than 'best")
    assert (idling.verdict.answer, idling.verdict.text[1:]) == ("unwanted", finding.message[1:])
    assert finding.place.file.endswith("corridors.py")
    assert [step.note.partition(",")[0] for step in finding.witness][:2] == ["always 1", "always 1"]
    assert finding.witness[0].total == 1.0
    assert not idling.ok


def test_policies_are_ranked_by_what_they_earn_beside_what_the_environment_pays(idling):
    earned = [each.earned.value for each in idling.policies]
    assert earned == sorted(earned, reverse=True)
    assert idling["always 1"].earned.value == STEPS
    assert idling["always 1"].measures["native"].value == pytest.approx(-0.1 * STEPS)
    best = idling["best by the native reward"]
    assert best.terminated == 1.0
    assert best.measures["native"].low > 9.0
    assert {"always 0", "always 1", "always 2", "random"} <= {each.name for each in idling.policies if each.is_baseline}


def test_a_policy_that_the_search_finds_is_a_finding_as_well():
    found = play(NEAR, steps=8000)
    (finding,) = found.findings
    assert (finding.code, finding.term) == ("outcome-order", "near")
    assert "behave like 'best by the reward': it earns" in finding.message


def test_a_goal_that_is_reached_and_paid_less_is_a_finding_of_its_own():
    found = play(corridor_reward(arrival, calm, goal=reaches_target), against=["goal"])
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("goal-not-best", "warning")
    assert "reaches the goal 'reaches_target' in 0 of 10 episodes instead of 10 (in 10 of 10 seeds)" in finding.message
    assert found.compared == ("goal",)


def test_a_field_that_says_what_is_better_is_a_measure():
    closer = Field("distance", low=0, high=50)
    found = play(corridor_reward(calm, effort, fields=[closer], better={"distance": "low"}))
    assert found["always 1"].measures["distance"].value == 4.0
    (finding,) = found.findings  # the environment's own reward says the same of the same policies
    assert finding.code == "outcome-order"
    (finding,) = play(
        corridor_reward(calm, effort, fields=[closer], better={"distance": "low"}, goal=reaches_target),
        against=["goal", "distance"],
    ).findings
    assert finding.message.endswith("The same holds by distance, better low.")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_an_honest_reward_is_no_finding(seed):
    found = play(HONEST, seed=100 * seed)
    assert found.findings == ()
    assert found.policies[0].name.startswith("best by")


def test_the_environments_own_reward_is_no_finding_and_no_measure_of_itself():
    @term
    def native(original_reward):
        return original_reward

    own = Reward("own", version="1", terms=[native], fields=[Field("original_reward", low=-1, high=10)])
    found = probe(Corridor, own, steps=1500, seeds=3)
    assert found.findings == ()
    assert found.compared == ()
    assert found.verdict.answer == "undecided"
    assert "Undecided: no objective is known" in str(found)


def test_a_measure_by_which_the_wanted_one_is_worse_makes_it_a_matter_of_taste():
    still = Field("action", values=(0, 1, 2))
    place = Field("place", low=-50, high=50)
    found = play(corridor_reward(arrival, calm, fields=[still, place], aim={"place": 0.0}))
    assert "place" in found.compared
    assert found.findings == ()


def test_where_nothing_beats_dull_policies_nothing_is_known_of_what_is_wanted():
    class Blind(Corridor):
        def step(self, action):
            obs, _, _, truncated, info = super().step(action)
            return obs * 0.0, 0.5, False, truncated, info

    found = play(corridor_reward(calm, goal=reaches_target), Blind, steps=1500, seeds=3)
    assert found.findings == ()
    assert [each.code for each in found.report.undecided] == ["goal-not-best"]
    assert found.verdict.answer == "undecided"

    def is_far(distance):
        return distance > 45

    found = play(corridor_reward(near, goal=is_far), steps=1500, seeds=3)
    assert "no policy reaches the goal 'is_far' beyond chance; try a --reference" in found.verdict.text


def test_what_is_wanted_may_be_a_cycle_which_no_linear_policy_is_near():
    class Turns(Corridor):
        def reset(self, **options):
            self.last = None
            return super().reset(**options)[0] * 0.0, {}

        def step(self, action):
            turned, self.last = self.last not in (None, action), action
            _, _, _, truncated, _ = super().step(1)
            return np.zeros(2), 0.0, False, truncated, {"arrived": turned, "action": int(action)}

    @term
    def second(action):
        return 1.0 if action == 2 else 0.0

    reward = corridor_reward(second, goal=reaches_target, fields=[Field("action", values=(0, 1, 2))])
    found = probe(Turns, reward, steps=6000, against=["goal"])
    assert found.policies[0].name == "always 2"
    assert found.verdict.answer == "unwanted"
    assert "best paid that is wanted" in {each.name for each in found.policies}


def test_one_seed_proves_nothing():
    found = play(CALM, seeds=1, steps=1500)
    assert found.findings == ()
    assert str(found).count("±") == 1


def test_what_the_reward_allows_is_counted_apart():
    found = play(corridor_reward(arrival, calm, allow={"outcome-order": "waiting is fine"}))
    assert found.ok
    assert [each.reason for each in found.report.suppressed] == ["waiting is fine"]


# -- the record --------------------------------------------------------------------------------------------------------


def test_the_episodes_are_in_the_ledger_and_the_witnesses_can_be_opened(tmp_path):
    with Ledger(tmp_path / "probe.db") as ledger:
        found = play(CALM, ledger=ledger)
        assert found.run == "probe Corridor"
        episodes = ledger.episodes(run=found.run)
        assert {each.actor for each in episodes} == {each.name for each in found.policies}
        paid = [each.total for each in episodes if each.actor == "random"]
        assert paid == pytest.approx([each.earned for each in found["random"].episodes])
        assert [each.ended for each in episodes if each.actor == "always 1"] == ["truncated"] * 10
        for step in found.findings[0].witness:
            number = int(step.note.rpartition("record ")[2])
            record = ledger[number]
            assert record.total == step.total
            assert record.actor == step.note.partition(",")[0]
        again = play(CALM, steps=500, ledger=ledger)
        assert again.run == "probe Corridor (2)"


def test_with_a_budget_in_steps_a_seed_says_all():
    one, other, third = (play(NEAR, steps=1500, seeds=3, seed=seed) for seed in (0, 0, 1))
    assert one.to_columns() == other.to_columns()
    assert one.report.findings == other.report.findings
    assert one.steps == other.steps
    assert one.to_columns() != third.to_columns()


def test_it_is_a_table_and_json_and_a_text(idling):
    frame = idling.to_pandas()
    assert list(frame.columns[:5]) == ["policy", "kind", "earned", "earned.low", "earned.high"]
    assert len(frame) == len(idling.policies)
    plain = json.loads(json.dumps(idling.to_dict()))
    assert plain["report"]["findings"][0]["code"] == "outcome-order"
    assert len(plain["policies"][0]["episodes"]) == 10
    assert "Means over 10 seeds ± 95% intervals" in str(idling)
    assert isinstance(idling, Probe)


def test_a_declared_discount_is_what_an_agent_would_go_by():
    found = play(corridor_reward(calm, effort, discount=0.5), steps=600, seeds=2)
    assert found["always 1"].earned.value == pytest.approx(0.9 * 2.0, rel=1e-5)
    assert "discounted by 0.5" in str(found)


# -- environments and spaces -------------------------------------------------------------------------------------------


class Anything(gymnasium.Env):
    """Takes actions of any space and complains of all others."""

    def __init__(self, actions, observations=None):
        self.action_space = actions
        self.observation_space = observations or spaces.Box(-1, 1, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.at = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.at += 1
        return self.observation_space.sample(), 0.0, False, self.at == 4, {}


@pytest.mark.parametrize(
    ("actions", "dull"),
    [
        (spaces.Discrete(3, start=5), ["always 5", "always 6", "always 7", "random"]),
        (spaces.Discrete(1000), None),
        (spaces.Box(-2, 2, (1,), np.float32), ["idle", "always -2", "always 2", "random"]),
        (spaces.Box(-np.inf, np.inf, (2,), np.float64), None),
        (spaces.Box(1, 3, (2,), np.int64), None),
        (spaces.Box(-1, 1, (40,), np.float32), ["idle", None, None, "random"]),
        (spaces.MultiDiscrete([2, 2]), ["always 0 0", "always 0 1", "always 1 0", "always 1 1", "random"]),
        (spaces.MultiBinary(3), ["idle", "always on", "random"]),
    ],
    ids=str,
)
def test_every_policy_takes_actions_that_the_space_allows(actions, dull):
    found = probe(Anything(actions), corridor_reward(effort), steps=300, seeds=2)
    names = [each.name for each in found.policies if each.is_baseline]
    assert "best by the reward" in {each.name for each in found.policies}
    assert len(names) <= 34
    if dull is not None:
        assert len(names) == len(dull)
        assert {name for name in dull if name is not None} <= set(names)


@pytest.mark.parametrize(
    "observations",
    [
        spaces.Discrete(5),
        spaces.Dict({"a": spaces.Box(0, 1, (2, 2)), "b": spaces.Discrete(3)}),
        spaces.Box(0, 255, (16, 16, 3), np.uint8),
    ],
    ids=["discrete", "dict", "image"],
)
def test_linear_policies_read_whatever_is_flat_in_the_end(observations):
    found = probe(Anything(spaces.Discrete(2), observations), corridor_reward(effort), steps=400, seeds=2)
    assert "best by the reward" in {each.name for each in found.policies}


def test_observations_that_no_simple_policy_reads_leave_the_dull_ones_and_cycles():
    found = probe(
        Anything(spaces.Discrete(2), spaces.Sequence(spaces.Box(-1, 1))), corridor_reward(effort), steps=200, seeds=2
    )
    assert {each.name for each in found.policies} == {"always 0", "always 1", "random", "best cycle by the reward"}
    assert "Linear policies cannot read these observations" in str(found)


def test_actions_that_an_environment_does_not_allow_are_not_taken():
    found = play(HONEST, lambda: Corridor(mask=True), steps=1500, seeds=3)
    assert found["always 1"].earned == found["always 2"].earned
    assert found.findings == ()


def test_an_environment_without_an_end_is_cut_off():
    found = play(CALM, lambda: Corridor(limit=10**9), steps=300, seeds=2, max_steps=30)
    assert found["always 1"].length == 30


def test_inputs_are_found_by_name_where_there_are_no_features():
    @term
    def far(distance):
        return -distance

    found = probe(Corridor, corridor_reward(far), steps=300, seeds=2)
    assert found["always 1"].earned.value == -4.0 * STEPS

    @term
    def seen(observation):
        return observation[1]

    whole = Reward("seeing", version="1", terms=[seen], fields=[Field("observation", length=2, low=-50, high=50)])
    assert abs(probe(Corridor, whole, steps=300, seeds=1)["always 1"].earned.value) == 4.0 * STEPS


def test_features_may_ask_for_the_environment():
    reward = corridor_reward(near)
    found = probe(
        Corridor, reward, lambda o, a, n, i, env: {"distance": abs(env.target - env.place)}, steps=200, seeds=2
    )
    assert found["always 1"].earned.value == 0.0


# -- what goes wrong -----------------------------------------------------------------------------------------------------


def test_an_environment_that_dies_is_one_message_and_what_was_recorded_stays(tmp_path):
    with Ledger(tmp_path / "probe.db") as ledger:
        with pytest.raises(EnvironmentFailed) as caught:
            play(CALM, lambda: Corridor(fail_at=130), ledger=ledger)
        message = "\n".join([str(caught.value), *caught.value.__notes__])
        assert "the environment Corridor failed in step" in message
        assert "OSError: the simulator is gone" in message
        assert f"episodes played before are in {tmp_path / 'probe.db'}, run 'probe Corridor'" in message
        assert sum(each.ended is not None for each in ledger.episodes()) == int(message.partition("The ")[2].split()[0])


def test_nan_in_an_observation_is_one_message():
    with pytest.raises(NotFinite, match=r"Corridor gave NaN as observation\[1\] in step 1 of 'always 1' with seed 0"):
        play(CALM, lambda: Corridor(nan_at=5))


def test_a_step_that_cannot_be_scored_says_which_it_was():
    small = corridor_reward(near, fields=[Field("distance", low=0, high=3)])
    with pytest.raises(InputError) as caught:
        play(small)
    assert "'distance': 4.0 is outside its declared range" in str(caught.value)
    assert "of 'always" in caught.value.__notes__[0]


def test_a_field_that_nothing_in_a_step_has_says_how_to_give_it():
    with pytest.raises(DefinitionError) as caught:
        probe(Corridor, corridor_reward(arrival))
    assert "reads 'arrived', but a step of the environment has nothing of that name" in str(caught.value)
    assert "features(obs, action, next_obs, info)" in str(caught.value)


def test_features_that_raise_say_so():
    with pytest.raises(DefinitionError, match="the features of reward 'walking' raised KeyError: 'arived'"):
        probe(Corridor, HONEST, lambda o, a, n, info: {"arrived": info["arived"]})


@pytest.mark.parametrize(
    ("env", "options", "says"),
    [
        ("NoSuchThing-v0", {}, "the environment NoSuchThing-v0 cannot be made"),
        (3, {}, "3 is not an environment"),
        (lambda: 3, {}, "returned 3, which is not an environment"),
        (lambda: Anything(spaces.Dict({"a": spaces.Discrete(2)})), {}, "there is no simple policy for actions of Dict"),
        (Corridor(), {"make": {"mask": True}}, "Corridor already exists, so it takes no options"),
        (Corridor, {"against": ["gaol"]}, "there is no measure 'gaol'.* Available: native"),
        (Corridor, {"seeds": 0}, "seeds=0 must be an integer of at least 1"),
        (Corridor, {"steps": True}, "steps=True must be an integer"),
        (Corridor, {"seconds": -1.0}, "seconds=-1.0 must be above 0"),
        (Corridor, {"seed": 2**20}, "must be below"),
    ],
)
def test_what_cannot_be_probed_is_refused(env, options, says):
    with pytest.raises(DefinitionError, match=says):
        probe(env, corridor_reward(effort), **{"steps": 100, **options})


def test_many_environments_at_once_are_refused():
    envs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    with pytest.raises(DefinitionError, match="is a vector environment; give a single one"):
        probe(envs, corridor_reward(effort))
    envs.close()


def test_ctrl_c_ends_it_with_what_is_known():
    calls = []

    def progress(done, total):
        calls.append((done, total))
        if done > total * 0.5:
            raise KeyboardInterrupt

    found = play(CALM, progress=progress)
    assert found.interrupted
    assert found["always 1"].earned.value == STEPS
    assert "Interrupted: these results are partial" in str(found)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_ctrl_c_in_the_search_does_not_say_that_the_search_found_nothing():
    @term
    def upright(angle):
        return 1 - abs(angle)

    def progress(done, total):
        if done > 0.2 * total:
            raise KeyboardInterrupt

    reward = Reward("balance", version="1", terms=[upright], fields=[Field("angle")])
    read = lambda obs, action, after, info: {"angle": float(after[2])}  # noqa: E731
    found = probe("CartPole-v1", reward, read, steps=20_000, progress=progress)
    assert "no search finished, and random actions earn most" in found.verdict.text


def test_ctrl_c_before_anything_is_known_is_an_empty_table():
    def progress(done, total):
        raise KeyboardInterrupt

    found = play(CALM, lambda: Corridor(limit=500), progress=progress)
    assert found.policies == ()
    assert "Interrupted: these results are partial" in str(found)


def test_an_environment_that_was_given_stays_open_and_one_that_was_made_is_closed():
    mine, made = Corridor(), []
    play(CALM, mine, steps=100, seeds=1)
    play(CALM, lambda: made.append(Corridor()) or made[0], steps=100, seeds=1)
    assert not mine.closed
    assert made[0].closed


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("plaudit.adapters.gymnasium")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match="plaudit\\[gym\\]"):
        probe("CartPole-v1", HONEST)


def test_constant_actions_that_fare_alike_are_one_row():
    signal = Reward("paid", version="1", terms=[arrival], fields=[Field("arrived", flag=True)]).score(arrived=True)

    def fare(name, kind, *earned):
        episodes = [
            PlayedEpisode(name, at, paid, {}, {}, 3, "terminated", signal, signal) for at, paid in enumerate(earned)
        ]
        return PolicyOutcome(name, kind, tuple(episodes))

    policies = (
        fare("always 0", "constant", 5.0, 6.0),
        fare("always 1", "constant", 5.0, 6.0),
        fare("always 2", "constant", 5.0, 6.5),
        fare("random", "random", 5.0, 6.0),
    )
    report = Report(reward="walking", version="1", fingerprint="", findings=())
    found = Probe(
        env="Corridor",
        reward="walking@1",
        discount=1.0,
        measures=(),
        compared=(),
        policies=policies,
        report=report,
        steps=24,
        seconds=0.0,
    )
    rows = str(found).splitlines()[4:7]
    assert [row.split("  ")[0] for row in rows] == ["always 0 (+1 identical)", "always 2", "random"]
    assert [label.get_text() for label in found.plot().get_yticklabels()] == [
        "always 0 (+1 identical)",
        "always 2",
        "random",
    ]
    assert "always 0 (+1 identical)" in found._repr_html_()


def test_cycles_begin_with_there_and_back_between_actions_that_fared_differently():
    family = CycleFamily(spaces.Discrete(5, start=1), [4, 2, 5])
    cycles = [family.build(weights).actions for weights in family.constants]
    assert cycles == [(4, 2, 4, 2), (4, 5, 4, 5), (2, 5, 2, 5)]
    assert len(CycleFamily(spaces.Discrete(30), range(30)).constants) == MOST_PAIRS
