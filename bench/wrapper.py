"""A step of 1,024 environments: the wrapper against one written by hand that gives the same rewards and the same info.

`python bench/wrapper.py [environments]`. The environments are trivial on purpose: a point that drifts, moved by one
NumPy call for all of them, and the same point 1,024 times in Gymnasium's own `SyncVectorEnv`. The wrapper by hand does
what the reward's author would write: three terms, their sum held below a limit, the components and the original reward
in `info`, sums over each episode, and no pay for the step in which an environment begins anew. It does not check
ranges, nor for NaN, and it keeps a reference to the last observation where the wrapper keeps a copy. It is NumPy; the
wrapper has Numba compile the reward where that is installed, and the last line is without.

The second table is what recording costs: a LunarLander step (of Box2D; a Pendulum step, which is cheaper, where that is
not installed), wrapped, and wrapped with a ledger. A round is half a second of steps or more, and ends when all of them
are durable. Besides the time on the clock it shows the processor's, which counts the writing thread in full and
what else runs on the machine not at all. The third says where that goes: what is left of it without SQLite, without
scoring and encoding the steps besides, and without taking note of them at all, which is how exact the figures are.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from timing import QUICK, compare, size, table

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper, scoring
from plaudit.adapters.recording import Recorder
from plaudit.ledger.storage.buffer import StepStream

LIMIT = 200
BOX = spaces.Box(-np.inf, np.inf, (4,), np.float32)


class Point(gymnasium.Env):
    """One point: position, velocity, angle, turn; an episode ends when it is far away."""

    observation_space, action_space = BOX, spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):  # noqa: D102 - Gymnasium's
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.05, 0.05, 4).astype(np.float32)
        self.steps = 0
        return self.state.copy(), {}

    def step(self, action):  # noqa: D102 - Gymnasium's
        self.steps += 1
        self.state[0] += self.state[1] * 0.02
        self.state[1] += 0.02 if action else -0.02
        return self.state.copy(), 1.0, bool(abs(self.state[0]) > 2.4), self.steps >= LIMIT, {}


class Points(VectorEnv):
    """Many points, moved at once."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, count: int) -> None:
        self.num_envs = count
        self.single_observation_space, self.single_action_space = BOX, spaces.Discrete(2)
        self.observation_space = spaces.Box(-np.inf, np.inf, (count, 4), np.float32)
        self.action_space = spaces.MultiDiscrete([2] * count)

    def reset(self, *, seed=None, options=None):  # noqa: D102 - Gymnasium's
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.05, 0.05, (self.num_envs, 4)).astype(np.float32)
        self.steps = self.np_random.integers(0, LIMIT, self.num_envs)  # ends come one by one
        self.over = np.zeros(self.num_envs, bool)
        return self.state.copy(), {}

    def step(self, actions):  # noqa: D102 - Gymnasium's
        self.steps += 1
        self.state[:, 0] += self.state[:, 1] * 0.02
        self.state[:, 1] += (actions - 0.5) * 0.04
        if self.over.any():
            self.state[self.over] = 0.0
            self.steps[self.over] = 0
        truncated = self.steps >= LIMIT
        terminated = np.abs(self.state[:, 0]) > 2.4
        self.over = terminated | truncated
        return self.state.copy(), np.where(truncated, 0.0, 1.0), terminated, truncated, {}


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
    fields=[Field("angle", low=-4, high=4), Field("position", low=-10, high=10), Field("action", low=0, high=1)],
    high=0.9,
)


def features(obs, actions, next_obs, info):
    return {"angle": next_obs[:, 2], "position": next_obs[:, 0], "action": actions}


def add_components(
    info: dict[str, Any],
    components: dict[str, np.ndarray],
    sums: dict[str, np.ndarray],
    original: np.ndarray,
    *,
    paid: np.ndarray,
    ended: np.ndarray,
) -> dict[str, Any]:
    """Return `info` with what each term gave, and its sum where an episode ended; there the sums begin anew."""
    for name, values in components.items():
        sums[name] += values
    info = {**info, "reward_components": components, "_reward_components": paid}
    info |= {"original_reward": original, "_original_reward": paid}
    if ended.any():
        info["episode_reward_components"] = {k: np.where(ended, v, 0.0) for k, v in sums.items()}
        info["_episode_reward_components"] = ended
        for total in sums.values():
            total[ended] = 0.0
    return info


