"""Terms of a hexapod that crawls on a GPU: methods of one class, each of all robots at once."""

import torch

from language.pasted.libraries import quat_rotate, wrap_to_pi
from support.pasted import Pasted, flags, make, numbers, on_tensors


class Hexapod:
    def _yaw(self):
        nose = quat_rotate(self.base_quat, self.nose_axis)
        return torch.atan2(nose[:, 1], nose[:, 0])

    def _reward_planar_command(self):
        # how well the body follows the stick, forwards counts double
        off = torch.square(self.commands[:, :2] - self.base_lin_vel[:, :2])
        return torch.exp(-(2.0 * off[:, 0] + off[:, 1]) / self.cfg.rewards.command_width)

    def _reward_yaw(self):
        """Turn to where the stick points"""
        miss = wrap_to_pi(self.commands[:, 3] - self._yaw())
        return 1.0 - torch.abs(miss) / torch.pi

    def _reward_heat(self):
        # motors heat up with the square of their current
        return torch.sum(torch.square(self.torques) * (1.0 + 0.1 * torch.abs(self.dof_vel)), dim=1)

    def _reward_end_stops(self):
        # how far joints are inside the last bit before their end stops
        below = -(self.dof_pos - self.dof_range[:, 0]).clip(max=0.0)
        above = (self.dof_pos - self.dof_range[:, 1]).clip_(min=0.0)
        return torch.sum(below + 2.0 * above, dim=1)

    def _reward_stride(self):
        # feet that come down after a long swing
        touching = self.contact_forces[:, self.feet_indices, 2] > 1.0
        touching = torch.logical_or(touching, self.touched_before)
        self.touched_before = touching
        landed = (self.swing_time > 0.0) * touching
        self.swing_time += self.dt
        reward = torch.sum(torch.clip(self.swing_time - 0.3, max=0.4) * landed, dim=1)
        reward *= torch.norm(self.commands[:, :2], dim=1) > 0.2  # standing robots take no steps
        self.swing_time *= ~touching
        return reward

    def _reward_fidget(self):
        # only robots that are told to stand, and that do stand, are judged
        hanging = ~torch.any(self.contact_forces[:, self.feet_indices, 2] > 1.0, dim=1)
        told_to_go = torch.norm(self.commands[:, :3], dim=1) > 3.0
        judged = ~(hanging | ~(~told_to_go))
        return torch.amax(torch.abs(self.dof_vel), dim=1) * judged

    def _reward_watts(self):
        watts = torch.sum(torch.clip(self.torques * self.dof_vel, min=0.0), dim=1)
        self.extras["watts"] = watts.mean().item()
        if self.cfg.env.verbose:
            print("watts on average:", watts.mean())
        return watts * 1e-3


SHARED = {
    "command_width": 0.4,
    "dt": 0.02,
    "feet_indices": (1, 3),
    "dof_range": ((-0.8, 0.8), (-1.0, 3.4), (-2.6, -0.5)),
    "verbose": False,
}
FIELDS = {
    each.name: each
    for each in [
        *numbers(-3, 3, commands=4, base_lin_vel=3, torques=3, dof_pos=3, dof_vel=3, contact_forces=(4, 3)),
        *numbers(-1, 1, base_quat=4, nose_axis=3),
        *numbers(0, 1, swing_time=2),
        *flags(touched_before=2),
    ]
}


class _Rewards:
    command_width = SHARED["command_width"]


class _Env:
    verbose = False


class _Cfg:
    rewards = _Rewards
    env = _Env


def _simulated(row):
    """Return the object as the simulation has it."""
    return make(
        Hexapod,
        row,
        cfg=_Cfg,
        dt=SHARED["dt"],
        extras={},
        feet_indices=torch.tensor(SHARED["feet_indices"]),
        dof_range=torch.tensor(SHARED["dof_range"], dtype=torch.float64),
    )


def _pasted(function, fields, shared=""):
    return Pasted(
        function=function,
        batched=True,
        fields=[FIELDS[name] for name in fields.split()],
        shared={name: SHARED[name] for name in shared.split()},
        original=on_tensors(lambda row: function(_simulated(row))),
    )


PASTED = [
    _pasted(Hexapod._reward_planar_command, "commands base_lin_vel", "command_width"),
    _pasted(Hexapod._reward_yaw, "commands base_quat nose_axis"),
    _pasted(Hexapod._reward_heat, "torques dof_vel"),
    _pasted(Hexapod._reward_end_stops, "dof_pos", "dof_range"),
    _pasted(Hexapod._reward_stride, "commands contact_forces touched_before swing_time", "feet_indices dt"),
    _pasted(Hexapod._reward_fidget, "commands contact_forces dof_vel", "feet_indices"),
    _pasted(Hexapod._reward_watts, "torques dof_vel", "verbose"),
]
