"""What pasted rewards import: small versions, written here, of what simulators and their helpers bring along."""

import warnings
from dataclasses import dataclass
from dataclasses import field as declare

import numpy as np
import torch

DEFAULT_VALUE_AT_MARGIN = 0.1


@dataclass
class SceneEntityCfg:
    """Which joints and bodies of which asset a term looks at; all of them unless it says otherwise."""

    name: str
    joint_ids: object = declare(default_factory=lambda: slice(None))
    body_ids: object = declare(default_factory=lambda: slice(None))
    joint_names: object = None
    body_names: object = None


# -- rewards of a physics engine ------------------------------------------------------------------------------------


def _fall_off(far, left, sigmoid):
    """Return 1 where `far` is 0 and `left` where it is 1."""
    if sigmoid in ("cosine", "linear", "quadratic"):
        if not 0 <= left < 1:
            raise ValueError(f"{sigmoid}: the value at the margin is in [0, 1), not {left}.")
    elif not 0 < left < 1:
        raise ValueError(f"{sigmoid}: the value at the margin is in (0, 1), not {left}.")

    if sigmoid == "gaussian":
        return np.exp(np.log(left) * far**2)
    elif sigmoid == "hyperbolic":
        return 1 / np.cosh(far * np.arccosh(1 / left))
    elif sigmoid == "long_tail":
        return 1 / (1 + (1 / left - 1) * far**2)
    elif sigmoid == "cosine":
        slope = np.arccos(2 * left - 1) / np.pi
        with warnings.catch_warnings():
            warnings.filterwarnings(action="ignore", message="invalid value")
            wave = 0.5 + 0.5 * np.cos(np.pi * far * slope)
        return np.where(abs(far * slope) < 1, wave, 0.0)
    elif sigmoid == "linear":
        part = (1 - left) * far
        return np.where(abs(part) < 1, 1 - part, 0.0)
    elif sigmoid == "quadratic":
        part = np.sqrt(1 - left) * far
        return np.where(abs(part) < 1, 1 - part**2, 0.0)
    else:
        raise ValueError(f"No such slope: {sigmoid!r}.")


def tolerance(x, bounds=(0.0, 0.0), margin=0.0, sigmoid="gaussian", value_at_margin=DEFAULT_VALUE_AT_MARGIN):
    """Return 1 within bounds, and less the farther outside."""
    low, high = bounds
    if low > high:
        raise ValueError("The bounds are the wrong way round.")
    if margin < 0:
        raise ValueError("A margin is not below 0, this is {}.".format(margin))

    within = np.logical_and(low <= x, x <= high)
    if margin == 0:
        value = np.where(within, 1.0, 0.0)
    else:
        far = np.where(x < low, low - x, x - high) / margin
        value = np.where(within, 1.0, _fall_off(far, value_at_margin, sigmoid))

    return float(value) if np.isscalar(x) else value


# -- rewards of arms ------------------------------------------------------------------------------------------------


def hamacher_product(a, b):
    """Return the product of two shares as fuzzy logic has it."""
    if not ((0.0 <= a <= 1.0) and (0.0 <= b <= 1.0)):
        warnings.warn(f"shares are from 0 to 1, these are {a} and {b}", stacklevel=2)
    union = a + b - (a * b)
    return (a * b) / union if union > 0 else 0


# -- quaternions as GPU simulators have them: x, y, z, w ------------------------------------------------------------


@torch.jit.script
def quat_mul(a, b):
    shape = a.shape
    a = a.reshape(-1, 4)
    b = b.reshape(-1, 4)
    ax, ay, az, aw = a[:, 0], a[:, 1], a[:, 2], a[:, 3]
    bx, by, bz, bw = b[:, 0], b[:, 1], b[:, 2], b[:, 3]
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    w = aw * bw - ax * bx - ay * by - az * bz
    return torch.stack([x, y, z, w], dim=-1).view(shape)


@torch.jit.script
def quat_conjugate(a):
    shape = a.shape
    a = a.reshape(-1, 4)
    return torch.cat((-a[:, :3], a[:, -1:]), dim=-1).view(shape)


@torch.jit.script
def quat_rotate(q, v):
    q_w = q[:, -1]
    q_vec = q[:, :3]
    a = v * (2.0 * q_w**2 - 1.0).unsqueeze(-1)
    b = torch.cross(q_vec, v, dim=-1) * q_w.unsqueeze(-1) * 2.0
    c = q_vec * torch.bmm(q_vec.view(q.shape[0], 1, 3), v.view(q.shape[0], 3, 1)).squeeze(-1) * 2.0
    return a + b + c


def wrap_to_pi(angles):
    angles = angles % (2 * np.pi)
    angles -= 2 * np.pi * (angles > np.pi)
    return angles