class ByHand(VectorWrapper):
    """The same, written for this one reward."""

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        self.sums = {name: np.zeros(env.num_envs) for name in ("upright", "drift", "effort", "total.clamp")}
        self.over = np.zeros(env.num_envs, bool)

    def reset(self, *, seed=None, options=None):  # noqa: D102 - Gymnasium's
        self.obs, info = self.env.reset(seed=seed, options=options)
        for total in self.sums.values():
            total[:] = 0.0
        self.over[:] = False
        return self.obs, info

    def step(self, actions):  # noqa: D102 - Gymnasium's
        obs, original, terminated, truncated, info = self.env.step(actions)
        begun = self.over
        upright = 1.0 - np.abs(obs[:, 2].astype(np.float64)) / 0.2
        drift = -0.1 * obs[:, 0].astype(np.float64) ** 2
        effort = -0.01 * actions.astype(np.float64)
        total = upright + drift + effort
        reward = np.minimum(total, 0.9)
        components = {"upright": upright, "drift": drift, "effort": effort, "total.clamp": reward - total}
        if begun.any():
            reward[begun] = 0.0
            for values in components.values():
                values[begun] = 0.0
        ended = terminated | truncated
        info = add_components(info, components, self.sums, original, paid=~begun, ended=ended)
        self.obs, self.over = obs, ended
        return obs, reward, terminated, truncated, info


def same(left: Any, right: Any) -> bool:
    """Say whether two results of a step are the same, the last bits of a clamp aside."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return np.allclose(left, right, rtol=0, atol=1e-12)


def ratio(name: str, made: Callable[[], VectorEnv], *, calls: int, rounds: int) -> tuple[str, ...]:
    envs = {"bare": made(), "by hand": ByHand(made()), "RewardWrapper": RewardWrapper(made(), REWARD, features)}
    actions = np.random.default_rng(0).integers(0, 2, envs["bare"].num_envs)
    for env in envs.values():
        env.reset(seed=0)
    for _ in range(2 * LIMIT):
        hand, ours = envs["by hand"].step(actions), envs["RewardWrapper"].step(actions)
        assert all(same(left, right) for left, right in zip(hand, ours, strict=True))
    steps = {name: (lambda env=env: env.step(actions)) for name, env in envs.items()}
    best = compare(steps, calls=calls, rounds=rounds).best
    times = [f"{best[each] * 1e6:,.0f} µs" for each in envs]
    return name, *times, f"{best['RewardWrapper'] / best['by hand']:.3f}x"


@term
def height(y):
    return -abs(y)


@term(weight=-0.3)
def speed(vx, vy):
    return vx * vx + vy * vy


@term(weight=-0.1, high=10.0)
def tilt(angle, turn):
    return abs(angle) + 0.5 * abs(turn)


NAMES = ("y", "vx", "vy", "angle", "turn")
LANDING = Reward(
    "landing", version="1", terms=[height, speed, tilt], fields=[Field(name, low=-100, high=100) for name in NAMES]
)


def landing_features(obs, action, next_obs, info):
    """Five numbers of a LunarLander's observation, or three of a Pendulum's, some of them twice."""
    return {name: next_obs[at % len(next_obs)] for at, name in enumerate(NAMES, 1)}


def cost_of_recording(name: str, ledger: Ledger, *, steps: int, rounds: int) -> list[tuple[str, ...]]:
    """Return a row for each clock: a step bare, wrapped and recorded, and what recording is of the first two."""
    recorded = RewardWrapper(gymnasium.make(name), LANDING, landing_features, ledger=ledger)
    envs = {"bare": gymnasium.make(name), "wrapped": RewardWrapper(gymnasium.make(name), LANDING, landing_features)}
    clocks = {"clock": time.perf_counter, "processor": time.process_time}
    spent: dict[str, dict[str, list[float]]] = {clock: {} for clock in clocks}
    for at in range(rounds):
        for way, env in {**envs, "recorded": recorded}.items():
            start = {clock: read() for clock, read in clocks.items()}
            env.reset(seed=at)
            env.action_space.seed(at)
            for _ in range(steps):
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                if terminated or truncated:
                    env.reset()
            if way == "recorded":
                recorded._record.flush()
            for clock, read in clocks.items():
                spent[clock].setdefault(way, []).append((read() - start[clock]) / steps)
    rows = []
    for clock, ways in spent.items():
        bare, wrapped = (median(ways[way]) for way in envs)
        cost = median(b - a for a, b in zip(ways["wrapped"], ways["recorded"], strict=True))
        times = (f"{1e6 * each:.1f} µs" for each in (bare, wrapped, cost))
        rows.append((f"{name}, {clock}", *times, f"{cost / bare:.1%}", f"{cost / wrapped:.1%}"))
    return rows


def list_shares(name: str, ledger: Ledger, *, steps: int, rounds: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each part of recording that can be left out: what the rest costs, by the processor's time."""
    left_out = {
        "SQLite": patch.object(ledger._buffer_steps(1.0), "_write_blocks", lambda blocks: None),
        "SQLite, scoring and encoding": patch.object(StepStream, "encode", lambda stream, taken: iter(())),
        "everything": patch.object(Recorder, "add_step", lambda *step: None),
    }
    for what, without in left_out.items():
        with without:
            yield what, *cost_of_recording(name, ledger, steps=steps, rounds=rounds)[-1][1:]


