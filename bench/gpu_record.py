"""Recording from a device: a step of many environments with a policy, bare, with recording of a sample, and of all.

`python bench/gpu_record.py [environments] [--quick]`: 65,536 environments, for a GPU; a few hundred do on a CPU. It
runs from a checkout without installing it and needs JAX and what a ledger needs: NumPy, SQLAlchemy, click and rich, and
pyarrow for segments. Where one of them is not installed, put a folder of pure-Python wheels, unpacked, on PYTHONPATH.
With PyTorch, the second table is the same with its tensors.

A step is a small PPO-like network on 64 numbers for every environment, an action drawn from it, a physics of a few
operations, and the reward, all jitted. Rollouts are of 128 steps by `lax.scan`, recorded at once, and single steps one
call each. Rounds take turns, and each ends when the device is done; what is still on its way to disk then is not waited
for, as in training, but how often `add` had to wait for the ledger is printed: 0 says that it keeps up.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import jax
import jax.numpy as jnp
from timing import QUICK, size, table

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.device import DeviceRecorder

TIMES = 4 if QUICK else 128
ROUNDS = 1 if QUICK else 12
ROUNDS_OF_ALL = 1 if QUICK else 2
"""A round of all steps is millions of records, which take a hundred times as long as the steps to reach the disk."""
WIDTH, HIDDEN, ACTIONS = 64, 256, 4
SAMPLE = 0.01


@term
def upright(angle, *, limit=0.2):
    return 1.0 - abs(angle) / limit


@term(weight=-0.1)
def drift(position):
    return position * position


@term(weight=-0.01)
def effort(action):
    return action


REWARD = Reward(
    "points",
    version="1",
    terms=[upright, drift, effort],
    fields=[Field("angle", low=-4, high=4), Field("position", low=-10, high=10), Field("action", low=0, high=3)],
)


# -- JAX ---------------------------------------------------------------------------------------------------------------


def build_jax(envs: int):
    """Return a rollout and a single step as jitted functions of a state, and the first state."""
    keys = jax.random.split(jax.random.key(0), 5)
    sizes = ((WIDTH, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, ACTIONS))
    layers = [jax.random.normal(key, each) / each[0] ** 0.5 for key, each in zip(keys, sizes, strict=False)]
    mix = jax.random.normal(keys[3], (2, WIDTH))
    score = REWARD.compile("jax")

    def step(state, _):
        key, body, steps = state
        key, draw, begin = jax.random.split(key, 3)
        hidden = jnp.sin(body @ mix)
        for layer in layers[:-1]:
            hidden = jnp.tanh(hidden @ layer)
        action = jax.random.categorical(draw, hidden @ layers[-1])
        push = (action - 1.5) * 0.01
        body = jnp.clip(body + jnp.stack([push, 0.1 * push + 0.01 * body[:, 0]], 1), -4.0, 4.0)
        inputs = {"angle": body[:, 1], "position": body[:, 0], "action": action.astype(jnp.int8)}
        reward = score(inputs).total
        terminated, truncated = jnp.abs(body[:, 1]) > 0.2, steps >= 199
        over = terminated | truncated
        fresh = jax.random.uniform(begin, body.shape, minval=-0.05, maxval=0.05)
        after = key, jnp.where(over[:, None], fresh, body), jnp.where(over, 0, steps + 1)
        return after, (inputs, reward, terminated, truncated)

    state = keys[4], jnp.zeros((envs, 2)), jnp.arange(envs) % 200
    return jax.jit(lambda state: jax.lax.scan(step, state, length=TIMES)), jax.jit(partial(step, _=None)), state


# -- PyTorch -----------------------------------------------------------------------------------------------------------


def build_torch(envs: int):
    """Return a rollout and a single step as functions of a state, and the first state."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    sizes = ((WIDTH, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, ACTIONS))
    layers = [torch.randn(each, device=device) / each[0] ** 0.5 for each in sizes]
    mix = torch.randn((2, WIDTH), device=device)
    score = REWARD.compile("torch")

    @torch.no_grad()
    def step(state):
        body, steps = state
        hidden = torch.sin(body @ mix)
        for layer in layers[:-1]:
            hidden = torch.tanh(hidden @ layer)
        action = torch.distributions.Categorical(logits=hidden @ layers[-1], validate_args=False).sample()
        push = (action - 1.5) * 0.01
        body = torch.clamp(body + torch.stack([push, 0.1 * push + 0.01 * body[:, 0]], 1), -4.0, 4.0)
        inputs = {"angle": body[:, 1], "position": body[:, 0], "action": action.to(torch.int8)}
        reward = score(inputs).total
        terminated, truncated = body[:, 1].abs() > 0.2, steps >= 199
        over = terminated | truncated
        fresh = torch.rand_like(body) * 0.1 - 0.05
        return (torch.where(over[:, None], fresh, body), torch.where(over, 0, steps + 1)), (
            inputs,
            reward,
            terminated,
            truncated,
        )

    def rollout(state):
        found = []
        for _ in range(TIMES):
            state, made = step(state)
            found.append(made)
        inputs = {name: torch.stack([each[0][name] for each in found]) for name in found[0][0]}
        return state, (inputs, *(torch.stack([each[at] for each in found]) for at in (1, 2, 3)))

    return rollout, step, (torch.zeros((envs, 2), device=device), torch.arange(envs, device=device) % 200)


