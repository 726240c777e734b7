"""Write a reward, score a step, read the explanation, and score a million steps at once.

Run it: `python examples/first_reward.py`.
"""

import numpy as np

from plaudit import Field, InputError, Reward, term


@term
def gap(distance, *, near=20.0, far=40.0):
    """Keep 20 to 40 m behind the car ahead."""
    if distance < 5:
        return -100
    if distance < near:
        return -5
    return 1 if distance <= far else 0.5


@term(weight=2.0)
def comfort(deceleration, *, harsh=4.5):
    """Avoid hard braking."""
    return -10 if abs(deceleration) > harsh else 0


following = Reward(
    "following",
    version="1",
    terms=[gap, comfort],
    fields=[
        Field("distance", unit="m", low=0, infinite=True),  # inf: no car ahead
        Field("deceleration", unit="m/s^2", low=-15, high=15),
    ],
)

# One step, with its breakdown.
signal = following.score(distance=12.0, deceleration=5.0)
print(signal.explain(), "\n")

# A term is still a plain function.
print("gap(30.0) is", gap(30.0), "\n")

# A million steps: the same definition, compiled for NumPy (also "numba", "jax", "torch" and "sql").
rng = np.random.default_rng(0)
score = following.compile("numpy")
batch = score({"distance": rng.uniform(0, 60, 1_000_000), "deceleration": rng.normal(0, 2, 1_000_000)})
print(f"mean reward of a million random steps: {batch.total.mean():.3f}")
print({name: round(float(values.mean()), 3) for name, values in batch.values.items()}, "\n")

# Change a knob without changing the code; the fingerprint changes too.
gentler = following.with_params(comfort={"harsh": 3.0}).with_version("2")
print(following.fingerprint[:12], "is not", gentler.fingerprint[:12], "\n")

# A step that cannot be scored is an error, never a reward of 0.
try:
    following.score(distance=float("nan"), deceleration=1.0)
except InputError as error:
    print(f"{type(error).__name__}: {error}")