def record_many(count: int, *, steps: int, rounds: int) -> list[tuple[str, ...]]:
    """Return what recording adds to a step of many environments: on the main thread, and over all threads."""
    clocks = {"main thread": time.thread_time, "all threads": time.process_time}
    spent: dict[str, dict[str, list[float]]] = {clock: {} for clock in clocks}
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "rewards.db") as ledger:
        recorded = RewardWrapper(Points(count), REWARD, features, ledger=ledger)
        ways = {"wrapped": RewardWrapper(Points(count), REWARD, features), "recorded": recorded}
        for _ in range(rounds):
            for way, env in ways.items():
                env.reset(seed=0)
                actions = np.ones(count, np.int64)
                start = {clock: read() for clock, read in clocks.items()}
                for _ in range(steps):
                    env.step(actions)
                if way == "recorded":
                    recorded._record.flush()
                for clock, read in clocks.items():
                    spent[clock].setdefault(way, []).append((read() - start[clock]) / steps)
    rows = []
    for clock, by_way in spent.items():
        wrapped, found = (median(by_way[way]) for way in ways)
        cost = found - wrapped
        rows.append((clock, f"{1e6 * wrapped:.0f} µs", f"{1e6 * cost / count:.2f} µs", f"{cost / wrapped:.0%}"))
    return rows


def main(count: int) -> None:
    print(f"A step of {count:,} environments: 3 terms, a clamp, components and sums of episodes in info")
    rows: list[tuple[str, ...]] = [("environments", "bare", "by hand", "RewardWrapper", "against by hand")]
    rows.append(ratio("one NumPy call for all", lambda: Points(count), calls=20, rounds=500))
    rows.append(ratio("SyncVectorEnv", lambda: SyncVectorEnv([Point] * count), calls=1, rounds=300))
    scoring.MANY = count + 1
    rows.append(ratio("one NumPy call for all, without Numba", lambda: Points(count), calls=20, rounds=500))
    table(rows)
    print("\nRecording every step: 5 inputs, 3 terms, durable within a second")
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "rewards.db") as ledger:
        name = "LunarLander-v3" if find_spec("Box2D") else "Pendulum-v1"
        heading = ("environment", "bare", "wrapped", "recording", "of a bare step", "of a wrapped step")
        few = {"steps": 100, "rounds": 2} if QUICK else {"steps": 10_000, "rounds": 15}
        table([heading, *cost_of_recording(name, ledger, **few)])
        print(f"\nRecording every step of {count:,} environments: 3 inputs, 3 terms")
        many = {"steps": 20, "rounds": 2} if QUICK else {"steps": 1000, "rounds": 7}
        table([("what", "wrapped step", "more for a record", "of a wrapped step"), *record_many(count, **many)])
        print("\nThe same, with a part of the work left out")
        table([("left out", *heading[1:]), *list_shares(name, ledger, **few)])


if __name__ == "__main__":
    main(size(1024, quick=8))
