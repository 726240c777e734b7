"""A reward in three versions, and episodes of it: something small to look at."""

import numpy as np

from plaudit import Field, Reward, term

FIELDS = [Field("distance", low=0, high=60, unit="m"), Field("speed", low=0, high=30, unit="m/s")]


@term
def near(distance, *, reach=20.0, far=40.0):
    """Whether it is near enough."""
    if distance < reach:
        return 1.0
    if distance > far:
        return -1.0
    return 0.0


@term(weight=-0.1, high=20)
def haste(speed):
    return speed


ONE = Reward("moving", version="1", terms=[near, haste], fields=FIELDS)
TWO = ONE.with_params({"near.reach": 30.0}).with_version("2")
ONLY_NEAR = ONE.select_terms("near").with_version("3")


def draw(rows, seed=0):
    rng = np.random.default_rng(seed)
    return {"distance": rng.uniform(0, 60, rows), "speed": rng.uniform(0, 30, rows)}


def record_episode(ledger, episode, *, reward=ONE, run="night", steps=6, **context):
    columns = {name: column for name, column in draw(steps, episode).items() if name in reward.inputs}
    ledger.record_batch(reward, columns, run=run, episode=str(episode), step=range(steps), **context)
