"""`observe` against a bare loop that plays as many steps, in turns, and how much memory it takes.

`python bench/observe.py [steps]`. The bare loop draws each action from the action space; `observe` plays its policies,
keeps every step and learns the task.
"""

import tracemalloc

import gymnasium
from timing import compare, size, table

from plaudit.analysis import observe

ENVIRONMENTS = ("CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1", "FrozenLake-v1")


def play(env, steps):
    """Take steps with random actions, and nothing else."""
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()


def main(steps):
    rows = [("environment", "playing", "observe", "observe / playing", "statements", "memory")]
    for name in ENVIRONMENTS:
        env = gymnasium.make(name)
        contenders = {
            "playing": lambda env=env: play(env, steps),
            "observe": lambda env=env: observe(env, steps=steps),
        }
        result = compare(contenders, calls=1, rounds=3)
        tracemalloc.start()
        task = observe(env, steps=steps).task
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        seconds = [f"{result.best[each]:.2f} s" for each in contenders]
        ratio = f"{1 / result.ratio('observe', 'playing'):.2f}x"
        rows.append((name, *seconds, ratio, str(len(task.seen)), f"{peak:.0f} MB"))
    print(f"{steps:,} steps")
    table(rows)


if __name__ == "__main__":
    main(size(10_000, quick=600))
