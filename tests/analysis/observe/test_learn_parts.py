import numpy as np
import pytest

from plaudit import Field
from plaudit.analysis.observe.learn import learn_task
from plaudit.analysis.observe.rounding import find_round
from plaudit.analysis.observe.transitions import Transitions
from plaudit.reward.task.functions import write_function
from plaudit.reward.task.statements import Seen


def make(columns, *, episodes, length, policy="random", terminated=None, truncated=None, actions=None, declared=None):
    """Return steps of episodes of one length; every field begins where its first row says."""
    rows = episodes * length
    first = np.arange(rows) % length == 0
    after = {name: np.asarray(column) for name, column in columns.items()}
    before = {}
    for name, column in after.items():
        shifted = np.concatenate((column[:1], column[:-1]))
        shifted[first] = column[first]
        before[name] = shifted
    nothing = np.zeros(rows, bool)
    return Transitions(
        before=before,
        after=after,
        actions=actions,
        episode=np.repeat(np.arange(episodes), length),
        policy=np.full(rows, policy) if isinstance(policy, str) else np.asarray(policy),
        terminated=nothing if terminated is None else terminated,
        truncated=nothing if truncated is None else truncated,
        declared=declared or {},
        source="made up",
        unknown_first=frozenset(after),
    )


def learn(columns, **options):
    return learn_task(make(columns, **options), name="learnt")


def test_a_range_is_what_was_seen_and_says_where_the_declared_one_was_left():
    x = np.linspace(-1, 1.5, 1000)
    task = learn({"x": x}, episodes=10, length=100, declared={"x": Field("x", low=-1, high=1, unit="m")})
    assert (task.fields["x"].low, task.fields["x"].high, task.fields["x"].unit) == (-1.0, 1.5, "m")
    outside = int((x > 1).sum())
    assert task.fields["x"].doc == f"left its declared range of -1 to 1 in {outside} of 1,000 steps"
    assert task.seen["fields.x"] == Seen(1000 - outside, 1000)


def test_a_range_that_rounding_leaves_was_not_left():
    x = np.full(100, np.float64(np.float32(-1.2)))
    task = learn({"x": np.append(x[:-1], 0.5)}, episodes=10, length=10, declared={"x": Field("x", low=-1.2, high=0.6)})
    assert "left" not in task.fields["x"].doc


def test_fields_of_every_kind_are_described():
    rng = np.random.default_rng(0)
    task = learn(
        {
            "phase": rng.choice(["a", "b"], 400),
            "on": rng.random(400) < 0.5,
            "level": rng.integers(0, 3, 400).astype(float),
            "index": rng.integers(0, 200, 400).astype(float),
            "fixed": np.full(400, 7.0),
            "torque": rng.random((400, 3)),
            "range": np.where(rng.random(400) < 0.1, np.inf, 2.0),
        },
        episodes=4,
        length=100,
    )
    fields = task.fields
    assert fields["phase"].values == ("a", "b")
    assert fields["on"].flag
    assert fields["level"].values == (0, 1, 2)
    assert fields["index"].values is None
    assert fields["index"].low == 0
    assert fields["fixed"].doc == "never changed"
    assert fields["torque"].length == 3
    assert (fields["range"].infinite, fields["range"].high) == (True, 2.0)


def test_exceptions_of_a_rate_are_counted():
    rng = np.random.default_rng(1)
    v = rng.normal(size=2000)
    x = np.zeros(2000)
    for row in range(1, 2000):
        x[row] = 0.0 if row % 100 == 0 else np.clip(x[row - 1] + 0.1 * v[row], -0.5, 0.5)
    task = learn({"x": x, "v": v}, episodes=20, length=100)
    assert (task.rates["x"].rate, task.rates["x"].dt) == ("v", 0.1)
    seen = task.seen["rates.x"]
    assert 1500 < seen.count < seen.of == 1980


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e6])
def test_a_rate_is_found_at_any_scale_of_single_precision(size):
    rng = np.random.default_rng(2)
    v = np.cumsum(rng.normal(size=(20, 100)), axis=1) * size
    x = np.cumsum(0.02 * v, axis=1)
    columns = {"x": x.ravel().astype(np.float32).astype(float), "v": v.ravel().astype(np.float32).astype(float)}
    rate = learn(columns, episodes=20, length=100).rates["x"]
    assert (rate.rate, rate.dt) == ("v", 0.02)


