"""A reward that carries state: feet-air-time in a step of 1,024 environments, and inside `lax.scan`.

`python bench/state.py [environments]`. The first table is a step of the wrapper against one written by hand in NumPy
that gives the same rewards, components, sums and resets; the environments are trivial on purpose: feet that touch the
ground or do not. The wrapper by hand checks no range and no NaN. The second is an episode of 200 steps in one
`lax.scan` under `jit`, against the same reward written in `jax.numpy`: with `guard=False` against the bare formula, and
as it is against the formula with the same tests of what goes in and what is carried.
"""

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from timing import compare, size, table
from wrapper import add_components

from plaudit import Field, Reward, State, term
from plaudit.adapters.gymnasium import RewardWrapper

FEET, STEPS, DT, LIMIT = 4, 200, 0.02, 200


def count_air(contact, prev, *, dt=DT):
    return np.where(contact, 0.0, prev.air_time + dt)


@term
def feet_air_time(contact, speed, prev, *, dt=DT, least=0.5):
    landed = contact & (prev.air_time > 0)
    return np.sum((prev.air_time + dt - least) * landed) if speed > 0.1 else 0.0


@term(weight=-0.01)
def too_long(air_time, *, most=0.6):
    return np.sum(np.maximum(air_time - most, 0.0))


REWARD = Reward(
    "walking",
    version="1",
    terms=[feet_air_time, too_long],
    fields=[
        Field("contact", flag=True, shape=(FEET,)),
        Field("speed", low=0, high=10),
        State("air_time", shape=(FEET,), reset=0.0, low=0, high=100, update=count_air),
    ],
)


