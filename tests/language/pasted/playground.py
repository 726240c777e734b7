"""Terms of robots in JAX: methods with a config, arrays of indices, and what is noted in metrics."""

import jax
import jax.numpy as jp

from support.pasted import Pasted, flags, make, numbers, on_jax

PAW_VELOCITY_ADR = jp.array([[0, 1, 2], [3, 4, 5]])
HIPS = (0, 2)


class Trot:
    def _reward_follow(self, commands: jax.Array, local_vel: jax.Array) -> jax.Array:
        # Both axes of the plane; the command may be 0.
        miss = jp.sum(jp.abs(commands[:2] - local_vel[:2]) ** 2)
        return 1.0 / (1.0 + miss / self._config.reward_config.width)

    def _cost_dragging_paws(self, data, contact: jax.Array, info: dict) -> jax.Array:
        paw_vel = data.sensordata[self._paw_velocity_adr]
        sideways = jp.linalg.norm(paw_vel[..., :2], axis=-1)
        asked = jp.max(jp.abs(info["command"])) > 0.5
        return jp.sum(sideways * contact) * asked

    def _cost_spread_hips(self, qpos: jax.Array, cmd: jax.Array) -> jax.Array:
        off = qpos[jp.array(HIPS)] - self._rest[jp.array(HIPS)]
        cost = jp.max(jp.abs(off))
        cost *= jp.abs(cmd[1]) < 0.5
        return cost

    def _cost_losses(self, qvel, qfrc_actuator):
        # Heat and friction.
        return jp.sqrt(jp.sum(jp.square(qfrc_actuator)) + 1e-6) + jp.dot(jp.abs(qvel), jp.abs(qfrc_actuator))

    def get_reward(self, data, action, info, metrics, done):
        del done  # Unused.
        rewards = {
            "follow": self._reward_follow(info["command"], data.local_vel) * 1.5,
            "losses": self._cost_losses(data.qvel, data.qfrc_actuator) * -0.01,
            "smooth": jp.sum(jp.square(action - info["last_act"])) * -0.1,
        }
        for k, v in rewards.items():
            metrics[f"reward/{k}"] = v
        return jp.clip(sum(rewards.values()) * 0.02, 0.0, 10.0)


@jax.jit
def fish_reward(snout, bait, tail_vel):
    """Close to the bait, with little wagging."""
    gap = jp.sqrt(jp.sum((snout - bait) ** 2) + 1e-6)
    bite = jp.where(gap < 0.5, 1.0, jp.exp(-2.0 * (gap - 0.5)))
    return 0.9 * bite + 0.1 * jp.exp(-jp.mean(jp.square(tail_vel)))


def unicycle_reward(lean, cart_pos, control):
    upright = jp.cos(lean) ** 2
    near = jp.maximum(0.0, 1 - jp.abs(cart_pos) / 2.0)
    gentle = jp.exp(-jp.sum(control**2))
    return upright * (2 + near) / 3 * (9 + gentle) / 10


class _RewardConfig:
    width = 0.25


class _Config:
    reward_config = _RewardConfig


REST = (0.1, 0.9, -0.3, 0.2)


def _trot(row):
    return make(Trot, row, _config=_Config, _rest=jp.array(REST), _paw_velocity_adr=PAW_VELOCITY_ADR)


FIELDS = {
    each.name: each
    for each in [
        *numbers(-2, 2, commands=3, command=3, cmd=3, local_vel=3, sensordata=6, qpos=4, qvel=4, qfrc_actuator=4),
        *numbers(-1, 1, action=4, last_act=4, snout=3, bait=3, tail_vel=5, control=2),
        *numbers(-3, 3, lean=(), cart_pos=()),
        *flags(contact=2),
    ]
}


def _pasted(function, fields, call, **options):
    return Pasted(function=function, fields=[FIELDS[name] for name in fields.split()], original=on_jax(call), **options)


PASTED = [
    _pasted(
        Trot._reward_follow,
        "commands local_vel",
        lambda row: _trot(row)._reward_follow(row.commands, row.local_vel),
        shared={"width": 0.25},
    ),
    _pasted(
        Trot._cost_dragging_paws,
        "sensordata contact command",
        lambda row: _trot(row)._cost_dragging_paws(row, row.contact, vars(row)),
        shared={"_paw_velocity_adr": ((0, 1, 2), (3, 4, 5))},
    ),
    _pasted(
        Trot._cost_spread_hips,
        "qpos cmd",
        lambda row: _trot(row)._cost_spread_hips(row.qpos, row.cmd),
        shared={"_rest": REST},
    ),
    _pasted(Trot._cost_losses, "qvel qfrc_actuator", lambda row: _trot(row)._cost_losses(row.qvel, row.qfrc_actuator)),
    _pasted(
        Trot.get_reward,
        "command local_vel qvel qfrc_actuator action last_act",
        lambda row: _trot(row).get_reward(row, row.action, vars(row), {}, False),
        shared={"width": 0.25},
    ),
    _pasted(fish_reward, "snout bait tail_vel", lambda row: fish_reward(row.snout, row.bait, row.tail_vel)),
    _pasted(unicycle_reward, "lean cart_pos control", lambda row: unicycle_reward(row.lean, row.cart_pos, row.control)),
]
