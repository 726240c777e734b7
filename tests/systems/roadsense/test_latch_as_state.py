"""R9L's latch, which the environment keeps, written as a state: the same rewards from what R9 reads."""

import numpy as np

from plaudit import Field, Reward, State
from plaudit.systems.roadsense import version


def latch(warned_now, prev):
    """1 from the hazard's first warning on."""
    return max(prev.braking_received, warned_now)


def build_latched():
    kept = version("R9L")
    fields = [field for name, field in kept.fields.items() if name != "braking_received"]
    state = State("braking_received", reset=0, low=0, high=1, update=latch)
    fields += [Field("warned_now", values=(0, 1)), state]
    return Reward("roadsense", version="R9L-state", terms=kept.terms, fields=fields, shared=kept.shared)


def test_the_latch_as_a_state_pays_what_the_latch_of_the_environment_does():
    rng = np.random.default_rng(0)
    steps, episodes = 50, 20
    count = steps * episodes
    warned = (rng.random(count) < 0.03).astype(int)
    columns = {
        "distance": rng.uniform(0.5, 60, count),
        "deceleration": rng.uniform(0, 4, count),
        "closing_rate": rng.uniform(-5, 10, count),
    }
    episode, step = np.repeat(np.arange(episodes), steps), np.tile(np.arange(steps), episodes)
    found = build_latched().score_episodes({**columns, "warned_now": warned}, episode=episode, step=step)
    ever = np.maximum.accumulate(warned.reshape(episodes, steps), axis=1).reshape(-1)
    kept = version("R9L").compile("numpy")({**columns, "braking_received": ever})
    assert 0 < ever.sum() < count
    assert np.array_equal(found.scores.total, kept.total)
