"""Record every reward of a run, explain one, and rescore the run with another version.

Run it: `python examples/remember_and_rescore.py`.
"""

import tempfile
from pathlib import Path

import numpy as np

from plaudit import Field, Ledger, Reward, term


@term
def progress(gained):
    """Meters gained."""
    return gained


@term(weight=-0.5, kind="penalty")
def effort(torque):
    """Turn gently."""
    return torque * torque


walking = Reward(
    "walking",
    version="1",
    terms=[progress, effort],
    fields=[Field("gained", unit="m", low=-1, high=1), Field("torque", low=-2, high=2)],
)

rng = np.random.default_rng(7)
with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder, "rewards.db")) as ledger:
    # Each record is durable before `record` returns; use `ledger.writer()` for thousands per second.
    for step in range(200):
        signal = walking.score(gained=rng.uniform(-0.2, 0.4), torque=rng.normal(0, 0.5))
        ledger.record(signal, run="night-3", episode=str(step // 50), step=step % 50, decision_class="gait")

    worst = min(ledger.history(run="night-3"), key=lambda record: record.total)
    print(f"The worst step was {worst.step} of episode {worst.episode}:")
    print(worst.signal.explain(), "\n")

    gentle = walking.with_weights(effort=-2.0).with_version("2")
    print(ledger.rescore(gentle, version="1"), "\n")

    print(ledger.verify())
