"""The convoy as a Gymnasium environment, on real SUMO."""

import json
import math
import os
import pickle
import signal
import sys
import warnings
from contextlib import nullcontext

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from plaudit import DefinitionError, Field, OutOfRange, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.envs import ROADSENSE
from plaudit.errors import NotFinite, UnknownField, WrongType
from plaudit.systems.roadsense import (
    CarModel,
    Hazard,
    Measurement,
    RewardCalculator,
    RoadSenseEnv,
    Scenario,
    convoy,
    version,
)
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.hazard_injector import HazardInjector
from plaudit.systems.roadsense.measurement import build_input_reader
from plaudit.systems.roadsense.scenario import TRAINING_ROAD
from plaudit.systems.roadsense.sumo.traci_client import TraciSimulation
from plaudit.systems.roadsense.world import EGO
from support.forking import run_python

AT_ONCE = Hazard(first=5, last=5, target="nearest")
R0_KEYS = {
    "reward_safety",
    "reward_comfort",
    "reward_appropriateness",
    "reward_total",
    "distance",
    "action",
    "deceleration",
}


@pytest.fixture
def made(lent_sumo):
    """Return what makes environments and closes them when the test is over.

    They take turns on one SUMO, but for those that are to have their own.
    """
    open_ones = []

    def make(*, own_sumo=False, **settings):
        with nullcontext() if own_sumo else lent_sumo():
            open_ones.append(RoadSenseEnv(**{"binding": "process", "hazard": "none", **settings}))
        return open_ones[-1]

    yield make
    for env in open_ones:
        env.close()


def driven(env, policy, *, seed=0, steps=10**6, options=None):
    """Return the steps of an episode, or its first ones, as `step` gave them."""
    _, info = env.reset(seed=seed, options=options)
    given = []
    while len(given) < steps:
        given.append(env.step(policy(info)))
        info = given[-1][-1]
        if given[-1][2] or given[-1][3]:
            break
    return given


def same(one, other):
    """Return whether two steps, or anything in them, are equal to the bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)


# -- Gymnasium's rules -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{}, {"assist": True}, {"actions": "continuous"}, {"actions": "continuous", "scenario": "late", "radio": "field",
     "randomise": True, "hazard": "bucketed", "warmup": 30, "limit": 500}, {"radio": "default", "transport": "queue"}],
    ids=["R0", "assisted", "continuous", "late", "queue"],
)  # fmt: skip
def test_gymnasium_finds_nothing_wrong_with_it(made, settings):
    check_unregistered(made(**{"hazard": "seed", **settings}))


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_gymnasium_finds_nothing_wrong_with_the_world_of_training(made, actions):
    check_unregistered(made(actions=actions, hazard="training", **TRAINING_ROAD))


def test_under_keep_gap_every_crash_costs_a_whole_episode_whatever_the_radio_lets_through(made):
    env = made(reward="keep_gap", hazard="training", radio="default", limit=400, **TRAINING_ROAD)
    crashes = {}
    for seed in range(6):
        env.reset(seed=seed)
        paid, over = [], False
        while not over:
            _, earned, terminated, truncated, info = env.step(0)
            paid.append(earned)
            over = terminated or truncated
        assert min(paid[:-1]) >= 0  # a distance below 5 m that was heard and is not true costs nothing
        if terminated:
            crashes[seed] = info["distance"]
            assert earned <= -1000
    assert max(crashes.values()) > 5  # the radio said otherwise


def check_unregistered(env):
    """Let Gymnasium check an environment that has no entry in its registry, of which it warns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*not having a spec")
        check_env(env)


