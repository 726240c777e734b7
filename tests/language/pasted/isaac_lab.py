"""Reward functions of an environment and of what they look at, as managers of terms call them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import torch

from language.pasted.libraries import SceneEntityCfg
from support.pasted import Pasted, numbers, on_tensors

if TYPE_CHECKING:
    from isaaclab.assets import Articulation, RigidObject
    from isaaclab.envs import ManagerBasedRLEnv
    from isaaclab.sensors import ContactSensor


def follow_stick(
    env: ManagerBasedRLEnv, width: float, command_name: str, asset_cfg: SceneEntityCfg = SceneEntityCfg("robot")
) -> torch.Tensor:
    """Speed in the plane as the stick asks for it, and 1 where it is met."""
    body: RigidObject = env.scene[asset_cfg.name]
    wanted = env.command_manager.get_command(command_name)[:, :2]
    miss = (wanted - body.data.root_lin_vel_b[:, :2]).norm(dim=1)
    return torch.exp(-miss / width)


def away_from_pose(env: ManagerBasedRLEnv, asset_cfg: SceneEntityCfg = SceneEntityCfg("robot")) -> torch.Tensor:
    """Mean angle of the joints from where they rest."""
    arm: Articulation = env.scene[asset_cfg.name]
    now = arm.data.joint_pos[:, asset_cfg.joint_ids]
    return torch.mean(torch.abs(now - arm.data.default_joint_pos[:, asset_cfg.joint_ids]), dim=1)


def knocks(env: ManagerBasedRLEnv, threshold: float, sensor_cfg: SceneEntityCfg) -> torch.Tensor:
    """How many bodies were hit harder than they should be in the last few steps."""
    sensor: ContactSensor = env.scene.sensors[sensor_cfg.name]
    hardest = sensor.data.net_forces_w_history[:, :, sensor_cfg.body_ids].norm(dim=-1).max(dim=1)[0]
    return (hardest > threshold).float().sum(dim=1)


def skid(env, sensor_cfg: SceneEntityCfg, asset_cfg: SceneEntityCfg = SceneEntityCfg("robot")) -> torch.Tensor:
    """Speed along the ground of what stands on it."""
    sensor = cast("ContactSensor", env.scene.sensors[sensor_cfg.name])
    stands = sensor.data.net_forces_w_history[:, 0, sensor_cfg.body_ids, 2] > 0.2
    body = cast("RigidObject", env.scene[asset_cfg.name])
    speed = body.data.body_lin_vel_w[:, asset_cfg.body_ids, :2].norm(dim=-1)
    return torch.sum(speed * stands, dim=1)


def tool_to_part(
    env: ManagerBasedRLEnv,
    scale: float,
    part_cfg: SceneEntityCfg = SceneEntityCfg("part"),
    tool_cfg: SceneEntityCfg = SceneEntityCfg("tool_frame"),
) -> torch.Tensor:
    part = env.scene[part_cfg.name]
    tool = env.scene[tool_cfg.name]
    gap = torch.linalg.norm(part.data.root_pos_w - tool.data.target_pos_w[..., 0, :], dim=-1)
    return 1 - torch.tanh(gap / scale) ** 2


def jerk_of_actions(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Change of the actions, the largest of all joints."""
    change = env.action_manager.action - env.action_manager.prev_action
    return torch.amax(torch.abs(change), dim=1)


def idle_effort(env, command_name: str = "base_velocity", threshold: float = 1.0, action=None) -> torch.Tensor:
    command = env.command_manager.get_command(command_name)
    going = torch.linalg.norm(command, dim=1) > threshold
    if action is None:
        action = env.action_manager.action
    cost = torch.sum(torch.abs(action), dim=-1)
    cost[going] = 0.5 * torch.sum(action[going] ** 2, dim=-1)
    return cost


FIELDS = {
    each.name: each
    for each in [
        *numbers(-2, 2, get_command=3, root_lin_vel_b=3, joint_pos=4, default_joint_pos=4, body_lin_vel_w=(3, 3)),
        *numbers(-1, 1, net_forces_w_history=(2, 3, 3), root_pos_w=3, target_pos_w=(1, 3), action=4, prev_action=4),
    ]
}


class _Scene(dict):
    sensors: dict


class _Env:
    """An environment of a simulator, made of columns."""

    def __init__(self, row):
        data = SimpleNamespace(data=row)
        self.command_manager = SimpleNamespace(get_command=lambda name: row.get_command)
        self.action_manager = row
        self.scene = _Scene(robot=data, part=data, tool_frame=data)
        self.scene.sensors = {"contact_forces": data}


def _pasted(function, fields, **params):
    return Pasted(
        function=function,
        batched=True,
        params=params,
        fields=[FIELDS[name] for name in fields.split()],
        original=on_tensors(lambda row: function(_Env(row), **params)),
    )


FEET = SceneEntityCfg("contact_forces", body_ids=[0, 2])

PASTED = [
    _pasted(follow_stick, "get_command root_lin_vel_b", width=0.5, command_name="base_velocity"),
    _pasted(away_from_pose, "joint_pos default_joint_pos"),
    _pasted(knocks, "net_forces_w_history", threshold=1.0, sensor_cfg=FEET),
    _pasted(
        skid,
        "net_forces_w_history body_lin_vel_w",
        sensor_cfg=FEET,
        asset_cfg=SceneEntityCfg("robot", body_ids=[0, 2]),
    ),
    _pasted(tool_to_part, "root_pos_w target_pos_w", scale=0.9),
    _pasted(jerk_of_actions, "action prev_action"),
    _pasted(idle_effort, "get_command action"),
]
