"""Rewards that carry state: feet in the air, a window of contacts, a latch, a fading average, the action before last."""

import numpy as np

from plaudit import Field, Reward, State, term

DT = 0.02


def count_air(contact, prev, *, dt=DT):
    """Seconds since each foot touched the ground."""
    return np.where(contact, 0.0, np.minimum(prev.air_time + dt, 10.0))


@term
def feet_air_time(contact, prev, *, dt=DT, least=0.5):
    """Long steps, paid when a foot lands."""
    landed = contact & (prev.air_time > 0)
    return np.sum((prev.air_time + dt - least) * landed)


@term(weight=-0.1)
def hanging(air_time):
    return np.sum(air_time)


def walking(**options):
    """Return legged_gym's feet-air-time, and a term that reads the state after the step."""
    air = State("air_time", shape=(4,), reset=0.0, low=0, high=10, update=count_air, unit="s")
    fields = [Field("contact", flag=True, shape=(4,)), air]
    return Reward("walking", version="1", terms=[feet_air_time, hanging], fields=fields, **options)


def push(force, prev):
    """The last three forces on each foot, the newest first."""
    return np.stack([force, prev.history[0], prev.history[1]])


@term(weight=-1.0)
def undesired_contact(history, *, threshold=1.0):
    """Feet that felt more than the threshold in one of the last three steps."""
    return sum(1 if max(history[:, foot]) > threshold else 0 for foot in range(2))


def touching():
    """Return Isaac Lab's contact penalty over a window of forces."""
    history = State("history", shape=(3, 2), reset=0.0, low=0, high=1000, update=push, unit="N")
    fields = [Field("force", shape=(2,), low=0, high=1000, unit="N"), history]
    return Reward("touching", version="1", terms=[undesired_contact], fields=fields)


def latch(warned, prev):
    return prev.alarm or warned


def fade(speed, prev, *, keep=0.9):
    return keep * prev.average + (1 - keep) * speed


def remember(prev):
    return prev.action


@term
def heed(alarm, speed):
    return -speed if alarm else 0.0


@term(weight=-0.5)
def uneven(speed, average):
    return abs(speed - average)


@term(weight=-0.2)
def jerk(curr, prev):
    return abs(curr.action - 2 * prev.action + prev.before_last)


def driving():
    """Return a reward with a latch, an average and the action before the last: three states, one of them a flag."""
    fields = [
        Field("warned", flag=True),
        Field("speed", low=0, high=40),
        Field("action", low=-1, high=1),
        State("alarm", flag=True, reset=False, update=latch),
        State("average", reset=0.0, low=0, high=40, update=fade),
        State("before_last", reset=0.0, low=-1, high=1, update=remember),
    ]
    return Reward("driving", version="1", terms=[heed, uneven, jerk], fields=fields)


def draw(name, steps, envs, seed=0):
    """Return columns of random steps for one of these rewards, each of `steps` by `envs`."""
    rng = np.random.default_rng(seed)
    if name == "walking":
        return {"contact": rng.random((steps, envs, 4)) < 0.4}
    if name == "touching":
        return {"force": np.where(rng.random((steps, envs, 2)) < 0.8, 0.5, 5.0)}
    action = rng.random((steps + 1, envs)) * 2 - 1
    return {
        "warned": rng.random((steps, envs)) < 0.05,
        "speed": rng.random((steps, envs)) * 40,
        "prev.action": action[:-1],
        "curr.action": action[1:],
    }


def compute(name, columns, resets):
    """Return the totals of every step and environment by plain loops that know nothing of plaudit."""
    steps, envs = resets.shape
    totals = np.zeros((steps, envs))
    for env in range(envs):
        air, history, alarm, average, older = [0.0] * 4, [[0.0] * 2] * 3, False, 0.0, 0.0
        for step in range(steps):
            row = {key: value[step, env] for key, value in columns.items()}
            if resets[step, env]:
                air, history, alarm, average, older = [0.0] * 4, [[0.0] * 2] * 3, False, 0.0, 0.0
            if name == "walking":
                paid = sum((a + DT - 0.5) * bool(c and a > 0) for a, c in zip(air, row["contact"], strict=True))
                air = [0.0 if c else min(a + DT, 10.0) for a, c in zip(air, row["contact"], strict=True)]
                totals[step, env] = paid - 0.1 * sum(air)
            elif name == "touching":
                history = [list(row["force"]), *history[:2]]
                totals[step, env] = -sum(max(part[foot] for part in history) > 1.0 for foot in range(2))
            else:
                alarm = alarm or bool(row["warned"])
                average = 0.9 * average + (1 - 0.9) * row["speed"]
                jerked = abs(row["curr.action"] - 2 * row["prev.action"] + older)
                older = row["prev.action"]
                totals[step, env] = -row["speed"] * alarm - 0.5 * abs(row["speed"] - average) - 0.2 * jerked
    return totals


REWARDS = {"walking": walking(), "touching": touching(), "driving": driving()}
