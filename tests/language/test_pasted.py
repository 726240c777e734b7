"""Terms of a walking robot as they are published: read as they stand, they mean what the plain functions do."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from support.strategies import load

WALKING = """
import LIBRARY as jp

LOWER = jp.array([-0.8, -1.0, -2.6] * 4)
UPPER = jp.array([0.8, 3.4, -0.5] * 4)
POSE = jp.array([0.1, 0.9, -1.8] * 4)

def tracking_lin_vel(commands, local_vel, *, sigma=0.25):
    lin_vel_error = jp.sum(jp.square(commands[:2] - local_vel[:2]))
    return jp.exp(-lin_vel_error / sigma)

def tracking_ang_vel(commands, ang_vel, *, sigma=0.25):
    return jp.exp(-jp.square(commands[2] - ang_vel[2]) / sigma)

def torques(torque):
    return jp.sqrt(jp.sum(jp.square(torque))) + jp.sum(jp.abs(torque))

def energy(qvel, torque):
    return jp.sum(jp.abs(qvel) * jp.abs(torque))

def action_rate(act, last_act, last_last_act):
    c1 = jp.sum(jp.square(act - last_act))
    c2 = jp.sum(jp.square(act - 2 * last_act + last_last_act))
    return c1 + c2

def joint_limits(qpos):
    out_of_limits = -jp.clip(qpos - LOWER, None, 0.0)
    out_of_limits = out_of_limits + jp.clip(qpos - UPPER, 0.0, None)
    return jp.sum(out_of_limits)

def stand_still(commands, qpos):
    return jp.sum(jp.abs(qpos - POSE)) * (jp.linalg.norm(commands) < 0.01)

def pose(qpos):
    weight = jp.array([1.0, 1.0, 0.1] * 4)
    return jp.exp(-jp.sum(jp.square(qpos - POSE) * weight))

def feet_slip(feet_vel, contact, commands):
    vel_xy = feet_vel.reshape(4, 3)[..., :2]
    vel_xy_norm_sq = jp.sum(jp.square(vel_xy), axis=-1)
    return jp.sum(vel_xy_norm_sq * contact) * (jp.linalg.norm(commands) > 0.01)

def feet_clearance(feet_vel, foot_z, *, max_foot_height=0.1):
    vel_xy = feet_vel.reshape(4, 3)[..., :2]
    vel_norm = jp.sqrt(jp.linalg.norm(vel_xy, axis=-1))
    return jp.sum(jp.abs(foot_z - max_foot_height) * vel_norm)

def feet_air_time(air_time, contact, commands):
    rew_air_time = jp.sum((air_time - 0.1) * contact)
    rew_air_time *= jp.linalg.norm(commands) > 0.01
    return rew_air_time
"""
LENGTHS = {
    **dict.fromkeys(("commands", "local_vel", "ang_vel"), 3),
    **dict.fromkeys(("torque", "qvel", "qpos", "act", "last_act", "last_last_act", "feet_vel"), 12),
    **dict.fromkeys(("foot_z", "air_time"), 4),
}


@pytest.mark.parametrize("library", ["numpy", pytest.param("jax.numpy", marks=pytest.mark.slow)])
def test_the_terms_of_a_walking_robot_are_read_as_they_stand(library):
    pytest.importorskip(library)
    space = load(WALKING.replace("LIBRARY", library))
    functions = {name: each for name, each in space.items() if hasattr(each, "__code__") and "__" not in name}
    assert len(functions) == 11
    fields = [Field(name, length=length, low=-5, high=5) for name, length in LENGTHS.items()]
    terms = [term(function) for function in functions.values()]
    reward = Reward("walking", version="1", terms=terms, fields=[*fields, Field("contact", length=4, flag=True)])
    random = np.random.default_rng(5)
    for _ in range(5):
        row = {name: random.normal(size=length).astype(np.float32) for name, length in LENGTHS.items()}
        row["contact"] = random.random(4) > 0.5
        found = reward.score(**{name: value.tolist() for name, value in row.items()}).values
        for each in reward.terms:
            wanted = float(functions[each.name](**{name: row[name] for name in each.reads}))
            assert found[each.name] == pytest.approx(wanted, rel=1e-4, abs=1e-6), each.name