def wait_torch(state) -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


# -- measuring ---------------------------------------------------------------------------------------------------------


def measure(envs: int, build: Callable, wait: Callable, ledger: Ledger, *, by_rollout: bool) -> list[tuple[str, ...]]:
    """Return a row for each way: the time of a step, what recording adds, and how often it waited."""
    rollout, single, state = build(envs)
    recorders = {
        "bare": None,
        f"sample of {SAMPLE:.0%}": DeviceRecorder(ledger, REWARD, envs, sample=SAMPLE),
        "all": DeviceRecorder(ledger, REWARD, envs),
    }
    spent: dict[str, list[float]] = {way: [] for way in recorders}
    for at in range(ROUNDS + 1):
        for way, recorder in recorders.items():
            if way == "all" and at > ROUNDS_OF_ALL:
                continue
            wait(state)
            start = time.perf_counter()
            for _ in range(1 if by_rollout else TIMES):
                state, (inputs, reward, terminated, truncated) = (rollout if by_rollout else single)(state)
                if recorder is not None:
                    recorder.add(inputs, original_reward=reward, terminated=terminated, truncated=truncated)
            wait(state)
            if at or QUICK:  # the first round compiles
                spent[way].append((time.perf_counter() - start) / TIMES)
            if recorder is not None:
                recorder.flush()
    rows, bare = [], spent["bare"]
    for way, recorder in recorders.items():
        cost = median(each / other - 1 for each, other in zip(spent[way], bare, strict=False))
        waits = "" if recorder is None else str(recorder.waits)
        rows.append(
            (
                "rollouts" if by_rollout else "single steps",
                way,
                f"{median(spent[way]) * 1e6:,.0f} µs",
                f"{cost:+.1%}",
                waits,
            )
        )
        if recorder is not None:
            recorder.close()
    return rows


def main(envs: int) -> None:
    libraries: dict[str, tuple[Callable, Callable]] = {"JAX": (build_jax, jax.block_until_ready)}
    try:
        import torch
    except ModuleNotFoundError:
        print("PyTorch is not installed: JAX alone.")
    else:
        libraries[f"PyTorch {torch.__version__}"] = build_torch, wait_torch
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {envs:,} environments, {TIMES} steps a round")
    for name, (build, wait) in libraries.items():
        with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "rewards.db") as ledger:
            print(f"\n{name}: the time of a step, and what recording adds to it (goal for a sample: below 2 %)")
            heading = ("recorded", "what", "a step", "more than bare", "waits")
            for whole in (True, False):
                table([heading, *measure(envs, build, wait, ledger, by_rollout=whole)])


if __name__ == "__main__":
    main(size(65_536, quick=64))