class Feet(VectorEnv):
    """Many robots whose feet touch the ground as a clock says."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, count: int) -> None:
        self.num_envs = count
        self.single_observation_space = spaces.Box(-1, 10, (FEET + 1,), np.float64)
        self.observation_space = spaces.Box(-1, 10, (count, FEET + 1), np.float64)
        self.single_action_space, self.action_space = spaces.Discrete(2), spaces.MultiDiscrete([2] * count)
        rng = np.random.default_rng(0)
        self.seen = rng.random((32, count, FEET + 1)) * 2 - 1
        self.seen[:, :, FEET] = np.abs(self.seen[:, :, FEET])

    def reset(self, *, seed=None, options=None):  # noqa: D102 - Gymnasium's
        super().reset(seed=seed)
        self.at, self.steps = 0, np.arange(self.num_envs) % LIMIT  # ends come one by one
        return self.seen[0], {}

    def step(self, actions):  # noqa: D102 - Gymnasium's
        self.at = (self.at + 1) % len(self.seen)
        self.steps += 1
        truncated = self.steps >= LIMIT
        self.steps[truncated] = 0
        nothing = np.zeros(self.num_envs)
        return self.seen[self.at], nothing, np.zeros(self.num_envs, bool), truncated, {}


def features(obs, actions, next_obs, info):
    return {"contact": next_obs[:, :FEET] > 0, "speed": next_obs[:, FEET]}


class ByHand(VectorWrapper):
    """The same, written for this one reward."""

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        self.sums = {name: np.zeros(env.num_envs) for name in ("feet_air_time", "too_long")}
        self.air_time = np.zeros((env.num_envs, FEET))
        self.over = np.zeros(env.num_envs, bool)

    def reset(self, *, seed=None, options=None):  # noqa: D102 - Gymnasium's
        self.obs, info = self.env.reset(seed=seed, options=options)
        self.air_time[:] = 0.0
        for total in self.sums.values():
            total[:] = 0.0
        self.over[:] = False
        return self.obs, info

    def step(self, actions):  # noqa: D102 - Gymnasium's
        obs, original, terminated, truncated, info = self.env.step(actions)
        begun = self.over
        contact, speed = obs[:, :FEET] > 0, obs[:, FEET]
        landed = contact & (self.air_time > 0)
        paid_for = np.sum((self.air_time + DT - 0.5) * landed, axis=1)
        feet_air_time = np.where(speed > 0.1, paid_for, 0.0)
        air_time = np.where(contact, 0.0, self.air_time + DT)
        too_long = -0.01 * np.sum(np.maximum(air_time - 0.6, 0.0), axis=1)
        reward = feet_air_time + too_long
        components = {"feet_air_time": feet_air_time, "too_long": too_long}
        if begun.any():
            reward[begun] = 0.0
            air_time[begun] = self.air_time[begun]
            for values in components.values():
                values[begun] = 0.0
        ended = terminated | truncated
        info = add_components(info, components, self.sums, original, paid=~begun, ended=ended)
        air_time[ended] = 0.0
        self.obs, self.air_time, self.over = obs, air_time, ended
        return obs, reward, terminated, truncated, info


def native(air_time, row):
    """The same step in `jax.numpy`."""
    contact, speed, reset = row
    air_time = jnp.where(reset[:, None], 0.0, air_time)
    landed = contact & (air_time > 0)
    paid = jnp.where(speed > 0.1, jnp.sum((air_time + DT - 0.5) * landed, axis=1), 0.0)
    after = jnp.where(contact, 0.0, air_time + DT)
    return after, paid - 0.01 * jnp.sum(jnp.maximum(after - 0.6, 0.0), axis=1)


def check(air_time, row):
    """The same step in `jax.numpy` that masks what is out of range, as plaudit does."""
    _, speed, reset = row
    before = jnp.where(reset[:, None], 0.0, air_time)
    after, total = native(air_time, row)
    ok = jnp.isfinite(total) & (speed >= 0) & (speed <= 10)
    for state in (before, after):
        ok = ok & ((state >= 0) & (state <= 100)).all(1)
    return jnp.where(ok[:, None], after, before), jnp.where(ok, total, jnp.nan)


def wrap(count: int) -> None:
    """Compare a step of the wrappers."""
    wrappers = {"plaudit": RewardWrapper(Feet(count), REWARD, features), "by hand": ByHand(Feet(count))}
    contenders = {}
    for name, wrapper in wrappers.items():
        wrapper.reset()
        contenders[name] = lambda wrapper=wrapper: wrapper.step(np.zeros(count, np.int64))
    for _ in range(LIMIT + 2):
        ours, theirs = (contender() for contender in contenders.values())
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-12)  # both give the same
    found = compare(contenders, calls=50, rounds=100)
    ratio = 1 / found.ratio("plaudit", "by hand")
    rows = [(f"a step of {count:,} environments", "microseconds", "against by hand")]
    rows += [("plaudit", f"{found.best['plaudit'] * 1e6:.1f}", f"{ratio:.2f}")]
    table([*rows, ("by hand", f"{found.best['by hand'] * 1e6:.1f}", "")])


def scan(count: int) -> None:
    """Compare an episode inside `lax.scan`."""
    rng = np.random.default_rng(0)
    contact = jnp.asarray(rng.random((STEPS, count, FEET)) < 0.4)
    rows = contact, jnp.asarray(rng.random((STEPS, count)), jnp.float32), jnp.asarray(rng.random((STEPS, count)) < 0.01)

    def build(guard):
        compiled = REWARD.compile("jax", guard=guard)

        def step(state, row):
            contact, speed, reset = row
            scores, state = compiled.step({"contact": contact, "speed": speed}, state, reset=reset)
            return state, scores.total

        return step, REWARD.initial_state(batch=count)

    bare = jnp.zeros((count, FEET))
    steps = {"plaudit, guard=False": build(False), "jax.numpy": (native, bare)}
    steps |= {"plaudit": build(True), "jax.numpy, with the same tests": (check, bare)}
    runs = {name: jax.jit(lambda *rows, s=s: jax.lax.scan(*s, rows)) for name, s in steps.items()}
    for run in runs.values():
        np.testing.assert_allclose(run(*rows)[1], runs["jax.numpy"](*rows)[1], atol=1e-4)
    found = compare(
        {k: lambda run=run: jax.block_until_ready(run(*rows)) for k, run in runs.items()}, calls=5, rounds=60
    )
    shown = [(f"{STEPS} steps of {count:,} in lax.scan", "milliseconds", "against native")]
    for ours, peer in (list(steps)[:2], list(steps)[2:]):
        ratio = f"{1 / found.ratio(ours, peer):.2f}"
        shown += [(ours, f"{found.best[ours] * 1e3:.2f}", ratio), (peer, f"{found.best[peer] * 1e3:.2f}", "")]
    table(shown)


if __name__ == "__main__":
    environments = size(1024, 64)
    wrap(environments)
    print()
    scan(environments)
