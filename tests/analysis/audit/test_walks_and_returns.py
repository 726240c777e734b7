"""What only whole episodes show: each hack is planted, and an honest history beside it raises no alarm."""

import sys

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.analysis import Thresholds, audit
from support.histories import record_episodes

CELLS = Field("cells_left", low=0, high=40)
LEFT = Field("left", flag=True)


@term(weight=0.05, kind="shaping")
def closer(prev, curr):
    """Come closer to the exit."""
    return max(0.0, prev.cells_left - curr.cells_left)


@term(weight=-0.01, kind="penalty")
def price():
    """A price for every step."""
    return 1.0


@term(kind="goal")
def exit(left):
    """Leave the maze."""
    if left:
        return 1.0
    return 0.0


def is_out(left):
    """Return whether the maze is left."""
    return left


MAZE = Reward("maze", version="1", terms=[closer, price, exit], fields=[CELLS, LEFT], task=Task(goal=is_out))


def walk(places, *, left=True):
    """Return an episode that goes through these places."""
    places = np.asarray(places, np.float64)
    return {
        "prev.cells_left": places[:-1],
        "curr.cells_left": places[1:],
        "left": np.arange(1, len(places)) == (len(places) - 1 if left else -1),
    }


def go_out(steps=40):
    return walk(np.arange(steps, -1, -1))