def test_the_same_crash_again_and_again_is_not_a_threshold():
    """A machine that is treated alike breaks at the same place each time, whatever breaks it."""
    x = np.tile(np.linspace(0, 1.9, 50) ** 2, 30)
    noise = np.random.default_rng(3).normal(size=1500)
    last = np.arange(1500) % 50 == 49
    task = learn({"x": x, "noise": noise}, episodes=30, length=50, terminated=last)
    assert [name for name in task.ends if name != "timeout"] == []


def test_a_threshold_is_a_round_number_between_what_goes_on_and_what_ends():
    rng = np.random.default_rng(4)
    x, ends = [], []
    while len(x) < 6000:
        position = 0.0
        while abs(position) <= 2.4:
            position += rng.normal(0, 0.4)
            x.append(position)
            ends.append(abs(position) > 2.4)
    lengths = np.diff(np.flatnonzero([True, *ends]))
    transitions = make({"x": np.array(x)}, episodes=1, length=len(x), terminated=np.array(ends))
    transitions = Transitions(**{**transitions.__dict__, "episode": np.repeat(np.arange(len(lengths)), lengths)})
    task = learn_task(transitions, name="learnt")
    assert write_function(task.ends["x_outside"].when) == "def x_outside(x):\n    return abs(x) > 2.4\n"
    assert task.ends["x_outside"].sign is None
    assert task.seen["ends.x_outside"] == Seen(len(lengths), len(lengths), "ends")


def test_what_is_kept_only_from_rest_is_not_still():
    """Idling from a standing start keeps the position, and says nothing of one that moves."""
    rng = np.random.default_rng(5)
    idle = np.arange(4000) // 100 % 2 == 0
    push = np.where(idle, 0.0, rng.normal(size=4000)).reshape(40, 100)
    v = np.cumsum(push, axis=1)
    start = rng.normal(size=(40, 1))
    x = start + np.cumsum(v + 0.01 * v**2, axis=1)
    policy = np.where(idle, "idle", "random")
    columns = {"x": x.ravel(), "v": v.ravel()}
    assert learn(columns, episodes=40, length=100, policy=policy, actions=push.ravel()).still == ()


def test_what_idling_meets_is_what_never_changed_while_idling():
    rng = np.random.default_rng(6)
    idle = np.arange(400) < 200
    columns = {"speed": np.where(idle, 0.0, rng.normal(size=400)), "noise": rng.normal(size=400)}
    task = learn(columns, episodes=4, length=100, policy=np.where(idle, "idle", "random"))
    assert dict(task.idle) == {"speed": 0.0}
    assert task.seen["idle.speed"] == Seen(200, 200, "idle steps")


def test_falling_says_nothing_of_never_rising():
    """What has momentum goes on as it goes: many steps of it are few cases."""
    speed = np.cumsum(np.full((20, 100), 0.1), axis=1)
    height = 1000 - np.cumsum(speed + np.random.default_rng(7).uniform(0, 0.02, (20, 100)), axis=1)
    assert not learn({"height": height.ravel()}, episodes=20, length=100).monotone


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (2.39, 2.41, 2.4),
        (0.20921, 0.20973, 0.2095),
        (-3.2, -2.9, -3.0),
        (-0.1, 0.3, 0.0),
        (187, 214, 200.0),
        (5, 5, 5.0),
    ],
)
def test_the_roundest_number_of_a_range_is_chosen(low, high, expected):
    assert find_round(low, high)[0] == expected


def test_a_field_whose_name_cannot_be_a_parameter_has_a_range_and_nothing_else():
    x = np.random.default_rng(8).normal(size=1000)
    task = learn({"lambda": x, "abs": -x, "x": x, "y": 2 * x}, episodes=10, length=100)
    assert set(task.fields) == {"lambda", "abs", "x", "y"}
    assert [each.name for each in task.facts] == ["y_from_x"]


def test_the_number_of_a_choice_is_not_a_speed():
    choice = np.random.default_rng(9).integers(0, 2, 2000).astype(float)
    fuel = 100 - 0.5 * np.cumsum(choice.reshape(20, 100), axis=1)
    columns = {"fuel": fuel.ravel(), "action": choice}
    task = learn(columns, episodes=20, length=100, actions=choice.astype(int))
    assert task.actions == ("action",)
    assert not task.rates
    assert task.monotone["fuel"] == "down"
