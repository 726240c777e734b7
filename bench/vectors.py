"""A walking robot's reward, of vectors, against the same sixteen terms written by hand for each library.

`python bench/vectors.py [environments]`. The terms are those of the Go1 joystick task of MuJoCo Playground: twelve
joints, four feet, a command. What is timed is one step of all environments with every term; what is counted is the
operations that PyTorch runs, one by one, for a step.
"""

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from timing import QUICK, compare, measure, size, table

from plaudit import Field, Reward, Term, term

POSE = np.array((0.1, 0.9, -1.8) * 4)
LOWER = np.array((-0.863, -0.686, -2.818) * 4)
UPPER = np.array((0.863, 4.501, -0.888) * 4)
STIFFNESS = np.array((1.0, 1.0, 0.1) * 4)
SIGMA, STILL, HEIGHT = 0.25, 0.01, 0.1


# -- in the language -------------------------------------------------------------------------------------------------


@term(weight=1.0)
def tracking_lin_vel(command, velocity):
    return np.exp(-np.sum(np.square(command[:2] - velocity[:2])) / SIGMA)


@term(weight=0.5)
def tracking_ang_vel(command, turn_rate):
    return np.exp(-np.square(command[2] - turn_rate[2]) / SIGMA)


@term(weight=-0.5)
def lin_vel_z(velocity):
    return np.square(velocity[2])


@term(weight=-0.05)
def ang_vel_xy(turn_rate):
    return np.sum(np.square(turn_rate[:2]))


@term(weight=-5.0)
def orientation(up):
    return np.sum(np.square(up[:2]))


@term(weight=-1.0)
def dof_pos_limits(joint):
    return np.sum(-np.clip(joint - LOWER, None, 0.0) + np.clip(joint - UPPER, 0.0, None))


@term(weight=0.5)
def pose(joint):
    return np.exp(-np.sum(np.square(joint - POSE) * STIFFNESS))


@term(weight=-1.0)
def termination(fallen):
    return fallen


@term(weight=-1.0)
def stand_still(joint, command):
    return np.sum(np.abs(joint - POSE)) * (np.linalg.norm(command) < STILL)


@term(weight=-0.0002)
def torques(torque):
    return np.sqrt(np.sum(np.square(torque))) + np.sum(np.abs(torque))


@term(weight=-0.01)
def action_rate(action, last_action):
    return np.sum(np.square(action - last_action))


@term(weight=-0.001)
def energy(joint_speed, torque):
    return np.sum(np.abs(joint_speed) * np.abs(torque))


@term(weight=-2.0)
def feet_clearance(foot_velocity, foot_height):
    speed = np.sqrt(np.linalg.norm(foot_velocity[:, :2], axis=-1))
    return np.sum(np.abs(foot_height - HEIGHT) * speed)


@term(weight=-0.2)
def feet_height(swing_peak, first_contact, command):
    error = swing_peak / HEIGHT - 1.0
    return np.sum(np.square(error) * first_contact) * (np.linalg.norm(command) > STILL)


@term(weight=-0.1)
def feet_slip(foot_velocity, contact, command):
    return np.sum(np.sum(np.square(foot_velocity[:, :2]), axis=-1) * contact) * (np.linalg.norm(command) > STILL)


@term(weight=0.1)
def feet_air_time(air_time, first_contact, command):
    return np.sum((air_time - 0.1) * first_contact) * (np.linalg.norm(command) > STILL)


TERMS = (
    tracking_lin_vel,
    tracking_ang_vel,
    lin_vel_z,
    ang_vel_xy,
    orientation,
    dof_pos_limits,
    pose,
    termination,
    stand_still,
    torques,
    action_rate,
    energy,
    feet_clearance,
    feet_height,
    feet_slip,
    feet_air_time,
)
SHAPES = {
    **dict.fromkeys(("joint", "joint_speed", "torque", "action", "last_action"), (12,)),
    **dict.fromkeys(("command", "velocity", "turn_rate", "up"), (3,)),
    **dict.fromkeys(("foot_height", "swing_peak", "first_contact", "contact", "air_time"), (4,)),
    "foot_velocity": (4, 3),
}
FLAGS = ("first_contact", "contact")


