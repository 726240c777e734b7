"""A reference stands for what is wanted: a policy of the user's, a model that predicts, or recorded episodes."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit import DefinitionError, Field, Ledger, Reward, Task, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import probe
from plaudit.errors import InputError, NotInLedger
from support.corridors import Corridor, arrival, calm, corridor_reward, effort, reaches_target, reader

CALM = corridor_reward(arrival, calm, goal=reaches_target)
HONEST = corridor_reward(arrival, effort, goal=reaches_target)


def walk(obs):
    """Go to the target."""
    return 2 if obs[1] > obs[0] else 0


def play(reward, *, reference, env=Corridor, steps=4000, seeds=10, **options):
    return probe(env, reward, reader(reward), steps=steps, seeds=seeds, reference=reference, **options)


class Lock(gymnasium.Env):
    """Ten digits in a row open it, which no search finds; the observation says which comes next, as a picture."""

    action_space = spaces.Discrete(10)
    observation_space = spaces.Box(0, 1, (4,), np.float64)
    code = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.right, self.at = 0, 0
        return np.zeros(4), {"right": 0}

    def step(self, action):
        self.at += 1
        self.right = self.right + 1 if action == self.code[self.right] else 0
        is_open = self.right == len(self.code)
        return np.zeros(4), 0.0, is_open, self.at >= 20, {"opened": is_open, "right": self.right, "zero": action == 0}


@term
def zeros(zero):
    return 1.0 if zero else 0.0


@term
def opening(opened):
    return 100.0 if opened else 0.0


def is_open(opened):
    return opened


def lock_reward(*terms):
    read = {name for each in terms for name in each.reads}
    fields = {name: Field(name, flag=True) for name in ("opened", "zero")}
    task = Task(goal=is_open, fields=[fields[name] for name in fields if name not in read])
    return Reward("lock", version="1", terms=terms, fields=[fields[name] for name in fields if name in read], task=task)


def dial(obs, info):
    """Dial the next digit."""
    return Lock.code[info["right"]]


# -- what it decides ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "count"), [(3000, 5), pytest.param(9000, 10, marks=pytest.mark.slow)])
def test_where_a_search_cannot_do_the_task_a_reference_decides(steps, count):
    flawed, sound = lock_reward(zeros), lock_reward(opening)
    assert probe(Lock, flawed, steps=steps).verdict.answer == "undecided"
    found = probe(Lock, flawed, steps=steps, reference=dial)
    assert found.verdict.answer == "unwanted"
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("goal-not-best", "warning")
    told = f"more than 'reference' (0), but reaches the goal 'is_open' in 0 of {count} episodes instead of {count}"
    assert told in finding.message
    found = probe(Lock, sound, steps=steps, reference=dial)
    assert (found.verdict.answer, found.findings) == ("wanted", ())
    assert found.policies[0].kind == "reference"
    assert "nothing earns more than the reference (100)" in found.verdict.text


def test_what_earns_more_than_the_reference_where_no_measure_tells_them_apart_is_advice():
    own = Reward("calm", version="1", terms=[calm], fields=[Field("action", values=(0, 1, 2))])
    found = play(own, reference=lambda obs: 0, against=[])
    (finding,) = found.findings
    assert finding.severity == "advice"
    assert finding.message == ("'always 1' earns 20, more than the reference (0), and no measure separates the two.")
    assert found.verdict.answer == "undecided"


class Model:
    """As of Stable-Baselines3: an action as an array, and a state."""

    def __init__(self):
        self.starts = 0

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        self.starts += bool(episode_start[0])
        return np.array(walk(observation)), 0 if state is None else state + 1


def test_an_object_that_predicts_is_a_policy():
    model = Model()
    found = play(HONEST, reference=model, seeds=4)
    assert found["reference"].measures["goal"].value == 1.0
    assert model.starts >= 4
    plain = type("Plain", (), {"predict": lambda self, obs: walk(obs)})()
    assert play(HONEST, reference=plain, seeds=4)["reference"].measures["goal"].value == 1.0


def test_an_action_is_taken_as_the_space_has_it():
    class Line(Corridor):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Box(-1, 1, (1,), np.float32)

        def step(self, action):
            assert self.action_space.contains(action)
            return super().step(int(np.sign(action[0])) + 1)

    for given in (0.5, [0.5], np.array([0.5])):
        found = probe(Line, corridor_reward(effort), steps=300, seeds=2, reference=lambda obs, given=given: given)
        assert found["reference"].kind == "reference"


# -- recorded episodes -------------------------------------------------------------------------------------------------


def record(ledger, reward, policy, *, run="expert", episodes=6, actor=None, features=None):
    env = RewardWrapper(Corridor(), reward, features or reader(reward), ledger=ledger, run=run, actor=actor, num_envs=1)
    for seed in range(episodes):
        obs, _ = env.reset(seed=seed)
        over = False
        while not over:
            obs, _, terminated, truncated, _ = env.step(policy(obs))
            over = terminated or truncated
    env.close()


def test_recorded_episodes_are_paid_by_the_reward_and_compared_without_seeds(tmp_path):
    with Ledger(tmp_path / "demo.db") as ledger:
        record(ledger, corridor_reward(arrival, calm, effort), walk)
        found = play(CALM, reference=ledger.history(run="expert"))
        reference = found["reference"]
        assert [each.earned for each in reference.episodes] == [10.0] * 6
        assert reference.measures["goal"].value == 1.0
        assert reference.measures["native"].value == pytest.approx(9.6)
        assert found.verdict.answer == "unwanted"
        assert "behave like 'always 1': it earns 20, more than 'reference' (10)" in found.verdict.text
        assert "in 0 of 10 episodes instead of 6 of 6" in found.verdict.text
        notes = [step.note for step in found.findings[0].witness]
        assert notes[2:] == ["reference, step 1 of 4, record 1", "reference, step 4 of 4, record 4"]
        assert ledger[4].ended == "terminated"
        assert "The reference: 6 episodes of" in str(found)
        assert play(HONEST, reference=ledger.history(run="expert")).verdict.answer == "wanted"


def test_a_measure_that_was_not_recorded_is_left_out_and_an_input_is_an_error(tmp_path):
    with Ledger(tmp_path / "demo.db") as ledger:
        record(ledger, corridor_reward(calm), walk)
        goal = corridor_reward(calm, goal=reaches_target)
        found = play(goal, reference=ledger.history(run="expert"))
        assert "goal" not in found["reference"].measures
        assert "native" in found["reference"].measures
        assert found.verdict.answer == "unwanted"
        assert "–" in str(found)
        assert np.isnan(found.to_columns()["goal"][[each.name for each in found.policies].index("reference")])
        with pytest.raises(InputError, match="cannot be scored by reward 'walking': its records lack arrived"):
            play(CALM, reference=ledger.history(run="expert"))
        with pytest.raises(NotInLedger, match="has no record"):
            play(CALM, reference=ledger.history(run="exprt"))


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def stumble(obs):
    """Fail."""
    return {}["left"]


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        (stumble, r"(?s)the reference stumble raised KeyError: 'left' in step 1 with seed 0.*test_probe_reference.py"),
        (lambda obs: 7, "gave the action 7 in step 1 with seed 0, which is outside the action space Discrete"),
        (lambda obs: None, "gave the action None in step 1"),
        (lambda obs: 0.5, "gave the action 0.5 in step 1"),
        (lambda obs: "left", "gave the action 'left' in step 1"),
        (lambda obs: np.array([0, 1]), r"gave the action array\(\[0, 1\]\) in step 1"),
        (lambda a, b, c: 0, "takes a, b, c; a policy takes the observation, and optionally `info`"),
        (3, "reference=3 must be a function of an observation, an object with predict"),
    ],
)
def test_a_reference_that_cannot_play_is_one_message(reference, says):
    with pytest.raises(DefinitionError, match=says):
        play(HONEST, reference=reference)


def test_an_environment_that_pays_nothing_is_no_measure():
    found = probe(Lock, lock_reward(zeros), steps=300, seeds=4)
    assert found.compared == ("goal",)
    assert "The environment's own reward was always 0, so it is not used as a measure." in str(found)


def test_a_goal_that_nothing_measures_stays_open():
    found = probe(Corridor, corridor_reward(effort, goal=reaches_target), lambda o, a, n, i: {}, steps=300, seeds=4)
    assert found.verdict.answer == "undecided"
    assert "cannot tell whether the goal 'reaches_target' is reached" in found.verdict.text