def test_gymnasium_finds_nothing_wrong_with_the_registered_one_beside_which_it_makes_others(monkeypatch):
    """It makes one for each way to render, and one to close; where there is no display, no window is offered."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert (
        alone(
            "import sys, gymnasium\n"
            "from gymnasium.utils.env_checker import check_env\n"
            "env = gymnasium.make('plaudit.envs:plaudit/RoadSense-v0').unwrapped\n"
            "check_env(env)\n"
            "print(env.metadata['render_modes'], 'libsumo' in sys.modules)\n"
        )
        == "['rgb_array'] True"
    )


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_drive_each_its_own_convoy(mode):
    envs = gymnasium.make_vec(ROADSENSE, num_envs=2, vectorization_mode=mode, hazard="none")
    observations, _ = envs.reset(seed=3)
    assert observations.shape == (2, 11)
    _, rewards, _, _, infos = envs.step(np.array([0, 3]))
    assert infos["deceleration"].tolist() == [0.0, 4.5]
    assert rewards.tolist() == [1.0, -1.0]
    envs.close()


def test_hazards_of_a_vector_begin_when_they_do():
    """Gymnasium cannot put the step of one beside the None of another that still waits."""
    options = {"hazard": Hazard(first=2, last=9), "limit": 12}
    envs = gymnasium.make_vec(ROADSENSE, num_envs=2, vectorization_mode="sync", **options)
    envs.reset(seed=1)
    told = [envs.step(np.array([1, 1]))[-1] for _ in range(12)]
    envs.close()
    begun = [info["_hazard_step"].tolist() for info in told if "hazard_step" in info]
    assert [True, False] in begun or [False, True] in begun
    assert told[-1]["hazard_step"].dtype.kind == "i"
    assert told[-1]["hazard_onset_gap_m"].dtype.kind == "f"


def test_an_episode_that_is_over_must_be_begun_anew(made):
    env = made(limit=2)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    driven(env, lambda info: 0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


# -- a step ------------------------------------------------------------------------------------------------------------


def test_each_action_brakes_at_its_own_rate(made):
    env = made()
    for action, braking in enumerate((0.0, 0.5, 2.0, 4.5)):
        steps = driven(env, lambda info: action, steps=10)  # noqa: B023
        assert {info["deceleration"] for *_, info in steps} == {braking}


@pytest.mark.parametrize("level", [0.1, 0.5, 1.0])
def test_a_continuous_action_brakes_harder_than_the_car_could_by_itself(made, level):
    env = made(actions="continuous", scenario=Scenario(model=CarModel(decel=4.5)))
    steps = driven(env, lambda info: np.array([level], np.float32), steps=5)
    assert [info["deceleration"] for *_, info in steps] == pytest.approx([8 * level] * 5, abs=1e-6)


def test_per_step_the_three_brakes_are_one_as_the_car_caps_them(made):
    env = made(scale="per_step")
    paths = [[info["ego_speed"] for *_, info in driven(env, lambda info: action, steps=30)] for action in (1, 2, 3)]  # noqa: B023
    assert paths[0] == paths[1] == paths[2]
    assert np.diff(paths[0]) == pytest.approx([-0.45] * 29)


def test_a_released_car_follows_by_itself_and_is_charged_nothing(made):
    env = made(actions="continuous", limit=300)
    steps = driven(env, lambda info: 0.0, options={"hazard": AT_ONCE})
    assert {info["deceleration"] for *_, info in steps} == {0.0}
    assert not steps[-1][2]
    assert steps[-1][-1]["ego_speed"] < 1.0  # it stopped behind the hazard
    assert min(info["true_distance"] for *_, info in steps) >= 7.4


def test_where_following_is_taken_away_a_car_that_does_nothing_collides(made):
    env = made(actions="continuous", hold_after=3, limit=300)
    steps = driven(env, lambda info: 0.0, options={"hazard": AT_ONCE})
    *_, terminated, truncated, info = steps[-1]
    assert (terminated, truncated, info["collision"]) == (True, False, True)
    assert info["true_distance"] < 5.0


def test_maintain_runs_into_a_stopped_car_unless_assisted(made):
    assert driven(made(limit=300), lambda info: 0, options={"hazard": AT_ONCE})[-1][2]
    assisted = driven(made(limit=300, assist=True), lambda info: 0, options={"hazard": AT_ONCE})
    assert not assisted[-1][2]
    assert assisted[-1][-1]["true_distance"] == pytest.approx(7.5, abs=0.1)


def test_the_reward_is_the_calculators_and_the_keys_are_all_there(made):
    env, calculator = made(limit=80), RewardCalculator()
    for _, reward, *_, info in driven(env, lambda info: 1 if info["distance"] < 35 else 0, options={"hazard": AT_ONCE}):
        total, told = calculator.calculate(info["distance"], info["action"], info["deceleration"])
        assert reward == total
        assert {name: info[name] for name in R0_KEYS} == told
        assert {"step", "simulation_time", "hazard_injected"} <= info.keys()
        assert sum(info["reward_components"].values()) == total


def test_the_sums_of_an_episode_are_those_of_its_steps(made):
    steps = driven(made(reward="R11", actions="continuous", limit=120), lambda info: 0.3, options={"hazard": AT_ONCE})
    assert all("episode_reward_components" not in info for *_, info in steps[:-1])
    sums = steps[-1][-1]["episode_reward_components"]
    for name, total in sums.items():
        assert total == pytest.approx(sum(info["reward_components"][name] for *_, info in steps))
    assert sum(sums.values()) == pytest.approx(sum(reward for _, reward, *_ in steps))


@pytest.mark.parametrize("label", ["R0", "R3", "R9L", "R12a", "graded"])
def test_every_version_can_pay(made, label):
    env = made(reward=label)
    env.reset(seed=0)
    _, reward, *_ = env.step(1)
    assert reward == version(label).score(**build_input_reader(version(label))(env.measured)).total


def test_a_reward_of_your_own_pays(made):
    @term
    def pace(ego_speed, *, best=15.0):
        return -abs(ego_speed - best)

    env = made(reward=Reward("own", version="1", terms=[pace], fields=[Field("ego_speed", low=0, high=60)]))
    env.reset(seed=0)
    _, reward, *_, info = env.step(0)
    assert info["reward_components"] == {"pace": reward} == {"pace": -abs(info["ego_speed"] - 15.0)}


def test_a_reward_that_reads_what_is_not_measured_is_refused_at_once():
    @term
    def calm(jerk):
        return -abs(jerk)

    with pytest.raises(UnknownField, match="reads 'jerk'"):
        RoadSenseEnv(reward=Reward("own", version="1", terms=[calm], fields=[Field("jerk", low=-99, high=99)]))


# -- hazards, warnings, the radio --------------------------------------------------------------------------------------


def test_a_hazard_is_told_with_its_source_and_its_step(made):
    steps = driven(made(limit=60), lambda info: 2, options={"hazard": Hazard(first=20, last=20, target="rank:2")})
    before, after = steps[19][-1], steps[20][-1]
    assert (before["hazard_injected"], before["hazard_source_id"]) == (False, None)
    assert (after["hazard_injected"], after["hazard_source_id"], after["hazard_step"]) == (True, "V003", 20)
    assert after["hazard_source_rank_ahead"] == 2
    assert after["hazard_onset_gap_m"] > 55


def test_a_hazard_that_says_how_hard_brakes_so_hard(made):
    hard = Hazard(first=20, last=20, kind="slow", seconds=(1.0, 1.0), decel=(9.0, 9.0), target="nearest")
    env = made(limit=32)
    before = driven(env, lambda info: 2, steps=20, options={"hazard": hard}) and env.cars["V002"].speed
    for _ in range(10):
        env.step(2)
    assert before - env.cars["V002"].speed == pytest.approx(9.0, abs=0.1)


def test_a_released_car_keeps_the_limit(made):
    env = made(actions="continuous", limit=400)
    steps = driven(env, lambda info: 0.5 if info["step"] < 10 else 0.0)
    assert max(info["ego_speed"] for *_, info in steps) < 22.3


def test_a_hazard_that_finds_no_car_says_so_and_the_episode_goes_on(made):
    steps = driven(made(limit=60), lambda info: 2, options={"hazard": Hazard(first=20, last=20, target="rank:5")})
    info = steps[-1][-1]
    assert len(steps) == 60
    assert (info["hazard_injection_attempted"], info["hazard_injected"]) == (True, False)
    assert "rank 5" in info["hazard_injection_failed_reason"]


def test_a_warning_latches_and_fades(made):
    env = made(limit=40)
    env.reset(seed=0, options={"hazard": AT_ONCE})
    heard = []
    for _ in range(40):
        env.step(2)
        heard.append(env.measured)
    first = next(at for at, step in enumerate(heard) if step.warned_now)
    assert {step.warned_ever for step in heard[:first]} == {0.0}
    assert {step.warned_ever for step in heard[first:]} == {1.0}
    assert {step.warned_fading for step in heard[:first]} == {0.0}
    assert heard[first].warned_fading == 1.0


def test_a_lost_radio_link_shows_nobody_and_still_ends_at_a_true_collision(made):
    env = made(radio="field", limit=300, scenario=Scenario(peers=1, spacing=60.0))  # the field set ends at 50 m
    steps = driven(env, lambda info: 0, options={"hazard": AT_ONCE})
    deaf = [info for *_, info in steps if not info["mesh_received_source_ids"]]
    assert deaf
    assert all(math.isinf(info["distance"]) for info in deaf)
    assert all(math.isfinite(info["true_distance"]) for info in deaf)
    assert steps[-1][2]


def test_observations_stay_in_their_space(made):
    for settings in ({"radio": "bench"}, {"actions": "continuous", "radio": "default", "scenario": "late"}):
        env = made(randomise=True, limit=150, hazard="certain", **settings)
        steps = driven(env, lambda info: 0 if env.action_space.shape == () else 0.0)  # noqa: B023
        assert all(observation in env.observation_space for observation, *_ in steps)


# -- to the bit --------------------------------------------------------------------------------------------------------

EVERYTHING = {"actions": "continuous", "scenario": "late", "radio": "field", "randomise": True, "hazard": "bucketed",
              "warmup": 30, "limit": 120}  # fmt: skip


def test_a_seed_gives_the_same_episode_to_the_bit(made):
    env = made(**EVERYTHING)
    first = driven(env, lambda info: 0.05, seed=11)
    other = driven(env, lambda info: 0.05, seed=12)
    again = driven(env, lambda info: 0.05, seed=11)
    elsewhere = driven(made(own_sumo=True, **EVERYTHING), lambda info: 0.05, seed=11)
    assert same(first, again)
    assert same(first, elsewhere)
    assert not same(first, other)


def test_the_ways_to_run_sumo_agree_to_the_bit(made):
    drives = [driven(made(binding=each), lambda info: 1, seed=4, steps=60) for each in ("process", "traci")]
    assert same(*drives)


def test_the_hazard_does_not_change_what_comes_before_it(made):
    env = made()
    calm = driven(env, lambda info: 1, seed=5, steps=40)
    endangered = driven(env, lambda info: 1, seed=5, steps=40, options={"hazard": Hazard(first=30, last=30)})
    assert same([step[0] for step in calm[:30]], [step[0] for step in endangered[:30]])
    assert not same([step[0] for step in calm], [step[0] for step in endangered])


def test_a_copy_is_made_anew_and_drives_the_same(made):
    env = made(reward="R8", limit=50)
    env.reset(seed=1)
    copy = pickle.loads(pickle.dumps(env))
    try:
        assert same(driven(copy, lambda info: 1, seed=3), driven(env, lambda info: 1, seed=3))
    finally:
        copy.close()


# -- what ends badly ---------------------------------------------------------------------------------------------------


def kill_sumo(env):
    """End the SUMO of an environment, whichever program it is, as the system does when memory is short."""
    simulation = env.unwrapped._simulation
    child = simulation._sumo if isinstance(simulation, TraciSimulation) else simulation._child
    os.kill(child.popen.pid, signal.SIGKILL)


@pytest.mark.parametrize("binding", ["process", "traci"])
def test_a_sumo_that_dies_cuts_the_episode_off_with_the_reason_and_the_next_one_runs(made, binding):
    env = made(own_sumo=True, binding=binding)
    steps = driven(env, lambda info: 1, steps=5)
    kill_sumo(env)
    with pytest.warns(RuntimeWarning) as warned:
        observation, reward, terminated, truncated, info = env.step(0)
    assert [str(each.message) for each in warned] == [
        "the episode is cut off: SUMO died: it was ended by SIGKILL. Begin the world again"
    ]
    assert observation in env.observation_space
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["truncated_reason"].startswith("simulator died: SUMO died: it was ended by SIGKILL")
    assert info["reward_components"] == {}  # nothing was measured: no 0 that looks like a score
    assert sum(info["episode_reward_components"].values()) == sum(step[1] for step in steps)
    assert {name: info[name] for name in ("distance", "step")} == {
        name: steps[-1][-1][name] for name in ("distance", "step")
    }
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    assert same(driven(env, lambda info: 1, steps=5), steps)


@pytest.mark.parametrize("binding", ["process", "traci"])
def test_a_sumo_that_dies_while_an_episode_begins_is_an_error_and_the_next_one_runs(made, binding):
    class Deadly(HazardInjector):
        """Kills SUMO before the first step of the warm-up, which it begins with."""

        def __init__(self):
            super().__init__()
            kill_sumo(env)

    env = made(own_sumo=True, binding=binding, warmup=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convoy, "HazardInjector", Deadly)
        with pytest.raises(SimulatorError, match="SUMO died: it was ended by SIGKILL"):
            env.reset(seed=0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    assert env.step(0)[-1]["step"] == 1


def test_a_libsumo_that_others_close_cuts_the_episode_off_and_the_next_one_runs():
    assert alone(
        "import warnings\n"
        "from plaudit.systems.roadsense import RoadSenseEnv\n"
        "env = RoadSenseEnv(hazard='none')\n"
        "env.reset(seed=0); env.step(0)\n"
        "import libsumo; libsumo.close()\n"
        "with warnings.catch_warnings(record=True) as warned:\n"
        "    *_, truncated, info = env.step(0)\n"
        "print(len(warned), truncated, info['truncated_reason'])\n"
        "env.reset(seed=0); print(env.step(0)[1])\n"
        "env.close()\n"
    ).splitlines() == ["1 True simulator died: SUMO stopped the simulation: A network was not yet constructed.", "1.0"]


def test_a_car_that_leaves_the_road_ends_the_episode_with_the_reason(made):
    env = made(actions="continuous", limit=10**6)
    steps = driven(env, lambda info: 0.0, options={"scenario": Scenario(speed=22.0)})
    *_, terminated, truncated, info = steps[-1]
    assert (terminated, truncated, info["truncated_reason"]) == (False, True, "ego route ended")
    assert steps[-2][-1].keys() - info.keys() == {f"reward_{term.name}" for term in env.reward.terms}
    assert steps[-1][1] == info["reward_total"] == 0.0
    assert EGO not in env.cars
    assert EGO in env.frame.cars  # as it was seen last
    assert env.frame.total == 0.0


def test_what_wraps_it_survives_a_sumo_that_dies(made):
    def features(obs, action, next_obs, info):
        return {name: info[name] for name in ("distance", "deceleration", "action")}

    env = RewardWrapper(made(own_sumo=True), version("R0"), features)
    env.reset(seed=0)
    kill_sumo(env)
    with pytest.warns(RuntimeWarning, match="cut off"):
        *_, truncated, info = env.step(0)
    assert truncated
    assert info["original_reward_components"] == {}


def test_a_road_that_ends_in_the_warm_up_is_an_error_that_says_so(made):
    for radio in ("ideal", "field"):
        with pytest.raises(SimulatorError, match="the road is too short"):
            made(warmup=3000, radio=radio).reset(seed=0)


def test_the_limit_ends_the_episode_with_the_reason(made):
    *_, truncated, info = driven(made(limit=7), lambda info: 0)[-1]
    assert truncated
    assert info["truncated_reason"] == "limit of 7 steps"


def test_a_network_that_is_broken_is_an_error_that_names_it(made, tmp_path):
    broken = tmp_path / "broken.net.xml"
    broken.write_text("<net>")
    with pytest.raises(SimulatorError, match=r"broken\.net\.xml"):
        made(scenario=Scenario(network=str(broken))).reset(seed=0)


@pytest.mark.parametrize(
    ("action", "error"), [(4, OutOfRange), (-1, OutOfRange), (0.5, WrongType), ("brake", WrongType)]
)
def test_an_action_that_is_none_is_refused_and_the_episode_goes_on(made, action, error):
    env = made()
    env.reset(seed=0)
    with pytest.raises(error, match="action"):
        env.step(action)
    assert env.step(0)[-1]["step"] == 1


async def promise():
    """Return what nobody waits for."""


@pytest.mark.parametrize("wrong", ["", 8, ["R0"], RewardCalculator, promise])
def test_a_reward_that_is_none_is_refused(wrong):
    with pytest.raises(DefinitionError, match="reward|no version"):
        RoadSenseEnv(reward=wrong)


def test_a_coroutine_is_neither_a_reward_nor_a_hazard():
    waiting = promise()
    with pytest.raises(DefinitionError, match=r"^reward=<coroutine .*> must be the name of a version or a Reward\.$"):
        RoadSenseEnv(reward=waiting)
    with pytest.raises(DefinitionError, match="^hazard=<coroutine .*>: give a Hazard, or one of none, seed"):
        RoadSenseEnv(hazard=waiting)
    waiting.close()


def test_a_reward_that_remembers_is_referred_to_the_wrapper():
    @term
    def approach(prev, curr):
        return prev.distance - curr.distance

    with pytest.raises(UnknownField, match=r"'prev\.distance'.*one step at a time\.\n.*RewardWrapper"):
        RoadSenseEnv(reward=Reward("own", version="1", terms=[approach], fields=[Field("distance", low=0, high=99)]))


def test_a_level_that_is_none_is_refused(made):
    env = made(actions="continuous")
    env.reset(seed=0)
    with pytest.raises(NotFinite, match="action nan"):
        env.step(np.array([np.nan], np.float32))
    with pytest.raises(NotFinite, match="action inf"):
        env.step(10**400)


@pytest.mark.parametrize(
    "wrong",
    [{"limit": 0}, {"warmup": -1}, {"hold_after": 1.5}, {"hazard": "sometimes"}, {"radio": "wifi"}, {"scenario": "lat"},
     {"observation": "picture"}, {"render_mode": "ansi"}, {"scale": "per_step", "assist": False}, {"reward": "R99"},
     {"actions": "both"}, {"scenario": []}, {"observation": ""}, {"assist": "no"}, {"randomise": 0}],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_a_setting_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(DefinitionError, match=next(iter(wrong)) if "reward" not in wrong else "R99"):
        RoadSenseEnv(**wrong)


def test_options_that_are_none_are_refused(made):
    env = made()
    with pytest.raises(DefinitionError, match="Did you mean 'hazard'"):
        env.reset(options={"hazzard": "none"})
    with pytest.raises(DefinitionError, match="must be a mapping"):
        env.reset(options=["hazard"])
    with pytest.raises(DefinitionError, match="no option 3"):
        env.reset(options={3: "none"})
    with pytest.raises(DefinitionError, match="5 peers does not fit an observation of 2"):
        env.reset(options={"scenario": Scenario(peers=5)})


# -- one libsumo a process ---------------------------------------------------------------------------------------------


def alone(script):
    """Return what a process of its own prints, in which libsumo can be used and pyarrow is not loaded."""
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_two_environments_of_one_process_drive_the_same_to_the_bit():
    """The first has libsumo and the second a process; who insists on libsumo is told how to get the other."""
    said = alone(
        "from plaudit.systems.roadsense import RoadSenseEnv, SimulatorError\n"
        "def drive(env):\n"
        "    env.reset(seed=4)\n"
        "    return [(*env.step(1)[:4], env.cars) for _ in range(60)]\n"
        "one, two, three = RoadSenseEnv(), RoadSenseEnv(), RoadSenseEnv(binding='libsumo')\n"
        "assert str(drive(one)) == str(drive(two))\n"
        "try: three.reset(seed=0)\n"
        "except SimulatorError as error: print(error)\n"
        "one.step(0); one.close(); three.reset(seed=0); three.close(); two.close()\n"
    )
    assert 'binding="auto"' in said


def test_libsumo_in_this_process_agrees_with_a_process_of_its_own(made):
    script = (
        "import json\n"
        "from plaudit.systems.roadsense import RoadSenseEnv\n"
        "env = RoadSenseEnv(hazard='none')\n"
        "env.reset(seed=4)\n"
        "print(json.dumps([[float(x) for x in env.step(1)[0]] for _ in range(60)]))\n"
        "env.close()\n"
    )
    assert json.loads(alone(script)) == [step[0].tolist() for step in driven(made(), lambda info: 1, seed=4, steps=60)]


def test_the_cars_that_can_be_seen_are_those_on_the_road(made):
    env = made()
    env.reset(seed=0)
    assert set(env.cars) == {EGO, "V002", "V003"}
    assert all(abs(number) < 1e5 for car in env.cars.values() for number in car)  # no sentinel of a car that waits
    assert isinstance(env.measured, Measurement)


def test_a_picture_shows_the_convoy(made):
    env = made(render_mode="rgb_array")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()
    env.reset(seed=0)
    before = env.render()
    for _ in range(20):
        env.step(3)
    assert before.dtype == np.uint8
    assert before.shape == env.render().shape
    assert not np.array_equal(before, env.render())