def go_round(steps=100):
    return walk([10, *[9, 10] * (steps // 2)], left=False)


def audit_episodes(tmp_path, reward, episodes, thresholds=None, **how):
    """Return the codes that are found, and the report."""
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, reward, episodes, **how)
        report = audit(ledger, reward, thresholds=thresholds)
    return {finding.code: finding for finding in report}, report


def test_laps_that_were_walked_are_found_with_their_records(tmp_path):
    found, _ = audit_episodes(tmp_path, MAZE, [go_out()] * 15 + [go_round(200)] * 15)
    laps = found["walked-laps"]
    assert laps.severity == "warning"
    assert "15 of 30 episodes" in laps.message
    assert "night/29 visited one state 100 times in 198 steps and earned 2.97" in laps.message
    first, last = laps.witness
    assert (first.record, last.record) == (600 + 14 * 200 + 2, 600 + 14 * 200 + 199)
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger[first.record].total == first.total == -0.01
        assert ledger[last.record].total == last.total
    assert {"parted-from-goal", "goal-earned-less"} <= found.keys()


def test_an_agent_that_learns_to_leave_walks_no_laps_though_it_wandered_at_first(tmp_path):
    rng = np.random.default_rng(0)
    wandering = [walk(np.clip(20 + np.cumsum(rng.choice([-1, 1], 100)), 0, 40), left=False) for _ in range(15)]
    found, _ = audit_episodes(tmp_path, MAZE, [*wandering, *[go_out()] * 30])
    assert not {"walked-laps", "stayed-put", "parted-from-goal", "goal-earned-less"} & found.keys()


def test_laps_of_environments_that_take_turns_are_found_too(tmp_path):
    found, _ = audit_episodes(tmp_path, MAZE, [go_round()] * 24, together=8)
    assert "visited one state 50 times" in found["walked-laps"].message


def test_a_lap_in_an_episode_that_goes_on_in_the_next_batch_is_seen_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["plaudit.analysis.audit.steps"], "BATCH", 1)
    found, _ = audit_episodes(tmp_path, MAZE, [go_round(9000)], ends=None)
    assert "visited one state 4,500 times" in found["walked-laps"].message


@term
def balance(angle):
    """Stay upright."""
    return 1.0 - angle * angle


def test_going_to_and_fro_where_every_step_pays_alike_is_no_lap(tmp_path):
    angle = Field("angle", low=-1, high=1)
    upright = Reward("pole", version="1", terms=[balance], fields=[angle], task=Task(states=["angle"]))
    swing = {"angle": 0.05 * np.sin(np.arange(200) * 2.0)}
    found, _ = audit_episodes(tmp_path, upright, [swing] * 25)
    assert "walked-laps" not in found


@term
def contact(leg):
    """Stand on a leg."""
    return 1.0 if leg else 0.0


@term(kind="goal")
def landing(landed):
    """Land."""
    return 10.0 if landed else 0.0


def has_landed(landed):
    """Return whether it has landed."""
    return landed


HEIGHT = Field("height", low=0, high=100)
LANDER = Reward(
    "lander",
    version="1",
    terms=[contact, landing],
    fields=[Field("leg", flag=True), Field("landed", flag=True)],
    task=Task(goal=has_landed),
)


def sit(steps=100):
    return {"leg": np.ones(steps, bool), "landed": np.zeros(steps, bool)}


def land(steps=60):
    return {"leg": np.arange(steps) > 55, "landed": np.arange(steps) == steps - 1}


@term(weight=-0.001)
def altitude(height):
    """Come down."""
    return height


TALL = Reward(
    "lander",
    version="2",
    terms=[contact, landing, altitude],
    fields=[HEIGHT, Field("leg", flag=True), Field("landed", flag=True)],
    task=Task(goal=has_landed, states=["height"]),
)


def test_sitting_on_the_legs_is_staying_put_and_one_term_pays_it_all(tmp_path):
    still = {**sit(), "height": np.full(100, 1.0)}
    found, _ = audit_episodes(tmp_path, TALL, [still] * 25, ends="truncated")
    assert "night/24 stood still for 99 steps and earned" in found["stayed-put"].message
    assert found["stayed-put"].severity == "warning"
    assert found["one-term-paid"].term == "contact"
    assert "100.0 %" in found["one-term-paid"].message


def test_landing_is_neither(tmp_path):
    down = {**land(), "height": np.linspace(100, 0, 60)}
    found, _ = audit_episodes(tmp_path, TALL, [down] * 25)
    assert not {"stayed-put", "one-term-paid"} & found.keys()


@pytest.mark.parametrize(("paid_for_sitting", "found_out"), [(-1.0, True), (1.0, False), (None, False)])
def test_without_a_goal_the_environments_own_reward_says_whether_staying_is_wanted(
    tmp_path, paid_for_sitting, found_out
):
    fields, task = [HEIGHT, Field("leg", flag=True)], Task(states=["height"])
    reward = Reward("lander", version="3", terms=[contact, altitude], fields=fields, task=task)
    still = {"leg": np.ones(100, bool), "height": np.full(100, 1.0)}
    down = {"leg": np.zeros(100, bool), "height": np.linspace(100, 0, 100)}
    episodes = [down] * 20 + [still] * 10
    original = None
    if paid_for_sitting is not None:
        original = [np.zeros(100)] * 20 + [np.full(100, paid_for_sitting)] * 10
    found, report = audit_episodes(tmp_path, reward, episodes, original=original)
    assert ("stayed-put" in found) == found_out
    assert ("stayed-put" in report.skipped) == (paid_for_sitting is None)


def test_staying_where_the_goal_is_reached_is_the_task(tmp_path):
    there = {"leg": np.ones(100, bool), "landed": np.ones(100, bool), "height": np.zeros(100)}
    found, _ = audit_episodes(tmp_path, TALL, [there] * 25)
    assert "stayed-put" not in found


def test_the_goal_earns_less_than_sitting(tmp_path):
    found, _ = audit_episodes(tmp_path, LANDER, [sit(), land()] * 15)
    worse = found["goal-earned-less"]
    assert "15 episodes reach the goal and earn 14 on average; 15 do not and earn 100" in worse.message


def test_a_goal_that_every_episode_reaches_is_compared_with_nothing(tmp_path):
    _, report = audit_episodes(tmp_path, LANDER, [land()] * 5, Thresholds(min_episodes=3))
    assert report.skipped["goal-earned-less"] == "too few episodes miss the goal to compare: 0"
    assert not report.failed


def test_a_goal_that_seldom_earns_much_but_more_on_average_is_no_finding(tmp_path):
    found, _ = audit_episodes(tmp_path, LANDER, [*[sit(11), land(10)] * 20, *[{**sit(500), **late_landing(500)}] * 3])
    assert "goal-earned-less" not in found


def late_landing(steps):
    """Return the end of an episode that lands in its last step."""
    return {"landed": np.arange(steps) == steps - 1}


def test_the_goal_that_earns_more_is_no_finding(tmp_path):
    found, _ = audit_episodes(tmp_path, LANDER, [sit(5), land()] * 15)
    assert "goal-earned-less" not in found


SPEED = Field("speed", low=0, high=30)


@term
def cruise(speed):
    """Keep still."""
    return 30.0 - speed


@term
def hurry(speed):
    """Go fast."""
    return speed


def drive(mean, seed):
    return {"speed": np.clip(np.random.default_rng(seed).normal(mean, 2, 50), 0, 30)}


@pytest.mark.parametrize(("paid", "parts"), [(cruise, True), (hurry, False)])
def test_a_reward_that_rises_while_a_better_field_falls_has_parted_from_it(tmp_path, paid, parts):
    reward = Reward("car", version="1", terms=[paid], fields=[SPEED], task=Task(better={"speed": "high"}))
    means = [10 + 0.2 * min(at, 40) for at in range(40)] + [18 - 0.3 * at for at in range(40)]
    found, _ = audit_episodes(tmp_path, reward, [drive(mean, at) for at, mean in enumerate(means)])
    assert ("parted-from-goal" in found) == parts
    if parts:
        assert "while speed (better high) falls from" in found["parted-from-goal"].message
        begins = int(found["parted-from-goal"].message.partition("night/")[2].partition(" ")[0])
        assert 38 <= begins <= 46


@pytest.mark.parametrize("honest", [True, False])
def test_the_environments_own_reward_is_a_measure_too(tmp_path, honest):
    reward = Reward("car", version="1", terms=[hurry], fields=[Field("speed", low=0, high=30)])
    episodes = [drive(5 + 0.3 * at, at) for at in range(60)]
    original = [(1 if honest else -1) * each["speed"] for each in episodes]
    found, _ = audit_episodes(tmp_path, reward, episodes, original=original)
    assert ("parted-from-goal" in found) != honest
    if not honest:
        assert "while the environment's own return falls from" in found["parted-from-goal"].message


@term
def alive(speed):
    """Be there."""
    return 1.0 + 0.001 * speed


@pytest.mark.parametrize(("paid", "lasts"), [(alive, True), (hurry, False)])
def test_returns_that_length_alone_explains(tmp_path, paid, lasts):
    rng = np.random.default_rng(0)
    reward = Reward("car", version="1", terms=[paid], fields=[Field("speed", low=0, high=30)])
    episodes = [{"speed": rng.uniform(0, 30) + rng.uniform(0, 0.1, rng.integers(10, 100))} for _ in range(40)]
    episodes = [{"speed": np.clip(each["speed"], 0, 30)} for each in episodes]
    found, _ = audit_episodes(tmp_path, reward, episodes)
    assert ("length-paid" in found) == lasts


@term(weight=-50.0)
def entry(begins):
    """Do not begin too often."""
    return 1.0 if begins else 0.0


@pytest.mark.parametrize(("every_step", "adds", "end"), [(1.0, "1", "longest"), (-2.0, "-2", "shortest")])
def test_what_one_more_step_adds_is_not_what_a_step_earns_on_average(tmp_path, every_step, adds, end):
    fields = [Field("speed", low=0, high=30), Field("begins", flag=True)]
    reward = Reward("car", version="1", terms=[hurry, entry], fields=fields, task=Task(goal=never))
    episodes = [
        {"speed": np.ones(steps), "begins": np.arange(steps) == 0} for steps in range(10, 50)
    ]  # which return the length - 50, or -2 * the length - 50
    found, _ = audit_episodes(tmp_path, reward.with_weights(hurry=every_step), episodes)
    assert found["length-paid"].message == (
        "episode length explains 100.0 % of the variance of returns over 40 episodes of 10 to 49 steps: "
        f"each extra step adds {adds}, whatever the agent does in it."
    )
    assert found["length-paid"].witness[0].note.endswith(f"last step of the {end} episode")


def never(speed):
    """Return whether what cannot be is reached."""
    return speed > 29


@term
def swing(angle):
    """Swing to the right."""
    return angle


def test_what_one_term_paid_says_which_episodes_are_in_the_sum(tmp_path):
    fields = [Field("speed", low=0, high=30), Field("angle", low=-1, high=1)]
    reward = Reward("car", version="1", terms=[hurry, swing], fields=fields)
    episodes = [{"speed": np.full(10, 0.01), "angle": np.full(10, 1.0 if at % 2 else -1.0)} for at in range(40)]
    found, _ = audit_episodes(tmp_path, reward, episodes)
    assert found["one-term-paid"].message == (
        "'swing' paid 40, 98.0 % of everything paid in the 8 late episodes; the others paid: hurry 0.8. Episodes in "
        "which a term cost more than it paid do not count in its sum."
    )


def test_an_environment_that_pays_by_the_step_itself_is_meant_to(tmp_path):
    rng = np.random.default_rng(0)
    reward = Reward("car", version="1", terms=[alive], fields=[Field("speed", low=0, high=30)])
    episodes = [{"speed": rng.uniform(0, 30, rng.integers(10, 100))} for _ in range(40)]
    found, _ = audit_episodes(tmp_path, reward, episodes, original=[np.ones(len(each["speed"])) for each in episodes])
    assert "length-paid" not in found


@term(kind="shaping")
def nearer(prev, curr):
    """Come nearer."""
    return prev.cells_left - curr.cells_left


@term(weight=-5.0)
def crash(left):
    """Do not crash."""
    return 1.0 if left else 0.0


@pytest.mark.parametrize(("weight", "reorders"), [(1.0, True), (0.01, False)])
def test_shaping_that_decides_which_episodes_are_best(tmp_path, weight, reorders):
    shaped = Reward("maze", version="1", terms=[nearer, crash], fields=[CELLS, LEFT]).with_weights(nearer=weight)
    episodes = [walk(np.linspace(40, 40 - 35 * (at % 3 == 0), 40), left=at % 3 == 0) for at in range(40)]
    found, _ = audit_episodes(tmp_path, shaped, episodes)
    assert ("shaping-reordered" in found) == reorders


ACTION = Field("action", values=(0, 1, 2))


@term
def push(action):
    """Push right."""
    return 1.0 if action == 2 else 0.0


@pytest.mark.parametrize("stuck", [True, False])
def test_a_policy_that_repeats_one_action_at_last(tmp_path, stuck):
    rng = np.random.default_rng(0)
    reward = Reward("car", version="1", terms=[push], fields=[ACTION], action="action")
    early = [{"action": rng.integers(0, 3, 40)} for _ in range(40)]
    late = [{"action": np.full(40, 2) if stuck else rng.choice([0, 2], 40)} for _ in range(10)]
    found, _ = audit_episodes(tmp_path, reward, early + late)
    assert ("action-repeated" in found) == stuck
    if stuck:
        assert "10 of 10 late episodes repeat action 2 in 100.0 % of their steps" in found["action-repeated"].message


@term
def gentle(throttle):
    """Less is more."""
    return 1.0 - throttle


def test_an_action_of_a_range_is_told_by_the_part_of_it(tmp_path):
    field = Field("throttle", low=0, high=2)
    reward = Reward("car", version="1", terms=[gentle], fields=[field], task=Task(actions=["throttle"]))
    found, _ = audit_episodes(tmp_path, reward, [{"throttle": np.full(20, 1.97)}] * 25)
    assert (
        "5 of 5 late episodes repeat throttle from 1.9 to 2 in 100.0 % of their steps"
        in found["action-repeated"].message
    )


def test_a_threshold_can_be_set(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, MAZE, [go_out()] * 15 + [go_round()] * 15)
        strict = audit(ledger, MAZE, thresholds=Thresholds(laps=60))
    assert not strict.by_code("walked-laps")