def build_reward(terms: Sequence[Term] = TERMS, inputs: Sequence[str] = (*SHAPES, "fallen")) -> Reward:
    fields = [
        Field(name, shape=shape, **({"flag": True} if name in FLAGS else {"low": -50.0, "high": 50.0}))
        for name, shape in SHAPES.items()
    ]
    fields.append(Field("fallen", flag=True))
    return Reward("go1", version="1", terms=terms, fields=[field for field in fields if field.name in inputs])


def draw_columns(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    columns: dict[str, np.ndarray] = {name: rng.normal(0, 1, (rows, *shape)) for name, shape in SHAPES.items()}
    for name in FLAGS:
        columns[name] = columns[name] > 0
    columns["fallen"] = rng.random(rows) < 0.01
    return columns


# -- by hand ----------------------------------------------------------------------------------------------------------


def by_hand(xp: Any, s: dict[str, Any], c: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The same for a batch, with the functions of NumPy, JAX or PyTorch, and what the last axis holds summed up."""
    apart = s["joint"] - c["pose"]
    strength = xp.sqrt(xp.square(s["command"]).sum(-1))
    walks, steps = strength > STILL, s["first_contact"]
    slip = xp.square(s["foot_velocity"][..., :2]).sum(-1)
    scores = {
        "tracking_lin_vel": xp.exp(-xp.square(s["command"][..., :2] - s["velocity"][..., :2]).sum(-1) / SIGMA),
        "tracking_ang_vel": xp.exp(-xp.square(s["command"][..., 2] - s["turn_rate"][..., 2]) / SIGMA),
        "lin_vel_z": xp.square(s["velocity"][..., 2]),
        "ang_vel_xy": xp.square(s["turn_rate"][..., :2]).sum(-1),
        "orientation": xp.square(s["up"][..., :2]).sum(-1),
        "dof_pos_limits": (
            -xp.clip(s["joint"] - c["lower"], None, 0.0) + xp.clip(s["joint"] - c["upper"], 0.0, None)
        ).sum(-1),
        "pose": xp.exp(-(xp.square(apart) * c["stiffness"]).sum(-1)),
        "termination": s["fallen"],
        "stand_still": xp.abs(apart).sum(-1) * (strength < STILL),
        "torques": xp.sqrt(xp.square(s["torque"]).sum(-1)) + xp.abs(s["torque"]).sum(-1),
        "action_rate": xp.square(s["action"] - s["last_action"]).sum(-1),
        "energy": (xp.abs(s["joint_speed"]) * xp.abs(s["torque"])).sum(-1),
        "feet_clearance": (xp.abs(s["foot_height"] - HEIGHT) * xp.sqrt(xp.sqrt(slip))).sum(-1),
        "feet_height": (xp.square(s["swing_peak"] / HEIGHT - 1.0) * steps).sum(-1) * walks,
        "feet_slip": (slip * s["contact"]).sum(-1) * walks,
        "feet_air_time": ((s["air_time"] - 0.1) * steps).sum(-1) * walks,
    }
    values = {each.name: scores[each.name] * each.weight for each in TERMS}
    return sum(values.values()), values


def one_by_hand(s: dict[str, Any]) -> float:
    """One transition in plain Python, as somebody in a hurry would write it: the total alone."""
    command, joint = s["command"], s["joint"]
    strength = math.sqrt(sum(x * x for x in command))
    walks = strength > STILL
    slips = [x * x + y * y for x, y, _ in s["foot_velocity"]]
    total = math.exp(-sum((a - b) ** 2 for a, b in zip(command[:2], s["velocity"][:2], strict=True)) / SIGMA)
    total += 0.5 * math.exp(-((command[2] - s["turn_rate"][2]) ** 2) / SIGMA)
    total += -0.5 * s["velocity"][2] ** 2
    total += -0.05 * sum(x * x for x in s["turn_rate"][:2])
    total += -5.0 * sum(x * x for x in s["up"][:2])
    total -= sum(max(low - q, 0.0) + max(q - high, 0.0) for q, low, high in zip(joint, LOWER_L, UPPER_L, strict=True))
    total += 0.5 * math.exp(-sum((q - p) ** 2 * k for q, p, k in zip(joint, POSE_L, STIFF_L, strict=True)))
    total -= s["fallen"]
    total -= 0.0 if strength >= STILL else sum(abs(q - p) for q, p in zip(joint, POSE_L, strict=True))
    total += -0.0002 * (math.sqrt(sum(t * t for t in s["torque"])) + sum(abs(t) for t in s["torque"]))
    total += -0.01 * sum((a - b) ** 2 for a, b in zip(s["action"], s["last_action"], strict=True))
    total += -0.001 * sum(abs(a) * abs(b) for a, b in zip(s["joint_speed"], s["torque"], strict=True))
    total += -2.0 * sum(abs(z - HEIGHT) * math.sqrt(math.sqrt(v)) for z, v in zip(s["foot_height"], slips, strict=True))
    if walks:
        touched = s["first_contact"]
        total += -0.2 * sum((p / HEIGHT - 1.0) ** 2 * f for p, f in zip(s["swing_peak"], touched, strict=True))
        total += -0.1 * sum(v * c for v, c in zip(slips, s["contact"], strict=True))
        total += 0.1 * sum((t - 0.1) * f for t, f in zip(s["air_time"], touched, strict=True))
    return total


POSE_L, LOWER_L, UPPER_L, STIFF_L = (array.tolist() for array in (POSE, LOWER, UPPER, STIFFNESS))
CONSTANTS = {"pose": POSE, "lower": LOWER, "upper": UPPER, "stiffness": STIFFNESS}


GUARDS: dict[str, bool | str] = {"no guard": False, "plain": "plain"}
"""`no guard` drops the ranges, `plain` also the tests of operations and the mask."""


# -- what is measured -------------------------------------------------------------------------------------------------


def main(rows: int) -> None:
    reward, columns = build_reward(), draw_columns(rows)
    print(f"{len(TERMS)} terms of {rows:,} environments, {len(reward.program.nodes)} operations written out\n")
    found: list[tuple[str, ...]] = [("a step of all", "ours", "by hand", "ours / by hand")]
    for run in (measure_numpy, measure_jax, measure_torch, measure_numba):
        try:
            found += run(reward, columns)
        except ImportError as error:
            print(f"left out: {error}")
    found += measure_python(reward, columns)
    table(found)


def add_row(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[str, ...]:
    result = compare({"ours": ours, "by hand": theirs}, calls=3, rounds=30)
    best = result.best
    return (
        name,
        f"{best['ours'] * 1e6:,.0f} µs",
        f"{best['by hand'] * 1e6:,.0f} µs",
        f"{best['ours'] / best['by hand']:.2f}",
    )


def measure_numpy(reward: Reward, columns: dict[str, Any]) -> list[tuple[str, ...]]:
    wanted = by_hand(np, columns, CONSTANTS)[0]
    rows = []
    for name, guard in (*GUARDS.items(), ("guarded", True)):
        compiled = reward.compile("numpy", guard=guard)
        np.testing.assert_allclose(compiled(columns).total, wanted, rtol=1e-9)
        rows.append(add_row(f"numpy, {name}", lambda c=compiled: c(columns), lambda: by_hand(np, columns, CONSTANTS)))
    return rows


def measure_jax(reward: Reward, columns: dict[str, Any]) -> list[tuple[str, ...]]:
    import jax
    import jax.numpy as jnp

    given = {name: jnp.asarray(c, bool if c.dtype == bool else jnp.float32) for name, c in columns.items()}
    constants = {name: jnp.asarray(c, jnp.float32) for name, c in CONSTANTS.items()}
    theirs = jax.jit(lambda s: by_hand(jnp, s, constants))
    rows = []
    for name, guard in GUARDS.items():
        compiled = reward.compile("jax", guard=guard)
        ours = jax.jit(lambda s, c=compiled: c(s)[:2])  # total and values
        np.testing.assert_allclose(ours(given)[0], theirs(given)[0], rtol=1e-3, atol=1e-3)
        calls = (lambda c=call: jax.block_until_ready(c(given)) for call in (ours, theirs))
        rows.append(add_row(f"jax.jit, {name}", *calls))
    return rows


def measure_torch(reward: Reward, columns: dict[str, Any]) -> list[tuple[str, ...]]:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    def count(call: Callable[[], object]) -> int:
        with Counting() as counting:
            call()
        return counting.count

    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = {name: torch.as_tensor(c, device=device) for name, c in columns.items()}
    given = {name: c if c.dtype == torch.bool else c.float() for name, c in given.items()}
    constants = {name: torch.as_tensor(c, device=device).float() for name, c in CONSTANTS.items()}

    def wait(result: Any) -> Any:
        if device == "cuda":
            torch.cuda.synchronize()
        return result

    def theirs() -> Any:
        return wait(by_hand(torch, given, constants))

    rows = []
    for name, guard in GUARDS.items():
        compiled = reward.compile("torch", guard=guard, on_bad="mask")

        def ours(call: Any = compiled) -> Any:
            return wait(call(given))

        torch.testing.assert_close(ours().total, theirs()[0], rtol=1e-3, atol=1e-3)
        rows.append(add_row(f"torch on {device}, {name}", ours, theirs))
        counts = count(ours), count(theirs)
        rows.append((f"torch, operations, {name}", *map(str, counts), f"{counts[0] / counts[1]:.2f}"))
        if QUICK:
            continue
        times = []
        torch.compile(lambda tensor: tensor + 1.0)(given["joint"])  # whoever comes first would pay for the imports
        calls = []
        fused = reward.compile("torch", guard=guard, on_bad="mask", fused=True)
        for call in (fused, torch.compile(lambda s: by_hand(torch, s, constants))):
            torch.compiler.reset()
            calls.append(call)
            times.append(measure(lambda call=call: wait(call(given)))[1])
        shown = (*(f"{seconds:.1f} s" for seconds in times), f"{times[0] / times[1]:.2f}")
        rows.append((f"torch, fused, {name}, first call", *shown))
        rows.append(add_row(f"torch, fused, {name}, the next", *(lambda c=c: wait(c(given)) for c in calls)))
    return rows


def measure_numba(reward: Reward, columns: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    if QUICK:  # machine code of all takes seconds
        columns = {name: columns[name] for name in ("command", "velocity", "turn_rate")}
        reward = build_reward(TERMS[:2], tuple(columns))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLAUDIT_CACHE_DIR"] = folder
        for name in ("numba, first call", "numba, first call, cached"):
            compiled = reward.compile("numba", guard=False)
            _, seconds = measure(lambda run=compiled: run(columns))
            rows.append((name, f"{seconds:.2f} s", "", ""))
    result = compare({"ours": lambda: compiled(columns)}, calls=3, rounds=30)
    return [*rows, ("numba", f"{result.best['ours'] * 1e6:,.0f} µs", "", "")]


def measure_python(reward: Reward, columns: dict[str, Any]) -> list[tuple[str, ...]]:
    row = {name: column[0].tolist() for name, column in columns.items()}
    compiled = reward.compile("python", guard=False)
    assert math.isclose(compiled(row).total, one_by_hand(row), rel_tol=1e-9)
    return [add_row("python, one transition", lambda: compiled(row), lambda: one_by_hand(row))]


if __name__ == "__main__":
    main(size(4096, 64))
