"""Tasks whose rewards are scripted functions: a blimp, a hand with a knob, a crane, a dance, a slider."""

import torch
from torch import Tensor

from language.pasted.libraries import quat_conjugate, quat_mul, quat_rotate
from support.pasted import Pasted, flags, make, numbers, on_tensors


@torch.jit.script
def body_axis(q: Tensor, axis: int = 0) -> Tensor:
    unit = torch.zeros(q.shape[0], 3, device=q.device)
    unit[:, axis] = 1
    return quat_rotate(q, unit)


@torch.jit.script
def compute_blimp_reward(hull_pos, mast_pos, hull_rot, hull_spin, age_buf):
    # type: (Tensor, Tensor, Tensor, Tensor, Tensor) -> Tuple[Tensor, Tensor]

    # moored where it should be
    gap = torch.sqrt(((mast_pos - hull_pos) ** 2).sum(-1))
    moored = 1.0 / (0.5 + gap)

    # level, and not turning, which matters near the mast
    keel = body_axis(hull_rot, 2)
    level = torch.exp(-torch.abs(1 - keel[..., 2]))
    calm = 1.0 / (1.0 + torch.abs(hull_spin[..., 2]))
    reward = moored * (1.0 + level) + 0.2 * calm * moored

    yes = torch.ones_like(age_buf)
    lost = torch.zeros_like(age_buf)
    lost = torch.where(gap > 3.0, yes, lost)
    reward = torch.where(lost == 1, reward - 5.0, reward)
    return reward, torch.where(age_buf >= 400, yes, lost)


@torch.jit.script
def compute_knob_reward(
    knob_pos,
    knob_rot,
    wanted_pos,
    wanted_rot,
    actions,
    slip_scale: float,
    turn_scale: float,
    turn_eps: float,
    action_scale: float,
    close_enough: float,
    solved_bonus: float,
    drop_dist: float,
    drop_penalty: float,
    half_turns: bool = False,
):
    if half_turns:
        close_enough = 2.0 * close_enough

    # how far the knob slipped out of the hand, and how much of the turn is left
    slip = torch.norm(knob_pos - wanted_pos, p=2, dim=-1)
    left = quat_mul(knob_rot, quat_conjugate(wanted_rot))
    angle = 2.0 * torch.asin(torch.clamp(torch.norm(left[:, 0:3], p=2, dim=-1), max=1.0))

    reward = slip_scale * slip + turn_scale / (turn_eps + torch.abs(angle)) + action_scale * (actions**2).sum(dim=-1)

    # solved, or dropped
    solved = torch.where(angle.abs() <= close_enough, torch.ones_like(reward), torch.zeros_like(reward))
    reward = torch.where(solved == 1, reward + solved_bonus, reward)
    return torch.where(slip >= drop_dist, reward + drop_penalty, reward)


def compute_dance_reward(joints, clip_joints, speeds, clip_speeds, hands, clip_hands):
    """Dance as the clip does: joints count most, hands are judged one by one."""
    joint_err = ((clip_joints - joints) ** 2).mean(dim=-1)
    speed_err = ((clip_speeds - speeds) ** 2).mean(dim=-1)
    hand_err = torch.norm(clip_hands - hands, dim=-1).amax(dim=-1)
    weights = [0.6, 0.15, 0.25]
    parts = [torch.exp(-4.0 * joint_err), torch.exp(-0.3 * speed_err), torch.exp(-6.0 * hand_err)]
    return sum(w * part for w, part in zip(weights, parts))


@torch.jit.script
def compute_crane_reward(swing, swing_rate, trolley, rail_end, done_buf):
    # type: (Tensor, Tensor, Tensor, float, Tensor) -> Tuple[Tensor, Tensor]
    reward = torch.cos(swing) - 0.02 * torch.abs(swing_rate) - 0.1 * trolley.abs()
    off = torch.abs(trolley) > rail_end
    reward = torch.where(off, torch.ones_like(reward) * -3.0, reward)
    return reward, torch.where(off, torch.ones_like(done_buf), done_buf)


class Crane:
    def compute_reward(self):
        # obs: trolley, its speed, swing, its rate
        trolley = self.obs_buf[:, 0]
        swing = self.obs_buf[:, 2]
        swing_rate = self.obs_buf[:, 3]

        self.rew_buf[:], self.done_buf[:] = compute_crane_reward(
            swing, swing_rate, trolley, self.rail_end, self.done_buf
        )


class Slider:
    def compute_reward(self, actions):
        """Writes the reward of all environments into their buffer"""
        miss = torch.norm(self.puck - self.hole, dim=-1)
        push = torch.mean(torch.abs(actions), dim=-1)
        self.rew_buf[:] = 1.0 / (1.0 + 10.0 * miss) - 0.05 * push
        self.extras["miss"] = miss


KNOB = {
    "slip_scale": -4.0, "turn_scale": 0.7, "turn_eps": 0.2, "action_scale": -0.001,
    "close_enough": 0.8, "solved_bonus": 90.0, "drop_dist": 2.0, "drop_penalty": -30.0,
}  # fmt: skip


def _crane(row):
    made = make(Crane, row, rail_end=2.0, rew_buf=torch.zeros(row.num_envs))
    made.compute_reward()
    return made.rew_buf


def _slider(row):
    made = make(Slider, row, rew_buf=torch.zeros(row.num_envs), extras={})
    made.compute_reward(row.actions)
    return made.rew_buf


def _blimp(row):
    age_buf = torch.zeros(row.num_envs)  # which makes no difference to the reward
    return compute_blimp_reward(row.hull_pos, row.mast_pos, row.hull_rot, row.hull_spin, age_buf)[0]


def _knob(row):
    return compute_knob_reward(row.knob_pos, row.knob_rot, row.wanted_pos, row.wanted_rot, row.actions, **KNOB)


def _dance(row):
    return compute_dance_reward(row.joints, row.clip_joints, row.speeds, row.clip_speeds, row.hands, row.clip_hands)


PASTED = [
    Pasted(
        function=compute_blimp_reward,
        name="compute_blimp_reward",
        batched=True,
        part=0,
        fields=numbers(-2, 2, hull_pos=3, mast_pos=3, hull_rot=4, hull_spin=3),
        original=on_tensors(_blimp),
    ),
    Pasted(
        function=compute_knob_reward,
        name="compute_knob_reward",
        batched=True,
        shared=KNOB,
        fields=numbers(-1, 1, knob_pos=3, knob_rot=4, wanted_pos=3, wanted_rot=4, actions=5),
        original=on_tensors(_knob),
    ),
    Pasted(
        function=compute_dance_reward,
        batched=True,
        fields=numbers(-0.5, 0.5, joints=6, clip_joints=6, speeds=6, clip_speeds=6, hands=(2, 3), clip_hands=(2, 3)),
        original=on_tensors(_dance),
    ),
    Pasted(
        function=Crane.compute_reward,
        name="crane",
        batched=True,
        shared={"rail_end": 2.0},
        fields=numbers(-3, 3, obs_buf=4) + flags(done_buf=()),
        original=on_tensors(_crane),
    ),
    Pasted(
        function=Slider.compute_reward,
        name="slider",
        batched=True,
        fields=numbers(-1, 1, puck=2, hole=2, actions=5),
        original=on_tensors(_slider),
    ),
]
